# SPDX-License-Identifier: PostgreSQL
.PHONY: prefetch-advise prefetch-lag
prefetch-advise: $(SETUP)/python.stamp ## what each concurrency would bring for your WAL, on a simulated device: WAL=listing [BUFFERS=] (10 s)
	@$(PY) -m bench.prefetch.endtoend.advise --picture $(BUILD)/prefetch/advise.png $(if $(WAL),--wal '$(WAL)') \
	  $(if $(BUFFERS),--buffers '$(BUFFERS)')

prefetch-lag: $(SETUP)/python.stamp ## a standby's lag while its concurrency is changed, on a simulated device (10 s)
	@$(PY) -m bench.prefetch.device --picture $(BUILD)/prefetch/lag.png
