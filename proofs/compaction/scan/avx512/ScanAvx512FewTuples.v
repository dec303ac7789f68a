(* SPDX-License-Identifier: PostgreSQL *)
(** * What AVX-512's scan of few line pointers compares: the tuples' words, and the tuples

    A word has by how much its tuple moves above where the tuple must end.  On a page whose tuples are in bounds both fit. *)
From Pgquern.common Require Import Integers.
From Pgquern.instructions Require Import Lanes Scalar.
From Pgquern.compaction Require Import Page Decode Choice ScanAvx2Round ScanAvx2Survey ScanAvx2Facts ScanAvx2Page ScanAvx512FewLanes ScanAvx512FewFacts.
From Pgquern.compaction Require Scan.
From Pgquern.compaction Require ScanAvx512Few.

(** ** Numbers of 16 bits above others *)
Lemma lor_high s e : 0 <= e < 65536 -> Z.lor (Z.shiftl s 16) e = e + 65536 * s.
Proof.
  intros E. rewrite Z.lor_comm, Z.shiftl_mul_pow2 by lia. change (2 ^ 16) with 65536. rewrite <- Z.lxor_lor, <- Z.add_nocarry_lxor; [lia|..];
    apply Z.bits_inj'; intros i I; rewrite Z.land_spec, Z.bits_0; change 65536 with (2 ^ 16) in *; (destruct (Z.lt_ge_cases i 16);
      [rewrite Z.mul_pow2_bits_low by lia; apply andb_false_r|rewrite <- (Z.mod_small e (2 ^ 16)), Z.mod_pow2_bits_high by lia; reflexivity]).
Qed.

Lemma lor_all_low s e : 0 <= e < 65536 -> Z.lor (e + 65536 * s) 65535 = 65535 + 65536 * s.
Proof.
  intros E. rewrite <- (lor_high s e E), <- (lor_high s 65535) by lia. rewrite <- Z.lor_assoc. f_equal.
  change 65535 with (Z.ones 16). apply Z.bits_inj'. intros i I. rewrite Z.lor_spec. destruct (Z.lt_ge_cases i 16) as [L|L].
  - rewrite Z.ones_spec_low by lia. apply orb_true_r.
  - rewrite Z.ones_spec_high by lia. rewrite <- (Z.mod_small e (2 ^ 16)) by lia. rewrite Z.mod_pow2_bits_high by lia. reflexivity.
Qed.

Section Compared.
  Variables s e s' e' : Z.
  Hypothesis ends_fit : 0 <= e < 65536 /\ 0 <= e' < 65536.
  Hypothesis moves_fit : - 16384 <= s <= 16384 /\ - 16384 <= s' <= 16384.

  Lemma further_says : further (e + 65536 * s, e' + 65536 * s') = (s' <? s).
  Proof.
    unfold further, above. cbn [fst snd]. rewrite lor_all_low, !signed_again, Z.gtb_ltb by lia.
    destruct (Z.ltb_spec (65535 + 65536 * s') (e + 65536 * s)), (Z.ltb_spec s' s); try reflexivity; lia.
  Qed.
  Lemma less_far_says : less_far (e + 65536 * s, e' + 65536 * s') = (s <? s').
  Proof.
    unfold less_far, above. cbn [fst snd]. rewrite lor_all_low, !signed_again, Z.gtb_ltb by lia.
    destruct (Z.ltb_spec (65535 + 65536 * s) (e' + 65536 * s')), (Z.ltb_spec s s'); try reflexivity; lia.
  Qed.
End Compared.

Lemma old_end_says s e : 0 <= e < 65536 -> 0 <= e - s < 65536 -> old_end (e + 65536 * s) mod 65536 = e - s.
Proof.
  intros E S. unfold old_end. rewrite Z.shiftr_div_pow2 by lia. change (2 ^ 16) with 65536.
  assert (H : (e + 65536 * s) mod 4294967296 / 65536 = s mod 65536) by div_lia. rewrite H. div_lia.
Qed.

(** ** The words, in item order *)
Fixpoint move_words (its : list item) (top : Z) : list Z :=
  match its with
  | [] => []
  | it :: r => Z.lor (Z.shiftl (top - len it - off it) 16) (top - len it + len it) :: move_words r (top - len it)
  end.

Lemma moves_are its : Forall (fun it => has_storage (word it) = true) its -> forall top,
  map move_word (place_lanes (map there its) top) = move_words its top.
Proof.
  induction 1 as [|it r S F IH]; intros top; [reflexivity|]. unfold place_lanes in *. cbn [map tops combine move_words].
  assert (O : off_of (there it) = off it) by (unfold off_of; change (kept (there it)) with (has_storage (word it)); now rewrite S).
  assert (L : len_of (there it) = len it) by (unfold len_of; change (kept (there it)) with (has_storage (word it)); now rewrite S).
  rewrite L, IH. unfold move_word. cbn [fst snd]. now rewrite O, L.
Qed.

(** A tuple that is inside of a page. *)
Definition in_page (it : item) : Prop := 0 <= off it /\ 0 < len it /\ stop it <= 8192.

Lemma total_positive its : Forall in_page its -> 0 <= total its.
Proof. induction 1 as [|it r (_ & L & _) F IH]; cbn [total]; lia. Qed.

Definition differs (p : Z * Z) : bool := further p || less_far p.

(** Each tuple moves further than the one before if it leaves a gap, and less far if it reaches into that one. *)
Lemma pairs_say its : Forall in_page its -> forall above top e' k, 0 <= e' < 65536 -> 0 <= above <= 8192 -> top <= 8192 ->
  0 <= top - total its ->
  let ps := pairs_of (e' + 65536 * (top - above)) (move_words its top) in
  existsb less_far ps = overlaps its above /\
  map (fun p => (fst p mod 65536, old_end (fst p) mod 65536)) (filter further ps) = ScanAvx512Few.run_list its above top /\
  existsb differs ps = negb (gaps its above =? 0) /\
  (existsb differs ps = true -> hd O (Scan.gap_positions k its above) = (k + Z.to_nat (clear_before (map differs ps)))%nat) /\
  map (fun t => (t mod 65536, old_end t mod 65536)) (move_words its top) = ScanAvx512Few.end_list its top.
Proof.
  induction 1 as [|it r (O & L & St) F IH]; intros above top e' k E A T B ps.
  - repeat split; try reflexivity. discriminate.
  - cbn [total] in B. pose proof (total_positive r F) as Tr. unfold stop in St.
    destruct (IH (off it) (top - len it) top (S k)) as (I1 & I2 & I3 & I4 & I5); try lia. clear IH.
    assert (W : Z.lor (Z.shiftl (top - len it - off it) 16) (top - len it + len it) = top + 65536 * (top - len it - off it)).
    { replace (top - len it + len it) with top by lia. apply lor_high. lia. }
    subst ps. cbn [move_words]. rewrite W.
    change (pairs_of (e' + 65536 * (top - above)) (top + 65536 * (top - len it - off it) :: move_words r (top - len it))) with
      ((top + 65536 * (top - len it - off it), e' + 65536 * (top - above)) ::
       pairs_of (top + 65536 * (top - len it - off it)) (move_words r (top - len it))).
    set (ps := pairs_of (top + 65536 * (top - len it - off it)) (move_words r (top - len it))) in *.
    set (p := (top + 65536 * (top - len it - off it), e' + 65536 * (top - above))).
    assert (Pf : further p = (stop it <? above)).
    { unfold p. rewrite further_says by lia. unfold stop.
      destruct (Z.ltb_spec (top - above) (top - len it - off it)), (Z.ltb_spec (off it + len it) above); try reflexivity; lia. }
    assert (Pl : less_far p = (above <? stop it)).
    { unfold p. rewrite less_far_says by lia. unfold stop.
      destruct (Z.ltb_spec (top - len it - off it) (top - above)), (Z.ltb_spec above (off it + len it)); try reflexivity; lia. }
    assert (Pd : differs p = negb (stop it =? above)).
    { unfold differs. rewrite Pf, Pl. destruct (Z.ltb_spec (stop it) above), (Z.ltb_spec above (stop it)), (Z.eqb_spec (stop it) above); try reflexivity; lia. }
    assert (Pe : fst p mod 65536 = top) by (unfold p; cbn [fst]; div_lia).
    assert (Po : old_end (fst p) mod 65536 = stop it) by (unfold p, stop; cbn [fst]; rewrite old_end_says; lia).
    assert (G : 0 <= gaps r (off it)) by (clear; generalize (off it); induction r as [|x r IH]; intros u; cbn [gaps]; [lia|specialize (IH (off x)); destruct (_ =? _); lia]).
    cbn [existsb filter overlaps gaps ScanAvx512Few.run_list ScanAvx512Few.end_list map Scan.gap_positions]. rewrite Pf, Pl, Pd, I1, I3, I5.
    repeat split.
    + destruct (stop it <? above); cbn [app map]; rewrite <- I2, ?Pe, ?Po; reflexivity.
    + destruct (Z.eqb_spec (stop it) above), (Z.eqb_spec (gaps r (off it)) 0); cbn [negb orb];
        match goal with |- _ = negb (?x =? 0) => destruct (Z.eqb_spec x 0) end; try reflexivity; lia.
    + destruct (stop it =? above); cbn [negb orb app hd clear_before]; intros X.
      * rewrite <- I3 in X. rewrite (I4 X). pose proof (clear_before_bounds (map differs ps)). lia.
      * now rewrite Nat.add_0_r.
    + f_equal. unfold p in Pe, Po. cbn [fst] in Pe, Po. now rewrite Pe, Po.
Qed.

(** Where no tuple reaches into another, all gaps are runs. *)
Lemma runs_are_gaps its : forall above top, overlaps its above = false ->
  Z.of_nat (length (ScanAvx512Few.run_list its above top)) = gaps its above.
Proof.
  induction its as [|it r IH]; intros above top; [reflexivity|]. cbn [overlaps ScanAvx512Few.run_list gaps]. rewrite orb_false_iff. intros [A B].
  rewrite app_length, Nat2Z.inj_add, (IH _ _ B). apply Z.ltb_ge in A.
  destruct (Z.ltb_spec (stop it) above), (Z.eqb_spec (stop it) above); cbn [length]; lia.
Qed.

(** ** Whether lp_off falls, from where the tuples end *)

Lemma falls_from_says ends old its : forall top i above,
  map (fun k => (ends k, old k)) (seq i (length its)) = ScanAvx512Few.end_list its top -> ends (i + length its)%nat = top - total its ->
  ScanAvx512Few.falls_from ends old i (length its) above = presorted_below above its.
Proof.
  induction its as [|it r IH]; intros top i above E L; [reflexivity|].
  cbn [length seq map ScanAvx512Few.end_list total] in E, L. injection E as E1 E2 E3.
  assert (N : ends (S i) = top - len it).
  { destruct r as [|x r]; [cbn [length total] in L; rewrite Nat.add_1_r in L; lia|].
    cbn [length seq map ScanAvx512Few.end_list] in E3. now injection E3. }
  cbn [length ScanAvx512Few.falls_from presorted_below]. rewrite E1, E2, N. cbv zeta.
  replace (stop it - (top - (top - len it))) with (off it) by (unfold stop; lia).
  destruct (Z.leb_spec above (off it)) as [G|G], (Z.ltb_spec (off it) above) as [G'|G']; [exfalso; lia|reflexivity| |exfalso; lia]. cbn [andb].
  apply (IH (top - len it)); [exact E3|]. rewrite <- Nat.add_succ_comm in L. lia.
Qed.
