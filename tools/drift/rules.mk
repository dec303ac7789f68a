# SPDX-License-Identifier: PostgreSQL
.PHONY: drift drift-accept
drift: $(SETUP)/python.stamp ##people which functions of upstream have changed since we followed them: PG=/path/to/postgres (13 to master), STEM=, JSON=1 (seconds)
	@$(if $(PG),,echo "drift: say where a checkout of PostgreSQL is: make drift PG=/path/to/postgres" >&2; exit 2;) \
	$(PY) -m tools.drift --postgres $(call quoted,$(PG)) --stem $(call quoted,$(STEM)) $(if $(JSON),--json)

drift-accept: $(SETUP)/python.stamp ##keep record a checkout's functions as those of its major version, after review (as drift)
	@$(PY) -m tools.drift --postgres $(call quoted,$(PG)) --stem $(call quoted,$(STEM)) --accept
