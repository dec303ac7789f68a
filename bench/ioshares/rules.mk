# SPDX-License-Identifier: PostgreSQL
.PHONY: simulate
simulate: $(BUILD)/ffi/$(FFI) $(SETUP)/python.stamp ## foreground, checkpointer and autovacuum on a simulated device: shares against first come, first served (30 s)
	@$(PY) -m bench.ioshares.simulate

# The figures of the simulated device are benchmarks of the row too.
ifneq ($(filter ioshares,$(BENCH_STEMS)),)
bench: simulate
endif
