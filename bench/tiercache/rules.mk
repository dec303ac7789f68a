# SPDX-License-Identifier: PostgreSQL
.PHONY: bench-policies
bench-policies: kernels $(SETUP)/python.stamp
	@$(PY) -m bench.tiercache.policies $(if $(TRACES),--traces $(call quoted,$(TRACES)))
