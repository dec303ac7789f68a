(* SPDX-License-Identifier: PostgreSQL *)
(** * The calls of an open store *)
From Pgquern.common Require Import Naturals.
From Pgquern.tornpage Require Import Faults Replays Holds Programs.

Section Calls.
  Context {sector delta : Type}.
  Notation page := (list sector).
  Notation change := (change sector delta).
  Notation store := (store sector delta).
  Context (pr : protection) (room : nat) (lsn : page -> nat) (apply : nat -> delta -> page -> page) (empty : page).
  Notation state := (state apply empty).
  Notation mid := (mid pr room lsn apply empty).
  Notation safe := (safe pr room lsn apply empty).
  Notation fits := (fits pr room lsn apply empty).
  Notation pages_fit := (pages_fit pr apply empty).
  Notation log_fits := (@log_fits sector delta room).
  Notation is_state := (is_state apply empty).
  Notation Seen := (Seen pr).
  Notation Holds := (Holds pr room lsn apply empty).
  Notation Promise := (Promise apply empty).
  Notation ready_of := (ready_of pr room lsn apply empty).
  Notation Ready := (Ready pr room lsn apply empty).

  Definition open_at (s : store) (c : control) (w : nat) : Prop := ready_of s c w /\ Seen (dev s).

  Lemma ready_promise s c w : ready_of s c w -> Promise s.
  Proof.
    intros R. split; [|apply R]. destruct (r_fits _ _ _ _ _ _ _ _ R) as [_ _ A L _]. destruct L as [B _ _ _ _].
    pose proof (r_insert _ _ _ _ _ _ _ _ R). lia.
  Qed.
  Lemma open_mid s c w : open_at s c w -> mid s c (made s) (flushed (proc s)).
  Proof. intros (R & S). split; [apply R|]. split; [apply R|]. split; [eapply ready_promise; exact R|exact S]. Qed.
  Lemma open_safe s c w : open_at s c w -> safe s [].
  Proof.
    intros O. split; [eapply mid_holds, open_mid, O|]. split; [eapply ready_promise, O|]. exists c, w. apply O.
  Qed.

  Lemma flush_safe s c w rest : open_at s c w ->
    (forall s', open_at s' c w -> proc s' = set_flushed (proc s) -> made s' = made s -> safe s' rest) ->
    safe s (flush_ops (proc s) ++ rest).
  Proof.
    intros O K. assert (M := open_mid s c w O). destruct O as (R & S). unfold flush_ops. rewrite <- app_assoc. cbn [app].
    assert (F := R). destruct F as [Rc Rr Re Rf Ri Rm Ru Ro Rw Rcl Rfi Rs Run Rim Rh Ra Ria].
    assert (B := from_redo _ _ _ _ _ (log_fit _ _ _ _ _ _ _ _ _ _ _ Rf)).
    rewrite Ru, <- Re. eapply log_safe with (h := made s) (f := flushed (proc s)); [exact M|lia| | |].
    - unfold part. now rewrite firstn_all.
    - rewrite skipn_length. lia.
    - intros L M'. rewrite skipn_length in M'. replace (Nat.max _ _) with (insert (proc s)) in M' by lia.
      eapply safe_op; [exact M'|]. apply K; [|reflexivity|reflexivity]. destruct M' as (_ & [P W A LF PF] & _ & S'). split; [|exact S'].
      split; cbn; auto; try lia.
      + split; auto.
      + now rewrite Ri, skipn_all.
      + intros I U. eapply heals_more; [now apply Rh|lia].
  Qed.

  Hypothesis apply_lsn : forall n d p, lsn (apply n d p) = n.
  Hypothesis empty_lsn : lsn empty = 0.

  Lemma quiet_after_flush s c w : open_at s c w -> lsn (mem (proc s)) <= flushed (proc s) ->
    quiet (made s) (flushed (proc s)) (length (made s)) /\ mem (proc s) = state (made s) (flushed (proc s)).
  Proof.
    intros (R & S) L. assert (F := R). destruct F as [Rc Rr Re Rf Ri Rm Ru Ro Rw Rcl Rfi Rs Run Rim Rh Ra Ria].
    assert (B := from_redo _ _ _ _ _ (log_fit _ _ _ _ _ _ _ _ _ _ _ Rf)).
    destruct (state_lsn lsn apply empty apply_lsn empty_lsn (made s) (is_sealed _ _ _ _ _ _ _ _ _ _ _ Rf) (length (made s)) (le_n _)) as (_ & O).
    assert (Q : quiet (made s) (flushed (proc s)) (length (made s))).
    { intros j x J E. destruct (own x) eqn:X; [|reflexivity]. specialize (O j x (proj2 J) E X). rewrite Rm, Ri in L. lia. }
    split; [exact Q|]. rewrite Rm, Ri. apply state_quiet; [exact Q|lia].
  Qed.

  Lemma place_open_safe s c w rest : open_at s c w -> first (proc s) <> 0 -> lsn (mem (proc s)) <= flushed (proc s) ->
    (forall s', open_at s' c (flushed (proc s)) -> proc s' = set_first (set_unsynced (proc s) true) 0 -> made s' = made s ->
       safe s' rest) ->
    safe s (place_ops pr (mem (proc s)) ++ rest).
  Proof.
    intros O N L K. assert (M := open_mid s c w O). destruct (quiet_after_flush s c w O L) as (Q & E).
    destruct O as (R & S). assert (F := R). destruct F as [Rc Rr Re Rf Ri Rm Ru Ro Rw Rcl Rfi Rs Run Rim Rh Ra Ria].
    assert (B := from_redo _ _ _ _ _ (log_fit _ _ _ _ _ _ _ _ _ _ _ Rf)).
    assert (Heal : pr = Images -> heals (made s) (redo_point c) (flushed (proc s))).
    { intros I. destruct (Rfi N) as (W & x & X & Own). assert (PF := pages _ _ _ _ _ _ _ _ _ _ _ Rf). unfold Holds.pages_fit in PF.
      rewrite I in PF. destruct PF as (_ & [D|(j & q & J & Y & Z)]).
      - assert (first (proc s) - 1 < length (made s)) by (apply nth_error_Some; congruence).
        rewrite (D (first (proc s) - 1) x) in Own by (auto; lia). discriminate.
      - exists j, q. split; [|auto]. destruct (Nat.lt_ge_cases j (flushed (proc s))); [lia|].
        discriminate (Q j (Image q) ltac:(lia) Y). }
    eapply place_safe; [exact M| |exact Heal| |].
    - exists (flushed (proc s)). split; [lia|exact E].
    - intros D. exists (state (made s) w). split; [exists w; split; [lia|reflexivity]|]. cbn.
      destruct (unsynced (proc s)) eqn:U; cbn; [|now apply Rs]. destruct (Run eq_refl). now apply only_mine.
    - intros d a s' (Mc & Mf & Mp & Ms) Md Sd Oa. apply K; [|reflexivity|reflexivity]. split; [|exact Ms].
      split; cbn; auto; try lia; try congruence.
      + split; congruence.
      + intros I _. rewrite <- Rr. auto.
      + intros D p I. specialize (Oa D _ I). congruence.
      + intros D _. rewrite <- E. auto.
  Qed.

  Lemma write_back_safe s c w : open_at s c w -> safe s (write_back_ops pr lsn (proc s)).
  Proof.
    intros O. unfold write_back_ops. destruct (Nat.eqb_spec (first (proc s)) 0) as [Z|N]; [eapply open_safe; exact O|].
    rewrite <- (app_nil_r (place_ops pr _)). destruct (Nat.ltb_spec (flushed (proc s)) (lsn (mem (proc s)))) as [L|L].
    - eapply flush_safe; [exact O|]. intros s' O' P M. replace (mem (proc s)) with (mem (proc s')) by now rewrite P.
      eapply place_open_safe; [exact O'|now rewrite P| |intros; eapply open_safe; eassumption].
      rewrite P. cbn. destruct O as (R & _). rewrite (r_mem _ _ _ _ _ _ _ _ R).
      apply (state_lsn lsn apply empty apply_lsn empty_lsn); [apply (r_fits _ _ _ _ _ _ _ _ R)|]. rewrite (r_insert _ _ _ _ _ _ _ _ R). lia.
    - cbn [app]. eapply place_open_safe; eauto. intros; eapply open_safe; eassumption.
  Qed.

  Lemma sync_data_only (s : store) p : Seen (dev s) -> (unsynced (proc s) = false -> only (may (data (dev s))) p) ->
    (unsynced (proc s) = true -> only (may (sync (data (dev s)))) p) ->
    exists d, go SyncData s = with_proc (with_data s d) (set_unsynced (proc s) false) /\ only (may d) p.
  Proof.
    intros S A B. cbn. destruct (unsynced (proc s)) eqn:U; [exists (sync (data (dev s))); auto|]. exists (data (dev s)).
    split; [|auto]. destruct s as [[L d a t] [m fi u r dr i fl uf e] md k]. cbn in *. now subst u.
  Qed.

  (** The redo point moves. *)
  Lemma move_safe s c w : open_at s c w -> flushed (proc s) = insert (proc s) ->
    first (proc s) = 0 \/ redo (proc s) < first (proc s) ->
    safe s [SyncData; WriteControl (Control (redo (proc s)) (epoch (proc s))); SyncControl; Moved].
  Proof.
    intros O FI C. assert (M := open_mid s c w O). destruct O as (R & S). assert (F := R).
    destruct F as [Rc Rr Re Rf Ri Rm Ru Ro Rw Rcl Rfi Rs Run Rim Rh Ra Ria].
    assert (B := from_redo _ _ _ _ _ (log_fit _ _ _ _ _ _ _ _ _ _ _ Rf)).
    assert (M1 := mid_sync_data _ _ _ _ _ _ _ _ _ M).
    destruct (sync_data_only s (state (made s) w) S Rs) as (d & E & O).
    { intros U. destruct (Run U). now apply only_mine. }
    eapply safe_op; [exact M|]. rewrite E in *. set (s1 := with_proc _ _) in *.
    set (v := Nat.max w (redo (proc s))).
    assert (Q : forall j x, w <= j < v -> nth_error (made s) j = Some x -> own x = false).
    { intros j x J X. unfold v in J. destruct (Nat.eqb_spec (first (proc s)) 0) as [Z|Z]; [|destruct C; [congruence|]].
      - apply (Rcl j); [|exact X]. split; [lia|]. apply nth_error_Some. congruence.
      - apply (Rcl j); [lia|exact X]. }
    assert (W : state (made s) v = state (made s) w) by (apply state_quiet; [exact Q|unfold v; lia]).
    assert (Fit : fits (dev s1) (Control (redo (proc s)) (epoch (proc s))) (made s) (acked s) (made s) (flushed (proc s))).
    { destruct Rf as [P Se A [La Lb Lc Ld Le] PF]. split; auto.
      - split; cbn; rewrite <- ?Re; auto; try lia.
        + intros j r J. apply Ld. lia.
        + intros j J. apply Le. lia.
      - assert (I : is_state (made s) (redo (proc s)) (flushed (proc s)) (state (made s) w)).
        { exists v. split; [unfold v; lia|now symmetry]. }
        unfold Holds.pages_fit. cbn. destruct pr eqn:X.
        + split; [left; eauto|auto].
        + left. split; [eauto|]. intros p J. rewrite (Ra eq_refl p J). exact I.
        + intros p J. now rewrite (O p J). }
    eapply control_safe; [eapply mid_holds; exact M1|apply M1|exact Fit|].
    assert (H : Holds (with_ctl s1 (Block (Control (redo (proc s)) (epoch (proc s))) [Control (redo (proc s)) (epoch (proc s))] true))).
    { intros c' [<-|[]]. exists (made s), (flushed (proc s)). now destruct Fit. }
    destruct M1 as (_ & _ & Pr & _).
    split; [exact H|]. split; [exact Pr|]. split; [exact H|]. split; [exact Pr|]. exists (Control (redo (proc s)) (epoch (proc s))), v.
    split; cbn; auto; try lia; try congruence.
    - intros y [<-|[]]. reflexivity.
    - now destruct Fit.
    - intros j x J. apply Rcl. unfold v in J. lia.
    - intros N. destruct (Rfi N) as (X & Y). split; [unfold v; lia|exact Y].
    - intros _. rewrite W. exact O.
    - intros D p J. rewrite W. auto.
  Qed.

  Lemma checkpoint_safe s c w : open_at s c w -> safe s (checkpoint_ops pr (proc s)).
  Proof.
    intros O. unfold checkpoint_ops. eapply flush_safe; [exact O|]. intros s1 O1 P1 M1.
    destruct (Nat.eqb_spec (first (proc s)) 0) as [Z|Z]; cbn [negb andb app].
    - replace (redo (proc s)) with (redo (proc s1)) by now rewrite P1. replace (epoch (proc s)) with (epoch (proc s1)) by now rewrite P1.
      eapply move_safe; [exact O1|now rewrite P1|left; now rewrite P1].
    - destruct (Nat.leb_spec (first (proc s)) (redo (proc s))) as [L|L]; cbn [app].
      + replace (mem (proc s)) with (mem (proc s1)) by now rewrite P1. eapply place_open_safe; [exact O1|now rewrite P1| |].
        * rewrite P1. cbn. destruct O as (R & _). rewrite (r_mem _ _ _ _ _ _ _ _ R).
          apply (state_lsn lsn apply empty apply_lsn empty_lsn); [apply (r_fits _ _ _ _ _ _ _ _ R)|].
          rewrite (r_insert _ _ _ _ _ _ _ _ R). lia.
        * intros s2 O2 P2 M2. rewrite P1 in P2. replace (redo (proc s)) with (redo (proc s2)) by now rewrite P2.
          replace (epoch (proc s)) with (epoch (proc s2)) by now rewrite P2.
          eapply move_safe; [exact O2|now rewrite P2|left; now rewrite P2].
      + replace (redo (proc s)) with (redo (proc s1)) by now rewrite P1. replace (epoch (proc s)) with (epoch (proc s1)) by now rewrite P1.
        eapply move_safe; [exact O1|now rewrite P1|right; now rewrite P1].
  Qed.
End Calls.
