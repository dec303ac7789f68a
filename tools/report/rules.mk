# SPDX-License-Identifier: PostgreSQL
.PHONY: report changes-accept
report: $(SETUP)/python.stamp ##layer one page of all results, build/report/index.html (seconds)
	@$(PY) -m tools.report

changes-accept: $(SETUP)/python.stamp ##keep record in tests/changes.json what the last make mutants-all, model-mutants and prove-changes found (seconds)
	@$(PY) -m tools.report.changes
