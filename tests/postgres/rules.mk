# SPDX-License-Identifier: PostgreSQL
# Real servers: the embedded majors, and the extensions that go into them, one build a major.
PG_MAJORS := 13 14 15 16 17 18
PG_EXT    := $(BUILD)/ext
PG_CFLAGS := -std=c11 -D_GNU_SOURCE -O2 -g -fPIC -shared -fvisibility=hidden -Wall -Wextra -Werror -Icsrc -Itests/postgres/prb

$(SETUP)/servers.stamp: tests/postgres/versions.toml tests/postgres/fetch.py $(SETUP)/maven.stamp $(SETUP)/postgres.stamp
	@mkdir -p $(@D)
	@$(PYTHON) tests/postgres/fetch.py
	@touch $@

# abi.h declares what it needs of the servers; Debian's headers of 15 must agree before anything is built with it.
$(PG_EXT)/abi_check.o: tests/postgres/prb/abi_check.c tests/postgres/prb/abi.h $(SETUP)/c.stamp $(SETUP)/postgres.stamp
	@mkdir -p $(@D)
	@gcc -std=c11 -D_GNU_SOURCE -Wall -Wextra -Werror -Itests/postgres/prb -isystem $$(pg_config --includedir-server) -c $< -o $@

$(PG_EXT)/%/prb.so: tests/postgres/prb/prb.c tests/postgres/prb/abi.h csrc/pgquern.h $(PG_EXT)/abi_check.o
	@mkdir -p $(@D)
	@gcc $(PG_CFLAGS) -DPG_MAJOR=$* $< -o $@

# The kernels are linked in: a preload library that depends on another file would need it where the server can read it.
$(PG_EXT)/%/preload.so: tests/postgres/preload/preload.c tests/postgres/prb/abi.h $(BUILD)/lib/libpgquern.a $(PG_EXT)/abi_check.o
	@mkdir -p $(@D)
	@gcc $(PG_CFLAGS) -DPG_MAJOR=$* $< $(BUILD)/lib/libpgquern.a -o $@

$(PG_EXT)/%/nextxid.so: tests/postgres/nextxid/nextxid.c tests/postgres/prb/abi.h $(PG_EXT)/abi_check.o
	@mkdir -p $(@D)
	@gcc $(PG_CFLAGS) -DPG_MAJOR=$* $< -o $@

PG_EXTENSIONS := $(foreach major,$(PG_MAJORS),$(addprefix $(PG_EXT)/$(major)/,prb.so preload.so nextxid.so))

.PHONY: pg-extensions
pg-extensions: $(PG_EXTENSIONS) ## the extensions for real servers, a build for each major (10 s)

# A page of a real table before and after, for the report's picture.
$(RESULTS)/real-page.json: tests/postgres/picture.py tests/postgres/heap.py $(PG_EXTENSIONS) $(SETUP)/servers.stamp $(SETUP)/python.stamp
	@$(PY) -m tests.postgres.picture
