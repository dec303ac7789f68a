# SPDX-License-Identifier: PostgreSQL
# For `pgquern show`: without a run it only lists.
.PHONY: model-ready
model-ready: $(if $(RUN),$(MODEL_NEEDS))
