(* SPDX-License-Identifier: PostgreSQL *)
(** * The quicksort sorts, and its calls lie no deeper in each other than the logarithm of the array's length *)
From Coq Require Import ZArith Lia Sorted Permutation.
From stdpp Require Import base option list zmap.
From Pgquern.snapbuild Require Import Memory MemoryFacts UpstreamFacts Quicksort QuicksortFacts QuicksortParts.
Local Open Scope Z_scope.

Section sort.
Context (key : Z -> Z).
Local Notation ordered := (ordered key).
Local Notation goes_on := (goes_on key).
Local Notation is_sorted := (is_sorted key).
Local Notation sink := (sink key).
Local Notation insertion_sort := (insertion_sort key).
Local Notation quicksort := (quicksort key).

Lemma ordered_short m lo hi : hi <= lo + 1 -> ordered m lo hi.
Proof. intros L i j x y I J K. lia. Qed.

Lemma ordered_same m m' lo hi : ordered m lo hi -> (forall k, lo <= k < hi -> m' !! k = m !! k) -> ordered m' lo hi.
Proof. intros O S i j x y I J K X Y. rewrite S in X, Y by lia. exact (O i j x y I J K X Y). Qed.

(** What follows a sorted part, and is not less than its last element, makes a longer one. *)
Lemma ordered_snoc m lo hi : ordered m lo hi -> (forall x y, lo < hi -> m !! (hi - 1) = Some x -> m !! hi = Some y -> key x <= key y) ->
  allocated m lo hi -> ordered m lo (hi + 1).
Proof.
  intros O L E i j x y I J K X Y. destruct (Z.lt_ge_cases j hi) as [H|H]; [exact (O i j x y I J H X Y)|].
  replace j with hi in * by lia. destruct (E (hi - 1) ltac:(lia)) as (z & Z & _).
  specialize (L z y ltac:(lia) Z Y). destruct (Z.eq_dec i (hi - 1)) as [->|D]; [congruence|].
  specialize (O i (hi - 1) x z I ltac:(lia) ltac:(lia) X Z). lia.
Qed.

Lemma goes_on_spec n : forall m a i, ordered m a i -> allocated m a (i + Z.of_nat n) -> a < i ->
  exists b, goes_on m i n = Some b /\ (b = true -> ordered m a (i + Z.of_nat n)).
Proof.
  induction n as [|n IH]; intros m a i O E L; cbn [goes_on].
  - exists true. split; [reflexivity|]. now rewrite Z.add_0_r.
  - destruct (E (i - 1) ltac:(lia)) as (x & X & _), (E i ltac:(lia)) as (y & Y & _).
    rewrite (compare_spec key m (i - 1) i x y X Y). cbn [mbind option_bind].
    destruct (Z.compare_spec (key x) (key y)) as [D|D|D]; cbn [greater]; [| |exists false; split; [reflexivity|discriminate]].
    all: destruct (IH m a (i + 1)) as (b & G & H); [|apply (every_sub _ _ _ _ _ _ E); lia|lia|].
    1, 3: apply ordered_snoc; [exact O| |apply (every_sub _ _ _ _ _ _ E); lia]; intros u w _ U W; rewrite X in U; rewrite Y in W;
      injection U as <-; injection W as <-; lia.
    all: exists b; split; [exact G|]; intros T; replace (i + Z.of_nat (S n)) with (i + 1 + Z.of_nat n) by lia; auto.
Qed.

Lemma is_sorted_spec m a n : allocated m a (a + n) -> exists b, is_sorted m a n = Some b /\ (b = true -> ordered m a (a + n)).
Proof.
  intros E. unfold is_sorted. destruct (Z.le_gt_cases n 1) as [L|L].
  - replace (Z.to_nat (n - 1)) with O by lia. exists true. split; [reflexivity|]. intros _. apply ordered_short. lia.
  - destruct (goes_on_spec (Z.to_nat (n - 1)) m a (a + 1)) as (b & G & O); [apply ordered_short; lia| |lia|].
    + replace (a + 1 + Z.of_nat (Z.to_nat (n - 1))) with (a + n) by lia. exact E.
    + exists b. split; [exact G|]. replace (a + 1 + Z.of_nat (Z.to_nat (n - 1))) with (a + n) in O by lia. exact O.
Qed.

(** [lo, hi) is sorted but for the element at [p], which is less than all behind it. *)
Definition sinking (m : memory) (lo p hi : Z) : Prop :=
  (forall i j x y, lo <= i -> i < j -> j < hi -> i <> p -> j <> p -> m !! i = Some x -> m !! j = Some y -> key x <= key y) /\
  (forall j x y, p < j -> j < hi -> m !! p = Some x -> m !! j = Some y -> key x <= key y).

Lemma sink_spec j : forall m a hi, sinking m a (a + Z.of_nat j) hi -> allocated m a hi -> a + Z.of_nat j < hi ->
  exists m', sink m a j = Some m' /\ ordered m' a hi /\ rearranged a hi m m'.
Proof.
  induction j as [|j IH]; intros m a hi [O B] E L; cbn [sink].
  - exists m. split; [reflexivity|]. split; [|split; [apply unchanged_refl|intros l _ A; now exists l]].
    intros i k x y I K H X Y. replace (a + Z.of_nat 0) with a in * by lia.
    destruct (Z.eq_dec i a) as [->|D]; [exact (B k x y K H X Y)|]. apply (O i k x y); auto; lia.
  - replace (a + Z.of_nat (S j) - 1) with (a + Z.of_nat j) by lia.
    destruct (E (a + Z.of_nat j) ltac:(lia)) as (x & X & _), (E (a + Z.of_nat (S j)) ltac:(lia)) as (y & Y & _).
    rewrite (compare_spec key m _ _ x y X Y). cbn [mbind option_bind]. assert (Done : key x <= key y -> ordered m a hi).
    { intros D i k u w I K H U W. destruct (Z.eq_dec i (a + Z.of_nat (S j))) as [->|Di]; [exact (B k u w K H U W)|].
      destruct (Z.eq_dec k (a + Z.of_nat (S j))) as [->|Dk]; [|exact (O i k u w I K H Di Dk U W)].
      rewrite Y in W. injection W as <-. destruct (Z.eq_dec i (a + Z.of_nat j)) as [->|Dj]; [rewrite X in U; injection U as <-; exact D|].
      assert (key u <= key x) by (apply (O i (a + Z.of_nat j)); auto; lia). lia. }
    destruct (Z.compare_spec (key x) (key y)) as [D|D|D]; cbn [greater].
    1, 2: exists m; split; [reflexivity|]; split; [apply Done; lia|]; split; [apply unchanged_refl|intros l _ A; now exists l].
    destruct (swap_spec m (a + Z.of_nat j) (a + Z.of_nat (S j)) x y X Y) as (m1 & S & Yj & Xs & K & R).
    rewrite S. cbn [mbind option_bind]. specialize (R a hi ltac:(lia) ltac:(lia)).
    destruct (IH m1 a hi) as (m2 & S2 & O2 & R2); [|apply (rearranged_every _ _ _ _ _ R E)|lia|].
    + split.
      * intros i k u w I IK H Di Dk U W. destruct (Z.eq_dec k (a + Z.of_nat (Datatypes.S j))) as [->|Dk'].
        -- rewrite Xs in W. injection W as <-. rewrite K in U by lia. apply (O i (a + Z.of_nat j)); auto; lia.
        -- rewrite (K k) in W by lia. destruct (Z.eq_dec i (a + Z.of_nat (Datatypes.S j))) as [->|Di'].
           ++ rewrite Xs in U. injection U as <-. apply (O (a + Z.of_nat j) k); auto; lia.
           ++ rewrite K in U by lia. apply (O i k); auto; lia.
      * intros k u w IK H U W. rewrite Yj in U. injection U as <-. destruct (Z.eq_dec k (a + Z.of_nat (Datatypes.S j))) as [->|Dk].
        -- rewrite Xs in W. injection W as <-. lia.
        -- rewrite K in W by lia. apply (B k); auto; lia.
    + exists m2. split; [exact S2|]. split; [exact O2|]. apply (rearranged_trans _ _ _ m1); assumption.
Qed.

Lemma insertion_sort_spec todo : forall m a i, ordered m a (a + Z.of_nat i) -> allocated m a (a + Z.of_nat (i + todo)) ->
  exists m', insertion_sort m a i todo = Some m' /\ ordered m' a (a + Z.of_nat (i + todo)) /\ rearranged a (a + Z.of_nat (i + todo)) m m'.
Proof.
  induction todo as [|todo IH]; intros m a i O E; cbn [insertion_sort].
  - exists m. rewrite Nat.add_0_r in *. split; [reflexivity|]. split; [exact O|]. split; [apply unchanged_refl|intros l _ A; now exists l].
  - destruct (sink_spec i m a (a + Z.of_nat i + 1)) as (m1 & S1 & O1 & R1); [|apply (every_sub _ _ _ _ _ _ E); lia|lia|].
    + split; [|intros; lia]. intros j k x y J K H Dj Dk X Y. apply (O j k); auto; lia.
    + rewrite S1. cbn [mbind option_bind]. assert (R : rearranged a (a + Z.of_nat (i + S todo)) m m1)
        by (apply (rearranged_wider _ _ _ _ _ _ R1); lia).
      destruct (IH m1 a (S i)) as (m2 & S2 & O2 & R2).
      * replace (a + Z.of_nat (S i)) with (a + Z.of_nat i + 1) by lia. exact O1.
      * replace (S i + todo)%nat with (i + S todo)%nat by lia. apply (rearranged_every _ _ _ _ _ R E).
      * replace (S i + todo)%nat with (i + S todo)%nat in * by lia.
        exists m2. split; [exact S2|]. split; [exact O2|]. apply (rearranged_trans _ _ _ m1); assumption.
Qed.

(** Two sorted sides of a pivot. *)
Lemma ordered_around v m a b c e : ordered m a b -> ordered m c e -> b <= c -> every (fun x => key x < v) m a b ->
  every (fun x => key x = v) m b c -> every (fun x => v < key x) m c e -> ordered m a e.
Proof.
  intros O1 O2 L S E G i j x y I J K X Y.
  destruct (Z.lt_ge_cases i b) as [Ib|Ib]; [|destruct (Z.lt_ge_cases i c) as [Ic|Ic]; [|apply (O2 i j); auto; lia]].
  - destruct (Z.lt_ge_cases j b) as [Jb|Jb]; [apply (O1 i j); auto; lia|]. destruct (S i ltac:(lia)) as (x' & X' & Lx).
    destruct (Z.lt_ge_cases j c) as [Jc|Jc]; [destruct (E j ltac:(lia)) as (y' & Y' & Ly)|destruct (G j ltac:(lia)) as (y' & Y' & Ly)];
      rewrite X in X'; rewrite Y in Y'; injection X' as <-; injection Y' as <-; lia.
  - destruct (E i ltac:(lia)) as (x' & X' & Lx).
    destruct (Z.lt_ge_cases j c) as [Jc|Jc]; [destruct (E j ltac:(lia)) as (y' & Y' & Ly)|destruct (G j ltac:(lia)) as (y' & Y' & Ly)];
      rewrite X in X'; rewrite Y in Y'; injection X' as <-; injection Y' as <-; lia.
Qed.

Lemma few_spec m a n : allocated m a (a + n) ->
  exists m', insertion_sort m a 1 (Z.to_nat (n - 1)) = Some m' /\ ordered m' a (a + n) /\ rearranged a (a + n) m m'.
Proof.
  intros E. destruct (Z.le_gt_cases n 1) as [L|L].
  - replace (Z.to_nat (n - 1)) with O by lia. exists m. split; [reflexivity|]. split; [apply ordered_short; lia|].
    split; [apply unchanged_refl|intros l _ A; now exists l].
  - destruct (insertion_sort_spec (Z.to_nat (n - 1)) m a 1) as (m' & S & O & R); [apply ordered_short; lia| |];
      replace (a + Z.of_nat (1 + Z.to_nat (n - 1))) with (a + n) in * by lia; eauto.
Qed.

Lemma quicksort_spec depth : forall rounds m a n, 0 <= n -> allocated m a (a + n) -> n < 7 * 2 ^ Z.of_nat depth -> n <= Z.of_nat rounds ->
  exists m', quicksort depth rounds m a n = Some m' /\ ordered m' a (a + n) /\ rearranged a (a + n) m m'.
Proof.
  induction depth as [|depth IHd]; intros rounds; induction rounds as [|rounds IHr]; intros m a n N E D R; cbn [quicksort].
  all: destruct (Z.ltb_spec n 7) as [L|L]; [now apply few_spec|].
  all: destruct (is_sorted_spec m a n E) as (b & -> & B); cbn [mbind option_bind]; destruct b.
  1, 3, 5, 7: exists m; split; [reflexivity|]; split; [auto|]; split; [apply unchanged_refl|intros l _ A; now exists l].
  1, 2, 3: exfalso; cbn in D; lia.
  destruct (split_spec key m a n E L) as (v & m1 & below & above & -> & B1 & B2 & B3 & S1 & E1 & G1 & R1). cbn [mbind option_bind].
  assert (P : 2 ^ Z.of_nat (S depth) = 2 * 2 ^ Z.of_nat depth) by (rewrite Nat2Z.inj_succ; apply Z.pow_succ_r; lia).
  destruct (Z.leb_spec below above) as [C|C].
  - destruct (IHd (Z.to_nat below) m1 a below) as (m2 & -> & O2 & R2); [lia|now apply every_allocated in S1|lia|lia|].
    cbn [mbind option_bind]. pose proof R2 as [U2 _].
    assert (G2 : every (fun x => v < key x) m2 (a + n - above) (a + n)) by (apply (every_same _ m1); [exact G1|intros k I; apply U2; lia]).
    assert (E2 : every (fun x => key x = v) m2 (a + below) (a + n - above)) by (apply (every_same _ m1); [exact E1|intros k I; apply U2; lia]).
    destruct (IHr m2 (a + n - above) above) as (m3 & Q & O3 & R3); [lia| |lia|lia|].
    { replace (a + n - above + above) with (a + n) by lia. now apply every_allocated in G2. }
    replace (a + n - above + above) with (a + n) in * by lia. exists m3. split; [exact Q|]. pose proof R3 as [U3 _]. split.
    + apply (ordered_around v m3 a (a + below) (a + n - above) (a + n)).
      * apply (ordered_same m2); [exact O2|]. intros k I. apply U3. lia.
      * exact O3.
      * lia.
      * apply (every_same _ m2); [exact (rearranged_every _ _ _ _ _ R2 S1)|]. intros k I. apply U3. lia.
      * apply (every_same _ m2); [exact E2|]. intros k I. apply U3. lia.
      * exact (rearranged_every _ _ _ _ _ R3 G2).
    + apply (rearranged_trans _ _ _ m1); [exact R1|]. apply (rearranged_trans _ _ _ m2).
      * apply (rearranged_wider _ _ _ _ _ _ R2); lia.
      * apply (rearranged_wider _ _ _ _ _ _ R3); lia.
  - destruct (IHd (Z.to_nat above) m1 (a + n - above) above) as (m2 & -> & O2 & R2); [lia| |lia|lia|].
    { replace (a + n - above + above) with (a + n) by lia. now apply every_allocated in G1. }
    replace (a + n - above + above) with (a + n) in * by lia.
    cbn [mbind option_bind]. pose proof R2 as [U2 _].
    assert (S2 : every (fun x => key x < v) m2 a (a + below)) by (apply (every_same _ m1); [exact S1|intros k I; apply U2; lia]).
    assert (E2 : every (fun x => key x = v) m2 (a + below) (a + n - above)) by (apply (every_same _ m1); [exact E1|intros k I; apply U2; lia]).
    destruct (IHr m2 a below) as (m3 & Q & O3 & R3); [lia|now apply every_allocated in S2|lia|lia|].
    exists m3. split; [exact Q|]. pose proof R3 as [U3 _]. split.
    + apply (ordered_around v m3 a (a + below) (a + n - above) (a + n)).
      * exact O3.
      * apply (ordered_same m2); [exact O2|]. intros k I. apply U3. lia.
      * lia.
      * exact (rearranged_every _ _ _ _ _ R3 S2).
      * apply (every_same _ m2); [exact E2|]. intros k I. apply U3. lia.
      * apply (every_same _ m2); [exact (rearranged_every _ _ _ _ _ R2 G1)|]. intros k I. apply U3. lia.
    + apply (rearranged_trans _ _ _ m1); [exact R1|]. apply (rearranged_trans _ _ _ m2).
      * apply (rearranged_wider _ _ _ _ _ _ R2); lia.
      * apply (rearranged_wider _ _ _ _ _ _ R3); lia.
Qed.

Lemma ordered_array m lo l : array m lo l -> ordered m lo (lo + zlength l) -> Sorted (fun x y => key x <= key y) l.
Proof.
  revert lo. induction l as [|x l IH]; intros lo A O; constructor; cbn [array] in A; destruct A as [X A].
  - apply (IH (lo + 1)); [exact A|]. intros i j y z I J K. apply O; cbn [length] in *; lia.
  - destruct l as [|y l]; constructor. destruct A as [Y _]. apply (O lo (lo + 1)); cbn [length]; auto; lia.
Qed.

(** The quicksort of upstream sorts an array of any length, by any key: the same elements, their keys rising. It stays inside the array, and so
    many calls as the logarithm of the length has suffice inside each other. *)
Theorem quicksort_sorts : forall l m a, array m a l ->
  exists l' m', quicksort (Z.to_nat (Z.log2 (zlength l))) (length l) m a (zlength l) = Some m' /\
    array m' a l' /\ l' ≡ₚ l /\ Sorted (fun x y => key x <= key y) l' /\ unchanged_outside a (a + zlength l) m m'.
Proof.
  intros l m a A. destruct (quicksort_spec (Z.to_nat (Z.log2 (zlength l))) (length l) m a (zlength l)) as (m' & Q & O & R); [lia| | |lia|].
  - apply every_array; [exact A|]. now apply Forall_true.
  - pose proof (Z.log2_nonneg (zlength l)). rewrite Z2Nat.id by lia.
    destruct (Z.eq_dec (zlength l) 0) as [->|N]; [cbn; lia|]. pose proof (Z.log2_spec (zlength l) ltac:(lia)) as [_ U].
    rewrite Z.pow_succ_r in U by lia. lia.
  - destruct R as [U R]. destruct (R l) as (l' & P & A'); [lia|exact A|]. exists l', m'. split; [exact Q|]. split; [exact A'|].
    split; [exact P|]. split; [|exact U]. apply (ordered_array m' a); [exact A'|]. now rewrite P.
Qed.
End sort.

(** Upstream's snapshot has the XIDs of committed.xip in raw order, whatever their order was. *)
Theorem snapshot_upstream_sorts : forall l space xip snapshot, array xip 0 l -> array snapshot 0 space -> length space = length l ->
  exists l' snapshot', snapshot_upstream (zlength l) xip snapshot = Some snapshot' /\ array snapshot' 0 l' /\ l' ≡ₚ l /\
    Sorted Z.le l' /\ unchanged_outside 0 (zlength l) snapshot snapshot'.
Proof.
  intros l space xip snapshot A S L. unfold snapshot_upstream.
  destruct (memcpy_spec _ _ _ _ _ _ S A L) as (m & -> & A' & U). rewrite Z.add_0_l in U. cbn [mbind option_bind].
  destruct (quicksort_sorts (fun xid => xid) l m 0 A') as (l' & m' & Q & A2 & P & So & U2). rewrite Nat2Z.id, Q. exists l', m'. repeat split; auto.
  intros i I. rewrite U2, U; auto.
Qed.
