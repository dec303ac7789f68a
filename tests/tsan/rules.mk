# SPDX-License-Identifier: PostgreSQL
# Threads on one array, as its contract allows: tests/tsan/tsan_<stem>.c, with the kernels built for ThreadSanitizer and as they
# are; then again with one thing broken at a time (tests/tsan/<stem>.toml).
TSAN_STEMS   := $(filter $(or $(STEM),%),$(patsubst tests/tsan/tsan_%.c,%,$(wildcard tests/tsan/tsan_*.c)))
CFLAGS_TSAN  := -O1 -fno-omit-frame-pointer -fsanitize=thread $(CFLAGS_COMMON)
OBJECTS_TSAN := $(if $(TSAN_STEMS),$(KERNEL_SOURCES:csrc/%.c=$(BUILD)/obj-tsan/%.o))

$(BUILD)/obj-tsan/%.o: csrc/%.c $(SETUP)/c.stamp
	@mkdir -p $(@D)
	@echo "clang -fsanitize=thread $<"
	@clang $(CFLAGS_TSAN) $(call isa_flags,$<) -MMD -MP -c $< -o $@

-include $(OBJECTS_TSAN:.o=.d)

.PHONY: tsan
tsan: $(OBJECTS) $(OBJECTS_TSAN) $(SETUP)/python.stamp ## readers while one process writes, under ThreadSanitizer, and again with it broken (15 s)
	@for stem in $(TSAN_STEMS); do $(PY) -m tests.tsan.run $$stem --sanitized '$(CFLAGS_TSAN)' --plain '$(CFLAGS_KERNEL)'; done
