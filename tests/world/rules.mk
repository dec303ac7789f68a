# SPDX-License-Identifier: PostgreSQL
# A stem with I/O or threads has worlds: tests/<stem>/world.c and tests/<stem>/<name>_world.c, run for many seeds, under ASan and
# UBSan, with the disks, threads, clock and io_uring of tests/world/ in place of the real ones.
WORLD_RUNS    ?= 1000
WORLDS        := $(wildcard $(addprefix tests/$(or $(STEM),*)/,world.c *_world.c))
# tests/<stem>/world.c is build/world/<stem>, tests/<stem>/<name>_world.c is build/world/<stem>_<name>.
world_program  = $(BUILD)/world/$(subst /,_,$(patsubst %/world,%,$(patsubst %_world,%,$(1:tests/%.c=%))))
WORLD_SOURCES := $(wildcard tests/world/*.c)
CFLAGS_WORLD  := $(CFLAGS_ASAN) -include tests/world/interpose.h
OBJECTS_WORLD := $(if $(WORLDS),$(KERNEL_SOURCES:csrc/%.c=$(BUILD)/obj-world/%.o))

$(BUILD)/obj-world/%.o: csrc/%.c $(SETUP)/c.stamp
	@mkdir -p $(@D)
	@echo "gcc $(filter -fsanitize=%,$(CFLAGS_WORLD)) -include tests/world/interpose.h $<"
	@gcc $(CFLAGS_WORLD) $(call isa_flags,$<) -MMD -MP -c $< -o $@

.SECONDARY: $(OBJECTS_WORLD)
-include $(OBJECTS_WORLD:.o=.d)

define world_rule
$(call world_program,$1): $1 $$(WORLD_SOURCES) $$(wildcard tests/world/*.h tests/*/*world*.h tests/*/judge.h) $$(OBJECTS_WORLD)
	@mkdir -p $$(@D)
	@gcc $$(CFLAGS_ASAN) $$(filter %.c %.o,$$^) -pthread -o $$@
endef
$(foreach world,$(WORLDS),$(eval $(call world_rule,$(world))))

.PHONY: world worlds
worlds: $(foreach world,$(WORLDS),$(call world_program,$(world)))

world: worlds $(SETUP)/python.stamp ##more disks that fail, stops of the machine, threads: WORLD_RUNS=1000 seeds a stem; STATES=n or MINUTES=n: more, up to so many states or so long; SEED= repeats one (up to two minutes a stem)
	@$(PY) -m tests.runners.world --stem '$(STEM)' --runs $(WORLD_RUNS) $(STATES:%=--states %) $(MINUTES:%=--minutes %) $(SEED:%=--seed %) $(WORLD:%=--world %) $(FROM:%=--from %) $(if $(LIST),--list) $(JOIN:%=--join %)
