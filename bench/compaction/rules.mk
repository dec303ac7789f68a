# SPDX-License-Identifier: PostgreSQL
# Compaction in Python and inside unmodified servers.
COMPACTION_IN_PYTHON := $(BENCH)/compaction/inputs.so $(BUILD)/ffi/$(FFI) $(SETUP)/python.stamp

.PHONY: bench-beside
bench-beside: $(PG_EXTENSIONS) $(BENCH)/compaction/bench $(BUILD)/lib/libpgquern.so $(COMPACTION_IN_PYTHON) $(SETUP)/servers.stamp
	@$(PY) -m bench.compaction.endtoend.beside

# The picture of a real page, for the report.
report: $(RESULTS)/real-page.json
