# SPDX-License-Identifier: PostgreSQL
.PHONY: bench-recovery
bench-recovery: $(SETUP)/servers.stamp ##deep crash recoveries of a real server with a cold cache, at each concurrency; ROUNDS=3 (some minutes)
	@$(PY) -m bench.prefetch.endtoend.recovery --rounds $(or $(ROUNDS),3)

APT_fio := fio
.PHONY: bench-fio
bench-fio: $(BENCH)/prefetch/bench $(SETUP)/python.stamp $(SETUP)/fio.stamp ##deep the engine's cold random reads beside fio's, at the same depth on the same file (a minute)
	@$(PY) -m bench.prefetch.fio
