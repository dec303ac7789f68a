# SPDX-License-Identifier: PostgreSQL
# The end of a vacuum in a real server.
.PHONY: bench-vacuum
bench-vacuum: $(PG_EXTENSIONS) $(BUILD)/ffi/$(FFI) $(SETUP)/servers.stamp
	@$(PY) -m bench.datfrozenxid.endtoend.run
