# SPDX-License-Identifier: PostgreSQL
# A file of a slot of one's own, or pg_logical/snapshots: FILE=path, and at will XMIN=, JSON=1.
.PHONY: snap
snap: $(BUILD)/ffi/$(FFI) $(SETUP)/python.stamp ##people decode and check a slot's .snap files, what a purge keeps, and whether xmax is stale: make snap FILE=path/to/pg_logical/snapshots; XMIN=, JSON=1 (seconds)
	@$(PY) -m tools.snap $(if $(XMIN),--xmin $(call quoted,$(XMIN))) $(if $(JSON),--json) -- $(call quoted,$(FILE))
