# SPDX-License-Identifier: PostgreSQL
.PHONY: claims claims-check
claims: $(SETUP)/python.stamp ##day run the commands of CLAIMS.md, and see that they print what they must: CLAIM=7 one, MINUTES=5 the short ones, LIST=1, PG= (hours)
	@$(PY) -m tools.claims $(if $(CLAIM),--claim $(call quoted,$(CLAIM))) $(if $(MINUTES),--minutes $(call quoted,$(MINUTES))) \
	  $(if $(PG),--postgres $(call quoted,$(PG))) $(if $(LIST),--list)

claims-check: kernels $(SETUP)/python.stamp
	@$(PY) -m tools.claims.ran ci
