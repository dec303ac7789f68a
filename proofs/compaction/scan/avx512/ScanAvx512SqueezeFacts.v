(* SPDX-License-Identifier: PostgreSQL *)
(** * Squeezing by the arrays of the runs is squeezing by the tuples: the units that [mark_live] marks are the live ones *)
From Pgquern.common Require Import Integers ListFacts.
From Pgquern.instructions Require Import Lanes LaneFacts.
From Pgquern.compaction Require Import Page Memory Algorithms Spec Moves Decode Squeezing Copies.
From Pgquern.compaction Require Scan Squeezed ScanAvx512 ScanAvx512Squeeze.
From Pgquern.compaction Require Import ScanAvx512MarkLive.

(** ** Where, going upwards, live begins or ends *)
Fixpoint edges (above : Z) (l : list (Z * Z)) (bottom : Z) : list Z :=
  above :: match l with
           | [] => []
           | (end_, old_end) :: r => old_end :: edges (old_end - (end_ - match r with (next, _) :: _ => next | [] => bottom end)) r bottom
           end.

Lemma edges_cons above e o e' o' r bottom :
  edges above ((e, o) :: (e', o') :: r) bottom = above :: o :: edges (o - (e - e')) ((e', o') :: r) bottom.
Proof. reflexivity. Qed.

Definition at_unit (a : Z) : nat := Z.to_nat (a / 8).
Definition among_units (l : list Z) (j : nat) : bool := existsb (fun a => (at_unit a =? j)%nat) l.

Lemma put_set t k j : set (Scan.put t k 1) j = set t j || (k =? j)%nat.
Proof. unfold set, Scan.put. rewrite Nat.eqb_sym. destruct (k =? j)%nat; cbn; [symmetry; apply orb_true_r|now rewrite orb_false_r]. Qed.

Lemma toggled run_ends run_old_ends count : forall i above t j,
  set (ScanAvx512Squeeze.toggle_runs run_ends run_old_ends i count above t) j =
  set t j || among_units (edges above (map (fun k => (run_ends k, run_old_ends k)) (seq i count)) (run_ends (i + count)%nat)) j.
Proof.
  induction count as [|count IH]; intros i above t j; cbn [ScanAvx512Squeeze.toggle_runs seq map edges]; unfold among_units; cbn [existsb].
  - rewrite put_set. unfold at_unit. change ScanAvx512.UNIT with 8. now rewrite orb_false_r.
  - rewrite IH, !put_set. unfold among_units, at_unit. change ScanAvx512.UNIT with 8. rewrite <- !orb_assoc. do 3 f_equal.
    rewrite Nat.add_succ_comm. destruct count as [|count]; [|reflexivity]. cbn [seq map]. now rewrite <- plus_n_Sm, Nat.add_0_r.
Qed.

(** Each edge lies below the one before it, at a unit. *)
Fixpoint falling (l : list Z) (top : Z) : Prop :=
  match l with [] => True | a :: r => 0 <= a < top /\ a mod 8 = 0 /\ falling r a end.

(** How often live has begun or ended up to an address. *)
Definition flips (l : list Z) (at_ : Z) : bool := fold_right (fun a t => xorb (a <=? at_) t) false l.

Lemma parity_of_units l : forall top, falling l top -> forall u, parity (among_units l) (S u) = flips l (8 * Z.of_nat u).
Proof.
  assert (One : forall k n, parity (fun j => (k =? j)%nat) n = (k <? n)%nat).
  { intros k. induction n as [|n IH]; [reflexivity|]. cbn [parity]. rewrite IH.
    destruct (Nat.ltb_spec k n), (Nat.eqb_spec k n), (Nat.ltb_spec k (S n)); try reflexivity; lia. }
  assert (Both : forall f g n, (forall j, f j && g j = false) -> parity (fun j => f j || g j) n = xorb (parity f n) (parity g n)).
  { intros f g n D. induction n as [|n IH]; [reflexivity|]. cbn [parity]. rewrite IH. specialize (D n).
    destruct (f n), (g n), (parity f n), (parity g n); try discriminate; reflexivity. }
  assert (Below : forall l top j, falling l top -> among_units l j = true -> 8 * Z.of_nat j < top).
  { clear. induction l as [|a r IH]; intros top j F A; [discriminate|]. destruct F as (B & M & F). unfold among_units in A. cbn [existsb] in A.
    apply orb_true_iff in A as [A|A]; [|specialize (IH a j F A); lia]. apply Nat.eqb_eq in A. unfold at_unit in A. subst j. rewrite Z2Nat.id by div_lia. div_lia. }
  induction l as [|a r IH]; intros top F u; [|destruct F as (B & M & F)].
  - cbn [flips fold_right]. unfold among_units. cbn [existsb]. clear. induction (S u) as [|n IH]; [reflexivity|]. cbn [parity]. now rewrite IH.
  - unfold among_units. cbn [existsb]. rewrite (Both (fun j => (at_unit a =? j)%nat)).
    + rewrite One. fold (among_units r). rewrite (IH a F). cbn [flips fold_right]. fold (flips r (8 * Z.of_nat u)). f_equal. unfold at_unit.
      destruct (Nat.ltb_spec (Z.to_nat (a / 8)) (S u)), (Z.leb_spec a (8 * Z.of_nat u)); try reflexivity; exfalso; div_lia.
    + intros j. destruct (Nat.eqb_spec (at_unit a) j) as [E|E]; [|reflexivity]. cbn [andb]. apply not_true_is_false. intros A.
      specialize (Below r a j F A). unfold at_unit in E. subst j. rewrite Z2Nat.id in Below by div_lia. div_lia.
Qed.

(** ** The edges of the runs, and the tuples *)
Definition inside_one (its : list item) (at_ : Z) : bool := fold_right (fun it t => xorb (xorb (off it <=? at_) (stop it <=? at_)) t) false its.

Lemma flips_walk r at_ : forall above upper start_ stop_,
  flips (edges above ((upper + (stop_ - start_), stop_) :: ScanAvx512.run_list r start_ upper) (upper - total r)) at_ =
  xorb (above <=? at_) (xorb (xorb (start_ <=? at_) (stop_ <=? at_)) (inside_one r at_)).
Proof.
  induction r as [|it r IH]; intros above upper start_ stop_; cbn [ScanAvx512.run_list total].
  - cbn [edges flips fold_right inside_one]. replace (stop_ - (upper + (stop_ - start_) - (upper - 0))) with start_ by lia.
    rewrite !xorb_false_r. f_equal. apply xorb_comm.
  - replace (upper - (len it + total r)) with (upper - len it - total r) by lia. destruct (Z.eqb_spec (stop it) start_) as [Q|Q]; cbn [app].
    + replace (upper + (stop_ - start_)) with (upper - len it + (stop_ - off it)) by (unfold stop in Q; lia). rewrite IH.
      cbn [inside_one fold_right]. fold (inside_one r at_). rewrite Q.
      destruct (above <=? at_), (off it <=? at_), (start_ <=? at_), (stop_ <=? at_), (inside_one r at_); reflexivity.
    + pose proof (IH start_ (upper - len it) (off it) (stop it)) as E. replace (upper - len it + (stop it - off it)) with upper in E by (unfold stop; lia).
      rewrite edges_cons. replace (stop_ - (upper + (stop_ - start_) - upper)) with start_ by lia. set (l := edges start_ _ _) in *. change (flips (above :: stop_ :: l) at_) with (xorb (above <=? at_) (xorb (stop_ <=? at_) (flips l at_))). rewrite E.
      cbn [inside_one fold_right]. fold (inside_one r at_).
      destruct (above <=? at_), (off it <=? at_), (start_ <=? at_), (stop_ <=? at_), (stop it <=? at_), (inside_one r at_); reflexivity.
Qed.

Definition at_units (it : item) : Prop := 0 <= off it /\ 0 < len it /\ off it mod 8 = 0 /\ len it mod 8 = 0.

Lemma edges_walk r : Forall at_units r -> forall above top upper start_ stop_, chain r start_ ->
  0 <= above < top -> above mod 8 = 0 -> 0 <= start_ -> start_ < stop_ -> stop_ < above -> start_ mod 8 = 0 -> stop_ mod 8 = 0 ->
  falling (edges above ((upper + (stop_ - start_), stop_) :: ScanAvx512.run_list r start_ upper) (upper - total r)) top.
Proof.
  induction 1 as [|it r (O & L & Mo & Ml) F IH]; intros above top upper start_ stop_ C A Ma S0 S1 S2 Ms Mt; cbn [ScanAvx512.run_list total].
  - cbn [edges falling]. replace (stop_ - (upper + (stop_ - start_) - (upper - 0))) with start_ by lia. repeat split; try assumption; lia.
  - destruct C as [C1 C2]. replace (upper - (len it + total r)) with (upper - len it - total r) by lia. destruct (Z.eqb_spec (stop it) start_) as [Q|Q]; cbn [app].
    + replace (upper + (stop_ - start_)) with (upper - len it + (stop_ - off it)) by (unfold stop in Q; lia).
      apply IH; try assumption; unfold stop in Q; lia.
    + rewrite edges_cons. cbn [falling]. replace (stop_ - (upper + (stop_ - start_) - upper)) with start_ by lia.
      split; [lia|]. split; [exact Ma|]. split; [lia|]. split; [exact Mt|].
      pose proof (IH start_ stop_ (upper - len it) (off it) (stop it) C2) as E. replace (upper - len it + (stop it - off it)) with upper in E by (unfold stop; lia).
      apply E; unfold stop in *; try assumption; try lia. div_lia.
Qed.

Lemma inside_says r : Forall at_units r -> forall top at_, chain r top ->
  (top <= at_ -> inside_one r at_ = false) /\ (inside_one r at_ = true <-> exists it, In it r /\ off it <= at_ < stop it).
Proof.
  induction 1 as [|it r (O & L & _) F IH]; intros top at_ C; [split; [reflexivity|split; [discriminate|intros (it & [] & _)]]|].
  destruct C as [C1 C2]. destruct (IH (off it) at_ C2) as [I1 I2]. cbn [inside_one fold_right]. fold (inside_one r at_). unfold stop in *. split.
  - intros T. rewrite I1 by lia. destruct (Z.leb_spec (off it) at_), (Z.leb_spec (off it + len it) at_); try reflexivity; lia.
  - destruct (Z.leb_spec (off it) at_) as [A|A].
    + rewrite I1 by exact A. destruct (Z.leb_spec (off it + len it) at_); cbn [xorb]; split; try discriminate; try reflexivity.
      * intros (x & [<-|X] & Y); [lia|]. exfalso. assert (E : inside_one r at_ = true) by (apply I2; eauto). rewrite I1 in E by exact A. discriminate.
      * intros _. exists it. split; [now left|lia].
    + destruct (Z.leb_spec (off it + len it) at_); [lia|]. rewrite xorb_false_l. cbn [xorb]. rewrite I2. split; intros (x & X & Y); exists x.
      * split; [now right|exact Y].
      * destruct X as [<-|X]; [lia|]. auto.
Qed.

(** ** Two falling lists of the same units are one *)
Lemma apart_same l : forall l' top top', apart l top -> apart l' top' -> (forall x, In x l <-> In x l') -> l = l'.
Proof.
  induction l as [|x r IH]; intros [|y r'] top top' A A' E; [reflexivity|destruct (proj2 (E y) (or_introl eq_refl))|destruct (proj1 (E x) (or_introl eq_refl))|].
  destruct A as [A1 A2], A' as [B1 B2]. pose proof (apart_below r x A2) as Lx. pose proof (apart_below r' y B2) as Ly.
  assert (x = y) as ->.
  { destruct (proj1 (E x) (or_introl eq_refl)) as [X|X]; [now symmetry|]. destruct (proj2 (E y) (or_introl eq_refl)) as [Y|Y]; [exact Y|].
    specialize (Lx y Y). specialize (Ly x X). lia. }
  f_equal. apply (IH r' y y A2 B2). intros z. specialize (E z). cbn [In] in E. split; intros Z.
  - destruct (proj1 E (or_intror Z)) as [<-|]; [specialize (Lx y Z); lia|assumption].
  - destruct (proj2 E (or_intror Z)) as [<-|]; [specialize (Ly y Z); lia|assumption].
Qed.

Lemma in_down u n : forall s, s mod 8 = 0 -> In u (down s n) <-> s - 8 * Z.of_nat n <= u < s /\ u mod 8 = 0.
Proof.
  induction n as [|n IH]; intros s M; cbn [down In]; [split; [easy|lia]|]. rewrite IH by div_lia. split; intros H; [|].
  - destruct H as [<-|H]; div_lia.
  - destruct (Z.eq_dec (s - 8) u) as [E|E]; [now left|]. right. div_lia.
Qed.

(** ** [squeeze] *)
Lemma lowest_walk r : forall upper start_ stop_,
  let l := (upper + (stop_ - start_), stop_) :: ScanAvx512.run_list r start_ upper in
  snd (last l (0, 0)) - (fst (last l (0, 0)) - (upper - total r)) = last (map off r) start_.
Proof.
  induction r as [|it r IH]; intros upper start_ stop_; cbv zeta; cbn [ScanAvx512.run_list total map].
  - cbn [last fst snd]. lia.
  - rewrite (@last_of_cons Z). replace (upper - (len it + total r)) with (upper - len it - total r) by lia. destruct (Z.eqb_spec (stop it) start_) as [Q|Q]; cbn [app].
    + replace (upper + (stop_ - start_)) with (upper - len it + (stop_ - off it)) by (unfold stop in Q; lia). apply IH.
    + pose proof (IH (upper - len it) (off it) (stop it)) as E. cbv zeta in E. replace (upper - len it + (stop it - off it)) with upper in E by (unfold stop; lia).
      exact E.
Qed.

Lemma last_of_array {A} (f : nat -> A) n d : (0 < n)%nat -> last (map f (seq 0 n)) d = f (n - 1)%nat.
Proof. intros N. destruct n as [|n]; [lia|]. rewrite seq_S, map_app, Nat.sub_succ, Nat.sub_0_r. cbn [map Nat.add]. apply last_last. Qed.

Section Squeeze.
  Variable m : mem.
  Hypothesis page_m : is_page m.
  Hypothesis valid : valid_page m.
  Hypothesis sorted : presorted (pd_special m) (items m) = true.
  Variables (it : item) (r : list item) (upper : Z).
  Let rest := it :: r.
  Hypothesis started : start false m = (rest, upper).
  Hypothesis gap : stop it <> upper.

  Variables (run_ends run_old_ends : nat -> Z) (ngaps : nat).
  Hypothesis runs : map (fun i => (run_ends i, run_old_ends i)) (seq 0 ngaps) = (upper, stop it) :: ScanAvx512.run_list r (off it) (upper - len it).
  Hypothesis behind : run_ends ngaps = new_upper_of m.

  Let units := live rest upper.
  Let live_bits := ScanAvx512Squeeze.mark_live run_ends run_old_ends ngaps.

  #[local] Lemma chained : chain rest upper.
  Proof. exact (Squeezed.rest_chain m page_m valid rest upper started sorted). Qed.

  #[local] Lemma rest_units : Forall at_units rest.
  Proof.
    apply Forall_forall. intros x X. destruct (Squeezed.rest_facts m page_m valid rest upper started x X) as (L & M & O & P & S).
    apply (rest_incl m page_m valid false rest upper started) in X. destruct (item_facts m page_m (proj1 valid) x X) as (_ & _ & Lp & Op & _).
    destruct valid as ((Lo & Up & _) & _). unfold HEADER_SIZE in *. unfold at_units. repeat split; assumption || apply Op.
  Qed.

  #[local] Lemma first_end : run_ends 0%nat = upper /\ (0 < ngaps)%nat.
  Proof. destruct ngaps as [|n]; [discriminate runs|]. cbn [seq map] in runs. injection runs as E _ _. split; [exact E|lia]. Qed.

  Lemma unit_is_marked u : (u < 1024)%nat -> 8 * Z.of_nat u < line_end upper ->
    bit (nth (u / 8) live_bits 0) (u mod 8) = true <-> In (8 * Z.of_nat u) units.
  Proof.
    intros U B. pose proof chained as C. pose proof rest_units as Ru. destruct first_end as [F0 Fn].
    destruct (Squeezed.upper_facts m page_m valid rest upper started) as (Mu & Bu & Tu & _).
    destruct (Squeezed.line_end_facts m page_m valid rest upper started) as (Me & Be & Mb). pose proof valid as ((Lo & Up & _) & _). unfold HEADER_SIZE, BLCKSZ in *.
    unfold live_bits. rewrite mark_live_counts by exact U. set (a := 8 * Z.of_nat u) in *.
    destruct (Forall_inv Ru) as (O & L & Mo & Ml). pose proof (Forall_inv_tail Ru) as Rr. destruct C as [C1 C2].
    set (l := edges upper (map (fun i => (run_ends i, run_old_ends i)) (seq 0 ngaps)) (run_ends ngaps)).
    assert (El : l = edges upper ((upper - len it + (stop it - off it), stop it) :: ScanAvx512.run_list r (off it) (upper - len it)) (upper - len it - total r)).
    { unfold l. rewrite runs, behind, <- Tu. unfold rest. cbn [total]. f_equal; [f_equal; f_equal; unfold stop; lia|lia]. }
    assert (E : parity (set (ScanAvx512Squeeze.toggle_runs run_ends run_old_ends 0 ngaps (run_ends 0%nat) (fun _ => 0))) (S u) =
      xorb (upper <=? a) (inside_one rest a)).
    { transitivity (parity (among_units l) (S u)).
      - apply parity_same. intros j _. rewrite toggled, F0. cbn [Nat.add]. reflexivity.
      - rewrite (parity_of_units l (upper + 1)); fold a; rewrite El.
        + rewrite flips_walk. reflexivity.
        + apply edges_walk; try assumption; unfold stop in *; try lia. div_lia. }
    rewrite E. destruct (inside_says rest Ru upper a (conj C1 C2)) as [I1 I2].
    assert (Ma : a mod 8 = 0) by (unfold a; clear; div_lia).
    assert (In_live : In a units <-> upper <= a \/ exists x, In x rest /\ off x <= a < stop x).
    { unfold units, live. clear - Ru Ma B Mu Bu Me Be Mb. rewrite in_app_iff, in_flat_map, in_down by (change (line_end upper) with ((upper + 63) / 64 * 64) in *; div_lia).
      rewrite Z2Nat.id by div_lia. split; intros [H|(x & X & H)].
      - left. div_lia.
      - right. exists x. split; [exact X|]. rewrite Forall_forall in Ru. destruct (Ru x X) as (Ox & Lx & Mox & Mlx).
        apply in_down in H; [|unfold stop; div_lia]. rewrite Z2Nat.id in H by div_lia. unfold stop in *. div_lia.
      - left. split; [div_lia|exact Ma].
      - right. exists x. split; [exact X|]. rewrite Forall_forall in Ru. destruct (Ru x X) as (Ox & Lx & Mox & Mlx).
        apply in_down; [unfold stop; div_lia|]. rewrite Z2Nat.id by div_lia. unfold stop in *. div_lia. }
    rewrite In_live, <- I2. destruct (Z.leb_spec upper a) as [A|A].
    - rewrite I1 by exact A. cbn. tauto.
    - rewrite xorb_false_l. split; [auto|]. intros [H|H]; [lia|exact H].
  Qed.

  Lemma line_is_live line : 64 * Z.of_nat line + 64 <= line_end upper -> ScanAvx512Squeeze.live_units live_bits line = in_line (64 * Z.of_nat line) units.
  Proof.
    intros B. destruct (Squeezed.line_end_facts m page_m valid rest upper started) as (Me & Be & _). unfold BLCKSZ in *.
    assert (Au : apart units (line_end upper)) by exact (Squeezed.units_apart m page_m valid rest upper started sorted).
    unfold ScanAvx512Squeeze.live_units, in_line. change LINE with 64.
    apply (apart_same _ _ (64 * Z.of_nat line + 64) (line_end upper)).
    - apply apart_filter. pose proof (apart_down 8 [] (64 * Z.of_nat line + 64) (64 * Z.of_nat line + 64) ltac:(lia) I) as X. rewrite app_nil_r in X. exact X.
    - apply apart_filter, Au.
    - intros x. rewrite !filter_In, in_down, andb_true_iff, !Z.leb_le by div_lia.
      assert (Same : 64 * Z.of_nat line <= x < 64 * Z.of_nat line + 64 -> x mod 8 = 0 ->
        Z.testbit (nth line live_bits 0) ((x - 64 * Z.of_nat line) / ScanAvx512Squeeze.UNIT) = true <-> In x units).
      { intros Bx Mx. change ScanAvx512Squeeze.UNIT with 8. set (u := Z.to_nat (x / 8)). assert (Eu : 8 * Z.of_nat u = x) by (unfold u; rewrite Z2Nat.id; div_lia).
        assert (Q : (u / 8 = line)%nat) by (symmetry; apply (Nat.div_unique u 8 line (u - 8 * line)); lia).
        assert (R : Z.of_nat (u mod 8) = (x - 64 * Z.of_nat line) / 8).
        { pose proof (Nat.div_mod u 8 ltac:(lia)) as D. rewrite Q in D. replace (x - 64 * Z.of_nat line) with (Z.of_nat (u mod 8) * 8) by lia. now rewrite Z.div_mul by lia. }
        rewrite <- Eu, <- (unit_is_marked u) by lia. rewrite Q, Eu. unfold bit. rewrite R. reflexivity. }
      split.
      + intros ((Bx & Mx) & T). apply Same in T; [|lia|exact Mx]. split; [exact T|]. div_lia.
      + intros (T & Bx). assert (Mx : x mod 8 = 0) by exact (proj1 (Squeezed.unit_facts m page_m valid rest upper started sorted x T)).
        split; [split; [lia|exact Mx]|]. apply Same; [lia|exact Mx|exact T].
  Qed.

  Lemma lines_squeezed count : forall line to, (count <= line)%nat -> 64 * Z.of_nat line <= line_end upper ->
    ScanAvx512Squeeze.squeeze_lines live_bits line count to = squeeze_lines units count (64 * Z.of_nat line) to.
  Proof.
    induction count as [|count IH]; intros line to C B; [reflexivity|]. cbn [ScanAvx512Squeeze.squeeze_lines squeeze_lines]. change LINE with 64.
    replace (64 * Z.of_nat line - 64) with (64 * Z.of_nat (line - 1)) by lia. rewrite line_is_live by lia.
    rewrite IH by lia. reflexivity.
  Qed.

  Lemma squeezed : LINE <= new_upper_of m -> ScanAvx512Squeeze.squeeze run_ends run_old_ends ngaps (new_upper_of m) = squeeze m.
  Proof.
    intros R. destruct first_end as [F0 Fn]. destruct (Squeezed.line_end_facts m page_m valid rest upper started) as (Me & Be & _).
    destruct (Squeezed.upper_facts m page_m valid rest upper started) as (_ & _ & Tu & _).
    unfold squeeze. rewrite started, sorted. destruct (Z.leb_spec LINE (new_upper_of m)); [|lia]. cbn [andb].
    unfold ScanAvx512Squeeze.squeeze. cbv zeta. rewrite F0.
    pose proof (lowest_walk r (upper - len it) (off it) (stop it)) as Lw. cbv zeta in Lw.
    replace (upper - len it + (stop it - off it)) with upper in Lw by (unfold stop; lia). rewrite <- runs, last_of_array in Lw by exact Fn. cbn [fst snd] in Lw.
    replace (upper - len it - total r) with (new_upper_of m) in Lw by (rewrite <- Tu; unfold rest; cbn [total]; lia).
    set (lowest := last (map off rest) upper). assert (El : last (map off r) (off it) = lowest) by (unfold lowest, rest; cbn [map]; now rewrite (@last_of_cons Z)).
    rewrite Lw, El. change LINE with 64 in *. replace (upper + 64 - 1) with (upper + 63) by lia. set (line := (upper + 63) / 64).
    assert (Ee : line_end upper = 64 * line) by (unfold line_end, line; lia).
    assert (Lb : 0 <= lowest / 64 <= line).
    { destruct (Squeezed.lowest_spec m page_m valid rest upper started sorted) as [Lu Li]. fold lowest in Lu.
      assert (0 <= lowest). { assert (I : In lowest (map off rest)). { unfold lowest, rest. cbn [map]. rewrite (@last_of_cons Z). clear. generalize (off it). 
          induction (map off r) as [|y l IH]; intros z; [now left|]. rewrite (@last_of_cons Z). right. apply IH. }
        apply in_map_iff in I as (x & <- & X). pose proof rest_units as Ru. rewrite Forall_forall in Ru. apply (Ru x X). }
      unfold line. div_lia. }
    rewrite Ee. replace (64 * line - lowest / 64 * 64) with ((line - lowest / 64) * 64) by lia. rewrite Z.div_mul by lia.
    do 2 f_equal. pose proof (lines_squeezed (Z.to_nat (line - lowest / 64)) (Z.to_nat line) (64 * line)) as Q. rewrite Z2Nat.id in Q by lia.
    apply Q; [lia|]. rewrite Ee. lia.
  Qed.
End Squeeze.
