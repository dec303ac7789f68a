# SPDX-License-Identifier: PostgreSQL
.PHONY: model-show model-ready
model-show: $(MODEL_NEEDS) ##layer draw the counterexample of a run, as a page and as SVG: make model-show STEM=S RUN=NAME; JSON=1 (seconds)
	@$(PY) -m tools.show $(if $(STEM),--stem $(call quoted,$(STEM))) $(if $(RUN),--run $(call quoted,$(RUN))) $(if $(JSON),--json)

# For `pgquern show`: without a run it only lists.
model-ready: $(if $(RUN),$(MODEL_NEEDS))
