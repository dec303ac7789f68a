# SPDX-License-Identifier: PostgreSQL
# Kernels, libraries and bindings. A stem adds itself by its folder: csrc/<stem>/*.c. A file whose name ends in a level of
# csrc/common/cpu.h (avx2.c) is compiled for that level, and only where a machine can have it (and only run where the CPU has
# it); all else is the same for all. The flags of a level are what its function in csrc/common/cpu.c asks the CPU for, no more.
# CROSS=aarch64: the objects and libraries are that machine's, in build/aarch64.
MACHINE        := $(or $(CROSS),$(shell uname -m))
LEVELS_x86_64  := avx2 avx512 avx512vbmi2
LEVELS_aarch64 := neon
LEVELS         := $(LEVELS_$(MACHINE))
FOREIGN_LEVELS := $(filter-out $(LEVELS),$(LEVELS_x86_64) $(LEVELS_aarch64))

OUT     := $(BUILD)$(CROSS:%=/%)
GCC     := $(CROSS:%=%-linux-gnu-)gcc
# CC=clang: another compiler for the kernels and the library; the tests' own programs stay gcc's.
CHOSEN_CC := $(if $(filter command environment,$(origin CC)),$(CC))
KERNEL_CC := $(if $(CROSS),$(GCC),$(or $(CHOSEN_CC),gcc))
AR      := $(CROSS:%=%-linux-gnu-)ar
LD      := $(CROSS:%=%-linux-gnu-)ld

ALL_SOURCES    := $(wildcard csrc/*.c csrc/*/*.c)
KERNEL_SOURCES := $(filter-out $(addprefix %,$(addsuffix .c,$(FOREIGN_LEVELS))),$(ALL_SOURCES))
KERNEL_HEADERS := $(wildcard csrc/*.h csrc/*/*.h csrc/*.def csrc/*/*.def)

CFLAGS_COMMON := -std=c11 -D_GNU_SOURCE -g -fPIC -fvisibility=hidden -Wall -Wextra -Werror -Icsrc
# A short loop can lose half its speed by its address, and an unrelated edit changes that. So each function starts a cache line.
CFLAGS_KERNEL := -O2 -falign-functions=64 $(CFLAGS_COMMON)
CFLAGS_PLAIN  := -O1 -fno-omit-frame-pointer -DPGQUERN_HOLDS $(CFLAGS_COMMON)
CFLAGS_ASAN   := -O1 -fno-omit-frame-pointer -DPGQUERN_HOLDS -fsanitize=address,undefined -fno-sanitize-recover=all $(CFLAGS_COMMON)

# The flags that a source file needs beyond the common ones: $(call isa_flags,FILE)
ISA_avx2   := -mavx2 -mbmi -mbmi2 -mlzcnt -mpopcnt
ISA_avx512 := $(ISA_avx2) -mavx512f -mavx512bw -mavx512dq -mavx512vl
ISA_avx512vbmi2 := $(ISA_avx512) -mavx512vbmi2
ISA_neon   :=
isa_flags   = $(foreach level,$(LEVELS),$(if $(filter %$(level).c,$1),$(ISA_$(level))))

OBJECTS      := $(KERNEL_SOURCES:csrc/%.c=$(OUT)/obj/%.o)
OBJECTS_ASAN := $(KERNEL_SOURCES:csrc/%.c=$(BUILD)/obj-asan/%.o)

COMPILER := $(SETUP)/$(if $(filter-out $(shell uname -m),$(CROSS)),cross,c).stamp

$(OUT)/obj/%.o: csrc/%.c $(COMPILER)
	@mkdir -p $(@D)
	@echo "$(KERNEL_CC) $<"
	@$(KERNEL_CC) $(CFLAGS_KERNEL) $(call isa_flags,$<) -MMD -MP -c $< -o $@

$(BUILD)/obj-asan/%.o: csrc/%.c $(SETUP)/c.stamp
	@mkdir -p $(@D)
	@echo "gcc -fsanitize=address,undefined $<"
	@gcc $(CFLAGS_ASAN) $(call isa_flags,$<) -MMD -MP -c $< -o $@

.SECONDARY: $(OBJECTS_ASAN)
-include $(OBJECTS:.o=.d) $(OBJECTS_ASAN:.o=.d)

$(OUT)/lib/libpgquern.a: $(OBJECTS)
	@mkdir -p $(@D)
	@rm -f $@
	@$(AR) rcs $@ $^

$(OUT)/lib/libpgquern.so: $(OBJECTS)
	@mkdir -p $(@D)
	@$(KERNEL_CC) -shared -Wl,-z,defs $^ -o $@

# The Python binding: cffi writes C from the public headers, and the limited API makes one file serve every Python 3.
FFI := _pgquern.abi3.so

# cffi keeps a file that would not change, with its old time: it would be made again each time. What it says is no output of ours.
$(BUILD)/ffi-src/_pgquern.c: csrc/ffi/generate.py $(KERNEL_HEADERS) $(SETUP)/python.stamp
	@mkdir -p $(@D)
	@$(PY) csrc/ffi/generate.py csrc/pgquern.h $@ >&2
	@touch $@

python_include = $(if $(CROSS),$(CROSS_INCLUDE),-I$(shell $(PY) -c 'import sysconfig; print(sysconfig.get_paths()["include"])'))

$(OUT)/ffi-src/_pgquern.o: $(BUILD)/ffi-src/_pgquern.c $(COMPILER)
	@mkdir -p $(@D)
	@$(GCC) -O2 -g -fPIC -fvisibility=hidden -Icsrc $(python_include) -c $< -o $@

$(OUT)/ffi/$(FFI): $(OUT)/ffi-src/_pgquern.o $(OUT)/lib/libpgquern.a
	@mkdir -p $(@D)
	@$(GCC) -shared $^ -o $@

$(BUILD)/ffi-asan/$(FFI): $(BUILD)/ffi-src/_pgquern.o $(OBJECTS_ASAN)
	@mkdir -p $(@D)
	@gcc -shared -fsanitize=address,undefined $^ -o $@

.PHONY: kernels kernels-asan lint-c
kernels: $(OUT)/lib/libpgquern.a $(OUT)/lib/libpgquern.so $(OUT)/ffi/$(FFI) ##more the C library and its Python binding; CROSS=aarch64: for that machine (seconds)

kernels-asan: $(BUILD)/ffi-asan/$(FFI)

LINT_SOURCES := $(ALL_SOURCES) $(KERNEL_HEADERS) $(wildcard tests/*/*.[ch] tests/*/judge/*/*.c* tests/*/upstream/*.c bench/*.[ch]* bench/*/*.[ch] bench/*/*.cc bench/*/*/*.h bench/*/*/*.cc tools/*/*.[ch] tools/*/*.cc)
LINT_CLANG   := $(KERNEL_SOURCES:csrc/%.c=$(BUILD)/lint/%.o)

# The warnings of the second compiler. The build itself shows those of the first one.
$(BUILD)/lint/%.o: csrc/%.c $(KERNEL_HEADERS) $(SETUP)/c.stamp
	@mkdir -p $(@D)
	@clang $(CFLAGS_KERNEL) $(call isa_flags,$<) -c $< -o $@

lint-c: $(OBJECTS) $(LINT_CLANG) lint-objects $(SETUP)/python.stamp
	@$(PY) $(VENV)/bin/clang-format --dry-run -Werror $(LINT_SOURCES)

# A compiler may drop a prefetch, and no test of results would notice: each source that asks for one must have it as an
# instruction, by both compilers.
PREFETCHING := $(shell grep -ls __builtin_prefetch $(KERNEL_SOURCES))

# A program that links the archive has names of its own: ours all begin with pgq_.
.PHONY: lint-objects
lint-objects: $(OBJECTS) $(LINT_CLANG) $(BUILD)/lib/libpgquern.a
	@foreign=$$(nm -g --defined-only $(BUILD)/lib/libpgquern.a | awk 'NF == 3 && $$3 !~ /^pgq_/ { print $$3 }'); \
	  [ -z "$$foreign" ] || { echo "libpgquern.a has global names without pgq_, which a program may have too: "$$foreign >&2; exit 1; }
	@for object in $(PREFETCHING:csrc/%.c=$(BUILD)/obj/%.o) $(PREFETCHING:csrc/%.c=$(BUILD)/lint/%.o); do \
	  [ "$$(objdump -d $$object | grep -cwE 'prefetch[a-z0-9]*|prfm')" != 0 ] || { echo "$$object: the compiler dropped all prefetches" >&2; exit 1; }; \
	done

# These files build the kernels in their own ways and use the definitions above.
