(* SPDX-License-Identifier: PostgreSQL *)
(** * The limit of requests in flight recovers after congestion, and falls under it *)
From Coq Require Import ZArith List Bool Lia.
From Pgquern.ioshares Require Import Algorithms Spec Consistent.
Import ListNotations.
Local Open Scope Z_scope.
Local Opaque max_latency.

(** A run in which the device is quick, and requests wait whenever one completes. *)
Fixpoint calm (s : state) (os : list op) : Prop :=
  match os with
  | [] => True
  | o :: os =>
      match o with Complete _ lat => lat <= target (bounds s) /\ 0 < waiting s | _ => True end /\ calm (step s o) os
  end.

(** How many completions of a run are accepted. *)
Fixpoint completions (s : state) (os : list op) : Z :=
  match os with
  | [] => 0
  | o :: os =>
      match o with Complete i lat => match complete i lat s with Some _ => 1 | None => 0 end | _ => 0 end
      + completions (step s o) os
  end.

(** The latencies of the window so far are no reason to lower the limit. *)
Definition no_debt (s : state) : Prop := latency s <= target (bounds s) * completed s.

Lemma other_calls_keep_the_limit s o :
  match o with Complete _ _ => True | _ =>
    limit (step s o) = limit s /\ completed (step s o) = completed s /\ latency (step s o) = latency s end.
Proof.
  destruct o as [i size| |i lat]; cbn; auto.
  - unfold submit. destruct (nth_error _ _); [|auto]. now destruct (_ || _).
  - destruct (next s) as [[[i size] s']|] eqn:H; [|auto]. apply next_spec in H as (? & ? & ? & _ & _ & _ & _ & _ & ->). auto.
Qed.

Lemma completion_counts M W s i lat s' :
  consistent M W s -> lat <= target (bounds s) -> 0 < waiting s -> no_debt s -> complete i lat s = Some s' ->
  no_debt s' /\ limit s <= limit s' /\
  (limit s' = most (bounds s) \/
   limit s' * window (bounds s) + completed s' = limit s * window (bounds s) + completed s + 1).
Proof.
  intros C L P D H. unfold complete in H. destruct (nth_error (flows s) i) as [f|]; [|discriminate].
  destruct (flying f <=? 0); [discriminate|]. unfold no_debt in *. destruct C, limits_sound.
  assert (LL : latency s + Z.min lat max_latency <= target (bounds s) * (completed s + 1)) by lia.
  assert (LW : target (bounds s) * (completed s + 1) <= target (bounds s) * window (bounds s))
    by (apply Z.mul_le_mono_nonneg_l; lia).
  replace (0 <? waiting s) with true in H by (symmetry; now apply Z.ltb_lt). rewrite orb_true_r in H.
  destruct (Z.ltb_spec (completed s + 1) (window (bounds s))); injection H as <-; cbn;
    [split; [exact LL|]; split; [lia|right; lia]|].
  split; [lia|]. unfold adapt.
  destruct (Z.ltb_spec (target (bounds s) * window (bounds s)) (latency s + Z.min lat max_latency)); [lia|]. cbn.
  destruct (Z.ltb_spec (limit s) (most (bounds s))); (split; [lia|]); [right; nia|left; lia].
Qed.

Lemma calm_call M W s o os : consistent M W s -> no_debt s -> calm s (o :: os) ->
  no_debt (step s o) /\ limit s <= limit (step s o) /\
  (limit (step s o) = most (bounds s) \/
   limit (step s o) * window (bounds s) + completed (step s o) + completions (step s o) os
     = limit s * window (bounds s) + completed s + completions s (o :: os)).
Proof.
  intros C D [K _]. pose proof (other_calls_keep_the_limit s o) as O.
  destruct o as [i size| |i lat]; [| |clear O];
    [destruct O as (E1 & E2 & E3); unfold no_debt; rewrite step_bounds, E1, E2, E3; repeat split; auto; lia..|].
  cbn [completions step]. destruct (complete i lat s) as [s'|] eqn:H; [|repeat split; auto; lia].
  destruct K. destruct (completion_counts M W s i lat s') as (D' & LE & [E|E]); auto.
  repeat split; auto. right. rewrite E. lia.
Qed.

Lemma stays_at_most M W os : forall s, consistent M W s -> Forall (within M) os -> no_debt s -> calm s os ->
  limit s = most (bounds s) -> limit (steps s os) = most (bounds s).
Proof.
  induction os as [|o os IH]; intros s C F D K E; [auto|]. inversion F; subst.
  destruct (calm_call M W s o os C D K) as (D' & LE & _). destruct K as [_ K].
  pose proof (every_call_keeps_consistent M W s o C H1) as C'. pose proof (step_bounds s o) as B.
  change (steps s (o :: os)) with (steps (step s o) os). rewrite <- B. apply IH; auto.
  pose proof (limit_in_range _ _ _ C'). rewrite B in *. lia.
Qed.

(** Recovery: if the device is quick and requests wait, the limit is back at its most after as many windows as it was below. *)
Theorem the_limit_recovers M W os : forall s,
  consistent M W s -> Forall (within M) os -> no_debt s -> calm s os ->
  (most (bounds s) - limit s) * window (bounds s) <= completed s + completions s os ->
  limit (steps s os) = most (bounds s).
Proof.
  induction os as [|o os IH]; intros s C F D K N.
  - cbn in *. destruct C, limits_sound. nia.
  - inversion F; subst. destruct (calm_call M W s o os C D K) as (D' & LE & E). destruct K as [_ K].
    pose proof (every_call_keeps_consistent M W s o C H1) as C'. pose proof (step_bounds s o) as B.
    change (steps s (o :: os)) with (steps (step s o) os). rewrite <- B.
    destruct E as [E|E]; [apply (stays_at_most M W); auto; now rewrite B|]. apply IH; auto. rewrite B.
    remember (completions (step s o) os) as n. remember (completions s (o :: os)) as m. lia.
Qed.

(** Under congestion the limit falls by an eighth, at least by one, but not below its least. *)
Theorem the_limit_falls l n sum p :
  sound l -> least l <= n <= most l -> target l * window l < sum ->
  adapt l n sum p = Z.max (least l) (n - Z.max 1 (n / 8)).
Proof.
  intros [] R S. unfold adapt, lower. destruct (Z.ltb_spec (target l * window l) sum); [|lia].
  pose proof (Z.div_pos n 8). destruct (Z.ltb_spec 0 (n / 8));
    [destruct (Z.ltb_spec (n / 8) (n - least l))|destruct (Z.ltb_spec 1 (n - least l))]; lia.
Qed.

(** The limit grows only if a request waited at some completion of the window. *)
Theorem the_limit_grows_under_pressure l n sum p : sound l -> least l <= n <= most l -> n < adapt l n sum p -> p = true.
Proof.
  intros S R. unfold adapt. pose proof (lower_in_range l n S R). destruct (_ <? sum); [lia|]. now destruct p; cbn; [|lia].
Qed.

(** The whole rule. Under congestion the limit falls by an eighth, at least by one, and not below its least; else it rises by one
    if a request waited, and not above its most; else it stays. *)
Theorem the_limit_follows_the_rule l n sum p : sound l -> least l <= n <= most l ->
  adapt l n sum p = if target l * window l <? sum then Z.max (least l) (n - Z.max 1 (n / 8))
                    else if p then Z.min (most l) (n + 1) else n.
Proof.
  intros S R. destruct (Z.ltb_spec (target l * window l) sum) as [H|H]; [now apply the_limit_falls|].
  unfold adapt. destruct (Z.ltb_spec (target l * window l) sum); [lia|].
  destruct p; cbn; [destruct (Z.ltb_spec n (most l)); lia|reflexivity].
Qed.

(** A completion counts in its window, with at most 2^40 ns, and so does whether other requests waited then. The window's last one
    changes the limit, by what the whole window has counted, and begins a new one; the others leave it as it is. *)
Theorem a_window_counts_all_its_completions s i lat s' : complete i lat s = Some s' ->
  let n := completed s + 1 in let sum := latency s + Z.min lat (2 ^ 40) in let p := pressed s || (0 <? waiting s) in
  (limit s', completed s', latency s', pressed s') =
    if n <? window (bounds s) then (limit s, n, sum, p) else (adapt (bounds s) (limit s) sum p, 0, 0, false).
Proof.
  unfold complete. destruct (nth_error (flows s) i) as [f|]; [|discriminate]. destruct (flying f <=? 0); [discriminate|].
  change max_latency with (2 ^ 40). intros [= <-]. cbv zeta. now destruct (_ <? window _).
Qed.
