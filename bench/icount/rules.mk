# SPDX-License-Identifier: PostgreSQL
# Instruction counts of the stems that have an icount.c.
ICOUNT_STEMS := $(patsubst bench/%/icount.c,%,$(wildcard bench/*/icount.c))
ICOUNT_NEEDS  = $(ICOUNT_STEMS:%=$(BENCH)/%/step) $(SETUP)/python.stamp

define icount_stem
$(BENCH)/$1/step: bench/icount/step.c bench/$1/icount.c bench/icount/subject.h $(call bench_objects,$1,$(BENCH_C)) $(BUILD)/lib/libpgquern.a
	@mkdir -p $$(@D)
	@gcc -O2 -std=gnu11 -Wall -Wextra -Werror -Icsrc -Ibench $$(filter-out %.h,$$^) -o $$@
endef
$(foreach stem,$(ICOUNT_STEMS),$(eval $(call icount_stem,$(stem))))

.PHONY: icount icount-accept
icount: $(ICOUNT_NEEDS) ##layer instructions of each kernel; 5 % more than recorded fails; STEM= narrows (20 s a stem)
	@set -e; for stem in $(filter $(or $(STEM),%),$(ICOUNT_STEMS)); do $(PY) -m bench.icount.run $$stem; done

icount-accept: $(ICOUNT_NEEDS) ##keep record the instruction counts of this tree (20 s a stem)
	@set -e; for stem in $(filter $(or $(STEM),%),$(ICOUNT_STEMS)); do $(PY) -m bench.icount.run $$stem --accept; done
