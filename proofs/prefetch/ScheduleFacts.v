(* SPDX-License-Identifier: PostgreSQL *)
(** * The eager schedule has exactly N in flight, and never are more than N advised blocks unreplayed *)
From Coq Require Import Bool ZArith List Lia.
From Pgquern.prefetch Require Import Ring RingFacts Schedule.
Import ListNotations.

Lemma ios_eager first count : ios (eager first count) = count.
Proof.
  unfold ios, eager. revert first. induction count as [|c IH]; intros f; [reflexivity|]. simpl. now rewrite IH.
Qed.

Lemma eager_length first count : length (eager first count) = count.
Proof. unfold eager. now rewrite map_length, seq_length. Qed.

Lemma eager_ascending first count : ascending (eager first count).
Proof.
  unfold ascending, eager. revert first. induction count as [|c IH]; intros f; simpl; constructor; [apply IH|].
  apply Forall_forall. intros e E. apply in_map_iff in E as (j & <- & J). apply in_seq in J. simpl. lia.
Qed.

Lemma eager_fills last fuel : forall N r a k, consistent r -> entries r = eager a k -> max_inflight r = N ->
  size r = S (4 * N) -> k <= Nat.min N (S last - a) -> N - k < fuel ->
  let '(r', n) := lrq_prefetch_loop fuel (look_eagerly last) (a + k) r in
  consistent r' /\ entries r' = eager a (Nat.min N (S last - a)) /\ n = a + Nat.min N (S last - a) /\
  max_inflight r' = N /\ size r' = S (4 * N).
Proof.
  induction fuel as [|fuel IH]; intros N r a k C E X Z K F; [lia|]. cbn [lrq_prefetch_loop].
  pose proof C as [H T I Co _]. rewrite E, ios_eager in I. rewrite E, ios_eager, eager_length in Co.
  destruct (may_look r) eqn:M.
  - pose proof M as M'. apply may_look_spec in M'. unfold look_eagerly at 1.
    destruct (Nat.leb_spec (a + k) last) as [V|V].
    + specialize (IH N (push r true (Z.of_nat (a + k))) a (S k)). rewrite Nat.add_succ_r in IH.
      apply IH; try assumption; try lia.
      * now apply consistent_push.
      * rewrite entries_push, E by (rewrite <- ?(entries_length r), ?E, ?eager_length; lia).
        unfold eager. now rewrite seq_S, map_app.
    + replace (Nat.min N (S last - a)) with k by lia. auto.
  - assert (Q : ~ (inflight r < max_inflight r /\ inflight r + completed r < size r - 1)).
    { rewrite <- may_look_spec, M. discriminate. }
    replace (Nat.min N (S last - a)) with k by lia. auto.
Qed.

Lemma filter_all {A} (f : A -> bool) l : Forall (fun x => f x = true) l -> filter f l = l.
Proof. induction 1 as [|x l F _ IH]; [reflexivity|]. simpl. now rewrite F, IH. Qed.

Lemma complete_eager lsn r a k : consistent r -> entries r = eager a k -> lsn = S a ->
  consistent (lrq_complete (Z.of_nat lsn) r) /\ entries (lrq_complete (Z.of_nat lsn) r) = eager lsn (k - 1).
Proof.
  intros C E ->. destruct (complete_frees_exactly (Z.of_nat (S a)) r C) as [C' E'].
  { rewrite E. apply eager_ascending. }
  split; [exact C'|]. rewrite E', E. set (z := Z.of_nat (S a)). destruct k as [|k]; [reflexivity|].
  change (eager a (S k)) with (Entry true (Z.of_nat a) :: eager (S a) k). cbn [filter entry_lsn].
  destruct (Z.ltb_spec (Z.of_nat a) z) as [_|]; [|lia]. cbn [negb]. replace (S k - 1) with k by lia.
  apply filter_all, Forall_forall. intros e M. apply in_map_iff in M as (j & <- & J). apply in_seq in J.
  cbn [entry_lsn]. destruct (Z.ltb_spec (Z.of_nat j) z); [lia|reflexivity].
Qed.

Lemma complete_loop_limits fuel lsn : forall r,
  max_inflight (lrq_complete_loop fuel lsn r) = max_inflight r /\ size (lrq_complete_loop fuel lsn r) = size r.
Proof.
  induction fuel as [|fuel IH]; intros r; cbn [lrq_complete_loop]; [auto|].
  destruct (negb (tail r =? head r) && (entry_lsn (queue r (tail r)) <? lsn)%Z); [|auto].
  destruct (IH (pop r)) as [-> ->]. auto.
Qed.

Lemma complete_limits lsn r : max_inflight (lrq_complete lsn r) = max_inflight r /\ size (lrq_complete lsn r) = size r.
Proof. apply complete_loop_limits. Qed.

Lemma before_read_is_eager N last i : 1 <= N -> 1 <= i <= last ->
  let '(r, n) := before_read N last i in
  consistent r /\ entries r = eager i (Nat.min N (S last - i)) /\ n = i + Nat.min N (S last - i) /\
  max_inflight r = N /\ size r = S (4 * N).
Proof.
  intros N1 I. destruct i as [|i]; [lia|]. induction i as [|i IH].
  - change (before_read N last 1) with (lrq_prefetch_loop (S (4 * N)) (look_eagerly last) (1 + 0) (lrq_alloc (4 * N) N)).
    apply eager_fills; try reflexivity; try lia. apply consistent_alloc.
  - change (before_read N last (S (S i))) with
      (let '(r, n) := before_read N last (S i) in
       lrq_prefetch (look_eagerly last) n (lrq_complete (Z.of_nat (S (S i))) r)).
    destruct (before_read N last (S i)) as [r n]. destruct IH as (C & E & -> & X & Z); [lia|].
    destruct (complete_eager (S (S i)) r (S i) (Nat.min N (S last - S i)) C E eq_refl) as [C' E'].
    destruct (complete_limits (Z.of_nat (S (S i))) r) as [X' Z'].
    unfold lrq_prefetch. rewrite Z', Z.
    replace (S i + Nat.min N (S last - S i)) with (S (S i) + (Nat.min N (S last - S i) - 1)) by lia.
    apply eager_fills; try assumption; try congruence; lia.
Qed.

(** While at least N records are left, the I/Os in flight are exactly N whenever replay reads a block for the first time:
    those of this record and of the N - 1 records after it. *)
Theorem eager_has_exactly_N N last i : 1 <= N -> 1 <= i -> i + N <= S last ->
  inflight (fst (before_read N last i)) = N /\ entries (fst (before_read N last i)) = eager i N.
Proof.
  intros N1 I L. pose proof (before_read_is_eager N last i N1) as B. destruct (before_read N last i) as [r n].
  destruct B as (C & E & _); [lia|]. destruct C as [_ _ F _ _]. replace (Nat.min N (S last - i)) with N in E by lia.
  simpl. rewrite F, E, ios_eager. auto.
Qed.

(** ** Never more than N advised blocks are unreplayed *)
Section Ghost.
Context {State : Type} (look : State -> answer * State) (at_lsn : State -> Z).
Local Notation forward := (forward look at_lsn).
Local Notation logged := (logged look).
Local Notation run := (run look at_lsn).

Definition explains (lsn : Z) (r : ring) (s : State * list Z) : Prop :=
  consistent r /\ ascending (entries r) /\ Forall (fun e => lsn <= entry_lsn e <= at_lsn (fst s))%Z (entries r) /\
  (lsn <= at_lsn (fst s))%Z /\ unreplayed lsn (snd s) = map entry_lsn (filter entry_io (entries r)).

Lemma ascending_app l e : ascending l -> Forall (fun d => entry_lsn d <= entry_lsn e)%Z l -> ascending (l ++ [e]).
Proof.
  induction l as [|d l IH]; intros A F; simpl; [repeat constructor|].
  inversion A; subst. inversion F; subst. constructor; [now apply IH|]. apply Forall_app. auto.
Qed.

Lemma explains_push lsn r s s' l io log : explains lsn r s -> may_look r = true ->
  (at_lsn (fst s) <= l <= at_lsn s')%Z -> log = (if io : bool then snd s ++ [l] else snd s) ->
  explains lsn (push r io l) (s', log).
Proof.
  intros (C & A & F & P & G) M B ->. pose proof M as M'. apply may_look_spec in M'.
  pose proof (consistent_sum r C) as U. pose proof C as [H T _ _ _].
  split; [now apply consistent_push|]. rewrite entries_push by lia. simpl fst. simpl snd. repeat split.
  - apply ascending_app; [exact A|]. eapply Forall_impl; [|exact F]. simpl. intros d D. lia.
  - apply Forall_app. split; [|repeat constructor; simpl; lia]. eapply Forall_impl; [|exact F]. simpl. intros d D. lia.
  - lia.
  - unfold unreplayed in *. rewrite filter_app, map_app. destruct io; simpl; rewrite ?app_nil_r; [|exact G].
    rewrite filter_app, G. simpl. destruct (Z.ltb_spec l lsn); [lia|reflexivity].
Qed.

Lemma explains_look fuel : forward -> forall lsn r s, explains lsn r s ->
  explains lsn (fst (lrq_prefetch_loop fuel logged s r)) (snd (lrq_prefetch_loop fuel logged s r)).
Proof.
  intros Fw. induction fuel as [|fuel IH]; intros lsn r s E; [exact E|]. simpl. destruct (may_look r) eqn:M; [|exact E].
  pose proof (Fw (fst s)) as B. destruct (logged s) as [a s2] eqn:L. unfold logged in L.
  destruct (look (fst s)) as [[|l|l] s']; injection L as <- <-; cbn [fst snd].
  - destruct E as (C & A & F & P & G). refine (conj C (conj A (conj _ (conj _ G)))); cbn [fst]; [|lia].
    eapply Forall_impl; [|exact F]. simpl. intros d D. lia.
  - apply IH. now apply (explains_push lsn r s s' l true).
  - apply IH. now apply (explains_push lsn r s s' l false).
Qed.

Lemma unreplayed_later lsn lsn' log : (lsn <= lsn')%Z -> unreplayed lsn' (unreplayed lsn log) = unreplayed lsn' log.
Proof.
  intros L. unfold unreplayed. induction log as [|x log IH]; [reflexivity|]. cbn [filter].
  destruct (Z.ltb_spec x lsn) as [P|P]; cbn [negb filter]; rewrite IH; [|reflexivity].
  destruct (Z.ltb_spec x lsn') as [Q|Q]; [reflexivity|lia].
Qed.

Lemma filter_swap lsn l : map entry_lsn (filter entry_io (filter (fun e => negb (entry_lsn e <? lsn)%Z) l)) =
  unreplayed lsn (map entry_lsn (filter entry_io l)).
Proof.
  unfold unreplayed. induction l as [|[io x] l IH]; [reflexivity|]. cbn [filter entry_lsn entry_io].
  destruct io; cbn [map entry_lsn filter]; destruct (x <? lsn)%Z; cbn [negb filter map entry_io entry_lsn]; congruence.
Qed.

Lemma explains_complete lsn lsn' r s : explains lsn r s -> (lsn <= lsn' <= at_lsn (fst s))%Z ->
  explains lsn' (lrq_complete lsn' r) s.
Proof.
  intros (C & A & F & P & G) L. destruct (complete_frees_exactly lsn' r C A) as [C' E].
  split; [exact C'|]. rewrite E. repeat split.
  - rewrite <- drop_below_ascending by exact A. clear E F G. induction (entries r) as [|e l IH]; [exact A|]. simpl.
    destruct (_ <? _)%Z; [|exact A]. inversion A; subst. now apply IH.
  - apply Forall_forall. intros e M. apply filter_In in M as [M Q]. rewrite Forall_forall in F. specialize (F e M).
    destruct (Z.ltb_spec (entry_lsn e) lsn'); simpl in Q; [discriminate|lia].
  - lia.
  - rewrite filter_swap, <- G. symmetry. apply unreplayed_later. lia.
Qed.

Lemma run_explains N distance s0 r s lsn : forward -> run N distance s0 r s lsn -> explains lsn r s.
Proof.
  intros Fw R. induction R as [|r s lsn lsn' R IH L].
  - split; [apply consistent_alloc|]. repeat split; simpl; try lia; constructor.
  - unfold lrq_prefetch. apply explains_look; [exact Fw|]. now apply explains_complete with lsn.
Qed.

Lemma look_ahead_limits fuel s r : max_inflight (fst (lrq_prefetch_loop fuel logged s r)) = max_inflight r.
Proof.
  revert s r. induction fuel as [|fuel IH]; intros s r; simpl; [reflexivity|]. destruct (may_look r); [|reflexivity].
  destruct (logged s) as [[|l|l] s']; [reflexivity| |]; now rewrite IH.
Qed.

(** In every run, for any answers of the callback, the advised blocks whose record has not been replayed are at most N;
    they are counted in the ghost log, not by the ring. *)
Theorem at_most_N_unreplayed N distance s0 r s lsn : forward -> run N distance s0 r s lsn ->
  length (unreplayed lsn (snd s)) <= N.
Proof.
  intros Fw R. pose proof (run_explains _ _ _ _ _ _ Fw R) as (C & _ & _ & _ & G). rewrite G, map_length.
  assert (X : max_inflight r = N).
  { clear C G. induction R as [|r s lsn lsn' R IH L]; [reflexivity|]. unfold lrq_prefetch.
    rewrite look_ahead_limits. now destruct (complete_limits lsn' r) as [-> _]. }
  destruct C as [_ _ I _ B]. unfold ios in I. lia.
Qed.
End Ghost.
