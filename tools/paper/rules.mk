# SPDX-License-Identifier: PostgreSQL
.PHONY: paper
paper: $(SETUP)/python.stamp ##layer the paper about the project, of six pages, set from the recorded results: build/paper/pgquern.pdf; PNG=1: pages as pictures, too (3 s)
	@$(PY) -m tools.paper $(if $(PNG),--png)
