(* SPDX-License-Identifier: PostgreSQL *)
(** * The binary and the galloping search find the lower bound

    [below] are the elements under the one sought and [rest] the others: the bound is where [rest] begins.  A sorted
    array falls into two such parts for any element ([sorted_split]). *)
From Coq Require Import ZArith Lia List Sorted.
From stdpp Require Import base option list zmap.
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

  (** Near a guess, whatever it is, the search of [from, from + n) yields the lower bound whenever it lies there, after at most
      log2(n) + 1 rounds of two probes more, all of them inside. *)
  Lemma lower_bound_near_spec from n guess : base <= from <= bound -> bound <= from + n <= top -> 0 <= guess < n ->
    lower_bound_near a x from n guess = Some bound.
  Proof.
    intros L H G. unfold lower_bound_near.
    destruct (while_total (fun '(d, low, high) => 0 < d /\ 0 <= low <= bound - from /\ bound - from <= high <= n)
      (fun '(d, _, _) => halvings (n / d)) (near_test n) (near_body a x from n guess) (Z.to_nat (halvings n)) (16, 0, n))
      as ([[d low] high] & E & (D & I & J) & _).
    - lia.
    - rewrite Z2Nat.id by apply halvings_nonneg. destruct (Z.eq_dec (n / 16) 0) as [->|]; [apply halvings_nonneg|].
      pose proof (Z.div_pos n 16 ltac:(lia) ltac:(lia)). apply Z.lt_le_incl, halvings_half; [lia|].
      pose proof (Z.mul_div_le n 16 ltac:(lia)). lia.
    - intros [[d low] high] (D & I & J). eexists. split; [reflexivity|]. intros T. apply Z.ltb_lt in T.
      assert (0 < n / d) by (apply Z.div_str_pos; lia). split; [now apply halvings_pos|]. cbn [near_body].
      set (i := if d <? guess then guess - d else 0). set (j := if guess + d <? n then guess + d else n - 1).
      assert (0 <= i < n /\ 0 <= j < n) as [Bi Bj] by (subst i j; destruct (Z.ltb_spec d guess), (Z.ltb_spec (guess + d) n); lia).
      destruct (probe (from + i)) as (u & U & Cu); [lia|]. destruct (probe (from + j)) as (v & V & Cv); [lia|].
      rewrite U. cbn [mbind option_bind]. rewrite V. cbn [mbind option_bind]. rewrite Cu, Cv.
      eexists. split; [reflexivity|]. split.
      + destruct (Z.ltb_spec (from + i) bound), (Z.ltb_spec (from + j) bound); lia.
      + apply halvings_half; [auto|].
        rewrite (Z.mul_comm 8 d), <- Z.div_div by lia. pose proof (Z.mul_div_le (n / d) 8 ltac:(lia)).
        pose proof (Z.div_pos (n / d) 8 ltac:(lia) ltac:(lia)). lia.
    - rewrite E. cbn [mbind option_bind]. apply lower_bound_spec; lia.
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

(** The cost of galloping depends only on the distance d of the bound from the end: it gallops at most log2(d) + 1
    rounds, and leaves at most d elements to the binary search. *)
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

(** Where [x] belongs in [l]: how many are below it. *)
Definition place (l : list Z) (x : Z) : Z := zlength (List.filter (fun v => v <? x) l).

Lemma place_app l1 l2 x : place (l1 ++ l2) x = place l1 x + place l2 x.
Proof. unfold place. rewrite List.filter_app, app_length. lia. Qed.

Lemma place_all l x : Forall (fun v => v < x) l -> place l x = zlength l.
Proof.
  unfold place. induction 1 as [|v l V _ IH]; simpl; [auto|]. rewrite (proj2 (Z.ltb_lt v x) V). simpl. lia.
Qed.

Lemma place_none l x : Forall (fun v => x <= v) l -> place l x = 0.
Proof.
  unfold place. induction 1 as [|v l V _ IH]; simpl; [auto|]. now rewrite (proj2 (Z.ltb_ge v x) V).
Qed.

(** Halving what lies above [from] yields the lower bound, if that is where it lies. *)
Lemma halve_spec a x below rest from n : array a 0 (below ++ rest) ->
  Forall (fun v => v < x) below -> Forall (fun v => x <= v) rest ->
  0 <= from <= zlength below -> zlength below <= n <= zlength (below ++ rest) -> halve a x from n = Some (zlength below).
Proof.
  intros A B R L H. unfold halve.
  pose proof (probe a x 0 below rest A B R) as P. rewrite !Z.add_0_l in P.
  destruct (while_total (fun '(p, w) => 0 <= p <= zlength below /\ zlength below <= p + w <= n)
    (fun '(p, w) => w) halve_test (halve_body a x) (Z.to_nat (n - from)) (from, n - from)) as ([p w] & E & I & T).
  - lia.
  - lia.
  - intros [p w] I. eexists. split; [reflexivity|]. intros T. apply Z.ltb_lt in T. split; [lia|]. cbn [halve_body].
    pose proof (Z.div_mod w 2 ltac:(lia)). pose proof (Z.mod_pos_bound w 2 ltac:(lia)).
    set (half := w / 2) in *. clearbody half.
    destruct (P (p + half - 1)) as (v & V & C); [lia|]. rewrite V. cbn [mbind option_bind]. rewrite C.
    eexists. split; [reflexivity|]. destruct (Z.ltb_spec (p + half - 1) (zlength below)); lia.
  - rewrite E. cbn [mbind option_bind]. injection T as T. apply Z.ltb_ge in T. destruct (Z.ltb_spec p n).
    + destruct (P p) as (v & V & C); [lia|]. rewrite V. cbn [mbind option_bind]. rewrite C.
      f_equal. destruct (Z.ltb_spec p (zlength below)); lia.
    + f_equal. lia.
Qed.

Lemma place_le l x y : x <= y -> place l x <= place l y.
Proof.
  unfold place. intros L. induction l as [|v l IH]; simpl; [lia|].
  destruct (Z.ltb_spec v x), (Z.ltb_spec v y); simpl; lia.
Qed.

Lemma put_in_array m l x : array m 0 l -> zlength l < CHUNK ->
  exists m', put m (zlength l) x = Some m' /\ array m' 0 (l ++ [x]).
Proof.
  intros A L. unfold put. rewrite (proj2 (Z.leb_le _ _)), (proj2 (Z.ltb_lt _ _)) by lia. eexists. split; [reflexivity|].
  apply array_app. split.
  - eapply array_frame; [|exact A]. intros k K. apply lookup_insert_ne. lia.
  - split; [|easy]. apply lookup_insert.
Qed.

(** The search for the chunk [c] of a sorted batch yields where each of its XIDs belongs in the array; it ends, and
    stays in bounds. *)
Lemma search_chunk_spec a b l front c back : sorted_unique l -> sorted_unique c -> array a 0 l ->
  array b 0 (front ++ c ++ back) -> 0 < zlength c <= CHUNK ->
  exists at_, search_chunk a b (zlength front) (zlength l) (zlength c) = Some at_ /\ array at_ 0 (map (place l) c).
Proof.
  intros S SC A B L.
  assert (Cut : forall x, exists below rest, l = below ++ rest /\ Forall (fun v => v < x) below /\
    Forall (fun v => x <= v) rest /\ place l x = zlength below).
  { intros x. destruct (sorted_split x l S) as (below & rest & E & Bl & Re). exists below, rest. subst l.
    rewrite place_app, (place_all below), (place_none rest) by auto. repeat split; auto; lia. }
  destruct c as [|x0 c]; [simpl in L; lia|]. unfold search_chunk.
  pose proof (load_in_array b 0 front x0 _ B) as X0. rewrite Z.add_0_l in X0. rewrite X0. cbn [mbind option_bind].
  set (from := place l x0).
  assert (G : gallop a x0 (zlength l) = Some from).
  { destruct (Cut x0) as (below & rest & -> & Bl & Re & P). subst from. rewrite P.
    apply (gallop_spec a x0 below rest); auto. rewrite app_length. lia. }
  rewrite G. cbn [mbind option_bind].
  destruct (put_in_array ∅ [] from) as (at0 & P0 & A0); [easy|easy|]. change (zlength []) with 0 in P0. rewrite P0.
  cbn [mbind option_bind]. set (m := zlength (x0 :: c)) in *.
  destruct (while_total (fun '(i, at_) => exists done todo, x0 :: c = done ++ todo /\ i = zlength done /\
      array at_ 0 (map (place l) done))
    (fun '(i, _) => m - i) (search_test m) (search_body a b (zlength front) from (zlength l))
    (Z.to_nat m) (1, at0)) as ([i at_] & E & I & T).
  - exists [x0], c. auto.
  - lia.
  - intros [i at_] (done & todo & E & I & At). eexists. split; [reflexivity|]. intros T. apply Z.ltb_lt in T.
    split; [lia|]. cbn [search_body].
    assert (Lm : m = zlength done + zlength todo) by (subst m; rewrite E, app_length; lia).
    destruct todo as [|x todo]; [simpl in Lm; lia|].
    assert (X : load b (zlength front + i) = Some x).
    { rewrite E in B. replace (front ++ (done ++ x :: todo) ++ back) with ((front ++ done) ++ x :: todo ++ back) in B
        by now rewrite <- !app_assoc. apply load_in_array in B. rewrite <- B. rewrite app_length. f_equal. lia. }
    rewrite X. cbn [mbind option_bind]. destruct (Cut x) as (below & rest & El & Bl & Re & P).
    assert (Le : from <= place l x).
    { apply place_le. destruct done as [|y done]; simpl in E.
      - injection E as -> ->. lia.
      - injection E as -> E. apply Z.lt_le_incl. apply StronglySorted_inv in SC. destruct SC as [_ SC].
        rewrite List.Forall_forall in SC. apply SC. rewrite E. apply in_or_app. right. now left. }
    assert (Nn : 0 <= from) by (subst from; unfold place; lia).
    assert (H : (if from =? zlength l then Some (zlength l) else halve a x from (zlength l)) = Some (place l x)).
    { destruct (Z.eqb_spec from (zlength l)).
      { f_equal. assert (zlength l = zlength below + zlength rest) by (rewrite El, app_length; lia). lia. }
      rewrite P. rewrite El in A. apply (halve_spec a x below rest); auto; rewrite ?El, ?app_length; lia. }
    rewrite H. cbn [mbind option_bind].
    destruct (put_in_array at_ (map (place l) done) (place l x) At) as (at1 & Pu & At1).
    { rewrite map_length. simpl in Lm. lia. }
    rewrite map_length, <- I in Pu. rewrite Pu. eexists. split; [reflexivity|]. split; [|lia].
    exists (done ++ [x]), todo. rewrite <- app_assoc, app_length, map_app. simpl. repeat split; auto. lia.
  - rewrite E. cbn [mbind option_bind]. exists at_. split; [auto|]. injection T as T. apply Z.ltb_ge in T.
    destruct I as (done & todo & Ec & I & At). assert (m = zlength done + zlength todo) by (subst m; rewrite Ec, app_length; lia).
    destruct todo; [|simpl in *; lia]. rewrite app_nil_r in Ec. now rewrite Ec.
Qed.
