(* SPDX-License-Identifier: PostgreSQL *)
(** * Squeezing packs the tuples of every valid page, and puts the hole back *)
From Pgquern.common Require Import Integers ListFacts.
From Pgquern.compaction Require Import Page Memory Algorithms Spec Moves Decode Squeezing Copies.

Lemma apart_top us top top' : apart us top -> (forall u, In u us -> u + 8 <= top') -> apart us top'.
Proof. destruct us as [|u r]; cbn; [auto|]. intros [_ A] B. split; [apply B; now left|exact A]. Qed.

Lemma in_line_size us top : apart us top -> forall line, size (in_line line us) <= LINE.
Proof.
  intros A line. pose proof (apart_filter (fun u => (line <=? u) && (u + 8 <=? line + LINE)) us top A) as F.
  fold (in_line line us) in F. assert (B : forall u, In u (in_line line us) -> line <= u /\ u + 8 <= line + LINE).
  { intros u I. apply filter_In in I as [_ I]. apply andb_true_iff in I as [I J]. apply Z.leb_le in I, J. auto. }
  pose proof (apart_size (in_line line us) line (line + LINE) (apart_top _ _ _ F (fun u I => proj2 (B u I)))
                (fun u I => proj1 (B u I))). unfold LINE in *. lia.
Qed.

Lemma load_bounds us : forall at_, at_ <= BLCKSZ -> 0 <= at_ - size us -> (forall u, In u us -> 0 <= u /\ u + 8 <= BLCKSZ) ->
  Forall (in_bounds 0 0) (load us at_) /\ Forall (fun o => is_copy o = true) (load us at_).
Proof.
  induction us as [|u r IH]; intros at_ T L B; cbn [load]; [split; constructor|]. rewrite size_cons in L. pose proof (size_nonneg r).
  pose proof (B u (or_introl eq_refl)). destruct (IH (at_ - 8) ltac:(lia) ltac:(lia) (fun x I => B x (or_intror I))) as [A C].
  split; constructor; auto. cbn [in_bounds]. lia.
Qed.

Lemma squeeze_lines_bounds us count : (forall line, size (in_line line us) <= LINE) ->
  (forall u, In u us -> 0 <= u /\ u + 8 <= BLCKSZ) -> forall above to, to <= BLCKSZ ->
  0 <= to - size (by_lines us count above) - LINE ->
  Forall (in_bounds 0 0) (squeeze_lines us count above to) /\ Forall (fun o => is_copy o = true) (squeeze_lines us count above to).
Proof.
  intros B U. unfold LINE in *. induction count as [|count IH]; intros above to T L; cbn [squeeze_lines by_lines] in *; [split; constructor|].
  unfold LINE in *. set (here := in_line (above - 64) us) in *.
  assert (SZ : size (here ++ by_lines us count (above - 64)) = size here + size (by_lines us count (above - 64)))
    by (unfold size; rewrite app_length; lia).
  rewrite SZ in L. pose proof (size_nonneg here). pose proof (size_nonneg (by_lines us count (above - 64))).
  destruct (load_bounds here 64) as [A C].
  - unfold BLCKSZ. lia.
  - specialize (B (above - 64)). fold here in B. lia.
  - intros u I. apply U. unfold here, in_line in I. now apply filter_In in I.
  - destruct (IH (above - 64) (to - 8 * Z.of_nat (length here))) as [A' C']; [lia|unfold size in *; lia|].
    split; apply Forall_app; split; auto; constructor; auto. cbn [in_bounds]. unfold BLCKSZ in *. lia.
Qed.

(** The start of the last tuple of a chain is the lowest. *)
Lemma last_lowest its : forall top, chain its top -> (forall it, In it its -> 0 <= len it) ->
  last (map off its) top <= top /\ forall it, In it its -> last (map off its) top <= off it.
Proof.
  induction its as [|x r IH]; intros top K L; cbn [map]; [split; [cbn; lia|easy]|].
  destruct K as [K1 K2]. unfold stop in K1. pose proof (L x (or_introl eq_refl)). rewrite last_of_cons.
  destruct (IH (off x) K2 (fun it I => L it (or_intror I))) as [A B]. split; [lia|].
  intros it [<-|I]; [exact A|now apply B].
Qed.

Section Valid.
  Variable m : mem.
  Hypothesis page_m : is_page m.
  Hypothesis valid : valid_page m.
  Variables (rest : list item) (upper : Z).
  Hypothesis started : start false m = (rest, upper).
  Hypothesis is_presorted : presorted (pd_special m) (items m) = true.

  #[local] Lemma header : header_ok m.
  Proof using valid. apply valid. Qed.

  Lemma rest_facts it : In it rest -> 0 <= len it /\ len it mod 8 = 0 /\ off it mod 8 = 0 /\ pd_upper m <= off it /\ stop it <= pd_special m.
  Proof.
    intros I. apply (rest_incl m page_m valid false rest upper started) in I.
    pose proof (item_facts m page_m header it I). pose proof (valid_item m valid it I) as (A & B & C).
    apply maxalign_fixed in B. repeat split; try lia; apply H.
  Qed.

  Lemma rest_chain : chain rest upper.
  Proof.
    destruct (start_spec m page_m valid false _ _ started) as (_ & _ & _ & _ & _ & D & _). apply D. now apply valid.
  Qed.

  Lemma upper_facts : upper mod 8 = 0 /\ pd_upper m <= upper <= pd_special m /\ upper - total rest = new_upper_of m /\
    pd_lower m <= new_upper_of m.
  Proof.
    destruct (start_spec m page_m valid false _ _ started) as (pre & E & P & T & U & _). unfold new_upper in T. fold (new_upper_of m) in T.
    pose proof header as (H1 & H2 & H3). apply maxalign_fixed in H3.
    assert (A : forall l, (forall it, In it l -> In it (items m)) -> total l mod 8 = 0 /\ 0 <= total l).
    { induction l as [|x l IH]; intros S; cbn [total]; [split; [reflexivity|lia]|].
      pose proof (item_facts m page_m header x (S x (or_introl eq_refl))). destruct IH; [intros; apply S; now right|].
      split; [div_lia|lia]. }
    destruct (A pre) as [Pm Pn]; [intros it I; rewrite E; apply in_or_app; now left|].
    split; [div_lia|]. split; [|split; [exact T|]].
    - split; [|lia]. clear - E P H2 valid U Pn page_m started. unfold start in started.
      assert (G : forall its top r u, skip_in_place its top = (r, u) -> pd_upper m <= top ->
        (forall it, In it its -> pd_upper m <= off it) -> pd_upper m <= u).
      { clear. induction its as [|it q IH]; intros top r u K T B; cbn in K; [congruence|].
        destruct (Z.eqb_spec (stop it) top) as [Q|Q]; [|congruence].
        eapply IH; [exact K| |intros; apply B; now right]. specialize (B it (or_introl eq_refl)). unfold stop in Q. lia. }
      eapply G; [exact started|lia|]. intros it I. now apply (valid_item m valid it).
    - unfold new_upper_of. destruct valid as (_ & _ & _ & X & _). lia.
  Qed.

  Lemma line_end_facts : line_end upper mod 64 = 0 /\ upper <= line_end upper <= BLCKSZ /\ (line_end upper - upper) mod 8 = 0.
  Proof.
    pose proof upper_facts as (A & B & _). pose proof header as (_ & H & _). unfold line_end, BLCKSZ in *.
    repeat split; div_lia.
  Qed.

  Let units := live rest upper.

  Lemma units_size : size units = line_end upper - new_upper_of m.
  Proof.
    pose proof upper_facts as (A & B & T & _). pose proof line_end_facts as (C & D & F).
    unfold units, live, size. rewrite app_length, Nat2Z.inj_add, Z.mul_add_distr_l.
    fold (size (down (line_end upper) (Z.to_nat ((line_end upper - upper) / 8)))). rewrite size_down, Z2Nat.id by div_lia.
    assert (G : forall l, (forall it, In it l -> In it rest) ->
      8 * Z.of_nat (length (flat_map (fun it => down (stop it) (Z.to_nat (len it / 8))) l)) = total l).
    { induction l as [|x l IH]; intros S; cbn [flat_map total]; [reflexivity|].
      destruct (rest_facts x (S x (or_introl eq_refl))) as (L & M & _).
      rewrite app_length, Nat2Z.inj_add, Z.mul_add_distr_l, IH by (intros; apply S; now right).
      fold (size (down (stop x) (Z.to_nat (len x / 8)))). rewrite size_down, Z2Nat.id by div_lia. div_lia. }
    rewrite G by auto. div_lia.
  Qed.

  Lemma units_apart : apart units (line_end upper).
  Proof.
    pose proof line_end_facts as (C & D & F). unfold units, live. apply apart_down; [lia|]. rewrite Z2Nat.id by div_lia.
    replace (line_end upper - 8 * ((line_end upper - upper) / 8)) with upper by div_lia.
    assert (G : forall l top, (forall it, In it l -> In it rest) -> chain l top ->
      apart (flat_map (fun it => down (stop it) (Z.to_nat (len it / 8))) l) top).
    { induction l as [|x l IH]; intros top S K; cbn [flat_map]; [exact I|]. destruct K as [K1 K2].
      destruct (rest_facts x (S x (or_introl eq_refl))) as (L & M & _). apply apart_down; [exact K1|].
      rewrite Z2Nat.id by div_lia. replace (stop x - 8 * (len x / 8)) with (off x) by (unfold stop; div_lia).
      apply IH; [intros; apply S; now right|exact K2]. }
    apply G; [auto|apply rest_chain].
  Qed.

  Lemma in_down u n : forall s, In u (down s n) -> s - 8 * Z.of_nat n <= u < s /\ (s mod 8 = 0 -> u mod 8 = 0).
  Proof using.
    induction n as [|n IH]; intros s I; cbn [down In] in I; [easy|]. destruct I as [<-|I].
    - split; [lia|]. intros. div_lia.
    - destruct (IH _ I) as [A B]. split; [lia|]. intros M. apply B. div_lia.
  Qed.

  Lemma lowest_spec : last (map off rest) upper <= upper /\ forall it, In it rest -> last (map off rest) upper <= off it.
  Proof. apply last_lowest; [apply rest_chain|]. intros it I. now apply rest_facts. Qed.

  Lemma unit_facts u : In u units -> u mod 8 = 0 /\ last (map off rest) upper <= u /\ 0 <= u /\ u + 8 <= BLCKSZ.
  Proof.
    intros I. pose proof (apart_below _ _ units_apart u I) as T. pose proof line_end_facts as (C & D & F).
    pose proof lowest_spec as [Lu Li]. pose proof upper_facts as (A & B & _). pose proof header as (H1 & _).
    unfold units, live in I. apply in_app_or in I as [I|I].
    - apply in_down in I as [X Y]. rewrite Z2Nat.id in X by div_lia. unfold HEADER_SIZE in *.
      split; [apply Y; div_lia|]. split; [|split]; div_lia.
    - apply in_flat_map in I as (it & I & J). destruct (rest_facts it I) as (L & M & O & P & S).
      apply in_down in J as [X Y]. rewrite Z2Nat.id in X by div_lia. specialize (Li it I). unfold stop, HEADER_SIZE in *.
      split; [apply Y; div_lia|]. split; [|split]; div_lia.
  Qed.

  Let lowest := last (map off rest) upper.
  Let count := Z.to_nat ((line_end upper - lowest / 64 * 64) / 64).

  Lemma units_by_lines : by_lines units count (line_end upper) = units.
  Proof.
    pose proof line_end_facts as (C & D & F). pose proof lowest_spec as [Lu _]. fold lowest in Lu.
    apply by_lines_all; [apply units_apart|intros u I; now apply unit_facts|exact C|].
    intros u I. apply unit_facts in I as (_ & I & _). fold lowest in I. unfold count. rewrite Z2Nat.id by div_lia. div_lia.
  Qed.

  Lemma units_packed i : up units (line_end upper) m m i = packed (place rest upper) m m i.
  Proof.
    pose proof line_end_facts as (C & D & F). unfold units, live.
    rewrite up_app, size_down, up_down, Z2Nat.id by div_lia.
    replace (line_end upper - 8 * ((line_end upper - upper) / 8)) with upper by div_lia.
    rewrite up_items by (apply Forall_forall; intros it I; split; now apply rest_facts).
    cases; try reflexivity. rewrite packed_above; [f_equal; lia| |lia].
    apply Forall_forall. intros it I. now apply rest_facts.
  Qed.

  Definition squeezing : list op :=
    Save LINE (new_upper_of m - LINE) LINE :: squeeze_lines units count (line_end upper) (line_end upper) ++
    [Restore (new_upper_of m - LINE) LINE LINE].

  Hypothesis room : LINE <= new_upper_of m.

  Lemma squeezing_packs scratch0 i : page (exec squeezing (State m scratch0)) i = packed (place rest upper) m m i.
  Proof.
    pose proof line_end_facts as (C & D & F). pose proof upper_facts as (_ & _ & T & _).
    assert (N : nonneg rest) by (apply Forall_forall; intros it I; now apply rest_facts).
    pose proof (total_nonneg _ N) as TN.
    unfold squeezing. rewrite exec_cons, exec_app. set (s := step (Save _ _ _) _).
    destruct (squeeze_lines_spec units m count (in_line_size _ _ units_apart) (line_end upper) (line_end upper) s) as (A1 & A2 & A3);
      [reflexivity|lia|].
    rewrite units_by_lines, units_size in *. set (t := exec (squeeze_lines _ _ _ _) s) in *.
    replace (line_end upper - (line_end upper - new_upper_of m)) with (new_upper_of m) in * by lia.
    cbn [exec fold_left step page]. unfold copy, LINE in *.
    destruct (Z.leb_spec (new_upper_of m - 64) i), (Z.ltb_spec i (new_upper_of m - 64 + 64)); cbn [andb].
    - rewrite A3 by lia. unfold s. cbn [step scratch page]. unfold copy. rewrite packed_below by (auto; lia). cases; try lia; same.
    - destruct (Z.lt_ge_cases i (line_end upper)).
      + rewrite A2 by lia. apply units_packed.
      + rewrite A1 by lia. rewrite packed_above by (auto; lia). reflexivity.
    - rewrite A1 by lia. rewrite packed_below by (auto; lia). reflexivity.
    - rewrite A1 by lia. rewrite packed_below by (auto; lia). reflexivity.
  Qed.

  Lemma squeezing_bounds : Forall (in_bounds 0 0) squeezing /\ Forall (fun o => is_copy o = true) squeezing.
  Proof.
    pose proof line_end_facts as (C & D & F). pose proof upper_facts as (_ & B & T & _). pose proof header as (_ & H & _).
    assert (N : nonneg rest) by (apply Forall_forall; intros it I; now apply rest_facts).
    pose proof (total_nonneg _ N).
    destruct (squeeze_lines_bounds units count (in_line_size _ _ units_apart) (fun u I => proj2 (proj2 (unit_facts u I)))
                (line_end upper) (line_end upper)) as [X Y]; [lia| |].
    - rewrite units_by_lines, units_size. lia.
    - unfold squeezing, LINE, BLCKSZ in *. split; constructor; try (apply Forall_app; split); auto;
        repeat constructor; cbn [in_bounds]; unfold BLCKSZ; lia.
  Qed.
End Valid.

(** All bytes of the page, those of the hole among them that the last stores smash for a while. *)
Lemma squeeze_packs m scratch0 i : is_page m -> valid_page m ->
  page (exec (squeeze m) (State m scratch0)) i = packed (placed ItemOrder m) m m i.
Proof.
  intros P V. unfold squeeze. destruct (start false m) as [rest upper] eqn:S.
  rewrite (rest_packed m P V false rest upper S). destruct (_ && _) eqn:E.
  - apply andb_true_iff in E as [E _]. now apply (squeezing_packs m P V rest upper S E).
  - now apply (by_runs_packs m P V false).
Qed.
