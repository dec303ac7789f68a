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

.PHONY: model model-quick model-large model-mutants model-mutants-sample model-distributed model-examples model-growth model-accept
model: $(MODEL_NEEDS) ##layer check the small models, and that every broken one fails as it should; UP_TO=n leaves out what has more than n states (13 minutes)
	@$(MODEL_RUN) --only small

model-quick: $(MODEL_NEEDS) ##keep of each stem the smallest model that holds, and a broken one that fails (15 s)
	@$(MODEL_RUN) --only quick

model-large: $(MODEL_NEEDS) ##layer check the large models, and that each action of each model is taken (30 minutes)
	@$(MODEL_RUN) --only large --coverage

model-mutants: $(MODEL_NEEDS) ##deep change one thing in a model, see a property fail; STEM= narrows, NUMBER=n tries n of a stem (about an hour; never timed whole)
	@$(PY) spec/mutants.py $(if $(STEM),--stem $(STEM)) $(if $(NUMBER),--number $(NUMBER)) $(if $(NAME),--name '$(NAME)')

model-mutants-sample: $(MODEL_NEEDS) ##keep of `make model-mutants` one change of each stem (never timed whole)
	@$(PY) spec/mutants.py --at-most 1 $(if $(STEM),--stem $(STEM))

# Safety alone; RUN is one run's whole name. SAFETY=1 leaves the properties of a run out.
model-distributed: $(MODEL_NEEDS) ##deep the invariants of one large model by TLC's distributed mode, server and workers on this machine: STEM=, RUN=, WORKERS=2, SAFETY=1 (as long as the model takes, and 10 s)
	@$(PY) spec/distributed.py --stem '$(STEM)' --run '$(RUN)' $(WORKERS:%=--workers %) $(if $(SAFETY),--safety)

model-examples: $(MODEL_NEEDS) ##deep write the models of a subject as a folder for tlaplus/Examples, with its manifest.json, and check them there by TLC alone: STEM=, SOURCE=address (up to 5 minutes)
	@$(PY) spec/examples.py --stem '$(STEM)' $(SOURCE:%=--source '%')

model-growth: $(MODEL_NEEDS) ##deep how the states and the time of each model grow with each of its bounds; STEM= narrows (5 minutes a stem)
	@$(PY) spec/growth.py $(if $(STEM),--stem $(STEM)) $(SECONDS:%=--seconds %)

model-accept: $(MODEL_NEEDS) ##keep run all models and write what they show to spec/*/models.toml, for review (as model and model-large)
	@$(MODEL_RUN) --accept
