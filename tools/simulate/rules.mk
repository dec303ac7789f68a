# SPDX-License-Identifier: PostgreSQL
.PHONY: simulate
simulate: $(BUILD)/ffi/$(FFI) $(SETUP)/python.stamp ##people foreground, checkpointer and autovacuum on a simulated device: shares against first come, first served, and where that ends; JSON=1 (some minutes)
	@$(PY) -m tools.simulate $(if $(JSON),--json)

# The figures of the simulated device are benchmarks of the stem too.
ifneq ($(filter ioshares,$(BENCH_STEMS)),)
bench: simulate
endif
