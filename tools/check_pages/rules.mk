# SPDX-License-Identifier: PostgreSQL
# A relation file of one's own: FILE=path, and BLOCK_SIZE= if neither pg_control nor the pages say the size. JSON=1.
.PHONY: check-pages
check-pages: $(BUILD)/ffi/$(FFI) $(SETUP)/python.stamp ##people check the pages of a relation file, and draw what is wrong: make check-pages FILE=path; JSON=1 (seconds a gigabyte)
	@$(PY) -m tools.check_pages $(if $(BLOCK_SIZE),--block-size $(call quoted,$(BLOCK_SIZE))) $(if $(JSON),--json) -- $(call quoted,$(FILE))
