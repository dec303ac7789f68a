# SPDX-License-Identifier: PostgreSQL
# The recorded trace, for policy.cc.
$(BENCH)/tiercache/bench: | $(BENCH)/tiercache/server16.txt

$(BENCH)/tiercache/server16.txt: bench/tiercache/traces/server16.xz $(SETUP)/python.stamp
	@mkdir -p $(@D)
	@$(PY) -c 'import lzma, sys; sys.stdout.buffer.write(lzma.open("$<").read())' > $@

.PHONY: bench-policies bench-ssd-writes bench-cleaning
bench-policies: kernels $(SETUP)/python.stamp
	@$(PY) -m bench.tiercache.policies $(if $(TRACES),--traces $(call quoted,$(TRACES)))

bench-ssd-writes: $(SETUP)/python.stamp
	@$(PY) -m bench.tiercache.ssd_writes

bench-cleaning: $(SETUP)/python.stamp
	@$(PY) -m bench.tiercache.cleaning $(if $(KEEP),--keep)
