# SPDX-License-Identifier: PostgreSQL
.PHONY: bench-recovery
bench-recovery: $(SETUP)/servers.stamp
	@$(PY) -m bench.prefetch.endtoend.recovery --rounds $(or $(ROUNDS),3)

APT_fio := fio
.PHONY: bench-fio
bench-fio: $(BENCH)/prefetch/bench $(SETUP)/python.stamp $(SETUP)/fio.stamp
	@$(PY) -m bench.prefetch.fio
