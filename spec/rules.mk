# SPDX-License-Identifier: PostgreSQL
# Models: TLA+ checked by TLC, and by Apalache where APALACHE (or apalache-mc on PATH) names one.
TLC_JAR := $(BUILD)/tools/tla2tools.jar

$(SETUP)/tlc.stamp: spec/tools/get-tlc $(SETUP)/java.stamp
	@mkdir -p $(@D)
	@spec/tools/get-tlc --present $(TLC_JAR) || { $(MAKE) $(SETUP)/maven.stamp && spec/tools/get-tlc $(TLC_JAR); }
	@touch $@

# TLC is Java: the driver that runs it several times in one JVM, and an archive of its classes that each JVM starts from.
TLC_TAKEN := $(or $(TLA2TOOLS),$(TLC_JAR))
BATCH     := $(BUILD)/model/java/batch.jar
$(BATCH): spec/tools/Batch.java $(if $(TLA2TOOLS),$(SETUP)/java.stamp,$(SETUP)/tlc.stamp)
	@.ci/apt-need $(APT_java) --tools $(TOOLS_java) --have 'command -v javac'
	@mkdir -p $(@D)/classes
	@javac -Xlint:all -Werror -cp $(TLC_TAKEN) -d $(@D)/classes $<
	@jar --create --file $@ -C $(@D)/classes .

$(BUILD)/model/java/tlc.jsa: $(BATCH) spec/tools/Warmup.tla
	@cd spec/tools && java -XX:ArchiveClassesAtExit=$(abspath $@) -Xlog:disable -XX:+UseSerialGC \
	  -Djava.io.tmpdir=$(abspath $(@D)) -cp $(realpath $(TLC_TAKEN)):$(abspath $(BATCH)) \
	  tlc2.TLC -metadir $(abspath $(@D)) -workers 1 Warmup >$(abspath $(@D))/warmup.log

# TLA2TOOLS=/path/to/tla2tools.jar takes any other TLC, and then none is fetched.
MODEL_NEEDS := $(SETUP)/python.stamp $(BATCH) $(BUILD)/model/java/tlc.jsa
MODEL_RUN   := $(PY) spec/run.py $(if $(STEM),--stem $(STEM)) $(if $(RUN),--run '$(RUN)') $(UP_TO:%=--up-to %) $(if $(LIST),--list) $(if $(TABLE),--table) $(JOIN:%=--join %)

# SIZE=large: the large models, and that each action of each model is taken; quick: of each stem the smallest model that holds, and a
# broken one.
SIZE_small       := $(MODEL_RUN) --only small
SIZE_quick       := $(MODEL_RUN) --only quick
SIZE_large       := $(MODEL_RUN) --only large --coverage
.PHONY: model
model: $(MODEL_NEEDS) ##day check the small models, and that every broken one fails; SIZE=large, quick; UP_TO=states; ACCEPT=1 writes what they show to spec/*/models.toml (13 minutes)
	@$(if $(ACCEPT),$(MODEL_RUN) --accept,$(or $(SIZE_$(or $(SIZE),small)),echo "model: there is no SIZE=$(SIZE)" >&2; exit 2))
