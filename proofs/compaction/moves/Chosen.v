(* SPDX-License-Identifier: PostgreSQL *)
(** * A kernel takes a way only on a page that the way can take *)
From Pgquern.common Require Import Integers.
From Pgquern.compaction Require Import Page Memory Algorithms Spec Moves Decode Repair Choice.

(** ** Facts of what the scans gather *)
Lemma overlaps_chain its : forall top, overlaps its top = false <-> chain its top.
Proof.
  induction its as [|it r IH]; intros top; cbn [overlaps chain]; [tauto|].
  rewrite orb_false_iff, Z.ltb_ge, IH. tauto.
Qed.

Lemma chain_is_presorted its : Forall (fun it => 0 < len it) its -> forall top, chain its top -> presorted_below top its = true.
Proof.
  induction 1 as [|it r L F IH]; intros top C; cbn [presorted_below chain] in *; [reflexivity|].
  unfold stop in C. rewrite (IH _ (proj2 C)), andb_true_r. apply Z.ltb_lt. lia.
Qed.

Lemma no_gaps_chain its : forall top, gaps its top = 0 -> chain its top.
Proof.
  assert (P : forall l t, 0 <= gaps l t) by (induction l as [|x l IH]; intros t; cbn [gaps]; [|specialize (IH (off x)); case (_ =? _)]; lia).
  induction its as [|it r IH]; intros top; cbn [gaps chain]; [auto|]. specialize (P r (off it)).
  destruct (Z.eqb_spec (stop it) top); intros G; [|lia]. split; [lia|]. apply IH. lia.
Qed.

Lemma no_gaps_in_place its : forall top, gaps its top = 0 -> fst (skip_in_place its top) = [].
Proof.
  assert (P : forall l t, 0 <= gaps l t) by (induction l as [|x l IH]; intros t; cbn [gaps]; [|specialize (IH (off x)); case (_ =? _)]; lia).
  induction its as [|it r IH]; intros top; cbn [gaps skip_in_place]; [auto|]. specialize (P r (off it)).
  destruct (Z.eqb_spec (stop it) top); intros G; [|lia]. replace (top - len it) with (off it) by (unfold stop in *; lia).
  apply IH. lia.
Qed.

Lemma gaps_count its : forall top, 0 <= gaps its top <= Z.of_nat (length its).
Proof. induction its as [|it r IH]; intros top; cbn [gaps length]; [|specialize (IH (off it)); case (_ =? _)]; lia. Qed.

Lemma lor_least a b : 0 <= a -> 0 <= b -> a <= Z.lor a b.
Proof.
  intros A B. assert (E : Z.lor a b = a + Z.ldiff b a).
  - rewrite Z.add_nocarry_lxor, Z.lxor_lor; apply Z.bits_inj'; intros i _;
      rewrite ?Z.lor_spec, ?Z.land_spec, ?Z.ldiff_spec, ?Z.bits_0;
      now destruct (Z.testbit a i), (Z.testbit b i).
  - rewrite E. enough (0 <= Z.ldiff b a) by lia. apply Z.ldiff_nonneg. now left.
Qed.

Lemma lengths_spec its : nonneg its -> 0 <= lengths its /\ Forall (fun it => len it <= lengths its) its.
Proof.
  induction 1 as [|it r L F [I J]]; [split; [cbn; lia|constructor]|]. unfold lengths in *. cbn [fold_right].
  set (n := fold_right _ _ _) in *. split; [now apply Z.lor_nonneg|]. constructor; [now apply lor_least|].
  eapply Forall_impl; [|exact J]. cbn. intros x X. rewrite Z.lor_comm. pose proof (lor_least n (len it) I L). lia.
Qed.

Lemma longest_least its bound : 0 <= bound -> Forall (fun it => len it <= bound) its -> longest its <= bound.
Proof. intros B. induction 1 as [|it r L F IH]; unfold longest in *; cbn [fold_right]; lia. Qed.

Lemma total_most its bound : Forall (fun it => len it <= bound) its -> total its <= Z.of_nat (length its) * bound.
Proof. induction 1 as [|it r L F IH]; cbn [total length]; lia. Qed.

Lemma total_of_chain its bottom : (forall it, In it its -> bottom <= off it) -> forall top, bottom <= top -> chain its top ->
  total its <= top - bottom.
Proof.
  induction its as [|it r IH]; intros B top T C; cbn [total chain] in *; [lia|]. unfold stop in C.
  specialize (IH (fun x X => B x (or_intror X)) (off it) (B it (or_introl eq_refl)) (proj2 C)). lia.
Qed.

Lemma total_aligned its : Forall (fun it => len it mod 8 = 0) its -> total its mod 8 = 0.
Proof. induction 1 as [|it r L F IH]; cbn [total]; [reflexivity|]. div_lia. Qed.

Lemma within its n : longest its <= n -> forallb (fun it => len it <=? n) its = true.
Proof.
  intros L. apply forallb_forall. intros it I. pose proof (longest_spec its) as S. rewrite Forall_forall in S.
  specialize (S it I). cbn in S. apply Z.leb_le. lia.
Qed.

Lemma window_holds n : n <= WIDEST -> n <= window n.
Proof.
  unfold window, WIDEST. intros N. assert (D : 32 * ((n + 31) / 32) >= n) by div_lia. set (d := (n + 31) / 32) in *. clearbody d.
  destruct d as [|p|p]; [lia| |lia]. do 7 (destruct p as [p|p|]; try lia).
Qed.

Lemma window_positive n : 0 < window n.
Proof.
  unfold window, WIDEST. set (d := (n + 31) / 32). clearbody d.
  destruct d as [|p|p]; [lia| |lia]. do 4 (destruct p as [p|p|]; try lia).
Qed.

Lemma window_small n : 0 < n <= 64 -> window n <= 64.
Proof.
  intros N. unfold window. assert (D : (n + 31) / 32 = 1 \/ (n + 31) / 32 = 2) by div_lia. destruct D as [-> | ->]; lia.
Qed.

Lemma window_widest n : window n <= WIDEST.
Proof.
  unfold window, WIDEST. set (d := (n + 31) / 32). clearbody d.
  destruct d as [|p|p]; [lia| |lia]. do 4 (destruct p as [p|p|]; try lia).
Qed.

Lemma pieces_hold n : n <= 192 -> n <= 32 * Z.of_nat (pieces n) /\ (pieces n <= 6)%nat.
Proof.
  intros N. unfold pieces. assert (D : 32 * ((n + 31) / 32) >= n) by div_lia. set (d := (n + 31) / 32) in *. clearbody d.
  destruct d as [|p|p]; [lia| |lia]. do 4 (destruct p as [p|p|]; try lia).
Qed.

Section Valid.
  Variable m : mem.
  Hypothesis page_m : is_page m.
  Hypothesis valid : valid_page m.

  Let its : list item := items m.

  Lemma lens_positive : Forall (fun it => 0 < len it) its.
  Proof. apply Forall_forall. intros it I. pose proof (item_facts m page_m (proj1 valid) it I). lia. Qed.

  Lemma offs_inside it : In it its -> pd_upper m <= off it < pd_special m.
  Proof. destruct valid as (_ & F & _). rewrite Forall_forall in F. intros I. now destruct (F it I). Qed.

  Lemma overlaps_says : overlaps its (pd_special m) = negb (presorted (pd_special m) its).
  Proof.
    destruct (overlaps _ _) eqn:O; symmetry.
    - destruct (presorted _ _) eqn:P; [|reflexivity]. destruct valid as (_ & _ & _ & _ & C).
      apply C, overlaps_chain in P. fold its in P. congruence.
    - apply negb_false_iff, chain_is_presorted; [apply lens_positive|]. now apply overlaps_chain.
  Qed.

  Lemma falls_says : falls its = presorted (pd_special m) its.
  Proof.
    pose proof offs_inside as I. destruct its as [|it r]; [reflexivity|]. cbn. specialize (I it (or_introl eq_refl)).
    destruct (Z.ltb_spec (off it) (pd_special m)); [reflexivity|lia].
  Qed.

  Lemma unsorted_says k : unsorted k m = negb (presorted (pd_special m) its).
  Proof.
    destruct k; cbn [unsorted]; fold its; rewrite ?overlaps_says, ?falls_says; auto. apply andb_diag.
  Qed.

  Lemma without_gaps : ngaps m = 0 -> presorted (pd_special m) its = true.
  Proof. intros G. apply chain_is_presorted; [apply lens_positive|]. now apply no_gaps_chain. Qed.

  Lemma header_facts : 24 <= pd_lower m <= pd_upper m /\ pd_upper m <= pd_special m <= 8192 /\ pd_special m mod 8 = 0.
  Proof. destruct valid as ((L & U & S) & _). unfold HEADER_SIZE, BLCKSZ in *. apply maxalign_fixed in S. lia. Qed.

  Lemma pointers_below : 4 * nitems m <= pd_lower m - 24.
  Proof.
    assert (L : nitems m <= nline m \/ nitems m = 0).
    - unfold nitems, items. pose proof header_facts as (H & _). assert (N : 0 <= nline m) by (unfold nline, HEADER_SIZE; div_lia).
      assert (E : forall first count, length (line_pointers_from m first count) = count)
        by (intros f c; revert f; induction c as [|c IH]; intros f; cbn; [|rewrite IH]; auto).
      assert (F : forall l : list item, (length (filter (fun it => has_storage (word it)) l) <= length l)%nat)
        by (induction l as [|x l IH]; cbn; [|destruct (has_storage _); cbn]; lia).
      specialize (F (line_pointers m)). unfold line_pointers in F at 2. rewrite E in F. lia.
    - pose proof header_facts as (H & _). unfold nline, HEADER_SIZE in L. div_lia.
  Qed.

  Lemma new_upper_facts : pd_lower m <= new_upper_of m /\ new_upper_of m mod 8 = 0.
  Proof.
    destruct valid as (_ & _ & _ & T & _). unfold new_upper_of. split; [lia|].
    assert (A : total (items m) mod 8 = 0).
    { apply total_aligned, Forall_forall. intros it I. now destruct (item_facts m page_m (proj1 valid) it I) as (_ & _ & _ & _ & A). }
    pose proof header_facts. div_lia.
  Qed.

  Lemma sorted_new_upper : presorted (pd_special m) its = true -> pd_upper m <= new_upper_of m.
  Proof.
    intros P. destruct valid as (_ & _ & _ & _ & C). specialize (C P). pose proof header_facts.
    unfold new_upper_of. pose proof (total_of_chain (items m) (pd_upper m) (fun it I => proj1 (offs_inside it I)) (pd_special m) ltac:(lia) C). lia.
  Qed.

  Lemma some_items : ngaps m <> 0 -> 1 <= nitems m /\ 0 < longest its.
  Proof.
    unfold ngaps, nitems. fold its. pose proof lens_positive as L. destruct its as [|it r]; cbn [gaps]; intros G; [lia|].
    inversion L; subst. cbn [length]. unfold longest. cbn [fold_right]. lia.
  Qed.

  Lemma in_slots_longest : slots_fit m = in_slots (longest its) m.
  Proof. reflexivity. Qed.

  (** If the lengths differ, their sum is less than their number times their OR. *)
  Lemma in_slots_lengths : ngaps m <> 0 -> in_slots (lengths its) m = true -> slots_fit m = true.
  Proof.
    intros G S. rewrite in_slots_longest. pose proof (lengths_spec its (items_nonneg m page_m (proj1 valid))) as (N & F).
    assert (E : longest its = lengths its); [|now rewrite E].
    unfold in_slots in S. rewrite !andb_true_iff, Z.eqb_eq in S. destruct S as (((_ & T) & _) & _).
    pose proof (longest_least its (lengths its) N F) as A. pose proof (total_most its (longest its) (longest_spec its)) as B.
    destruct (some_items G) as [I _]. unfold nitems in T, I. fold its in T, I. nia.
  Qed.

  Lemma small_registers w : longest its <= w -> 0 <= w <= 64 -> w <= pd_upper m + 8 -> w <= new_upper_of m -> registers_fit m w = true.
  Proof.
    intros L W U N. unfold registers_fit, windows_fit, LINE. fold its. rewrite (within its w L), !andb_true_iff, !Z.leb_le. lia.
  Qed.

  Lemma windows w : longest its <= w -> w <= pd_upper m + 8 -> windows_fit m (Some w) = true.
  Proof. intros L U. unfold windows_fit. fold its. rewrite (within its w L). now apply Z.leb_le. Qed.

  Lemma similar_pieces : all_at_least 32 its = true -> longest its <= 192 -> pieces_fit m (pieces (longest its)) = true.
  Proof.
    intros S L. destruct (pieces_hold (longest its) L) as [A B]. unfold pieces_fit, all_at_least, PIECE in *. fold its.
    apply andb_true_iff. split; [|now apply Nat.leb_le]. rewrite forallb_forall in S |- *. intros it I.
    pose proof (longest_spec its) as F. rewrite Forall_forall in F. specialize (F it I). cbn in F.
    rewrite (S it I). apply Z.leb_le. lia.
  Qed.

  (* Every test as a fact, on the side to which it sends the page. *)
  Ltac follow :=
    repeat match goal with |- context [if ?b then _ else _] => let E := fresh "E" in destruct b eqn:E end;
    repeat match goal with
    | H : _ && _ = true |- _ => apply andb_true_iff in H as [? ?]
    | H : negb _ = true |- _ => apply negb_true_iff in H
    | H : negb _ = false |- _ => apply negb_false_iff in H
    | H : (_ <=? _) = true |- _ => apply Z.leb_le in H
    | H : (_ <=? _) = false |- _ => apply Z.leb_gt in H
    | H : (_ <? _) = true |- _ => apply Z.ltb_lt in H
    | H : (_ <? _) = false |- _ => apply Z.ltb_ge in H
    end.

  Lemma scalar_suits : ngaps m <> 0 -> suits (scalar_way m) m = true.
  Proof.
    intros G. destruct (some_items G) as [N L]. pose proof (lengths_spec its (items_nonneg m page_m (proj1 valid))) as (P & F).
    pose proof (longest_least its (lengths its) P F) as Q.
    unfold scalar_way. fold its. cbv zeta. follow; cbn [suits runs_by_memmove]; auto.
    - apply orb_true_iff. right. apply windows; lia.
    - apply orb_true_iff. right. apply windows; lia.
    - now apply in_slots_lengths.
  Qed.

  (** A page with a tuple has pd_lower at 28 or above; pd_upper afterwards is aligned. *)
  Lemma room_for_a_vector : ngaps m <> 0 -> 32 <= new_upper_of m /\ 32 <= pd_upper m + 8.
  Proof.
    intros G. destruct (some_items G). pose proof pointers_below. pose proof new_upper_facts. pose proof header_facts. div_lia.
  Qed.

  Lemma avx2_suits : ngaps m <> 0 -> suits (avx2_way m) m = true.
  Proof.
    intros G. destruct (some_items G) as [N L]. destruct (room_for_a_vector G) as [R U].
    unfold avx2_way. fold its. cbv zeta. rewrite !unsorted_says, negb_involutive. fold its.
    pose proof (window_holds (longest its)) as H. pose proof (window_small (longest its)) as W.
    pose proof (window_widest (longest its)) as X. unfold WIDEST in *. unfold nitems.
    follow; cbn [suits]; fold its; rewrite ?andb_true_iff, ?orb_true_iff, ?Z.leb_le, ?Z.ltb_lt, ?Nat.leb_le; try reflexivity.
    - split; [split; [lia|unfold REGISTERS; subst its; lia]|]. apply small_registers; lia.
    - assumption.
    - split; [assumption|]. apply small_registers; lia.
    - right. match goal with H : _ || _ = true |- _ => apply orb_true_iff in H as [H|H]; apply andb_true_iff in H as [A B] end;
        apply Z.leb_le in A, B; apply windows; lia.
    - now rewrite in_slots_longest.
  Qed.

  Lemma avx512_suits : ngaps m <> 0 -> suits (avx512_way m) m = true.
  Proof.
    intros G. destruct (some_items G) as [N L]. destruct (room_for_a_vector G) as [R U].
    unfold avx512_way. fold its. cbv zeta. rewrite !unsorted_says, !negb_involutive. fold its.
    pose proof (window_holds (longest its)) as H. pose proof (window_small (longest its)) as W.
    pose proof (window_widest (longest its)) as X. unfold WIDEST in *. unfold nitems.
    follow; cbn [suits]; fold its; rewrite ?andb_true_iff, ?orb_true_iff, ?Z.leb_le, ?Z.ltb_lt, ?Nat.leb_le; auto.
    1-4: split; [split; [subst its; lia|unfold REGISTERS; lia]|]; apply small_registers; lia.
    1-2: split; [assumption|]; pose proof (sorted_new_upper ltac:(assumption)); apply small_registers; lia.
    - split; [assumption|]. now apply similar_pieces.
    - right. apply windows; lia.
    - repeat match goal with H : true && _ = false |- _ => cbn [andb] in H end.
      match goal with A : ?b = false, H : context [if ?b then _ else 10] |- _ => rewrite A in H; apply Z.leb_gt in H end.
      split; [assumption|]. pose proof (gaps_count (items m) (pd_special m)). pose proof pointers_below. pose proof new_upper_facts.
      unfold nitems, ngaps, LINE in *. lia.
    - right. apply windows; lia.
  Qed.

  Lemma neon_suits : ngaps m <> 0 -> suits (neon_way m) m = true.
  Proof.
    intros G. destruct (some_items G) as [N L]. destruct (room_for_a_vector G) as [R U].
    unfold neon_way. fold its. cbv zeta. rewrite !unsorted_says, !negb_involutive. fold its.
    pose proof (window_holds (longest its)) as H. pose proof (window_small (longest its)) as W.
    pose proof (window_widest (longest its)) as X. unfold WIDEST, PAIR, SMALL in *.
    follow; cbn [suits runs_by_memmove]; fold its; rewrite ?andb_true_iff, ?orb_true_iff; auto.
    - split; [assumption|]. unfold PAIR. apply small_registers; lia.
    - right. match goal with H : _ || _ = true |- _ => apply orb_true_iff in H as [H|H]; apply andb_true_iff in H as [A B] end;
        apply Z.leb_le in A, B; apply windows; lia.
  Qed.
End Valid.

(** All kernels' words for "presorted" mean the same on a page that is accepted. *)
Theorem kernels_agree_on_order : forall k m, is_page m -> valid_page m ->
  unsorted k m = negb (presorted (pd_special m) (items m)).
Proof. intros k m P V. now apply unsorted_says. Qed.

(** A kernel takes a way only on a page that the way can take: its own program runs there, not the fallback by runs. *)
Theorem choice_suits : forall k m, is_page m -> valid_page m -> suits (choice k m) m = true.
Proof.
  intros k m P V. unfold choice. destruct (Z.eqb_spec (ngaps m) 0) as [G|G]; [now apply without_gaps|].
  destruct k; [now apply scalar_suits|case (BLCKSZ <? _)..];
    auto using scalar_suits, avx2_suits, avx512_suits, neon_suits.
Qed.

(** NEON moves runs in place, each by a memmove, only where the tuples are presorted. *)
Theorem neon_runs_are_presorted : forall m, is_page m -> valid_page m -> neon_way m = runs_by_memmove ->
  presorted (pd_special m) (items m) = true.
Proof.
  intros m P V. unfold neon_way. cbv zeta. rewrite (unsorted_says m P V Neon), negb_involutive.
  destruct (presorted _ _); [reflexivity|]. rewrite andb_false_r. cbn [andb].
  pose proof (window_positive (longest (items m))) as W. unfold runs_by_memmove.
  repeat match goal with |- context [if ?b then _ else _] => destruct b end; intros E; try discriminate. injection E as E. lia.
Qed.

(** Where no tuple has a gap before it, no kernel copies anything. *)
Theorem nothing_to_move : forall k m, is_page m -> valid_page m -> ngaps m = 0 -> move_runs false m = [] /\ choice k m = Runs false.
Proof.
  intros k m P V G. pose proof (no_gaps_in_place _ _ G) as E. unfold choice, move_runs, start. rewrite G. cbn [Z.eqb].
  destruct (skip_in_place (items m) (pd_special m)) as [rest upper]. cbn [fst] in E. subst rest.
  now rewrite (without_gaps m P V G).
Qed.

(** Whichever way a kernel takes, the page is the specification's. *)
Theorem kernels_repair : forall k truncate m scratch0, is_page m -> valid_page m ->
  exists ops, repair_by k truncate m = inr ops /\ forall i, page (exec ops (State m scratch0)) i = repaired ItemOrder truncate m i.
Proof.
  intros k truncate m scratch0 P V. unfold repair_by. rewrite (proj2 (check_iff_valid m) V). eexists. split; [reflexivity|]. intros i.
  pose proof (page_is_repaired (choice k m) truncate m scratch0 P V i) as R. unfold run, page_repair_fragmentation in R.
  rewrite (proj2 (check_iff_valid m) V) in R. rewrite R. f_equal.
  assert (O : forall a, a <> PG13 -> order_of a = ItemOrder) by now intros []. apply O.
  unfold choice, scalar_way, avx2_way, avx512_way, neon_way, nothing, runs_by_memmove. cbv zeta.
  destruct k; repeat match goal with |- context [if ?b then _ else _] => destruct b end; discriminate.
Qed.
