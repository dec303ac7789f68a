# SPDX-License-Identifier: PostgreSQL
$(BUILD)/icount/step: bench/icount/step.c csrc/pgquern.h $(BUILD)/lib/libpgquern.a $(SETUP)/c.stamp
	@mkdir -p $(@D)
	@gcc -O2 -std=gnu11 -Wall -Wextra -Werror -Icsrc $< $(BUILD)/lib/libpgquern.a -o $@

.PHONY: icount icount-accept
icount: $(BUILD)/icount/step $(SETUP)/python.stamp ## instructions of each kernel; 5 % more than recorded fails (20 s)
	@$(PY) -m bench.icount.run

icount-accept: $(BUILD)/icount/step $(SETUP)/python.stamp ## record the instruction counts of this tree (20 s)
	@$(PY) -m bench.icount.run --accept
