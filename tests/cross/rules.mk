# SPDX-License-Identifier: PostgreSQL
# The tests on another machine's CPU: CROSS=aarch64 builds for it, qemu runs it. Its own Python, with the packages that the
# tests import, lies in build/tools/aarch64; nothing of it is installed. The worlds are built for this machine, too (CROSS names
# it): a seed must do the same on both.
THIS_MACHINE  := $(shell uname -m)
OTHER_MACHINE := $(or $(filter-out $(THIS_MACHINE),$(CROSS)),aarch64)
CROSS_TOOLS   := $(BUILD)/tools/$(OTHER_MACHINE)
CROSS_INCLUDE  = $(addprefix -I,$(shell echo $(CROSS_TOOLS)/debian/usr/include/python3.* $(CROSS_TOOLS)/debian/usr/include))

$(SETUP)/cross.stamp: tests/cross/get-python requirements.lock .ci/apt-need $(SETUP)/python.stamp
	@mkdir -p $(@D)
	@.ci/apt-need $(APT_cross) --tools $(TOOLS_cross)
	@echo "set-up: Python for $(OTHER_MACHINE) in $(CROSS_TOOLS) (about 30 s)"
	@tests/cross/get-python $(OTHER_MACHINE) $(CROSS_TOOLS) $(PY) -m pip
	@touch $@

# Stems whose own rules trace: EMULATED_<stem>, in their rules.mk, names the programs in build/<machine>/traced.
EMULATED_STEMS := $(foreach stem,$(patsubst tests/%/rules.mk,%,$(wildcard tests/*/rules.mk)),$(if $(EMULATED_$(stem)),$(stem)))

ifdef CROSS
# A fuzz target with a main of its own, and the threads of tsan.c: qemu has no place for libFuzzer and the sanitizers.
$(OUT)/inputs/%: tests/%/fuzz.c tests/cross/main.c $(OUT)/lib/libpgquern.a
	@mkdir -p $(@D)
	@$(GCC) $(CFLAGS_PLAIN) $^ -pthread -o $@

$(OUT)/threads/%: tests/%/tsan.c $(OUT)/lib/libpgquern.a
	@mkdir -p $(@D)
	@$(GCC) $(CFLAGS_PLAIN) $^ -pthread -o $@

.PHONY: cross-programs
cross-programs: kernels $(TRACED_STEMS:%=$(TRACED)/%) $(foreach stem,$(EMULATED_STEMS),$(EMULATED_$(stem):%=$(TRACED)/%)) $(FUZZ_STEMS:%=$(OUT)/inputs/%) $(TSAN_STEMS:%=$(OUT)/threads/%) $(CPU_PROGRAMS:%=$(OUT)/%)
endif

# Where its packages can't be installed the runner says so, and each step is SKIPPED by name. EXAMPLES=whole: changed kernels,
# too, which do something else to memory.
.PHONY: test-cross
test-cross: $(SETUP)/python.stamp
	@if $(MAKE) -s $(SETUP)/cross.stamp CROSS=; then \
	  $(MAKE) --jobs=$$(nproc) CROSS=$(OTHER_MACHINE) cross-programs \
	  && $(MAKE) --jobs=$$(nproc) CROSS= $(BUILD)/ffi/$(FFI) $(BUILD)/instructions/cpu $(EXTRACTED); fi
	@PGQUERN_PROFILE=$(or $(EXAMPLES),brief) $(PY) -m tests.runners.cross $(OTHER_MACHINE) --cflags '$(CFLAGS_PLAIN)' --traced '$(TRACED_STEMS) $(EMULATED_STEMS)' --stem '$(STEM)'

# As above, what can't run is SKIPPED by name.
.PHONY: icount-cross
icount-cross: $(SETUP)/python.stamp
	@if $(MAKE) -s $(SETUP)/cross.stamp CROSS=; then $(MAKE) CROSS=$(OTHER_MACHINE) icount-programs; fi
	@$(PY) -m bench.icount.emulated $(OTHER_MACHINE) --stem '$(STEM)'
