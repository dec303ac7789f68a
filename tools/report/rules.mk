# SPDX-License-Identifier: PostgreSQL
.PHONY: report
report: $(SETUP)/python.stamp ##day one page of all results, build/report/index.html (seconds)
	@$(PY) -m tools.report
