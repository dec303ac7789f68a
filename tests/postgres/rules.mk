# SPDX-License-Identifier: PostgreSQL
# Real servers: the embedded majors, and the extensions that go into them, one build a major.
PG_MAJORS := 13 14 15 16 17 18
PG_EXT    := $(BUILD)/ext
PG_CFLAGS := -std=c11 -D_GNU_SOURCE -O2 -g -fPIC -shared -fvisibility=hidden -Wall -Wextra -Werror -Icsrc -Itests/postgres

$(SETUP)/servers.stamp: tests/postgres/versions.toml tests/postgres/fetch.py $(SETUP)/maven.stamp $(SETUP)/postgres.stamp
	@mkdir -p $(@D)
	@$(PYTHON) tests/postgres/fetch.py
	@touch $@

# abi.h declares what it needs of the servers; the headers of Debian's server must agree before anything is built with it.
$(PG_EXT)/abi_check.o: tests/postgres/abi_check.c tests/postgres/abi.h $(SETUP)/c.stamp $(SETUP)/postgres.stamp
	@mkdir -p $(@D)
	@gcc -std=c11 -D_GNU_SOURCE -Wall -Wextra -Werror -Itests/postgres -DPG_MAJOR=$$(pg_config --version | sed 's/[^0-9]*\([0-9]*\).*/\1/') -isystem $$(pg_config --includedir-server) -c $< -o $@

# An extension is one source in tests/*/extensions/. The kernels are linked in: a preload library that depends on another
# file would need it where the server can read it.
EXTENSION_SOURCES := $(wildcard tests/*/extensions/*.c)
define extension
$(PG_EXT)/%/$(notdir $(1:.c=.so)): $1 tests/postgres/abi.h $(BUILD)/lib/libpgquern.a $(PG_EXT)/abi_check.o
	@mkdir -p $$(@D)
	@gcc $(PG_CFLAGS) -DPG_MAJOR=$$* $$< $(BUILD)/lib/libpgquern.a -o $$@
endef
$(foreach source,$(EXTENSION_SOURCES),$(eval $(call extension,$(source))))

PG_EXTENSIONS := $(foreach major,$(PG_MAJORS),$(patsubst %.c,$(PG_EXT)/$(major)/%.so,$(notdir $(EXTENSION_SOURCES))))

.PHONY: pg-extensions
pg-extensions: $(PG_EXTENSIONS)
