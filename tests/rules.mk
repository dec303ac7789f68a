# SPDX-License-Identifier: PostgreSQL
# Tests. A stem's are in tests/<stem>/: test_kernels.py (kernels against the oracle), test_extracted.py (against the extracted
# proof), test_*.py. A stem's folder may bring its own rules.
include tests/postgres/rules.mk
-include $(filter-out tests/postgres/% tests/runners/% tests/cross/% tests/traced/%,$(wildcard tests/*/rules.mk))

# The extracted proofs are a peer of the kernels; they are built as soon as there are any.
EXTRACTED  := $(if $(wildcard proofs/oracle/*),oracle)
# Last, and in this order: their targets need what stands above.
include tests/traced/rules.mk tests/runners/rules.mk tests/cross/rules.mk
TEST_NEEDS := $(SETUP)/python.stamp $(BUILD)/ffi/$(FFI)
PYTEST     := $(PY) -m pytest -q -p no:cacheprovider

# A stem without kernels, if it is asked for alone, has its oracle's own tests in the place of all these.
ORACLE_TESTS := $(if $(STEM),$(wildcard tests/$(STEM)/test_oracle.py))
# For stems that have kernels: tests against the oracle, and against the extracted proofs.
DIFFERENTIAL := $(or $(wildcard $(foreach test,kernels extracted,tests/$(or $(STEM),*)/test_$(test).py)),$(ORACLE_TESTS))
# The tests that run under the sanitizers: all that call kernels, and little else.
KERNEL_TESTS := $(or $(wildcard tests/$(or $(STEM),*)/test_kernels*.py),$(ORACLE_TESTS))
# These need the binding under ASan.
SANITIZED    := $(wildcard tests/$(or $(STEM),*)/test_sanitized.py)

# A process for each stem, as many side by side as there are CPUs, and two more, since some wait for servers:
# $(call side_by_side,RULE,FILES), with a rule RULE-%.
AT_ONCE      = $$(( $$(nproc) + 2 ))
side_by_side = $(MAKE) --keep-going --output-sync=target --jobs=$(AT_ONCE) $(sort $(patsubst tests/%/,$1-%,$(dir $2)))

.PHONY: differential test-python test-servers test-tools test-minors test-levels test-asan lint-python
# EXAMPLES=quick: few inputs, and no compiled proof is needed; deep: far more than in `make test`, new ones each time.
IS_QUICK     = $(filter quick,$(EXAMPLES))
QUICK       := $(or $(wildcard tests/$(or $(STEM),*)/test_kernels.py),$(ORACLE_TESTS))
ALL_AGAINST  = $(if $(IS_QUICK),$(QUICK),$(DIFFERENTIAL))
# A line for a stem: tools/common/shards.py.
SHARD_LINE  := '{"stem":"%s","name":"all"}\n'
differential: $(TEST_NEEDS) $(if $(IS_QUICK),,$(EXTRACTED)) ##more proofs, oracles and kernels against each other on thousands of inputs; STEM= narrows; EXAMPLES=quick, deep (a minute)
	@$(if $(LIST),printf $(SHARD_LINE) $(sort $(notdir $(patsubst %/,%,$(dir $(ALL_AGAINST))))),$(call side_by_side,differential,$(ALL_AGAINST)))

differential-%:
	@PGQUERN_PROFILE=$${PGQUERN_PROFILE:-$(or $(EXAMPLES),brief)} PGQUERN_RESULT=test$(if $(IS_QUICK),-quick) $(PYTEST) $(filter tests/$*/%,$(ALL_AGAINST))

# A process for each subject's folder of tests, side by side; `house` are all others. Where there is most text, the tests
# take longest, so these start first: one that started last would keep the others waiting. EXAMPLES=whole: eight times as many.
SUBJECTS    := $(patsubst ref/%.py,%,$(wildcard ref/*.py)) instructions mount
HOUSE_TESTS := $(filter-out $(SUBJECTS:%=tests/%/%),$(wildcard tests/test_*.py tests/*/test_*.py))
TEST_FOLDERS = $(if $(STEM),,house) $(shell wc -c $(wildcard $(addsuffix /test_*.py,$(addprefix tests/,$(or $(STEM),$(SUBJECTS))))) /dev/null | \
	awk -F'[ /]+' '$$3 == "tests" { sum[$$4] += $$2 } END { for (s in sum) print sum[s], s }' | sort -rn | cut -d' ' -f2)
test-python: $(TEST_NEEDS) $(EXTRACTED) $(PG_EXTENSIONS) $(SETUP)/servers.stamp $(SETUP)/coq.stamp $(SETUP)/cbmc.stamp $(SETUP)/tlc.stamp
	@echo "side by side, shown as they end: $(TEST_FOLDERS)"
	@$(MAKE) --keep-going --output-sync=target --jobs=$(AT_ONCE) $(TEST_FOLDERS:%=test-python-%)

test-python-house:
	@PGQUERN_RESULT=test $(PYTEST) $(HOUSE_TESTS)

test-python-%:
	@PGQUERN_PROFILE=$(or $(EXAMPLES),brief) PGQUERN_RESULT=test $(PYTEST) --ignore-glob '*/test_sanitized.py' tests/$*

# The builds of PostgreSQL that `make test` leaves out (tests/conftest.py); BUILDS="13 15-debian": only these.
SERVER_TESTS = $(shell grep -l 'mark.servers' tests/$(or $(STEM),*)/test_*.py)
test-servers: $(TEST_NEEDS) $(PG_EXTENSIONS) $(SETUP)/servers.stamp $(SETUP)/tlc.stamp
	@$(if $(SERVER_TESTS),$(call side_by_side,test-servers,$(SERVER_TESTS)),echo "test-servers: $(STEM) has none")

# pytest ends with 5 where a stem has no test with any of BUILDS.
test-servers-%:
	@PGQUERN_BUILDS="$(BUILDS)" PGQUERN_RESULT=test-servers $(PYTEST) $(filter tests/$*/%,$(SERVER_TESTS)) $(if $(BUILDS),|| [ $$? = 5 ])

# Tests of programs that build, judge, audit and draw: seconds each, so a process for each file, side by side. EXAMPLES=whole: those
# of a minute and more, too.
TOOL_TESTS = $(shell grep -l 'mark.tools' $(HOUSE_TESTS))
test-tools: $(TEST_NEEDS) $(EXTRACTED) $(SETUP)/coq.stamp $(SETUP)/tlc.stamp kernels-asan
	@PGQUERN_PROFILE=$(or $(EXAMPLES),brief) $(MAKE) --keep-going --output-sync=target --jobs=$(AT_ONCE) $(subst /,-,$(TOOL_TESTS:tests/%.py=test-tools-%))

test-tools-%:
	@PGQUERN_RESULT=$* $(PYTEST) -m tools tests/$(subst -,/,$*).py

# Nobody else runs these: they fetch servers of their own.
MINORS := $(wildcard tests/$(or $(STEM),*)/test_minors.py)
test-minors: $(TEST_NEEDS) $(PG_EXTENSIONS) $(SETUP)/maven.stamp $(SETUP)/postgres.stamp
	@PGQUERN_RESULT=minors $(if $(MINORS),$(PYTEST) -m minors $(MINORS),echo "test-minors: no defect of $(STEM) is seen in a released minor")

# Each level below this CPU's own is tested too: PGQUERN_CPU hides what the CPU has beyond, by a flag in /proc/cpuinfo. A level
# beyond which it has nothing is its own, which `make test` has tried, as it has each variant. What is new is what an entry
# chooses: so the stems run that have kernels of a level, on few examples.
HIDDEN_x86_64  := none avx2
HIDDEN_aarch64 := none
BEYOND_none    := avx2 asimd
BEYOND_avx2    := avx512f
CPU_FLAGS       = $(shell grep -m1 -E '^(flags|Features)' /proc/cpuinfo)
HIDDEN          = $(foreach level,$(or $(HIDDEN_$(MACHINE)),none),$(if $(filter $(BEYOND_$(level)),$(CPU_FLAGS)),$(level)))
LEVEL_TESTS     = $(filter $(KERNEL_TESTS),$(sort $(foreach level,$(LEVELS),$(patsubst csrc/%,tests/%test_kernels.py,$(dir $(wildcard csrc/*/*$(level).c))))))
test-levels: $(TEST_NEEDS) $(EXTRACTED)
	@failed=; for level in $(if $(LEVEL_TESTS),$(HIDDEN)); do export PGQUERN_CPU=$$level; echo "PGQUERN_CPU=$$level"; \
	  $(call side_by_side,hidden,$(LEVEL_TESTS)) || failed=1; done; test -z "$$failed"
	@$(if $(HIDDEN),,echo "test-levels: this CPU has nothing to hide")

hidden-%:
	@PGQUERN_PROFILE=cross PGQUERN_RESULT=test $(PYTEST) tests/$*/test_kernels.py

# Python itself is not sanitized: libasan comes first. It keeps two frames of each allocation, since Python allocates all the
# time. Leaks are looked for at the end of the tests (tests/common/leaks.py), not when a process ends: what Python never frees is no
# leak of ours. Memory that there is not is NULL, as without ASan. gcc 14 does not align the copies of the stack that show a use
# after return for registers of 64 bytes (its bug 110027): they stay off.
test-asan: $(TEST_NEEDS) $(EXTRACTED) kernels-asan
	@$(call side_by_side,asan,$(KERNEL_TESTS) $(SANITIZED))

asan-%:
	@LD_PRELOAD=$$(gcc -print-file-name=libasan.so) ASAN_OPTIONS=detect_leaks=1:leak_check_at_exit=0:allocator_may_return_null=1:detect_stack_use_after_return=0:malloc_context_size=2 PYTHONMALLOC=malloc PYTHONPATH=.:csrc/ffi:$(BUILD)/ffi-asan \
	  PGQUERN_PROFILE=asan PGQUERN_RESULT=asan $(PYTEST) -o 'pythonpath=. csrc/ffi $(BUILD)/ffi-asan' $(filter tests/$*/%,$(KERNEL_TESTS) $(SANITIZED))

lint-python: $(SETUP)/python.stamp $(BUILD)/ffi/$(FFI)
	@$(VENV)/bin/ruff check .
	@$(VENV)/bin/ruff format --check -q --exclude '*.md' .
	@$(PY) -m mypy --strict ref tools tests csrc/ffi bench spec proofs
