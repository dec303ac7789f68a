# SPDX-License-Identifier: PostgreSQL
# The farm: long work as small jobs that Snakemake runs. It is installed apart: nothing else needs it.
FARM_VENV := $(BUILD)/farm-venv
FARM_PINS := snakemake==9.27.1 snakemake-executor-plugin-slurm==2.8.0

$(SETUP)/farm.stamp: tools/farm/rules.mk $(SETUP)/python.stamp
	@echo "set-up: $(FARM_PINS) in $(FARM_VENV) (about a minute)"
	@$(PYTHON) -m venv --clear $(FARM_VENV)
	@$(FARM_VENV)/bin/python -m pip install --quiet --disable-pip-version-check $(FARM_PINS)
	@touch $@

# WHAT: kinds of work, of tools/farm/farm.toml. PROFILE: a folder of tools/farm/profiles/. MERGE=1 joins what is done so far.
.PHONY: farm
farm: $(if $(MERGE),$(SETUP)/python.stamp,$(SETUP)/farm.stamp) ##more long work as small jobs that go on where they stopped: WHAT="models world", STEM=, JOBS=n, PROFILE=slurm; MERGE=1 joins what is done (as long as the work, by the cores that there are)
	@$(PY) -m tools.farm $(if $(MERGE),merge,run --what $(call quoted,$(WHAT)) --stem $(call quoted,$(STEM)) $(if $(JOBS),--jobs $(call quoted,$(JOBS))) --profile $(call quoted,$(PROFILE)))
