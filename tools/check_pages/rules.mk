# SPDX-License-Identifier: PostgreSQL
# A relation file of one's own: FILE=path, and BLOCK_SIZE= if neither pg_control nor the pages say the size.
.PHONY: check-pages
check-pages: $(BUILD)/ffi/$(FFI) $(SETUP)/python.stamp ##people check the pages of a relation file, and draw what is wrong: make check-pages FILE=path (1 s a gigabyte)
	@$(PY) -m tools.check_pages $(if $(BLOCK_SIZE),--block-size '$(BLOCK_SIZE)') -- $(call quoted,$(FILE))
