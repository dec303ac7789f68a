# SPDX-License-Identifier: PostgreSQL
.PHONY: workloads
workloads: $(BUILD)/ffi/$(FFI) $(SETUP)/python.stamp ##people two commit streams through the snapshot builder, upstream's way and ours; JSON=1 (30 s)
	@$(PY) -m tools.workloads $(if $(JSON),--json)
