# SPDX-License-Identifier: PostgreSQL
# Proofs: built in build/proofs, audited by proofs/audit.py; the proved functions extracted into build/oracle.
PROOF_JOBS ?= 2
PROOF_SOURCES := $(shell find proofs -name '*.v') proofs/_CoqProject

.PHONY: prove prove-accept
prove: $(SETUP)/coq.stamp $(SETUP)/python.stamp ## build and audit the proofs; STEM= narrows (under 5 minutes, again: seconds)
	@$(PY) proofs/audit.py --jobs $(PROOF_JOBS) --stem "$(STEM)"

prove-accept: $(SETUP)/coq.stamp $(SETUP)/python.stamp ## take changed statements over into proofs/Assumptions.expected, after review (as prove)
	@$(PY) proofs/audit.py --jobs $(PROOF_JOBS) --stem "$(STEM)" --accept
