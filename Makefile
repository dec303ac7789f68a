# SPDX-License-Identifier: PostgreSQL
# pgquern: the one interface. `make help` lists the targets.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DELETE_ON_ERROR:
MAKEFLAGS += --no-builtin-rules --no-print-directory

BUILD   := build
VENV    := $(BUILD)/venv
PY      := $(VENV)/bin/python
PYTHON  ?= python3
STEM    ?=
CROSS   ?=
RESULTS := $(BUILD)/results
# A word of a person's own, for the shell: paths and connection strings have apostrophes, too.
quoted   = '$(subst ','\'',$(1))'

export PYTHONPATH := .:csrc/ffi:build/ffi
# Compiled Python goes there, and the sources' folders stay clean.
export PYTHONPYCACHEPREFIX := $(abspath $(BUILD))/pycache

.DEFAULT_GOAL := main

# ---- set-up: one stamp a need; every rule asks for just what it uses ----------------------------
# Packages whose names hold a version: Debian 12 is bookworm, 13 is trixie. On another release the newer ones are asked for.
RELEASE       := $(shell . /etc/os-release 2>/dev/null; echo $${VERSION_CODENAME:-unknown})
LLVM_bookworm := 14
LLVM_trixie   := 19
PG_bookworm   := 15
PG_trixie     := 17
# What libcachesim links to.
GLIB_bookworm := libglib2.0-0
GLIB_trixie   := libglib2.0-0t64
LLVM          := $(or $(LLVM_$(RELEASE)),$(LLVM_trixie))
PG_HERE       := $(or $(PG_$(RELEASE)),$(PG_trixie))
GLIB          := $(or $(GLIB_$(RELEASE)),$(GLIB_trixie))

APT_python   := python3 python3-venv python3-dev
APT_c        := gcc g++ libc6-dev clang llvm libclang-rt-$(LLVM)-dev libbenchmark-dev liburing-dev pkg-config valgrind $(GLIB)
APT_coq      := coq libcoq-stdpp ocaml-nox ocaml-findlib time
APT_java     := default-jdk-headless
APT_maven    := default-jre-headless maven
# CBMC: Debian 12 has one that is too old; then, and elsewhere, `make prove-c` says SKIPPED without one.
APT_cbmc     := $(if $(filter trixie,$(RELEASE)),cbmc)
APT_cross    := gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user
APT_postgres := postgresql-$(PG_HERE) postgresql-client-$(PG_HERE) postgresql-server-dev-$(PG_HERE) xz-utils util-linux strace
# Only `make findings` asks for it.
APT_gdb      := gdb
# Only `make test-browser` asks for it.
APT_browser  := chromium fonts-dejavu-core
# What must be there where nothing is installed (PGQUERN_NO_APT=1): commands, headers, a library of Coq's.
TOOLS_c        := gcc g++ clang objdump pkg-config valgrind benchmark/benchmark.h liburing.h
TOOLS_coq      := coqc coqchk coq_makefile ocamlfind stdpp.base
TOOLS_java     := javac
TOOLS_maven    := mvn
TOOLS_postgres := pg_config xz setpriv strace
TOOLS_cross    := aarch64-linux-gnu-gcc qemu-aarch64
TOOLS_gdb      := gdb
TOOLS_browser  := chromium
SETUP        := $(BUILD)/setup

$(SETUP)/%.stamp: .ci/apt-need
	@mkdir -p $(@D)
	@.ci/apt-need $(APT_$*) --tools $(TOOLS_$*)
	@touch $@

$(SETUP)/python.stamp: requirements.lock requirements-alone.lock .ci/apt-need
	@mkdir -p $(@D)
	@.ci/apt-need $(APT_python) --have "$(PYTHON) -c 'import venv, ensurepip, sysconfig, os; assert os.path.exists(sysconfig.get_paths()[\"include\"] + \"/Python.h\")'"
	@echo "set-up: Python environment in $(VENV) from requirements.lock (about 30 s)"
	@$(PYTHON) -m venv --clear $(VENV)
	@$(PY) -m pip install --quiet --disable-pip-version-check --require-hashes --only-binary :all: -r requirements.lock \
	  && $(PY) -m pip install --quiet --disable-pip-version-check --require-hashes --only-binary :all: --no-deps -r requirements-alone.lock \
	  || { echo "set-up failed: pip could not install requirements.lock; check the network and try 'make setup' again" >&2; exit 1; }
	@touch $@

$(SETUP)/browser.stamp: requirements-browser.lock .ci/apt-need $(SETUP)/python.stamp
	@.ci/apt-need $(APT_browser) --tools $(TOOLS_browser)
	@echo "set-up: what drives the browser, from requirements-browser.lock (50 MB)"
	@$(PY) -m pip install --quiet --disable-pip-version-check --require-hashes --only-binary :all: --no-deps -r requirements-browser.lock
	@touch $@

include spec/rules.mk proofs/rules.mk csrc/rules.mk tests/rules.mk bench/rules.mk $(wildcard tools/*/rules.mk)

$(VENV)/bin/pgquern: tools/pgquern/launch $(SETUP)/python.stamp
	@cp $< $@

# ---- the jobs: every step runs, whatever fails; tools/job/jobs.toml lists the steps ------------------
.PHONY: main quick test full everything ci setup lint help clean
JOB = $(PY) -m tools.job $@ $(if $(STEM),--stem $(STEM))

main: $(SETUP)/python.stamp ##day models, proofs, a differential run, benchmarks, the report; STEM= narrows (a quarter of an hour)
	@$(PY) -m tools.job make $(if $(STEM),--stem $(STEM))

quick: $(SETUP)/python.stamp ##day a first look after set-up: the smallest models, proofs if compiled, kernels on few inputs, a broken one of each stem (a minute)
	@$(JOB)

# BARE=trixie: in a fresh clone of HEAD inside a bare Debian 13, on the host where the machine refuses that.
RUN_BARE = .ci/bare $(BARE) 'make setup && make test' || { [ $$? = 75 ] && echo "test: SKIPPED in a bare $(BARE); here instead" && $(JOB); }
test: $(SETUP)/python.stamp ##day all tests, then the kernels under sanitizers, fuzzed, and broken on purpose; STEM= narrows (a quarter of an hour)
	@$(if $(CROSS),$(MAKE) test-cross,$(if $(BARE),$(RUN_BARE),$(JOB)))

ci: $(SETUP)/python.stamp ##deep what .ci/run runs after set-up: linters, models, proofs, all tests, a sample of changes (an hour)
	@$(JOB)

full: $(SETUP)/python.stamp ##deep an evening: all of `make ci`, most large models, some changes of each layer, a minute of each world, upstream's own suites (two hours)
	@$(JOB)

everything: $(SETUP)/python.stamp ##deep nothing is a sample: the deep tests, all changes by machine, full benchmarks; `make farm` does its longest parts on many cores (a day)
	@$(JOB)

# The other machine's Python comes from Debian.
HERE_IS_DEBIAN := $(if $(PGQUERN_NO_APT),,$(shell command -v dpkg-query))
NEEDS := python c coq cbmc java maven postgres tlc servers $(if $(HERE_IS_DEBIAN),$(filter cross,$(THIS_MACHINE:x86_64=cross)))
setup: ##day install everything, once (some minutes)
	@[ -z "$(foreach need,$(NEEDS),$(if $(wildcard $(SETUP)/$(need).stamp),,x))" ] || .ci/apt-need $(sort $(foreach need,$(NEEDS),$(APT_$(need)))) --tools $(foreach need,$(NEEDS),$(TOOLS_$(need)))
	@$(MAKE) -s $(NEEDS:%=$(SETUP)/%.stamp) $(VENV)/bin/pgquern
	@echo "set-up: complete"

lint: $(SETUP)/python.stamp ##day all linters, and that the matrix of stems and layers has no empty cell without a reason (a minute)
	@$(MAKE) --jobs=$$(nproc) --output-sync=target lint-c lint-python
	@$(PY) -m tools.report.matrix --check

# A target's text stands behind ##GROUP; HELP_GROUP is the group's heading.
HELP_GROUPS := day layer people deep keep
HELP_day    := Every day
HELP_layer  := Look closer: one layer, or one subject (STEM=its name)
HELP_people := For people: your own files, and simulations
HELP_deep   := Deep: minutes to hours
HELP_keep   := To keep it alive: samples, parts of the linters, and what accepts new results

help: ##day this list (seconds)
	@$(foreach group,$(HELP_GROUPS),echo; echo '$(HELP_$(group))'; \
	  awk -F':.*##$(group) ' '/^[a-z][a-z-]*:.*##$(group) / { t = $$1; sub(/^main$$/, "", t); printf "  make %-21s %s\n", t, $$2 }' $(MAKEFILE_LIST);)

clean: ##day remove all that was generated, except the set-up (seconds)
	@find $(BUILD) -mindepth 1 -maxdepth 1 ! -name venv ! -name setup ! -name tools ! -name postgres ! -name '__editable__*' -exec rm -rf {} +
