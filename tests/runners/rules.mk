# SPDX-License-Identifier: PostgreSQL
# A stem has fuzzing or threads if its folder holds fuzz.c or tsan.c.
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

.PHONY: fuzz
fuzz: $(FUZZ_STEMS:%=$(BUILD)/fuzz/%) $(SETUP)/python.stamp ##more fuzz what takes bytes of a disk, under ASan and UBSan: FUZZ_RUNS inputs a stem, each refused or right (up to a minute a stem)
	@$(PY) -m tests.runners.fuzz --stem '$(STEM)' --runs $(FUZZ_RUNS) $(if $(LIST),--list)

# ---- threads: built for ThreadSanitizer and as they are ----------------------------------------------
TSAN_STEMS   := $(call stems_with,tsan.c)
CFLAGS_TSAN  := -O1 -fno-omit-frame-pointer -DPGQUERN_HOLDS -fsanitize=thread $(CFLAGS_COMMON)
OBJECTS_TSAN := $(if $(TSAN_STEMS),$(KERNEL_SOURCES:csrc/%.c=$(BUILD)/obj-tsan/%.o))

$(BUILD)/obj-tsan/%.o: csrc/%.c $(SETUP)/c.stamp
	@mkdir -p $(@D)
	@echo "clang -fsanitize=thread $<"
	@clang $(CFLAGS_TSAN) $(call isa_flags,$<) -MMD -MP -c $< -o $@

-include $(OBJECTS_TSAN:.o=.d)

.PHONY: tsan
tsan: $(OBJECTS) $(OBJECTS_TSAN) $(SETUP)/python.stamp ##more readers while one process writes, under ThreadSanitizer (seconds a stem)
	@$(PY) -m tests.runners.tsan --stem '$(STEM)' --sanitized '$(CFLAGS_TSAN)' --plain '$(CFLAGS_KERNEL)'

# ---- all that the tests compile: make alone would compile one file after the other ----------------
.PHONY: compiled
compiled: $(SETUP)/c.stamp $(SETUP)/python.stamp
	@$(MAKE) --jobs=$$(nproc) kernels kernels-asan worlds $(OBJECTS_TSAN) $(FUZZ_STEMS:%=$(BUILD)/fuzz/%)

# ---- changes: one thing is broken at a time, in each layer ------------------------------------------
# NUMBER: of each stem and layer, the same ones each time; what survivors.toml lists is then not tried. NAME: those whose names begin so.
RUN_CHANGES = PGQUERN_PROFILE=brief $(PY) -m tests.changes --stem '$(STEM)' --cflags '$(CFLAGS_KERNEL)' --world '$(CFLAGS_WORLD)' \
  --asan '$(CFLAGS_ASAN)' --threads '$(CFLAGS_TSAN)' --cross '$(CFLAGS_PLAIN)' $(foreach level,$(LEVELS),--isa '$(level)=$(ISA_$(level))')
comma := ,
CHANGED_LAYERS := $(subst $(comma), ,$(LAYER))
changed = $(if $(filter $1,$(or $(CHANGED_LAYERS),$1)),$2)
CHANGES_NEED = $(call changed,C hand,kernels-asan $(OBJECTS_WORLD)) $(call changed,hand,$(OBJECTS_TSAN)) $(call changed,model,$(MODEL_NEEDS)) \
  $(call changed,proof,prove) $(call changed,meaning,$(INSTRUCTION_PROGRAMS)) $(call changed,C hand oracle binding extracted,$(EXTRACTED))
CHANGES_OF_CROSS = if $(MAKE) -s $(SETUP)/cross.stamp CROSS=; then $(MAKE) CROSS=$(OTHER_MACHINE) $(BUILD)/$(OTHER_MACHINE)/lib/libpgquern.a; fi

.PHONY: changes
changes: kernels $(if $(filter quick,$(SIZE)),,$(CHANGES_NEED)) $(SETUP)/python.stamp ##day break one thing at a time in each layer: something must tell, or survivors.toml say why not; STEM=, LAYER=C,hand, NUMBER=, NAME= narrow; SIZE=quick: one by hand of each stem (a day)
	@$(if $(LIST)$(filter quick,$(SIZE)),,$(call changed,cross,$(CHANGES_OF_CROSS)))
	@$(if $(filter quick,$(SIZE)),$(RUN_CHANGES) --quick,$(RUN_CHANGES) --layer '$(CHANGED_LAYERS)' $(NUMBER:%=--number %) $(NAME:%=--name '%') $(PART:%=--part %) $(JOBS:%=--jobs %) $(if $(LIST),--list))

# ---- anyone's kernel on trial: tools/judge; here its own trial ----------------------------------------
.PHONY: test-candidates
test-candidates: $(TEST_NEEDS) $(EXTRACTED) kernels-asan
	@$(if $(LIST),$(PY) -m tests.runners.candidates,PGQUERN_RESULT=judge $(PYTEST) tests/judge/test_judge.py -k 'each_candidate$(NAME:%= and /%.)')

# ---- what we found about upstream, shown on real servers --------------------------------------------
# Where gdb is missing and may not be installed, what needs it says so, and is SKIPPED.
.PHONY: findings
findings: $(SETUP)/servers.stamp $(SETUP)/python.stamp ##more run what reproduces each finding about upstream, tests/findings/*/reproduce, on real servers; STEM= (a minute)
	@$(MAKE) -s $(SETUP)/gdb.stamp || true
	@$(PY) -m tests.runners.findings --stem '$(STEM)'
