# SPDX-License-Identifier: PostgreSQL
# Each intrinsic that the kernels use, on this CPU and by its meaning in Coq. The programs are build/instructions/cpu
# and build/oracle/instructions; the flags of a level's list are those of the kernels of that level.
INSTRUCTIONS_C := $(filter-out $(addprefix %/,$(addsuffix .c,$(FOREIGN_LEVELS))),$(wildcard tests/instructions/*.c))

$(OUT)/instructions/%.o: tests/instructions/%.c $(wildcard tests/instructions/*.h tests/instructions/*.def) csrc/common/cpu.h $(COMPILER)
	@mkdir -p $(@D)
	@$(GCC) $(CFLAGS_KERNEL) $(call isa_flags,$<) -c $< -o $@

# Another machine's program has no loader here: it holds its libraries.
$(OUT)/instructions/cpu: $(INSTRUCTIONS_C:tests/instructions/%.c=$(OUT)/instructions/%.o) $(OUT)/lib/libpgquern.a
	@$(GCC) $(if $(CROSS),-static) $^ -o $@

# The same lists by what CBMC is told of the intrinsics: proofs/bounded/immintrin.h is found before the compiler's.
BY_LANES := $(patsubst tests/instructions/%.c,$(BUILD)/instructions/lanes/%.o,$(wildcard tests/instructions/avx*.c))

$(BUILD)/instructions/lanes/%.o: tests/instructions/%.c $(wildcard proofs/bounded/*.h tests/instructions/*.h tests/instructions/*.def) csrc/common/cpu.h $(COMPILER)
	@mkdir -p $(@D)
	@gcc $(CFLAGS_KERNEL) -Iproofs/bounded $(call isa_flags,$<) -c $< -o $@

$(BUILD)/instructions/by_lanes: $(BY_LANES) $(BUILD)/instructions/main.o $(BUILD)/instructions/window.o $(BUILD)/lib/libpgquern.a
	@gcc $^ -o $@

INSTRUCTION_PROGRAMS := $(BUILD)/instructions/cpu $(BUILD)/oracle/instructions
ifeq ($(CROSS)$(MACHINE),x86_64)
INSTRUCTION_PROGRAMS += $(BUILD)/instructions/by_lanes
endif

test-python-instructions: $(INSTRUCTION_PROGRAMS)

# ARM's run under qemu. Where its packages can't be installed they are SKIPPED by name.
INSTRUCTIONS_CROSS = if $(MAKE) -s $(SETUP)/cross.stamp CROSS=; then $(MAKE) CROSS=$(OTHER_MACHINE) $(BUILD)/$(OTHER_MACHINE)/instructions/cpu; fi

.PHONY: instructions instructions-readings
instructions: $(INSTRUCTION_PROGRAMS) $(SETUP)/python.stamp ##deep each instruction of the kernels on this CPU, and by its meaning in Coq: INPUTS=100000 random inputs each, and all corners (9 minutes)
	@$(INSTRUCTIONS_CROSS)
	@$(PY) -m tests.instructions.run $(INPUTS:%=--inputs %)

instructions-readings: $(INSTRUCTION_PROGRAMS) $(SETUP)/python.stamp ##deep change one meaning to a wrong reading of the manual; the CPU must refute it (5 minutes)
	@$(INSTRUCTIONS_CROSS)
	@$(PY) -m tests.instructions.readings
