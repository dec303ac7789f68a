# SPDX-License-Identifier: PostgreSQL
# A page of a real table before and after, for the report's picture.
$(RESULTS)/real-page.json: tests/compaction/picture.py tests/compaction/heap.py $(PG_EXTENSIONS) $(SETUP)/servers.stamp $(SETUP)/python.stamp
	@$(PY) -m tests.compaction.picture
# The kernels with each of their copies made known, and those by vectors with each load and store: traced.c. CHANGED: a folder
# of sources that stand in for those of csrc/, TRACED: where the program goes then. CROSS=aarch64: those of that machine, which hold
# their libraries.
TRACED         ?= $(OUT)/traced
TRACED_PLAIN   := $(patsubst %,$(TRACED)/%.o,pg13 pg14 scalar)
TRACED_VECTORS := $(patsubst csrc/compaction/%.c,$(TRACED)/%.o,$(wildcard $(LEVELS:%=csrc/compaction/%.c)))
TRACED_LINKED  := $(if $(CROSS),-static)

$(TRACED_PLAIN): TRACING := traced.h
$(TRACED_VECTORS): TRACING := traced_vectors.h
$(TRACED)/%.o: csrc/compaction/%.c $(wildcard tests/compaction/traced*.h) $(KERNEL_HEADERS) $(COMPILER)
	@mkdir -p $(@D)
	@$(GCC) $(CHANGED:%=-w -I%) $(CFLAGS_KERNEL) $(call isa_flags,$<) -include tests/compaction/$(TRACING) \
	  -c $(firstword $(wildcard $(CHANGED:%=%/compaction/$*.c)) $<) -o $@

$(TRACED)/compaction: tests/compaction/traced.c $(TRACED_PLAIN) $(TRACED_VECTORS) $(OUT)/lib/libpgquern.a
	@$(GCC) $(CFLAGS_KERNEL) $(TRACED_LINKED) $^ -o $@

SCANNED := $(TRACED)/scanned $(BUILD)/oracle/compaction_scan $(if $(filter neon,$(LEVELS)),$(TRACED)/scanned_neon) \
             $(if $(filter avx%,$(LEVELS)),$(TRACED)/scanned_avx2 $(TRACED)/scanned_avx512 $(TRACED)/moved_avx512 $(BUILD)/oracle/compaction_moves)
# These `make test CROSS=aarch64` builds for the other machine.
EMULATED_compaction := compaction scanned_neon

# Before all tests begin: make would start this folder, which takes long, last.
test-python: $(if $(filter-out compaction,$(STEM)),,$(TRACED)/compaction $(SCANNED))
test-python-compaction: $(TRACED)/compaction
# A change of this stem may be seen by these alone.
changes: $(if $(filter-out compaction,$(STEM))$(filter quick,$(SIZE)),,$(TRACED)/compaction $(SCANNED))

# The scans of `scalar`, of `avx2`, of `avx512` and of `neon` by themselves: scanned*.c. They include the kernel, so CHANGED, TRACED
# and CROSS are as above.
$(TRACED)/scanned: tests/compaction/scanned.c tests/compaction/scanned.h csrc/compaction/scalar.c csrc/compaction/check.c $(KERNEL_HEADERS) $(SETUP)/c.stamp
	@mkdir -p $(@D)
	@gcc $(CHANGED:%=-w -I%) $(CFLAGS_KERNEL) $< $(firstword $(wildcard $(CHANGED:%=%/compaction/check.c)) csrc/compaction/check.c) -o $@

$(TRACED)/scanned_avx2: csrc/compaction/avx2.c
$(TRACED)/scanned_avx512: csrc/compaction/avx512vbmi2.c
$(TRACED)/scanned_neon: csrc/compaction/neon.c
$(TRACED)/scanned_%: tests/compaction/scanned_%.c tests/compaction/scanned.h $(KERNEL_HEADERS) $(OUT)/lib/libpgquern.a $(COMPILER)
	@mkdir -p $(@D)
	@$(GCC) $(CHANGED:%=-w -I%) $(CFLAGS_KERNEL) $(TRACED_LINKED) $(call isa_flags,$(filter csrc/%.c,$^)) $< $(OUT)/lib/libpgquern.a -o $@

# What `avx512` does with its scans: moved_avx512.c. Its functions that choose stand in a file of their own for it.
$(TRACED)/moved_avx512.h: csrc/compaction/avx512vbmi2.c
	@mkdir -p $(@D)
	@sed -n '/^static inline void \(permute_few\|climb_in_pieces\|gather_by_windows\|move_tuples\)(/,/^}/p; /^pgq_status pgq_compaction_avx512(/,/^}/p' \
	  $(firstword $(wildcard $(CHANGED:%=%/compaction/avx512vbmi2.c)) $<) > $@

$(TRACED)/moved_avx512: tests/compaction/moved_avx512.c $(TRACED)/moved_avx512.h tests/compaction/scanned.h $(KERNEL_HEADERS) $(BUILD)/lib/libpgquern.a $(SETUP)/c.stamp
	@gcc $(CHANGED:%=-w -I%) $(CFLAGS_KERNEL) -I$(TRACED) $(call isa_flags,csrc/compaction/avx512vbmi2.c) $< $(BUILD)/lib/libpgquern.a -o $@

test-python-compaction: $(SCANNED)
