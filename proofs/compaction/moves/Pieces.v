(* SPDX-License-Identifier: PostgreSQL *)
(** * Larger tuples by pieces of one size, in place or from scratch, on every valid page *)
From Pgquern.common Require Import Integers.
From Pgquern.compaction Require Import Page Memory Algorithms Spec Moves Decode Copies.

(** ** In place, each tuple through registers *)
Section One.
  Variables (it : item) (to : Z) (pieces : nat) (m : mem).
  Hypothesis long : PIECE <= len it.

  Lemma pieces_read count : forall first s, (forall i, page s i = m i) ->
    let r := exec (map (fun k => Save (PIECE * Z.of_nat k) (off it + piece_start it k) PIECE) (seq first count)) s in
    (forall i, page r i = m i) /\ (forall y, y < PIECE * Z.of_nat first -> scratch r y = scratch s y) /\
    (forall k x, (first <= k < first + count)%nat -> 0 <= x < PIECE ->
       scratch r (PIECE * Z.of_nat k + x) = m (off it + piece_start it k + x)).
  Proof using.
    unfold PIECE. induction count as [|count IH]; intros first s P; cbn [seq map]; [repeat split; auto; lia|].
    rewrite exec_cons. set (t := step _ s). destruct (IH (S first) t P) as (A & B & C). split; [exact A|].
    assert (T : forall y, scratch t y = if (32 * Z.of_nat first <=? y) && (y <? 32 * Z.of_nat first + 32)
      then m (off it + piece_start it first + (y - 32 * Z.of_nat first)) else scratch s y).
    { intro y. subst t. cbn [step scratch]. unfold copy, PIECE. destruct (_ && _); [apply P|reflexivity]. }
    split.
    - intros y Y. rewrite B by lia. rewrite T. cases; lia || reflexivity.
    - intros k x K X. destruct (Nat.eq_dec k first) as [->|E]; [|apply C; lia].
      rewrite B by lia. rewrite T. cases; try lia; same.
  Qed.

  (** Where piece [k - 1] starts. *)
  Let top (k : nat) : Z := Z.max 0 (len it - PIECE * Z.of_nat k).

  Lemma pieces_written count : forall first s, (first + count <= pieces)%nat ->
    (forall i, page s i = if (to + top first <=? i) && (i <? to + len it) then m (off it + (i - to)) else m i) ->
    (forall k x, (k < pieces)%nat -> 0 <= x < PIECE -> scratch s (PIECE * Z.of_nat k + x) = m (off it + piece_start it k + x)) ->
    forall i, page (exec (map (fun k => Restore (to + piece_start it k) (PIECE * Z.of_nat k) PIECE) (seq first count)) s) i =
      if (to + top (first + count) <=? i) && (i <? to + len it) then m (off it + (i - to)) else m i.
  Proof.
    induction count as [|count IH]; intros first s B P R i; cbn [seq map]; [now rewrite Nat.add_0_r|].
    rewrite exec_cons. replace (first + S count)%nat with (S first + count)%nat by lia. apply IH; [lia| |exact R].
    clear i. intro i. cbn [step page]. unfold copy. rewrite P.
    assert (E : piece_start it first = top (S first)) by (unfold piece_start, top; lia). rewrite E.
    assert (T : top (S first) <= top first <= top (S first) + PIECE /\ top (S first) + PIECE <= len it)
      by (unfold top, PIECE in *; lia).
    destruct (Z.leb_spec (to + top (S first)) i), (Z.ltb_spec i (to + top (S first) + PIECE)); cbn [andb].
    - replace (PIECE * Z.of_nat first + (i - (to + top (S first)))) with (PIECE * Z.of_nat first + (i - to - top (S first))) by lia.
      rewrite R by lia. rewrite E. cases; try lia; same.
    - cases; try lia; reflexivity.
    - cases; try lia; reflexivity.
    - cases; try lia; reflexivity.
  Qed.
End One.

Lemma climb_one_moves pieces it to s : PIECE <= len it <= PIECE * Z.of_nat pieces ->
  forall i, page (exec (climb_one pieces it to) s) i = page (step (Move to (off it) (len it)) s) i.
Proof.
  intros L i. unfold climb_one. rewrite exec_app. set (t := exec (map _ _) s).
  destruct (pieces_read it (page s) pieces 0 s ltac:(reflexivity)) as (A & _ & B). fold t in A, B.
  rewrite (pieces_written it to pieces (page s) ltac:(lia) pieces 0 t); [|lia| |intros; apply B; lia].
  - cbn [step page]. unfold copy, PIECE in *. cases; try lia; same.
  - intro j. rewrite A. unfold PIECE in *. cases; lia || reflexivity.
Qed.

Lemma climb_all_moves pieces its : Forall (fun it => PIECE <= len it <= PIECE * Z.of_nat pieces) its -> forall upper s t,
  (forall i, page s i = page t i) ->
  forall i, page (exec (climb_all pieces its upper) s) i = page (exec (single_copies Move its upper) t) i.
Proof.
  induction 1 as [|it r L _ IH]; intros upper s t P; [exact P|]. cbn [climb_all single_copies].
  rewrite exec_app, exec_cons. apply IH. intro i. rewrite climb_one_moves by exact L. cbn [step page]. unfold copy.
  now destruct (_ && _).
Qed.

(** ** From scratch, each tuple by whole lines *)
Lemma lines_down_spec by_ count : forall at_ s,
  (forall j, scratch (exec (lines_down count at_ by_) s) j = scratch s j) /\
  (forall i, page (exec (lines_down count at_ by_) s) i =
     if (at_ - LINE * Z.of_nat count <=? i) && (i <? at_) then scratch s (i + by_) else page s i).
Proof.
  unfold LINE. induction count as [|count IH]; intros at_ s; cbn [lines_down].
  - split; [reflexivity|]. intro i. cases; lia || reflexivity.
  - rewrite exec_cons. unfold LINE in *. destruct (IH (at_ - 64) (step (Restore (at_ - 64) (at_ + by_ - 64) 64) s)) as [A B].
    split; [exact A|]. intro i. rewrite B. cbn [step page scratch]. unfold copy. cases; try lia; same.
Qed.

(** Below the tuples less than a line is smashed. *)
Lemma restore_lines_spec its : nonneg its -> forall upper s,
  let r := exec (restore_lines its upper) s in
  (forall j, scratch r j = scratch s j) /\
  (forall i, upper - total its <= i -> page r i = packed (place its upper) (scratch s) (page s) i) /\
  (forall i, i < upper - total its - LINE -> page r i = page s i).
Proof.
  induction 1 as [|it r L N IH]; intros upper s; cbn [restore_lines place packed total]; [repeat split; reflexivity|].
  pose proof (total_nonneg r N) as TN. rewrite exec_cons, exec_app. set (count := Z.to_nat _).
  set (t := exec (lines_down count _ _) _). destruct (IH (upper - len it) t) as (A & B & C). clear IH.
  assert (D : (forall j, scratch t j = scratch s j) /\ (forall i, page t i =
    if (Z.min (upper - LINE) (upper / LINE * LINE - LINE * Z.of_nat count) <=? i) && (i <? upper)
    then scratch s (i + (stop it - upper)) else page s i)).
  { destruct (lines_down_spec (stop it - upper) count (upper / LINE * LINE) (step (Restore (upper - LINE) (stop it - LINE) LINE) s))
      as [E F]. fold t in E, F. split; [exact E|]. intro i. rewrite F. cbn [step page scratch]. unfold copy.
    assert (upper - LINE < upper / LINE * LINE <= upper) by (unfold LINE; div_lia).
    cases; try lia; same. }
  destruct D as [E F].
  assert (G : upper - len it - LINE <= Z.min (upper - LINE) (upper / LINE * LINE - LINE * Z.of_nat count) <= upper - len it).
  { subst count. unfold LINE. destruct (Z.le_gt_cases 0 ((upper / 64 * 64 - (upper - len it) + 64 - 1) / 64)) as [P|P].
    - rewrite Z2Nat.id by exact P. div_lia.
    - exfalso. div_lia. }
  split; [|split].
  - intro j. now rewrite A.
  - intros i I. rewrite B by lia. cases; try lia.
    + rewrite packed_above by (auto; lia). rewrite F. unfold stop. cases; try lia; same.
    + rewrite packed_above by (auto; lia). rewrite packed_above by (auto; lia). rewrite F. cases; lia || reflexivity.
    + rewrite (packed_covered r N _ _ (page t) (page s)) by lia.
      apply packed_src. intros x _ j _. apply E.
  - intros i I. rewrite C by lia. rewrite F. cases; lia || reflexivity.
Qed.

(** ** To scratch, line by line, by depth *)

(** Byte [i] lies in one of the placed tuples, at least [low] and less than [high] bytes below its end. *)
Definition at_depth (pl : list (item * Z)) (low high i : Z) : Prop :=
  exists it to, In (it, to) pl /\ to <= i < to + len it /\ to + len it - high <= i < to + len it - low.

Lemma lines_at_page depth its : forall upper s i, page (exec (lines_at depth its upper) s) i = page s i.
Proof.
  induction its as [|it r IH]; intros upper s i; cbn [lines_at]; [reflexivity|]. rewrite exec_app, IH. now destruct (_ <? _).
Qed.

(** The top lines, of which some begin below their tuples. *)
Lemma top_lines its : Forall (fun it => 0 < len it) its -> forall upper s,
  (forall i, upper <= i -> scratch (exec (lines_at 0 its upper) s) i = scratch s i) /\
  (forall i, at_depth (place its upper) 0 LINE i ->
     scratch (exec (lines_at 0 its upper) s) i = packed (place its upper) (page s) (page s) i).
Proof.
  induction 1 as [|it r L F IH]; intros upper s; cbn [lines_at place]; [split; [reflexivity|]; now intros i (x & to & [] & _)|].
  assert (N : nonneg r) by (eapply Forall_impl; [|exact F]; cbv beta; lia).
  destruct (Z.ltb_spec (upper - len it) (upper - 0)); [|lia]. change (0 =? 0) with true. cbn [app]. rewrite exec_cons.
  destruct (IH (upper - len it) (step (Save (upper - LINE) (stop it - (upper - (upper - LINE))) LINE) s)) as [A B]. split.
  - intros i I. rewrite A by lia. cbn [step scratch]. unfold copy. cases; lia || reflexivity.
  - intros i (x & to & [[= -> <-]|I] & J & K); cbn [packed].
    + rewrite A by lia. cbn [step scratch]. unfold copy, stop, LINE in *. cases; try lia; same.
    + apply (place_bounds r N) in I as B'. cases; try lia.
      rewrite B by (exists x, to; auto). reflexivity.
Qed.

(** The deeper ones, each inside its tuple: what is right stays so. *)
Lemma deep_lines depth its : LINE <= depth -> Forall (fun it => 0 < len it) its -> forall upper (m right : mem) s,
  (forall i, page s i = m i) -> (forall i, upper - total its <= i < upper -> right i = packed (place its upper) m m i) ->
  let r := exec (lines_at depth its upper) s in
  (forall i, scratch s i = right i -> scratch r i = right i) /\
  (forall i, at_depth (place its upper) depth (depth + LINE) i -> scratch r i = right i).
Proof.
  intros D. induction 1 as [|it r L F IH]; intros upper m right s P R; cbn [lines_at place total packed] in *;
    [split; [auto|]; now intros i (x & to & [] & _)|].
  assert (N : nonneg r) by (eapply Forall_impl; [|exact F]; cbv beta; lia). pose proof (total_nonneg r N).
  rewrite exec_app. set (t := exec _ s).
  destruct (Z.eqb_spec depth 0); [unfold LINE in D; lia|].
  assert (T : (forall i, page t i = m i) /\ (forall i, scratch s i = right i -> scratch t i = right i) /\
    forall i, upper - len it <= i < upper -> upper - (depth + LINE) <= i < upper - depth -> scratch t i = right i).
  { subst t. destruct (Z.ltb_spec (upper - len it) (upper - depth)); cbn [exec fold_left]; [|split; [exact P|split; [auto|lia]]].
    assert (W : forall i, upper - len it <= i < upper -> m (off it + (i - (upper - len it))) = right i)
      by (intros i I; rewrite R by lia; cases; lia || reflexivity).
    split; [exact P|]. cbn [step scratch]. unfold copy, stop, LINE in *.
    split; intros i; intros; cases; try lia; try assumption; rewrite P, <- W by lia; f_equal; lia. }
  destruct T as (A & B & C).
  destruct (IH (upper - len it) m right t A) as [X Y].
  { intros i I. rewrite R by lia. cases; lia || reflexivity. }
  split; [auto|]. intros i (x & to & [[= -> <-]|I] & J & K); [apply X, C; lia|]. apply Y. exists x, to. auto.
Qed.

Lemma depths_spec its m count : Forall (fun it => 0 < len it) its -> forall upper s, (forall i, page s i = m i) ->
  let r := exec (flat_map (fun d => lines_at (LINE * Z.of_nat d) its upper) (seq 0 count)) s in
  (forall i, page r i = m i) /\
  (forall i, at_depth (place its upper) 0 (LINE * Z.of_nat count) i -> scratch r i = packed (place its upper) m m i).
Proof.
  intros F upper s P. induction count as [|count IH].
  - split; [exact P|]. intros i (x & to & _ & I & J). lia.
  - rewrite seq_S, flat_map_app, exec_app. cbn [flat_map Nat.add]. rewrite app_nil_r. set (t := exec _ s) in *.
    destruct IH as [A B]. split; [intro i; now rewrite lines_at_page|].
    destruct count as [|count].
    + intros i I. destruct (top_lines its F upper t) as [_ E]. rewrite E by exact I.
      rewrite (packed_base _ _ _ m) by apply A. apply packed_src. intros x _ j _. apply A.
    + destruct (deep_lines (LINE * Z.of_nat (S count)) its ltac:(unfold LINE; lia) F upper m (packed (place its upper) m m) t A
                  ltac:(reflexivity)) as [X Y].
      intros i (x & to & I & J & K). destruct (Z.le_gt_cases (to + len x - LINE * Z.of_nat (S count)) i).
      * apply X, B. exists x, to. repeat split; auto; lia.
      * apply Y. exists x, to. repeat split; auto; lia.
Qed.

(** ** On a valid page *)
Section Valid.
  Variable m : mem.
  Hypothesis page_m : is_page m.
  Hypothesis valid : valid_page m.

  Lemma climb_packs pieces scratch0 i :
    page (exec (climb pieces m) (State m scratch0)) i = packed (placed ItemOrder m) m m i.
  Proof.
    unfold climb. destruct (start false m) as [rest upper] eqn:S. rewrite (rest_packed m page_m valid _ _ _ S).
    destruct (_ && _) eqn:E; [|now apply (by_runs_packs m page_m valid false)].
    apply andb_true_iff in E as [E R]. apply andb_true_iff in R as [R _]. rewrite forallb_forall in R.
    destruct (start_spec m page_m valid _ _ _ S) as (_ & _ & _ & _ & _ & C & _).
    rewrite (climb_all_moves pieces rest) with (t := State m scratch0); [| |reflexivity].
    - apply (single_moves _ (rest_nonneg m page_m valid _ _ _ S) upper); [now apply C, valid|lia].
    - apply Forall_forall. intros it I. specialize (R it (rest_incl m page_m valid _ _ _ S it I)).
      apply andb_true_iff in R as [A B]. apply Z.leb_le in A, B. lia.
  Qed.

  Lemma lines_packs scratch0 i :
    page (exec (lines m) (State m scratch0)) i = packed (placed ItemOrder m) m m i.
  Proof.
    unfold lines. destruct (start false m) as [rest upper] eqn:S. rewrite (rest_packed m page_m valid _ _ _ S).
    destruct (LINE <=? new_upper_of m) eqn:E; [|now apply (by_runs_packs m page_m valid false)].
    destruct (start_spec m page_m valid _ _ _ S) as (_ & _ & _ & T & _). change (new_upper m) with (new_upper_of m) in T.
    pose proof (rest_nonneg m page_m valid _ _ _ S) as N. pose proof (total_nonneg _ N).
    pose proof (proj1 (proj2 (proj1 valid))) as B8.
    rewrite !exec_cons, exec_app. set (s := step (save_lines m) _).
    assert (Q : forall j, (pd_upper m <= j < pd_special m -> scratch s j = m j) /\
      (BLCKSZ <= j < BLCKSZ + LINE -> scratch s j = m (new_upper_of m - LINE + (j - BLCKSZ)))).
    { intro j. subst s. unfold save_lines. cbn [step scratch page]. unfold copy, line_end, LINE, BLCKSZ in *.
      split; intro J; cases; first [same | exfalso; div_lia]. }
    destruct (restore_lines_spec rest N upper s) as (A & B & C). set (t := exec (restore_lines rest upper) s) in *.
    cbn [exec fold_left step page]. unfold copy.
    destruct (Z.leb_spec (new_upper_of m - LINE) i), (Z.ltb_spec i (new_upper_of m - LINE + LINE)); cbn [andb].
    - rewrite A. rewrite (proj2 (Q _)) by lia. rewrite packed_below by (auto; lia). f_equal. lia.
    - rewrite B by lia. subst s. cbn [step page] in *. rewrite packed_src with (src' := m); [reflexivity|].
      intros it I j J. apply (rest_incl m page_m valid _ _ _ S) in I.
      pose proof (valid_item m valid it I) as V. unfold item_ok in V. apply Q. lia.
    - rewrite C by lia. rewrite packed_below by (auto; lia). reflexivity.
    - unfold LINE in *. lia.
  Qed.

  Lemma item_positive it : In it (items m) -> 0 < len it.
  Proof. intros I. pose proof (item_facts m page_m (proj1 valid) it I). lia. Qed.

  Lemma by_depth_packs scratch0 i :
    page (exec (by_depth m) (State m scratch0)) i = packed (placed ItemOrder m) m m i.
  Proof.
    unfold by_depth. destruct (start false m) as [rest upper] eqn:S. rewrite (rest_packed m page_m valid _ _ _ S).
    destruct (LINE <=? _); [|now apply (by_runs_packs m page_m valid false)].
    destruct (start_spec m page_m valid _ _ _ S) as (_ & _ & _ & T & _). change (new_upper m) with (new_upper_of m) in T.
    pose proof (rest_nonneg m page_m valid _ _ _ S) as N. pose proof (total_nonneg _ N).
    rewrite exec_app. set (count := Z.to_nat _).
    destruct (depths_spec rest m count) with (upper := upper) (s := State m scratch0) as [A B].
    { apply Forall_forall. intros it I. apply item_positive, (rest_incl m page_m valid _ _ _ S), I. }
    { reflexivity. }
    set (t := exec (flat_map _ _) _) in *. cbn [exec fold_left step page]. unfold copy.
    destruct (Z.leb_spec (new_upper_of m) i), (Z.ltb_spec i (new_upper_of m + total rest)); cbn [andb].
    - replace (new_upper_of m + (i - new_upper_of m)) with i by lia. apply B.
      destruct (place_covers rest N upper i) as (it & to & I & J); [lia|]. exists it, to. repeat split; try lia; [exact I|].
      apply in_place, (rest_incl m page_m valid _ _ _ S) in I. pose proof (longest_spec (items m)) as L.
      rewrite Forall_forall in L. specialize (L it I). subst count. unfold LINE. pose proof (item_positive it I).
      rewrite Z2Nat.id by div_lia. div_lia.
    - rewrite A, packed_above by (auto; lia). reflexivity.
    - rewrite A, packed_below by (auto; lia). reflexivity.
    - lia.
  Qed.

  (** *** Each piece lies in the page, and each register in scratch *)
  Lemma climb_all_bounds pieces its : pieces_fit m pieces = true -> (forall it, In it its -> In it (items m)) -> forall upper,
    0 <= upper - total its -> upper <= pd_special m ->
    Forall (fun o => is_copy o = true) (climb_all pieces its upper) /\ Forall (in_bounds 0 0) (climb_all pieces its upper).
  Proof.
    intros R. apply andb_true_iff in R as [R P]. rewrite forallb_forall in R. apply Nat.leb_le in P.
    destruct valid as ((H1 & H & _) & _). unfold HEADER_SIZE, BLCKSZ in *.
    induction its as [|it r IH]; intros I upper U T; cbn [climb_all total] in *; [split; constructor|].
    pose proof (I it (or_introl eq_refl)) as J. specialize (R it J). apply andb_true_iff in R as [A B]. apply Z.leb_le in A, B.
    pose proof (valid_item m valid it J) as V. unfold item_ok, stop in V.
    assert (N : 0 <= total r).
    { apply total_nonneg, Forall_forall. intros x X. pose proof (item_facts m page_m (proj1 valid) x (I x (or_intror X))). lia. }
    destruct (IH (fun x X => I x (or_intror X)) (upper - len it) ltac:(lia) ltac:(unfold PIECE in *; lia)) as [C D].
    unfold climb_one, PIECE in *.
    split; apply Forall_app; split; auto; apply Forall_app; split; apply Forall_forall; intros o O;
      apply in_map_iff in O as (k & <- & K); apply in_seq in K; try reflexivity; cbn [in_bounds]; unfold piece_start, PIECE, BLCKSZ; lia.
  Qed.

  Lemma restore_lines_bounds its : (forall it, In it its -> In it (items m)) -> forall upper,
    LINE <= upper - total its -> upper <= pd_special m ->
    Forall (fun o => is_copy o = true) (restore_lines its upper) /\ Forall (in_bounds LINE LINE) (restore_lines its upper).
  Proof.
    destruct valid as ((H1 & H & _) & _). unfold HEADER_SIZE, BLCKSZ, LINE in *.
    assert (D : forall count by_ at_, 0 <= at_ - 64 * Z.of_nat count -> at_ <= 8192 -> -64 <= at_ + by_ - 64 * Z.of_nat count ->
      at_ + by_ <= 8192 -> Forall (fun o => is_copy o = true) (lines_down count at_ by_) /\ Forall (in_bounds 64 64) (lines_down count at_ by_)).
    { clear. induction count as [|count IH]; intros by_ at_ A B C E; cbn [lines_down]; [split; constructor|].
      unfold LINE. destruct (IH by_ (at_ - 64) ltac:(lia) ltac:(lia) ltac:(lia) ltac:(lia)).
      split; constructor; auto. cbn [in_bounds]. unfold BLCKSZ. lia. }
    induction its as [|it r IH]; intros I upper U T; cbn [restore_lines total] in *; [split; constructor|].
    pose proof (I it (or_introl eq_refl)) as J. pose proof (valid_item m valid it J) as V. unfold item_ok, stop in V.
    pose proof (item_facts m page_m (proj1 valid) it J) as F.
    assert (N : 0 <= total r).
    { apply total_nonneg, Forall_forall. intros x X. pose proof (item_facts m page_m (proj1 valid) x (I x (or_intror X))). lia. }
    destruct (IH (fun x X => I x (or_intror X)) (upper - len it) ltac:(lia) ltac:(lia)) as [A B].
    unfold stop, LINE in *. set (count := Z.to_nat _).
    assert (K : upper / 64 * 64 - 64 * Z.of_nat count > upper - len it - 64).
    { subst count. destruct (Z.le_gt_cases 0 ((upper / 64 * 64 - (upper - len it) + 64 - 1) / 64)) as [P|P];
        [rewrite Z2Nat.id by exact P; div_lia|]. exfalso. div_lia. }
    destruct (D count (off it + len it - upper) (upper / 64 * 64)) as [X Y]; try div_lia.
    split; constructor; try reflexivity; try (apply Forall_app; split; assumption). cbn [in_bounds]. unfold BLCKSZ. lia.
  Qed.

  Lemma lines_at_bounds depth its : depth = 0 \/ LINE <= depth -> LINE <= pd_upper m + 8 -> (forall it, In it its -> In it (items m)) -> forall upper,
    0 <= upper - total its -> upper <= pd_special m ->
    Forall (fun o => is_copy o = true) (lines_at depth its upper) /\ Forall (in_bounds LINE 0) (lines_at depth its upper).
  Proof.
    intros D P. destruct valid as ((H1 & H & _) & _). unfold HEADER_SIZE, BLCKSZ, LINE in *.
    induction its as [|it r IH]; intros I upper U T; cbn [lines_at total] in *; [split; constructor|].
    pose proof (I it (or_introl eq_refl)) as J. pose proof (valid_item m valid it J) as V. unfold item_ok, stop in V.
    destruct (item_facts m page_m (proj1 valid) it J) as (_ & _ & L & _ & M).
    assert (N : 0 <= total r).
    { apply total_nonneg, Forall_forall. intros x X. pose proof (item_positive x (I x (or_intror X))). lia. }
    assert (8 <= len it) by div_lia.
    destruct (IH (fun x X => I x (or_intror X)) (upper - len it) ltac:(lia) ltac:(lia)) as [A B].
    split; apply Forall_app; split; auto; destruct (Z.ltb_spec (upper - len it) (upper - depth)); repeat constructor.
    all: cbn [in_bounds]; unfold stop, LINE, BLCKSZ in *; destruct (Z.eqb_spec depth 0); lia.
  Qed.
End Valid.
