# SPDX-License-Identifier: PostgreSQL
.PHONY: claims claims-check
claims: $(SETUP)/python.stamp ##day run what shows the claims of CLAIMS.md: CLAIM=7 one, LIST=1 lists them (hours)
	@$(PY) -m tools.claims $(if $(CLAIM),--claim $(call quoted,$(CLAIM))) $(if $(LIST),--list)

# By the results of this commit; runs nothing again.
claims-check: $(SETUP)/python.stamp
	@$(PY) -m tools.claims --ran
