(* SPDX-License-Identifier: PostgreSQL *)
(** * The limit of requests in flight: its rule, its range, the floor, and that there is no cliff *)
From Pgquern.common Require Import Integers.
From Pgquern.ioshares Require Import Algorithms Spec Consistent.
Local Opaque max_latency.

(** ** One window *)

(** A window that is looked at. Above its bound the limit falls to what the gradient says, at least by one, and not below its least;
    else it rises by one if a request waited, and not above its most; else it stays. *)
Theorem the_limit_follows_the_rule l a mean p : sound l -> least l <= level a <= most l ->
  settling a = false -> probing a = false ->
  let f := lower l a mean in
  level (adapt l a mean p) =
    if bound_of l f <? mean then Z.max (least l) (Z.min (level a - 1) (level a * f * 5 / (mean * 4)))
    else if p then Z.min (most l) (level a + 1) else level a.
Proof.
  intros S R E P. cbv zeta. unfold adapt. rewrite E, P. destruct (Z.ltb_spec (bound_of l (lower l a mean)) mean); cbn.
  - unfold fallen. cbv zeta. destruct (Z.ltb_spec (level a * lower l a mean * 5 / (mean * 4)) (level a));
      (match goal with |- (if ?x <? ?y then _ else _) = _ => destruct (Z.ltb_spec x y) end); lia.
  - destruct p; cbn; [destruct (Z.ltb_spec (level a) (most l)); lia|reflexivity].
Qed.

(** A window that is not looked at, and one of a probe, leave the level as it is. *)
Theorem a_probe_keeps_the_level l a mean p : settling a || probing a = true -> level (adapt l a mean p) = level a.
Proof. unfold adapt. destruct (settling a), (probing a); easy. Qed.

(** During a probe half as many may be in flight, but no fewer than the least; else as many as the level says. *)
Theorem the_limit_of_a_probe l a : sound l -> least l <= level a ->
  limit_of l a = if probing a then Z.max (least l) (level a / 2) else level a.
Proof.
  intros [] R. unfold limit_of. destruct (probing a); [|reflexivity]. destruct (Z.ltb_spec (least l) (level a / 2)); lia.
Qed.

(** A target is a hint: whatever it is, the limit falls at 3/2 of the floor at the earliest and at twice the floor at the latest. *)
Theorem a_target_moves_the_bound_a_little l f : 0 <= f -> f * 3 / 2 <= bound_of l f <= f * 2.
Proof.
  intros F. unfold bound_of. pose proof (Z.div_le_mono (f * 3 * 2) (f * 7) 4 ltac:(lia) ltac:(lia)) as A.
  change 4 with (2 * 2) in A at 1. rewrite Z.div_mul_cancel_r in A by lia.
  assert (B : f * 7 / 4 <= f * 2) by (apply Z.div_le_upper_bound; lia).
  assert (D : f * 3 / 2 <= f * 2) by (apply Z.div_le_upper_bound; lia).
  destruct (target l =? 0); [lia|]. destruct (Z.ltb_spec (target l) (f * 3 / 2)); [lia|].
  destruct (Z.ltb_spec (f * 2) (target l)); lia.
Qed.

Lemma bound_above_floor l f : 0 <= f -> f <= bound_of l f.
Proof.
  intros F. destruct (a_target_moves_the_bound_a_little l f F) as [A _].
  assert (f <= f * 3 / 2) by (apply Z.div_le_lower_bound; lia). lia.
Qed.

(** There is no cliff: a window whose mean latency is the floor's, or less, never lowers the limit, whatever the target. *)
Theorem at_the_floor_the_limit_does_not_fall l a mean p : sound l -> least l <= level a <= most l -> 0 <= mean <= floor a ->
  level a <= level (adapt l a mean p).
Proof.
  intros S R M. destruct (settling a || probing a) eqn:E; [rewrite a_probe_keeps_the_level by auto; lia|].
  apply orb_false_iff in E as [E P]. rewrite (the_limit_follows_the_rule l a mean p) by auto.
  assert (L : mean <= bound_of l (lower l a mean)).
  { unfold lower. destruct (_ || _).
    - apply bound_above_floor. lia.
    - pose proof (bound_above_floor l (floor a)). lia. }
  destruct (Z.ltb_spec (bound_of l (lower l a mean)) mean); [lia|]. destruct p; lia.
Qed.

(** The limit grows only if a request waited at some completion of the window. *)
Theorem the_limit_grows_under_pressure l a mean p : sound l -> least l <= level a <= most l ->
  level a < level (adapt l a mean p) -> p = true.
Proof.
  intros S R H. destruct (settling a || probing a) eqn:E; [rewrite a_probe_keeps_the_level in H by auto; lia|].
  apply orb_false_iff in E as [E P]. rewrite (the_limit_follows_the_rule l a mean p) in H by auto.
  destruct (_ <? _); [lia|]. destruct p; [reflexivity|lia].
Qed.

(** After 64 windows in which the limit rose, or would have, comes a probe: then the floor is what that probe finds. *)
Theorem a_probe_forgets_the_floor l a mean p : settling a = false -> probing a = true -> floor (adapt l a mean p) = mean.
Proof. intros E P. unfold adapt. now rewrite E, P. Qed.

(** ** Runs *)

(** A completion counts in its window, with at most 2^40 ns, and so does whether other requests waited then. The window's last one
    changes the limit, by what the whole window has counted, and begins a new one; the others leave it as it is. *)
Theorem a_window_counts_all_its_completions s i lat s' : complete i lat s = Some s' ->
  let n := completed s + 1 in let sum := latency s + Z.min lat (2 ^ 40) in let p := pressed s || (0 <? waiting s) in
  (pacing s', completed s', latency s', pressed s') =
    if (n <? window (bounds s)) || (n <? level (pacing s)) then (pacing s, n, sum, p)
    else (adapt (bounds s) (pacing s) (sum / n) p, 0, 0, false).
Proof.
  unfold complete. destruct (nth_error (flows s) i) as [f|]; [|discriminate]. destruct (flying f <=? 0); [discriminate|].
  change max_latency with (2 ^ 40). intros [= <-]. cbv zeta. now destruct (_ || _).
Qed.

(** The limit stays between its least and its most. *)
Theorem the_limit_stays_in_range M W s os : consistent M W s -> Forall (within M) os ->
  least (bounds s) <= limit (steps s os) <= most (bounds s).
Proof.
  intros C F. pose proof (always_consistent M W s os C F) as C'. pose proof (limit_in_range M W _ C') as L.
  pose proof (level_in_range _ _ _ C'). rewrite steps_bounds in *. lia.
Qed.

(** The means of the windows that end in a run, oldest first. *)
Definition mean_of (s : state) (o : op) : list Z :=
  match o with
  | Complete i lat =>
      match complete i lat s with
      | Some _ =>
          let n := completed s + 1 in
          if (n <? window (bounds s)) || (n <? level (pacing s)) then []
          else [(latency s + Z.min lat max_latency) / n]
      | None => []
      end
  | _ => []
  end.

Fixpoint means (s : state) (os : list op) : list Z :=
  match os with [] => [] | o :: os => mean_of s o ++ means (step s o) os end.

Lemma other_calls_keep_the_pace s o :
  match o with Complete _ _ => True | _ =>
    pacing (step s o) = pacing s /\ completed (step s o) = completed s /\ latency (step s o) = latency s end.
Proof.
  destruct o as [i op size| |i lat|i k]; cbn; auto.
  - unfold submit. destruct (nth_error _ _); [|auto]. now destruct (_ || _).
  - destruct (next s) as [[[i size] s']|] eqn:H; [|auto]. apply next_spec in H as (? & ? & ? & _ & _ & _ & _ & _ & ->). auto.
  - unfold cancel. destruct (nth_error _ _); [|auto]. now destruct (nth_error _ _).
Qed.

Lemma adapt_floor l a mean p : floor (adapt l a mean p) = floor a \/ floor (adapt l a mean p) = mean.
Proof.
  unfold adapt, lower. destruct (settling a); [auto|]. destruct (probing a); [auto|]. cbv zeta.
  destruct (_ || _); destruct (_ <? mean); destruct p; cbn; auto.
Qed.

(** The floor is a latency that was observed: the mean of a window of the run, or still what it was. *)
Theorem the_floor_was_observed os : forall s, In (floor (pacing (steps s os))) (floor (pacing s) :: means s os).
Proof.
  induction os as [|o os IH]; intros s; [now left|].
  change (steps s (o :: os)) with (steps (step s o) os). cbn [means].
  destruct (IH (step s o)) as [E|I]; [|right; apply in_app_iff; now right]. rewrite <- E. clear IH E.
  pose proof (other_calls_keep_the_pace s o) as O. destruct o as [i op size| |i lat|i k]; try (destruct O as (-> & _); now left).
  cbn [step mean_of]. destruct (complete i lat s) as [s'|] eqn:H; [|now left].
  apply a_window_counts_all_its_completions in H. cbv zeta in H. change (2 ^ 40) with max_latency in H.
  destruct ((completed s + 1 <? window (bounds s)) || (completed s + 1 <? level (pacing s))) in *;
    apply (f_equal (fun q => fst (fst (fst q)))) in H; cbn in H; rewrite H; [now left|].
  match goal with |- context [adapt ?l ?a ?m ?p] => destruct (adapt_floor l a m p) as [E|E] end; rewrite E; [now left|].
  right. now left.
Qed.

(** A run whose latencies are at the floor, or below it, wherever a window is looked at. *)
Fixpoint calm (s : state) (os : list op) : Prop :=
  match os with
  | [] => True
  | o :: os =>
      match o with
      | Complete _ lat => settling (pacing s) || probing (pacing s) = true \/ lat <= floor (pacing s)
      | _ => True
      end /\ calm (step s o) os
  end.

(** The latencies of the window so far are no reason to lower the limit. *)
Definition no_debt (s : state) : Prop :=
  settling (pacing s) || probing (pacing s) = true \/ latency s <= floor (pacing s) * completed s.

Lemma calm_call M W s o os : consistent M W s -> within M o -> no_debt s -> calm s (o :: os) ->
  no_debt (step s o) /\ level (pacing s) <= level (pacing (step s o)).
Proof.
  intros C WI D [K _]. pose proof (other_calls_keep_the_pace s o) as O.
  destruct o as [i op size| |i lat|i k]; [| |clear O|];
    [destruct O as (E1 & E2 & E3); unfold no_debt; rewrite E1, E2, E3; split; [exact D|lia]..| |
     destruct O as (E1 & E2 & E3); unfold no_debt; rewrite E1, E2, E3; split; [exact D|lia]].
  cbn [step]. cbn in WI. destruct (complete i lat s) as [s'|] eqn:H; [|split; [exact D|lia]].
  apply a_window_counts_all_its_completions in H. cbv zeta in H. change (2 ^ 40) with max_latency in H.
  set (n := completed s + 1) in *. set (sum := latency s + Z.min lat max_latency) in *.
  destruct C. pose proof limits_sound as [].
  assert (L : settling (pacing s) || probing (pacing s) = true \/ sum <= floor (pacing s) * n).
  { destruct D as [D|D]; [now left|]. destruct K as [K|K]; [now left|]. right. unfold sum, n. lia. }
  destruct ((n <? window (bounds s)) || (n <? level (pacing s))).
  - injection H as H1 H2 H3 H4. unfold no_debt. rewrite H1, H2, H3. split; [exact L|lia].
  - injection H as H1 H2 H3 H4. unfold no_debt. rewrite H2, H3. split; [right; lia|]. rewrite H1.
    destruct L as [L|L]; [rewrite a_probe_keeps_the_level by auto; lia|].
    apply at_the_floor_the_limit_does_not_fall; auto. unfold n, sum in *. pose proof latencies_positive.
    split; [apply Z.div_pos; lia|]. apply Z.div_le_upper_bound; lia.
Qed.

(** There is no cliff over a run either: while latencies stay at the floor, the limit does not fall (but for probes, which end),
    whatever the target. *)
Theorem calm_never_lowers_the_limit M W os : forall s,
  consistent M W s -> Forall (within M) os -> no_debt s -> calm s os -> level (pacing s) <= level (pacing (steps s os)).
Proof.
  induction os as [|o os IH]; intros s C F D K; [cbn; lia|]. inversion F; subst.
  destruct (calm_call M W s o os C H1 D K) as (D' & LE). destruct K as [_ K].
  change (steps s (o :: os)) with (steps (step s o) os).
  specialize (IH (step s o) (every_call_keeps_consistent M W s o C H1) H2 D' K). lia.
Qed.
