# SPDX-License-Identifier: PostgreSQL
.PHONY: report matrix changes-accept
report: $(SETUP)/python.stamp ##layer one page of all results, build/report/index.html (seconds)
	@$(PY) -m tools.report

matrix: $(SETUP)/python.stamp ##keep write the matrix of stems and layers into README.md, and what others claim into CLAIMS.md (seconds)
	@$(PY) -m tools.report.matrix --write
	@$(PY) -m tools.report.claimed --write

changes-accept: $(SETUP)/python.stamp ##keep record in tests/changes.json what the last make mutants-all, model-mutants and prove-changes found (seconds)
	@$(PY) -m tools.report.changes
