# SPDX-License-Identifier: PostgreSQL
# The four parts of the file I/O stack as one program: rangelock, ioshares, tiercache, tornpage. The linker sends its
# requests to files through the program's own counters.
STACK_OBJECTS := $(patsubst bench/%,$(BENCH)/%.o,$(wildcard bench/tiercache/stack/*.cc))
-include $(STACK_OBJECTS:.o=.d)

$(BENCH)/tiercache/stack/stack: $(STACK_OBJECTS) $(BUILD)/lib/libpgquern.a
	@g++ $^ -Wl,--wrap=pread -Wl,--wrap=pwrite -Wl,--wrap=fdatasync -lpthread -o $@

# The recorded trace, for policy.cc.
$(BENCH)/tiercache/bench: | $(BENCH)/tiercache/server16.txt

$(BENCH)/tiercache/server16.txt: bench/tiercache/traces/server16.xz $(SETUP)/python.stamp
	@mkdir -p $(@D)
	@$(PY) -c 'import lzma, sys; sys.stdout.buffer.write(lzma.open("$<").read())' > $@

.PHONY: stack stack-check bench-policies
bench-policies: kernels $(SETUP)/python.stamp ##people each eviction policy at each size of a page cache, on eight traces, beside the best of seven and the optimum; TRACES=folder: further traces (20 s)
	@$(PY) -m bench.tiercache.policies $(if $(TRACES),--traces $(call quoted,$(TRACES)))

stack: $(BENCH)/tiercache/stack/stack $(SETUP)/python.stamp ##people the file I/O stack under foreground and checkpoints, each part alone and all together, with 1 to 64 threads (8 minutes)
	@$(PY) -m bench.tiercache.stack

stack-check: $(BENCH)/tiercache/stack/stack $(SETUP)/python.stamp ##keep the whole stack for a moment, with each protection: a restart finds every page (10 s)
	@$(PY) -m bench.tiercache.stack --check --seconds 0.1 --rounds 1

# The stack belongs to the benchmarks of the row.
ifneq ($(filter tiercache,$(BENCH_STEMS)),)
bench: stack
bench-quick: stack-check
endif
