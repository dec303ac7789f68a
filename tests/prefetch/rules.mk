# SPDX-License-Identifier: PostgreSQL
.PHONY: trace-check
trace-check: $(SETUP)/python.stamp ##people does a recovery's strace conform: STRACE=file WAL=listing [VERSION= CONCURRENCY= BUFFERS= DECODE=] (2 s)
	@$(PY) -m tests.prefetch.trace.check --picture $(BUILD)/trace-check/timeline.png $(if $(STRACE),--strace '$(STRACE)') \
	  $(if $(WAL),--wal '$(WAL)') $(if $(VERSION),--version '$(VERSION)') \
	  $(if $(CONCURRENCY),--concurrency '$(CONCURRENCY)') $(if $(BUFFERS),--buffers '$(BUFFERS)') \
	  $(if $(DECODE),--decode '$(DECODE)')
