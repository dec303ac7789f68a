# SPDX-License-Identifier: PostgreSQL
# Proofs: built in build/proofs, audited by proofs/audit/; the proved functions extracted into build/oracle.
PROOF_JOBS ?= 2
PROOF_SOURCES := $(shell find proofs -name '*.v') proofs/_CoqProject

.PHONY: prove generate prove-c oracle
prove: $(SETUP)/coq.stamp $(SETUP)/python.stamp ##day build and audit the proofs; STEM= narrows; SIZE=quick: if they are compiled already; ACCEPT=1 writes what has changed, after review; LIST=1 prints each theorem in a sentence (5 minutes, again: seconds)
	@$(if $(filter quick,$(SIZE)),$(PY) -m proofs.quick,$(PY) -m proofs.audit --jobs $(PROOF_JOBS) $(if $(ACCEPT),--accept) $(if $(LIST),--list)) --stem "$(STEM)"

generate: $(SETUP)/coq.stamp $(SETUP)/python.stamp ##more print the C of the programs in proofs/*/Generated.v into csrc/; STEM= narrows (10 s)
	@$(PY) -m proofs.generate --jobs $(PROOF_JOBS) --stem "$(STEM)"

prove-c: $(SETUP)/c.stamp $(SETUP)/cbmc.stamp $(SETUP)/python.stamp ##more CBMC proves C text for every input up to a bound, and fails with one broken line; STEM=, ONLY= narrow (10 minutes)
	@$(PY) -m proofs.bounded --stem "$(STEM)" --only "$(ONLY)"

# A stem's oracle is oracle/Extract<Stem>.v, which writes <stem>_proved.ml, and oracle/<stem>.ml, the program around it. It may
# have others beside it: <stem>_*.ml.
ORACLES := $(patsubst proofs/oracle/%.ml,$(BUILD)/oracle/%,$(wildcard proofs/oracle/$(or $(STEM),*).ml $(STEM:%=proofs/oracle/%_*.ml)))

oracle: $(ORACLES)

# All in one run of Coq's, so that it compiles side by side what they import.
EXTRACTIONS := $(ORACLES:$(BUILD)/oracle/%=$(BUILD)/proofs/%_proved.ml)
$(EXTRACTIONS) &: $(PROOF_SOURCES) | $(SETUP)/coq.stamp $(SETUP)/python.stamp
	@$(PY) -m proofs.extract $(EXTRACTIONS:$(BUILD)/proofs/%_proved.ml=%) --jobs $(PROOF_JOBS)

$(BUILD)/oracle/%: proofs/oracle/%.ml $(BUILD)/proofs/%_proved.ml
	@mkdir -p $(@D)/$*.build
	@cp $(BUILD)/proofs/$*_proved.ml $(BUILD)/proofs/$*_proved.mli $< $(@D)/$*.build/
	@cd $(@D)/$*.build && ocamlfind ocamlopt -w +a-4-9-40..42-44-70 -w -a -c $*_proved.mli $*_proved.ml \
	  && ocamlfind ocamlopt -w +a-4-9-40..42-44-70 -warn-error +a $*_proved.cmx $*.ml -o ../$*
