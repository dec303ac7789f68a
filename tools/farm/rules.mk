# SPDX-License-Identifier: PostgreSQL
# The farm: long work as small jobs that Snakemake runs. It is installed apart: nothing else needs it.
FARM_VENV := $(BUILD)/farm-venv
FARM_LOCK := tools/farm/requirements.lock

$(SETUP)/farm.stamp: $(FARM_LOCK) $(SETUP)/python.stamp
	@echo "set-up: Snakemake in $(FARM_VENV) from $(FARM_LOCK) (about a minute)"
	@$(PYTHON) -m venv --clear $(FARM_VENV)
	@$(FARM_VENV)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r $(FARM_LOCK)
	@touch $@

# WHAT: kinds of work, of tools/farm/farm.toml. PROFILE: a folder of tools/farm/profiles/.
.PHONY: farm farm-setup farm-merge
farm-setup: $(SETUP)/farm.stamp ##deep install Snakemake for `make farm`, once (a minute)

farm: $(SETUP)/farm.stamp ##deep long work as small jobs that go on where they stopped: WHAT="models changes", STEM=, JOBS=n, PROFILE=slurm (as long as the work, by the cores that there are)
	@$(PY) -m tools.farm run --what $(call quoted,$(WHAT)) --stem $(call quoted,$(STEM)) $(if $(JOBS),--jobs $(call quoted,$(JOBS))) --profile $(call quoted,$(PROFILE))

farm-merge: $(SETUP)/python.stamp ##deep join what `make farm` has done so far, and name what is missing (seconds)
	@$(PY) -m tools.farm merge
