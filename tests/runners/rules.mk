# SPDX-License-Identifier: PostgreSQL
# A stem has fuzzing, threads or mutants if its folder holds fuzz.c, tsan.c or mutants.toml.
stems_with = $(patsubst tests/%/$1,%,$(wildcard tests/$(or $(STEM),*)/$1))

# ---- libFuzzer targets: the kernels are built for coverage under ASan and UBSan -----------------
FUZZ_RUNS    ?= 100000
FUZZ_STEMS   := $(call stems_with,fuzz.c)
CFLAGS_FUZZ  := -O1 -fno-omit-frame-pointer -DPGQUERN_HOLDS -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all $(CFLAGS_COMMON)
OBJECTS_FUZZ := $(KERNEL_SOURCES:csrc/%.c=$(BUILD)/obj-fuzz/%.o)

$(BUILD)/obj-fuzz/%.o: csrc/%.c $(SETUP)/c.stamp
	@mkdir -p $(@D)
	@echo "clang -fsanitize=fuzzer,address,undefined $<"
	@clang $(CFLAGS_FUZZ) $(call isa_flags,$<) -MMD -MP -c $< -o $@

.SECONDARY: $(OBJECTS_FUZZ)
-include $(OBJECTS_FUZZ:.o=.d)

$(BUILD)/fuzz/%: tests/%/fuzz.c $(OBJECTS_FUZZ)
	@mkdir -p $(@D)
	@clang $(CFLAGS_FUZZ) -fsanitize=fuzzer,address,undefined $^ -o $@

.PHONY: fuzz fuzz-sample
fuzz: $(FUZZ_STEMS:%=$(BUILD)/fuzz/%) $(SETUP)/python.stamp ##layer fuzz every kernel under ASan and UBSan: FUZZ_RUNS inputs a stem, each refused or right (up to a minute a stem)
	@$(PY) -m tests.runners.fuzz --stem '$(STEM)' --runs $(FUZZ_RUNS) $(if $(LIST),--list)

fuzz-sample: ##keep of `make fuzz` the first quarter of the inputs (seconds a stem)
	@$(MAKE) fuzz FUZZ_RUNS=$$(($(FUZZ_RUNS) / 4))

# ---- threads: built for ThreadSanitizer and as they are, then with one thing broken at a time ----
TSAN_STEMS   := $(call stems_with,tsan.c)
CFLAGS_TSAN  := -O1 -fno-omit-frame-pointer -DPGQUERN_HOLDS -fsanitize=thread $(CFLAGS_COMMON)
OBJECTS_TSAN := $(if $(TSAN_STEMS),$(KERNEL_SOURCES:csrc/%.c=$(BUILD)/obj-tsan/%.o))

$(BUILD)/obj-tsan/%.o: csrc/%.c $(SETUP)/c.stamp
	@mkdir -p $(@D)
	@echo "clang -fsanitize=thread $<"
	@clang $(CFLAGS_TSAN) $(call isa_flags,$<) -MMD -MP -c $< -o $@

-include $(OBJECTS_TSAN:.o=.d)

.PHONY: tsan
tsan: $(OBJECTS) $(OBJECTS_TSAN) $(SETUP)/python.stamp ##layer readers while one process writes, under ThreadSanitizer, and again with it broken (a minute)
	@$(PY) -m tests.runners.tsan --stem '$(STEM)' --sanitized '$(CFLAGS_TSAN)' --plain '$(CFLAGS_KERNEL)'

# ---- all that the tests compile: make alone would compile one file after the other ----------------
.PHONY: compiled
compiled: $(SETUP)/c.stamp $(SETUP)/python.stamp ##keep compile all that the tests need, as many files side by side as there are CPUs; STEM= narrows (a minute)
	@$(MAKE) --jobs=$$(nproc) kernels kernels-asan worlds $(OBJECTS_TSAN) $(FUZZ_STEMS:%=$(BUILD)/fuzz/%)

# ---- changes: one thing is broken at a time, in each layer ------------------------------------------
# NUMBER: of each stem and layer, the same ones each time; what survivors.toml lists is then not tried. NAME: those whose names begin so.
RUN_CHANGES = PGQUERN_PROFILE=brief nice $(PY) -m tests.changes --stem '$(STEM)' $(LAYER:%=--layer %) $(NUMBER:%=--number %) \
  --cflags '$(CFLAGS_KERNEL)' --world '$(CFLAGS_WORLD)' --asan '$(CFLAGS_ASAN)' --threads '$(CFLAGS_TSAN)' --cross '$(CFLAGS_PLAIN)' \
  $(foreach level,$(LEVELS),--isa '$(level)=$(ISA_$(level))')
CHANGES_NEED := kernels $(SETUP)/python.stamp

.PHONY: changes
changes: $(CHANGES_NEED) kernels-asan $(EXTRACTED) $(OBJECTS_WORLD) $(OBJECTS_TSAN) ##layer break one thing at a time: something must tell, or survivors.toml say why not; STEM=, LAYER=, NUMBER=, NAME= narrow (hours)
	@$(RUN_CHANGES) $(NAME:%=--name '%') $(PART:%=--part %) $(JOBS:%=--jobs %) $(if $(LIST),--list)

# ---- anyone's kernel on trial: tools/judge; here its own trial ----------------------------------------
.PHONY: judge-candidates
judge-candidates: $(TEST_NEEDS) $(EXTRACTED) kernels-asan ##deep each candidate of tests/*/judge/ gets the verdict that it must get; ONLY=name of a file, without its end (a quarter of an hour)
	@$(if $(LIST),$(PY) -m tests.runners.candidates,PGQUERN_RESULT=judge $(PYTEST) tests/judge/test_judge.py -k 'each_candidate$(ONLY:%= and /%.)')

# ---- what we found about upstream, shown on real servers --------------------------------------------
# Where gdb is missing and may not be installed, what needs it says so, and is SKIPPED.
.PHONY: findings
findings: $(SETUP)/servers.stamp $(SETUP)/python.stamp ##deep run what reproduces each finding about upstream, tests/findings/*/reproduce, on real servers; STEM= (a minute)
	@$(MAKE) -s $(SETUP)/gdb.stamp || true
	@$(PY) -m tests.runners.findings --stem '$(STEM)'

.PHONY: findings-pictures
findings-pictures: $(MODEL_NEEDS) ##keep draw the findings' pictures anew, after a change of the models that found them; STEM= (a minute)
	@$(PY) -m tests.runners.pictures --stem '$(STEM)'
