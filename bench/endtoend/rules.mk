# SPDX-License-Identifier: PostgreSQL
# Our kernels inside unmodified servers. UPDATES=1500000 makes the long one; REPEAT, the number of rounds.
UPDATES ?= 500000
REPEAT  ?= 3

.PHONY: bench-endtoend
bench-endtoend: $(PG_EXTENSIONS) $(BUILD)/ffi/$(FFI) $(SETUP)/servers.stamp $(SETUP)/python.stamp ## recovery and VACUUM of real servers with each kernel inside; UPDATES=1500000 (about 9 minutes)
	@$(PY) -m bench.endtoend.run --updates $(UPDATES) --repeat $(REPEAT)

.PHONY: bench-beside
bench-beside: $(PG_EXTENSIONS) $(BUILD)/bench/bench_compaction $(BUILD)/lib/libpgquern.so $(BUILD)/ffi/$(FFI) $(SETUP)/servers.stamp $(SETUP)/python.stamp ## our kernels and a real server's own function, timed in that server (3 minutes)
	@$(PY) -m bench.endtoend.beside
