# SPDX-License-Identifier: PostgreSQL
# A relation file of one's own: FILE=path, and BLOCK_SIZE= if neither pg_control nor the pages say the size.
.PHONY: check-pages written
check-pages: $(BUILD)/ffi/$(FFI) $(SETUP)/python.stamp ##people check the pages of a relation file, and draw what is wrong: make check-pages FILE=path (1 s a gigabyte)
	@$(PY) -m bench.tornpage.check_pages $(if $(BLOCK_SIZE),--block-size '$(BLOCK_SIZE)') -- $(call quoted,$(FILE))

written: $(BUILD)/ffi/$(FFI) $(SETUP)/python.stamp ##people bytes that each protection against torn pages writes (10 s)
	@$(PY) -m bench.tornpage.written
