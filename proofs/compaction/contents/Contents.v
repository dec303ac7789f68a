(* SPDX-License-Identifier: PostgreSQL *)
(** * Nothing is lost: what a page says before and after PageRepairFragmentation

    The main claims, for all algorithms at once, and whatever the scratch area held before. *)
From Coq Require Import Sorting.Permutation.
From Pgquern.common Require Import Integers ListFacts.
From Pgquern.compaction Require Import Page Algorithms Spec Moves Decode Copies Pointers Repair Result.

(** The line pointer of [it] in the page [r]. *)
Definition pointer_in (r : mem) (it : item) : Z := lp_word r (number it).

(** Byte [i] belongs to the tuple that [it] has become in [r]. *)
Definition owns (r : mem) (i : Z) (it : item) : Prop :=
  lp_off (pointer_in r it) <= i < lp_off (pointer_in r it) + len it.

Lemma run_repaired a truncate m scratch0 : is_page m -> valid_page m ->
  forall i, run a truncate m scratch0 i = repaired (order_of a) truncate m i.
Proof. intros P V. apply page_is_repaired; assumption. Qed.

Lemma item_placed o m it : In it (items m) -> exists to, In (it, to) (placed o m).
Proof.
  intros I. apply in_place_intro. eapply Permutation_in; [apply ordered_permutation|exact I].
Qed.

(** After compaction each tuple's bytes, padding included, lie where its line pointer points, and its line pointer has
    the same flags and length as before. *)
Theorem contents_preserved : forall a truncate m scratch0 it, is_page m -> valid_page m -> In it (items m) ->
  let r := run a truncate m scratch0 in
  lp_flags (pointer_in r it) = lp_flags (word it) /\ lp_len (pointer_in r it) = lp_len (word it) /\
  forall k, 0 <= k < len it -> r (lp_off (pointer_in r it) + k) = m (off it + k).
Proof.
  intros a truncate m scratch0 it P V I r. pose proof (run_repaired a truncate m scratch0 P V) as R. fold r in R.
  destruct (item_placed (order_of a) m it I) as [to J].
  destruct (r_placed _ _ m r P V R it to J) as (_ & O & F & L). unfold pointer_in. rewrite O.
  split; [exact F|]. split; [exact L|]. intros k K. now apply (r_content _ _ m r P V R).
Qed.

(** Line pointers without storage stay as they are, except that unused ones become all zero. *)
Theorem other_line_pointers : forall a truncate m scratch0 n, is_page m -> valid_page m -> 1 <= n <= nline m ->
  has_storage (lp_word m n) = false ->
  lp_word (run a truncate m scratch0) n = if is_used (lp_word m n) then lp_word m n else 0.
Proof.
  intros a truncate m scratch0 n P V N S.
  now apply (r_other _ _ m _ P V (run_repaired a truncate m scratch0 P V)).
Qed.

(** The other bytes of the header (all but pd_flags, pd_lower and pd_upper), the hole and the special space do not
    change. *)
Theorem rest_untouched : forall a truncate m scratch0 i, is_page m -> valid_page m ->
  let r := run a truncate m scratch0 in
  i < 10 \/ 16 <= i < 24 \/ 24 + 4 * nline m <= i < pd_upper r \/ pd_special m <= i -> r i = m i.
Proof.
  intros a truncate m scratch0 i P V r I. pose proof (run_repaired a truncate m scratch0 P V) as R. fold r in R.
  rewrite (r_upper _ _ m r P V R) in I. now apply (r_untouched _ _ m r P V R).
Qed.

(** pd_upper becomes pd_special minus the tuples' aligned lengths. pd_special stays. Truncation lowers pd_lower to the
    end of the last used line pointer; without truncation pd_lower stays. *)
Theorem header_after : forall a truncate m scratch0, is_page m -> valid_page m ->
  let r := run a truncate m scratch0 in
  pd_upper r = pd_special m - total (items m) /\ pd_special r = pd_special m /\
  nline r = (if truncate then last_used (line_pointers m) else nline m) /\
  pd_lower r = pd_lower m - 4 * (nline m - nline r).
Proof.
  intros a truncate m scratch0 P V r. pose proof (run_repaired a truncate m scratch0 P V) as R. fold r in R.
  rewrite (r_upper _ _ m r P V R), (r_special _ _ m r P V R), (r_nline _ _ m r P V R), (r_lower _ _ m r P V R). auto.
Qed.

(** Every line pointer that is cut off is unused. If any are left after truncation, the last one is used. *)
Theorem truncation_cuts_unused : forall a m scratch0, is_page m -> valid_page m ->
  let r := run a true m scratch0 in
  (forall n, nline r < n <= nline m -> is_used (lp_word m n) = false) /\
  (0 < nline r -> is_used (lp_word r (nline r)) = true).
Proof.
  intros a m scratch0 P V r. pose proof (run_repaired a true m scratch0 P V) as R. fold r in R.
  pose proof (proj1 V) as H. pose proof (nline_left_bounds m V true) as [B U].
  rewrite (r_nline _ _ m r P V R). split.
  - intros n N. destruct (is_used (lp_word m n)) eqn:E; [|reflexivity].
    specialize (U (Item n (lp_word m n)) ltac:(apply (in_line_pointers m H); cbn; split; [lia|reflexivity]) E). cbn [number] in U. lia.
  - intros N. pose proof (nline_bounds m H) as [NB _].
    destruct (last_used_from m (Z.to_nat (nline m)) 1 0 ltac:(lia)) as (_ & _ & [C|(it & I & E & L)]).
    + unfold nline_left, last_used, line_pointers in N. rewrite C in N. lia.
    + change (number it = nline_left true m) in L. fold (line_pointers m) in I.
      apply (in_line_pointers m H) in I as [NI W]. rewrite <- L in *.
      destruct (has_storage (lp_word m (number it))) eqn:S.
      * assert (I : In it (items m)) by (apply in_items; split; [apply (in_line_pointers m H); auto|now rewrite W]).
        destruct (item_placed (order_of a) m it I) as [to J].
        destruct (r_placed _ _ m r P V R it to J) as (_ & _ & F & _). unfold is_used in *. now rewrite F.
      * rewrite (r_other _ _ m r P V R _ NI S), <- W, E. exact E.
Qed.

(** PD_HAS_FREE_LINES is set if and only if an unused line pointer is left. The other flags stay. *)
Theorem flags_after : forall a truncate m scratch0, is_page m -> valid_page m ->
  let r := run a truncate m scratch0 in
  pd_flags r / 2 = pd_flags m / 2 /\
  (pd_flags r mod 2 = 1 <-> exists n, 1 <= n <= nline r /\ is_used (lp_word m n) = false).
Proof.
  intros a truncate m scratch0 P V r. pose proof (run_repaired a truncate m scratch0 P V) as R. fold r in R.
  pose proof (proj1 V) as H. pose proof (nline_left_bounds m V truncate) as [B _].
  rewrite (r_flags _ _ m r P V R), (r_nline _ _ m r P V R). unfold new_flags.
  assert (E : has_free_lines truncate m = true <-> exists n, 1 <= n <= nline_left truncate m /\ is_used (lp_word m n) = false).
  { unfold has_free_lines. rewrite existsb_exists. split.
    - intros (it & I & E). apply andb_true_iff in E as [E L]. apply negb_true_iff in E. apply Z.leb_le in L.
      apply (in_line_pointers m H) in I as [N W]. exists (number it). rewrite <- W. split; [lia|exact E].
    - intros (n & N & E). exists (Item n (lp_word m n)). split; [apply (in_line_pointers m H); cbn; split; [lia|reflexivity]|].
      cbn. rewrite E. cbn. apply Z.leb_le. lia. }
  rewrite <- E. destruct (has_free_lines truncate m).
  - split; [div_lia|]. split; [reflexivity|]. intros _. div_lia.
  - split; [div_lia|]. split; [intro; exfalso; div_lia|discriminate].
Qed.

(** The tuples are packed and disjoint: each byte from pd_upper to pd_special belongs to exactly one of them. *)
Theorem packed_and_disjoint : forall a truncate m scratch0 i, is_page m -> valid_page m ->
  let r := run a truncate m scratch0 in
  pd_upper r <= i < pd_special r -> exists! it, In it (items m) /\ owns r i it.
Proof.
  intros a truncate m scratch0 i P V r I. pose proof (run_repaired a truncate m scratch0 P V) as R. fold r in R.
  rewrite (r_upper _ _ m r P V R), (r_special _ _ m r P V R) in I.
  pose proof (ordered_nonneg _ _ m r P V R) as N.
  destruct (place_covers _ N (pd_special m) i) as (it & to & J & K).
  { rewrite (ordered_total _ _ m r P V R). exact I. }
  exists it. unfold owns, pointer_in. split.
  - destruct (r_placed _ _ m r P V R it to J) as (_ & O & _). rewrite O. split; [eapply in_placed; exact J|exact K].
  - intros it' [I' K']. destruct (item_placed (order_of a) m it' I') as [to' J'].
    destruct (r_placed _ _ m r P V R it' to' J') as (_ & O' & _). rewrite O' in K'.
    now destruct (place_disjoint _ N _ i it to it' to' J J' K K').
Qed.

(** All tuples lie between pd_upper and pd_special. *)
Theorem tuples_inside : forall a truncate m scratch0 it, is_page m -> valid_page m -> In it (items m) ->
  let r := run a truncate m scratch0 in
  pd_upper r <= lp_off (pointer_in r it) /\ lp_off (pointer_in r it) + len it <= pd_special r.
Proof.
  intros a truncate m scratch0 it P V I r. pose proof (run_repaired a truncate m scratch0 P V) as R. fold r in R.
  destruct (item_placed (order_of a) m it I) as [to J].
  destruct (r_placed _ _ m r P V R it to J) as (_ & O & _). unfold pointer_in. rewrite O.
  rewrite (r_upper _ _ m r P V R), (r_special _ _ m r P V R). now apply (placed_bounds _ _ m r P V R).
Qed.

(** Disjoint intervals between [u] and [top] add up to at most the distance. *)
Lemma disjoint_total (f : item -> Z) n : forall its u top, (length its <= n)%nat -> u <= top -> NoDup its ->
  (forall it, In it its -> 0 < len it /\ u <= f it /\ f it + len it <= top) ->
  (forall it it', In it its -> In it' its -> it <> it' -> f it + len it <= f it' \/ f it' + len it' <= f it) ->
  total its <= top - u.
Proof.
  induction n as [|n IH]; intros its u top L U D B S; (destruct its as [|x r]; [cbn; lia|]); cbn [length] in L; [lia|].
  pose proof (B x (or_introl eq_refl)) as Bx. inversion D as [|? ? X Dr]; subst.
  set (low := filter (fun it => f it <? f x) r). set (high := filter (fun it => negb (f it <? f x)) r).
  assert (T : total r = total low + total high).
  { subst low high. clear. induction r as [|y r IH]; cbn; [reflexivity|]. destruct (f y <? f x); cbn; lia. }
  assert (LL : (length low <= length r)%nat) by (subst low; apply filter_length_le).
  assert (LH : (length high <= length r)%nat) by (subst high; apply filter_length_le).
  assert (TL : total low <= f x - u).
  { apply IH; [lia|lia|now apply NoDup_filter| |].
    - intros it I. apply filter_In in I as [I F]. apply Z.ltb_lt in F. pose proof (B it (or_intror I)) as Bi.
      assert (it <> x) by congruence. destruct (S it x (or_intror I) (or_introl eq_refl) H); lia.
    - intros it it' I I'. apply filter_In in I as [I _], I' as [I' _]. apply S; now right. }
  assert (TH : total high <= top - (f x + len x)).
  { apply IH; [lia|lia|now apply NoDup_filter| |].
    - intros it I. apply filter_In in I as [I F]. apply negb_true_iff, Z.ltb_ge in F. pose proof (B it (or_intror I)) as Bi.
      assert (it <> x) by congruence. destruct (S it x (or_intror I) (or_introl eq_refl) H); lia.
    - intros it it' I I'. apply filter_In in I as [I _], I' as [I' _]. apply S; now right. }
  cbn. lia.
Qed.

(** pd_upper is maximal: no way to place the same tuples below pd_special without overlap leaves more room. *)
Theorem pd_upper_maximal : forall a truncate m scratch0 (f : item -> Z) u, is_page m -> valid_page m -> u <= pd_special m ->
  (forall it, In it (items m) -> u <= f it /\ f it + len it <= pd_special m) ->
  (forall it it', In it (items m) -> In it' (items m) -> it <> it' -> f it + len it <= f it' \/ f it' + len it' <= f it) ->
  u <= pd_upper (run a truncate m scratch0).
Proof.
  intros a truncate m scratch0 f u P V U B S. rewrite (r_upper _ _ m _ P V (run_repaired a truncate m scratch0 P V)).
  unfold new_upper. enough (total (items m) <= pd_special m - u) by lia.
  apply (disjoint_total f (length (items m))); auto.
  - eapply NoDup_map_inv, items_distinct.
  - intros it I. pose proof (B it I). pose proof (item_facts m P (proj1 V) it I). lia.
Qed.

(** Two algorithms may differ in the order of the tuples, but never in the flags, length or contents of a line pointer.
    *)
Theorem algorithms_agree_on_contents : forall a a' truncate truncate' m s s' it, is_page m -> valid_page m -> In it (items m) ->
  let r := run a truncate m s in let r' := run a' truncate' m s' in
  lp_flags (pointer_in r it) = lp_flags (pointer_in r' it) /\ lp_len (pointer_in r it) = lp_len (pointer_in r' it) /\
  forall k, 0 <= k < len it -> r (lp_off (pointer_in r it) + k) = r' (lp_off (pointer_in r' it) + k).
Proof.
  intros a a' truncate truncate' m s s' it P V I r r'.
  destruct (contents_preserved a truncate m s it P V I) as (F & L & C).
  destruct (contents_preserved a' truncate' m s' it P V I) as (F' & L' & C').
  fold r in F, L, C. fold r' in F', L', C'. rewrite F, L, F', L'. repeat split.
  intros k K. now rewrite C, C'.
Qed.

(** All our ways to move, through scratch, through registers or in place, give the same bytes as PostgreSQL 14's
    algorithm. So a kernel may choose the fastest one. *)
Theorem ours_equals_pg14 : forall a truncate m s s', is_page m -> valid_page m -> order_of a = ItemOrder ->
  forall i, run a truncate m s i = run PG14 truncate m s' i.
Proof. intros a truncate m s s' P V O i. rewrite !page_is_repaired by assumption. now rewrite O. Qed.
