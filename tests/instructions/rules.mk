# SPDX-License-Identifier: PostgreSQL
# Each intrinsic that the kernels use, on this CPU and by its meaning in Coq. The programs are build/instructions/cpu and
# build/oracle/instructions; the flags of a level's list are those of the kernels of that level.
INSTRUCTIONS_C := $(filter-out $(addprefix %/,$(addsuffix .c,$(FOREIGN_LEVELS))),$(wildcard tests/instructions/*.c))

$(BUILD)/instructions/%.o: tests/instructions/%.c $(wildcard tests/instructions/*.h tests/instructions/*.def) csrc/common/cpu.h $(SETUP)/c.stamp
	@mkdir -p $(@D)
	@gcc $(CFLAGS_KERNEL) $(call isa_flags,$<) -c $< -o $@

$(BUILD)/instructions/cpu: $(INSTRUCTIONS_C:tests/instructions/%.c=$(BUILD)/instructions/%.o) $(BUILD)/lib/libpgquern.a
	@gcc $^ -o $@

INSTRUCTION_PROGRAMS := $(BUILD)/instructions/cpu $(BUILD)/oracle/instructions

test-python-instructions: $(INSTRUCTION_PROGRAMS)

.PHONY: instructions instructions-readings
instructions: $(INSTRUCTION_PROGRAMS) $(SETUP)/python.stamp ##deep each instruction of the kernels on this CPU and by its meaning in Coq: INPUTS=100000 random ones each, and all corners (8 minutes)
	@$(PY) -m tests.instructions.run $(INPUTS:%=--inputs %)

instructions-readings: $(INSTRUCTION_PROGRAMS) $(SETUP)/python.stamp ##deep change one meaning to a wrong reading of the manual; the CPU must refute it (3 minutes)
	@$(PY) -m tests.instructions.readings
