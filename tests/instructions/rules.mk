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

CPU_PROGRAMS := instructions/cpu
INSTRUCTION_PROGRAMS := $(CPU_PROGRAMS:%=$(BUILD)/%) $(BUILD)/oracle/instructions

test-python-instructions: $(INSTRUCTION_PROGRAMS)

# ARM's run under qemu. Where its packages can't be installed they are SKIPPED by name.
INSTRUCTIONS_CROSS = if $(MAKE) -s $(SETUP)/cross.stamp CROSS=; then $(MAKE) CROSS=$(OTHER_MACHINE) $(CPU_PROGRAMS:%=$(BUILD)/$(OTHER_MACHINE)/%); fi

.PHONY: instructions
instructions: $(INSTRUCTION_PROGRAMS) $(SETUP)/python.stamp ##more each instruction of the kernels on this CPU, and by its meaning in Coq: INPUTS=100000 random inputs each, and all corners (a quarter of an hour)
	@$(INSTRUCTIONS_CROSS)
	@$(PY) -m tests.instructions.run $(INPUTS:%=--inputs %)
