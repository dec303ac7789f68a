# SPDX-License-Identifier: PostgreSQL
# Compaction in Python and inside unmodified servers. UPDATES=1500000 makes the long recovery; REPEAT, the number of rounds.
UPDATES ?= 500000
REPEAT  ?= 3

COMPACTION_IN_PYTHON := $(BENCH)/compaction/inputs.so $(BUILD)/ffi/$(FFI) $(SETUP)/python.stamp

.PHONY: bench-speed bench-endtoend bench-beside
bench-speed: $(COMPACTION_IN_PYTHON)
	@$(PY) -m bench.compaction.speed

bench-endtoend: $(PG_EXTENSIONS) $(COMPACTION_IN_PYTHON) $(SETUP)/servers.stamp
	@$(PY) -m bench.compaction.endtoend.run --updates $(UPDATES) --repeat $(REPEAT)

bench-beside: $(PG_EXTENSIONS) $(BENCH)/compaction/bench $(BUILD)/lib/libpgquern.so $(COMPACTION_IN_PYTHON) $(SETUP)/servers.stamp
	@$(PY) -m bench.compaction.endtoend.beside

$(if $(filter $(or $(STEM),compaction),compaction),bench-quick: bench-speed)

# The picture of a real page, for the report.
report: $(RESULTS)/real-page.json
