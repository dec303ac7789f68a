(* SPDX-License-Identifier: PostgreSQL *)
(** * Who is told that its request is granted, and when, over any run of calls *)
From Coq Require Import Permutation.
From Pgquern.common Require Import Integers.
From Pgquern.rangelock Require Import Tree Lock TreeFacts LockFacts.

Lemma run_reachable s told : run s told -> reachable s.
Proof. induction 1; now constructor. Qed.

(** A request that stays changes none that is there. *)
Lemma held_after_stay s from to mode r : reachable s -> In r (requests s) ->
  let s' := stay s (arrive s from to mode) in In r (requests s') /\ (In r (held s') <-> In r (held s)).
Proof.
  intros H I. cbn zeta. set (s' := stay s (arrive s from to mode)).
  assert (P : Permutation (requests s') (req (arrive s from to mode) :: requests s)).
  { unfold requests, s'. rewrite present_stay; [reflexivity|now apply reachable_is_sound|reflexivity]. }
  assert (I' : In r (requests s')) by (rewrite P; now right). split; [exact I'|].
  assert (R : reachable s') by (now apply (after_ask s from to mode)).
  rewrite (held_iff_first s' r R I'), (held_iff_first s r H I). split.
  - intros F other O. apply F. rewrite P. now right.
  - intros F other O T. rewrite P in O. destruct O as [<-|O]; [|now apply F].
    pose proof (tickets_arrived s (reachable_is_sound s H)) as A. rewrite Forall_forall in A. apply A in I. cbn in T. lia.
Qed.

(** The one that stays is held if and only if nothing blocks it. *)
Lemma arrived_is_held s from to mode : reachable s ->
  let x := arrive s from to mode in In (req x) (held (stay s x)) <-> is_held x = true.
Proof.
  intros H. cbn zeta. set (x := arrive s from to mode).
  assert (P : Permutation (present (stay s x)) (x :: present s)) by (apply present_stay; [now apply reachable_is_sound|reflexivity]).
  unfold is_held. rewrite Z.eqb_eq, held_entry. split.
  - intros (m & M & E & B). rewrite P in M. destruct M as [<-|M]; [exact B|].
    pose proof (tickets_arrived s (reachable_is_sound s H)) as A. rewrite Forall_forall in A. apply in_present in M. apply A in M.
    rewrite E in M. cbn in M. lia.
  - intros B. exists x. split; [rewrite P; now left|]. now split.
Qed.

Lemma leave_grants s x number : reachable s -> In x (requests s) -> In number (snd (leave s x)) ->
  exists r, In r (requests s) /\ r <> x /\ ticket r = number.
Proof.
  intros H X I. apply reachable_is_sound in H as S. pose proof (leave_trees s x S X) as L.
  destruct (leave s x) as [s' granted]. destruct L as (_ & _ & _ & _ & _ & G). cbn [snd] in I. rewrite G, map_map, in_map_iff in I.
  destruct I as (n & E & F). apply filter_In in F as [F _]. rewrite <- others_app in F. apply in_others in F as [F N].
  exists (req n). split; [|split; [congruence|exact E]]. apply in_present. unfold present. rewrite in_app_iff in *. tauto.
Qed.

Lemma told_arrived s told : run s told -> Forall (fun number => number <= arrivals s) told.
Proof.
  induction 1 as [|s told from to mode R IH|s told from to mode R IH|s told x R IH I]; [constructor| | |].
  - assert (A : arrivals (fst (ask s from to mode)) = arrivals s + 1) by (unfold ask, stay; destruct (exclusive _); reflexivity).
    assert (W : Forall (fun number => number <= arrivals (fst (ask s from to mode))) told).
    { rewrite A. eapply Forall_impl; [|exact IH]. cbn. lia. }
    cbn zeta. destruct (is_held _); [|exact W]. constructor; [cbn [ask snd req arrive ticket]; lia|exact W].
  - assert (A : arrivals (fst (try_ask s from to mode)) = arrivals s + 1).
    { unfold try_ask, stay. destruct (_ =? 0); [destruct (exclusive _)|]; reflexivity. }
    assert (W : Forall (fun number => number <= arrivals (fst (try_ask s from to mode))) told).
    { rewrite A. eapply Forall_impl; [|exact IH]. cbn. lia. }
    destruct (snd (try_ask s from to mode)) as [x|] eqn:E; [|exact W]. constructor; [|exact W].
    unfold try_ask in E. destruct (_ =? 0); [|discriminate]. injection E as <-. rewrite A. cbn. lia.
  - pose proof (run_reachable s told R) as H. destruct (nobody_else_leaves s x x H I) as (_ & _ & A). rewrite A.
    apply Forall_app. split; [|exact IH]. apply Forall_forall. intros number N.
    destruct (leave_grants s x number H I N) as (r & P & _ & <-).
    pose proof (tickets_arrived s (reachable_is_sound s H)) as F. rewrite Forall_forall in F. now apply F.
Qed.

Lemma fresh_is_untold s told : run s told -> ~ In (arrivals s + 1) told.
Proof. intros R I. pose proof (told_arrived s told R) as F. rewrite Forall_forall in F. apply F in I. lia. Qed.

Lemma told_as_it_stays s told from to mode r : run s told ->
  (forall r, In r (requests s) -> (In (ticket r) told <-> In r (held s))) ->
  let x := arrive s from to mode in In r (requests (stay s x)) ->
  (In (ticket r) (if is_held x then ticket (req x) :: told else told) <-> In r (held (stay s x))).
Proof.
  intros R IH. cbn zeta. pose proof (run_reachable s told R) as H. pose proof (fresh_is_untold s told R) as N.
  set (x := arrive s from to mode). intros I.
  assert (P : Permutation (requests (stay s x)) (req x :: requests s)).
  { unfold requests. rewrite (present_stay s x); [reflexivity|now apply reachable_is_sound|reflexivity]. }
  rewrite P in I. destruct I as [<-|I].
  - pose proof (arrived_is_held s from to mode H) as A. cbn zeta in A. fold x in A. rewrite A.
    change (ticket (req x)) with (arrivals s + 1). destruct (is_held x); cbn [In]; intuition discriminate.
  - destruct (held_after_stay s from to mode r H I) as [_ E]. fold x in E. rewrite E, <- (IH r I).
    assert (D : ticket (req x) <> ticket r).
    { pose proof (tickets_arrived s (reachable_is_sound s H)) as F. rewrite Forall_forall in F. apply F in I. cbn. lia. }
    destruct (is_held x); cbn [In]; tauto.
Qed.

(** Of all requests that are there, exactly those that are held were told that they are granted. *)
Theorem told_iff_held s told r : run s told -> In r (requests s) -> (In (ticket r) told <-> In r (held s)).
Proof.
  intros R. revert r. induction R as [|s told from to mode R IH|s told from to mode R IH|s told x R IH X]; intros r I; [destruct I| | |].
  - now apply told_as_it_stays.
  - pose proof (told_as_it_stays s told from to mode r R IH) as T. cbn zeta in T. unfold is_held, try_ask in *.
    destruct (_ =? 0); [now apply T|]. now apply IH.
  - pose proof (run_reachable s told R) as H. destruct (nobody_else_leaves s x r H X) as (P & K & _).
    apply P in I as I'. destruct I' as [J D]. pose proof (leave_grants_exactly s x r H X J D) as G. cbn zeta in G.
    specialize (IH r J). rewrite in_app_iff.
    destruct (leave s x) as [s' granted]. cbn [fst snd] in *. destruct (in_dec Z.eq_dec (ticket r) told); tauto.
Qed.

(** Over any run of asks, tries, releases, cancellations and time limits: a request that is there was told that it is granted if and
    only if no earlier request that conflicts with it is there still. *)
Theorem told_iff_no_earlier_is_left s told r : run s told -> In r (requests s) ->
  (In (ticket r) told <-> forall other, In other (requests s) -> ticket other < ticket r -> conflict other r = false).
Proof.
  intros R I. rewrite (told_iff_held s told r R I). apply held_iff_first; [now apply (run_reachable s told)|exact I].
Qed.

(** Nobody is told twice. *)
Theorem told_once s told : run s told -> NoDup told.
Proof.
  induction 1 as [|s told from to mode R IH|s told from to mode R IH|s told x R IH X]; [constructor| | |].
  - pose proof (fresh_is_untold s told R) as N. cbn zeta. destruct (is_held _); [|exact IH]. now constructor.
  - pose proof (fresh_is_untold s told R) as N. unfold try_ask. destruct (_ =? 0); cbn [snd]; [|exact IH]. now constructor.
  - pose proof (run_reachable s told R) as H. pose proof (reachable_is_sound s H) as S.
    assert (A : forall number, In number (snd (leave s x)) -> ~ In number told).
    { intros number I T. destruct (leave_grants s x number H X I) as (r & J & D & <-).
      pose proof (leave_grants_exactly s x r H X J D) as G. apply (told_iff_held s told r R J) in T.
      cbn zeta in G. destruct (leave s x) as [s' granted]. cbn [fst snd] in *. tauto. }
    assert (U : NoDup (snd (leave s x))).
    { pose proof (leave_trees s x S X) as L. destruct (leave s x) as [s' granted]. destruct L as (_ & _ & _ & _ & _ & G).
      cbn [snd]. rewrite G, <- others_app, map_map. pose proof (tickets_differ s S) as D. unfold requests, present in D. rewrite map_map in D.
      assert (F : forall l, NoDup (map (fun e => ticket (req e)) l) ->
        NoDup (map (fun e => ticket (req e)) (filter (is_let_go x) (others x l)))).
      { induction l as [|e l IL]; intros ND; [constructor|]. inversion ND as [|? ? E ND']; subst. specialize (IL ND').
        unfold others. cbn [filter]. fold (others x l). destruct (negb _); [|exact IL]. cbn [filter]. destruct (is_let_go x e); [|exact IL].
        cbn [map]. constructor; [|exact IL]. intros I. apply E. apply in_map_iff in I as (e' & <- & I).
        apply filter_In in I as [I _]. apply in_others in I as [I _]. apply in_map_iff. now exists e'. }
      apply F. eapply Permutation_NoDup; [|exact D]. apply Permutation_map, Permutation_app_comm. }
    revert U A. generalize (snd (leave s x)). intros l U A. induction U as [|number l E U IU]; [exact IH|]. cbn [app]. constructor.
    + rewrite in_app_iff. intros [I|I]; [tauto|]. now apply (A number); [left|].
    + apply IU. intros other I. apply A. now right.
Qed.
