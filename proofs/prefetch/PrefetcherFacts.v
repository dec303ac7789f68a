(* SPDX-License-Identifier: PostgreSQL *)
(** * Each block that a record references is judged once, by the history alone, before the record is given out *)
From Pgquern.common Require Import Integers.
From Pgquern.prefetch Require Import Ring RingFacts Filters FiltersFacts Prefetcher History JudgeFacts WalkFacts.

Section Facts.
Context {W : Type} (blocks : relation -> W -> option Z * W) (buffer : relation -> Z -> W -> option Z * W).
Context (read_ahead : nat -> bool -> W -> option record * W) (space : nat) (direct : bool).
Local Notation decode := (decode read_ahead space).
Local Notation look_ahead := (look_ahead blocks buffer read_ahead space direct).
Local Notation fill := (fill blocks buffer read_ahead space direct).
Local Notation fill_twice := (fill_twice blocks buffer read_ahead space direct).
Local Notation read_record := (read_record blocks buffer read_ahead space direct).
Local Notation replays := (replays blocks buffer read_ahead space direct).
Local Notation walk := (@walk W).
Local Notation walks := (@WalkFacts.walks W direct).

(** ** One read *)

Definition fits (c : settings) (r : ring) (w : walk) : Prop := limits c r /\ walks w /\ ring_behind r w.

Lemma behind_push r io l (w w' : walk) : consistent r -> may_look r = true -> ring_behind r w ->
  decoded_lsn w <= decoded_lsn w' -> l <= decoded_lsn w' -> ring_behind (push r io l) w'.
Proof.
  intros C M B D L. unfold ring_behind. rewrite entries_pushed by assumption. apply Forall_app. split.
  - eapply Forall_impl; [|exact B]. simpl. lia.
  - repeat constructor. exact L.
Qed.

Lemma fill_on c r w : (0 < concurrency c)%nat -> fits c r w ->
  let '(r', w') := fill c (r, w) in
  fits c r' w' /\ adds no_given (log (judged w)) (log (judged w')) /\ (exists more, queued w' = queued w ++ more) /\
  (may_look r' = false \/ idle w').
Proof.
  intros On (Li & K & B). unfold Prefetcher.fill, lrq_prefetch. cbn [fst snd].
  set (P := fun r' (w' : walk) => fits c r' w' /\ adds no_given (log (judged w)) (log (judged w')) /\
    (exists more, queued w' = queued w ++ more)).
  assert (Step : forall r' w', P r' w' -> may_look r' = true ->
    match look_ahead space c w' with
    | (Again, s') => P r' s' | (Io l, s') => P (push r' true l) s' | (NoIo l, s') => P (push r' false l) s' end).
  { intros r1 w1 ((L1 & K1 & B1) & A1 & (m1 & Q1)) M.
    pose proof (look_ahead_walks blocks buffer read_ahead space direct c space On w1 K1) as X.
    destruct (look_ahead space c w1) as [a w2]. destruct X as (K2 & A2 & (m2 & Q2) & D2 & P2); [lia|].
    assert (Log : adds no_given (log (judged w)) (log (judged w2))) by (eapply adds_trans; eauto).
    assert (Qu : exists more, queued w2 = queued w ++ more) by (rewrite Q2, Q1, <- app_assoc; eauto).
    destruct a; (split; [|split; assumption]); (split; [|split; [assumption|]]).
    - exact L1.
    - eapply Forall_impl; [|exact B1]. simpl. lia.
    - now apply limits_push.
    - apply behind_push with w1; try assumption; apply L1.
    - now apply limits_push.
    - apply behind_push with w1; try assumption; apply L1. }
  assert (Start : P r w) by (split; [split; auto|]; split; [apply adds_refl|]; exists []; now rewrite app_nil_r).
  pose proof (prefetch_keeps (look_ahead space c) P (size r) Step w r Start) as (F & A & Q).
  assert (C : consistent r) by apply Li.
  assert (E : may_look (fst (lrq_prefetch_loop (size r) (look_ahead space c) w r)) = false \/
    idle (snd (lrq_prefetch_loop (size r) (look_ahead space c) w r))).
  { destruct (prefetch_ends (look_ahead space c) P (size r) Step w r Start C) as [E|(r0 & s0 & ((_ & K0 & _) & _) & E)];
      [lia|now left|right]. pose proof (look_ahead_walks blocks buffer read_ahead space direct c space On s0 K0) as X.
    rewrite E in X. destruct X as (_ & _ & _ & _ & X); [lia|exact X]. }
  destruct (lrq_prefetch_loop (size r) (look_ahead space c) w r) as [r' w']. auto.
Qed.

Lemma nothing_at w : walks w -> queued w = [] -> at_record w = None.
Proof.
  intros K Q. destruct (at_record w) as [[r rs]|] eqn:At; [|reflexivity].
  destruct (at_last _ _ K r rs At) as [(front & F) _]. rewrite Q in F. now destruct front.
Qed.

Definition asked_in_vain (w w' : walk) : Prop :=
  refused w' = true \/ space = 0%nat \/ log (judged w') = NoMore :: log (judged w).

(** The queue is empty: the WAL is waited for. *)
Lemma decode_empty c w : walks w -> queued w = [] -> let '(b, w') := decode c w in
  if b then exists q world, w' = enqueue c q w (with_world world (judged w)) /\ 0 < lsn q < next_lsn q /\ decoded_up_to w <= lsn q
  else walks w' /\ queued w' = [] /\ at_record w' = None /\ adds no_given (log (judged w)) (log (judged w')) /\
    decoded_lsn w' = decoded_lsn w /\ asked_in_vain w w'.
Proof.
  intros K Q. pose proof (nothing_at w K Q) as At. unfold Prefetcher.decode. rewrite Q. cbn [is_empty negb andb length].
  destruct (Nat.leb_spec space 0) as [L|L].
  - split; [apply walks_suspend; auto; apply K|]. cbn. split; [exact Q|]. split; [exact At|].
    split; [apply adds_cons; [exact I|apply adds_refl]|]. split; [reflexivity|]. right. left. lia.
  - destruct (read_ahead 0 false (world (judged w))) as [[q|] world].
    + destruct ((0 <? lsn q) && (lsn q <? next_lsn q) && (decoded_up_to w <=? lsn q)) eqn:V.
      * rewrite !andb_true_iff, !Z.ltb_lt, Z.leb_le in V. exists q, world. split; [reflexivity|]. lia.
      * pose proof K as [A1 A2 A3 A4 A5 A6 A7 A8 A9]. cbn. rewrite <- Q at 1.
        split; [constructor; cbn [judged queued decoded_lsn decoded_up_to at_record]; auto; now apply sound_world|].
        split; [reflexivity|]. split; [exact At|]. split; [apply adds_refl|]. split; [reflexivity|]. now left.
    + split; [apply walks_suspend; auto; apply sound_world, K|]. cbn. split; [exact Q|]. split; [exact At|].
      split; [apply adds_cons; [exact I|apply adds_refl]|]. split; [reflexivity|]. now right; right.
Qed.

Lemma may_look_empty c r : limits c r -> entries r = [] -> may_look r = true.
Proof.
  intros (C & M & S & _) E. apply may_look_spec. destruct C as [_ _ I Co _]. rewrite E in *. cbn in *. lia.
Qed.

(** With prefetching off one record is decoded, and the ring of one is full. *)
Lemma fill_off c r w : concurrency c = 0%nat -> limits c r -> entries r = [] -> walks w -> queued w = [] ->
  let '(b, w') := decode c w in fill c (r, w) = (if b then push r false 0 else r, w').
Proof.
  intros Off L E K Q. pose proof (may_look_empty c r L E) as M. pose proof (nothing_at w K Q) as At.
  unfold Prefetcher.fill, lrq_prefetch. cbn [fst snd]. destruct L as (C & _ & S2 & S0). specialize (S0 Off). rewrite S0.
  assert (X : look_ahead space c w = (let '(b, w') := decode c w in (if b then NoIo 0 else Again, w'))).
  { destruct space; cbn [Prefetcher.look_ahead]; unfold rest_of_record; rewrite At, Off;
      destruct (Prefetcher.decode _ _ c w) as [[] w']; reflexivity. }
  cbn [lrq_prefetch_loop]. rewrite M, X. destruct (decode c w) as [[] w']; [|reflexivity]. 
  assert (N : may_look (push r false 0) = false).
  { unfold may_look. cbn [inflight completed size push]. rewrite S0. apply andb_false_iff. right. apply Nat.ltb_ge. lia. }
  now rewrite N.
Qed.

(** With prefetching on, from an empty queue: if it stays empty, then since the WAL was waited for. *)
Lemma fill_from_nothing c r w : (0 < concurrency c)%nat -> fits c r w -> entries r = [] -> queued w = [] ->
  let '(r', w') := fill c (r, w) in queued w' = [] -> r' = r /\ asked_in_vain w w'.
Proof.
  intros On (L & K & B) E Q. pose proof (may_look_empty c r L E) as M. pose proof (nothing_at w K Q) as At.
  unfold Prefetcher.fill, lrq_prefetch. cbn [fst snd]. pose proof L as (C & _ & S2 & _).
  destruct (size r) as [|n] eqn:Sz; [lia|]. cbn [lrq_prefetch_loop]. rewrite M.
  pose proof (decode_empty c w K Q) as De. pose proof (decode_walks blocks buffer read_ahead space direct c w K At On) as Dw.
  pose proof (look_ahead_walks blocks buffer read_ahead space direct c space On w K) as La.
  assert (X : (fst (decode c w) = false /\ look_ahead space c w = (Again, snd (decode c w))) \/
    queued (snd (look_ahead space c w)) <> []).
  { destruct space as [|sp] eqn:Esp; cbn [Prefetcher.look_ahead]; unfold rest_of_record; rewrite At;
      destruct (Prefetcher.decode _ _ c w) as [[] w1]; cbn [fst snd]; [|now left| |now left]; right;
      destruct Dw as (K1 & _ & _ & _ & T & _); destruct (T eq_refl) as [T1 T2];
      (destruct (Nat.eqb_spec (concurrency c) 0); [lia|]); cbn [snd].
    - intros F. rewrite F in T1. discriminate.
    - pose proof (look_ahead_walks blocks buffer read_ahead (S sp) direct c sp On w1 K1) as Y.
      destruct (Prefetcher.look_ahead _ _ _ _ _ sp c w1) as [a w2]. cbn [snd]. destruct Y as (_ & _ & (m & Y) & _); [lia|].
      intros F. rewrite F in Y. destruct (queued w1); [discriminate|discriminate]. }
  destruct X as [[Db X]|X].
  - rewrite X. destruct (decode c w) as [b w1]. cbn [fst snd] in *. subst b. intros _. split; [reflexivity|apply De].
  - assert (P : forall fuel r0 s, walks s -> queued s <> [] ->
      queued (snd (lrq_prefetch_loop fuel (look_ahead space c) s r0)) <> []).
    { intros fuel r0 s Ks Qs. 
      pose proof (prefetch_keeps (look_ahead space c) (fun _ s => walks s /\ queued s <> []) fuel) as Y.
      apply Y; [|auto]. clear Y. intros r1 s1 [K1 Q1] _. 
      pose proof (look_ahead_walks blocks buffer read_ahead space direct c space On s1 K1) as Y.
      destruct (look_ahead space c s1) as [a s2]. destruct Y as (K2 & _ & (m & Q2) & _); [lia|].
      assert (queued s2 <> []) by (rewrite Q2; destruct (queued s1); [congruence|discriminate]).
      destruct a; auto. }
    destruct (look_ahead space c w) as [[|l|l] w1]; destruct La as (K1 & _); try lia; cbn [snd] in X.
    + intros Y. contradiction.
    + specialize (P n (push r true l) w1 K1 X). destruct (lrq_prefetch_loop n _ w1 _) as [r' w']. intros Y. contradiction.
    + specialize (P n (push r false l) w1 K1 X). destruct (lrq_prefetch_loop n _ w1 _) as [r' w']. intros Y. contradiction.
Qed.

Lemma replayed_walks x w : walks w -> walks (replayed x w).
Proof.
  intros [I D G Q E N L A F]. constructor; cbn [replayed with_judging judged queued decoded_lsn decoded_up_to at_record log]; auto.
  - destruct I as [I1 I2 I3 I4 I5]. constructor; cbn [filters recent log].
    + now apply faithful_complete.
    + now apply complete_bounded.
    + exact I3.
    + simpl. auto.
    + constructor; [exact Logic.I|exact I5].
  - eapply Forall_impl; [|exact N]. intros q H. constructor; [exact Logic.I|exact H].
Qed.

Lemma give_walks c before r rest w : walks w -> queued w = r :: rest -> concurrency c <> 0%nat \/ before <> [] ->
  walks (give c before r rest w).
Proof.
  intros [I D G Q E N L A F] Qu On. rewrite Qu in *. inversion Q as [|? ? Q' Qf]; subst. inversion E as [|? ? E1 E']; subst.
  inversion N as [|? ? N1 N']; subst. inversion F as [|? ? F1 F']; subst.
  assert (Lo : forall r' rs, at_record w = Some (r', rs) -> lsn r' = lsn r -> r' = r).
  { intros r' rs At Eq. destruct (A r' rs At) as [(front & Fr) _]. destruct front as [|a front]; [now injection Fr|].
    injection Fr as <- Fr. rewrite Forall_forall in Qf. assert (In r' rest) by (rewrite Fr; apply in_or_app; right; now left).
    specialize (Qf r' H). lia. }
  unfold give. set (f := match left_of r w with Some rs => rs | None => _ end).
  assert (J : judged_of (lsn r) (log (judged w)) ++ filter in_use f = filter in_use (references r)).
  { unfold f, left_of. destruct (at_record w) as [[r' rs]|] eqn:At.
    - destruct (Z.eqb_spec (lsn r') (lsn r)) as [Eq|Ne].
      + pose proof (Lo r' rs eq_refl Eq). subst r'. now apply A.
      + destruct F1 as [F1|(rs' & F1)]; [|congruence].
        replace ((concurrency c =? 0)%nat && is_empty before) with false; [now rewrite app_nil_r|].
        symmetry. apply andb_false_iff. destruct On as [On|On]; [left; now apply Nat.eqb_neq|right; now destruct before].
    - destruct F1 as [F1|(rs' & F1)]; [|congruence].
      replace ((concurrency c =? 0)%nat && is_empty before) with false; [now rewrite app_nil_r|].
      symmetry. apply andb_false_iff. destruct On as [On|On]; [left; now apply Nat.eqb_neq|right; now destruct before]. }
  constructor; cbn [judged queued decoded_lsn decoded_up_to at_record log]; auto.
  - destruct I as [I1 I2 I3 I4 I5]. constructor; cbn [filters recent log].
    + destruct I1. now constructor.
    + exact I2.
    + exact I3.
    + simpl. auto.
    + constructor; [simpl; lia|exact I5].
  - apply Forall_forall. intros q M. rewrite Forall_forall in N', Qf. constructor; [simpl; auto|auto].
  - intros front q Fr. apply (L (r :: front) q). simpl. now rewrite Fr.
  - intros q rs At. assert (At0 : at_record w = Some (q, rs) /\ left_of r w = None) by (destruct (left_of r w); [discriminate|auto]).
    destruct At0 as [At0 Lf]. destruct (A q rs At0) as [(front & Fr) Jq]. split; [|exact Jq].
    destruct front as [|a front]; [|injection Fr as _ ->; eauto].
    injection Fr as <- _. unfold left_of in Lf. rewrite At0, Z.eqb_refl in Lf. discriminate.
  - apply Forall_forall. intros q M. rewrite Forall_forall in F', Qf. destruct (F' q M) as [H|(rs & H)]; [left; exact H|]. right.
    exists rs. unfold left_of. rewrite H. specialize (Qf q M). destruct (Z.eqb_spec (lsn q) (lsn r)); [lia|reflexivity].
Qed.

(** A record that was decoded with prefetching off is given out at once, and none of its references is looked at. *)
Lemma give_unlooked c q w j : walks w -> queued w = [] -> concurrency c = 0%nat -> sound direct (decoded_lsn w) j ->
  log j = log (judged w) -> 0 < lsn q < next_lsn q -> decoded_up_to w <= lsn q ->
  walks (give c [] q [] (enqueue c q w j)).
Proof.
  intros K Qu Off S Eq P U. pose proof (nothing_at w K Qu) as At. pose proof K as [I D G Q E N L A F].
  assert (Lt : decoded_lsn w < lsn q) by lia.
  unfold enqueue. rewrite Off, Qu. cbn [Nat.eqb app]. unfold give, left_of. cbn [at_record]. rewrite At, Off.
  constructor; cbn [judged queued decoded_lsn decoded_up_to at_record log].
  - constructor; cbn [filters recent log].
    + destruct S as [S1 _ _ _ _]. destruct S1. now constructor.
    + eapply Forall_impl; [|apply S]. simpl. lia.
    + apply S.
    + cbn. split; [apply S|]. erewrite judged_of_later; [reflexivity|apply S|lia].
    + constructor; [simpl; lia|]. eapply Forall_impl; [|apply S]. intros []; simpl; lia.
  - lia.
  - right. lia.
  - constructor.
  - constructor.
  - constructor.
  - intros front r Fr. now destruct front.
  - discriminate.
  - constructor.
Qed.

(** ** A run *)

Record sane (p : @prefetcher W) : Prop := {
  is_limited : limits (set p) (ring_of p);
  is_walking : walks (walked p);
  is_behind : ring_behind (ring_of p) (walked p);
  drains : queued (walked p) = [] -> Forall (fun e => entry_lsn e < replaying_up_to p) (entries (ring_of p));
}.

Lemma drop_all x l : Forall (fun e => entry_lsn e < x) l -> drop_below x l = [].
Proof. induction 1 as [|e l H F IH]; [reflexivity|]. simpl. destruct (Z.ltb_spec (entry_lsn e) x); [exact IH|lia]. Qed.

Lemma drop_some x (P : entry -> Prop) l : Forall P l -> Forall P (drop_below x l).
Proof. induction 1 as [|e l H F IH]; simpl; [constructor|]. destruct (entry_lsn e <? x); auto. Qed.

(** All that a read does before the record is given out. *)
Lemma fill_twice_sane p : sane p -> refused (walked p) = false ->
  let c := set p in let w := replayed (replaying_up_to p) (walked p) in
  let '(r', w') := fill_twice c (lrq_complete (replaying_up_to p) (ring_of p), w) in
  limits c r' /\ adds no_given (log (judged w)) (log (judged w')) /\ ring_behind r' w' /\
  (queued w' = [] -> walks w' /\ entries r' = [] /\
     (refused w' = true \/ space = 0%nat \/ exists new, log (judged w') = new ++ log (judged w) /\ In NoMore new)) /\
  (queued w' <> [] -> (walks w' /\ (concurrency c <> 0%nat \/ queued w <> []) /\
                       (concurrency c = 0%nat \/ may_look r' = false \/ idle w')) \/
     (concurrency c = 0%nat /\ queued w = [] /\ exists q world, w' = enqueue c q w (with_world world (judged w)) /\
        0 < lsn q < next_lsn q /\ decoded_up_to w <= lsn q)).
Proof.
  intros [Li K B Dr] Ref. cbv zeta. set (c := set p). set (x := replaying_up_to p) in *.
  set (w := replayed x (walked p)). destruct (limits_complete c (ring_of p) x Li) as [Lr Er].
  set (r := lrq_complete x (ring_of p)) in *. assert (Kw : walks w) by now apply replayed_walks.
  assert (Qw : queued w = queued (walked p)) by reflexivity. assert (Rw : refused w = false) by exact Ref.
  assert (Bw : ring_behind r w).
  { unfold ring_behind. rewrite Er. apply drop_some. exact B. }
  assert (Em : queued w = [] -> entries r = []).
  { intros H. rewrite Er. apply drop_all, Dr. congruence. }
  unfold Prefetcher.fill_twice. destruct (Nat.eqb_spec (concurrency c) 0) as [Off|On].
  - cbn [snd]. destruct (queued w) as [|q0 qs] eqn:Qe; cbn [is_empty andb].
    + rewrite Rw. cbn [negb]. pose proof (fill_off c r w Off Lr (Em eq_refl) Kw Qe) as X.
      pose proof (decode_empty c w Kw Qe) as De. destruct (decode c w) as [b w1]. rewrite X. clear X. destruct b.
      * destruct De as (q & world & -> & P & U). assert (M : may_look r = true) by now apply may_look_empty with c, Em.
        split; [now apply limits_push|]. split; [unfold enqueue; rewrite Off; apply adds_refl|]. split.
        { apply behind_push with w; try assumption; try apply Lr; unfold enqueue; rewrite Off; cbn [Nat.eqb decoded_lsn];
            pose proof (goes_forward _ _ Kw); lia. }
        split; [unfold enqueue; rewrite Off; cbn; intros F; now apply app_eq_nil in F|]. intros _. right. eauto 10.
      * destruct De as (K1 & Q1 & A1 & Ad & D1 & V). split; [exact Lr|]. split; [exact Ad|].
        split; [unfold ring_behind; rewrite D1; exact Bw|]. split; [|intros F; congruence]. intros _.
        split; [exact K1|]. split; [now apply Em|]. destruct V as [V|[V|V]]; auto. right; right. exists [NoMore]. rewrite V. cbn. auto.
    + split; [exact Lr|]. split; [apply adds_refl|]. split; [exact Bw|]. split; [intros F; congruence|]. intros _. left.
      split; [exact Kw|]. split; [right; discriminate|]. now left.
  - assert (On' : (0 < concurrency c)%nat) by lia. pose proof (fill_on c r w On' (conj Lr (conj Kw Bw))) as X1.
    pose proof (fill_from_nothing c r w On' (conj Lr (conj Kw Bw))) as X2.
    destruct (fill c (r, w)) as [r1 w1]. destruct X1 as ((L1 & K1 & B1) & A1 & (m & Q1) & E1). cbn [fst snd].
    destruct (queued w1) as [|q1 qs1] eqn:Qe1; cbn [is_empty andb].
    + symmetry in Q1. apply app_eq_nil in Q1 as [Q0 _]. destruct (X2 (Em Q0) Q0 eq_refl) as [-> V1].
      destruct (refused w1) eqn:R1; cbn [negb].
      * split; [exact L1|]. split; [exact A1|]. split; [exact B1|]. split; [|intros F; congruence]. intros _. auto.
      * pose proof (fill_on c r w1 On' (conj L1 (conj K1 B1))) as Y1.
        pose proof (fill_from_nothing c r w1 On' (conj L1 (conj K1 B1)) (Em Q0) Qe1) as Y2.
        destruct (fill c (r, w1)) as [r2 w2]. destruct Y1 as ((L2 & K2 & B2) & A2 & _ & E2).
        split; [exact L2|]. split; [now apply adds_trans with (log (judged w1))|]. split; [exact B2|]. split; [|auto].
        intros Q2. destruct (Y2 Q2) as [-> V2]. split; [exact K2|]. split; [now apply Em|].
        destruct V1 as [V1|[V1|V1]]; [congruence|auto|]. right. right. destruct A2 as (new & A2 & _). rewrite A2, V1.
        exists (new ++ [NoMore]). rewrite <- app_assoc. split; [reflexivity|]. apply in_or_app. right. now left.
    + split; [exact L1|]. split; [exact A1|]. split; [exact B1|]. split; [intros F; congruence|]. intros _. left. auto.
Qed.

Lemma walks_nonempty_last w q rest : walks w -> queued w = q :: rest -> rest = [] -> decoded_lsn w = lsn q /\ lsn q < next_lsn q.
Proof.
  intros K Q ->. split; [apply (last_decoded _ _ K [] q); exact Q|]. pose proof (queue_early _ _ K) as E. rewrite Q in E.
  inversion E; subst. tauto.
Qed.

Lemma read_sane p : sane p -> refused (walked p) = false -> sane (snd (read_record p)).
Proof.
  intros Sa Ref. pose proof (fill_twice_sane p Sa Ref) as X. cbv zeta in X. unfold Prefetcher.read_record.
  set (c := set p) in *. set (w := replayed (replaying_up_to p) (walked p)) in *.
  destruct (fill_twice c (lrq_complete (replaying_up_to p) (ring_of p), w)) as [r' w'].
  destruct X as (L & A & B & X0 & X1). destruct (queued w') as [|q rest] eqn:Q.
  - destruct (X0 eq_refl) as (K & E & _). constructor; cbn [snd set ring_of walked replaying_up_to]; auto.
    rewrite E. constructor.
  - assert (Ne : q :: rest <> []) by discriminate. destruct (X1 Ne) as [(K & On & _)|(Off & Qw & q' & world & -> & P & U)].
    + destruct (refused w').
      * constructor; cbn [snd set ring_of walked replaying_up_to]; auto. congruence.
      * constructor; cbn [snd set ring_of walked replaying_up_to]; auto.
        { apply give_walks; auto. }
        cbn. intros Er. destruct (walks_nonempty_last w' q rest K Q Er) as [D Nx].
        eapply Forall_impl; [|exact B]. intros e He. cbn beta in *. lia.
    + assert (Qq : queued (enqueue c q' w (with_world world (judged w))) = [q']).
      { unfold enqueue. rewrite Off. cbn [Nat.eqb queued]. now rewrite Qw. }
      rewrite Qq in Q. injection Q as <- <-.
      assert (R : refused (enqueue c q' w (with_world world (judged w))) = false) by (unfold enqueue; rewrite Off; exact Ref).
      rewrite R. assert (Kw : walks w) by apply replayed_walks, Sa.
      constructor; cbn [snd set ring_of walked replaying_up_to]; auto.
      * replace (queued (walked p)) with (@nil record) by (symmetry; exact Qw). apply give_unlooked; auto. apply sound_world, Kw.
      * intros _. eapply Forall_impl; [|exact B]. unfold enqueue. rewrite Off. cbn [Nat.eqb decoded_lsn]. intros e He. cbn beta in *. lia.
Qed.

Lemma run_sane n at_ p : replays n at_ p -> sane p.
Proof.
  induction 1 as [w|p R IH Ref|p m R IH|p w R IH].
  - constructor; cbn [start set ring_of walked replaying_up_to].
    + now apply limits_new.
    + constructor; cbn [start walked judged queued decoded_lsn decoded_up_to at_record log].
      * constructor; cbn [filters recent log]; [|constructor|reflexivity|exact Logic.I|constructor].
        constructor; [constructor..|reflexivity].
      * lia.
      * now left.
      * constructor.
      * constructor.
      * constructor.
      * intros front r F. now destruct front.
      * discriminate.
      * constructor.
    + destruct n; constructor.
    + intros _. destruct n; constructor.
  - now apply read_sane.
  - destruct IH as [Li K B Dr]. constructor; cbn [reconfigure set ring_of walked replaying_up_to].
    + now apply limits_new.
    + exact K.
    + destruct m; constructor.
    + intros _. destruct m; constructor.
  - destruct IH as [Li K B Dr]. constructor; cbn [with_world_of set ring_of walked replaying_up_to]; auto.
    destruct K as [A1 A2 A3 A4 A5 A6 A7 A8 A9].
    constructor; cbn [with_judging judged queued decoded_lsn decoded_up_to at_record]; auto. now apply sound_world.
Qed.
End Facts.
