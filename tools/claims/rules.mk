# SPDX-License-Identifier: PostgreSQL
.PHONY: claims claims-check
claims: $(SETUP)/python.stamp ##deep run what shows the claims of CLAIMS.md: CLAIM=7 one, LIST=1 lists them (hours)
	@$(PY) -m tools.claims $(if $(CLAIM),--claim $(call quoted,$(CLAIM))) $(if $(LIST),--list)

claims-check: $(SETUP)/python.stamp ##keep judge CLAIMS.md by the results of this commit; runs nothing again (seconds)
	@$(PY) -m tools.claims --ran
