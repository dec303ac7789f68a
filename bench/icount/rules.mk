# SPDX-License-Identifier: PostgreSQL
# Instruction counts of the stems that have an icount.c: by their icount.toml on this machine, and by icount_MACHINE.toml on
# another machine's CPU, under qemu.
icount_stems  = $(patsubst bench/%/$1,%,$(wildcard bench/$(or $(STEM),*)/$1))
ICOUNT_STEMS := $(call icount_stems,icount.toml)
ICOUNT_NEEDS  = $(ICOUNT_STEMS:%=$(BENCH)/%/step) $(SETUP)/python.stamp
CFLAGS_ICOUNT := -O2 -std=gnu11 -Wall -Wextra -Werror -Icsrc -Ibench

define icount_stem
$(BENCH)/$1/step: bench/icount/step.c bench/$1/icount.c bench/icount/subject.h $(call bench_objects,$1,$(BENCH_C)) $(BUILD)/lib/libpgquern.a
	@mkdir -p $$(@D)
	@gcc $(CFLAGS_ICOUNT) $$(filter-out %.h,$$^) -o $$@
endef
$(foreach stem,$(ICOUNT_STEMS),$(eval $(call icount_stem,$(stem))))

.PHONY: icount
icount: $(if $(CROSS),,$(ICOUNT_NEEDS)) ##more instructions of each kernel: 5 % more than recorded fails, and a cost that grows faster than it may; STEM= narrows; CROSS=aarch64: there, under qemu; ACCEPT=1 records (a minute)
	@$(if $(CROSS),$(MAKE) icount-cross,$(PY) -m bench.icount.run $(ICOUNT_STEMS) $(if $(ACCEPT),--accept))

ifdef CROSS
# Linked statically: no function of libc waits for its first call.
define icount_emulated
$(OUT)/icount/$1: bench/icount/emulated.c bench/icount/subject.h $(wildcard bench/$1/*.c) $(OUT)/lib/libpgquern.a
	@mkdir -p $$(@D)
	@$(GCC) -static $(CFLAGS_ICOUNT) $$(filter-out %.h,$$^) -pthread -o $$@
endef
$(foreach stem,$(call icount_stems,icount_$(CROSS).toml),$(eval $(call icount_emulated,$(stem))))

.PHONY: icount-programs
icount-programs: $(patsubst %,$(OUT)/icount/%,$(call icount_stems,icount_$(CROSS).toml))
endif
