(* SPDX-License-Identifier: PostgreSQL *)
(** * What is advised, and what is not: the theorems *)
From Pgquern.common Require Import Integers.
From Pgquern.prefetch Require Import Ring Filters FiltersFacts Prefetcher History JudgeFacts WalkFacts
  PrefetcherFacts.

Lemma truthful_tail direct after h : truthful direct (after ++ h) -> truthful direct h.
Proof. induction after as [|e after IH]; [auto|]. simpl. intros [T _]. auto. Qed.

Lemma live_reason direct k b l h : truthful direct h -> In (Caused k b l) h -> (forall x, In (Replayed x) h -> x <= l) ->
  exists l' b', hidden_by k h = Some (l', b') /\ l <= l' /\ b' <= b.
Proof.
  induction h as [|e h IH]; [intros _ []|]. intros [T E] I R.
  destruct I as [->|I].
  - cbn [hidden_by]. rewrite relation_eqb_refl. eexists _, _. split; [reflexivity|]. split; [lia|].
    destruct (hidden_by k h) as [[? ?]|]; lia.
  - destruct (IH T I) as (l' & b' & H & L & B). { intros x X. apply R. now right. }
    destruct e as [| k0 b0 l0 | x | |]; cbn [hidden_by]; eauto.
    + destruct (relation_eqb k0 k); [|eauto]. rewrite H. eexists _, _. split; [reflexivity|]. split; [|lia].
      rewrite Forall_forall in E. exact (E _ I).
    + rewrite H. pose proof (R x (or_introl eq_refl)). destruct (Z.ltb_spec l' x); [lia|eauto].
Qed.

Lemma reason_of k h l b : hidden_by k h = Some (l, b) -> exists l', In (Caused k b l') h.
Proof.
  revert l b. induction h as [|e h IH]; intros l b H; [discriminate|].
  destruct e as [| k0 b0 l0 | x | |]; cbn [hidden_by] in H; try (destruct (IH _ _ H) as (l' & I); exists l'; now right).
  - destruct (relation_eqb k0 k) eqn:K.
    + apply relation_eqb_eq in K. subst k0. injection H as <- <-. destruct (hidden_by k h) as [[l1 b1]|] eqn:H1.
      * destruct (Z.min_spec b1 b0) as [[_ ->]|[_ ->]]; [|exists l0; now left]. destruct (IH _ _ eq_refl) as (l' & I).
        exists l'. now right.
      * exists l0. now left.
    + destruct (IH _ _ H) as (l' & I). exists l'. now right.
  - destruct (hidden_by k h) as [[l1 b1]|]; [|discriminate]. destruct (l1 <? x); [discriminate|]. injection H as <- <-.
    destruct (IH _ _ eq_refl) as (l' & I). exists l'. now right.
Qed.

Lemma asked_app h h' : asked (h ++ h') = asked h ++ asked h'.
Proof. induction h as [|e h IH]; [reflexivity|]. destruct e; simpl; try exact IH. destruct s; simpl; now rewrite IH. Qed.

Lemma prefetch_verdict direct h r s : Prefetch = verdict direct h r s ->
  repeated h (rel r) (block r) = false /\ exists size, s = Buffer size None.
Proof.
  unfold verdict. destruct (negb (fork r =? 0)); [discriminate|]. destruct (has_image r); [discriminate|].
  destruct (will_init r); [discriminate|]. destruct (hidden h (rel r) (block r)); [discriminate|].
  destruct (repeated h (rel r) (block r)); [discriminate|]. destruct s as [|size|size [found|]]; try discriminate. eauto.
Qed.

Section Theorems.
Context {W : Type} (blocks : relation -> W -> option Z * W) (buffer : relation -> Z -> W -> option Z * W).
Context (read_ahead : nat -> bool -> W -> option record * W) (space : nat) (direct : bool).
Local Notation read_record := (read_record blocks buffer read_ahead space direct).
Local Notation replays := (replays blocks buffer read_ahead space direct).

Definition history (p : @prefetcher W) : list told := log (judged (walked p)).

Lemma run_truthful n at_ p after h : replays n at_ p -> history p = after ++ h -> truthful direct h.
Proof.
  intros R E. apply truthful_tail with after. rewrite <- E. eapply log_truthful, is_sound, is_walking, run_sane, R.
Qed.

(** In every run, what becomes of a reference is what the history before it says, with what the storage answers; and the
    storage is asked if and only if no filter, no repeat and nothing in the record excuses the reference. *)
Theorem verdicts_are_the_history_s n at_ p after l r w s before : replays n at_ p ->
  history p = after ++ Judged l r w s :: before -> w = verdict direct before r s /\ answers before r s = true.
Proof. intros R E. pose proof (run_truthful _ _ _ _ _ R E) as T. cbn in T. tauto. Qed.

(** Of a record that is given out, each reference in use was judged exactly once before, in order, but for the last ones that
    were not looked at; and none of it is judged later. *)
Theorem each_reference_is_judged_once n at_ p after r forgotten before : replays n at_ p ->
  history p = after ++ Given r forgotten :: before ->
  judged_of (lsn r) before ++ filter in_use forgotten = filter in_use (references r) /\
  judged_of (lsn r) (history p) = judged_of (lsn r) before.
Proof.
  intros R E. pose proof (run_truthful _ _ _ _ _ R E) as T. cbn in T. split; [tauto|].
  pose proof (run_truthful _ _ _ [] _ R (eq_refl : history p = [] ++ history p)) as A. rewrite E in *. clear R E T p.
  induction after as [|e after IH]; [reflexivity|]. cbn in A. destruct A as [A Ae]. specialize (IH A).
  destruct e as [l r' w s| | | |]; cbn; try exact IH. rewrite IH. destruct (Z.eqb_spec l (lsn r)) as [->|]; [|apply app_nil_r].
  destruct Ae as (_ & _ & G). apply Forall_app in G as [_ G]. inversion G as [|? ? G1 _]; subst. cbn in G1. lia.
Qed.

(** References of a record are forgotten only where prefetching is off, or the ring is full: N are in flight, or 4 N looked at. *)
Theorem forgotten_only_at_a_limit n at_ p r p' forgotten before : replays n at_ p -> refused (walked p) = false ->
  read_record p = (Some r, p') -> history p' = Given r forgotten :: before ->
  filter in_use forgotten = [] \/ concurrency (set p) = 0%nat \/ may_look (ring_of p') = false.
Proof.
  intros R Ref Rd Hi. pose proof (run_sane _ _ _ _ _ _ _ _ R) as Sa.
  pose proof (fill_twice_sane blocks buffer read_ahead space direct p Sa Ref) as X. cbv zeta in X. unfold Prefetcher.read_record in Rd.
  destruct (fill_twice _ _ _ _ _ _ _) as [r' w']. destruct X as (_ & _ & _ & _ & X).
  destruct (queued w') as [|q rest] eqn:Q; [discriminate|]. destruct (refused w'); [discriminate|]. injection Rd as -> <-.
  destruct X as [(K & On & X)|(Off & _)]; [discriminate| |auto]. destruct X as [X|[X|X]]; auto. left.
  unfold history in Hi. cbn [walked give judged log] in Hi. injection Hi as <- _. unfold left_of.
  assert (N : filter in_use (if (concurrency (set p) =? 0)%nat && is_empty (queued (walked p)) then references r else []) = []).
  { replace (_ && _) with false; [reflexivity|]. symmetry. apply andb_false_iff. destruct On as [On|On].
    - left. now apply Nat.eqb_neq.
    - right. cbn in On. now destruct (queued (walked p)). }
  destruct X as [->|(q & ->)]; [exact N|]. destruct (lsn q =? lsn r); [reflexivity|exact N].
Qed.

(** A reference that no filter, no repeat and nothing in the record excuses, whose block exists and is in no buffer, is advised. *)
Theorem advised_unless_excused n at_ p after l r w size before : replays n at_ p -> direct = false ->
  history p = after ++ Judged l r w (Buffer size None) :: before -> w = Prefetch.
Proof.
  intros R D E. destruct (verdicts_are_the_history_s _ _ _ _ _ _ _ _ _ R E) as [V A]. cbn in A.
  apply andb_true_iff in A as [A _]. apply negb_true_iff in A. unfold excused in A. rewrite !orb_false_iff in A.
  destruct A as [[[[A1 A2] A3] A4] A5]. unfold verdict in V. rewrite A1, A2, A3, A4, A5, D in V. exact V.
Qed.

(** An advised block is one of the main fork, which replay reads, which exists, which no buffer holds, and which no record
    that is not replayed yet creates, drops or truncates: each reason to hide it is of a record that has been replayed. *)
Theorem advised_only_what_is_there n at_ p after l r s before : replays n at_ p ->
  history p = after ++ Judged l r Prefetch s :: before ->
  fork r = 0 /\ has_image r = false /\ will_init r = false /\ (exists size, s = Buffer (Some size) None /\ block r < size) /\
  forall k b l', In (Caused k b l') before -> k = rel r /\ b <= block r \/ k = whole_database (database (rel r)) ->
    exists x, In (Replayed x) before /\ l' < x.
Proof.
  intros R E. destruct (verdicts_are_the_history_s _ _ _ _ _ _ _ _ _ R E) as [V A].
  pose proof (run_truthful _ _ _ _ _ R E) as T. cbn in T. destruct T as [T _]. unfold verdict in V.
  destruct (negb (fork r =? 0)) eqn:E1; [discriminate|]. destruct (has_image r); [discriminate|].
  destruct (will_init r); [discriminate|]. destruct (hidden before (rel r) (block r)) eqn:E4; [discriminate|].
  destruct (repeated before (rel r) (block r)); [discriminate|].
  split; [apply negb_false_iff in E1; now apply Z.eqb_eq|]. split; [reflexivity|]. split; [reflexivity|]. split.
  - destruct s as [|size|size [found|]]; try discriminate. cbn in A. apply andb_true_iff in A as [_ A].
    destruct size as [size|]; [|discriminate]. exists size. split; [reflexivity|]. now apply Z.ltb_lt.
  - intros k b l' I K. destruct (existsb (fun e => match e with Replayed x => l' <? x | _ => false end) before) eqn:Ex.
    + apply existsb_exists in Ex as (e & Ie & Le). destruct e; try discriminate. exists l0. split; [exact Ie|]. now apply Z.ltb_lt.
    + exfalso. destruct (live_reason direct k b l' before T I) as (l2 & b2 & H & _ & B).
      { intros x X. destruct (Z.leb_spec x l') as [|Lt]; [assumption|]. exfalso. apply Z.ltb_lt in Lt.
        assert (Y : existsb (fun e => match e with Replayed x => l' <? x | _ => false end) before = true).
        { apply existsb_exists. exists (Replayed x). auto. }
        congruence. }
      unfold hidden in E4. apply orb_false_iff in E4 as [H1 H2]. destruct K as [[-> Kb]| ->].
      * rewrite H in H1. apply Z.leb_gt in H1. lia.
      * rewrite H in H2. discriminate.
Qed.

(** Between two advices of one block the storage was asked of four other references at least: so no block is advised twice
    within the window. *)
Theorem advised_once_within_the_window n at_ p after l2 r2 s2 between l1 r1 s1 before : replays n at_ p ->
  history p = after ++ Judged l2 r2 Prefetch s2 :: between ++ Judged l1 r1 Prefetch s1 :: before ->
  rel r1 = rel r2 -> block r1 = block r2 -> (window <= length (asked between))%nat.
Proof.
  intros R E Rr Rb. destruct (verdicts_are_the_history_s _ _ _ _ _ _ _ _ _ R E) as [V A].
  assert (S1 : s1 <> NotAsked).
  { rewrite app_comm_cons, app_assoc in E. destruct (verdicts_are_the_history_s _ _ _ _ _ _ _ _ _ R E) as [V1 A1]. intros ->.
    apply prefetch_verdict in V1 as (_ & size & V1). discriminate. }
  destruct (Nat.le_gt_cases window (length (asked between))) as [|Lt]; [assumption|exfalso].
  assert (Y : repeated (between ++ Judged l1 r1 Prefetch s1 :: before) (rel r2) (block r2) = true).
  { unfold repeated. apply existsb_exists. exists (rel r2, block r2). split.
    2: { unfold same_block. cbn. now rewrite relation_eqb_refl, Z.eqb_refl. }
    rewrite asked_app, firstn_app. apply in_or_app. right.
    destruct (window - length (asked between))%nat as [|k] eqn:K; [lia|]. destruct s1; [congruence| |]; cbn; left; congruence. }
  apply prefetch_verdict in V as (V & _). congruence.
Qed.

(** A reference that a filter hides was hidden for a reason: a record created, truncated or dropped it, or the storage did
    not have it. *)
Theorem hidden_for_a_reason n at_ p after l r before : replays n at_ p ->
  history p = after ++ Judged l r SkipNew NotAsked :: before ->
  exists k b l', In (Caused k b l') before /\ (k = rel r /\ b <= block r \/ k = whole_database (database (rel r))).
Proof.
  intros R E. destruct (verdicts_are_the_history_s _ _ _ _ _ _ _ _ _ R E) as [V A]. unfold verdict in V. cbn [answers] in A.
  unfold excused in A. destruct (negb (fork r =? 0)); [discriminate|]. destruct (has_image r); [discriminate|].
  destruct (will_init r); [discriminate|]. destruct (hidden before (rel r) (block r)) eqn:H.
  - unfold hidden in H. apply orb_true_iff in H as [H|H].
    + destruct (hidden_by (rel r) before) as [[l' b]|] eqn:Hb; [|discriminate]. apply Z.leb_le in H.
      destruct (reason_of _ _ _ _ Hb) as (l2 & I). eauto 10.
    + destruct (hidden_by (whole_database _) before) as [[l' b]|] eqn:Hb; [|discriminate].
      destruct (reason_of _ _ _ _ Hb) as (l2 & I). eauto 10.
  - destruct (repeated before (rel r) (block r)); discriminate.
Qed.

(** A record that is decoded while prefetching is on hides what it creates, truncates or copies, before any block of it or
    of a later record is looked at. *)
Theorem effects_are_noted c w w' : concurrency c <> 0%nat -> decode read_ahead space c w = (true, w') ->
  exists r, queued w' = queued w ++ [r] /\ at_record w' = Some (r, references r) /\
    log (judged w') = hidden_until_replayed r ++ log (judged w).
Proof.
  intros On. unfold decode. destruct (_ && _); [discriminate|]. destruct (space <=? _)%nat; [discriminate|].
  destruct (read_ahead _ _ _) as [[r|] world]; [|discriminate]. destruct (_ && _); [|discriminate]. intros [= <-]. exists r.
  unfold enqueue. apply Nat.eqb_neq in On. rewrite On. cbn [queued at_record judged]. split; [reflexivity|]. split; [reflexivity|].
  unfold note_effect, hidden_until_replayed. now destruct (does r).
Qed.

(** Behind a record that may change the timeline nothing is decoded until it has been replayed. *)
Theorem nothing_is_decoded_beyond_a_timeline c w w' r c' : concurrency c <> 0%nat ->
  decode read_ahead space c w = (true, w') -> queued w' = queued w ++ [r] -> does r = Timeline -> replaying_lsn c' <= lsn r ->
  decode read_ahead space c' w' = (false, w').
Proof.
  intros On D Q T L. unfold decode in D. destruct (_ && _) in D; [discriminate|]. destruct (space <=? _)%nat in D; [discriminate|].
  destruct (read_ahead _ _ _) as [[r'|] world] in D; [|discriminate]. destruct (_ && _) in D; [|discriminate].
  injection D as <-. unfold enqueue in *. apply Nat.eqb_neq in On. rewrite On in *. cbn [queued] in Q.
  apply app_inv_head in Q. injection Q as ->. unfold decode. cbn [queued no_readahead_until]. rewrite T.
  replace (is_empty (queued w ++ [r])) with false by now destruct (queued w). cbn [negb andb].
  apply Z.leb_le in L. now rewrite L.
Qed.

(** N blocks may be in flight, and 4 N references may have been looked at; without prefetching one of each. *)
Theorem the_ring_has_room_for_four_times_as_many n :
  max_inflight (new_ring n) = Nat.max 1 n /\ size (new_ring n) = S (if (n =? 0)%nat then 1 else 4 * n).
Proof. destruct n; split; cbn; lia. Qed.

(** A reference is judged in one entry of the log; and if the storage does not have its block, that is noted, from the first
    block on where there is no file. *)
Theorem missing_blocks_are_noted l r j : exists s,
  log (snd (judge blocks buffer direct l r j)) =
  hidden_as_missing l r s ++ Judged l r (fst (judge blocks buffer direct l r j)) s :: log j.
Proof.
  unfold judge, judged_so.
  repeat match goal with |- context [if ?b then (_, _) else _] => destruct b; [exists NotAsked; reflexivity|] end.
  unfold ask_storage. destruct (blocks (rel r) (world j)) as [n w].
  destruct (match n with Some n => block r <? n | None => false end).
  - destruct (buffer (rel r) (block r) w) as [found w']. exists (Buffer n found). reflexivity.
  - exists (Blocks n). now destruct n.
Qed.

(** Recovery does not end early: where no record is given out, the WAL was waited for, and had ended. *)
Theorem never_ends_early n at_ p p' : replays n at_ p -> (1 <= space)%nat -> refused (walked p) = false ->
  read_record p = (None, p') -> refused (walked p') = true \/
  exists new, history p' = new ++ history p /\ In NoMore new.
Proof.
  intros R Sp Ref Rd. pose proof (run_sane _ _ _ _ _ _ _ _ R) as Sa.
  pose proof (fill_twice_sane blocks buffer read_ahead space direct p Sa Ref) as X. cbv zeta in X. unfold Prefetcher.read_record in Rd.
  destruct (fill_twice _ _ _ _ _ _ _) as [r' w']. destruct X as (_ & _ & _ & X & _).
  destruct (queued w') as [|q rest] eqn:Q.
  - injection Rd as <-. destruct (X eq_refl) as (_ & _ & [V|[V|(new & V & I)]]); [now left|lia|right].
    exists (new ++ [Replayed (replaying_up_to p)]). unfold history. cbn [walked]. rewrite V. cbn. rewrite <- app_assoc.
    split; [reflexivity|]. apply in_or_app. now left.
  - destruct (refused w') eqn:R2; [|discriminate]. injection Rd as <-. now left.
Qed.

(** Reading that begins anew gives out the record that starts there, whatever was looked at, queued or in flight before. *)
Theorem begin_read_gives_its_record p r w : (1 <= space)%nat -> read_ahead 0 false (world (judged (walked p))) = (Some r, w) ->
  0 < lsn r < next_lsn r -> fst (read_record (begin_read (lsn r) p)) = Some r.
Proof.
  intros Sp Rd [P B]. unfold Prefetcher.read_record, begin_read. cbn [set replaying_up_to ring_of walked queued].
  set (c := Settings (concurrency (set p)) (lsn r) 0). set (w0 := replayed 0 _).
  assert (D : decode read_ahead space c w0 = (true, enqueue c r w0 (with_world w (judged w0)))).
  { unfold decode. cbn. destruct (Nat.leb_spec space 0) as [|_]; [lia|]. rewrite Rd.
    apply Z.ltb_lt in P, B. now rewrite P, B, Z.leb_refl. }
  unfold fill_twice, fill, lrq_prefetch. cbn [fst snd]. destruct (concurrency (set p)) as [|n] eqn:C.
  - assert (L : look_ahead blocks buffer read_ahead space direct space c w0 = (NoIo 0, enqueue c r w0 (with_world w (judged w0)))).
    { destruct space; cbn [look_ahead]; unfold rest_of_record; cbn [w0 replayed with_judging at_record]; now rewrite D. }
    cbn. rewrite L. reflexivity.
  - set (Q := fun w' : @walk W => queued w' = [r] /\ refused w' = false /\ decoded_lsn w' = lsn r /\
      exists rs, at_record w' = Some (r, rs)).
    assert (K : forall fuel w', Q w' -> Q (snd (look_ahead blocks buffer read_ahead space direct fuel c w'))).
    { intros fuel w' (Q1 & Q2 & Q3 & rs & Q4).
      assert (X : exists a rs' j, rest_of_record blocks buffer direct c w' = (Some a, go_on (Some (r, rs')) w' j)).
      { unfold rest_of_record. rewrite Q4, Q1, Q3. cbn [is_empty negb andb begin c]. rewrite Z.eqb_refl.
        destruct (look_at _ _ _ _ _ _) as [[[a|] rs'] j]; eauto. }
      destruct X as (a & rs' & j & X). destruct fuel; cbn [look_ahead]; rewrite X; cbn; unfold Q; cbn; eauto 10. }
    assert (L : Q (snd (look_ahead blocks buffer read_ahead space direct space c w0))).
    { destruct space as [|fuel] eqn:F; [lia|]. cbn [look_ahead]. unfold rest_of_record at 1. cbn [w0 replayed with_judging at_record].
      fold w0. rewrite D. cbn [concurrency c Nat.eqb]. apply K. unfold Q. cbn. eauto 10. }
    assert (M : forall fuel r' w', Q w' ->
      Q (snd (lrq_prefetch_loop fuel (look_ahead blocks buffer read_ahead space direct space c) w' r'))).
    { intros fuel r' w' H. apply (prefetch_keeps (look_ahead blocks buffer read_ahead space direct space c) (fun _ s => Q s) fuel);
        [|exact H]. intros r1 w1 H1 _. specialize (K space w1 H1). now destruct (look_ahead _ _ _ _ _ _ _ _) as [[] ?]. }
    cbn [concurrency c Nat.eqb].
    assert (F : Q (snd (lrq_prefetch_loop (size (lrq_complete 0 (new_ring (S n))))
      (look_ahead blocks buffer read_ahead space direct space c) w0 (lrq_complete 0 (new_ring (S n)))))).
    { cbn [new_ring lrq_alloc lrq_complete lrq_complete_loop size tail head Nat.eqb negb andb lrq_prefetch_loop].
      replace (may_look _) with true by reflexivity.
      destruct (look_ahead _ _ _ _ _ _ _ _) as [[|l|l] w1]; cbn [snd] in *; auto. }
    destruct (lrq_prefetch_loop _ _ _ _) as [r' w']. destruct F as (F1 & F2 & _). cbn [snd] in *.
    rewrite F1. cbn [is_empty andb]. rewrite F1, F2. reflexivity.
Qed.
End Theorems.
