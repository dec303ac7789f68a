# SPDX-License-Identifier: PostgreSQL
# KIND: which contract; without it, the kinds are listed. SRC: a C or C++ file, or a folder of them. PATCH: instead, a unified diff
# of csrc/. LIKE: a variant whose order it has. SEED: of the inputs. SPEED=no: it is not measured. BRANCH: a tree of PostgreSQL's, perhaps with a
# PATCH of it. AGAINST: another candidate. FULL=1: a hundred times as many inputs, servers.
JUDGE_FULL = $(PG_EXTENSIONS) $(SETUP)/servers.stamp
.PHONY: judge judge-ready judge-flags judge-template
# Of the proofs only that stem's functions are needed: all together take minutes, the first time.
JUDGED = $(if $(KIND),$(shell grep -lF $(call quoted,[kinds.$(KIND)]) tests/*/judge.toml | cut -d/ -f2),$(if \
  $(PATCH),$(shell sed -nE 's|^[+]{3} (b/)?csrc/([a-z]+)/.*|\2|p' $(call quoted,$(PATCH)) | sort -u)))
judge-ready: $(if $(KIND)$(PATCH),kernels $(BUILD)/lib/libpgquern.a) $(JUDGED:%=judge-oracle-%) $(if $(FULL),$(JUDGE_FULL)) $(SETUP)/python.stamp
judge-oracle-%:
	@$(if $(wildcard proofs/oracle/$*.ml),$(MAKE) oracle ORACLES=$(BUILD)/oracle/$*)

# For `pgquern judge`: the flags with which make compiles.
judge-flags:
	@echo 'cflags $(CFLAGS_KERNEL)'; echo 'cflags_asan $(CFLAGS_ASAN)'
	@$(foreach level,$(LEVELS),echo 'isa $(level)=$(ISA_$(level))';)

judge: judge-ready ##people put a kernel of your own on trial: KIND=, SRC=their.c, PATCH= or BRANCH=, AGAINST=other.c, FLAGS=, CC=, FULL=1, JSON=1; alone: the kinds (a minute)
	@$(PY) -m tools.judge --kind $(call quoted,$(KIND)) --source $(call quoted,$(SRC)) --flags $(call quoted,$(FLAGS)) \
	  $(if $(filter command environment,$(origin CC)),--compiler $(call quoted,$(CC))) $(if $(LIKE),--like $(call quoted,$(LIKE))) \
	  $(if $(SEED),--seed $(call quoted,$(SEED))) $(if $(SPEED),--speed $(call quoted,$(SPEED))) \
	  $(if $(PATCH),--patch $(call quoted,$(PATCH))) $(if $(BRANCH),--branch $(call quoted,$(BRANCH))) $(if $(AGAINST),--against $(call quoted,$(AGAINST))) $(if $(FULL),--full) $(if $(JSON),--json) $(foreach level,$(LEVELS),--isa '$(level)=$(ISA_$(level))') \
	  --cflags '$(CFLAGS_KERNEL)' --cflags-asan '$(CFLAGS_ASAN)'

judge-template: $(SETUP)/python.stamp ##people a C file to start from, for `make judge`: KIND= (1 s)
	@$(PY) -m tools.judge --kind $(call quoted,$(KIND)) --template $(if $(JSON),--json)
