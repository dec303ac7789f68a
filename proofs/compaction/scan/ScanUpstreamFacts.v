(* SPDX-License-Identifier: PostgreSQL *)
(** * Upstream's kernels, from the line pointers to the header, are the programs that are proved *)
From Coq Require Import Sorting.Permutation.
From Pgquern.common Require Import Integers.
From Pgquern.compaction Require Import Page Algorithms AnySort Decode Choice Chosen ScanFacts Scanned.
From Pgquern.compaction Require Import ScanUpstream.

Definition zero_if_unused (it : item) : bool := is_used (word it) || (word it =? 0).

(** What the loop adds to [p] over these line pointers. *)
Record adds (neighbours : bool) (lps : list item) (p q : progress) : Prop := {
  a_found : found q = found p ++ stored lps;
  a_used : last_used q = fold_left (fun last it => if is_used (word it) then number it else last) lps (last_used p);
  a_unused : nunused q = nunused p + count_unused lps;
  a_total : total_length q = total_length p + total (stored lps);
  a_garbage : (garbage q =? 0) = (garbage p =? 0) && forallb zero_if_unused lps;
  a_sorted : presorted q = presorted p && (negb neighbours || presorted_below (last_off p) (stored lps));
  a_overlap : presorted q = true -> overlapping q = overlapping p || neighbours && overlaps (stored lps) (last_off p) }.

Section Scan.
  Variables (neighbours : bool) (upper special : Z).

  Definition lies (it : item) : bool := (upper <=? off it) && (stop it <=? special) && (off it mod 8 =? 0).

  Lemma scan_from_adds lps : words_ok lps -> forall p,
    match scan_from neighbours upper special lps p with
    | Some q => forallb lies (stored lps) = true /\ adds neighbours lps p q
    | None => forallb lies (stored lps) = false
    end.
  Proof.
    induction 1 as [|it r W F IH]; intros p; cbn [scan_from].
    - split; [reflexivity|]. split; cbn [stored filter fold_left count_unused length Z.of_nat total forallb presorted_below overlaps];
        rewrite ?app_nil_r, ?Z.add_0_r, ?orb_true_r, ?andb_true_r, ?andb_false_r, ?orb_false_r; reflexivity.
    - assert (E : stored (it :: r) = if has_storage (word it) then it :: stored r else stored r) by reflexivity.
      rewrite E, has_storage_len by lia. clear E. destruct (is_used (word it)) eqn:U; cbn [andb].
      + destruct (len it =? 0) eqn:L; cbn [negb].
        * match goal with |- context [scan_from _ _ _ r ?q] => specialize (IH q); destruct (scan_from _ _ _ r q) as [q'|] end; [|exact IH].
          destruct IH as [I [A B C D E G H]]. split; [exact I|].
          assert (St : stored (it :: r) = stored r) by (unfold stored; cbn [filter]; now rewrite has_storage_len, U, L by lia).
          split; rewrite ?St; auto; cbn [found last_off last_used nunused total_length garbage presorted overlapping fold_left] in *.
          -- now rewrite U.
          -- rewrite C. unfold count_unused. cbn [filter]. now rewrite U.
          -- rewrite E. cbn [forallb]. unfold zero_if_unused at 2. now rewrite U.
        * cbn [forallb]. unfold lies at 1 3. assert (Li : (off it <? upper) || (special <? off it + len it) || negb (off it mod 8 =? 0) =
              negb ((upper <=? off it) && (stop it <=? special) && (off it mod 8 =? 0))).
          { unfold stop. rewrite !negb_andb. rewrite <- !Z.ltb_antisym. reflexivity. }
          rewrite Li. clear Li. destruct (_ && _ && _) eqn:B; cbn [negb andb]; [|reflexivity].
          specialize (IH (take neighbours it p)). destruct (scan_from _ _ _ r _) as [q|]; [|exact IH].
          destruct IH as [I [A0 B0 C0 D0 E0 G0 H0]]. split; [exact I|].
          assert (St : stored (it :: r) = it :: stored r) by (unfold stored; cbn [filter]; now rewrite has_storage_len, U, L by lia).
          unfold take in *. split; rewrite ?St;
            cbn [found last_off last_used nunused total_length garbage presorted overlapping fold_left total presorted_below overlaps] in *.
          -- rewrite A0. now rewrite <- app_assoc.
          -- now rewrite U.
          -- rewrite C0. unfold count_unused. cbn [filter]. now rewrite U.
          -- rewrite D0. lia.
          -- rewrite E0. cbn [forallb]. unfold zero_if_unused at 2. now rewrite U.
          -- rewrite G0. destruct neighbours; cbn [andb negb orb]; [|reflexivity].
             destruct (off it <? last_off p); cbn [negb andb]; [reflexivity|]. now rewrite andb_false_r.
          -- intros S. rewrite (H0 S). rewrite G0 in S. destruct neighbours; cbn [andb negb orb] in *; [|now rewrite !orb_false_r].
             destruct (off it <? last_off p); cbn [negb andb] in *; [|discriminate]. unfold stop. now rewrite orb_assoc.
      + match goal with |- context [scan_from _ _ _ r ?q] => specialize (IH q); destruct (scan_from _ _ _ r q) as [q'|] end; [|exact IH].
        destruct IH as [I [A B C D E G H]]. split; [exact I|].
        assert (St : stored (it :: r) = stored r) by (unfold stored; cbn [filter]; now rewrite has_storage_len, U by lia).
        split; rewrite ?St; auto; cbn [found last_off last_used nunused total_length garbage presorted overlapping fold_left] in *.
        * now rewrite U.
        * rewrite C. unfold count_unused. cbn [filter]. rewrite U. cbn [negb length]. lia.
        * rewrite E. cbn [forallb]. unfold zero_if_unused at 2. rewrite U. cbn [orb].
          assert (Lo : (Z.lor (garbage p) (word it) =? 0) = (garbage p =? 0) && (word it =? 0)).
          { apply eq_true_iff_eq. rewrite andb_true_iff, !Z.eqb_eq. apply Z.lor_eq_0_iff. }
          now rewrite Lo, andb_assoc.
  Qed.
End Scan.

Section Page.
  Variable m : mem.
  Hypothesis page_m : is_page m.
  Hypothesis header : header_ok m.
  Let its := items m.

  Definition fits_page : Prop :=
    Forall (item_ok m) its /\ Z.of_nat (length its) <= MAX_HEAP_TUPLES_PER_PAGE /\ total its <= pd_special m - pd_lower m.

  Lemma lies_is_ok : forallb (lies (pd_upper m) (pd_special m)) its = true <-> Forall (item_ok m) its.
  Proof.
    rewrite forallb_forall, Forall_forall. split; intros A it I; specialize (A it I); pose proof (item_facts m page_m header it I) as (_ & _ & L & _);
      unfold lies, item_ok, stop in *; pose proof (maxalign_fixed (off it)) as M.
    - rewrite !andb_true_iff, !Z.leb_le, Z.eqb_eq in A. destruct A as ((A & B) & C). apply M in C. lia.
    - rewrite !andb_true_iff, !Z.leb_le, Z.eqb_eq. destruct A as (A & B & C). apply M in B. lia.
  Qed.

  (** What the scan finds on a page that it does not refuse. *)
  Record finds (neighbours : bool) (p : progress) : Prop := {
    f_found : found p = its;
    f_used : last_used p = Algorithms.last_used (line_pointers m);
    f_unused : nunused p = count_unused (line_pointers m);
    f_total : total_length p = total its;
    f_garbage : (garbage p =? 0) = forallb zero_if_unused (line_pointers m);
    f_sorted : presorted p = negb neighbours || Page.presorted (pd_special m) its }.

  Lemma scan_finds neighbours :
    match scan_line_pointers neighbours m with
    | Some p => finds neighbours p /\ fits_page /\ (neighbours = true -> Page.presorted (pd_special m) its = true -> chain its (pd_special m))
    | None => ~ valid_page m
    end.
  Proof.
    unfold scan_line_pointers. pose proof (words_are_ok m page_m header) as W.
    pose proof (scan_from_adds neighbours (pd_upper m) (pd_special m) _ W (Progress [] (pd_special m) 0 0 0 0 true false)) as S.
    change (stored (line_pointers m)) with its in S.
    destruct (scan_from _ _ _ _ _) as [p|].
    - destruct S as [L [A B C D E G H]]. change (stored (line_pointers m)) with its in *.
      cbn [found last_off last_used nunused total_length garbage presorted overlapping app andb orb Z.add Z.eqb] in *.
      rewrite ?Z.add_0_l in *. apply lies_is_ok in L. rewrite A, D.
      assert (O : presorted p && overlapping p = neighbours && (Page.presorted (pd_special m) its && overlaps its (pd_special m))).
      { destruct (presorted p) eqn:Sp; cbn [andb].
        - rewrite (H eq_refl). destruct neighbours; cbn [negb orb andb] in *; [|reflexivity]. unfold Page.presorted. now rewrite <- G.
        - destruct neighbours; cbn [negb orb andb] in *; [|reflexivity]. unfold Page.presorted. now rewrite <- G. }
      rewrite O. destruct (Z.leb_spec (Z.of_nat (length its)) MAX_HEAP_TUPLES_PER_PAGE) as [N|N]; cbn [andb].
      2: { intros (_ & _ & V & _). unfold its in N. lia. }
      destruct (Z.leb_spec (total its) (pd_special m - pd_lower m)) as [T|T]; cbn [andb].
      2: { intros (_ & _ & _ & V & _). unfold its in T. lia. }
      destruct neighbours; cbn [andb negb]; [|split; [now split|split; [now split|discriminate]]].
      destruct (Page.presorted (pd_special m) its) eqn:P; cbn [andb negb].
      2: { split; [split; auto; now rewrite P|]. split; [now split|]. intros _ X. discriminate. }
      destruct (overlaps its (pd_special m)) eqn:Y; cbn [negb].
      + intros (_ & _ & _ & _ & V). specialize (V P). apply overlaps_chain in V. unfold its in Y. congruence.
      + split; [split; auto; now rewrite P|]. split; [now split|]. intros _ _. now apply overlaps_chain.
    - intros (_ & V & _). apply lies_is_ok in V. congruence.
  Qed.

  Lemma finish_is neighbours truncate p : finds neighbours p -> finish truncate m p = zero_unused m ++ write_header truncate m.
  Proof.
    intros [_ B C D E _]. unfold finish, write_header, zero_unused, ScanUpstream.nline_left. rewrite B, C, D, E. f_equal.
    assert (Z : forall lps, existsb (fun it => negb (word it =? 0)) (filter (fun it => negb (is_used (word it))) lps) =
                              negb (forallb zero_if_unused lps)).
    { induction lps as [|it r IH]; [reflexivity|]. cbn [filter forallb]. unfold zero_if_unused at 1.
      destruct (is_used (word it)); cbn [negb orb andb existsb]; rewrite IH; [reflexivity|]. now destruct (word it =? 0). }
    rewrite Z. now destruct (forallb _ _).
  Qed.
End Page.

Lemma refusing m truncate a : is_page m -> ~ valid_page m -> refuse m = page_repair_fragmentation a truncate m.
Proof.
  intros P V. unfold refuse, page_repair_fragmentation. rewrite check_in_order_is_the_check by exact P.
  destruct (check m) eqn:C; [reflexivity|]. now apply check_iff_valid in C.
Qed.

Lemma accepted m truncate a : valid_page m -> page_repair_fragmentation a truncate m = inr (program a truncate m).
Proof. intros V. unfold page_repair_fragmentation. now rewrite (proj2 (check_iff_valid m) V). Qed.

Lemma falling_is_sorted its : forall top, presorted_below top its = true -> sort its = its.
Proof.
  induction its as [|it r IH]; intros top; cbn [presorted_below]; [reflexivity|]. intros S. apply andb_true_iff in S as [_ S].
  change (sort (it :: r)) with (insert it (sort r)). rewrite (IH _ S). destruct r as [|x r]; [reflexivity|].
  cbn [presorted_below] in S. apply andb_true_iff in S as [S _]. apply Z.ltb_lt in S. cbn [insert].
  destruct (Z.leb_spec (off x) (off it)); [reflexivity|lia].
Qed.

Lemma apart_is_chain its : forall top, any_overlap its = false -> (forall it, In it its -> stop it <= top) -> chain its top.
Proof.
  intros top O B. destruct its as [|a r]; [exact I|]. split; [apply B; now left|]. clear B top. revert a O.
  induction r as [|b r IH]; intros a O; [exact I|]. cbn [any_overlap] in O. apply orb_false_iff in O as [O Or]. apply Z.ltb_ge in O.
  split; [exact O|now apply IH].
Qed.

(** pg13.c, from the line pointers to the header, does what the contract's check and the proved program do, whatever its two sorts
    leave in which order. *)
Theorem pg13_repairs : forall m sorted again truncate, is_page m ->
  sort_of by_falling_offset (items m) sorted -> sort_of by_falling_offset_then_index (items m) again ->
  pg13_kernel sorted again truncate m = page_repair_fragmentation PG13 truncate m.
Proof.
  intros m sorted again truncate P S S'. unfold pg13_kernel. destruct (check_header m) eqn:H; cbn [negb].
  2: { apply refusing; [exact P|]. intros [V _]. apply check_header_iff in V. congruence. }
  apply check_header_iff in H. pose proof (scan_finds m P H false) as F.
  destruct (ScanUpstream.scan_line_pointers false m) as [p|]; [|now apply refusing]. destruct F as (F & (B & N & T) & _).
  rewrite (finish_is m false truncate p F). pose proof (pg13_by_any_sort m sorted again P H S S') as E. unfold pg13_with in E.
  destruct (any_overlap sorted) eqn:O.
  - rewrite E, check_in_order_is_the_check by exact P. unfold page_repair_fragmentation. destruct (check m); [reflexivity|].
    unfold program. now rewrite app_assoc.
  - rewrite accepted; [unfold program; now rewrite E, app_assoc|]. split; [exact H|]. split; [exact B|]. split; [exact N|].
    split; [exact T|]. intros Pr. assert (O' : any_overlap (sort (items m)) = false).
    { unfold pg13 in E. destruct (any_overlap (sort (items m))) eqn:O'; [|reflexivity]. exfalso. destruct S as [Pm _].
      destruct sorted as [|x r]; [|discriminate]. apply Permutation_nil in Pm. now rewrite Pm in O'. }
    rewrite (falling_is_sorted _ _ Pr) in O'. apply apart_is_chain; [exact O'|]. rewrite Forall_forall in B. intros it I. apply B, I.
Qed.

(** pg14.c, from the line pointers to the header, does what the contract's check and the proved program do. *)
Theorem pg14_repairs : forall m truncate, is_page m -> pg14_kernel truncate m = page_repair_fragmentation PG14 truncate m.
Proof.
  intros m truncate P. unfold pg14_kernel. destruct (check_header m) eqn:H; cbn [negb].
  2: { apply refusing; [exact P|]. intros [V _]. apply check_header_iff in V. congruence. }
  apply check_header_iff in H. pose proof (scan_finds m P H true) as F.
  destruct (ScanUpstream.scan_line_pointers true m) as [p|]; [|now apply refusing]. destruct F as (F & (B & N & T) & C).
  rewrite accepted by (repeat (split; [assumption|]); now apply C). rewrite (finish_is m true truncate p F).
  unfold program, pg14, pg14_presorted, pg14_sparse, pg14_dense, is_sparse, start, through_scratch.
  rewrite (f_found _ _ _ F), (f_sorted _ _ _ F). cbn [negb orb]. rewrite <- app_assoc. reflexivity.
Qed.
