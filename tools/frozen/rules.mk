# SPDX-License-Identifier: PostgreSQL
# Listings of one's own, or a server: `make frozen` alone prints the queries. JSON=1.
.PHONY: frozen
frozen: $(BUILD)/ffi/$(FFI) $(SETUP)/python.stamp ##people who holds a database's datfrozenxid back, and what a vacuum would make of it: make frozen CLASSES=csv DATABASES=csv, or CONNECT='dbname=...'; JSON=1; alone it prints the queries (seconds)
	@$(PY) -m tools.frozen $(if $(CLASSES),--classes $(call quoted,$(CLASSES))) $(if $(DATABASES),--databases $(call quoted,$(DATABASES))) \
	  $(if $(CONNECT),--connect $(call quoted,$(CONNECT))) $(if $(JSON),--json)
