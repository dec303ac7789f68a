# SPDX-License-Identifier: PostgreSQL
# Compaction in Python, and beside an unmodified server's own function.
COMPACTION_IN_PYTHON := $(BENCH)/compaction/inputs.so $(BUILD)/ffi/$(FFI) $(SETUP)/python.stamp

.PHONY: bench-speed bench-beside
bench-speed: $(COMPACTION_IN_PYTHON)
	@$(PY) -m bench.compaction.speed

bench-beside: $(PG_EXTENSIONS) $(BENCH)/compaction/bench $(BUILD)/lib/libpgquern.so $(COMPACTION_IN_PYTHON) $(SETUP)/servers.stamp
	@$(PY) -m bench.compaction.endtoend.beside

$(if $(filter $(or $(STEM),compaction),compaction),bench-quick: bench-speed)

# The picture of a real page, for the report.
report: $(RESULTS)/real-page.json
