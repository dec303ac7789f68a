# SPDX-License-Identifier: PostgreSQL
.PHONY: written
written: $(BUILD)/ffi/$(FFI) $(SETUP)/python.stamp ##people bytes that each protection against torn pages writes; JSON=1 (10 s)
	@$(PY) -m tools.written $(if $(JSON),--json)
