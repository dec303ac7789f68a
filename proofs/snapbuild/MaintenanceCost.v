(* SPDX-License-Identifier: PostgreSQL *)
(** * The upkeep of KnownAssignedXids loses nothing, and costs a constant per removal *)
From Coq Require Import ZArith Lia List Bool.
From Pgquern.snapbuild Require Import Memory Spec Maintenance.
Import ListNotations.
Local Open Scope Z_scope.

Lemma live_xids_app e1 e2 : live_xids (e1 ++ e2) = live_xids e1 ++ live_xids e2.
Proof. unfold live_xids. now rewrite filter_app, map_app. Qed.

Lemma live_xids_length e : zlength (live_xids e) <= zlength e.
Proof. unfold live_xids. rewrite map_length. induction e as [|[x []] e IH]; simpl; lia. Qed.

Lemma live_xids_filter e : live_xids (List.filter snd e) = live_xids e.
Proof. unfold live_xids. induction e as [|[x []] e IH]; simpl; congruence. Qed.

Lemma filter_length e : length (List.filter snd e) = length (live_xids e).
Proof. unfold live_xids. now rewrite map_length. Qed.

Lemma live_xids_clear p e : live_xids (clear p e) = List.filter (fun x => negb (p x)) (live_xids e).
Proof. unfold live_xids, clear. induction e as [|[x []] e IH]; simpl; auto. destruct (p x); simpl; congruence. Qed.

Lemma clear_length p e : length (clear p e) = length e.
Proof. apply map_length. Qed.

Lemma live_xids_new xids : live_xids (map (fun x => (x, true)) xids) = xids.
Proof. unfold live_xids. induction xids; simpl; congruence. Qed.

Lemma advance_spec e n rest : advance e = (n, rest) ->
  live_xids rest = live_xids e /\ zlength e = n + zlength rest /\ 0 <= n.
Proof.
  revert n rest. induction e as [|[x []] e IH]; simpl; intros n rest E.
  - injection E as <- <-. auto with zarith.
  - injection E as <- <-. simpl. auto with zarith.
  - destruct (advance e) as [k r]. injection E as <- <-. destruct (IH k r eq_refl) as (L & N & P).
    split; [exact L|]. lia.
Qed.

(** The live entries of the model's array are those of the kernel's two arrays. *)
Theorem live_xids_is_live : forall e, live_xids e = live (map fst e) (map (fun '(_, v) => if v : bool then 1 else 0) e).
Proof. unfold live_xids. induction e as [|[x []] e IH]; simpl; congruence. Qed.

(** ** Nothing is lost *)

Lemma compress_if_live why now s : live_xids (entries (fst (compress_if why now s))) = live_xids (entries s).
Proof. unfold compress_if. destruct (worth_while why now s); simpl; [apply live_xids_filter|auto]. Qed.

Lemma remove_live p s :
  live_xids (entries (fst (remove p s))) = List.filter (fun x => negb (p x)) (live_xids (entries s)).
Proof.
  unfold remove. destruct (advance (clear p (entries s))) as [n rest] eqn:E. simpl.
  destruct (advance_spec _ _ _ E) as (L & _ & _). now rewrite L, live_xids_clear.
Qed.

Lemma append_live xids s : live_xids (entries (append xids s)) = live_xids (entries s) ++ xids.
Proof. simpl. now rewrite live_xids_app, live_xids_new. Qed.

(** The live XIDs and their order depend only on what was added and removed, not on when the array is compressed, as
    long as the added XIDs fit beside the live ones. *)
Theorem upkeep_keeps_live : forall capacity op s,
  (match op with Add xids _ => num s + zlength xids <= capacity | _ => True end) ->
  live_xids (entries (fst (step capacity op s))) = live_after op (live_xids (entries s)).
Proof.
  intros capacity op s Fits. destruct op as [xids now|p now|p now|now]; cbn [step live_after].
  - destruct (Z.leb_spec (head s + zlength xids) capacity); [apply append_live|].
    pose proof (compress_if_live NO_SPACE now s) as L. unfold compress_if in *. cbn [worth_while fst] in *.
    unfold head, span. cbn [tail entries]. rewrite filter_length. fold (num s).
    rewrite (proj2 (Z.leb_le _ _)) by lia. cbn [fst]. rewrite append_live. cbn [entries] in *. now rewrite L.
  - pose proof (remove_live p s) as L. destruct (remove p s) as [s1 b].
    pose proof (compress_if_live TRANSACTION_END now s1) as L1.
    destruct (compress_if TRANSACTION_END now s1) as [s2 c]. simpl in *. congruence.
  - pose proof (remove_live p s) as L. destruct (remove p s) as [s1 b].
    pose proof (compress_if_live PRUNE now s1) as L1.
    destruct (compress_if PRUNE now s1) as [s2 c]. simpl in *. congruence.
  - apply compress_if_live.
Qed.

Lemma compress_if_removes_none why now s : removed (snd (compress_if why now s)) = 0.
Proof. unfold compress_if. now destruct (worth_while why now s), why. Qed.

(** What a bill counts as removed are the live XIDs that there are no more. *)
Theorem removed_is_what_has_gone : forall capacity op s,
  (match op with Add xids _ => num s + zlength xids <= capacity | _ => True end) ->
  removed (snd (step capacity op s)) =
    num s + (match op with Add xids _ => zlength xids | _ => 0 end) - num (fst (step capacity op s)).
Proof.
  intros capacity op s Fits. unfold num at 2. rewrite (upkeep_keeps_live _ _ _ Fits).
  destruct op as [xids now|p now|p now|now]; cbn [step live_after].
  - assert (R : removed (snd (step capacity (Add xids now) s)) = 0).
    { cbn [step]. destruct (_ <=? _); [reflexivity|]. pose proof (compress_if_removes_none NO_SPACE now s) as R.
      destruct (compress_if NO_SPACE now s) as [s1 b]. now destruct (_ <=? _). }
    cbn [step] in R. rewrite R, app_length. unfold num. lia.
  - pose proof (live_xids_clear p (entries s)) as L. unfold remove. destruct (advance _) as [k rest].
    match goal with |- context [compress_if ?w now ?t] => pose proof (compress_if_removes_none w now t) as R;
      destruct (compress_if w now t) as [s2 c] end.
    cbn [snd plus removed] in *. rewrite R, L. lia.
  - pose proof (live_xids_clear p (entries s)) as L. unfold remove. destruct (advance _) as [k rest].
    match goal with |- context [compress_if ?w now ?t] => pose proof (compress_if_removes_none w now t) as R;
      destruct (compress_if w now t) as [s2 c] end.
    cbn [snd plus removed] in *. rewrite R, L. lia.
  - rewrite compress_if_removes_none. unfold num. lia.
Qed.

(** ** When the array is compressed *)

Lemma no_gap_iff s : has_gap s = false <-> span s = num s.
Proof. unfold has_gap. rewrite negb_false_iff. apply Z.eqb_eq. Qed.

Lemma compressed_has_no_gap t e n now :
  has_gap {| tail := t; entries := List.filter snd e; transaction_ends := n; last_compress := now |} = false.
Proof. apply no_gap_iff. unfold span, num. cbn [entries]. now rewrite live_xids_filter, filter_length. Qed.

Lemma compress_if_gap why now s : has_gap s = true ->
  has_gap (fst (compress_if why now s)) = negb (worth_while why now s).
Proof.
  intros G. unfold compress_if. destruct (worth_while why now s); [apply compressed_has_no_gap|exact G].
Qed.

(** Without a gap nothing is compressed and nothing is paid, unless room is needed. *)
Theorem without_a_gap_nothing_is_done : forall why now s,
  why <> NO_SPACE -> has_gap s = false -> compress_if why now s = (s, free).
Proof.
  intros why now s W G. unfold compress_if, worth_while. rewrite G. destruct s, why; [contradiction| | |]; reflexivity.
Qed.

(** When room is needed, and after a prune, there is no gap any more, and the tail is at 0 if there was one. *)
Theorem room_and_prunes_close_all_gaps : forall why now s, why = NO_SPACE \/ why = PRUNE ->
  has_gap (fst (compress_if why now s)) = false /\ (has_gap s = true -> tail (fst (compress_if why now s)) = 0).
Proof.
  intros why now s W. unfold compress_if, worth_while. destruct (has_gap s) eqn:G, W as [->| ->]; cbn [fst];
    split; try discriminate; try reflexivity; try apply compressed_has_no_gap. exact G.
Qed.

(** The end of a transaction that finds a gap compresses if and only if 128 of them, or a multiple, came before it, and the
    gaps are half of the array or more; it is counted. *)
Theorem transaction_end_compresses_iff : forall now s, has_gap s = true ->
  (has_gap (fst (compress_if TRANSACTION_END now s)) = false <-> transaction_ends s mod 128 = 0 /\ 2 * num s <= span s) /\
  transaction_ends (fst (compress_if TRANSACTION_END now s)) = transaction_ends s + 1.
Proof.
  intros now s G. rewrite (compress_if_gap _ _ _ G), negb_false_iff. split.
  - unfold worth_while. rewrite G, andb_true_l, andb_true_iff, Z.eqb_eq, Z.leb_le. reflexivity.
  - unfold compress_if. rewrite G. now destruct (worth_while _ _ _).
Qed.

(** When idle, a gap is closed if and only if the array was never compressed, or a second has passed since; then the time
    is noted, else nothing changes. *)
Theorem idle_compresses_iff : forall now s, has_gap s = true ->
  let after := fst (compress_if STARTUP_PROCESS_IDLE now s) in
  (has_gap after = false <-> last_compress s = 0 \/ last_compress s + 1000 <= now) /\
  (has_gap after = false -> last_compress after = now) /\ (has_gap after = true -> after = s).
Proof.
  intros now s G after. subst after. split.
  - rewrite (compress_if_gap _ _ _ G), negb_false_iff. unfold worth_while.
    rewrite G, andb_true_l, orb_true_iff, Z.eqb_eq, Z.leb_le. unfold COMPRESS_IDLE_INTERVAL. lia.
  - unfold compress_if. destruct (worth_while _ _ _).
    + cbn [fst last_compress]. rewrite compressed_has_no_gap. now split.
    + cbn [fst]. assert (E : {| tail := tail s; entries := entries s; transaction_ends := transaction_ends s;
                               last_compress := last_compress s |} = s) by now destruct s.
      rewrite E, G. split; [discriminate|reflexivity].
Qed.

(** ** What it costs *)

(* Entries below the head that are not live pay for compressing them away, twice; those above the tail for the tail. *)
Definition credit (s : known) : Z := 2 * (head s - num s) + (span s - num s).

Definition sound (capacity : Z) (s : known) : Prop := 0 <= tail s /\ head s <= capacity.

Lemma num_span s : 0 <= num s <= span s.
Proof. unfold num, span. pose proof (live_xids_length (entries s)). lia. Qed.

Lemma compress_if_cost capacity why now s : sound capacity s ->
  (why = NO_SPACE -> 2 * num s <= head s) ->
  let '(s', b) := compress_if why now s in
  for_space b + passed b + credit s' <= credit s + 3 * removed b /\
  for_readers b <= (match why with PRUNE => capacity | _ => capacity * idle b end) /\
  idle b = (match why with STARTUP_PROCESS_IDLE => idle b | _ => 0 end) /\
  0 <= removed b /\ sound capacity s' /\ num s' = num s.
Proof.
  intros [T C] Room. pose proof (num_span s) as N. unfold compress_if.
  destruct (worth_while why now s) eqn:W.
  - assert (Num : zlength (live_xids (List.filter snd (entries s))) = num s) by now rewrite live_xids_filter.
    assert (Span : zlength (List.filter snd (entries s)) = num s) by now rewrite filter_length.
    assert (for_space_paid : why = NO_SPACE \/ why = TRANSACTION_END -> span s <= 2 * (head s - num s)).
    { intros [->| ->]; [specialize (Room eq_refl); unfold head in *; lia|]. unfold worth_while in W.
      apply andb_true_iff in W. destruct W as [_ W]. apply Z.leb_le in W. unfold head. lia. }
    unfold credit, sound, head, num, span in *. cbn [tail entries].
    rewrite Num, Span. destruct why; cbn [for_space for_readers passed removed idle];
      try specialize (for_space_paid ltac:(auto)); repeat split; try lia.
  - unfold credit, sound, head, num, span in *. cbn [tail entries free for_space for_readers passed removed idle] in *.
    destruct why; repeat split; try lia.
Qed.

Lemma remove_cost capacity p s : sound capacity s ->
  let '(s', b) := remove p s in
  for_space b + passed b + credit s' <= credit s + 3 * removed b /\ for_readers b = 0 /\ idle b = 0 /\
  0 <= removed b /\ sound capacity s' /\ num s' = num s - removed b.
Proof.
  intros [T C]. pose proof (num_span s) as N. unfold remove.
  destruct (advance (clear p (entries s))) as [n rest] eqn:E. destruct (advance_spec _ _ _ E) as (L & A & P).
  rewrite clear_length in A.
  assert (R : zlength (live_xids (clear p (entries s))) <= num s).
  { rewrite live_xids_clear. unfold num. induction (live_xids (entries s)) as [|x l IH]; simpl; [lia|].
    destruct (p x); simpl; lia. }
  pose proof (live_xids_length rest) as LR. rewrite <- L in *.
  unfold credit, sound, head, num, span in *. cbn [tail entries for_space for_readers passed removed idle].
  destruct rest as [|e rest]; simpl zlength in *; repeat split; try lia.
Qed.

Lemma step_cost capacity op s : sound capacity s ->
  (match op with Add xids _ => 2 * num s + zlength xids <= capacity | _ => True end) ->
  let '(s', b) := step capacity op s in
  for_space b + passed b + credit s' <= credit s + 3 * removed b /\
  for_readers b <= capacity * (match op with RemovePreceding _ _ => 1 | _ => 0 end + idle b) /\
  sound capacity s'.
Proof.
  intros S Room. destruct op as [xids now|p now|p now|now]; cbn [step].
  - assert (Append : forall s, sound capacity s -> head s + zlength xids <= capacity ->
      credit (append xids s) = credit s /\ sound capacity (append xids s)).
    { intros s0 [T0 C0] F. unfold credit, sound, head, num, span in *. cbn [append tail entries].
      rewrite live_xids_app, live_xids_new, !app_length, map_length. lia. }
    destruct (Z.leb_spec (head s + zlength xids) capacity) as [F|F].
    + destruct (Append s S F) as [A B]. simpl. rewrite A. repeat split; try lia; apply B.
    + pose proof (compress_if_cost capacity NO_SPACE now s S ltac:(intros _; lia)) as C.
      destruct (compress_if NO_SPACE now s) as [s1 b]. destruct C as (C1 & C2 & C3 & C4 & C5 & C6).
      destruct (Z.leb_spec (head s1 + zlength xids) capacity) as [F1|F1].
      * destruct (Append s1 C5 F1) as [A B]. rewrite A. rewrite Z.add_0_l. auto.
      * rewrite Z.add_0_l. auto.
  - pose proof (remove_cost capacity p s S) as R. destruct (remove p s) as [s1 b].
    destruct R as (R1 & R2 & R3 & R4 & R5 & R6).
    pose proof (compress_if_cost capacity TRANSACTION_END now s1 R5 ltac:(discriminate)) as C.
    destruct (compress_if TRANSACTION_END now s1) as [s2 c]. destruct C as (C1 & C2 & C3 & C4 & C5 & C6).
    cbn [plus for_space for_readers passed removed idle]. repeat split; try lia; apply C5.
  - pose proof (remove_cost capacity p s S) as R. destruct (remove p s) as [s1 b].
    destruct R as (R1 & R2 & R3 & R4 & R5 & R6).
    pose proof (compress_if_cost capacity PRUNE now s1 R5 ltac:(discriminate)) as C.
    destruct (compress_if PRUNE now s1) as [s2 c]. destruct C as (C1 & C2 & C3 & C4 & C5 & C6).
    cbn [plus for_space for_readers passed removed idle]. repeat split; try lia; apply C5.
  - pose proof (compress_if_cost capacity STARTUP_PROCESS_IDLE now s S ltac:(discriminate)) as C.
    destruct (compress_if STARTUP_PROCESS_IDLE now s) as [s1 b]. destruct C as (C1 & C2 & C3 & C4 & C5 & C6).
    rewrite Z.add_0_l. auto.
Qed.

Lemma run_cost capacity ops : forall s, sound capacity s -> roomy capacity ops s ->
  let '(s', b) := run capacity ops s in
  for_space b + passed b + credit s' <= credit s + 3 * removed b /\
  for_readers b <= capacity * (prunes ops + idle b) /\ sound capacity s'.
Proof.
  induction ops as [|op ops IH]; intros s S R; cbn [run].
  - unfold prunes. simpl. repeat split; try lia; apply S.
  - destruct R as [Room R]. pose proof (step_cost capacity op s S Room) as C.
    destruct (step capacity op s) as [s1 b]. destruct C as (C1 & C2 & C3). cbn [fst] in R.
    specialize (IH s1 C3 R). destruct (run capacity ops s1) as [s2 c]. destruct IH as (I1 & I2 & I3).
    cbn [plus for_space for_readers passed removed idle].
    assert (P : prunes (op :: ops) = (match op with RemovePreceding _ _ => 1 | _ => 0 end) + prunes ops).
    { unfold prunes. simpl. destruct op; simpl; lia. }
    rewrite P. repeat split; try lia; apply I3.
Qed.

(** Start from an empty array and do any sequence of operations, with room for twice the live XIDs. Then compressing for
    space and at transaction ends, and moving the tail, together read at most three entries for each XID that is
    removed. *)
Theorem upkeep_is_amortised : forall capacity ops, 0 <= capacity -> roomy capacity ops empty ->
  let b := snd (run capacity ops empty) in for_space b + passed b <= 3 * removed b.
Proof.
  intros capacity ops C R. pose proof (run_cost capacity ops empty) as H.
  destruct (run capacity ops empty) as [s b]. cbn [snd].
  destruct H as (H & _ & T & _); [unfold sound, head, span; simpl; lia|auto|].
  assert (P : 0 <= credit s) by (pose proof (num_span s); unfold credit, head; lia).
  change (credit empty) with 0 in H. lia.
Qed.

(** Compressing for the readers, after a prune and when idle, reads at most the whole array each time. *)
Theorem upkeep_for_readers : forall capacity ops, 0 <= capacity -> roomy capacity ops empty ->
  let b := snd (run capacity ops empty) in for_readers b <= capacity * (prunes ops + idle b).
Proof.
  intros capacity ops C R. pose proof (run_cost capacity ops empty) as H.
  destruct (run capacity ops empty) as [s b]. cbn [snd].
  destruct H as (_ & H & _); [unfold sound, head, span; simpl; lia|auto|auto].
Qed.

(* After any compressing, [last_compress] is its time. *)
Lemma compress_if_idle from why now s : 0 < from -> from <= now ->
  last_compress s = 0 \/ from <= last_compress s <= now ->
  let '(s', b) := compress_if why now s in
  (last_compress s' = 0 \/ from <= last_compress s' <= now) /\
  COMPRESS_IDLE_INTERVAL * idle b <=
    (if last_compress s' =? 0 then 0 else last_compress s' - from + COMPRESS_IDLE_INTERVAL) -
    (if last_compress s =? 0 then 0 else last_compress s - from + COMPRESS_IDLE_INTERVAL).
Proof.
  intros F N L. unfold compress_if, COMPRESS_IDLE_INTERVAL in *. destruct (worth_while why now s) eqn:W.
  - cbn [last_compress]. rewrite (proj2 (Z.eqb_neq now 0)) by lia. split; [lia|].
    destruct (Z.eqb_spec (last_compress s) 0) as [Z0|Z0]; destruct why; cbn [idle]; try lia.
    unfold worth_while, COMPRESS_IDLE_INTERVAL in W. rewrite (proj2 (Z.eqb_neq _ 0) Z0) in W.
    apply andb_true_iff in W. destruct W as [_ W]. apply Z.leb_le in W. lia.
  - cbn [last_compress free idle]. split; [auto|]. lia.
Qed.

Lemma remove_idle p s : let '(s', b) := remove p s in last_compress s' = last_compress s /\ idle b = 0.
Proof. unfold remove. destruct (advance (clear p (entries s))). auto. Qed.

Lemma run_idle capacity from upto ops : forall now s, 0 < from -> from <= now -> in_time now upto ops ->
  last_compress s = 0 \/ from <= last_compress s <= now ->
  COMPRESS_IDLE_INTERVAL * idle (snd (run capacity ops s)) <= upto - from + COMPRESS_IDLE_INTERVAL -
    (if last_compress s =? 0 then 0 else last_compress s - from + COMPRESS_IDLE_INTERVAL).
Proof.
  induction ops as [|op ops IH]; intros now s F N T L.
  - simpl in *. unfold COMPRESS_IDLE_INTERVAL. destruct (Z.eqb_spec (last_compress s) 0); lia.
  - destruct T as [T1 T]. cbn [run].
    assert (Step : let '(s', b) := step capacity op s in
      (last_compress s' = 0 \/ from <= last_compress s' <= time_of op) /\
      COMPRESS_IDLE_INTERVAL * idle b <=
        (if last_compress s' =? 0 then 0 else last_compress s' - from + COMPRESS_IDLE_INTERVAL) -
        (if last_compress s =? 0 then 0 else last_compress s - from + COMPRESS_IDLE_INTERVAL)).
    { destruct op as [xids t|p t|p t|t]; cbn [step time_of] in *.
      - destruct (head s + zlength xids <=? capacity).
        + cbn [append last_compress free idle]. split; [|unfold COMPRESS_IDLE_INTERVAL]; lia.
        + pose proof (compress_if_idle from NO_SPACE t s F ltac:(lia) ltac:(lia)) as C.
          destruct (compress_if NO_SPACE t s) as [s1 b]. destruct (head s1 + zlength xids <=? capacity); exact C.
      - pose proof (remove_idle p s) as R. destruct (remove p s) as [s1 b]. destruct R as [R1 R2].
        pose proof (compress_if_idle from TRANSACTION_END t s1 F ltac:(lia) ltac:(lia)) as C.
        destruct (compress_if TRANSACTION_END t s1) as [s2 c]. cbn [plus idle]. rewrite R1, R2 in *. exact C.
      - pose proof (remove_idle p s) as R. destruct (remove p s) as [s1 b]. destruct R as [R1 R2].
        pose proof (compress_if_idle from PRUNE t s1 F ltac:(lia) ltac:(lia)) as C.
        destruct (compress_if PRUNE t s1) as [s2 c]. cbn [plus idle]. rewrite R1, R2 in *. exact C.
      - apply compress_if_idle; lia. }
    destruct (step capacity op s) as [s1 b]. destruct Step as [L1 C].
    specialize (IH (time_of op) s1 F ltac:(lia) T L1). destruct (run capacity ops s1) as [s2 c].
    cbn [plus idle snd] in *. lia.
Qed.

(** However often the startup process is idle, in a span of time it compresses at most once, plus once for each full
    second of the span. *)
Theorem idle_compress_is_rare : forall capacity ops from upto, 0 < from -> in_time from upto ops ->
  idle (snd (run capacity ops empty)) <= 1 + (upto - from) / COMPRESS_IDLE_INTERVAL.
Proof.
  intros capacity ops from upto F T.
  pose proof (run_idle capacity from upto ops from empty F ltac:(lia) T ltac:(auto)) as H.
  cbn [empty last_compress] in H. simpl Z.eqb in H. unfold COMPRESS_IDLE_INTERVAL in *.
  assert (idle (snd (run capacity ops empty)) - 1 <= (upto - from) / 1000); [|lia].
  apply Z.div_le_lower_bound; lia.
Qed.

(** Without room for twice the live XIDs the cost of a removal has no such bound. In an array of 100 that stays full,
    each XID that ends, and is followed by one that begins, costs a compress of all 100. *)
Theorem full_array_costs : exists ops, let b := snd (run 100 ops empty) in
  3 * removed b < for_space b /\ removed b = 20 /\ for_space b = 2000.
Proof.
  exists (Add (map Z.of_nat (seq 3 100)) 1 ::
    flat_map (fun i => [EndTransaction (Z.eqb (3 + 50 + Z.of_nat i)) 1; Add [103 + Z.of_nat i] 1]) (seq 0 20)).
  vm_compute. auto.
Qed.
