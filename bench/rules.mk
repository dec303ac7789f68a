# SPDX-License-Identifier: PostgreSQL
# Benchmarks, one binary a stem: bench/STEM/*.cc, linked with the harness and with bench/STEM/*.c, which makes the inputs.
# All variants are the library's, compiled with the same flags. Subfolders have their own rules.
BENCH       := $(BUILD)/bench
BENCH_STEMS := $(filter $(or $(STEM),%),$(patsubst bench/%/goals.toml,%,$(wildcard bench/*/goals.toml)))
BENCH_C     := $(filter-out %/icount.c bench/icount/%,$(wildcard bench/*/*.c))
BENCH_CC    := $(wildcard bench/*.cc bench/*/*.cc)

$(BENCH)/%.cc.o: bench/%.cc $(SETUP)/c.stamp
	@mkdir -p $(@D)
	@echo "g++ $<"
	@g++ -std=c++20 -O2 -g -Wall -Wextra -Werror -Icsrc -Ibench -MMD -MP -c $< -o $@

$(BENCH)/%.c.o: bench/%.c $(SETUP)/c.stamp
	@mkdir -p $(@D)
	@echo "gcc $<"
	@gcc -O2 $(CFLAGS_COMMON) -MMD -MP -c $< -o $@

-include $(BENCH_CC:bench/%=$(BENCH)/%.d) $(BENCH_C:bench/%=$(BENCH)/%.d)

# The sources of a stem, and of the harness, as objects: $(call bench_objects,STEM,SOURCES)
bench_objects = $(patsubst bench/%,$(BENCH)/%.o,$(filter bench/$1/%,$2))

define bench_stem
$(BENCH)/$1/bench: $(BENCH)/harness.cc.o $(call bench_objects,$1,$(BENCH_CC)) $(call bench_objects,$1,$(BENCH_C)) $(BUILD)/lib/libpgquern.a
	@echo '$(CFLAGS_KERNEL)' > $(BENCH)/flags.txt
	@g++ $$^ -lbenchmark -lpthread -o $$@
endef
$(foreach stem,$(patsubst bench/%/goals.toml,%,$(wildcard bench/*/goals.toml)),$(eval $(call bench_stem,$(stem))))

# ONLY=PART: the rule bench-PART; the stems' rules have most of them.
.PHONY: bench bench-figures
bench: $(SETUP)/python.stamp ##day every configuration against upstream and the limit; fails below a floor; STEM= narrows; SIZE=quick, whole; ONLY=headlines, mount, shares, policies, figures (an hour)
	@$(if $(ONLY),,$(MAKE) --jobs=$$(nproc) $(BENCH_STEMS:%=$(BENCH)/%/bench) $(BUILD)/ffi/$(FFI))
	@$(if $(ONLY),$(RUN_PART),failed=; for stem in $(BENCH_STEMS); do $(PY) -m bench.run $$stem $(SIZE_OF_BENCH_$(SIZE)) || failed=1; done; test -z "$$failed")

SIZE_OF_BENCH_quick := --quick
SIZE_OF_BENCH_whole := --all

# Writes the last full benchmarks to bench/figures/CPU.json.
bench-figures: $(SETUP)/python.stamp
	@$(PY) -m bench.figures

-include $(wildcard bench/*/rules.mk)
