# SPDX-License-Identifier: PostgreSQL
# The recorded trace, for policy.cc.
$(BENCH)/tiercache/bench: | $(BENCH)/tiercache/server16.txt

$(BENCH)/tiercache/server16.txt: bench/tiercache/traces/server16.xz $(SETUP)/python.stamp
	@mkdir -p $(@D)
	@$(PY) -c 'import lzma, sys; sys.stdout.buffer.write(lzma.open("$<").read())' > $@

.PHONY: bench-policies bench-ssd-writes bench-cleaning
bench-policies: kernels $(SETUP)/python.stamp ##layer each eviction policy at each size of a page cache, on eight traces, beside the best of seven and the optimum; TRACES=folder: further traces (seconds)
	@$(PY) -m bench.tiercache.policies $(if $(TRACES),--traces $(call quoted,$(TRACES)))

bench-ssd-writes: $(SETUP)/python.stamp ##layer what a write to the SSD saves, on eight traces at two sizes, beside a write at each eviction (some minutes)
	@$(PY) -m bench.tiercache.ssd_writes

bench-cleaning: $(SETUP)/python.stamp ##layer what other victims, and writes to the SSD in batches, would save a page cache and its cleaner, on three traces; KEEP=1 writes the tables down (a minute)
	@$(PY) -m bench.tiercache.cleaning $(if $(KEEP),--keep)
