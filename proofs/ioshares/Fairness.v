(* SPDX-License-Identifier: PostgreSQL *)
(** * Service divides by the shares, within a bound, and nobody starves *)
From Pgquern.common Require Import Integers.
From Pgquern.ioshares Require Import Algorithms Spec Consistent.

(** What a class would start with if it came back now: no less than the virtual time. *)
Definition effective (v : Z) (f : flow) : Z := Z.max (tag f) v.

(** ** One call *)

(** The class keeps its factor and its warp, and pays no more than its tag moves. While it is backlogged, exactly that. *)
Definition moved (v v' : Z) (f f' : flow) : Prop :=
  factor f' = factor f /\ warp f' = warp f /\
  0 <= paid f' - paid f <= effective v' f' - effective v f /\
  (queue f <> [] -> paid f' - paid f = tag f' - tag f).

Lemma moved_same v v' f : v <= v' -> moved v v' f f.
Proof. intros L. unfold moved, effective. lia. Qed.

Lemma nth_updated (l : list flow) i f g j h : nth_error l i = Some f -> nth_error l j = Some h ->
  (i = j /\ h = f /\ nth_error (update i g l) j = Some g) \/ nth_error (update i g l) j = Some h.
Proof.
  intros N H. rewrite nth_update, N. destruct (Nat.eqb_spec i j) as [<-|]; [left|right; auto].
  split; [reflexivity|]. split; [congruence|reflexivity].
Qed.

Lemma one_call M W s o j f : consistent M W s -> within M o -> nth_error (flows s) j = Some f ->
  vtime s <= vtime (step s o) /\
  exists f', nth_error (flows (step s o)) j = Some f' /\ moved (vtime s) (vtime (step s o)) f f'.
Proof.
  intros C WI N. destruct o as [i op size| |i lat|i k]; cbn.
  - destruct (submit i op size s) as [s'|] eqn:H; [|split; [lia|]; exists f; split; [auto|apply moved_same; lia]].
    unfold submit in H. destruct (nth_error (flows s) i) as [g|] eqn:G; [|discriminate].
    destruct (_ || _)%bool; [discriminate|]. injection H as <-. cbn. split; [lia|].
    destruct (nth_updated (flows s) i g (enqueue (vtime s) (op + size) g) j f G N) as [(<- & -> & E)|E];
      [|exists f; split; [auto|apply moved_same; lia]].
    exists (enqueue (vtime s) (op + size) g). split; [auto|]. unfold moved, effective, paid, enqueue. cbn.
    split; [reflexivity|]. split; [reflexivity|]. destruct (queue g); [|split; intros; lia].
    destruct (Z.ltb_spec (tag g) (vtime s)); split; intros; try lia; congruence.
  - destruct (next s) as [[[i size] s']|] eqn:H; [|split; [lia|]; exists f; split; [auto|apply moved_same; lia]].
    pose proof (next_near M W s i size s' C H) as [V _].
    apply next_spec in H as (g & rest & v & G & Q & _ & F & _ & ->). cbn in *. split; [auto|].
    destruct (nth_updated (flows s) i g (go size rest g) j f G N) as [(<- & -> & E)|E];
      [|exists f; split; [auto|apply moved_same; lia]].
    exists (go size rest g). split; [auto|]. unfold moved, effective, paid, go. cbn.
    destruct C. pose proof (Forall_nth _ _ _ _ tags_near G) as [].
    assert (NE : queue g <> []) by congruence. rewrite Q in sizes_within. inversion sizes_within; subst.
    specialize (tag_not_behind NE). destruct (Forall_nth _ _ _ _ F G NE) as [_ VG].
    split; [reflexivity|]. split; [reflexivity|]. split; [nia|intros _; lia].
  - destruct (complete i lat s) as [s'|] eqn:H; [|split; [lia|]; exists f; split; [auto|apply moved_same; lia]].
    unfold complete in H. destruct (nth_error (flows s) i) as [g|] eqn:G; [|discriminate].
    destruct (flying g <=? 0); [discriminate|].
    assert (E : flows s' = update i (landed g) (flows s) /\ vtime s' = vtime s)
      by (destruct (_ || _)%bool; injection H as <-; auto).
    destruct E as [-> ->]. split; [lia|].
    destruct (nth_updated (flows s) i g (landed g) j f G N) as [(<- & -> & E)|E];
      [|exists f; split; [auto|apply moved_same; lia]].
    exists (landed g). split; [auto|]. unfold moved, effective, paid, landed. cbn. lia.
  - destruct (cancel i k s) as [[size s']|] eqn:H; [|split; [lia|]; exists f; split; [auto|apply moved_same; lia]].
    unfold cancel in H. destruct (nth_error (flows s) i) as [g|] eqn:G; [|discriminate].
    destruct (nth_error (queue g) k); [|discriminate]. injection H as <- <-. cbn. split; [lia|].
    destruct (nth_updated (flows s) i g (without k g) j f G N) as [(<- & -> & E)|E];
      [|exists f; split; [auto|apply moved_same; lia]].
    exists (without k g). split; [auto|]. unfold moved, effective, paid, without. cbn. lia.
Qed.

(** ** A run *)

Lemma a_run M W os : forall s j f, consistent M W s -> Forall (within M) os -> nth_error (flows s) j = Some f ->
  vtime s <= vtime (steps s os) /\
  exists f', nth_error (flows (steps s os)) j = Some f' /\ factor f' = factor f /\ warp f' = warp f /\
    0 <= paid f' - paid f <= effective (vtime (steps s os)) f' - effective (vtime s) f /\
    (throughout (backlogged j) s os -> paid f' - paid f = tag f' - tag f).
Proof.
  induction os as [|o os IH]; intros s j f C WI N; cbn [steps fold_left].
  - split; [cbn; lia|]. exists f. unfold steps. cbn. intuition lia.
  - inversion WI; subst. destruct (one_call M W s o j f) as (V & f1 & N1 & K1 & P1 & B1 & Q1); auto.
    destruct (IH (step s o) j f1) as (V2 & f2 & N2 & K2 & P2 & B2 & Q2); auto; [now apply every_call_keeps_consistent|].
    change (fold_left step os (step s o)) with (steps (step s o) os). split; [lia|].
    exists f2. split; [auto|]. split; [congruence|]. split; [congruence|]. split; [lia|].
    intros [(f0 & N0 & NE) T]. specialize (Q2 T). rewrite N in N0. injection N0 as <-. specialize (Q1 NE). lia.
Qed.

Lemma throughout_ends P os : forall s, throughout P s os -> P s /\ P (steps s os).
Proof.
  induction os as [|o os IH]; intros s [B T]; [auto|]. split; [auto|]. apply (IH (step s o)), T.
Qed.

Lemma tag_within M W s j f : consistent M W s -> nth_error (flows s) j = Some f -> backlogged j s ->
  vtime s <= tag f <= vtime s + warp f + factor f * M.
Proof.
  intros [] N (g & G & NE). rewrite N in G. injection G as <-. pose proof (Forall_nth _ _ _ _ tags_near N) as [].
  intuition.
Qed.

(** Fairness. While two classes stay backlogged, whatever else is submitted or completed, what they pay differs by at most
    [bound]: a request and the warp of each class. So over any interval; with warps of 0 it is the bound of start-time fair queueing. *)
Theorem service_is_fair M W s os i j f g f' g' :
  consistent M W s -> Forall (within M) os ->
  nth_error (flows s) i = Some f -> nth_error (flows s) j = Some g ->
  nth_error (flows (steps s os)) i = Some f' -> nth_error (flows (steps s os)) j = Some g' ->
  throughout (backlogged i) s os -> throughout (backlogged j) s os ->
  Z.abs ((paid f' - paid f) - (paid g' - paid g)) <= bound M f g.
Proof.
  intros C WI NF NG NF' NG' BF BG.
  destruct (a_run M W os s i f C WI NF) as (V & f1 & N1 & K1 & W1 & _ & E1). rewrite NF' in N1. injection N1 as <-.
  destruct (a_run M W os s j g C WI NG) as (_ & g1 & N2 & K2 & W2 & _ & E2). rewrite NG' in N2. injection N2 as <-.
  specialize (E1 BF). specialize (E2 BG).
  destruct (throughout_ends _ _ _ BF) as [BF0 BF1], (throughout_ends _ _ _ BG) as [BG0 BG1].
  pose proof (always_consistent M W s os C WI) as C'.
  pose proof (tag_within M W s i f C NF BF0). pose proof (tag_within M W s j g C NG BG0).
  pose proof (tag_within M W _ i f' C' NF' BF1) as TF. pose proof (tag_within M W _ j g' C' NG' BG1) as TG.
  rewrite K1, W1 in TF. rewrite K2, W2 in TG. unfold bound. lia.
Qed.

(** The same in bytes and shares: if the factors are exact, the bytes that have gone, each times the other's share, differ by
    at most one request and the warp of each class, times the other's share. *)
Theorem service_divides_by_the_shares M W s os i j f g f' g' (L share_f share_g warp_f warp_g : Z) :
  consistent M W s -> Forall (within M) os ->
  nth_error (flows s) i = Some f -> nth_error (flows s) j = Some g ->
  nth_error (flows (steps s os)) i = Some f' -> nth_error (flows (steps s os)) j = Some g' ->
  throughout (backlogged i) s os -> throughout (backlogged j) s os ->
  1 <= L -> 1 <= share_f -> 1 <= share_g -> factor f * share_f = L -> factor g * share_g = L ->
  warp f = factor f * warp_f -> warp g = factor g * warp_g ->
  Z.abs ((charged f' - charged f) * share_g - (charged g' - charged g) * share_f)
    <= (M + warp_f) * share_g + (M + warp_g) * share_f.
Proof.
  intros C WI NF NG NF' NG' BF BG HL SF SG EF EG WF WG.
  pose proof (service_is_fair M W s os i j f g f' g' C WI NF NG NF' NG' BF BG) as B.
  destruct (a_run M W os s i f C WI NF) as (_ & f1 & N1 & K1 & _). rewrite NF' in N1. injection N1 as <-.
  destruct (a_run M W os s j g C WI NG) as (_ & g1 & N2 & K2 & _). rewrite NG' in N2. injection N2 as <-.
  unfold bound, paid in B. rewrite K1, K2, WF, WG in B.
  set (x := charged f' - charged f) in *. set (y := charged g' - charged g) in *.
  replace (factor f * charged f' - factor f * charged f) with (factor f * x) in B by (unfold x; ring).
  replace (factor g * charged g' - factor g * charged g) with (factor g * y) in B by (unfold y; ring).
  assert (P : Z.abs (L * (x * share_g - y * share_f)) <= L * ((M + warp_f) * share_g + (M + warp_g) * share_f)).
  { assert (E1 : L * (x * share_g - y * share_f) = (factor f * x - factor g * y) * (share_f * share_g)).
    { transitivity (factor f * share_f * (x * share_g) - factor g * share_g * (y * share_f));
        [rewrite EF, EG|]; ring. }
    assert (E2 : L * ((M + warp_f) * share_g + (M + warp_g) * share_f)
                 = (factor f * warp_f + factor f * M + (factor g * warp_g + factor g * M)) * (share_f * share_g)).
    { transitivity (factor f * share_f * ((M + warp_f) * share_g) + factor g * share_g * ((M + warp_g) * share_f));
        [rewrite EF, EG|]; ring. }
    rewrite E1, E2.
    rewrite Z.abs_mul, (Z.abs_eq (share_f * share_g)) by nia. apply Z.mul_le_mono_nonneg_r; [nia|exact B]. }
  rewrite Z.abs_mul, (Z.abs_eq L) in P by lia. nia.
Qed.

(** With D requests in flight: what has completed, of two classes that stay backlogged, differs by at most D + 1 requests and
    the warp of each, whichever of those in flight the device has done, where D is the most that may be in flight. With warps
    of 0 this is the bound of SFQ(D). *)
Theorem completed_service_is_fair M W s os i j f g f' g' x y x' y' :
  consistent M W s -> Forall (within M) os -> i <> j ->
  nth_error (flows s) i = Some f -> nth_error (flows s) j = Some g ->
  nth_error (flows (steps s os)) i = Some f' -> nth_error (flows (steps s os)) j = Some g' ->
  throughout (backlogged i) s os -> throughout (backlogged j) s os ->
  has_completed M f x -> has_completed M g y -> has_completed M f' x' -> has_completed M g' y' ->
  Z.abs (factor f * (x' - x) - factor g * (y' - y))
    <= warp f + warp g + (most (bounds s) + 1) * (factor f * M + factor g * M).
Proof.
  intros C WI D NF NG NF' NG' BF BG X Y X' Y'.
  pose proof (service_is_fair M W s os i j f g f' g' C WI NF NG NF' NG' BF BG) as B.
  destruct (a_run M W os s i f C WI NF) as (_ & f1 & N1 & K1 & _). rewrite NF' in N1. injection N1 as <-.
  destruct (a_run M W os s j g C WI NG) as (_ & g1 & N2 & K2 & _). rewrite NG' in N2. injection N2 as <-.
  pose proof (always_consistent M W s os C WI) as C'.
  assert (BB : bounds (steps s os) = bounds s) by apply steps_bounds.
  pose proof (flying_at_most M W s i f C NF). pose proof (flying_at_most M W s j g C NG).
  pose proof (flying_at_most M W _ i f' C' NF'). pose proof (flying_at_most M W _ j g' C' NG'). rewrite BB in *.
  pose proof (size_bound _ _ _ C) as HM. pose proof (tags_near _ _ _ C) as TN. clear C. pose proof (Forall_nth _ _ _ _ TN NF) as [PF _ _ _ _ _ _].
  pose proof (Forall_nth _ _ _ _ TN NG) as [PG _ _ _ _ _ _].
  unfold bound, paid in B. rewrite K1, K2 in B. unfold has_completed in *.
  set (m := most (bounds s)) in *.
  assert (EX : charged f' - charged f - m * M <= x' - x <= charged f' - charged f + m * M) by nia.
  assert (EY : charged g' - charged g - m * M <= y' - y <= charged g' - charged g + m * M) by nia.
  assert (FX : factor f * (charged f' - charged f) - factor f * (m * M) <= factor f * (x' - x)
               <= factor f * (charged f' - charged f) + factor f * (m * M)) by nia.
  assert (FY : factor g * (charged g' - charged g) - factor g * (m * M) <= factor g * (y' - y)
               <= factor g * (charged g' - charged g) + factor g * (m * M)) by nia.
  nia.
Qed.

(** No starvation: while a class waits and none of its requests goes, each other class pays at most [bound]. A request costs
    at least 1, so after that many others one of the class has gone. *)
Theorem nobody_starves M W s os i j f g f' g' :
  consistent M W s -> Forall (within M) os ->
  nth_error (flows s) i = Some f -> nth_error (flows s) j = Some g ->
  nth_error (flows (steps s os)) i = Some f' -> nth_error (flows (steps s os)) j = Some g' ->
  throughout (backlogged i) s os -> charged f' = charged f ->
  paid g' - paid g <= bound M f g.
Proof.
  intros C WI NF NG NF' NG' BF SAME.
  destruct (a_run M W os s i f C WI NF) as (V & f1 & N1 & K1 & W1 & _ & E1). rewrite NF' in N1. injection N1 as <-.
  destruct (a_run M W os s j g C WI NG) as (_ & g1 & N2 & K2 & W2 & P & _). rewrite NG' in N2. injection N2 as <-.
  specialize (E1 BF). destruct (throughout_ends _ _ _ BF) as [BF0 BF1].
  pose proof (always_consistent M W s os C WI) as C'.
  pose proof (tag_within M W s i f C NF BF0) as TF. pose proof (tag_within M W _ i f' C' NF' BF1) as TF'.
  assert (TG : tag g' <= vtime (steps s os) + warp g' + factor g' * M)
    by (destruct C'; now destruct (Forall_nth _ _ _ _ tags_near NG')).
  assert (0 <= warp g /\ 1 <= factor g) by (destruct C; now destruct (Forall_nth _ _ _ _ tags_near NG)).
  pose proof (size_bound _ _ _ C) as HM. clear C. unfold paid in E1. rewrite K1, SAME in E1. rewrite K2, W2 in TG.
  unfold effective, bound in *. nia.
Qed.

(** A class banks nothing while it is idle: when it comes back, its tag is at least the virtual time, however long it was
    idle. *)
Theorem nothing_is_banked M W s i op size s' f f' :
  consistent M W s -> nth_error (flows s) i = Some f -> submit i op size s = Some s' ->
  nth_error (flows s') i = Some f' -> queue f = [] ->
  vtime s' = vtime s /\ tag f' = Z.max (tag f) (vtime s').
Proof.
  intros C N H N' Q. unfold submit in H. rewrite N in H. destruct (_ || _)%bool; [discriminate|]. injection H as <-.
  cbn in *. rewrite nth_update, N, Nat.eqb_refl in N'. injection N' as <-. split; [reflexivity|]. cbn. rewrite Q.
  destruct (Z.ltb_spec (tag f) (vtime s)); lia.
Qed.
