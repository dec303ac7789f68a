# SPDX-License-Identifier: PostgreSQL
# The end of a vacuum in a real server.
.PHONY: bench-vacuum
bench-vacuum: $(PG_EXTENSIONS) $(BUILD)/ffi/$(FFI) $(SETUP)/servers.stamp ##deep vac_update_datfrozenxid of a real server, and both ways to look at the pg_database row (1 minute)
	@$(PY) -m bench.datfrozenxid.endtoend.run

# Listings of one's own, or a server: `make frozen` alone prints the queries. JSON=1.
.PHONY: frozen
frozen: $(BUILD)/ffi/$(FFI) $(SETUP)/python.stamp ##people who holds a database's datfrozenxid back, and what a vacuum would make of it: make frozen CLASSES=csv DATABASES=csv, or CONNECT='dbname=...'; JSON=1; alone it prints the queries (2 s)
	@$(PY) -m bench.datfrozenxid.frozen $(if $(CLASSES),--classes '$(CLASSES)') $(if $(DATABASES),--databases '$(DATABASES)') $(if $(CONNECT),--connect "$(CONNECT)") $(if $(JSON),--json)
