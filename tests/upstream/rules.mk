# SPDX-License-Identifier: PostgreSQL
# Upstream's own tests with our kernels inside.
# KERNELS="NAME NAME", SUITES="NAME NAME": only these; TESTS="t/00*": of their TAP tests. PG=/path/to/postgres: a patch for that checkout; with SUITES= it is built, too.
# MENDS=1: what mends our findings, in the place of kernels. ON=mount: the unchanged server again, on the mount.
APT_upstream   := gcc libc6-dev make bison flex perl libipc-run-perl bzip2 xz-utils util-linux liblz4-dev
TOOLS_upstream := gcc make bison flex prove setpriv lz4.h

.PHONY: check-upstream bench-headlines
check-upstream: $(BUILD)/lib/libpgquern.a $(SETUP)/upstream.stamp $(SETUP)/python.stamp $(if $(ON),$(BUILD)/mount/pgquern-mount) ##more upstream's own suites by a server with our kernels inside, beside an unchanged one; KERNELS=, SUITES=, PG= (a quarter of an hour)
	@$(PY) -m tests.upstream --major '$(PG_HERE)' --kernels '$(KERNELS)' --suites '$(SUITES)' --tests '$(TESTS)' $(PG:%=--checkout '%') $(if $(MENDS),--mends) $(ON:%=--on-%)
bench-headlines: $(BUILD)/lib/libpgquern.a $(PG_EXTENSIONS) $(SETUP)/upstream.stamp $(SETUP)/python.stamp
	@$(PY) -m bench.headlines --major '$(PG_HERE)' $(STEM:%=--stem %) $(CASE:%=--case %) $(ROUNDS:%=--rounds %) $(PERCENT:%=--percent %)
