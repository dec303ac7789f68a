(* SPDX-License-Identifier: PostgreSQL *)
(** * Two purges of raw-sorted arrays that upstream does without regard to the ring

    SnapBuildPurgeOlderTxn of 16 and later drops XIDs from the front of catchange.xip until one does not precede xmin;
    that of 11 to 15 leaves InitialRunningXacts alone unless its first XID precedes xmin.  Both take the first one for
    the oldest. *)
From Coq Require Import ZArith Lia List.
From stdpp Require Import base list.
From Pgquern.common Require Import Xid.
From Pgquern.snapbuild Require Import Spec Purge.
Local Open Scope Z_scope.

Fixpoint purge_catchange (xmin : Z) (l : list Z) : list Z :=
  match l with
  | x :: rest => if precedes x xmin then purge_catchange xmin rest else l
  | [] => []
  end.

Definition purge_initial_running (xmin : Z) (l : list Z) : list Z :=
  match l with
  | x :: _ => if precedes x xmin then kept xmin l else l
  | [] => []
  end.

Lemma kept_kept xmin l : kept xmin (kept xmin l) = kept xmin l.
Proof.
  unfold kept. induction l as [|x l IH]; simpl; [auto|]. destruct (keeps xmin x) eqn:K; simpl; rewrite ?K; congruence.
Qed.

(** The purge of catchange.xip is safe: no XID that must be kept is lost. *)
Theorem purge_catchange_safe : forall xmin l, kept xmin (purge_catchange xmin l) = kept xmin l.
Proof.
  intros xmin l. induction l as [|x l IH]; simpl; [auto|]. destruct (precedes x xmin) eqn:P; [|auto].
  rewrite IH. unfold kept, keeps. simpl. now rewrite P.
Qed.

(** The purge of InitialRunningXacts is safe, too. *)
Theorem purge_initial_running_safe : forall xmin l, kept xmin (purge_initial_running xmin l) = kept xmin l.
Proof.
  intros xmin [|x l]; [auto|]. simpl purge_initial_running. destruct (precedes x xmin); [|auto].
  apply (kept_kept xmin (x :: l)).
Qed.

(** Neither of upstream's purges of catchange.xip and of InitialRunningXacts is complete, even with all XIDs within a
    few of xmin: 4294967290 precedes xmin = 4294967295 and stays, because 3, past the wrap, stands before it. *)
Theorem catchange_incomplete : exists xmin l, sorted_unique l /\ Forall normal l /\ normal xmin /\
  within_half_ring (fun x => x = xmin \/ In x l) /\ kept xmin l = [3; 4294967295] /\
  purge_catchange xmin l = l /\ purge_initial_running xmin l = l /\ length l = 3%nat.
Proof.
  exists 4294967295, [3; 4294967290; 4294967295].
  split; [unfold sorted_unique; repeat constructor; lia|].
  split; [unfold normal, FIRST_NORMAL, RING; repeat constructor; lia|].
  split; [unfold normal, FIRST_NORMAL, RING; lia|]. split; [|vm_compute; auto].
  exists 4294967290. simpl. intros x X. unfold valid, RING.
  assert (x = 3 \/ x = 4294967290 \/ x = 4294967295) as [->|[->| ->]] by lia; (split; [lia|]); vm_compute; auto.
Qed.

(** The purge of catchange.xip is complete exactly when the survivors are a suffix, that is, when no survivor stands
    before an XID that must go. *)
Theorem purge_catchange_complete : forall xmin l,
  purge_catchange xmin l = kept xmin l <-> exists before, l = before ++ kept xmin l.
Proof.
  intros xmin l. split.
  - intros <-. induction l as [|x l [before IH]]; [now exists []|]. simpl. destruct (precedes x xmin); [|now exists []].
    exists (x :: before). simpl. now f_equal.
  - intros [before E]. revert before E. induction l as [|x l IH]; intros before E; [auto|].
    destruct (precedes x xmin) eqn:P; cbn [purge_catchange]; rewrite P.
    + assert (K : kept xmin (x :: l) = kept xmin l) by (unfold kept, keeps; simpl; now rewrite P). rewrite K in *.
      destruct before as [|y before].
      * exfalso. assert (In x (kept xmin l)) as X by (simpl in E; rewrite <- E; now left).
        unfold kept in X. apply List.filter_In in X. unfold keeps in X. rewrite P in X. now destruct X.
      * apply (IH before). simpl in E. congruence.
    + assert (K : kept xmin (x :: l) = x :: kept xmin l) by (unfold kept, keeps; simpl; now rewrite P). rewrite K in *.
      destruct before as [|y before]; [simpl in E; congruence|]. exfalso. simpl in E. injection E as _ E.
      assert (L : kept xmin l = kept xmin before ++ x :: kept xmin l).
      { rewrite E at 1. rewrite kept_app. f_equal. unfold kept at 1, keeps at 1. simpl. rewrite P. simpl. f_equal.
        apply kept_kept. }
      apply (f_equal (@length Z)) in L. rewrite app_length in L. simpl in L. lia.
Qed.

(** The purge of InitialRunningXacts is complete exactly when nothing must go, or the first XID must. *)
Theorem purge_initial_running_complete : forall xmin l,
  purge_initial_running xmin l = kept xmin l <->
    kept xmin l = l \/ exists x rest, l = x :: rest /\ precedes x xmin = true.
Proof.
  intros xmin [|x l]; simpl purge_initial_running; [split; auto|]. destruct (precedes x xmin) eqn:P.
  - split; [eauto|auto].
  - split; [auto|]. intros [E|(y & rest & E & Py)]; [auto|]. injection E as <- <-. congruence.
Qed.
