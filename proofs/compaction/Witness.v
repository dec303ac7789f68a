(* SPDX-License-Identifier: PostgreSQL *)
(** * Witnesses: pages that fulfil the hypotheses of the theorems, and on which something is to be done

    A theorem whose hypotheses nothing fulfils says nothing.  The pages are those of Instances.v. *)
From Coq Require Import ZArith List Bool Lia.
From Pgquern.compaction Require Import Page Memory Algorithms Spec Instances Decode.
Import ListNotations.
Local Open Scope Z_scope.

Lemma page_with_is_page upper special words : is_page (page_with upper special words).
Proof.
  intros i I. unfold page_with.
  repeat match goal with |- context [if ?c then _ else _] => destruct c end;
    auto using byte_of_range; try lia. pose proof (Z.mod_pos_bound i 251). lia.
Qed.

(** The boolean that Instances.v uses for the contract is equivalent to the contract. *)
Theorem valid_is_decided : forall m, valid_b m = true <-> valid_page m.
Proof.
  intros m. assert (H : header_ok_b m = true <-> header_ok m).
  { unfold header_ok_b, header_ok. rewrite !andb_true_iff, !Z.leb_le, Z.eqb_eq. tauto. }
  assert (I : forall it, item_ok_b m it = true <-> item_ok m it).
  { intros it. unfold item_ok_b, item_ok. rewrite !andb_true_iff, !Z.leb_le, Z.ltb_lt, Z.eqb_eq. tauto. }
  assert (C : forall its top, chain_b its top = true <-> chain its top).
  { induction its as [|it r IH]; intros top; cbn; [tauto|]. now rewrite andb_true_iff, Z.leb_le, IH. }
  unfold valid_b, valid_page.
  assert (F : forallb (item_ok_b m) (items m) = true <-> Forall (item_ok m) (items m)).
  { rewrite forallb_forall, Forall_forall. split; intros A it B; apply I, A, B. }
  rewrite !andb_true_iff, orb_true_iff, negb_true_iff, !Z.leb_le, H, C, F.
  assert (P : forall (b : bool) (Q : Prop), b = false \/ Q <-> (b = true -> Q)) by (intros [] Q; intuition discriminate).
  rewrite P. tauto.
Qed.

(** The pages of Instances.v are valid: 200 tuples among dead, unused and redirected line pointers, 291 tuples, and eight more. *)
Theorem pages_are_valid : Forall (fun m => is_page m /\ valid_page m) (crowded_page :: full_page :: pages).
Proof.
  assert (V : forallb (fun m => match check m with None => true | _ => false end) (crowded_page :: full_page :: pages) = true)
    by (vm_compute; reflexivity).
  rewrite forallb_forall in V. apply Forall_forall. intros m M. split.
  - unfold pages in M. cbn [In] in M. repeat destruct M as [<-|M]; [..|easy]; apply page_with_is_page.
  - specialize (V m M). apply check_iff_valid. now destruct (check m).
Qed.

(** The crowded page has 200 tuples in item order, and compaction moves some of them. *)
Theorem crowded_page_is_crowded :
  length (items crowded_page) = 200%nat /\ length (line_pointers crowded_page) = 240%nat /\
  presorted (pd_special crowded_page) (items crowded_page) = true /\ pd_upper crowded_page < new_upper crowded_page.
Proof. vm_compute. auto. Qed.

(** For each of our ways there is one of these pages on which its own program runs, and not its fallback. *)
Theorem every_way_is_taken :
  presorted (pd_special presorted_page) (items presorted_page) = true /\
  presorted (pd_special unsorted_page) (items unsorted_page) = false /\
  any_overlap (sort (items overlapping_page)) = true /\ is_sparse sparse_page = true /\
  windows_fit unsorted_page (Some 64) = true /\ windows_fit low_page (Some 64) = false /\
  LINE <= new_upper_of presorted_page /\ registers_fit presorted_page 64 = true /\ (length (items sparse_page) <= 8)%nat /\
  registers_fit sparse_page 64 = true /\ pieces_fit long_runs 6 = false /\ pieces_fit pieces_page 6 = true /\
  LINE <= pd_upper long_runs + 8 /\ slots_fit slots_page = true.
Proof. vm_compute. repeat split; try discriminate; repeat constructor. Qed.

(** On these pages the hypotheses and the conclusions of the theorems are true; both were computed. *)
Theorem instances_hold : Forall (fun i => hypothesis i = true /\ conclusion i = true) (instances ++ crowded_instances).
Proof.
  assert (H : forallb holds (instances ++ crowded_instances) = true) by vm_cast_no_check (eq_refl true).
  rewrite forallb_forall in H. apply Forall_forall. intros i I. now apply andb_true_iff, H.
Qed.
