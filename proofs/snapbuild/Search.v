(* SPDX-License-Identifier: PostgreSQL *)
(** * The binary and the galloping search find the lower bound

    [below] are the elements under the one sought and [rest] the others: the bound is where [rest] begins.  A sorted
    array falls into two such parts for any element ([sorted_split]). *)
From Coq Require Import ZArith Lia List Sorted.
From stdpp Require Import base option list.
From Pgquern.snapbuild Require Import Memory MemoryFacts Spec SortedFacts Algorithms.
Local Open Scope Z_scope.

Section search.
  Context (under : Z -> bool) (a : memory) (base : Z) (below rest : list Z).
  Context (A : array a base (below ++ rest)).
  Context (B : Forall (fun v => under v = true) below) (R : Forall (fun v => under v = false) rest).
  Let bound := base + zlength below.
  Let top := base + zlength (below ++ rest).

  Lemma probe_under k : base <= k < top -> exists v, load a k = Some v /\ under v = (k <? bound).
  Proof.
    intros K. pose proof A as A'. apply array_app in A'. destruct A' as [A1 A2]. subst bound top.
    rewrite app_length in K. destruct (Z.ltb_spec k (base + zlength below)).
    - destruct (array_load _ _ _ _ k A1 B) as (v & V & L); [lia|eauto].
    - destruct (array_load _ _ _ _ k A2 R) as (v & V & L); [lia|eauto].
  Qed.

  (** The binary search of [lo, hi) yields the bound whenever it lies in [lo, hi], after at most log2(hi - lo) + 1
      probes, all of them inside. *)
  Lemma bisect_spec lo hi : base <= lo <= bound -> bound <= hi <= top -> bisect under a lo hi = Some bound.
  Proof.
    intros L H. unfold bisect.
    destruct (while_total (fun '(lo, hi) => base <= lo <= bound /\ bound <= hi <= top)
      (fun '(lo, hi) => halvings (hi - lo)) bisect_test (bisect_body under a)
      (Z.to_nat (halvings (hi - lo))) (lo, hi)) as ([lo' hi'] & E & I & T).
    - auto.
    - pose proof (halvings_nonneg (hi - lo)). lia.
    - clear lo hi L H. intros [lo hi] [L H]. eexists. split; [reflexivity|]. intros T. apply Z.ltb_lt in T.
      split; [apply halvings_pos; lia|]. cbn [bisect_body].
      pose proof (Z.div_mod (hi - lo) 2 ltac:(lia)). pose proof (Z.mod_pos_bound (hi - lo) 2 ltac:(lia)).
      set (half := (hi - lo) / 2) in *. clearbody half.
      destruct (probe_under (lo + half)) as (v & V & C); [lia|]. rewrite V. cbn [mbind option_bind]. rewrite C.
      eexists. split; [reflexivity|]. destruct (Z.ltb_spec (lo + half) bound); (split; [lia|]);
        apply halvings_half; lia.
    - rewrite E. simpl. injection T as T. apply Z.ltb_ge in T. f_equal. lia.
  Qed.
End search.

Section lower_bound.
  Context (a : memory) (x base : Z) (below rest : list Z).
  Context (A : array a base (below ++ rest)).
  Context (B : Forall (fun v => v < x) below) (R : Forall (fun v => x <= v) rest).
  Let bound := base + zlength below.
  Let top := base + zlength (below ++ rest).

  Lemma probe k : base <= k < top -> exists v, load a k = Some v /\ (v <? x) = (k <? bound).
  Proof.
    apply (probe_under (fun v => v <? x) a base below rest A).
    - eapply Forall_impl; [exact B|]. intros v. apply Z.ltb_lt.
    - eapply Forall_impl; [exact R|]. intros v. apply Z.ltb_ge.
  Qed.

  (* The first of the cuts past the bound, and all after it, are not below. *)
  Lemma count_below_spec from step n : base <= from <= bound -> 0 < step -> from + Z.of_nat n * step <= top ->
    exists c, count_below a x from step n = Some c /\ 0 <= c <= Z.of_nat n /\ from + c * step <= bound /\
      (c < Z.of_nat n -> bound < from + (c + 1) * step).
  Proof.
    intros L P. induction n as [|n IH]; intros H.
    - exists 0. simpl. repeat split; lia.
    - destruct IH as (c & E & C & U & V); [lia|]. cbn [count_below]. rewrite E. cbn [mbind option_bind].
      destruct (probe (from + Z.of_nat (S n) * step - 1)) as (v & W & T); [nia|].
      rewrite W. cbn [mbind option_bind]. rewrite T.
      destruct (Z.ltb_spec (from + Z.of_nat (S n) * step - 1) bound) as [S|S].
      + assert (c = Z.of_nat n) as ->. { destruct (Z.eq_dec c (Z.of_nat n)); [auto|]. exfalso.
          assert (bound < from + (c + 1) * step) by (apply V; lia). nia. }
        eexists. split; [reflexivity|]. split; [lia|]. split; [lia|]. lia.
      + exists c. split; [reflexivity|]. split; [lia|]. split; [lia|]. intros K.
        destruct (Z.eq_dec c (Z.of_nat n)) as [->|]; [lia|]. apply V. lia.
  Qed.

  (** The branch-free search of [from, from + n) yields the lower bound whenever it lies there, after at most
      log2(n) + 1 rounds of seven probes and 15 more, all of them inside. *)
  Lemma lower_bound_spec from n : base <= from <= bound -> bound <= from + n <= top ->
    lower_bound a x from n = Some bound.
  Proof.
    intros L H. unfold lower_bound.
    destruct (while_total (fun '(from, n) => base <= from <= bound /\ bound <= from + n <= top)
      (fun '(from, n) => halvings n) eighth_test (eighth_body a x) (Z.to_nat (halvings n)) (from, n))
      as ([from' n'] & E & I & T).
    - auto.
    - pose proof (halvings_nonneg n). lia.
    - clear from n L H. intros [from n] [L H]. eexists. split; [reflexivity|]. intros T. apply Z.leb_le in T.
      split; [apply halvings_pos; lia|]. cbn [eighth_body].
      pose proof (Z.div_mod n 8 ltac:(lia)). pose proof (Z.mod_pos_bound n 8 ltac:(lia)).
      pose proof (Z.div_mod n 2 ltac:(lia)). pose proof (Z.mod_pos_bound n 2 ltac:(lia)).
      set (step := n / 8) in *. clearbody step.
      destruct (count_below_spec from step 7) as (c & C & D & U & V); [lia|lia|lia|].
      rewrite C. cbn [mbind option_bind]. eexists. split; [reflexivity|]. split.
      + destruct (Z.eq_dec c 7) as [->|]; [lia|]. assert (bound < from + (c + 1) * step) by (apply V; lia). nia.
      + apply halvings_half; lia.
    - rewrite E. cbn [mbind option_bind]. injection T as T. apply Z.leb_gt in T.
      destruct (count_below_spec from' 1 (Z.to_nat n')) as (c & C & D & U & V); [lia|lia|lia|].
      rewrite C. cbn [mbind option_bind]. f_equal.
      destruct (Z.eq_dec c (Z.of_nat (Z.to_nat n'))) as [->|]; [lia|]. assert (bound < from' + (c + 1) * 1) by (apply V; lia).
      lia.
  Qed.
End lower_bound.

(** Galloping down from [n] yields the lower bound whenever it isn't past [n], after at most log2(n) + 1 probes to
    gallop and one more to search. *)
Lemma gallop_spec a x below rest n : array a 0 (below ++ rest) ->
  Forall (fun v => v < x) below -> Forall (fun v => x <= v) rest ->
  zlength below <= n <= zlength (below ++ rest) -> gallop a x n = Some (zlength below).
Proof.
  intros A B R H. unfold gallop.
  destruct (while_total (fun '(h, step) => zlength below <= h <= n /\ 0 < step)
    (fun '(h, step) => halvings (h / step)) (gallop_test a x) gallop_body
    (Z.to_nat (halvings n)) (n, 1)) as ([h step] & E & I & T).
  - lia.
  - rewrite Z.div_1_r. pose proof (halvings_nonneg n). lia.
  - intros [h step] [I S]. cbn [gallop_test gallop_body]. destruct (Z.leb_spec step h) as [L|L].
    + destruct (probe a x 0 below rest A B R (h - step)) as (v & V & C); [lia|].
      rewrite V. cbn [mbind option_bind]. rewrite Z.leb_antisym, C.
      eexists. split; [reflexivity|]. intros N. apply negb_true_iff, Z.ltb_ge in N.
      assert (0 < h / step) by (apply Z.div_str_pos; lia).
      split; [now apply halvings_pos|]. eexists. split; [reflexivity|]. split; [lia|]. apply halvings_half; [auto|].
      apply Z.div_le_lower_bound; [lia|]. pose proof (Z.mul_div_le (h - step) (2 * step) ltac:(lia)).
      set ((h - step) / (2 * step)) in *. nia.
    + eexists. split; [reflexivity|]. discriminate.
  - rewrite E. cbn [mbind option_bind]. destruct I as [I S]. cbn [gallop_test] in T.
    replace (Some (zlength below)) with (Some (0 + zlength below)) by (f_equal; lia).
    destruct (Z.leb_spec step h) as [L|L].
    + destruct (probe a x 0 below rest A B R (h - step)) as (v & V & C); [lia|].
      rewrite V in T. cbn [mbind option_bind] in T. injection T as T.
      rewrite Z.leb_antisym, C in T. apply negb_false_iff, Z.ltb_lt in T.
      apply (lower_bound_spec a x 0 below rest A B R); lia.
    + apply (lower_bound_spec a x 0 below rest A B R); lia.
Qed.

(** How near the bound is to the end is all that counts for galloping: at a distance of d it gallops at most log2(d) + 1
    times round, and leaves at most d elements to the binary search. *)
Lemma gallop_near a x below rest n : array a 0 (below ++ rest) ->
  Forall (fun v => v < x) below -> Forall (fun v => x <= v) rest -> n = zlength (below ++ rest) ->
  let d := n - zlength below in
  exists h step, while (Z.to_nat (halvings d)) (gallop_test a x) gallop_body (n, 1) = Some (h, step) /\
    (if step <=? h then step - 1 else h) <= d.
Proof.
  intros A B R N d.
  destruct (while_total (fun '(h, step) => zlength below <= h <= n /\ 0 < step /\ n - h = step - 1 /\ step <= d + 1)
    (fun '(h, step) => halvings ((h - zlength below) / step)) (gallop_test a x) gallop_body
    (Z.to_nat (halvings d)) (n, 1)) as ([h step] & E & I & T).
  - rewrite app_length in N. lia.
  - rewrite Z.div_1_r. pose proof (halvings_nonneg d). fold d. lia.
  - intros [h step] (I & S & G & D). cbn [gallop_test gallop_body]. destruct (Z.leb_spec step h) as [L|L].
    + destruct (probe a x 0 below rest A B R (h - step)) as (v & V & C); [lia|].
      rewrite V. cbn [mbind option_bind]. rewrite Z.leb_antisym, C. eexists. split; [reflexivity|].
      intros P. apply negb_true_iff, Z.ltb_ge in P. set (far := h - zlength below) in *.
      assert (0 < far / step) by (apply Z.div_str_pos; lia). split; [now apply halvings_pos|].
      eexists. split; [reflexivity|]. split; [lia|]. apply halvings_half; [auto|].
      replace (h - step - zlength below) with (far - step) by lia.
      apply Z.div_le_lower_bound; [lia|]. pose proof (Z.mul_div_le (far - step) (2 * step) ltac:(lia)).
      set ((far - step) / (2 * step)) in *. nia.
    + eexists. split; [reflexivity|]. discriminate.
  - exists h, step. split; [auto|]. destruct (Z.leb_spec step h); lia.
Qed.
