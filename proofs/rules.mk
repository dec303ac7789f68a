# SPDX-License-Identifier: PostgreSQL
# Proofs: built in build/proofs, audited by proofs/audit/; the proved functions extracted into build/oracle.
PROOF_JOBS ?= 2
PROOF_SOURCES := $(shell find proofs -name '*.v') proofs/_CoqProject

.PHONY: prove theorems generate prove-quick prove-c prove-accept oracle
prove: $(SETUP)/coq.stamp $(SETUP)/python.stamp ##layer build and audit the proofs; STEM= narrows (5 minutes, again: seconds)
	@$(PY) -m proofs.audit --jobs $(PROOF_JOBS) --stem "$(STEM)"

theorems: $(SETUP)/python.stamp ##keep print each required theorem in one English sentence; STEM= narrows (1 s)
	@$(PY) -m proofs.audit --list --stem "$(STEM)"

generate: $(SETUP)/coq.stamp $(SETUP)/python.stamp ##keep print the C of the programs in proofs/*/Generated.v into csrc/; STEM= narrows (10 s)
	@$(PY) -m proofs.generate --jobs $(PROOF_JOBS) --stem "$(STEM)"

prove-quick: $(SETUP)/coq.stamp $(SETUP)/python.stamp ##keep the audit of the proofs and one changed definition, if they are compiled already (20 s)
	@$(PY) -m proofs.quick --stem "$(STEM)"

prove-accept: $(SETUP)/coq.stamp $(SETUP)/python.stamp ##keep write the hashes of changed statements and definitions to proofs/required-theorems.txt, after review (as prove)
	@$(PY) -m proofs.audit --jobs $(PROOF_JOBS) --stem "$(STEM)" --accept

prove-c: $(SETUP)/c.stamp $(SETUP)/cbmc.stamp $(SETUP)/python.stamp ##deep CBMC proves C text for every input up to a bound, and fails with one broken line; STEM=, ONLY= narrow (10 minutes)
	@$(PY) -m proofs.bounded --stem "$(STEM)" --only "$(ONLY)"

# A stem's oracle is oracle/Extract<Stem>.v, which writes <stem>_proved.ml, and oracle/<stem>.ml, the program around it. It may
# have others beside it: <stem>_*.ml.
ORACLES := $(patsubst proofs/oracle/%.ml,$(BUILD)/oracle/%,$(wildcard proofs/oracle/$(or $(STEM),*).ml $(STEM:%=proofs/oracle/%_*.ml)))

oracle: $(ORACLES) ##layer the proved functions, extracted and compiled; STEM= narrows (20 s)

# All in one run of Coq's, so that it compiles side by side what they import.
EXTRACTIONS := $(ORACLES:$(BUILD)/oracle/%=$(BUILD)/proofs/%_proved.ml)
$(EXTRACTIONS) &: $(PROOF_SOURCES) | $(SETUP)/coq.stamp $(SETUP)/python.stamp
	@$(PY) -m proofs.extract $(EXTRACTIONS:$(BUILD)/proofs/%_proved.ml=%) --jobs $(PROOF_JOBS)

$(BUILD)/oracle/%: proofs/oracle/%.ml $(BUILD)/proofs/%_proved.ml
	@mkdir -p $(@D)/$*.build
	@cp $(BUILD)/proofs/$*_proved.ml $(BUILD)/proofs/$*_proved.mli $< $(@D)/$*.build/
	@cd $(@D)/$*.build && ocamlfind ocamlopt -w +a-4-9-40..42-44-70 -w -a -c $*_proved.mli $*_proved.ml \
	  && ocamlfind ocamlopt -w +a-4-9-40..42-44-70 -warn-error +a $*_proved.cmx $*.ml -o ../$*
