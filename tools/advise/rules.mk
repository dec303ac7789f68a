# SPDX-License-Identifier: PostgreSQL
.PHONY: advise lag
advise: $(SETUP)/python.stamp ##people what each concurrency would bring for your WAL, on a simulated device: WAL=listing [BUFFERS= JSON=1] (seconds)
	@$(PY) -m tools.advise --picture $(BUILD)/advise/advise.png $(if $(WAL),--wal $(call quoted,$(WAL))) \
	  $(if $(BUFFERS),--buffers $(call quoted,$(BUFFERS))) $(if $(JSON),--json)

lag: $(SETUP)/python.stamp ##people a standby's lag while its concurrency is changed, on a simulated device; JSON=1 (seconds)
	@$(PY) -m tools.advise.device --picture $(BUILD)/advise/lag.png $(if $(JSON),--json)
