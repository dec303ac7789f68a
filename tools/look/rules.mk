# SPDX-License-Identifier: PostgreSQL
# A table's file of one's own: FILE=path, and at will PAGE=block, MAJOR=13 to 18, JSON=1.
.PHONY: look
look: $(BUILD)/ffi/$(FFI) $(SETUP)/python.stamp ##people what compaction would do to the pages of a table's file, one drawn, and how fast: make look FILE=path; PAGE=block, JSON=1 (seconds a gigabyte)
	@$(PY) -m tools.look $(if $(PAGE),--page $(call quoted,$(PAGE))) $(if $(MAJOR),--major $(call quoted,$(MAJOR))) $(if $(JSON),--json) -- $(call quoted,$(FILE))
