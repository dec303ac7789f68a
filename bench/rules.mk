# SPDX-License-Identifier: PostgreSQL
# Folders below bring their own rules.
-include $(wildcard bench/*/rules.mk)

# Benchmarks: one binary a stem, all variants compiled with the same flags as the library.
BENCH_STEMS   := $(if $(STEM),$(STEM),$(patsubst bench/bench_%.cc,%,$(wildcard bench/bench_*.cc)))
BENCH_BINARIES = $(BENCH_STEMS:%=$(BUILD)/bench/bench_%)

$(BUILD)/bench/bench_%: bench/bench_%.cc bench/ticks.h csrc/pgquern.h $(BUILD)/lib/libpgquern.a $(SETUP)/c.stamp
	@mkdir -p $(@D)
	@echo '$(CFLAGS_KERNEL)' > $(BUILD)/bench/flags.txt
	g++ -std=c++20 -O2 -g -Wall -Wextra -Werror -Icsrc $< $(BUILD)/lib/libpgquern.a -lbenchmark -lpthread -o $@

.PHONY: bench bench-quick report
bench: $(BENCH_BINARIES) $(BUILD)/icount/step $(SETUP)/python.stamp ## every configuration against upstream and the limit; STEM=compaction narrows; ALL=1: all of them on cold pages too (about 7 minutes a stem; ALL=1: 50)
	@set -e; for stem in $(BENCH_STEMS); do $(PY) -m bench.run $$stem $(if $(ALL),--all); done

bench-quick: $(BENCH_BINARIES) $(BUILD)/ffi/$(FFI) $(SETUP)/python.stamp ## the main job's selection of the benchmarks (30 s a stem)
	@set -e; for stem in $(BENCH_STEMS); do $(PY) -m bench.run $$stem --quick; done
	@$(PY) -m bench.python_speed

.PHONY: workloads
workloads: $(BUILD)/ffi/$(FFI) $(SETUP)/python.stamp ## two commit streams through the snapshot builder, upstream's way and ours (15 s)
	@$(PY) -m bench.snapbuild_workloads

report: $(RESULTS)/real-page.json ## one page of all results, build/report/index.html (3 s)
	@$(PY) -m bench.report

matrix: $(SETUP)/python.stamp ## write the matrix of stems and layers into README.md (1 s)
	@$(PY) -m bench.report.matrix --write
.PHONY: matrix

claims: $(SETUP)/python.stamp ## write the figures of the last full benchmarks into CLAIMS.md (1 s)
	@$(PY) -m bench.report.claims
.PHONY: claims
