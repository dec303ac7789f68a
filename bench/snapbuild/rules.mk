# SPDX-License-Identifier: PostgreSQL
.PHONY: workloads
workloads: $(BUILD)/ffi/$(FFI) $(SETUP)/python.stamp ##people two commit streams through the snapshot builder, upstream's way and ours (15 s)
	@$(PY) -m bench.snapbuild.workloads

# A file of a slot of one's own, or pg_logical/snapshots: FILE=path, and at will XMIN=, JSON=1.
.PHONY: snap
snap: $(BUILD)/ffi/$(FFI) $(SETUP)/python.stamp ##people decode and check a slot's .snap files, what a purge keeps, and whether xmax is stale: make snap FILE=path/to/pg_logical/snapshots; XMIN=, JSON=1 (2 s)
	@$(PY) -m bench.snapbuild.snap $(if $(XMIN),--xmin '$(XMIN)') $(if $(JSON),--json) -- $(call quoted,$(FILE))
