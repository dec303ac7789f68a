# SPDX-License-Identifier: PostgreSQL
# The kernels in plain C with each access to memory made known: traced.c. CHANGED: a folder of sources that stand in for those of csrc/,
# SNAPBUILD_TRACED: where the program goes then.
SNAPBUILD_TRACED  ?= $(BUILD)/traced/snapbuild
SNAPBUILD_OBJECTS := $(patsubst %,$(SNAPBUILD_TRACED).objects/%.o,purge_inplace purge_scalar purge_sorted full compress)

$(SNAPBUILD_OBJECTS): $(SNAPBUILD_TRACED).objects/%.o: csrc/snapbuild/%.c tests/snapbuild/traced.h $(KERNEL_HEADERS) $(SETUP)/c.stamp
	@mkdir -p $(@D)
	@gcc $(CHANGED:%=-w -I%) $(CFLAGS_KERNEL) -O1 -fsanitize=thread -include tests/snapbuild/traced.h \
	  -c $(firstword $(wildcard $(CHANGED:%=%/snapbuild/$*.c)) $<) -o $@

$(SNAPBUILD_TRACED): tests/snapbuild/traced.c $(SNAPBUILD_OBJECTS) $(BUILD)/lib/libpgquern.a
	@gcc $(CFLAGS_KERNEL) $^ -o $@

test-python-snapbuild: $(SNAPBUILD_TRACED) $(BUILD)/oracle/snapbuild_operations
