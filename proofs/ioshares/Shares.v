(* SPDX-License-Identifier: PostgreSQL *)
(** * Shares that change: each class stays as many bytes ahead, and the new shares hold at once *)
From Pgquern.common Require Import Integers.
From Pgquern.ioshares Require Import Algorithms Spec Consistent Fairness Overflow.

Local Arguments total : simpl never.

(** A run in phases: calls, and then new shares, which count if they are not refused. *)
Definition phase : Type := list op * list Z.

Definition shared (ns : list Z) (s : state) : state := match set_shares ns s with Some s' => s' | None => s end.

Fixpoint replies_through (s : state) (ps : list phase) : list answer :=
  match ps with [] => [] | (os, ns) :: ps => replies s os ++ replies_through (shared ns (steps s os)) ps end.

(** The same of what C runs. *)
Fixpoint replies_through_rebased (s : state) (ps : list phase) : list answer :=
  match ps with
  | [] => []
  | (os, ns) :: ps => replies_rebased s os ++ replies_through_rebased (shared ns (steps_rebased s os)) ps
  end.

Fixpoint through_rebased (s : state) (ps : list phase) : state :=
  match ps with [] => s | (os, ns) :: ps => through_rebased (shared ns (steps_rebased s os)) ps end.

Definition phase_within (M : Z) (p : phase) : Prop := Forall (within M) (fst p).

(** ** What set_shares does *)

Lemma with_factor_is l old new : 1 <= old -> with_factor l old new = l * new / old.
Proof.
  intros P. unfold with_factor. transitivity ((l mod old * new + l / old * new * old) / old).
  - rewrite Z.div_add by lia. lia.
  - f_equal. pose proof (Z.div_mod l old ltac:(lia)). nia.
Qed.

Lemma lead_not_negative v f : 0 <= lead v f.
Proof. unfold lead. destruct (Z.ltb_spec v (tag f)); lia. Qed.

Lemma set_shares_spec ns s s' : set_shares ns s = Some s' ->
  length ns = length (flows s) /\ Forall (fun n => 1 <= n <= max_share) ns /\
  multiple (classes_with ns s) <= max_factor * fold_right Z.min max_share ns /\
  s' = State (map (fun p => reweighed (vtime s) (classes_with ns s) (fst p) (class_with (fst p) (snd p)))
                (combine (flows s) ns)) 0
         (waiting s) (in_flight s) (bounds s) (pacing s) (completed s) (latency s) (pressed s).
Proof.
  unfold set_shares. destruct (Nat.eqb_spec (length ns) (length (flows s))) as [L|]; [|discriminate].
  destruct (good_shares ns) eqn:G; [|discriminate].
  destruct (Z.ltb_spec (max_factor * fold_right Z.min max_share ns) (multiple (classes_with ns s))); [discriminate|].
  intros [= <-]. split; [auto|]. split; [|auto]. apply Forall_forall. intros n I. unfold good_shares in G.
  rewrite forallb_forall in G. specialize (G n I). apply andb_true_iff in G as [A B].
  apply Z.leb_le in A. apply Z.leb_le in B. lia.
Qed.

Lemma classes_share ns s : Forall (fun n => 1 <= n <= max_share) ns -> Forall (fun c => 1 <= share c) (classes_with ns s).
Proof.
  intros F. apply Forall_forall. intros c I. apply in_map_iff in I as ([f n] & <- & I). apply in_combine_r in I.
  cbn. pose proof (proj1 (Forall_forall _ _) F n I). cbn in *. lia.
Qed.

Lemma total_reweighed (of : flow -> Z) v cs : (forall f c, of (reweighed v cs f c) = of f) -> forall fs ns,
  length ns = length fs ->
  total of (map (fun p => reweighed v cs (fst p) (class_with (fst p) (snd p))) (combine fs ns)) = total of fs.
Proof.
  intros E. unfold total. induction fs as [|f fs IH]; intros [|n ns] L; try discriminate; cbn; [reflexivity|].
  injection L as L. now rewrite E, IH.
Qed.

Lemma whole_warp f : 1 <= factor f -> (factor f | warp f) -> warp f = factor f * (warp f / factor f).
Proof. intros P [q E]. rewrite E, Z.div_mul by lia. lia. Qed.

Lemma reweighed_near M W v cs f c : near M W v f -> Forall (fun c => 1 <= share c) cs -> In c cs ->
  warp_bytes c = warp f / factor f -> 1 <= M -> near M (largest_warp cs) 0 (reweighed v cs f c).
Proof.
  intros [] P I E HM. destruct (factors_are_exact cs c P I) as [_ F]. pose proof (warp_below_largest cs c I) as WL.
  pose proof (whole_warp f factor_positive warp_is_whole) as WW.
  assert (B : 0 <= warp_bytes c) by (rewrite E; apply Z.div_pos; lia).
  pose proof (lead_not_negative v f) as L0.
  constructor; cbn; auto using Z.divide_factor_l; try nia.
  - rewrite with_factor_is by lia. apply Z.div_le_upper_bound; [lia|].
    assert (L : lead v f <= factor f * (warp_bytes c + M)).
    { unfold lead. rewrite E. destruct (Z.ltb_spec v (tag f)); nia. }
    transitivity (factor f * (warp_bytes c + M) * factor_of cs c); [nia|]. nia.
  - intros _. rewrite with_factor_is by lia. apply Z.div_pos; nia.
Qed.

(** New shares keep the scheduler consistent, so all that is proved of a consistent one holds from then on; the largest warp is that
    of the new shares. *)
Theorem new_shares_keep_consistent M W s ns s' :
  consistent M W s -> set_shares ns s = Some s' -> consistent M (largest_warp (classes_with ns s)) s'.
Proof.
  intros C H. apply set_shares_spec in H as (L & F & _ & ->). destruct C. constructor; cbn; auto.
  - apply Forall_forall. intros g I. apply in_map_iff in I as ([f n] & <- & I). cbn.
    eapply reweighed_near; eauto using classes_share.
    + exact (proj1 (Forall_forall _ _) tags_near f (in_combine_l _ _ _ _ I)).
    + apply in_map_iff. now exists (f, n).
  - rewrite total_reweighed; auto.
  - rewrite total_reweighed; auto.
Qed.

Lemma nth_combine {A B} (xs : list A) : forall (ys : list B) i x y,
  nth_error xs i = Some x -> nth_error ys i = Some y -> nth_error (combine xs ys) i = Some (x, y).
Proof.
  induction xs as [|a xs IH]; intros [|b ys] [|i] x y X Y; cbn in *; try discriminate; [congruence|]. now apply IH.
Qed.

Lemma nth_shared ns s s' i f n : set_shares ns s = Some s' -> nth_error (flows s) i = Some f -> nth_error ns i = Some n ->
  In (class_with f n) (classes_with ns s) /\
  nth_error (flows s') i = Some (reweighed (vtime s) (classes_with ns s) f (class_with f n)).
Proof.
  intros H NF NN. apply set_shares_spec in H as (_ & _ & _ & ->). cbn [flows].
  pose proof (nth_combine _ _ i f n NF NN) as NC. split.
  - apply in_map_iff. exists (f, n). split; [reflexivity|]. eapply nth_error_In, NC.
  - rewrite nth_error_map, NC. reflexivity.
Qed.

(** A class stays as many bytes ahead as it was, rounded down, keeps its warp in bytes, and all else that it had: what waits of it,
    what is in flight, and what it has been charged. Its share is now the new one: its factor is in inverse proportion. *)
Theorem a_lead_stays_as_many_bytes M W s ns s' i f n f' :
  consistent M W s -> set_shares ns s = Some s' ->
  nth_error (flows s) i = Some f -> nth_error ns i = Some n -> nth_error (flows s') i = Some f' ->
  lead (vtime s') f' = lead (vtime s) f * factor f' / factor f /\ warp f' = factor f' * (warp f / factor f) /\
  factor f' * n = multiple (classes_with ns s) /\
  capacity f' = capacity f /\ queue f' = queue f /\ flying f' = flying f /\ charged f' = charged f.
Proof.
  intros C H NF NN NF'. destruct (nth_shared ns s s' i f n H NF NN) as [I E]. rewrite NF' in E. injection E as ->.
  pose proof H as H'. apply set_shares_spec in H' as (_ & F & _ & ->). cbn [vtime].
  destruct (factors_are_exact _ _ (classes_share ns s F) I) as [X P]. destruct C.
  pose proof (Forall_nth _ _ _ _ tags_near NF) as []. pose proof (lead_not_negative (vtime s) f) as L.
  split; [|cbn; repeat split; auto]. unfold lead at 1. cbn [reweighed tag factor]. rewrite with_factor_is by lia.
  assert (0 <= lead (vtime s) f * factor_of (classes_with ns s) (class_with f n) / factor f) by (apply Z.div_pos; nia).
  destruct (Z.ltb_spec 0 (lead (vtime s) f * factor_of (classes_with ns s) (class_with f n) / factor f)); lia.
Qed.

(** The new shares hold at once, whatever was before: while two classes stay backlogged from then on, what they are charged, each times
    the other's new share, differs by at most a request and the warp of each, times the other's new share. *)
Theorem new_shares_hold_at_once M W s ns s' os i j n m f g f' g' :
  consistent M W s -> set_shares ns s = Some s' -> nth_error ns i = Some n -> nth_error ns j = Some m ->
  Forall (within M) os -> nth_error (flows s') i = Some f -> nth_error (flows s') j = Some g ->
  nth_error (flows (steps s' os)) i = Some f' -> nth_error (flows (steps s' os)) j = Some g' ->
  throughout (backlogged i) s' os -> throughout (backlogged j) s' os ->
  Z.abs ((charged f' - charged f) * m - (charged g' - charged g) * n)
    <= (M + warp f / factor f) * m + (M + warp g / factor g) * n.
Proof.
  intros C H NN NM WI NF NG NF' NG' BF BG. pose proof (new_shares_keep_consistent M W s ns s' C H) as C'.
  pose proof H as H'. apply set_shares_spec in H' as (L & F & _ & _).
  assert (P : Forall (fun c => 1 <= share c) (classes_with ns s)) by now apply classes_share.
  assert (old : forall k r, nth_error ns k = Some r -> exists h, nth_error (flows s) k = Some h).
  { intros k r K. destruct (nth_error (flows s) k) eqn:E; [eauto|]. apply nth_error_None in E.
    assert (k < length ns)%nat by (apply nth_error_Some; congruence). lia. }
  destruct (old i n NN) as [h NH], (old j m NM) as [l NL].
  destruct (a_lead_stays_as_many_bytes M W s ns s' i h n f C H NH NN NF) as (_ & _ & X & _).
  destruct (a_lead_stays_as_many_bytes M W s ns s' j l m g C H NL NM NG) as (_ & _ & Y & _).
  pose proof (tags_near _ _ _ C') as T. pose proof (Forall_nth _ _ _ _ T NF) as NearF. pose proof (Forall_nth _ _ _ _ T NG) as NearG.
  eapply (service_divides_by_the_shares M _ s' os i j f g f' g' (multiple (classes_with ns s))); eauto.
  - pose proof (multiple_positive _ P). lia.
  - exact (proj1 (Forall_nth _ _ _ _ F NN)).
  - exact (proj1 (Forall_nth _ _ _ _ F NM)).
  - destruct NearF. now apply whole_warp.
  - destruct NearG. now apply whole_warp.
Qed.

(** ** Tags that start again *)

Lemma lead_alike k v f g : alike k v f g -> lead (v - k) g = lead v f.
Proof. intros []. unfold lead. destruct (Z.ltb_spec (v - k) (tag g)), (Z.ltb_spec v (tag f)); lia. Qed.

(** New shares look at leads alone: with tags that have started again the scheduler is the same after them, to the last number. *)
Theorem new_shares_forget_where_tags_began k s t ns : shifted k s t -> set_shares ns t = set_shares ns s.
Proof.
  intros [F V FW FI FB FP FC FL FR]. assert (VT : vtime t = vtime s - k) by lia.
  assert (L : length (flows t) = length (flows s)) by (symmetry; clear - F; induction F; cbn; congruence).
  assert (E : classes_with ns t = classes_with ns s).
  { unfold classes_with. generalize ns. clear - F.
    induction F as [|f g fs gs A Fs IH]; intros [|n ms]; cbn; auto. rewrite IH. f_equal. destruct A. unfold class_with. congruence. }
  unfold set_shares. rewrite L, E. destruct (_ || _)%bool; [reflexivity|]. rewrite FW, FI, FB, FP, FC, FL, FR, VT.
  do 2 f_equal. generalize (classes_with ns s). intros cs. generalize ns. clear - F.
  induction F as [|f g fs gs A Fs IH]; intros [|n ms]; cbn; auto. rewrite IH. f_equal.
  pose proof (lead_alike _ _ _ _ A) as LD. destruct A. unfold reweighed, class_with. cbn. rewrite LD. congruence.
Qed.

(** So nobody can see that tags start again, whatever calls there are and however often shares change. *)
Theorem rebase_is_invisible_through_new_shares M W s ps :
  consistent M W s -> Forall (phase_within M) ps -> replies_through_rebased s ps = replies_through s ps.
Proof.
  enough (G : forall ps W k s t, consistent M W s -> shifted k s t -> Forall (phase_within M) ps ->
    replies_through_rebased t ps = replies_through s ps) by (intros C F; exact (G ps W 0 s s C (shifted_refl s) F)).
  clear. induction ps as [|[os ns] ps IH]; intros W k s t C S F; [reflexivity|]. inversion F as [|? ? F1 F2]; subst.
  destruct (run_shifted M W os k s t C F1 S) as (R & k' & S'). cbn. rewrite R. f_equal.
  pose proof (always_consistent M W s os C F1) as C'. unfold shared. rewrite (new_shares_forget_where_tags_began k' _ _ ns S').
  destruct (set_shares ns (steps s os)) as [s'|] eqn:H; [|now apply (IH W k')].
  apply (IH (largest_warp (classes_with ns (steps s os))) 0); auto using shifted_refl.
  eapply new_shares_keep_consistent; eauto.
Qed.

(** ** Bounds *)

Lemma min_below ns n d : In n ns -> fold_right Z.min d ns <= n.
Proof. induction ns as [|m ns IH]; cbn; [easy|]. intros [->|I]; [lia|]. specialize (IH I). lia. Qed.

Lemma new_factor_modest ns s s' c : set_shares ns s = Some s' -> In c (classes_with ns s) ->
  1 <= factor_of (classes_with ns s) c <= max_factor.
Proof.
  intros H I. apply set_shares_spec in H as (_ & F & B & _). pose proof (classes_share ns s F) as P.
  split; [now apply factors_are_exact|]. apply in_map_iff in I as ([f n] & <- & I). apply in_combine_r in I.
  pose proof (proj1 (Forall_forall _ _) F n I) as N. cbv beta in N. pose proof (min_below ns n max_share I).
  unfold factor_of. cbn [share class_with fst snd]. change max_factor with 1073741824 in *.
  apply Z.div_le_upper_bound; [lia|]. nia.
Qed.

Lemma largest_below (G : class -> Z) B cs : 0 <= B -> Forall (fun c => G c * warp_bytes c <= B) cs ->
  fold_right (fun c w => Z.max (G c * warp_bytes c) w) 0 cs <= B.
Proof. intros Z. induction 1 as [|c cs H _ IH]; cbn; lia. Qed.

(** After new shares all numbers still fit: the bounds of [tags_fit] hold of the scheduler that they make. *)
Theorem new_shares_stay_modest M W s ns s' : consistent M W s -> modest s -> set_shares ns s = Some s' ->
  modest s' /\ largest_warp (classes_with ns s) <= max_bytes * max_factor.
Proof.
  intros C MO H. pose proof (factors_modest _ MO) as FM. pose proof H as H'. apply set_shares_spec in H' as (_ & _ & _ & ->).
  pose proof (tags_near _ _ _ C) as T. cbn [flows vtime].
  assert (wb : forall f, In f (flows s) -> 0 <= warp f / factor f <= max_bytes).
  { intros f I. pose proof (proj1 (Forall_forall _ _) FM f I) as [_ Wf].
    pose proof (proj1 (Forall_forall _ _) T f I) as []. split; [apply Z.div_pos; lia|apply Z.div_le_upper_bound; lia]. }
  split.
  - constructor; cbn [flows vtime].
    + apply Forall_forall. intros g I. apply in_map_iff in I as ([f n] & <- & I). cbn [fst snd factor warp reweighed warp_bytes class_with].
      pose proof (wb f (in_combine_l _ _ _ _ I)).
      assert (IC : In (class_with f n) (classes_with ns s)) by (apply in_map_iff; now exists (f, n)).
      pose proof (new_factor_modest ns s _ _ H IC). split; [lia|]. nia.
    + unfold rebase_at. lia.
    + apply Forall_forall. intros g I. apply in_map_iff in I as ([f n] & <- & I). cbn [fst snd tag reweighed].
      assert (IC : In (class_with f n) (classes_with ns s)) by (apply in_map_iff; now exists (f, n)).
      pose proof (new_factor_modest ns s _ _ H IC). pose proof (lead_not_negative (vtime s) f).
      pose proof (proj1 (Forall_forall _ _) T f (in_combine_l _ _ _ _ I)) as [].
      rewrite with_factor_is by lia. apply Z.div_pos; [apply Z.mul_nonneg_nonneg|]; lia.
  - apply largest_below; [vm_compute; discriminate|]. apply Forall_forall. intros c I.
    pose proof (new_factor_modest ns s _ c H I) as FB. apply in_map_iff in I as ([f n] & <- & I).
    pose proof (wb f (in_combine_l _ _ _ _ I)). change (warp_bytes _) with (warp f / factor f).
    rewrite (Z.mul_comm max_bytes). apply Z.mul_le_mono_nonneg; lia.
Qed.

(** What C computes of a lead fits into 64 bits, with any factor that may come. *)
Theorem a_lead_fits_its_new_factor M W s f new : consistent M W s -> modest s -> M <= max_cost -> In f (flows s) ->
  0 <= new <= max_factor ->
  0 <= lead (vtime s) f / factor f * new < 2 ^ 62 /\ 0 <= lead (vtime s) f mod factor f * new < 2 ^ 60 /\
  with_factor (lead (vtime s) f) (factor f) new = lead (vtime s) f * new / factor f.
Proof.
  intros C MO HM I N. destruct C. pose proof (proj1 (Forall_forall _ _) tags_near f I) as [].
  pose proof (proj1 (Forall_forall _ _) (factors_modest _ MO) f I) as [F1 F2]. pose proof (lead_not_negative (vtime s) f) as L0.
  change max_bytes with 1073741824 in *. change max_factor with 1073741824 in *. change max_cost with 2147483648 in *.
  assert (L : lead (vtime s) f <= factor f * 3221225472).
  { unfold lead. destruct (Z.ltb_spec (vtime s) (tag f)); nia. }
  assert (D : 0 <= lead (vtime s) f / factor f <= 3221225472)
    by (split; [apply Z.div_pos; lia|apply Z.div_le_upper_bound; lia]).
  pose proof (Z.mod_pos_bound (lead (vtime s) f) (factor f) ltac:(lia)).
  change (2 ^ 62) with 4611686018427387904. change (2 ^ 60) with 1152921504606846976.
  split; [nia|]. split; [nia|]. apply with_factor_is. lia.
Qed.

(** [tags_fit] through any phases: after any calls, and however often shares change, no number that C computes reaches 2^63. *)
Theorem tags_fit_through_new_shares M W s ps :
  consistent M W s -> modest s -> M <= max_cost -> W <= max_bytes * max_factor -> most (bounds s) <= 2 ^ 15 ->
  Forall (phase_within M) ps ->
  let t := through_rebased s ps in
  0 <= vtime t < 2 ^ 61 /\ 0 <= latency t + max_latency < 2 ^ 63 /\
  0 <= level (pacing t) * max_latency * 5 < 2 ^ 63 /\ 0 <= floor (pacing t) * 7 < 2 ^ 63 /\
  Forall (fun f => 0 <= tag f < 2 ^ 63 /\ 0 <= tag f + handicap f < 2 ^ 63 /\
                   0 <= tag f + factor f * max_cost < 2 ^ 63) (flows t).
Proof.
  intros C MO HM HW HL F. revert W s C MO HW HL. induction F as [|[os ns] ps F1 _ IH]; intros W s C MO HW HL.
  - destruct (tags_fit M W s [] C MO HM HW HL (Forall_nil _)) as (A & B & D & E & _ & G). cbn. auto.
  - destruct (run_keeps_modest M W s os C HM MO F1) as (C1 & M1 & B1). cbn. unfold shared.
    destruct (set_shares ns (steps_rebased s os)) as [s'|] eqn:H; [|apply (IH W); auto; now rewrite B1].
    destruct (new_shares_stay_modest M W _ ns s' C1 M1 H) as [M2 W2].
    apply (IH _ s' (new_shares_keep_consistent M W _ ns s' C1 H)); auto.
    apply set_shares_spec in H as (_ & _ & _ & ->). cbn. now rewrite B1.
Qed.
