(* SPDX-License-Identifier: PostgreSQL *)
(** * The tree stays balanced, so its height is a logarithm

    Of the functions of Tree.v, which do what C does, in its order. *)
From Pgquern.common Require Import Integers.
From Pgquern.rangelock Require Import Tree Lock Shape.

Lemma height_nonneg t : balanced t -> 0 <= height t.
Proof.
  induction t as [|l IL x r IR h m]; cbn [balanced height]; [lia|]. intros (L & R & -> & _). specialize (IL L). lia.
Qed.

(** The height that a node knows is its own. *)
Theorem height_is_depth t : balanced t -> height t = depth t.
Proof.
  induction t as [|l IL x r IR h m]; [reflexivity|]. cbn [balanced height depth]. intros (L & R & -> & _). now rewrite IL, IR.
Qed.

Ltac take_apart :=
  repeat match goal with
  | H : balanced (Node _ _ _ _ _) |- _ => cbn [balanced] in H; destruct H as (? & ? & ? & ?)
  | H : balanced _ /\ _ |- _ => destruct H as (? & ? & ? & ?)
  end.

Ltac heights :=
  repeat match goal with
  | H : balanced ?t |- _ =>
      match goal with
      | _ : 0 <= height t |- _ => fail 1
      | _ => pose proof (height_nonneg t H)
      end
  end.

(** Where the heights of two balanced trees differ by two at most, [balance] makes a balanced tree of them, as high as the higher
    one or by one higher; by one higher in any case if there was nothing to do. *)
Lemma balanced_balance l x r : balanced l -> balanced r -> -2 <= height l - height r <= 2 ->
  balanced (balance l x r) /\
  Z.max (height l) (height r) <= height (balance l x r) <= 1 + Z.max (height l) (height r) /\
  (-1 <= height l - height r <= 1 -> height (balance l x r) = 1 + Z.max (height l) (height r)).
Proof.
  intros L R D. heights. unfold balance.
  destruct (Z.ltb_spec (height r + 1) (height l)) as [A|A]; [|destruct (Z.ltb_spec (height l + 1) (height r)) as [B|B]].
  - destruct l as [|ll lx [|m mx n h1 m1] h m0]; take_apart; heights; cbn [height] in *; [lia| |].
    + subst. cbn [balanced node height]. repeat split; try assumption; lia.
    + subst. cbn [height]. destruct (Z.ltb_spec (height ll) (1 + Z.max (height m) (height n))); cbn [balanced node height]; repeat split; try assumption; lia.
  - destruct r as [|[|m mx n h1 m1] rx rr h m0]; take_apart; heights; cbn [height] in *; [lia| |].
    + subst. cbn [balanced node height]. repeat split; try assumption; lia.
    + subst. cbn [height]. destruct (Z.ltb_spec (height rr) (1 + Z.max (height m) (height n))); cbn [balanced node height]; repeat split; try assumption; lia.
  - cbn [balanced node height]. repeat split; try assumption; lia.
Qed.

(** Insertion keeps a tree balanced, and makes it by one higher at most. *)
Theorem insert_keeps_balance t x : balanced t ->
  balanced (insert t x) /\ height t <= height (insert t x) <= height t + 1.
Proof.
  induction t as [|l IL y r IR h m]; intros B; [cbn; lia|]. cbn [insert]. take_apart. cbn [height].
  destruct (precedes _ _).
  - destruct IL as [I J]; [assumption|]. destruct (balanced_balance (insert l x) y r) as (P & Q & S); [assumption..|lia|].
    split; [exact P|]. lia.
  - destruct IR as [I J]; [assumption|]. destruct (balanced_balance l y (insert r x)) as (P & Q & S); [assumption..|lia|].
    split; [exact P|]. lia.
Qed.

Lemma remove_first_keeps_balance l : forall x r, balanced l -> balanced r -> -1 <= height l - height r <= 1 ->
  balanced (fst (remove_first l x r)) /\
  Z.max (height l) (height r) <= height (fst (remove_first l x r)) <= 1 + Z.max (height l) (height r).
Proof.
  induction l as [|ll IL lx lr IR h m]; intros x r L R D; heights; [cbn [height remove_first fst] in *; split; [assumption|lia]|].
  take_apart. destruct (IL lx lr) as [P Q]; [assumption..|]. cbn [remove_first height] in *.
  destruct (remove_first ll lx lr) as [l' first]. cbn [fst] in *.
  destruct (balanced_balance l' x r) as (S & T & U); [assumption..|lia|]. split; [exact S|]. lia.
Qed.

Lemma without_top_keeps_balance l r : balanced l -> balanced r -> -1 <= height l - height r <= 1 ->
  balanced (without_top l r) /\ Z.max (height l) (height r) <= height (without_top l r) <= 1 + Z.max (height l) (height r).
Proof.
  intros L R D. heights. unfold without_top. destruct l as [|ll lx lr h m]; [cbn [height] in *; split; [assumption|lia]|].
  destruct r as [|rl rx rr h' m']; [cbn [height] in *; split; [assumption|lia]|].
  pose proof R as R'. take_apart. destruct (remove_first_keeps_balance rl rx rr) as [P Q]; [assumption..|].
  destruct (remove_first rl rx rr) as [r' first]. cbn [fst height] in *.
  destruct (balanced_balance (Node ll lx lr h m) first r') as (S & T & U); [cbn; auto|assumption|cbn [height]; lia|].
  cbn [height] in *. split; [exact S|]. lia.
Qed.

(** Removal keeps a tree balanced, and makes it by one lower at most. *)
Theorem remove_keeps_balance t x : balanced t ->
  balanced (remove t x) /\ height t - 1 <= height (remove t x) <= height t.
Proof.
  induction t as [|l IL y r IR h m]; intros B; [cbn; lia|]. cbn [remove]. take_apart. cbn [height].
  destruct (_ =? _).
  - destruct (without_top_keeps_balance l r) as [P Q]; [assumption..|]. split; [exact P|]. lia.
  - destruct (precedes _ _).
    + destruct IL as [I J]; [assumption|]. destruct (balanced_balance (remove l x) y r) as (P & Q & S); [assumption..|lia|].
      split; [exact P|]. lia.
    + destruct IR as [I J]; [assumption|]. destruct (balanced_balance l y (remove r x)) as (P & Q & S); [assumption..|lia|].
      split; [exact P|]. lia.
Qed.

Lemma unblock_keeps_balance t x : height (fst (unblock t x)) = height t /\ (balanced t -> balanced (fst (unblock t x))).
Proof.
  induction t as [|l [IL JL] y r [IR JR] h m]; [now split|]. cbn [unblock]. destruct (_ <? m); [|now split].
  destruct (unblock l x) as [l' g1], (unblock r x) as [r' g3]. cbn [fst] in *.
  destruct (_ <=? _); [|destruct (_ && _)]; (split; [reflexivity|]); cbn; rewrite ?IL, ?IR; intuition.
Qed.

(** ** How high a balanced tree is *)

Lemma fib_step n : fib (S (S n)) = fib n + fib (S n).
Proof. unfold fib. cbn. destruct (fib_pair n). reflexivity. Qed.

Lemma fib_grows n : 0 <= fib n <= fib (S n).
Proof.
  induction n as [|n IH]; [cbn; lia|]. rewrite fib_step. lia.
Qed.

Lemma fib_grows_on a b : (a <= b)%nat -> fib a <= fib b.
Proof. induction 1 as [|b _ IH]; [lia|]. pose proof (fib_grows b). lia. Qed.

Lemma size_node l x r h m : size (Node l x r h m) = size l + 1 + size r.
Proof. unfold size. cbn [elements]. rewrite app_length. cbn [length]. lia. Qed.

(** A balanced tree of height h has at least fib (h + 2) - 1 ranges. *)
Theorem size_is_fib t : balanced t -> fib (Z.to_nat (height t) + 2) <= size t + 1.
Proof.
  induction t as [|l IL x r IR h m]; intros B; [cbn; lia|]. take_apart. heights. subst h. rewrite size_node. cbn [height].
  specialize (IL ltac:(assumption)). specialize (IR ltac:(assumption)).
  set (a := Z.to_nat (height l)) in *. set (b := Z.to_nat (height r)) in *.
  assert (E : Z.to_nat (1 + Z.max (height l) (height r)) = S (Nat.max a b)) by lia. rewrite E.
  assert (N : (b <= S a)%nat /\ (a <= S b)%nat) by lia.
  replace (S (Nat.max a b) + 2)%nat with (S (S (Nat.max a b + 1))) by lia. rewrite fib_step.
  destruct (Nat.max_spec a b) as [[C ->]|[C ->]].
  - pose proof (fib_grows_on (b + 1) (a + 2) ltac:(lia)). replace (S (b + 1)) with (b + 2)%nat by lia. lia.
  - pose proof (fib_grows_on (a + 1) (b + 2) ltac:(lia)). replace (S (a + 1)) with (a + 2)%nat by lia. lia.
Qed.

(** From 3 on, a Fibonacci number is between 8/5 and 5/3 of the one before. *)
Lemma fib_ratio k : 8 * fib (k + 4) <= 5 * fib (k + 5) /\ 3 * fib (k + 5) <= 5 * fib (k + 4).
Proof.
  induction k as [|k IH]; [vm_compute; split; discriminate|].
  replace (S k + 4)%nat with (k + 5)%nat by lia. replace (S k + 5)%nat with (S (S (k + 4))) by lia.
  rewrite fib_step. replace (S (k + 4)) with (k + 5)%nat by lia. lia.
Qed.

Lemma fib_13 k : fib (k + 13) = 144 * fib k + 233 * fib (S k).
Proof.
  replace (k + 13)%nat with (S (S (S (S (S (S (S (S (S (S (S (S (S k))))))))))))) by lia.
  unfold fib. cbn [fib_pair]. destruct (fib_pair k). cbn [fst]. lia.
Qed.

Lemma fib_is_a_power h : 2 ^ (9 * Z.of_nat h) <= fib (h + 2) ^ 13.
Proof.
  induction h as [h IH] using lt_wf_ind. destruct (le_lt_dec 15 h) as [L|L].
  - specialize (IH (h - 13)%nat ltac:(lia)). set (k := (h - 15)%nat) in *.
    replace (h - 13 + 2)%nat with (k + 4)%nat in IH by lia. replace (h + 2)%nat with (k + 4 + 13)%nat by lia.
    assert (P : 512 * fib (k + 4) <= fib (k + 4 + 13)).
    { rewrite fib_13. replace (S (k + 4)) with (k + 5)%nat by lia. pose proof (fib_ratio k). lia. }
    replace (9 * Z.of_nat h) with (117 + 9 * Z.of_nat (h - 13)) by lia. rewrite Z.pow_add_r by lia.
    pose proof (fib_grows (k + 4)). transitivity ((512 * fib (k + 4)) ^ 13); [|apply Z.pow_le_mono_l; lia].
    rewrite Z.pow_mul_l. change (2 ^ 117) with (512 ^ 13). apply Z.mul_le_mono_nonneg_l; [discriminate|exact IH].
  - do 15 (destruct h as [|h]; [vm_compute; discriminate|]). lia.
Qed.

(** A balanced tree of n ranges is at most 13 / 9 log2 (n + 1) high: 2^(9 h) is at most (n + 1)^13. *)
Theorem height_is_logarithmic t : balanced t -> 2 ^ (9 * height t) <= (size t + 1) ^ 13.
Proof.
  intros B. pose proof (height_nonneg t B). pose proof (size_is_fib t B) as F. pose proof (fib_is_a_power (Z.to_nat (height t))) as P.
  rewrite Z2Nat.id in P by assumption. pose proof (fib_grows (Z.to_nat (height t) + 2)).
  etransitivity; [exact P|]. apply Z.pow_le_mono_l. lia.
Qed.

(* As for all heights that a tree of fewer than 2^64 ranges can have. *)
Definition low_enough (h : nat) : bool := 2 ^ (25 * Z.of_nat h) <=? (fib (h + 2) + 1) ^ 36.

(** In a memory of 2^64 bytes it is at most 1.44 log2 (n + 2) high, which is the bound of the textbooks: 2^(25 h) is at most
    (n + 2)^36. And its height fits in a byte, in which C keeps it. *)
Theorem height_in_memory t : balanced t -> size t < 2 ^ 64 -> 2 ^ (25 * height t) <= (size t + 2) ^ 36 /\ height t < 256.
Proof.
  intros B M. pose proof (height_nonneg t B). pose proof (size_is_fib t B) as F. set (h := Z.to_nat (height t)) in *.
  assert (E : height t = Z.of_nat h) by lia. assert (L : (h < 93)%nat).
  { destruct (le_lt_dec 93 h) as [G|G]; [|exact G]. pose proof (fib_grows_on 95 (h + 2) ltac:(lia)).
    assert (2 ^ 64 < fib 95) by (vm_compute; reflexivity). lia. }
  split; [|lia]. assert (A : forallb low_enough (seq 0 93) = true) by (vm_compute; reflexivity).
  rewrite forallb_forall in A. specialize (A h (proj2 (in_seq 93 0 h) ltac:(lia))). unfold low_enough in A.
  apply Z.leb_le in A. rewrite E. etransitivity; [exact A|]. pose proof (fib_grows (h + 2)). apply Z.pow_le_mono_l. lia.
Qed.

(** ** The trees of a lock *)

(** Whatever is asked, tried and given back, both trees are balanced. *)
Theorem trees_stay_balanced s : reachable s -> balanced (shareds s) /\ balanced (exclusives s).
Proof.
  induction 1 as [|s from to mode H [A B]|s from to mode H [A B]|s x H [A B] I]; [split; exact I| | |].
  - unfold ask, stay. destruct (exclusive _); cbn [fst shareds exclusives]; split; try assumption; now apply insert_keeps_balance.
  - unfold try_ask, stay. destruct (_ =? 0); [|split; assumption].
    destruct (exclusive _); cbn [fst shareds exclusives]; split; try assumption; now apply insert_keeps_balance.
  - unfold leave. destruct (exclusive x).
    + pose proof (unblock_keeps_balance (remove (exclusives s) x) x) as [_ P]. pose proof (unblock_keeps_balance (shareds s) x) as [_ Q].
      destruct (unblock (remove (exclusives s) x) x), (unblock (shareds s) x). cbn [fst shareds exclusives] in *.
      split; [now apply Q|]. now apply P, remove_keeps_balance.
    + pose proof (unblock_keeps_balance (exclusives s) x) as [_ P]. destruct (unblock (exclusives s) x).
      cbn [fst shareds exclusives] in *. split; [now apply remove_keeps_balance|now apply P].
Qed.
