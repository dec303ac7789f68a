# SPDX-License-Identifier: PostgreSQL
# Compaction in Python and inside unmodified servers. UPDATES=1500000 makes the long recovery; REPEAT, the number of rounds.
UPDATES ?= 500000
REPEAT  ?= 3

COMPACTION_IN_PYTHON := $(BENCH)/compaction/inputs.so $(BUILD)/ffi/$(FFI) $(SETUP)/python.stamp

.PHONY: bench-speed bench-endtoend bench-beside
bench-speed: $(COMPACTION_IN_PYTHON) ##deep the Python oracle beside the kernels, pages a second (seconds)
	@$(PY) -m bench.compaction.speed

bench-endtoend: $(PG_EXTENSIONS) $(COMPACTION_IN_PYTHON) $(SETUP)/servers.stamp ##deep recovery and VACUUM of real servers with each kernel inside; UPDATES=1500000 (a quarter of an hour)
	@$(PY) -m bench.compaction.endtoend.run --updates $(UPDATES) --repeat $(REPEAT)

bench-beside: $(PG_EXTENSIONS) $(BENCH)/compaction/bench $(BUILD)/lib/libpgquern.so $(COMPACTION_IN_PYTHON) $(SETUP)/servers.stamp ##deep our kernels and a real server's own function, timed in that server (some minutes)
	@$(PY) -m bench.compaction.endtoend.beside

$(if $(filter $(or $(STEM),compaction),compaction),bench-quick: bench-speed)

# The picture of a real page, for the report.
report: $(RESULTS)/real-page.json
