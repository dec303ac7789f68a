# SPDX-License-Identifier: PostgreSQL
.PHONY: bench-shares
bench-shares: $(BUILD)/ffi/$(FFI) $(SETUP)/python.stamp
	@$(PY) -m bench.ioshares.simulated
