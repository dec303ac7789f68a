(* SPDX-License-Identifier: PostgreSQL *)
(** * The loops over the arrays of a scan copy what the ways of Algorithms.v copy *)
From Pgquern.common Require Import Integers ListFacts.
From Pgquern.compaction Require Import Page Memory Algorithms Spec Choice.
From Pgquern.compaction Require Scan Squeezed ByArrays ScanAvx2 ScanAvx2Moves ScanAvx512.

(** ** Where tuples end and must end, by number *)
Lemma place_fst its : forall top, map fst (place its top) = its.
Proof. induction its as [|it r IH]; intros top; [reflexivity|]. cbn [place map fst]. now rewrite IH. Qed.
Lemma new_end_first its top : new_end its top 0 = top.
Proof. now destruct its. Qed.
Lemma new_end_last its : forall top, new_end its top (length its) = top - total its.
Proof. induction its as [|it r IH]; intros top; cbn [length new_end total]; [lia|]. rewrite IH. lia. Qed.
Lemma old_end_last its : forall top, old_end its top (length its) = top - total its.
Proof. induction its as [|it r IH]; intros top; cbn [length old_end total]; [lia|]. rewrite IH. lia. Qed.

Lemma ends_listed its : forall top, map (fun p => (snd p + len (fst p), stop (fst p))) (place its top) =
  map (fun i => (new_end its top i, old_end its top i)) (seq 0 (length its)).
Proof.
  induction its as [|it r IH]; intros top; [reflexivity|]. cbn [place map length seq fst snd new_end old_end]. f_equal; [f_equal; lia|].
  rewrite IH, <- (seq_shift (length r) 0), map_map. reflexivity.
Qed.

Lemma new_end_app done rest : forall top k, new_end (done ++ rest) top (length done + k) = new_end rest (top - total done) k.
Proof.
  induction done as [|it r IH]; intros top k; cbn [app length total Nat.add new_end]; [now rewrite Z.sub_0_r|]. rewrite IH. f_equal. lia.
Qed.
Lemma old_end_app done rest : forall top k, old_end (done ++ rest) top (length done + k) = old_end rest (top - total done) k.
Proof.
  induction done as [|it r IH]; intros top k; cbn [app length total Nat.add old_end]; [now rewrite Z.sub_0_r|]. rewrite IH. f_equal. lia.
Qed.

(** ** Arrays that know these tuples, and so many ends of the hole behind them *)
Section Known.
  Variables new_ends old_ends : nat -> Z.

  Definition known (first : nat) (its : list item) (upper : Z) (extra : nat) : Prop := forall i,
    ((i < length its + Nat.max 1 extra)%nat -> new_ends (first + i) = new_end its upper i) /\
    ((i < length its + extra)%nat -> old_ends (first + i) = old_end its upper i).

  Lemma known_rest first done its upper extra : known first (done ++ its) upper extra ->
    known (first + length done) its (upper - total done) extra.
  Proof.
    intros K i. destruct (K (length done + i)%nat) as [A B]. rewrite app_length in *.
    split; intros I; rewrite <- Nat.add_assoc; [rewrite A, new_end_app by lia|rewrite B, old_end_app by lia]; reflexivity.
  Qed.

  Lemma known_cons k it r upper extra : known k (it :: r) upper extra ->
    new_ends k = upper /\ old_ends k = stop it /\ new_ends (S k) = upper - len it /\ known (S k) r (upper - len it) extra.
  Proof.
    intros K. destruct (K 0%nat) as [A B]. rewrite Nat.add_0_r in *. split; [apply A; lia|]. split; [apply B; cbn; lia|].
    assert (R : known (S k) r (upper - len it) extra).
    { intros i. destruct (K (S i)) as [C D]. cbn [length] in *. rewrite Nat.add_succ_r in *. cbn [Nat.add]. split; intros I; [apply C|apply D]; lia. }
    split; [|exact R]. destruct (R 0%nat) as [C _]. rewrite Nat.add_0_r in C. rewrite C by lia. now destruct r.
  Qed.

  Lemma gather_walks window its : forall k upper, known k its upper 0 ->
    map (fun t => Save (new_ends t - window) (old_ends t - window) window) (seq k (length its)) = windows (Some window) its upper.
  Proof.
    induction its as [|it r IH]; intros k upper K; [reflexivity|]. destruct (known_cons _ _ _ _ _ K) as (E & O & N & R).
    cbn [length seq map flat_map]; unfold ByArrays.start_at, ByArrays.length_of in *; rewrite (IH _ _ R), ?E, ?O, ?N. clear IH. reflexivity.
  Qed.

  Lemma gather_each_walks its : forall k upper, known k its upper 0 ->
    map (fun t => Save (new_ends (S t)) (ByArrays.start_at new_ends old_ends t) (ByArrays.length_of new_ends t)) (seq k (length its)) =
    windows None its upper.
  Proof.
    induction its as [|it r IH]; intros k upper K; [reflexivity|]. destruct (known_cons _ _ _ _ _ K) as (E & O & N & R).
    cbn [length seq map flat_map]; unfold ByArrays.start_at, ByArrays.length_of in *; rewrite (IH _ _ R), ?E, ?O, ?N. clear IH.
    cbn [windows width]. unfold stop. f_equal. f_equal; lia.
  Qed.

  (** Through scratch, and back. *)
  Lemma scratch_walks its first upper : known first its upper 0 -> forall gathered,
    ByArrays.move_by_scratch new_ends first (upper - total its) gathered = gathered ++ [Restore (upper - total its) (upper - total its) (total its)].
  Proof.
    intros K gathered. destruct (K 0%nat) as [A _]. rewrite !Nat.add_0_r, new_end_first in A. unfold ByArrays.move_by_scratch.
    rewrite A by lia. do 3 f_equal. lia.
  Qed.

  Lemma restore_each_walks its : forall k upper, known k its upper 0 ->
    map (fun t => Restore (new_ends (S t)) (ByArrays.start_at new_ends old_ends t) (ByArrays.length_of new_ends t)) (seq k (length its)) =
    filter is_copy (singles Restore its upper).
  Proof.
    induction its as [|it r IH]; intros k upper K; [reflexivity|]. destruct (known_cons _ _ _ _ _ K) as (E & O & N & R).
    cbn [length seq map flat_map]; unfold ByArrays.start_at, ByArrays.length_of in *; rewrite (IH _ _ R), ?E, ?O, ?N. clear IH.
    cbn [singles filter is_copy set_lp_off]. unfold stop. f_equal. f_equal; lia.
  Qed.

  Lemma climb_walks pieces its : forall k upper, known k its upper 0 ->
    flat_map (fun t =>
      map (fun k => Save (PIECE * Z.of_nat k) (ByArrays.start_at new_ends old_ends t + ByArrays.piece_at (ByArrays.length_of new_ends t) k) PIECE) (seq 0 pieces) ++
      map (fun k => Restore (new_ends (S t) + ByArrays.piece_at (ByArrays.length_of new_ends t) k) (PIECE * Z.of_nat k) PIECE) (seq 0 pieces)) (seq k (length its)) =
    climb_all pieces its upper.
  Proof.
    induction its as [|it r IH]; intros k upper K; [reflexivity|]. destruct (known_cons _ _ _ _ _ K) as (E & O & N & R).
    cbn [length seq map flat_map]; unfold ByArrays.start_at, ByArrays.length_of in *; rewrite (IH _ _ R), ?E, ?O, ?N. clear IH.
    cbn [climb_all]. f_equal.
    replace (upper - (upper - len it)) with (len it) by lia. replace (stop it - len it) with (off it) by (unfold stop; lia).
    assert (P : forall j, ByArrays.piece_at (len it) j = piece_start it j).
    { intros j. unfold ByArrays.piece_at, piece_start. destruct (Z.ltb_spec (PIECE * Z.of_nat j + PIECE) (len it)); lia. }
    unfold climb_one. f_equal; apply map_ext; intros j; now rewrite P.
  Qed.

  Lemma restore_lines_walks its : forall k upper, known k its upper 0 ->
    flat_map (fun t =>
      let end_ := new_ends t in
      let by_ := old_ends t - end_ in
      Restore (end_ - LINE) (end_ + by_ - LINE) LINE ::
      lines_down (Z.to_nat ((end_ / LINE * LINE - new_ends (S t) + LINE - 1) / LINE)) (end_ / LINE * LINE) by_) (seq k (length its)) =
    restore_lines its upper.
  Proof.
    induction its as [|it r IH]; intros k upper K; [reflexivity|]. destruct (known_cons _ _ _ _ _ K) as (E & O & N & R).
    cbn [length seq map flat_map]; unfold ByArrays.start_at, ByArrays.length_of in *; rewrite (IH _ _ R), ?E, ?O, ?N. clear IH.
    cbn [restore_lines]. cbv zeta. replace (upper + (stop it - upper)) with (stop it) by lia. reflexivity.
  Qed.

  Lemma gather_lines_walks depth its : forall k upper, known k its upper 0 ->
    flat_map (fun t =>
      let top := new_ends t - depth in
      let at_ := if depth =? 0 then top - LINE else Z.max (top - LINE) (new_ends (S t)) in
      if new_ends (S t) <? top then [Save at_ (old_ends t + (at_ - new_ends t)) LINE] else []) (seq k (length its)) =
    lines_at depth its upper.
  Proof.
    induction its as [|it r IH]; intros k upper K; [reflexivity|]. destruct (known_cons _ _ _ _ _ K) as (E & O & N & R).
    cbn [length seq map flat_map]; unfold ByArrays.start_at, ByArrays.length_of in *; rewrite (IH _ _ R), ?E, ?O, ?N. clear IH.
    cbn [lines_at]. cbv zeta. f_equal. destruct (upper - len it <? upper - depth); [|reflexivity].
    destruct (Z.eqb_spec depth 0) as [->|_]; do 2 f_equal; lia.
  Qed.

  (** *** Through registers *)
  Section Windows.
    Variables (first : nat) (its : list item) (upper : Z) (extra : nat).
    Hypothesis array : known first its upper extra.

    Lemma windows_loaded window i count : (i + count <= length its + extra)%nat ->
      ByArrays.load_windows old_ends first window (first + i) count = reads window its upper i count.
    Proof.
      unfold ByArrays.load_windows, reads. revert i. induction count as [|count IH]; intros i I; [reflexivity|]. cbn [seq map].
      rewrite <- Nat.add_succ_r, IH by lia. rewrite (proj2 (array i) ltac:(lia)). do 3 f_equal. lia.
    Qed.

    Lemma windows_stored window i count : (i + count <= length its + extra)%nat ->
      ByArrays.store_windows new_ends first window (first + i) count = writes window its upper i count.
    Proof.
      unfold ByArrays.store_windows, writes. revert i. induction count as [|count IH]; intros i I; [reflexivity|]. cbn [seq map].
      rewrite <- Nat.add_succ_r, IH by lia. rewrite (proj1 (array i) ltac:(lia)). do 3 f_equal. lia.
    Qed.

    Lemma permute_walks window few : (S few <= length its + extra)%nat ->
      ByArrays.permute new_ends old_ends first window few = reads window its upper 0 (S few) ++ writes window its upper 0 (S few).
    Proof. intros F. unfold ByArrays.permute. rewrite <- windows_loaded, <- windows_stored, Nat.add_0_r by lia. reflexivity. Qed.

    Lemma slide_walks ahead window : (0 < ahead)%nat -> (2 * ahead <= extra)%nat ->
      ByArrays.slide new_ends old_ends first (first + length its) ahead window = slide_all ahead window its upper.
    Proof.
      intros A X. assert (Batches : forall fuel b, (ahead * b <= length its)%nat -> (length its < ahead * b + ahead * fuel)%nat ->
        ByArrays.slide_from new_ends old_ends first (first + length its) fuel ahead window (first + ahead * b) =
        flat_map (slide_batch ahead window its upper) (seq b (S (length its / ahead) - b))).
      { induction fuel as [|fuel IH]; intros b B F; [lia|]. cbn [ByArrays.slide_from].
        assert (D : (b <= length its / ahead)%nat) by (apply Nat.div_le_lower_bound; lia).
        replace (S (length its / ahead) - b)%nat with (S (length its / ahead - b)) by lia. cbn [seq flat_map]. unfold slide_batch at 1.
        replace (first + ahead * b + ahead)%nat with (first + ahead * S b)%nat by lia.
        rewrite windows_loaded, windows_stored by lia. rewrite <- app_assoc. do 2 f_equal.
        destruct (Nat.ltb_spec (first + length its) (first + ahead * S b)) as [L|L].
        - assert (E : (length its / ahead)%nat = b) by (symmetry; apply (Nat.div_unique _ ahead b (length its - ahead * b)); lia).
          rewrite E, Nat.sub_diag. reflexivity.
        - rewrite IH by lia. reflexivity. }
      unfold ByArrays.slide, slide_all. rewrite <- (windows_loaded window 0 ahead), Nat.add_0_r by lia. f_equal.
      pose proof (Batches (S (first + length its)) 0%nat ltac:(lia) ltac:(nia)) as B. rewrite Nat.mul_0_r, Nat.add_0_r, Nat.sub_0_r in B. exact B.
    Qed.
  End Windows.
End Known.

(** ** What is in place, and what moves *)
Lemma last_app_cons (a : list Z) x b d : last (a ++ x :: b) d = last b x.
Proof. revert d. induction a as [|y a IH]; intros d; cbn [app]; rewrite last_of_cons; [reflexivity|apply IH]. Qed.

Lemma in_place_splits its : forall top, gaps its top <> 0 -> exists done it r, let upper := top - total done in
  its = done ++ it :: r /\ stop it <> upper /\ skip_in_place its top = (it :: r, upper) /\ last (map off done) top = upper /\
  hd O (Scan.gap_positions 0 its top) = length done /\ (forall u, ScanAvx512.run_list its top u = (u - total done, stop it) :: ScanAvx512.run_list r (off it) (u - total done - len it)) /\
  ScanAvx2.gap_list its top = (stop it, upper) :: ScanAvx2.gap_list r (off it).
Proof.
  assert (G : forall its top, gaps its top <> 0 -> exists done it r, let upper := top - total done in
    its = done ++ it :: r /\ stop it <> upper /\ skip_in_place its top = (it :: r, upper) /\ last (map off done) top = upper /\
    (forall k, hd O (Scan.gap_positions k its top) = (k + length done)%nat) /\
    (forall u, ScanAvx512.run_list its top u = (u - total done, stop it) :: ScanAvx512.run_list r (off it) (u - total done - len it)) /\
    ScanAvx2.gap_list its top = (stop it, upper) :: ScanAvx2.gap_list r (off it)).
  { clear its. induction its as [|it r IH]; intros top G; [now destruct G|]. cbn [gaps skip_in_place Scan.gap_positions ScanAvx512.run_list ScanAvx2.gap_list] in *.
    destruct (Z.eqb_spec (stop it) top) as [Q|Q].
    - assert (Q' : top - len it = off it) by (unfold stop in Q; lia).
      rewrite <- Q' in *. destruct (IH _ G) as (done & it' & r' & I & N & S & L & K & Rl & Gl). exists (it :: done), it', r'.
      cbn [app total map length]. replace (top - (len it + total done)) with (top - len it - total done) by lia. rewrite I in *.
      repeat split; try assumption.
      + rewrite last_of_cons. now rewrite <- Q'.
      + intros k. rewrite K. lia.
      + intros u. rewrite Rl. cbn [app]. replace (u - (len it + total done)) with (u - len it - total done) by lia. reflexivity.
    - exists [], it, r. cbn [app total map length last]. rewrite Z.sub_0_r. repeat split; try assumption.
      + intros k. cbn. lia.
      + intros u. rewrite Z.sub_0_r. reflexivity. }
  intros top N. destruct (G its top N) as (done & it & r & I & S & Sk & L & K & Rl & Gl). exists done, it, r. repeat split; try assumption. exact (K O).
Qed.

(** ** Run by run *)

(** Where a run must end and where it ends now, of each run; the lowest must come down to [bottom]. *)
Fixpoint runs_down (l : list (Z * Z)) (bottom : Z) : list op :=
  match l with
  | [] => []
  | (end_, old_end) :: r =>
      let to := match r with (next, _) :: _ => next | [] => bottom end in
      Move to (old_end - (end_ - to)) (end_ - to) :: runs_down r bottom
  end.

(** The same by gaps: where the tuple below a gap ends, and where the one above it starts; [bottom] is the start of the last tuple. *)
Fixpoint gaps_down (l : list (Z * Z)) (bottom to_end : Z) : list op :=
  match l with
  | [] => []
  | (stop_, _) :: r =>
      let from := match r with (_, above) :: _ => above | [] => bottom end in
      Move (to_end - (stop_ - from)) from (stop_ - from) :: gaps_down r bottom (to_end - (stop_ - from))
  end.

Lemma gaps_by_arrays gaps count : forall k to_end,
  ScanAvx2Moves.move_each_run gaps k count to_end =
  gaps_down (map (fun i => (Z.land (gaps i) 65535, Z.shiftr (gaps i) 16)) (seq k count)) (Z.shiftr (gaps (k + count)%nat) 16) to_end.
Proof.
  induction count as [|count IH]; intros k to_end; [reflexivity|]. cbn [ScanAvx2Moves.move_each_run seq map gaps_down]. rewrite IH, Nat.add_succ_comm.
  destruct count as [|count]; [|reflexivity]. cbn [seq map]. now rewrite <- plus_n_Sm, Nat.add_0_r.
Qed.

Lemma gaps_walk r : forall upper start_ stop_ above,
  filter is_copy (runs_from Move r upper start_ stop_) =
  gaps_down ((stop_, above) :: ScanAvx2.gap_list r start_) (last (map off r) start_) (upper + (stop_ - start_)).
Proof.
  induction r as [|it r IH]; intros upper start_ stop_ above; cbn [runs_from ScanAvx2.gap_list map].
  - cbn [filter is_copy gaps_down last]. f_equal. f_equal; lia.
  - rewrite last_of_cons. destruct (Z.eqb_spec (stop it) start_) as [Q|Q]; cbn [app filter is_copy set_lp_off].
    + rewrite (IH _ _ _ above). replace (upper - len it + (stop_ - off it)) with (upper + (stop_ - start_)) by (unfold stop in Q; lia). reflexivity.
    + rewrite (IH _ _ _ start_). replace (upper - len it + (stop it - off it)) with upper by (unfold stop; lia).
      cbn [gaps_down]. replace (upper + (stop_ - start_) - (stop_ - start_)) with upper by lia. reflexivity.
Qed.

Lemma runs_by_arrays run_ends run_old_ends count : forall k,
  ByArrays.move_runs run_ends run_old_ends k count =
  runs_down (map (fun i => (run_ends i, run_old_ends i)) (seq k count)) (run_ends (k + count)%nat).
Proof.
  induction count as [|count IH]; intros k; [reflexivity|]. cbn [ByArrays.move_runs seq map runs_down]. rewrite IH, Nat.add_succ_comm.
  destruct count as [|count]; [|reflexivity]. cbn [seq map]. now rewrite <- plus_n_Sm, Nat.add_0_r.
Qed.

Lemma runs_walk r : forall upper start_ stop_,
  filter is_copy (runs_from Move r upper start_ stop_) =
  runs_down ((upper + (stop_ - start_), stop_) :: ScanAvx512.run_list r start_ upper) (upper - total r).
Proof.
  induction r as [|it r IH]; intros upper start_ stop_; cbn [runs_from ScanAvx512.run_list total].
  - cbn [filter is_copy runs_down]. f_equal. f_equal; lia.
  - destruct (Z.eqb_spec (stop it) start_) as [Q|Q]; cbn [app filter is_copy set_lp_off]; rewrite IH.
    + replace (upper - len it + (stop_ - off it)) with (upper + (stop_ - start_)) by (unfold stop in Q; lia).
      replace (upper - len it - total r) with (upper - (len it + total r)) by lia. reflexivity.
    + replace (upper - len it + (stop it - off it)) with upper by (unfold stop; lia).
      replace (upper - len it - total r) with (upper - (len it + total r)) by lia.
      cbn [runs_down]. f_equal. f_equal; lia.
Qed.

(** ** Slots *)
Lemma forallb_mapped {A B} (f : A -> B) (g : B -> bool) l : forallb g (map f l) = forallb (fun x => g (f x)) l.
Proof. induction l as [|x l IH]; [reflexivity|]. cbn [map forallb]. now rewrite IH. Qed.

Lemma slots_found_are m starts : map starts (seq 0 (length (items m))) = map off (items m) ->
  ByArrays.slots_found m starts (length (items m)) (longest (items m)) = slots_of m /\
  ByArrays.find_slots m starts (length (items m)) (longest (items m)) (total (items m)) = in_slots (longest (items m)) m.
Proof.
  intros T. apply (f_equal (map (fun o => pd_special m - o))) in T. rewrite !map_map in T.
  assert (B : ByArrays.below_special m starts (length (items m)) = map (fun it => pd_special m - off it) (items m)) by exact T.
  unfold ByArrays.find_slots, in_slots, ByArrays.slots_found, slots_of, nitems. rewrite B, map_map, forallb_mapped. now split.
Qed.
