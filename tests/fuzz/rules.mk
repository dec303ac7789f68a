# SPDX-License-Identifier: PostgreSQL
# libFuzzer targets, one a stem: tests/fuzz/fuzz_<stem>.c, with the kernels built for coverage under ASan and UBSan.
FUZZ_RUNS    ?= 100000
FUZZ_STEMS   := $(if $(STEM),$(filter $(STEM),$(patsubst tests/fuzz/fuzz_%.c,%,$(wildcard tests/fuzz/fuzz_*.c))),$(patsubst tests/fuzz/fuzz_%.c,%,$(wildcard tests/fuzz/fuzz_*.c)))
CFLAGS_FUZZ  := -O1 -fno-omit-frame-pointer -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all $(CFLAGS_COMMON)
OBJECTS_FUZZ := $(KERNEL_SOURCES:csrc/%.c=$(BUILD)/obj-fuzz/%.o)

$(BUILD)/obj-fuzz/%.o: csrc/%.c $(SETUP)/c.stamp
	@mkdir -p $(@D)
	@echo "clang -fsanitize=fuzzer,address,undefined $<"
	@clang $(CFLAGS_FUZZ) $(call isa_flags,$<) -MMD -MP -c $< -o $@

.SECONDARY: $(OBJECTS_FUZZ)
-include $(OBJECTS_FUZZ:.o=.d)

$(BUILD)/fuzz/fuzz_%: tests/fuzz/fuzz_%.c $(OBJECTS_FUZZ)
	@mkdir -p $(@D)
	@clang $(CFLAGS_FUZZ) -fsanitize=fuzzer,address,undefined $^ -o $@

.PHONY: fuzz
fuzz: $(FUZZ_STEMS:%=$(BUILD)/fuzz/fuzz_%) $(SETUP)/python.stamp ## fuzz every kernel under ASan and UBSan: FUZZ_RUNS inputs a stem, each refused or right (up to a minute a stem)
	@for stem in $(FUZZ_STEMS); do $(PY) -m tests.fuzz.run $$stem --runs $(FUZZ_RUNS); done
