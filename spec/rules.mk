# SPDX-License-Identifier: PostgreSQL
# Models: TLA+ checked by TLC, and by Apalache where APALACHE (or apalache-mc on PATH) names one.
TLC_JAR := $(BUILD)/tools/tla2tools.jar

$(SETUP)/tlc.stamp: spec/tools/get-tlc $(SETUP)/java.stamp
	@mkdir -p $(@D)
	@spec/tools/get-tlc --present $(TLC_JAR) || { $(MAKE) $(SETUP)/maven.stamp && spec/tools/get-tlc $(TLC_JAR); }
	@touch $@

# TLA2TOOLS=/path/to/tla2tools.jar takes any other TLC, and then none is fetched.
MODEL_NEEDS := $(SETUP)/python.stamp $(if $(TLA2TOOLS),$(SETUP)/java.stamp,$(SETUP)/tlc.stamp)
MODEL_RUN   := $(PY) spec/run.py $(if $(STEM),--stem $(STEM))

.PHONY: model model-small model-accept
model: $(MODEL_NEEDS) ## check every model, and that every broken one fails as it should (5 minutes)
	@$(MODEL_RUN)

model-small: $(MODEL_NEEDS) ## check the small models and the broken ones only (3 minutes)
	@$(MODEL_RUN) --only small

model-accept: $(MODEL_NEEDS) ## run the models and write what was found to spec/manifest.json, for review (5 minutes)
	@$(MODEL_RUN) --accept
