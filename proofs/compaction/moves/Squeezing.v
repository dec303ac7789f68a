(* SPDX-License-Identifier: PostgreSQL *)
(** * Squeezing a presorted page in place, line by line *)
From Pgquern.common Require Import Integers.
From Pgquern.compaction Require Import Page Memory Algorithms Spec Moves Decode.

(** ** Units of 8 bytes, packed from [top] downwards *)
Fixpoint up (us : list Z) (top : Z) (src base : mem) : mem :=
  match us with
  | [] => base
  | u :: r => fun i => if (top - 8 <=? i) && (i <? top) then src (u + (i - (top - 8))) else up r (top - 8) src base i
  end.
Definition size (us : list Z) : Z := 8 * Z.of_nat (length us).

Lemma size_cons u us : size (u :: us) = 8 + size us.
Proof. unfold size. cbn [length]. lia. Qed.
Lemma size_nonneg us : 0 <= size us.
Proof. unfold size. lia. Qed.

Lemma up_outside us : forall top src base i, i < top - size us \/ top <= i -> up us top src base i = base i.
Proof.
  induction us as [|u r IH]; intros top src base i I; cbn [up]; [reflexivity|]. rewrite size_cons in I.
  pose proof (size_nonneg r). cases; try lia; apply IH; lia.
Qed.

Lemma up_app us r : forall top src base i, up (us ++ r) top src base i = up us top src (up r (top - size us) src base) i.
Proof.
  induction us as [|u us IH]; intros top src base i; cbn [app up].
  - f_equal. unfold size. cbn. lia.
  - rewrite IH, size_cons. now replace (top - 8 - size us) with (top - (8 + size us)) by lia.
Qed.

(** Inside, neither where it lies nor what was there before matters. *)
Lemma up_shift us : forall top top' src base base' i, top - size us <= i < top ->
  up us top src base i = up us top' src base' (i + (top' - top)).
Proof.
  induction us as [|u r IH]; intros top top' src base base' i I; [unfold size in I; cbn in I; lia|].
  rewrite size_cons in I. cbn [up]. cases; try lia; [f_equal; lia|].
  replace (top' - top) with ((top' - 8) - (top - 8)) by lia. apply IH. lia.
Qed.

Lemma up_src us src src' : (forall u, In u us -> forall j, u <= j < u + 8 -> src j = src' j) ->
  forall top base i, up us top src base i = up us top src' base i.
Proof.
  induction us as [|u r IH]; intros A top base i; cbn [up]; [reflexivity|].
  rewrite IH by (intros; apply A with u0; auto using in_cons). cases; try reflexivity.
  apply A with u; [now left|lia].
Qed.

Lemma size_down s n : size (down s n) = 8 * Z.of_nat n.
Proof. unfold size. revert s. induction n as [|n IH]; intro s; cbn [down length]; [reflexivity|]. specialize (IH (s - 8)). lia. Qed.

Lemma up_down n : forall s top src base i,
  up (down s n) top src base i =
  if (top - 8 * Z.of_nat n <=? i) && (i <? top) then src (s + (i - top)) else base i.
Proof.
  induction n as [|n IH]; intros s top src base i; cbn [down up].
  - cases; try lia; reflexivity.
  - rewrite IH. cases; try lia; try reflexivity; f_equal; lia.
Qed.

(** The units of tuples are the tuples. *)
Lemma up_items its src base : Forall (fun it => 0 <= len it /\ len it mod 8 = 0) its -> forall upper i,
  up (flat_map (fun it => down (stop it) (Z.to_nat (len it / 8))) its) upper src base i = packed (place its upper) src base i.
Proof.
  induction 1 as [|it r [L M] _ IH]; intros upper i; cbn [flat_map place packed]; [reflexivity|].
  assert (E : 8 * Z.of_nat (Z.to_nat (len it / 8)) = len it) by (rewrite Z2Nat.id; div_lia).
  rewrite up_app, size_down, up_down, E, IH. unfold stop. cases; try lia; try reflexivity; f_equal; lia.
Qed.

(** ** Falling lists of disjoint units *)
Fixpoint apart (us : list Z) (top : Z) : Prop :=
  match us with [] => True | u :: r => u + 8 <= top /\ apart r u end.

Lemma apart_weaken us top top' : top <= top' -> apart us top -> apart us top'.
Proof. destruct us; cbn; [auto|]. intros. split; [lia|tauto]. Qed.

Lemma apart_below us : forall top, apart us top -> forall u, In u us -> u + 8 <= top.
Proof.
  induction us as [|x r IH]; intros top A u I; cbn in *; [easy|]. destruct A as [A1 A2], I as [<-|I]; [exact A1|].
  specialize (IH x A2 u I). lia.
Qed.

Lemma apart_filter p us : forall top, apart us top -> apart (filter p us) top.
Proof.
  induction us as [|x r IH]; intros top A; cbn in *; [exact I|]. destruct A as [A1 A2].
  destruct (p x); [split; auto|]. apply (apart_weaken _ x); [lia|auto].
Qed.

Lemma apart_size us b : forall top, apart us top -> (forall u, In u us -> b <= u) -> b <= top -> size us <= top - b.
Proof.
  induction us as [|x r IH]; intros top A B T; [unfold size; cbn; lia|]. destruct A as [A1 A2]. rewrite size_cons.
  specialize (IH x A2 (fun u I => B u (or_intror I)) (B x (or_introl eq_refl))). lia.
Qed.

Lemma apart_down n r : forall s top, s <= top -> apart r (s - 8 * Z.of_nat n) -> apart (down s n ++ r) top.
Proof.
  induction n as [|n IH]; intros s top T A; cbn [down app].
  - apply (apart_weaken _ s); [lia|]. now replace s with (s - 8 * Z.of_nat 0) by lia.
  - split; [lia|]. apply IH; [lia|]. now replace (s - 8 - 8 * Z.of_nat n) with (s - 8 * Z.of_nat (S n)) by lia.
Qed.

Lemma filter_ext_eq {A} (p q : A -> bool) l : (forall x, In x l -> p x = q x) -> filter p l = filter q l.
Proof.
  induction l as [|x l IH]; intros E; cbn; [reflexivity|]. rewrite (E x (or_introl eq_refl)), IH; [reflexivity|].
  intros; apply E; now right.
Qed.

Lemma filter_twice {A} (p q : A -> bool) l : filter p (filter q l) = filter (fun x => q x && p x) l.
Proof. induction l as [|x l IH]; cbn; [reflexivity|]. destruct (q x); cbn; [destruct (p x)|]; now rewrite IH. Qed.

(** Split at an address. *)
Lemma apart_split us c : forall top, apart us top ->
  us = filter (fun u => c <=? u) us ++ filter (fun u => u <? c) us.
Proof.
  induction us as [|x r IH]; intros top A; cbn [filter]; [reflexivity|]. destruct A as [A1 A2].
  destruct (Z.leb_spec c x), (Z.ltb_spec x c); try lia; cbn [app].
  - f_equal. eapply IH, A2.
  - assert (E : filter (fun u => c <=? u) r = []).
    { rewrite (filter_ext_eq _ (fun _ => false)); [clear; induction r; cbn; auto|].
      intros u I. pose proof (apart_below r x A2 u I). destruct (Z.leb_spec c u); [lia|reflexivity]. }
    rewrite E. cbn. f_equal. rewrite (filter_ext_eq _ (fun _ => true)); [clear; induction r; cbn; congruence|].
    intros u I. pose proof (apart_below r x A2 u I). destruct (Z.ltb_spec u c); [reflexivity|lia].
Qed.

(** ** The lines *)
Fixpoint by_lines (units : list Z) (count : nat) (above : Z) : list Z :=
  match count with O => [] | S count => in_line (above - LINE) units ++ by_lines units count (above - LINE) end.

Lemma by_lines_all us count : forall above, apart us above -> (forall u, In u us -> u mod 8 = 0) -> above mod 64 = 0 ->
  (forall u, In u us -> above - 64 * Z.of_nat count <= u) -> by_lines us count above = us.
Proof.
  assert (G : forall count above, above mod 64 = 0 -> forall all, (forall u, In u all -> u mod 8 = 0) -> forall top, apart all top ->
    by_lines all count above = filter (fun u => (above - 64 * Z.of_nat count <=? u) && (u <? above)) all).
  { clear. induction count as [|count IH]; intros above M all A top P; cbn [by_lines].
    - rewrite (filter_ext_eq _ (fun _ => false)); [clear; induction all; cbn; auto|]. intros u _. cases; lia || reflexivity.
    - unfold LINE in *. rewrite (IH (above - 64) ltac:(div_lia) all A top P). clear IH.
      rewrite (apart_split (filter (fun u => (above - 64 * Z.of_nat (S count) <=? u) && (u <? above)) all) (above - 64) top
                 (apart_filter _ _ _ P)).
      rewrite !filter_twice. unfold in_line, LINE. f_equal; apply filter_ext_eq; intros u I; specialize (A u I).
      + cases; try reflexivity; exfalso; div_lia.
      + cases; try reflexivity; exfalso; lia. }
  intros above P A M B. rewrite (G count above M us A above P).
  rewrite (filter_ext_eq _ (fun _ => true)); [clear; induction us; cbn; congruence|].
  intros u I. pose proof (apart_below us above P u I). specialize (B u I). cases; lia || reflexivity.
Qed.

Lemma load_spec us : forall at_ s, (forall i, page (exec (load us at_) s) i = page s i) /\
  (forall i, scratch (exec (load us at_) s) i = up us at_ (page s) (scratch s) i).
Proof.
  induction us as [|u r IH]; intros at_ s; [split; reflexivity|]. cbn [load up]. rewrite exec_cons.
  destruct (IH (at_ - 8) (step (Save (at_ - 8) u 8) s)) as [P Q]. split; intro i; [apply P|]. rewrite Q.
  cbn [step page scratch]. destruct (Z.lt_ge_cases i (at_ - 8)).
  - cases; try lia.
    assert (E : forall us t src b b', b i = b' i -> up us t src b i = up us t src b' i).
    { clear. induction us; intros t src b b' E; cbn [up]; [exact E|]. destruct (_ && _); [reflexivity|now apply IHus]. }
    apply E. unfold copy. cases; lia || reflexivity.
  - rewrite !up_outside by lia. unfold copy. cases; try lia; same.
Qed.

Lemma squeeze_lines_spec us (m : mem) count : (forall line, size (in_line line us) <= LINE) -> forall above to s,
  (forall i, i < above -> page s i = m i) -> above <= to ->
  let lives := by_lines us count above in
  let r := exec (squeeze_lines us count above to) s in
  (forall i, i < to - size lives - LINE \/ to <= i -> page r i = page s i) /\
  (forall i, to - size lives <= i < to -> page r i = up lives to m m i) /\
  (forall i, LINE <= i -> scratch r i = scratch s i).
Proof.
  intros B. unfold LINE in *. induction count as [|count IH]; intros above to s S T; cbn [by_lines squeeze_lines].
  - split; [reflexivity|]. split; [intros i I; unfold size in I; cbn in I; lia|reflexivity].
  - unfold LINE in *. set (here := in_line (above - 64) us). change (8 * Z.of_nat (length here)) with (size here).
    pose proof (B (above - 64)) as Bh. fold here in Bh. pose proof (size_nonneg here) as N.
    rewrite exec_app, exec_cons. destruct (load_spec here 64 s) as [P Q]. set (t := exec (load here 64) s) in *.
    set (v := step (Restore (to - 64) 0 64) t).
    assert (V : forall i, page v i = if (to - 64 <=? i) && (i <? to) then scratch t (i - (to - 64)) else page s i).
    { intro i. subst v. cbn [step page]. unfold copy. rewrite P. cases; try lia; same. }
    destruct (IH (above - 64) (to - size here) v) as (A1 & A2 & A3); [|lia|].
    { intros i I. rewrite V. cases; try lia. apply S. lia. }
    set (lives := by_lines us count (above - 64)) in *. pose proof (size_nonneg lives) as NL.
    assert (SZ : size (here ++ lives) = size here + size lives) by (unfold size; rewrite app_length; lia).
    rewrite SZ. split; [|split].
    + intros i I. rewrite A1 by lia. rewrite V. cases; lia || reflexivity.
    + intros i I. rewrite up_app. destruct (Z.lt_ge_cases i (to - size here)) as [L|L].
      * rewrite A2 by lia. symmetry. apply up_outside. now left.
      * rewrite A1 by lia. rewrite V. destruct (Z.leb_spec (to - 64) i), (Z.ltb_spec i to); try lia. cbn [andb].
        rewrite Q. rewrite (up_shift here to 64 m _ (scratch s)) by lia.
        replace (i + (64 - to)) with (i - (to - 64)) by lia. apply up_src.
        intros u I' j J. apply S. unfold here, in_line in I'. apply filter_In in I' as [_ I']. unfold LINE in *. cases; lia.
    + intros i I. rewrite A3 by exact I. subst v. cbn [step scratch]. rewrite Q. apply up_outside. lia.
Qed.
