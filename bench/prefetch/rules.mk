# SPDX-License-Identifier: PostgreSQL
.PHONY: prefetch-advise prefetch-lag
prefetch-advise: $(SETUP)/python.stamp ##people what each concurrency would bring for your WAL, on a simulated device: WAL=listing [BUFFERS=] (10 s)
	@$(PY) -m bench.prefetch.endtoend.advise --picture $(BUILD)/prefetch/advise.png $(if $(WAL),--wal $(call quoted,$(WAL))) \
	  $(if $(BUFFERS),--buffers '$(BUFFERS)')

prefetch-lag: $(SETUP)/python.stamp ##people a standby's lag while its concurrency is changed, on a simulated device (10 s)
	@$(PY) -m bench.prefetch.device --picture $(BUILD)/prefetch/lag.png

.PHONY: bench-recovery
bench-recovery: $(SETUP)/servers.stamp ##deep crash recoveries of a real server with a cold cache, at each concurrency; ROUNDS=3 (5 minutes)
	@$(PY) -m bench.prefetch.endtoend.recovery --rounds $(or $(ROUNDS),3)

.PHONY: bench-standby
bench-standby: $(SETUP)/c.stamp $(SETUP)/servers.stamp ##deep the lag of a real standby on emulated cold storage, while its concurrency is changed; STEP=30 seconds each (4 minutes)
	@$(PY) -m bench.prefetch.endtoend.standby $(if $(STEP),--seconds '$(STEP)')

APT_fio := fio
.PHONY: bench-fio
bench-fio: $(BENCH)/prefetch/bench $(SETUP)/python.stamp $(SETUP)/fio.stamp ##deep the engine's cold random reads beside fio's, at the same depth on the same file (1 minute)
	@$(PY) -m bench.prefetch.fio
