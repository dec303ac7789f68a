(* SPDX-License-Identifier: PostgreSQL *)
(** * A purge changes no answer of any later snapshot

    HeapTupleSatisfiesHistoricMVCC asks the commit log about XIDs that precede the snapshot's xmin, takes those that do
    not precede its xmax for running, and looks the others up among the committed ones that changed a catalog. *)
From Coq Require Import ZArith Lia List Bool Sorted.
From stdpp Require Import base option list.
From Pgquern.common Require Import Xid.
From Pgquern.snapbuild Require Import Memory MemoryFacts Spec SortedFacts Algorithms Search.
Local Open Scope Z_scope.

Definition sees (did_commit : Z -> bool) (xmin xmax : Z) (xip : list Z) (xid : Z) : bool :=
  if precedes xid xmin then did_commit xid
  else if negb (precedes xid xmax) then false
  else existsb (Z.eqb xid) xip.

Lemma member_spec xid l : existsb (Z.eqb xid) l = true <-> In xid l.
Proof.
  rewrite existsb_exists. split; [intros (x & X & E); apply Z.eqb_eq in E; congruence|]. intros X. exists xid.
  split; [auto|apply Z.eqb_refl].
Qed.

(** No snapshot looks up an XID that a purge has dropped. Build a snapshot then or later, from the XIDs kept and those
    committed since ([more]): it answers as if there had been no purge, as long as the XID and the two xmins lie within
    half the ring and xmin has not moved back. *)
Theorem purge_changes_no_answer : forall did_commit xmin later_xmin xmax l more xid,
  within_half_ring (fun x => x = xid \/ x = xmin \/ x = later_xmin) ->
  xmin = later_xmin \/ precedes xmin later_xmin = true ->
  sees did_commit later_xmin xmax (kept xmin l ++ more) xid = sees did_commit later_xmin xmax (l ++ more) xid.
Proof.
  intros did_commit xmin later xmax l more xid W Later. unfold sees.
  destruct (precedes xid later) eqn:P; [auto|]. destruct (negb (precedes xid xmax)); [auto|].
  apply eq_iff_eq_true. rewrite !member_spec, !in_app_iff. unfold kept. rewrite List.filter_In. unfold keeps.
  destruct (precedes xid xmin) eqn:Q; [|intuition]. exfalso.
  destruct Later as [->|Later]; [congruence|].
  assert (precedes xid later = true) by (apply (precedes_transitive _ W xid xmin later); auto). congruence.
Qed.

(** Half the ring is needed for that: if xmin moves further than that past a purged XID, the XID counts as the future,
    and the purge changes an answer. *)
Theorem purge_shows_after_half_a_ring : exists did_commit xmin later_xmin xmax l xid,
  normal xmin /\ normal later_xmin /\ normal xid /\ precedes xmin later_xmin = true /\
  sees did_commit later_xmin xmax (kept xmin l) xid = false /\ sees did_commit later_xmin xmax l xid = true.
Proof.
  exists (fun _ => true), 10, 2147483656, 100, [3], 3. unfold normal, FIRST_NORMAL, RING.
  repeat split; lia || (vm_compute; reflexivity).
Qed.

(** A committed and tracked XID stays visible when xmin moves on and the array is purged, whether it is then found in
    the array or in clog. *)
Theorem tracked_stays_visible : forall did_commit xmin xmax l xid, In xid l -> did_commit xid = true ->
  precedes xid xmax = true -> sees did_commit xmin xmax (kept xmin l) xid = true.
Proof.
  intros did_commit xmin xmax l xid I C X. unfold sees. destruct (precedes xid xmin) eqn:P; [auto|].
  rewrite X. simpl. apply member_spec. unfold kept, keeps. apply List.filter_In. now rewrite P.
Qed.

(** In a raw-sorted snapshot the binary search finds an XID if and only if the snapshot holds it. *)
Theorem snapshot_search_is_membership : forall xip xid a, sorted_unique xip -> array a 0 xip ->
  exists i, bisect (fun v => v <? xid) a 0 (zlength xip) = Some i /\
    (In xid xip <-> i < zlength xip /\ load a i = Some xid).
Proof.
  intros xip xid a S A. destruct (sorted_split xid xip S) as (below & rest & -> & B & R).
  exists (0 + zlength below). split.
  - apply (bisect_spec (fun v => v <? xid) a 0 below rest A).
    + eapply Forall_impl; [exact B|]. intros v. apply Z.ltb_lt.
    + eapply Forall_impl; [exact R|]. intros v. apply Z.ltb_ge.
    + lia.
    + rewrite app_length. lia.
  - rewrite in_app_iff. rewrite List.Forall_forall in B. rewrite app_length. split.
    + intros [I|I]; [specialize (B xid I); simpl in B; lia|].
      destruct rest as [|v rest]; [easy|]. rewrite (load_in_array a 0 below v rest A). simpl. split; [lia|]. f_equal.
      destruct I as [|I]; [auto|]. inversion R as [|? ? V _]. apply sorted_unique_app in S. destruct S as (_ & S & _).
      apply StronglySorted_inv in S. destruct S as [_ F]. rewrite List.Forall_forall in F. specialize (F xid I).
      simpl in F. lia.
    + intros [L V]. right. destruct rest as [|v rest]; [simpl in L; lia|].
      rewrite (load_in_array a 0 below v rest A) in V. injection V as ->. now left.
Qed.
