# SPDX-License-Identifier: PostgreSQL
.PHONY: simulate
simulate: $(BUILD)/ffi/$(FFI) $(SETUP)/python.stamp
	@$(PY) -m tools.simulate $(if $(JSON),--json)

# The figures of the simulated device are benchmarks of the stem too.
ifneq ($(if $(SIZE)$(ONLY),,$(filter ioshares,$(BENCH_STEMS))),)
bench: simulate
endif
