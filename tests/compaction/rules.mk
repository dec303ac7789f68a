# SPDX-License-Identifier: PostgreSQL
# A page of a real table before and after, for the report's picture.
$(RESULTS)/real-page.json: tests/compaction/picture.py tests/compaction/heap.py $(PG_EXTENSIONS) $(SETUP)/servers.stamp $(SETUP)/python.stamp
	@$(PY) -m tests.compaction.picture
# The kernels in plain C with each of their copies made known: traced.c.
TRACED := $(patsubst %,$(BUILD)/traced/%.o,pg13 pg14 scalar)

$(BUILD)/traced/%.o: csrc/compaction/%.c tests/compaction/traced.h $(KERNEL_HEADERS) $(SETUP)/c.stamp
	@mkdir -p $(@D)
	@gcc $(CFLAGS_KERNEL) -include tests/compaction/traced.h -c $< -o $@

$(BUILD)/traced/compaction: tests/compaction/traced.c $(TRACED) $(BUILD)/lib/libpgquern.a
	@gcc $(CFLAGS_KERNEL) $^ -o $@

test-python-compaction mutants-drivers: $(BUILD)/traced/compaction
