# SPDX-License-Identifier: PostgreSQL
# The recorded trace, for policy.cc.
$(BENCH)/tiercache/bench: | $(BENCH)/tiercache/server16.txt

$(BENCH)/tiercache/server16.txt: bench/tiercache/traces/server16.xz $(SETUP)/python.stamp
	@mkdir -p $(@D)
	@$(PY) -c 'import lzma, sys; sys.stdout.buffer.write(lzma.open("$<").read())' > $@

.PHONY: bench-policies
bench-policies: kernels $(SETUP)/python.stamp
	@$(PY) -m bench.tiercache.policies $(if $(TRACES),--traces $(call quoted,$(TRACES)))
