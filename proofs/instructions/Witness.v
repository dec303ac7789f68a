(* SPDX-License-Identifier: PostgreSQL *)
(** * Witnesses: registers, masks and memory that fulfil the hypotheses of the theorems *)
From Pgquern.common Require Import Integers Premises Parts.
From Pgquern.instructions Require Import Lanes Memory.
From Pgquern.instructions Require Facts ProgramFacts.

Definition register : bytes := [255; 255; 255; 127; 0; 0; 0; 128; 1; 2; 3; 4; 253; 254; 255; 0].

Lemma register_has_bytes : Forall Facts.is_byte register.
Proof. repeat constructor; discriminate. Qed.

(** A register of 16 bytes meets the hypotheses: it has four lanes of 32 bits, the greatest positive and the least
    negative one among them. *)
Theorem register_has_four_lanes :
  length register = (4 * 4)%nat /\ Forall Facts.is_byte register /\
  map (signed 4) (lanes 4 register) = [2147483647; -2147483648; 67305985; 16776957].
Proof. split; [reflexivity|]. split; [exact register_has_bytes|reflexivity]. Qed.

Lemma lanes_of_register_witness : premises_of Facts.lanes_of_register.
Proof. exists 4%nat, [-1; 2 ^ 32]. lia. Qed.
Lemma register_of_its_lanes_witness : premises_of Facts.register_of_its_lanes.
Proof. exists 4%nat, 4%nat, register. split; [lia|]. split; [reflexivity|exact register_has_bytes]. Qed.
Lemma lanes_of_lanewise_witness : premises_of Facts.lanes_of_lanewise.
Proof. exists 4%nat, Z.sub, register, register. lia. Qed.
Lemma bits_of_register_witness : premises_of Facts.bits_of_register.
Proof. exists 1%nat, [true; false; true; true; false; false; false; true]. reflexivity. Qed.
Lemma lanes_of_masked_witness : premises_of Facts.lanes_of_masked.
Proof. exists 4%nat, register, [5], register. lia. Qed.
Lemma lanes_of_compress_witness : premises_of Facts.lanes_of_compress.
Proof. exists 4%nat, 4%nat, [5], register. split; [lia|reflexivity]. Qed.

(* Two memories of four cells, of which the mask has the first and the third. *)
Definition mask : list bool := [true; false; true; false].
Definition here : cells := [Some 1; Some 2; Some 3; None].
Definition there : cells := [Some 1; None; Some 3; Some 4].

Lemma load_touches_its_mask_alone_witness : premises_of Facts.load_touches_its_mask_alone.
Proof. exists mask, here, there. split; [reflexivity|]. repeat constructor; discriminate. Qed.
Lemma store_keeps_the_rest_witness : inner_premises_of Facts.store_keeps_the_rest.
Proof.
  exists mask, [7; 7; 7; 7], here, [Some 7; Some 2; Some 7; None]. repeat split.
  exists (false, (Some 2, Some 2)). split; [right; now left|reflexivity].
Qed.
Lemma loads_and_stores_are_the_tables_witness : inner_premises_of ProgramFacts.loads_and_stores_are_the_tables.
Proof. split; eexists; now left. Qed.
