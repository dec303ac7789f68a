# SPDX-License-Identifier: PostgreSQL
.PHONY: simulate bench-shares
simulate: $(BUILD)/ffi/$(FFI) $(SETUP)/python.stamp ##people foreground, checkpointer and autovacuum on a simulated device: shares against first come, first served, and where that ends (1 minute)
	@$(PY) -m bench.ioshares.simulate

# The figures of the simulated device are benchmarks of the row too.
ifneq ($(filter ioshares,$(BENCH_STEMS)),)
bench: simulate
endif

# Real files. FOLDER=path: on whose device.
$(BENCH)/ioshares/mix: bench/ioshares/files/mix.cc $(BUILD)/lib/libpgquern.a
	@mkdir -p $(@D)
	@g++ -std=c++20 -O2 -g -Wall -Wextra -Werror -Icsrc $^ -lpthread -o $@

bench-shares: $(BENCH)/ioshares/mix $(SETUP)/python.stamp ##deep `make simulate` on a real file, and against the kernel's own priorities and weights; FOLDER=path (4 minutes)
	@$(PY) -m bench.ioshares.files.run $(if $(FOLDER),--folder '$(FOLDER)')
