# SPDX-License-Identifier: PostgreSQL
MUTANT_STEMS := $(if $(STEM),$(filter $(STEM),$(patsubst tests/mutants/%.toml,%,$(wildcard tests/mutants/*.toml))),$(patsubst tests/mutants/%.toml,%,$(wildcard tests/mutants/*.toml)))

.PHONY: mutants
mutants: kernels $(SETUP)/python.stamp ## break one line of a kernel at a time; the test named for it must fail (90 s a stem)
	@for stem in $(MUTANT_STEMS); do $(PY) -m tests.mutants.run $$stem --cflags '$(CFLAGS_KERNEL)' $(foreach level,$(LEVELS),--isa '$(level)=$(ISA_$(level))'); done
