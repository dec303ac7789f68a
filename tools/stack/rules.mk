# SPDX-License-Identifier: PostgreSQL
# The four parts of the file I/O stack as one program: rangelock, ioshares, tiercache, tornpage. The linker sends its
# requests to files through the program's own counters.
STACK         := $(BUILD)/stack
STACK_OBJECTS := $(patsubst tools/stack/%,$(STACK)/%.o,$(wildcard tools/stack/*.cc))

$(STACK)/%.cc.o: tools/stack/%.cc $(SETUP)/c.stamp
	@mkdir -p $(@D)
	@echo "g++ $<"
	@g++ -std=c++20 -O2 -g -Wall -Wextra -Werror -Icsrc -MMD -MP -c $< -o $@

-include $(STACK_OBJECTS:.o=.d)

$(STACK)/stack: $(STACK_OBJECTS) $(BUILD)/lib/libpgquern.a
	@g++ $^ -Wl,--wrap=pread -Wl,--wrap=pwrite -Wl,--wrap=fdatasync -lpthread -o $@

.PHONY: stack stack-check
stack: $(STACK)/stack $(SETUP)/python.stamp
	@$(PY) -m tools.stack $(if $(JSON),--json)

# The whole stack for a moment, with each protection: a restart finds every page.
stack-check: $(STACK)/stack $(SETUP)/python.stamp
	@$(PY) -m tools.stack --check --seconds 0.1 --rounds 1

# It belongs to the benchmarks of the stem.
ifneq ($(if $(ONLY),,$(filter tiercache,$(BENCH_STEMS))),)
bench: $(if $(filter quick,$(SIZE)),stack-check,stack)
endif
