# SPDX-License-Identifier: PostgreSQL
.PHONY: trace-check trace-record
trace-check: $(SETUP)/python.stamp ##people does a recovery's strace conform: STRACE=file WAL=listing [VERSION= CONCURRENCY= BUFFERS= DECODE= JSON=1] (seconds)
	@$(PY) -m tools.trace.check --picture $(BUILD)/trace-check/timeline.png $(if $(STRACE),--strace $(call quoted,$(STRACE))) \
	  $(if $(WAL),--wal $(call quoted,$(WAL))) $(if $(VERSION),--version $(call quoted,$(VERSION))) \
	  $(if $(CONCURRENCY),--concurrency $(call quoted,$(CONCURRENCY))) $(if $(BUFFERS),--buffers $(call quoted,$(BUFFERS))) \
	  $(if $(DECODE),--decode $(call quoted,$(DECODE))) $(if $(JSON),--json)

trace-record: $(SETUP)/python.stamp ##people record the recovery of your own cluster or standby, on a copy, and judge it: DATA=directory BIN=programs [CONCURRENCY=10,32 BUFFERS= DECODE= PRIMARY= STOP=1 JSON=1] (its recovery, and seconds)
	@$(if $(DATA),,echo "trace-record: say where the cluster is: make trace-record DATA=/path/to/data BIN=/path/to/bin" >&2; exit 2;) \
	$(PY) -m tools.trace.cluster --data $(call quoted,$(DATA)) --into $(BUILD)/trace-record $(if $(BIN),--bin $(call quoted,$(BIN))) \
	  $(if $(CONCURRENCY),--concurrency $(call quoted,$(CONCURRENCY))) $(if $(BUFFERS),--buffers $(call quoted,$(BUFFERS))) \
	  $(if $(DECODE),--decode $(call quoted,$(DECODE))) \
	  $(if $(PRIMARY),--primary $(call quoted,$(PRIMARY))) $(if $(STOP),--stop) $(if $(JSON),--json)
