(* SPDX-License-Identifier: PostgreSQL *)
(** * The counts of blockers are right, so the lock keeps the rule *)
From Coq Require Import Sorted Permutation.
From Pgquern.common Require Import Integers.
From Pgquern.rangelock Require Import Tree Lock TreeFacts.

Lemma overlap_sym a b : overlap a b = overlap b a.
Proof. unfold overlap. apply andb_comm. Qed.

Lemma conflict_sym a b : conflict a b = conflict b a.
Proof. unfold conflict. rewrite overlap_sym. f_equal. apply orb_comm. Qed.

Lemma filter_map_length {A B} (f : B -> bool) (g : A -> B) l : length (filter f (map g l)) = length (filter (fun x => f (g x)) l).
Proof. induction l as [|x l IH]; cbn; [reflexivity|]. destruct (f (g x)); cbn; now rewrite IH. Qed.

Lemma filter_length_perm {A} (f : A -> bool) l l' : Permutation l l' -> length (filter f l) = length (filter f l').
Proof.
  induction 1; cbn; try congruence.
  - destruct (f x); cbn; congruence.
  - destruct (f x), (f y); reflexivity.
Qed.

Lemma filter_ext_Forall {A} (f g : A -> bool) l : Forall (fun x => f x = g x) l -> filter f l = filter g l.
Proof. induction 1 as [|x l E _ IH]; cbn; [reflexivity|]. now rewrite E, IH. Qed.

Lemma in_present s n : In n (present s) -> In (req n) (requests s).
Proof. apply in_map. Qed.

Lemma entry_of s r : In r (requests s) -> exists n, In n (present s) /\ req n = r.
Proof. intros I. apply in_map_iff in I as (n & <- & I). now exists n. Qed.

(** ** Arrival *)

Lemma new_ticket s : sound s -> ~ In (arrivals s + 1) (map ticket (requests s)).
Proof.
  intros S I. apply in_map_iff in I as (r & E & I). pose proof (tickets_arrived s S) as F. rewrite Forall_forall in F.
  apply F in I. lia.
Qed.

(** Whoever arrives counts all that conflict with it. *)
Lemma arrive_counts s from to mode : sound s -> let x := arrive s from to mode in
  blockers x = Z.of_nat (length (filter (blocks (req x)) (requests s))).
Proof.
  intros S. cbn zeta. unfold arrive. set (x := Request (arrivals s + 1) from to mode). cbn [blockers req].
  pose proof S as [SO EO SB EB SM EM _ TA _].
  unfold requests, present in *. rewrite map_app in *. rewrite filter_app, app_length, !filter_map_length.
  apply Forall_app in TA as [T1 T2]. rewrite Forall_map in T1, T2. rewrite !count_counts by assumption.
  assert (A : filter (fun n => blocks x (req n)) (elements (exclusives s)) = filter (overlaps x) (elements (exclusives s))).
  { apply filter_ext_Forall. rewrite Forall_forall in *. intros y Y. unfold blocks, conflict, overlaps.
    rewrite (EM y Y), overlap_sym, orb_true_l, andb_true_r. specialize (T2 y Y). cbn. destruct (Z.ltb_spec (ticket (req y)) (arrivals s + 1)); [reflexivity|lia]. }
  assert (B : filter (fun n => blocks x (req n)) (elements (shareds s)) =
              if mode then filter (overlaps x) (elements (shareds s)) else []).
  { destruct mode; [apply filter_ext_Forall|apply filter_none]; rewrite Forall_forall in *; intros y Y;
      unfold blocks, conflict, overlaps; rewrite (SM y Y); cbn [exclusive x orb].
    - rewrite overlap_sym, andb_true_r. specialize (T1 y Y). cbn. destruct (Z.ltb_spec (ticket (req y)) (arrivals s + 1)); [reflexivity|lia].
    - now rewrite !andb_false_r. }
  rewrite A, B. destruct mode; cbn [length]; lia.
Qed.

Lemma present_stay s x : sound s -> ticket (req x) = arrivals s + 1 -> Permutation (present (stay s x)) (x :: present s).
Proof.
  intros S T. pose proof (new_ticket s S) as N. pose proof S as [SO EO _ _ _ _ _ _ _].
  unfold requests, present in N. rewrite !map_app, in_app_iff in N.
  unfold present, stay. destruct (exclusive (req x)); cbn.
  - destruct (elements_insert (exclusives s) x EO) as [P _]; [rewrite T; tauto|]. rewrite P. symmetry. apply Permutation_middle.
  - destruct (elements_insert (shareds s) x SO) as [P _]; [rewrite T; tauto|]. now rewrite P.
Qed.

Lemma stay_sound s from to mode : sound s -> sound (stay s (arrive s from to mode)).
Proof.
  intros S. pose proof (arrive_counts s from to mode S) as C. pose proof (new_ticket s S) as N.
  set (x := arrive s from to mode) in *. cbn zeta in C.
  assert (T : ticket (req x) = arrivals s + 1) by reflexivity. clearbody x.
  pose proof (present_stay s x S T) as P. pose proof S as [SO EO SB EB SM EM TD TA BC].
  assert (N1 : ~ In (ticket (req x)) (map ticket (map req (elements (shareds s))))).
  { unfold requests, present in N. rewrite !map_app, in_app_iff in N. rewrite T. tauto. }
  assert (N2 : ~ In (ticket (req x)) (map ticket (map req (elements (exclusives s))))).
  { unfold requests, present in N. rewrite !map_app, in_app_iff in N. rewrite T. tauto. }
  assert (PR : Permutation (requests (stay s x)) (req x :: requests s)) by (unfold requests; now rewrite P).
  assert (AR : arrivals (stay s x) = arrivals s + 1) by (unfold stay; destruct (exclusive (req x)); exact T).
  destruct (elements_insert (shareds s) x SO N1) as [PS OS]. destruct (elements_insert (exclusives s) x EO N2) as [PE OE].
  constructor.
  - unfold stay. destruct (exclusive (req x)); assumption.
  - unfold stay. destruct (exclusive (req x)); assumption.
  - unfold stay. destruct (exclusive (req x)); [assumption|]. now apply bounded_insert.
  - unfold stay. destruct (exclusive (req x)); [|assumption]. now apply bounded_insert.
  - unfold stay. destruct (exclusive (req x)) eqn:X; [assumption|]. cbn. rewrite PS. now constructor.
  - unfold stay. destruct (exclusive (req x)) eqn:X; [|assumption]. cbn. rewrite PE. now constructor.
  - rewrite PR. cbn. constructor; [now rewrite T|exact TD].
  - rewrite PR, AR. constructor; [lia|]. eapply Forall_impl; [|exact TA]. cbn. lia.
  - intros n I. rewrite P in I. rewrite (filter_length_perm _ _ _ PR). cbn [filter].
    destruct I as [<-|I].
    + assert (E : blocks (req x) (req x) = false) by (unfold blocks; now rewrite Z.ltb_irrefl). now rewrite E.
    + assert (E : blocks (req n) (req x) = false).
      { rewrite Forall_forall in TA. apply in_present in I. apply TA in I. unfold blocks.
        destruct (Z.ltb_spec (ticket (req x)) (ticket (req n))); [lia|reflexivity]. }
      rewrite E. now apply BC.
Qed.

(** ** Departure *)

Definition others_of (x : request) (l : list request) : list request := filter (fun z => negb (ticket z =? ticket x)) l.

Lemma map_others x l : map req (others x l) = others_of x (map req l).
Proof.
  unfold others, others_of. induction l as [|y l IH]; [reflexivity|]. cbn. destruct (_ =? _); cbn; now rewrite IH.
Qed.

Lemma others_of_all x l : ~ In (ticket x) (map ticket l) -> others_of x l = l.
Proof.
  unfold others_of. induction l as [|z l IH]; cbn; intros N; [reflexivity|].
  destruct (Z.eqb_spec (ticket z) (ticket x)); [tauto|]. cbn. f_equal. tauto.
Qed.

Lemma filter_others f x l : NoDup (map ticket l) -> In x l ->
  length (filter f l) = ((if f x then 1 else 0) + length (filter f (others_of x l)))%nat.
Proof.
  induction l as [|z l IH]; cbn [map filter]; intros D I; [destruct I|]. inversion D as [|? ? N D']; subst. destruct I as [->|I].
  - assert (E : others_of x (x :: l) = l) by (unfold others_of; cbn; rewrite Z.eqb_refl; now apply others_of_all).
    rewrite E. now destruct (f x).
  - assert (ticket z <> ticket x) by (intros E; apply N; rewrite E; now apply in_map).
    assert (E : others_of x (z :: l) = z :: others_of x l).
    { unfold others_of. cbn. destruct (Z.eqb_spec (ticket z) (ticket x)); [contradiction|reflexivity]. }
    rewrite E. cbn [filter]. specialize (IH D' I). destruct (f z); cbn [length]; lia.
Qed.

(** What becomes of an entry when x leaves. *)
Definition unblocked (x : request) (y : entry) : entry := if blocks (req y) x then Entry (req y) (blockers y - 1) else y.
Definition is_let_go (x : request) (y : entry) : bool := blocks (req y) x && (blockers y - 1 =? 0).

Lemma req_unblocked x y : req (unblocked x y) = req y.
Proof. unfold unblocked. now destruct (blocks _ _). Qed.

Lemma touches_is_blocks x y : exclusive x || exclusive (req y) = true -> touches x y = blocks (req y) x.
Proof. intros E. unfold touches, blocks, conflict, overlaps. rewrite E, andb_true_r. apply andb_comm. Qed.

Lemma no_blocks x y : exclusive x || exclusive (req y) = false -> blocks (req y) x = false.
Proof. intros E. unfold blocks, conflict. now rewrite E, !andb_false_r. Qed.

Lemma map_less x l : Forall (fun y => exclusive x || exclusive (req y) = true) l ->
  map (less x) l = map (unblocked x) l /\ filter (goes x) l = filter (is_let_go x) l.
Proof.
  induction 1 as [|y l E _ [I J]]; [now split|]. cbn. rewrite I, J. unfold less, unblocked, goes, is_let_go.
  rewrite touches_is_blocks by assumption. now split.
Qed.

Lemma map_unblocked_none x l : Forall (fun y => exclusive x || exclusive (req y) = false) l ->
  map (unblocked x) l = l /\ filter (is_let_go x) l = [].
Proof.
  induction 1 as [|y l E _ [I J]]; [now split|]. cbn. rewrite I, J. unfold unblocked, is_let_go. rewrite no_blocks by assumption. now split.
Qed.

Lemma Forall_others (P : entry -> Prop) x l : Forall P l -> Forall P (others x l).
Proof. rewrite !Forall_forall. intros F y Y. apply filter_In in Y. now apply F. Qed.

(** Of each tree the leaving x is gone, and the counts of whom it blocked are one less. *)
Lemma leave_trees s x : sound s -> In x (requests s) ->
  let '(s', granted) := leave s x in
  elements (shareds s') = map (unblocked x) (others x (elements (shareds s))) /\
  elements (exclusives s') = map (unblocked x) (others x (elements (exclusives s))) /\
  bounded (shareds s') /\ bounded (exclusives s') /\ arrivals s' = arrivals s /\
  granted = map ticket (map req (filter (is_let_go x) (others x (elements (exclusives s)) ++ others x (elements (shareds s))))).
Proof.
  intros S I. pose proof S as [SO EO SB EB SM EM TD TA BC]. unfold requests, present in I, TD. rewrite !map_app in TD. rewrite map_app, in_app_iff in I.
  apply nodup_app in TD as (DS & DE & Apart). unfold leave. rewrite Forall_forall in SM, EM. destruct (exclusive x) eqn:X.
  - assert (J : In x (map req (elements (exclusives s)))).
    { destruct I as [I|I]; [|exact I]. apply in_map_iff in I as (e & <- & I). apply SM in I. congruence. }
    assert (N : others x (elements (shareds s)) = elements (shareds s)).
    { apply others_all. intros K. eapply Apart; [exact K|]. now apply in_tickets. }
    pose proof (elements_remove _ x EO DE J) as RE. pose proof (bounded_remove _ x EB) as RB.
    assert (RO : StronglySorted before (elements (remove (exclusives s) x))) by (rewrite RE; now apply sorted_filter).
    destruct (unblock_unblocks _ x RO RB) as [U1 U2]. destruct (unblock_unblocks _ x SO SB) as [V1 V2].
    pose proof (bounded_unblock _ x RO RB) as UB. pose proof (bounded_unblock _ x SO SB) as VB.
    destruct (unblock (remove (exclusives s) x) x) as [e' g1], (unblock (shareds s) x) as [s' g2]. cbn in *.
    assert (A : forall l, Forall (fun y => exclusive x || exclusive (req y) = true) l) by (intros l; rewrite Forall_forall; intros; now rewrite X).
    destruct (map_less x _ (A (elements (remove (exclusives s) x)))) as [M1 M2]. destruct (map_less x _ (A (elements (shareds s)))) as [M3 M4].
    rewrite N, V1, U1, M1, M3, RE. repeat split; try assumption. rewrite filter_app, !map_app, U2, V2, M2, M4, RE. reflexivity.
  - assert (J : In x (map req (elements (shareds s)))).
    { destruct I as [I|I]; [exact I|]. apply in_map_iff in I as (e & <- & I). apply EM in I. congruence. }
    assert (N : others x (elements (exclusives s)) = elements (exclusives s)).
    { apply others_all. intros K. eapply Apart; [|exact K]. now apply in_tickets. }
    pose proof (elements_remove _ x SO DS J) as RE. pose proof (bounded_remove _ x SB) as RB.
    destruct (unblock_unblocks _ x EO EB) as [U1 U2]. pose proof (bounded_unblock _ x EO EB) as UB.
    destruct (unblock (exclusives s) x) as [e' g1]. cbn in *.
    assert (A : Forall (fun y => exclusive x || exclusive (req y) = true) (elements (exclusives s))).
    { rewrite Forall_forall. intros y Y. rewrite (EM y Y). apply orb_true_r. }
    assert (B : Forall (fun y => exclusive x || exclusive (req y) = false) (others x (elements (shareds s)))).
    { apply Forall_others. rewrite Forall_forall. intros y Y. now rewrite X, (SM y Y). }
    destruct (map_less x _ A) as [M1 M2]. destruct (map_unblocked_none x _ B) as [M3 M4].
    rewrite N, U1, M1, M3, RE. repeat split; try assumption. rewrite filter_app, M4, !app_nil_r, U2, M2. reflexivity.
Qed.

Lemma sorted_map_unblocked x l : StronglySorted before l -> StronglySorted before (map (unblocked x) l).
Proof.
  induction 1 as [|y l S IH F]; cbn; constructor; [exact IH|]. apply Forall_map. eapply Forall_impl; [|exact F].
  unfold before. intros z. now rewrite !req_unblocked.
Qed.

Lemma others_app x l l' : others x (l ++ l') = others x l ++ others x l'.
Proof. apply filter_app. Qed.

Lemma leave_present s x : sound s -> In x (requests s) ->
  present (fst (leave s x)) = map (unblocked x) (others x (present s)) /\
  requests (fst (leave s x)) = others_of x (requests s).
Proof.
  intros S I. pose proof (leave_trees s x S I) as L. destruct (leave s x) as [s' granted]. destruct L as (L1 & L2 & _).
  assert (E : present s' = map (unblocked x) (others x (present s))).
  { unfold present. now rewrite L1, L2, others_app, map_app. }
  split; [exact E|]. unfold requests. cbn [fst]. rewrite E, <- map_others, map_map. apply map_ext. apply req_unblocked.
Qed.

Lemma in_others x y l : In y (others x l) <-> In y l /\ ticket (req y) <> ticket x.
Proof. unfold others. rewrite filter_In, negb_true_iff, Z.eqb_neq. reflexivity. Qed.

Lemma leave_sound s x : sound s -> In x (requests s) -> sound (fst (leave s x)).
Proof.
  intros S I. pose proof (leave_present s x S I) as [P R]. pose proof (leave_trees s x S I) as L.
  destruct (leave s x) as [s' granted]. cbn [fst] in *. destruct L as (L1 & L2 & L3 & L4 & L5 & _).
  pose proof S as [SO EO SB EB SM EM TD TA BC]. constructor; try assumption.
  - rewrite L1. apply sorted_map_unblocked. now apply sorted_filter.
  - rewrite L2. apply sorted_map_unblocked. now apply sorted_filter.
  - rewrite L1. apply Forall_map. eapply Forall_impl; [|apply Forall_others; exact SM]. intros y. now rewrite req_unblocked.
  - rewrite L2. apply Forall_map. eapply Forall_impl; [|apply Forall_others; exact EM]. intros y. now rewrite req_unblocked.
  - rewrite R. clear -TD. induction (requests s) as [|z l IH]; [constructor|]. cbn in *. inversion TD as [|? ? N D]; subst.
    destruct (_ =? _); cbn; [now apply IH|]. constructor; [|now apply IH]. intros K. apply N.
    apply in_map_iff in K as (w & <- & K). apply in_map. now apply filter_In in K.
  - rewrite R, L5. rewrite Forall_forall in *. intros z Z. apply filter_In in Z. now apply TA.
  - intros n N. rewrite P in N. apply in_map_iff in N as (y & <- & N). apply in_others in N as [N T].
    rewrite req_unblocked, R. pose proof (BC y N) as B. rewrite (filter_others _ x) in B by assumption.
    unfold unblocked. destruct (blocks (req y) x); cbn [blockers]; lia.
Qed.

(** ** Every lock that calls can make is sound *)

(** Whatever calls have been made: both trees are in order and know their bounds, each holds the requests of its mode, no two
    requests have one ticket, and each request counts exactly the earlier ones that conflict with it. *)
Theorem reachable_is_sound s : reachable s -> sound s.
Proof.
  induction 1 as [|s from to mode _ IH|s from to mode _ IH|s x _ IH I].
  - constructor; cbn; try constructor. intros n [].
  - now apply stay_sound.
  - unfold try_ask. destruct (_ =? 0); [now apply stay_sound|]. destruct IH as [SO EO SB EB SM EM TD TA BC]. constructor; try assumption.
    cbn. eapply Forall_impl; [|exact TA]. cbn. lia.
  - now apply leave_sound.
Qed.

(** ** The rule *)

Lemma held_entry s r : In r (held s) <-> exists n, In n (present s) /\ req n = r /\ blockers n = 0.
Proof.
  unfold held. rewrite in_map_iff. split; intros (n & A & B); exists n.
  - apply filter_In in B as [B C]. unfold is_held in C. now apply Z.eqb_eq in C.
  - destruct B as [<- B]. split; [reflexivity|]. apply filter_In. split; [exact A|]. now apply Z.eqb_eq.
Qed.

Lemma no_blockers s n : sound s -> In n (present s) ->
  (blockers n = 0 <-> forall r, In r (requests s) -> blocks (req n) r = false).
Proof.
  intros S N. rewrite (blockers_counted s S n N). split.
  - intros E r R. apply not_true_iff_false. intros B. assert (F : In r (filter (blocks (req n)) (requests s))) by (now apply filter_In).
    destruct (filter _ _); [destruct F|cbn in E; lia].
  - intros A. rewrite filter_none; [reflexivity|]. rewrite Forall_forall. exact A.
Qed.

(** A request is held if and only if no earlier one that conflicts with it is present: first come, first served, and
    nobody waits in vain. *)
Theorem held_iff_first s r : reachable s -> In r (requests s) ->
  (In r (held s) <-> forall other, In other (requests s) -> ticket other < ticket r -> conflict other r = false).
Proof.
  intros H I. apply reachable_is_sound in H as S. apply entry_of in I as (n & N & <-). rewrite held_entry. split.
  - intros (m & M & E & B) other O T. apply (no_blockers s m S M) with (r := other) in B; [|exact O]. rewrite E in B.
    unfold blocks in B. apply Z.ltb_lt in T. now rewrite T in B.
  - intros A. exists n. repeat split; [exact N|]. apply (no_blockers s n S N). intros r R. unfold blocks.
    destruct (Z.ltb_spec (ticket r) (ticket (req n))) as [T|T]; [|reflexivity]. now rewrite A.
Qed.

Lemma held_is_present s r : In r (held s) -> In r (requests s).
Proof. rewrite held_entry. intros (n & N & <- & _). now apply in_present. Qed.

Lemma same_ticket s a b : sound s -> In a (requests s) -> In b (requests s) -> ticket a = ticket b -> a = b.
Proof.
  intros S. pose proof (tickets_differ s S) as D. induction (requests s) as [|z l IH]; cbn in *; [tauto|]. inversion D as [|? ? N D']; subst.
  intros [->|A] [->|B] E; [reflexivity| | |now apply IH].
  - destruct N. rewrite E. now apply in_map.
  - destruct N. rewrite <- E. now apply in_map.
Qed.

Lemma same_entry s a b : sound s -> In a (present s) -> In b (present s) -> req a = req b -> a = b.
Proof.
  intros S. pose proof (tickets_differ s S) as D. unfold requests in D. rewrite map_map in D.
  set (f := fun x => ticket (req x)) in *. assert (F : forall x y, req x = req y -> f x = f y) by (unfold f; congruence). clearbody f.
  induction (present s) as [|z l IH]; cbn in *; [tauto|]. inversion D as [|? ? N D']; subst.
  intros [A|A] [B|B] E; [congruence| | |now apply IH]; apply F in E; destruct N; [subst a; rewrite E|subst b; rewrite <- E]; now apply in_map.
Qed.

(** No two that conflict are held. *)
Theorem held_never_conflict s a b : reachable s -> In a (held s) -> In b (held s) -> a <> b -> conflict a b = false.
Proof.
  intros H A B N. apply reachable_is_sound in H as S. pose proof (held_is_present s a A) as A'. pose proof (held_is_present s b B) as B'.
  assert (ticket a <> ticket b) by (intros E; now apply N, (same_ticket s)).
  destruct (Z.lt_total (ticket a) (ticket b)) as [T|[T|T]]; [|contradiction|].
  - now apply (proj1 (held_iff_first s b H B') B).
  - rewrite conflict_sym. now apply (proj1 (held_iff_first s a H A') A).
Qed.

Lemma held_or_waiting s r : In r (requests s) -> In r (held s) \/ In r (waiting s).
Proof.
  intros I. apply entry_of in I as (n & N & <-). unfold held, waiting. rewrite !in_map_iff.
  destruct (is_held n) eqn:E; [left|right]; exists n; (split; [reflexivity|]); apply filter_In; now rewrite E.
Qed.

Lemma waiting_is_present s r : In r (waiting s) -> In r (requests s).
Proof. unfold waiting. rewrite in_map_iff. intros (n & <- & N). apply filter_In in N as [N _]. now apply in_present. Qed.

(** The count of blockers decides as the definition does: exactly those that may go are held. *)
Theorem held_iff_may_go s r : reachable s -> In r (requests s) -> (In r (held s) <-> may_go s r).
Proof.
  intros H I. split.
  - intros A. split.
    + intros other O N. now apply (held_never_conflict s).
    + intros other O T. apply (proj1 (held_iff_first s r H I) A); [now apply waiting_is_present|exact T].
  - intros [A B]. apply (held_iff_first s r H I). intros other O T.
    destruct (held_or_waiting s other O) as [K|K]; [apply A; [exact K|intros ->; lia]|now apply B].
Qed.

(** Who leaves lets go exactly those that waited, and may go now. *)
Theorem leave_grants_exactly s x r : reachable s -> In x (requests s) -> In r (requests s) -> r <> x ->
  (In (ticket r) (snd (leave s x)) <-> ~ In r (held s) /\ In r (held (fst (leave s x)))).
Proof.
  intros H X R N. apply reachable_is_sound in H as S. pose proof (leave_present s x S X) as [P _]. pose proof (leave_trees s x S X) as L.
  destruct (leave s x) as [s' granted]. destruct L as (_ & _ & _ & _ & _ & G). cbn [fst snd] in *.
  assert (T : ticket r <> ticket x) by (intros E; now apply N, (same_ticket s)).
  apply entry_of in R as R'. destruct R' as (n & NP & NR).
  assert (U : forall m, In m (present s) -> req m = r -> m = n).
  { intros m M E. apply (same_entry s); [exact S|exact M|exact NP|congruence]. }
  assert (GI : In (ticket r) granted <-> is_let_go x n = true).
  { rewrite G, map_map, in_map_iff. split.
    - intros (m & E & M). apply filter_In in M as [M B]. rewrite <- others_app in M. apply in_others in M as [M _].
      assert (In m (present s)) by (unfold present; rewrite in_app_iff in *; tauto).
      rewrite <- (U m); [exact B|assumption|]. apply (same_ticket s); [exact S|now apply in_present|exact R|exact E].
    - intros B. exists n. split; [now rewrite NR|]. apply filter_In. split; [|exact B]. rewrite <- others_app. apply in_others.
      rewrite NR. split; [|exact T]. unfold present in NP. rewrite in_app_iff in *. tauto. }
  assert (HB : In r (held s) <-> blockers n = 0).
  { rewrite held_entry. split; [intros (m & M & E & B); now rewrite <- (U m)|]. intros B. now exists n. }
  assert (HA : In r (held s') <-> blockers (unblocked x n) = 0).
  { rewrite held_entry, P. split.
    - intros (m & M & E & B). apply in_map_iff in M as (y & <- & M). rewrite req_unblocked in E. apply in_others in M as [M _].
      now rewrite <- (U y).
    - intros B. exists (unblocked x n). rewrite req_unblocked. repeat split; try assumption. apply in_map. apply in_others. now rewrite NR. }
  rewrite GI, HB, HA. unfold is_let_go, unblocked. rewrite NR.
  pose proof (blockers_counted s S n NP) as B. destruct (blocks r x) eqn:K; cbn.
  - rewrite Z.eqb_eq. split; [|tauto]. intros E. split; [lia|exact E].
  - split; [discriminate|tauto].
Qed.

(** While nobody else waits, who leaves changes no count and lets nobody go: then the C code does not look. *)
Theorem nobody_waits_nobody_is_let_go s x : reachable s -> In x (requests s) -> (forall r, In r (waiting s) -> r = x) ->
  present (fst (leave s x)) = others x (present s) /\ snd (leave s x) = [].
Proof.
  intros H X A. apply reachable_is_sound in H as S. pose proof (leave_present s x S X) as [P _].
  pose proof (leave_trees s x S X) as L. destruct (leave s x) as [s' granted]. destruct L as (_ & _ & _ & _ & _ & G).
  cbn [fst snd] in *.
  assert (F : forall y, In y (others x (present s)) -> blocks (req y) x = false).
  { intros y Y. apply in_others in Y as [Y N]. apply (no_blockers s y S Y); [|exact X].
    destruct (is_held y) eqn:E; [now apply Z.eqb_eq|]. exfalso. apply N. f_equal. apply A.
    unfold waiting. apply in_map, filter_In. now rewrite E. }
  split.
  - rewrite P. rewrite <- (map_id (others x (present s))) at 2. apply map_ext_in. intros y Y. unfold unblocked. now rewrite F.
  - rewrite G, filter_none; [reflexivity|]. apply Forall_forall. intros y Y. unfold is_let_go. rewrite F; [reflexivity|].
    unfold present. rewrite others_app, in_app_iff in *. tauto.
Qed.

(** As long as requests are there, the first of them is held: somebody can always go on. *)
Theorem first_is_held s r : reachable s -> In r (requests s) ->
  (forall other, In other (requests s) -> ticket r <= ticket other) -> In r (held s).
Proof. intros H I F. apply (held_iff_first s r H I). intros other O T. apply F in O. lia. Qed.

(** Who is not held waits for an earlier request that conflicts with it, and is there. *)
Theorem waits_for_an_earlier_one s r : reachable s -> In r (requests s) -> ~ In r (held s) ->
  exists other, In other (requests s) /\ ticket other < ticket r /\ conflict other r = true.
Proof.
  intros H I N.
  destruct (existsb (blocks r) (requests s)) eqn:E.
  - apply existsb_exists in E as (other & O & B). unfold blocks in B. apply andb_true_iff in B as [T C]. apply Z.ltb_lt in T. now exists other.
  - destruct N. apply (held_iff_first s r H I). intros other O T. apply not_true_iff_false. intros C.
    assert (X : existsb (blocks r) (requests s) = true).
    { apply existsb_exists. exists other. split; [exact O|]. unfold blocks. apply Z.ltb_lt in T. now rewrite T, C. }
    congruence.
Qed.

(** ** What a call answers *)

(** Two ranges that are not empty conflict if and only if they have a byte in common and one of them is exclusive. *)
Theorem conflict_is_a_common_byte a b : lo a < hi a -> lo b < hi b ->
  (conflict a b = true <->
   (exists byte, lo a <= byte < hi a /\ lo b <= byte < hi b) /\ (exclusive a = true \/ exclusive b = true)).
Proof.
  intros A B. unfold conflict, overlap. rewrite !andb_true_iff, orb_true_iff, !Z.ltb_lt. split.
  - intros [L X]. split; [exists (Z.max (lo a) (lo b)); lia|exact X].
  - intros [(byte & I & J) X]. split; [lia|exact X].
Qed.

(** Nothing blocks a new request if and only if it may go: all that are there came before it. *)
Lemma arrives_free s from to mode : reachable s ->
  let x := arrive s from to mode in blockers x = 0 <-> may_go s (req x).
Proof.
  intros H. apply reachable_is_sound in H as S. cbn zeta. rewrite (arrive_counts s from to mode S). cbn [req arrive].
  set (r := Request (arrivals s + 1) from to mode). pose proof (tickets_arrived s S) as A. rewrite Forall_forall in A.
  assert (N : forall other, In other (requests s) -> ticket other < ticket r) by (intros other O; apply A in O; cbn; lia).
  split.
  - intros E. assert (F : forall other, In other (requests s) -> conflict other r = false).
    { intros other O. apply not_true_iff_false. intros C. assert (I : In other (filter (blocks r) (requests s))).
      { apply filter_In. split; [exact O|]. unfold blocks. now rewrite (proj2 (Z.ltb_lt _ _) (N other O)), C. }
      destruct (filter _ _); [destruct I|cbn in E; lia]. }
    split; intros other O _; apply F; [now apply held_is_present|now apply waiting_is_present].
  - intros [B W]. rewrite filter_none; [reflexivity|]. rewrite Forall_forall. intros other O. unfold blocks.
    destruct (held_or_waiting s other O) as [K|K].
    + rewrite (B other K); [apply andb_false_r|]. intros ->. apply N in O. lia.
    + rewrite (W other K); [apply andb_false_r|]. now apply N.
Qed.

(** Who asks gets the next number and the range that it asked for, and is granted at once if and only if it may go; if not, it
    waits. All others stay as they are. *)
Theorem asked_is_granted_iff_it_may_go s from to mode : reachable s ->
  let '(s', x) := ask s from to mode in
  req x = Request (arrivals s + 1) from to mode /\ (is_held x = true <-> may_go s (req x)) /\
  Permutation (present s') (x :: present s) /\ arrivals s' = arrivals s + 1.
Proof.
  intros H. apply reachable_is_sound in H as S. unfold ask. split; [reflexivity|]. split.
  - unfold is_held. rewrite Z.eqb_eq. now apply arrives_free.
  - split; [now apply present_stay|]. unfold stay. destruct (exclusive _); reflexivity.
Qed.

(** Who tries is granted if and only if it may go, and is then where it would be had it asked. If not, nothing is left of it but
    its number: all others stay as they are. *)
Theorem tried_is_granted_iff_it_may_go s from to mode : reachable s ->
  let '(s', answer) := try_ask s from to mode in
  (answer <> None <-> may_go s (Request (arrivals s + 1) from to mode)) /\ arrivals s' = arrivals s + 1 /\
  match answer with
  | Some x => (s', x) = ask s from to mode
  | None => present s' = present s
  end.
Proof.
  intros H. pose proof (arrives_free s from to mode H) as F. cbn zeta in F. cbn [req arrive] in F. unfold try_ask, ask.
  destruct (Z.eqb_spec (blockers (arrive s from to mode)) 0) as [E|E].
  - split; [split; [now intros _; apply F|discriminate]|]. split; [unfold stay; destruct (exclusive _); reflexivity|reflexivity].
  - split; [split; [easy|now intros G; apply F in G]|]. split; reflexivity.
Qed.

(** Who leaves is gone, and nobody else is: whoever held a range still holds it, and whoever waited waits or is granted. Nobody
    gets a new number. *)
Theorem nobody_else_leaves s x r : reachable s -> In x (requests s) ->
  (In r (requests (fst (leave s x))) <-> In r (requests s) /\ r <> x) /\
  (In r (held s) -> r <> x -> In r (held (fst (leave s x)))) /\ arrivals (fst (leave s x)) = arrivals s.
Proof.
  intros H X. apply reachable_is_sound in H as S. destruct (leave_present s x S X) as [_ R].
  assert (A : arrivals (fst (leave s x)) = arrivals s).
  { pose proof (leave_trees s x S X) as L. destruct (leave s x). apply L. }
  assert (G : In r (requests (fst (leave s x))) <-> In r (requests s) /\ r <> x).
  { rewrite R. unfold others_of. rewrite filter_In, negb_true_iff, Z.eqb_neq. split.
    - intros [I T]. split; [exact I|congruence].
    - intros [I N]. split; [exact I|]. intros T. now apply N, (same_ticket s). }
  split; [exact G|]. split; [|exact A]. intros I N. assert (P := held_is_present s r I). apply held_iff_first.
  - now apply after_leave.
  - now apply G.
  - intros other O T. rewrite R in O. apply filter_In in O as [O _]. now apply (proj1 (held_iff_first s r H P) I).
Qed.
