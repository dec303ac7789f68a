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
APT_postgres := postgresql-$(PG_HERE) postgresql-client-$(PG_HERE) postgresql-server-dev-$(PG_HERE) xz-utils util-linux strace e2fsprogs
# Only `make findings` asks for it.
APT_gdb      := gdb
# What must be there where nothing is installed (PGQUERN_NO_APT=1): commands, headers, a library of Coq's.
TOOLS_c        := gcc g++ clang objdump pkg-config valgrind benchmark/benchmark.h liburing.h
TOOLS_coq      := coqc coqchk coq_makefile ocamlfind stdpp.base
TOOLS_java     := javac
TOOLS_maven    := mvn
TOOLS_postgres := pg_config xz setpriv strace
TOOLS_cross    := aarch64-linux-gnu-gcc qemu-aarch64
TOOLS_gdb      := gdb
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

include spec/rules.mk proofs/rules.mk csrc/rules.mk tests/rules.mk bench/rules.mk $(wildcard tools/*/rules.mk)

$(VENV)/bin/pgquern: tools/pgquern/launch $(SETUP)/python.stamp
	@cp $< $@

# ---- the jobs: lists of targets with their variables. Every step runs, whatever fails; then come the tables ---------------
.PHONY: main quick test full everything ci setup lint help help-all clean
STEPS_quick := 'model SIZE=quick' 'prove SIZE=quick' 'differential EXAMPLES=quick' 'changes SIZE=quick'
STEPS_main  := model prove differential 'bench SIZE=quick' report
STEPS_test  := compiled test-python test-asan tsan world 'fuzz FUZZ_RUNS=25000' 'changes LAYER=C,hand NUMBER=1'
STEPS_ci    := lint 'model UP_TO=2000' prove prove-c 'test BARE=trixie' 'test-servers BUILDS=1[57]-debian' test-levels \
  test-cross icount 'icount CROSS=aarch64' 'bench SIZE=quick' report claims-check
# One evening: all that `ci` runs, and of each deep layer as much as two hours have room for.
STEPS_full  := lint model 'model SIZE=large UP_TO=100000' prove prove-c 'test-python EXAMPLES=whole' test-servers 'test-tools EXAMPLES=whole' \
  test-levels 'test-cross EXAMPLES=whole' test-minors test-asan tsan 'world MINUTES=1' fuzz 'changes NUMBER=4' \
  'instructions INPUTS=20000' findings check-upstream icount 'icount CROSS=aarch64' 'bench SIZE=quick' report
# Nothing is a sample; worlds run for ten minutes a stem. A day on two cores, so `make farm` has its longest parts.
STEPS_everything := lint model 'model SIZE=large' prove prove-c 'test-python EXAMPLES=whole' test-servers \
  'test-tools EXAMPLES=whole' test-levels 'test-cross EXAMPLES=whole' test-minors 'differential EXAMPLES=deep' test-asan tsan \
  'world MINUTES=10' fuzz changes test-candidates instructions findings check-upstream icount 'icount CROSS=aarch64' bench bench-headlines report
JOB = $(PY) -m tools.job $@ $(STEPS_$@)

main: $(SETUP)/python.stamp ##day models, proofs, a differential run, benchmarks, the report; STEM= narrows (half an hour)
	@$(JOB)

quick: $(SETUP)/python.stamp ##day a first look after set-up: the smallest models, proofs if compiled, kernels on few inputs, a broken one of each stem (a minute)
	@$(JOB)

# BARE=trixie: in a fresh clone of HEAD inside a bare Debian 13, on the host where the machine refuses that. ONLY=PART: the rule test-PART.
RUN_BARE = .ci/bare $(BARE) 'make test' || { [ $$? = 75 ] && echo "test: SKIPPED in a bare $(BARE); here instead" && $(JOB); }
RUN_PART = $(MAKE) $@-$(ONLY) ONLY=
test: $(SETUP)/python.stamp ##day all tests, kernels under sanitizers, fuzzed, broken; STEM= narrows; CROSS=aarch64; ONLY=python, asan, servers, tools, levels, minors, candidates (a quarter of an hour)
	@$(if $(ONLY),$(RUN_PART),$(if $(CROSS),$(MAKE) test-cross,$(if $(BARE),$(RUN_BARE),$(JOB))))

ci: $(SETUP)/python.stamp ##more what .ci/run runs after set-up: linters, models, proofs, all tests, a sample of the changes (half an hour and more)
	@$(JOB)

full: $(SETUP)/python.stamp ##more an evening: all of `make ci`, most large models, more of the changes, a minute of each world, upstream's own suites (two hours)
	@$(JOB)

everything: $(SETUP)/python.stamp ##more nothing is a sample: deep tests, all changes by machine, full benchmarks; `make farm` does its longest parts on many cores (a day)
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
	@$(PY) -m tools.report.matrix

# A target's text stands behind ##day or ##more.
SHOW = awk -F':.*\#\#($1) ' '/^[a-z][a-z-]*:.*\#\#($1) / { t = $$1; sub(/^main$$/, "", t); printf "  make %-15s %s\n", t, $$2 }' $(MAKEFILE_LIST)
help: ##day this list; `make help-all` has the others, `build/venv/bin/pgquern` the commands for files of your own (seconds)
	@$(call SHOW,day)

help-all: ##more all targets (seconds)
	@$(call SHOW,day|more)

clean: ##more remove all that was generated, except the set-up (seconds)
	@find $(BUILD) -mindepth 1 -maxdepth 1 ! -name venv ! -name setup ! -name tools ! -name postgres ! -name '__editable__*' -exec rm -rf {} +
