# SPDX-License-Identifier: PostgreSQL
.PHONY: model-show model-ready
model-show: $(MODEL_NEEDS) ##layer draw the counterexample of a run, as a page and as SVG: make model-show STEM=S RUN=NAME (20 s)
	@$(PY) -m tools.show $(if $(STEM),--stem $(STEM)) $(if $(RUN),--run '$(RUN)') $(if $(INTO),--into $(INTO))

# For `pgquern show`: without a run it only lists.
model-ready: $(if $(RUN),$(MODEL_NEEDS))
