# SPDX-License-Identifier: PostgreSQL
.PHONY: bench-recovery
bench-recovery: $(SETUP)/servers.stamp
	@$(PY) -m bench.prefetch.endtoend.recovery --rounds $(or $(ROUNDS),3)
