# SPDX-License-Identifier: PostgreSQL
# Real files. FOLDER=path: on whose device.
$(BENCH)/ioshares/mix: bench/ioshares/files/mix.cc $(BUILD)/lib/libpgquern.a
	@mkdir -p $(@D)
	@g++ -std=c++20 -O2 -g -Wall -Wextra -Werror -Icsrc $^ -lpthread -o $@

.PHONY: bench-shares
bench-shares: $(BENCH)/ioshares/mix $(SETUP)/python.stamp
	@$(PY) -m bench.ioshares.files.run $(if $(FOLDER),--folder '$(FOLDER)')
