# SPDX-License-Identifier: PostgreSQL
# The end of a vacuum in a real server.
.PHONY: bench-vacuum
bench-vacuum: $(PG_EXTENSIONS) $(BUILD)/ffi/$(FFI) $(SETUP)/servers.stamp ##deep vac_update_datfrozenxid of a real server, and both ways to look at the pg_database row (a minute)
	@$(PY) -m bench.datfrozenxid.endtoend.run
