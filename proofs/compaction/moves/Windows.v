(* SPDX-License-Identifier: PostgreSQL *)
(** * Windows through registers pack the tuples of every valid page, the hole among them *)
From Pgquern.common Require Import Integers.
From Pgquern.compaction Require Import Page Memory Algorithms Spec Moves Decode Copies.

(** ** Where tuples end *)
Lemma new_end_falls its : nonneg its -> forall upper i j, (i <= j)%nat -> new_end its upper j <= new_end its upper i.
Proof.
  induction 1 as [|it r L N IH]; intros upper i j I; [reflexivity|].
  destruct i as [|i], j as [|j]; cbn [new_end]; try lia; [|apply IH; lia].
  specialize (IH (upper - len it) 0%nat j ltac:(lia)). destruct r; cbn [new_end] in *; lia.
Qed.

Lemma ends_behind its : forall upper i, (length its <= i)%nat ->
  old_end its upper i = upper - total its /\ new_end its upper i = upper - total its.
Proof.
  induction its as [|it r IH]; intros upper i I; cbn [length total] in *; [cbn; lia|].
  destruct i as [|i]; [lia|]. cbn [old_end new_end]. destruct (IH (upper - len it) i ltac:(lia)). lia.
Qed.

Lemma new_end_bounds its upper i : nonneg its -> upper - total its <= new_end its upper i <= upper.
Proof.
  intros N. destruct (ends_behind its upper (Nat.max i (length its)) ltac:(lia)) as [_ <-].
  pose proof (new_end_falls its N upper i (Nat.max i (length its)) ltac:(lia)).
  pose proof (new_end_falls its N upper 0 i ltac:(lia)). destruct its; cbn [new_end] in *; lia.
Qed.

(** What must come to lie right below where tuple [i] must end is what lies right below where it ends. *)
Lemma packed_end its : nonneg its -> forall upper src i at_, new_end its upper (S i) <= at_ < new_end its upper i ->
  packed (place its upper) src src at_ = src (old_end its upper i + (at_ - new_end its upper i)).
Proof.
  induction 1 as [|it r L N IH]; intros upper src i at_ B; [cbn in B; lia|]. cbn [place packed].
  destruct i as [|i]; cbn [new_end old_end] in *.
  - assert (E : forall u, new_end r u 0 = u) by (destruct r; reflexivity). rewrite E in B.
    cases; try lia. unfold stop. f_equal. lia.
  - pose proof (new_end_bounds r (upper - len it) i N). cases; try lia. now apply IH.
Qed.

Lemma new_end_step its window : Forall (fun it => len it <= window) its -> 0 <= window -> forall upper i,
  new_end its upper i - window <= new_end its upper (S i).
Proof.
  induction 1 as [|it r L W IH]; intros P upper i; [cbn; lia|].
  destruct i as [|i]; cbn [new_end]; [|now apply IH]. destruct r; cbn [new_end]; lia.
Qed.

(** Presorted tuples have moved up past what lies between them. *)
Lemma ends_apart its : Forall (fun it => 8 <= len it) its -> forall upper, chain its upper -> forall k i, (k <= i)%nat ->
  (k <= length its)%nat ->
  old_end its upper i + 8 * (Z.of_nat (Nat.min i (length its)) - Z.of_nat k) <= new_end its upper k.
Proof.
  intros F. assert (G : forall l, Forall (fun it => 8 <= len it) l -> forall upper top, chain l top -> top <= upper -> forall i,
    old_end l upper i + 8 * Z.of_nat (Nat.min i (length l)) <= upper).
  { clear. induction 1 as [|it r L _ IH]; intros upper top C T i; cbn [chain] in C.
    - cbn [old_end length]. rewrite Nat.min_0_r. lia.
    - destruct C as [C1 C2]. destruct i as [|i]; cbn [old_end length Nat.min]; [lia|].
      unfold stop in C1. specialize (IH (upper - len it) (off it) C2 ltac:(lia) i). lia. }
  assert (K : forall k l, Forall (fun it => 8 <= len it) l -> forall upper top, chain l top -> top <= upper -> forall i, (k <= i)%nat ->
    (k <= length l)%nat ->
    old_end l upper i + 8 * (Z.of_nat (Nat.min i (length l)) - Z.of_nat k) <= new_end l upper k).
  { clear F its. induction k as [|k IH]; intros l F upper top C T i I J.
    - specialize (G l F upper top C T i). assert (E : new_end l upper 0 = upper) by (destruct l; reflexivity). lia.
    - destruct F as [|it r L F]; cbn [length] in *; [lia|]. destruct C as [C1 C2]. unfold stop in C1.
      destruct i as [|i]; [lia|]. cbn [old_end new_end Nat.min].
      specialize (IH r F (upper - len it) (off it) C2 ltac:(lia) i ltac:(lia) ltac:(lia)). lia. }
  intros upper C k i I J. now apply (K k its F upper upper C ltac:(lia) i I).
Qed.

Lemma reads_copies window its upper first count : Forall (fun o => is_copy o = true) (reads window its upper first count).
Proof. apply Forall_forall. intros o I. now apply in_map_iff in I as (i & <- & _). Qed.
Lemma writes_copies window its upper first count : Forall (fun o => is_copy o = true) (writes window its upper first count).
Proof. apply Forall_forall. intros o I. now apply in_map_iff in I as (i & <- & _). Qed.

(** ** What registers and page hold *)
Section Windows.
  Variables (window : Z) (its : list item) (upper : Z) (m : mem).
  Hypothesis lens : nonneg its.
  Hypothesis narrow : Forall (fun it => len it <= window) its.
  Hypothesis wide : 0 <= window.

  Let n := length its.

  (** After [k] stores the tuples before [k] are right, or the whole page if the hole is among them; what lies a window below
      the last one is as it was; and registers hold what windows [first] to [last] held at the beginning. *)
  Record holds (k first last : nat) (s : state) : Prop := {
    done : forall i, new_end its upper k <= i \/ (n < k)%nat -> page s i = packed (place its upper) m m i;
    ahead : forall i, k = 0%nat \/ i < new_end its upper (pred k) - window -> page s i = m i;
    held : forall j, (first <= j < last)%nat -> forall x, 0 <= x < window ->
      scratch s (register window j + x) = m (old_end its upper j - window + x)
  }.

  (** Window [j] has not been smashed by the first [k] stores. *)
  Definition intact (k j : nat) : Prop := k = 0%nat \/ old_end its upper j <= new_end its upper (pred k) - window.

  Lemma other_register i j x : (i < j < i + 32)%nat -> 0 <= x < window ->
    register window i + x < register window j \/ register window j + window <= register window i + x.
  Proof.
    unfold register, REGISTERS. intros I X.
    assert (D : Z.of_nat i mod 32 < Z.of_nat j mod 32 \/ Z.of_nat j mod 32 < Z.of_nat i mod 32) by div_lia.
    destruct D; [left|right]; nia.
  Qed.

  Lemma read_one k first last s : (last < first + 32)%nat -> intact k last -> holds k first last s ->
    holds k first (S last) (step (Save (register window last) (old_end its upper last - window) window) s).
  Proof.
    intros R J [D A H]. split; [exact D|exact A|]. cbn [step scratch]. intros j I x X. unfold copy.
    destruct (Nat.eq_dec j last) as [->|E].
    - cases; try lia.
      replace (old_end its upper last - window + (register window last + x - register window last))
        with (old_end its upper last - window + x) by lia.
      apply A. destruct J; [now left|right; lia].
    - pose proof (other_register j last x ltac:(lia) X). cases; try lia; apply H; lia || assumption.
  Qed.

  Lemma write_one k last s : (k < last)%nat -> holds k k last s ->
    holds (S k) (S k) last (step (Restore (new_end its upper k - window) (register window k) window) s).
  Proof.
    intros L [D A H]. pose proof (new_end_falls its lens upper k (S k) ltac:(lia)) as F.
    pose proof (new_end_step its window narrow wide upper k) as G.
    assert (P : forall i, new_end its upper k - window <= i < new_end its upper k ->
      scratch s (register window k + (i - (new_end its upper k - window))) = m (old_end its upper k + (i - new_end its upper k))).
    { intros i I. rewrite H by lia. f_equal. lia. }
    split; cbn [step page scratch pred].
    - intros i I. unfold copy. cases; try (apply D; lia).
      + rewrite P by lia. destruct (Z.le_gt_cases (new_end its upper (S k)) i).
        * symmetry. apply packed_end; [exact lens|lia].
        * destruct (ends_behind its upper k ltac:(unfold n in I; lia)) as [E E']. rewrite E, E'.
          rewrite packed_below by (auto; lia). f_equal. lia.
      + destruct I as [I|I]; [lia|]. destruct (ends_behind its upper k ltac:(unfold n in I; lia)) as [E E'].
        rewrite packed_below by (auto; lia). apply A. destruct k as [|k]; [now left|right]. cbn [pred].
        pose proof (new_end_falls its lens upper k (S k) ltac:(lia)). lia.
    - intros i [I|I]; [discriminate|]. unfold copy. cases; try lia. apply A.
      destruct k as [|k]; [now left|right]. cbn [pred]. pose proof (new_end_falls its lens upper k (S k) ltac:(lia)). lia.
    - intros j J. apply H. lia.
  Qed.

  Lemma reads_hold count : forall k first last s, (last + count <= first + 32)%nat ->
    (forall j, (last <= j < last + count)%nat -> intact k j) -> holds k first last s ->
    holds k first (last + count) (exec (reads window its upper last count) s).
  Proof.
    induction count as [|count IH]; intros k first last s R J H; cbn [reads seq map].
    - now rewrite Nat.add_0_r.
    - rewrite exec_cons. replace (last + S count)%nat with (S last + count)%nat by lia.
      apply IH; [lia|intros; apply J; lia|]. apply read_one; [lia|apply J; lia|exact H].
  Qed.

  (** Those read last, which will not be written, may be smashed. *)
  Lemma reads_keep count : forall k first last from s, (last <= from)%nat -> (from + count <= first + 32)%nat ->
    holds k first last s -> holds k first last (exec (reads window its upper from count) s).
  Proof.
    induction count as [|count IH]; intros k first last from s L R [D A H]; cbn [reads seq map]; [now split|].
    rewrite exec_cons. apply IH; [lia|lia|]. split; [exact D|exact A|]. cbn [step scratch]. intros j I x X. unfold copy.
    pose proof (other_register j from x ltac:(lia) X). cases; try lia; apply H; lia || assumption.
  Qed.

  Lemma writes_hold count : forall k last s, (k + count <= last)%nat -> holds k k last s ->
    holds (k + count) (k + count) last (exec (writes window its upper k count) s).
  Proof.
    induction count as [|count IH]; intros k last s L H; cbn [writes seq map].
    - now rewrite Nat.add_0_r.
    - rewrite exec_cons. replace (k + S count)%nat with (S k + count)%nat by lia.
      apply IH; [lia|]. apply write_one; [lia|exact H].
  Qed.

  Lemma holds_at_first scratch0 : holds 0 0 0 (State m scratch0).
  Proof.
    split; cbn [page]; [|reflexivity|lia]. intros i [I|I]; [|lia].
    assert (E : new_end its upper 0 = upper) by (destruct its; reflexivity). now rewrite packed_above by (auto; lia).
  Qed.

  Lemma permuted few scratch0 i : (n <= few)%nat -> Z.of_nat few < REGISTERS ->
    page (exec (reads window its upper 0 (S few) ++ writes window its upper 0 (S few)) (State m scratch0)) i =
    packed (place its upper) m m i.
  Proof.
    unfold REGISTERS. intros N R. rewrite exec_app.
    assert (H : holds 0 0 (0 + S few) (exec (reads window its upper 0 (S few)) (State m scratch0))).
    { apply reads_hold; [lia|now left|apply holds_at_first]. }
    apply (writes_hold (S few) 0) in H; [|lia]. apply (done _ _ _ _ H). lia.
  Qed.

  Section Slide.
    Variable ahead : nat.
    Hypothesis some_ahead : (0 < ahead <= 16)%nat.
    Hypothesis small : window <= 8 * (Z.of_nat ahead + 1).
    Hypothesis tall : Forall (fun it => 8 <= len it) its.
    Hypothesis apart : chain its upper.

    (** The tuples between are as long as a window. *)
    Lemma read_ahead batch j : (ahead * S batch <= j)%nat -> (ahead * S batch <= n)%nat -> intact (ahead * batch) j.
    Proof.
      intros J N. unfold intact. destruct batch as [|batch]; [left; lia|right].
      pose proof (ends_apart its tall upper apart (pred (ahead * S batch)) j) as E. fold n in E.
      rewrite !Nat.mul_succ_r in *. specialize (E ltac:(lia) ltac:(lia)). lia.
    Qed.

    Lemma batches_pack count : forall batch s, (ahead * (batch + count) <= n + ahead)%nat -> (n < ahead * (batch + count))%nat ->
      holds (ahead * batch) (ahead * batch) (ahead * S batch) s -> forall i,
      page (exec (flat_map (slide_batch ahead window its upper) (seq batch count)) s) i = packed (place its upper) m m i.
    Proof.
      induction count as [|count IH]; intros batch s L N H i; cbn [seq flat_map].
      - apply (done _ _ _ _ H). right. now rewrite Nat.add_0_r in N.
      - unfold slide_batch. rewrite !exec_app. set (t := exec (reads window its upper (ahead * S batch) ahead) s).
        pose proof (Nat.mul_succ_r ahead batch) as E. pose proof (Nat.mul_succ_r ahead (S batch)) as E'.
        replace (batch + S count)%nat with (S batch + count)%nat in L, N by lia.
        destruct (Nat.le_gt_cases (ahead * S batch) n) as [M|M].
        + assert (T : holds (ahead * batch) (ahead * batch) (ahead * S batch + ahead) t).
          { apply reads_hold; [lia| |exact H]. intros j J. apply read_ahead; lia. }
          apply (writes_hold ahead) in T; [|lia]. apply IH; [exact L|exact N|]. rewrite <- E in T. rewrite E'. exact T.
        + assert (T : holds (ahead * batch) (ahead * batch) (ahead * S batch) t) by (apply reads_keep; [lia|lia|exact H]).
          apply (writes_hold ahead) in T; [|lia]. destruct count as [|count]; [apply (done _ _ _ _ T); lia|].
          rewrite Nat.mul_add_distr_l, (Nat.mul_succ_r ahead count) in L. lia.
    Qed.

    Lemma slid scratch0 i :
      page (exec (slide_all ahead window its upper) (State m scratch0)) i = packed (place its upper) m m i.
    Proof.
      unfold slide_all. fold n. rewrite exec_app. pose proof (Nat.div_mod n ahead ltac:(lia)) as D.
      pose proof (Nat.mod_upper_bound n ahead ltac:(lia)) as B.
      apply batches_pack; [rewrite Nat.add_0_l, Nat.mul_succ_r; lia..|].
      rewrite Nat.mul_0_r, Nat.mul_1_r. apply (reads_hold ahead 0 0 0); [lia|now left|apply holds_at_first].
    Qed.
  End Slide.
End Windows.

(** ** Windows by halves *)
Lemma slide_all_copies ahead window its upper : Forall (fun o => is_copy o = true) (slide_all ahead window its upper).
Proof.
  apply Forall_app. split; [apply reads_copies|]. apply Forall_flat_map, Forall_forall. intros batch _.
  apply Forall_app. split; [apply reads_copies|apply writes_copies].
Qed.

Definition same_state (s t : state) : Prop := (forall i, page s i = page t i) /\ (forall i, scratch s i = scratch t i).

Lemma step_same o s t : same_state s t -> same_state (step o s) (step o t).
Proof.
  intros [P Q]. destruct o; split; intro i; cbn [step page scratch]; unfold copy, store; auto; destruct (_ && _); auto.
Qed.

(** The second half reads what the first has not written. *)
Lemma halves_are_one o s : same_state (exec (in_halves o) s) (step o s).
Proof.
  assert (H : forall n, 0 <= n - 2 * (n / 2) <= 1) by (intro n; div_lia).
  destruct o as [to from n|to from n|to from n|to value|to value]; try (split; reflexivity); specialize (H n);
    split; intro i; cbn [in_halves exec fold_left step page scratch]; try reflexivity; unfold copy; cases; try lia; f_equal; lia.
Qed.

Lemma halves_exec p : forall s t, same_state s t -> same_state (exec (flat_map in_halves p) s) (exec p t).
Proof.
  induction p as [|o p IH]; intros s t H; cbn [flat_map]; [exact H|]. rewrite exec_app, exec_cons. apply IH.
  destruct (halves_are_one o s) as [P Q]. destruct (step_same o s t H) as [P' Q']. split; intro i; [now rewrite P|now rewrite Q].
Qed.

Lemma halves_copies p : Forall (fun o => is_copy o = true) p -> Forall (fun o => is_copy o = true) (flat_map in_halves p).
Proof.
  intros F. apply Forall_flat_map. revert F. apply Forall_impl. intros o C. destruct o; repeat constructor; discriminate.
Qed.

Lemma halves_bounds below above p : Forall (in_bounds below above) p -> Forall (in_bounds below above) (flat_map in_halves p).
Proof.
  intros F. apply Forall_flat_map. revert F. apply Forall_impl. intros o B.
  assert (H : forall n, 0 <= n - 2 * (n / 2) <= 1) by (intro n; div_lia).
  destruct o as [to from n|to from n|to from n|to value|to value]; cbn [in_halves]; repeat constructor; cbn [in_bounds] in *;
    try specialize (H n); lia.
Qed.

(** ** On a valid page *)
Section Valid.
  Variable m : mem.
  Hypothesis page_m : is_page m.
  Hypothesis valid : valid_page m.

  Lemma registers_fit_spec window : registers_fit m window = true -> (forall it, In it (items m) -> len it <= window) /\
    0 <= window <= LINE /\ window <= pd_upper m + 8 /\ window <= new_upper_of m.
  Proof.
    unfold registers_fit. intros R. apply andb_true_iff in R as [R A]. apply andb_true_iff in R as [R B].
    apply andb_true_iff in R as [R C]. pose proof (windows_wide m (Some window) R) as W. cbn [windows_fit width] in *.
    apply andb_true_iff in R as [_ R]. apply Z.leb_le in A, B, C, R. auto.
  Qed.

  Lemma item_tall it : In it (items m) -> 8 <= len it /\ pd_upper m <= off it /\ stop it <= pd_special m.
  Proof.
    intros I. pose proof (item_facts m page_m (proj1 valid) it I) as F. pose proof (valid_item m valid it I) as V.
    unfold item_ok in V. destruct F as (_ & _ & P & _ & M). repeat split; try apply V. Z.div_mod_to_equations. lia.
  Qed.

  Lemma permute_packs window few scratch0 i :
    page (exec (permute window few m) (State m scratch0)) i = packed (placed ItemOrder m) m m i.
  Proof.
    unfold permute. destruct (start true m) as [rest upper] eqn:S. rewrite (rest_packed m page_m valid _ _ _ S).
    destruct (_ && _) eqn:E; [|now apply (by_runs_packs m page_m valid true)].
    apply andb_true_iff in E as [E R]. apply andb_true_iff in E as [E F]. apply Nat.leb_le in E. apply Z.ltb_lt in F.
    apply registers_fit_spec in R as (W & P & _). apply permuted; auto; [|apply Forall_forall|lia].
    - apply (rest_nonneg m page_m valid _ _ _ S).
    - intros it I. apply W, (rest_incl m page_m valid _ _ _ S), I.
  Qed.

  Lemma slide_packs window scratch0 i :
    page (exec (slide window m) (State m scratch0)) i = packed (placed ItemOrder m) m m i.
  Proof.
    unfold slide. destruct (start false m) as [rest upper] eqn:S. rewrite (rest_packed m page_m valid _ _ _ S).
    destruct (_ && _) eqn:E; [|now apply (by_runs_packs m page_m valid false)].
    apply andb_true_iff in E as [E R]. apply registers_fit_spec in R as (W & P & _). pose proof (rest_incl m page_m valid _ _ _ S) as I.
    destruct (start_spec m page_m valid _ _ _ S) as (_ & _ & _ & _ & _ & C & _).
    apply slid; try apply Forall_forall; try (intros it J; apply I in J).
    - apply item_tall in J. lia.
    - now apply W.
    - lia.
    - unfold AHEAD. lia.
    - unfold AHEAD, LINE in *. lia.
    - now apply item_tall.
    - now apply C, valid.
  Qed.

  Lemma slide_pairs_packs scratch0 i :
    page (exec (slide_pairs m) (State m scratch0)) i = packed (placed ItemOrder m) m m i.
  Proof.
    unfold slide_pairs. destruct (start false m) as [rest upper] eqn:S. rewrite (rest_packed m page_m valid _ _ _ S).
    destruct (_ && _) eqn:E; [|now apply (by_runs_packs m page_m valid false)].
    apply andb_true_iff in E as [E R]. apply registers_fit_spec in R as (W & _). pose proof (rest_incl m page_m valid _ _ _ S) as I.
    destruct (start_spec m page_m valid _ _ _ S) as (_ & _ & _ & _ & _ & C & _).
    destruct (halves_exec (slide_all PAIRS_AHEAD PAIR rest upper) (State m scratch0) (State m scratch0)) as [P _]; [now split|].
    rewrite P. apply slid; try apply Forall_forall; try (intros it J; apply I in J); unfold PAIRS_AHEAD, PAIR in *.
    - apply item_tall in J. lia.
    - now apply W.
    - lia.
    - lia.
    - lia.
    - now apply item_tall.
    - now apply C, valid.
  Qed.

  (** Each window lies in the page, and each register in scratch. *)
  Lemma window_bounds window rest upper : registers_fit m window = true -> (forall it, In it rest -> In it (items m)) ->
    upper <= pd_special m -> upper - total rest = new_upper_of m -> forall first count,
    Forall (in_bounds 0 0) (reads window rest upper first count) /\ Forall (in_bounds 0 0) (writes window rest upper first count).
  Proof.
    intros R I U T first count. apply registers_fit_spec in R as (W & P & L & M). destruct valid as ((_ & H & _) & _).
    assert (N : nonneg rest) by (apply Forall_forall; intros it J; apply I, item_tall in J; lia).
    assert (G : forall i, 0 <= register window i /\ register window i + window <= BLCKSZ).
    { intro i. unfold register, REGISTERS, LINE, BLCKSZ in *. pose proof (Z.mod_pos_bound (Z.of_nat i) 32). nia. }
    assert (O : forall l top i, (forall it, In it l -> In it (items m)) -> top - total l = new_upper_of m -> top <= pd_special m ->
      window <= old_end l top i <= pd_special m).
    { induction l as [|it l IH]; intros top i S E F; cbn [old_end total] in *; [lia|].
      pose proof (item_tall it (S it (or_introl eq_refl))) as V. unfold stop in *.
      destruct i; [lia|]. apply IH; [intros; apply S; now right|lia|lia]. }
    split; apply Forall_forall; intros o J; apply in_map_iff in J as (i & <- & _); specialize (G i); cbn [in_bounds].
    - specialize (O rest upper i I T U). lia.
    - pose proof (new_end_bounds rest upper i N). lia.
  Qed.
End Valid.
