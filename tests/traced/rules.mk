# SPDX-License-Identifier: PostgreSQL
# A stem's kernels in plain C with each access to memory made known: its program is tests/<stem>/traced.c, and TRACED_<stem>, in its
# rules.mk, names those files of csrc/<stem>/ that are compiled so. They may call nothing that is not traced, and look into what
# TRACED_DATA_<stem> names. CHANGED: a folder of sources that stand in for those of csrc/, TRACED: where the programs go then.
# At -O0 each access of the text is made: from -O1 on a compiler may leave out a load whose value does not matter.
# A call of memset is gcc's own, for a local array that begins with zeros: calls.h has replaced those of the source, and
# __tsan_write_range comes before it.
# CROSS=aarch64: those of that machine, in build/aarch64/traced. It has no loader here, so a program holds its libraries.
TRACED       ?= $(OUT)/traced
TRACED_STEMS := $(foreach stem,$(patsubst tests/%/rules.mk,%,$(wildcard tests/*/rules.mk)),$(if $(TRACED_$(stem)),$(stem)))

define traced_program
$(TRACED_$1:%=$(TRACED)/$1.objects/%.o): $(TRACED)/$1.objects/%.o: csrc/$1/%.c tests/traced/calls.h $(KERNEL_HEADERS) $(COMPILER)
	@mkdir -p $$(@D)
	@$(GCC) $(CHANGED:%=-w -I%) $(CFLAGS_KERNEL) $$(call isa_flags,$$<) -O0 -DNDEBUG -fsanitize=thread -include tests/traced/calls.h \
	  -c $$(firstword $$(wildcard $(CHANGED:%=%/$1/$$*.c)) $$<) -o $$@

$(TRACED)/$1: tests/$1/traced.c tests/traced/accesses.c $(TRACED_$1:%=$(TRACED)/$1.objects/%.o) $(OUT)/lib/libpgquern.a tests/traced/accesses.h
	@$(LD) -r $$(filter %.o,$$^) -o $$@.o
	@foreign=$$$$(nm -u $$@.o | awk '$$$$2 !~ /^(__tsan_.*|traced_.*|memset|_GLOBAL_OFFSET_TABLE_$(TRACED_DATA_$1:%=|%))$$$$/ { print $$$$2 }'); \
	  [ -z "$$$$foreign" ] || { echo "traced: $1 calls what is not traced: "$$$$foreign >&2; exit 1; }
	@$(GCC) $(CFLAGS_KERNEL) $(if $(CROSS),-static) -Itests/traced $$(filter-out %.h,$$^) -o $$@

test-python-$1 $(if $(filter $(or $(STEM),%),$1),changes): $(TRACED)/$1 $(BUILD)/oracle/$1_operations
endef
$(foreach stem,$(TRACED_STEMS),$(eval $(call traced_program,$(stem))))
