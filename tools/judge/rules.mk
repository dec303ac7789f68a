# SPDX-License-Identifier: PostgreSQL
# What `pgquern judge` has made before a trial, and the flags with which make compiles. KIND, PATCH: of which stem; FULL=1: servers,
# and the stem's functions extracted from the proofs.
JUDGE_FULL = $(PG_EXTENSIONS) $(SETUP)/servers.stamp
.PHONY: judge-ready judge-flags
JUDGED = $(if $(KIND),$(shell grep -lF $(call quoted,[kinds.$(KIND)]) tests/*/judge.toml | cut -d/ -f2),$(if \
  $(PATCH),$(shell sed -nE 's|^[+]{3} (b/)?csrc/([a-z]+)/.*|\2|p' $(call quoted,$(PATCH)) | sort -u)))
judge-ready: $(if $(KIND)$(PATCH),kernels $(BUILD)/lib/libpgquern.a) $(if $(FULL),$(JUDGED:%=judge-oracle-%) $(JUDGE_FULL)) $(SETUP)/python.stamp
judge-oracle-%:
	@$(if $(wildcard proofs/oracle/$*.ml),$(MAKE) oracle ORACLES=$(BUILD)/oracle/$*)

judge-flags:
	@echo 'cflags $(CFLAGS_KERNEL)'; echo 'cflags_asan $(CFLAGS_ASAN)'
	@$(foreach level,$(LEVELS),echo 'isa $(level)=$(ISA_$(level))';)
