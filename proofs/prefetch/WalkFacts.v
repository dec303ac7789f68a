(* SPDX-License-Identifier: PostgreSQL *)
(** * Looking ahead keeps the log truthful, the queue in order, and the ring behind what was decoded *)
From Coq Require Import Sorted.
From Pgquern.common Require Import Integers.
From Pgquern.prefetch Require Import Ring RingFacts ScheduleFacts Filters Prefetcher History JudgeFacts.

Ltac conjuncts := repeat match goal with |- _ /\ _ => split end.

(** ** The ring, with any callback *)

Lemma prefetch_keeps {S : Type} (look : S -> answer * S) (P : ring -> S -> Prop) fuel :
  (forall r s, P r s -> may_look r = true ->
     match look s with (Again, s') => P r s' | (Io l, s') => P (push r true l) s' | (NoIo l, s') => P (push r false l) s' end) ->
  forall s r, P r s -> P (fst (lrq_prefetch_loop fuel look s r)) (snd (lrq_prefetch_loop fuel look s r)).
Proof.
  intros K. induction fuel as [|fuel IH]; intros s r Q; [exact Q|]. simpl. destruct (may_look r) eqn:M; [|exact Q].
  specialize (K r s Q M). destruct (look s) as [[|l|l] s']; [exact K|apply IH; exact K|apply IH; exact K].
Qed.

(** Look-ahead ends at a limit of the ring, or since the callback has said so. *)
Lemma prefetch_ends {State : Type} (look : State -> answer * State) (P : ring -> State -> Prop) fuel :
  (forall r s, P r s -> may_look r = true ->
     match look s with (Again, s') => P r s' | (Io l, s') => P (push r true l) s' | (NoIo l, s') => P (push r false l) s' end) ->
  forall s r, P r s -> consistent r -> (size r <= used r + fuel)%nat ->
  may_look (fst (lrq_prefetch_loop fuel look s r)) = false \/
  exists r0 s0, P r0 s0 /\ look s0 = (Again, snd (lrq_prefetch_loop fuel look s r)).
Proof.
  intros K. induction fuel as [|fuel IH]; intros s r Q C F.
  - pose proof (used_less r) as U. destruct C as [H T _ _ _]. lia.
  - simpl. destruct (may_look r) eqn:M; [|now left]. pose proof M as M'. apply may_look_spec in M'.
    pose proof (consistent_sum r C) as U. pose proof C as [H T _ _ _]. specialize (K r s Q M).
    destruct (look s) as [[|l|l] s'] eqn:L; [right; eauto| |];
      (apply IH; [exact K|now apply consistent_push|]; rewrite used_push by lia; simpl; lia).
Qed.

Section Facts.
Context {W : Type} (blocks : relation -> W -> option Z * W) (buffer : relation -> Z -> W -> option Z * W).
Context (read_ahead : nat -> bool -> W -> option record * W) (space : nat) (direct : bool).
Local Notation look_at := (look_at blocks buffer direct).
Local Notation decode := (decode read_ahead space).
Local Notation rest_of_record := (rest_of_record blocks buffer direct).
Local Notation look_ahead := (look_ahead blocks buffer read_ahead space direct).
Local Notation judging := (@judging W).
Local Notation walk := (@walk W).

(** ** The invariant of the walk along the WAL *)

Record walks (w : walk) : Prop := {
  is_sound : sound direct (decoded_lsn w) (judged w);
  decoded_positive : 0 <= decoded_lsn w;
  goes_forward : decoded_lsn w = 0 \/ decoded_lsn w < decoded_up_to w;
  queue_in_order : StronglySorted (fun a b => lsn a < lsn b) (queued w);
  queue_early : Forall (fun q => lsn q <= decoded_lsn w /\ lsn q < next_lsn q) (queued w);
  queue_new : Forall (fun q => Forall (given_before (lsn q)) (log (judged w))) (queued w);
  last_decoded : forall front r, queued w = front ++ [r] -> decoded_lsn w = lsn r;
  at_last : forall r rs, at_record w = Some (r, rs) -> (exists front, queued w = front ++ [r]) /\
    judged_of (lsn r) (log (judged w)) ++ filter in_use rs = filter in_use (references r);
  finished : Forall (fun q => judged_of (lsn q) (log (judged w)) = filter in_use (references q) \/
    exists rs, at_record w = Some (q, rs)) (queued w);
}.

Lemma queue_ordered_last (front : list record) r q : StronglySorted (fun a b => lsn a < lsn b) (front ++ [r]) ->
  In q front -> lsn q < lsn r.
Proof.
  induction front as [|a front IH]; [intros _ []|]. simpl. intros S I. inversion S as [|? ? S' F]; subst.
  destruct I as [->|I]; [|now apply IH]. rewrite Forall_forall in F. apply F. apply in_or_app. right. now left.
Qed.

Lemma of_record_given l e l' : of_record l e -> given_before l' e.
Proof. destruct e; simpl; tauto. Qed.

(** What is judged of one record changes nothing for the others. *)
Lemma walks_go_on w r rs rest j : walks w -> at_record w = Some (r, rs) ->
  sound direct (decoded_lsn w) j -> adds (of_record (lsn r)) (log (judged w)) (log j) ->
  judged_of (lsn r) (log j) ++ filter in_use rest = filter in_use (references r) ->
  (forall left, left = Some (r, rest) \/ (left = None /\ rest = []) -> walks (go_on left w j)).
Proof.
  intros [I D G Q E N L A F] At S Ad J left Left. destruct (A r rs At) as [(front & Fr) _].
  constructor; cbn [go_on judged queued decoded_lsn decoded_up_to at_record]; try assumption.
  - eapply Forall_impl; [|exact N]. intros q Nq. eapply adds_all; [|exact Ad|exact Nq]. intros e O. now apply of_record_given with (lsn r).
  - intros r' rs' ->. destruct Left as [[= <- <-]|[? _]]; [|discriminate]. eauto.
  - rewrite Fr in *. apply Forall_app in F as [F _]. apply Forall_app. split.
    + apply Forall_forall. intros q M. rewrite Forall_forall in F. pose proof (queue_ordered_last _ _ _ Q M) as Lt.
      destruct (F q M) as [Fq|(rs' & Fq)]; [|rewrite At in Fq; injection Fq as -> _; lia].
      left. rewrite <- Fq. eapply judged_of_other; [exact Ad|]. lia.
    + constructor; [|constructor]. destruct Left as [->|[-> ->]]; [right; eauto|]. left. simpl in J. now rewrite app_nil_r in J.
Qed.

(** A record that has nothing left, or none, is being looked at. *)
Definition idle (w : walk) : Prop := at_record w = None \/ exists r, at_record w = Some (r, []).

Definition no_given (e : told) : Prop := match e with Given _ _ | Replayed _ => False | _ => True end.

Lemma rest_of_record_walks c w : walks w -> let '(a, w') := rest_of_record c w in
  walks w' /\ adds no_given (log (judged w)) (log (judged w')) /\ queued w' = queued w /\ refused w' = refused w /\
  decoded_lsn w' = decoded_lsn w /\
  match a with
  | None => at_record w' = None
  | Some Again => idle w'
  | Some (Io l) | Some (NoIo l) => l <= decoded_lsn w'
  end.
Proof.
  intros K. unfold Prefetcher.rest_of_record. destruct (at_record w) as [[r rs]|] eqn:At.
  2: { split; [exact K|]. conjuncts; auto using adds_refl. }
  pose proof K as [I D G Q E N L A F]. destruct (A r rs At) as [(front & Fr) J]. pose proof (L _ _ Fr) as Lr.
  assert (Nr : Forall (given_before (lsn r)) (log (judged w))).
  { rewrite Fr in N. apply Forall_app in N as [_ N]. now inversion N. }
  rewrite Lr in I. pose proof (look_at_sound blocks buffer direct (lsn r) rs (judged w) I Nr) as X.
  destruct (look_at (lsn r) rs (judged w)) as [[a rest] j]. destruct X as (S & Ad & J' & No & An).
  rewrite <- Lr in S. rewrite J in J'.
  assert (Ad' : adds no_given (log (judged w)) (log j)).
  { eapply adds_impl; [|exact Ad]. intros []; simpl; tauto. }
  pose proof (walks_go_on w r rs rest j K At S Ad J') as Go.
  destruct a as [a|].
  - cbn [go_on judged queued refused at_record decoded_lsn]. split; [apply Go; auto|]. conjuncts; auto.
    destruct An as [?|[[= ->]|[= ->]]]; [discriminate|lia|lia].
  - rewrite (No eq_refl) in *. destruct (_ && _); cbn [go_on judged queued refused at_record decoded_lsn];
      (split; [apply Go; auto|]); conjuncts; auto. right. now exists r.
Qed.

Lemma sound_world l (j : judging) w : sound direct l j -> sound direct l (with_world w j).
Proof. intros [A B C D E]. now constructor. Qed.

Lemma sound_waited l (j : judging) b : sound direct l j -> sound direct l (waited b j).
Proof.
  intros [A B C D E]. destruct b; [now constructor|]. constructor; simpl.
  - destruct A. now constructor.
  - exact B.
  - exact C.
  - auto.
  - now constructor.
Qed.

(** The log gets nothing but that the WAL has ended. *)
Lemma walks_suspend b w j : walks w -> sound direct (decoded_lsn w) j -> log j = log (judged w) -> walks (suspend b w j).
Proof.
  intros [I D G Q E N L A F] S Eq. constructor; cbn [suspend judged queued decoded_lsn decoded_up_to at_record]; auto.
  - now apply sound_waited.
  - eapply Forall_impl; [|exact N]. intros q. unfold waited. destruct b; rewrite ?Eq; auto. simpl. now constructor.
  - intros r rs H. destruct (A r rs H) as [Fr J]. split; [exact Fr|]. unfold waited. destruct b; simpl; rewrite Eq; exact J.
  - eapply Forall_impl; [|exact F]. intros q. unfold waited. destruct b; simpl; rewrite Eq; auto.
Qed.

Lemma snoc_order (l : list record) r : StronglySorted (fun a b => lsn a < lsn b) l -> Forall (fun q => lsn q < lsn r) l ->
  StronglySorted (fun a b => lsn a < lsn b) (l ++ [r]).
Proof.
  induction 1 as [|q l S IH F]; intros B; simpl; [repeat constructor|]. inversion B; subst. constructor; [now apply IH|].
  apply Forall_app. auto.
Qed.

(** A record is decoded with prefetching on: all of the queue has been looked at, and it comes last. *)
Lemma walks_enqueue c r w j : walks w -> at_record w = None -> (0 < concurrency c)%nat -> sound direct (decoded_lsn w) j ->
  log j = log (judged w) -> 0 < lsn r -> lsn r < next_lsn r -> decoded_up_to w <= lsn r ->
  walks (enqueue c r w j) /\ adds no_given (log (judged w)) (log (judged (enqueue c r w j))).
Proof.
  intros [I D G Q E N L A F] At On S Eq P B U. assert (Lt : decoded_lsn w < lsn r) by lia.
  unfold enqueue. destruct (Nat.eqb_spec (concurrency c) 0) as [Z0|_]; [lia|].
  assert (S' : sound direct (lsn r) j) by (apply sound_later with (decoded_lsn w); [lia|exact S]).
  destruct (note_effect_sound direct r j S') as (S2 & Ad & J2).
  assert (None_ : judged_of (lsn r) (log j) = []) by (eapply judged_of_later; [apply S|exact Lt]).
  split.
  2: { cbn [judged]. rewrite <- Eq. eapply adds_impl; [|exact Ad]. intros []; simpl; tauto. }
  constructor; cbn [judged queued decoded_lsn decoded_up_to at_record].
  - exact S2.
  - lia.
  - right. exact B.
  - apply snoc_order; [exact Q|]. eapply Forall_impl; [|exact E]. simpl. lia.
  - apply Forall_app. split; [|repeat constructor; lia]. eapply Forall_impl; [|exact E]. simpl. lia.
  - apply Forall_app. split.
    + eapply Forall_impl; [|exact N]. intros q Nq. rewrite <- Eq in Nq. eapply adds_all; [|exact Ad|exact Nq].
      intros e O. now apply of_record_given with (lsn r).
    + constructor; [|constructor]. eapply adds_all; [|exact Ad|].
      * intros e O. now apply of_record_given with (lsn r).
      * rewrite Eq. eapply up_to_given_before; [exact Lt|apply I].
  - intros front q X. apply app_inj_tail in X as [_ ->]. reflexivity.
  - intros q rs [= <- <-]. split; [eauto|]. now rewrite J2, None_.
  - apply Forall_app. split; [|constructor; [right; eauto|constructor]]. apply Forall_forall. intros q M. rewrite Forall_forall in F.
    destruct (F q M) as [Fq|(rs & Fq)]; [|rewrite At in Fq; discriminate]. left. rewrite <- Fq, <- Eq.
    eapply judged_of_other; [exact Ad|]. rewrite Forall_forall in E. specialize (E q M). simpl in E. lia.
Qed.

Lemma decode_walks c w : walks w -> at_record w = None -> (0 < concurrency c)%nat -> let '(b, w') := decode c w in
  walks w' /\ adds no_given (log (judged w)) (log (judged w')) /\ (exists more, queued w' = queued w ++ more) /\
  (b = false -> at_record w' = None) /\ (b = true -> length (queued w') = S (length (queued w)) /\ length (queued w) < space)%nat /\
  (b = true -> refused w' = refused w).
Proof.
  intros K At On. unfold Prefetcher.decode.
  assert (Same : exists more, queued w = queued w ++ more) by (exists []; now rewrite app_nil_r).
  assert (Su : forall b world, walks (suspend b w (with_world world (judged w))) /\
    adds no_given (log (judged w)) (log (judged (suspend b w (with_world world (judged w)))))).
  { intros b wo. split; [apply walks_suspend; auto; apply sound_world, K|]. destruct b; simpl; [apply adds_refl|].
    apply adds_cons; [exact Logic.I|apply adds_refl]. }
  assert (Su' : forall b, walks (suspend b w (judged w)) /\
    adds no_given (log (judged w)) (log (judged (suspend b w (judged w))))).
  { intros b. split; [apply walks_suspend; auto; apply K|]. destruct b; simpl; [apply adds_refl|].
    apply adds_cons; [exact Logic.I|apply adds_refl]. }
  destruct (_ && _); [conjuncts; auto using adds_refl; try discriminate; exact K|].
  destruct (Nat.leb_spec space (length (queued w))) as [|Room].
  { destruct (Su' (negb (is_empty (queued w)))) as [X Y]. split; [exact X|]. split; [exact Y|]. cbn [suspend queued at_record refused].
    conjuncts; auto; discriminate. }
  destruct (read_ahead _ _ _) as [[r|] world].
  2: { destruct (Su (negb (is_empty (queued w))) world) as [X Y]. split; [exact X|]. split; [exact Y|].
       cbn [suspend queued at_record refused]. conjuncts; auto; discriminate. }
  destruct (((0 <? lsn r) && (lsn r <? next_lsn r) && (decoded_up_to w <=? lsn r))) eqn:V.
  - rewrite !andb_true_iff, !Z.ltb_lt, Z.leb_le in V. destruct V as [[P B] U].
    destruct (walks_enqueue c r w (with_world world (judged w)) K At On) as [X Y]; auto; [apply sound_world, K|].
    split; [exact X|]. split; [exact Y|]. unfold enqueue. destruct (Nat.eqb_spec (concurrency c) 0); [lia|].
    cbn [queued at_record refused]. rewrite app_length. simpl. conjuncts; try discriminate; try lia; eauto.
  - cbn [judged queued at_record refused]. pose proof K as [I D G Q E N L A F].
    split; [constructor; cbn [judged queued decoded_lsn decoded_up_to at_record]; auto; now apply sound_world|].
    split; [apply adds_refl|]. conjuncts; auto; discriminate.
Qed.

Lemma decode_goes_forward c w : walks w -> decoded_lsn w <= decoded_lsn (snd (decode c w)).
Proof.
  intros K. pose proof (decoded_positive w K). pose proof (goes_forward w K). unfold Prefetcher.decode.
  destruct (negb (is_empty (queued w)) && (replaying_lsn c <=? no_readahead_until w)); [cbn; lia|].
  destruct (space <=? length (queued w))%nat; [cbn; lia|].
  destruct (read_ahead _ _ _) as [[r|] world]; [|cbn; lia].
  destruct ((0 <? lsn r) && (lsn r <? next_lsn r) && (decoded_up_to w <=? lsn r)) eqn:V; [|cbn; lia].
  rewrite !andb_true_iff, !Z.ltb_lt, Z.leb_le in V. unfold enqueue. destruct (concurrency c =? 0)%nat; cbn; lia.
Qed.

(** Look-ahead with prefetching on. *)
Lemma look_ahead_walks c fuel : (0 < concurrency c)%nat -> forall w, walks w -> (space <= length (queued w) + fuel)%nat ->
  let '(a, w') := look_ahead fuel c w in
  walks w' /\ adds no_given (log (judged w)) (log (judged w')) /\ (exists more, queued w' = queued w ++ more) /\
  decoded_lsn w <= decoded_lsn w' /\
  match a with Again => idle w' | Io l | NoIo l => l <= decoded_lsn w' end.
Proof.
  intros On. induction fuel as [|fuel IH]; intros w K Sp; cbn [Prefetcher.look_ahead];
    pose proof (rest_of_record_walks c w K) as X; destruct (rest_of_record c w) as [[a|] w1];
    destruct X as (K1 & A1 & Q1 & _ & D1 & P1).
  1, 3: split; [exact K1|]; split; [exact A1|]; split; [exists []; rewrite app_nil_r; exact Q1|]; split; [lia|]; destruct a; exact P1.
  all: pose proof (decode_walks c w1 K1 P1 On) as X; pose proof (decode_goes_forward c w1 K1) as D2;
    destruct (decode c w1) as [b w2]; cbn [snd] in D2;
    destruct X as (K2 & A2 & (more & Q2) & F2 & T2 & _); rewrite Q1 in *;
    assert (A12 : adds no_given (log (judged w)) (log (judged w2))) by (eapply adds_trans; eauto).
  all: destruct b; [|split; [exact K2|]; split; [exact A12|]; split; [eauto|]; split; [lia|left; auto]].
  all: destruct (Nat.eqb_spec (concurrency c) 0); [lia|]; destruct (T2 eq_refl) as [T2' T3].
  - lia.
  - specialize (IH w2 K2). destruct (look_ahead fuel c w2) as [a w3]. destruct IH as (K3 & A3 & (more3 & Q3) & D3 & P3); [lia|].
    split; [exact K3|]. split; [eapply adds_trans; eauto|]. split; [|split; [lia|exact P3]]. rewrite Q3, Q2, <- app_assoc. eauto.
Qed.

(** ** The walk and the ring *)

Definition limits (c : settings) (r : ring) : Prop :=
  consistent r /\ (1 <= max_inflight r)%nat /\ (2 <= size r)%nat /\ (concurrency c = 0%nat -> size r = 2%nat).

Lemma limits_new n s : concurrency s = n -> limits s (new_ring n).
Proof.
  intros E. destruct n; split; try apply consistent_alloc; simpl; conjuncts; lia.
Qed.

Lemma limits_push c r (io : bool) l : limits c r -> may_look r = true -> limits c (push r io l).
Proof. intros (C & M & S & O) L. split; [now apply consistent_push|]. auto. Qed.

Lemma limits_complete c r l : limits c r -> limits c (lrq_complete l r) /\
  entries (lrq_complete l r) = drop_below l (entries r).
Proof.
  intros (C & M & S & O). pose proof (complete_limits l r) as L.
  destruct (complete_drops (size r) l r C) as [C' E]. { pose proof (used_less r) as U. destruct C as [H T _ _ _]. lia. }
  destruct L as [L1 L2]. split; [|exact E]. split; [exact C'|]. rewrite L1, L2. auto.
Qed.

Definition ring_behind (r : ring) (w : walk) : Prop := Forall (fun e => entry_lsn e <= decoded_lsn w) (entries r).

Lemma entries_pushed r io l : consistent r -> may_look r = true -> entries (push r io l) = entries r ++ [Entry io l].
Proof.
  intros C M. apply may_look_spec in M. pose proof (consistent_sum r C) as U. destruct C as [H T _ _ _]. apply entries_push; lia.
Qed.

End Facts.
