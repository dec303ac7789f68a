(* SPDX-License-Identifier: PostgreSQL *)
(** * After any kills, failed operations and power losses: all that was promised, and a state that was *)
From Pgquern.common Require Import Naturals.
From Pgquern.tornpage Require Import Faults Replays Holds Programs Calls.

Section Changes.
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
  Notation open_at := (open_at pr room lsn apply empty).

  Lemma quiet_app (h l : list change) a b : quiet h a b -> b <= length h -> quiet (h ++ l) a b.
  Proof. intros Q L j c J E. apply (Q j c J). rewrite nth_error_app1 in E by lia. exact E. Qed.
  Lemma quiet_next (h : list change) a x : own x = false -> quiet h a (length h) -> quiet (h ++ [x]) a (length (h ++ [x])).
  Proof.
    intros N Q j c J E. rewrite app_length in J. cbn in J. destruct (Nat.eq_dec j (length h)) as [->|K].
    - rewrite nth_error_app2, Nat.sub_diag in E by lia. now injection E as <-.
    - rewrite nth_error_app1 in E by lia. apply (Q j c); [lia|exact E].
  Qed.
  Lemma heals_app (h l : list change) a b : heals h a b -> heals (h ++ l) a b.
  Proof.
    intros (j & q & J & E & Q). assert (j < length h) by (apply nth_error_Some; congruence). exists j, q.
    split; [exact J|]. split; [now rewrite nth_error_app1|]. apply quiet_app; [exact Q|lia].
  Qed.

  (** The first record of a page after a redo point is an image, if each that is none comes after another one. *)
  Lemma image_first (h : list change) r x : r <= length h -> quiet h r (length h) \/ heals h r (length h) ->
    (own x = true -> (exists q, x = Image q) \/ ~ quiet h r (length h)) ->
    quiet (h ++ [x]) r (length (h ++ [x])) \/ heals (h ++ [x]) r (length (h ++ [x])).
  Proof.
    intros L [Q|H] N.
    - destruct (own x) eqn:O; [|left; now apply quiet_next]. destruct (N eq_refl) as [(q & ->)|C]; [|contradiction].
      right. exists (length h), q. rewrite app_length. cbn. split; [lia|]. split; [|apply quiet_app; auto].
      rewrite nth_error_app2 by lia. now rewrite Nat.sub_diag.
    - right. rewrite app_length. eapply heals_more; [apply heals_app, H|]. lia.
  Qed.

  Lemma log_change_open s c w m n x : open_at s c w -> insert (proc s) < durable_redo (proc s) + room ->
    m = after apply (S (insert (proc s))) x (mem (proc s)) ->
    (forall q, x = Image q -> lsn q = S (insert (proc s))) ->
    n = (if own x then if first (proc s) =? 0 then S (insert (proc s)) else first (proc s) else first (proc s)) ->
    (pr = Images -> own x = true -> (exists q, x = Image q) \/ ~ quiet (made s) (redo (proc s)) (length (made s))) ->
    open_at (log_change s m n x) c w.
  Proof.
    intros (R & S) Room M I N Im. split; [|exact S].
    destruct R as [Rc Rr Re Rf Ri Rm Ru Ro Rw Rcl Rfi Rs Run Rim Rh Ra Ria].
    destruct Rf as [P W A [La Lb Lc Ld Le] PF].
    assert (X : forall k, k <= length (made s) -> state (made s ++ [x]) k = state (made s) k) by (intros; now apply state_app).
    assert (Len : length (made s ++ [x]) = Datatypes.S (insert (proc s))) by (rewrite app_length; cbn; lia).
    assert (Z : nth_error (made s ++ [x]) (insert (proc s)) = Some x) by (rewrite nth_error_app2 by lia; now replace (_ - _) with 0 by lia).
    assert (Im' : forall r, r <= redo (proc s) -> pr = Images -> own x = true ->
      (exists q, x = Image q) \/ ~ quiet (made s) r (length (made s))).
    { intros r L E O. destruct (Im E O) as [Y|Y]; [now left|right]. intros Q. apply Y. intros j y J. apply Q. lia. }
    assert (In1 : forall a b p, b <= length (made s) -> is_state (made s) a b p -> is_state (made s ++ [x]) a b p).
    { intros a b p L (k & K & ->). exists k. split; [exact K|]. symmetry. apply X. lia. }
    split; cbn; auto; try lia.
    - split; auto.
      + now rewrite firstn_all.
      + intros j q E. destruct (Nat.lt_ge_cases j (insert (proc s))) as [J|J].
        * rewrite nth_error_app1 in E by lia. now apply W.
        * assert (j < Datatypes.S (insert (proc s))) by (rewrite <- Len; apply nth_error_Some; congruence).
          assert (j = insert (proc s)) by lia. subst j. rewrite Z in E. injection E as ->. auto.
      + split; auto; try lia.
        * intros j r J K E. specialize (Ld j r J K E). rewrite nth_error_app1; [exact Ld|]. apply nth_error_Some. congruence.
        * intros j J. destruct (Le j J) as (y & Y & O). exists y. split; [|exact O]. rewrite nth_error_app1 by lia. exact Y.
      + unfold Holds.pages_fit in *. destruct pr eqn:E.
        * destruct PF as (PF & Q). split.
          -- destruct PF as [(p & Y & O)|H]; [left; exists p; split; [apply In1; [lia|exact Y]|exact O]|right; now apply heals_app].
          -- apply image_first; [lia|exact Q|]. apply Im'; [lia|reflexivity].
        * destruct PF as [((p & Y & O) & B)|(p & Y & O)]; [left; split|right].
          -- exists p. split; [apply In1; [lia|exact Y]|exact O].
          -- intros q J. apply In1; [lia|auto].
          -- exists p. split; [apply In1; [lia|exact Y]|exact O].
        * intros p J. apply In1; [lia|auto].
    - change (m = state (made s ++ [x]) (Datatypes.S (insert (proc s)))). rewrite (state_next apply empty _ _ x Z), X by lia.
      now rewrite M, Rm.
    - rewrite Ru, skipn_app. f_equal. replace (_ - _) with 0 by lia. reflexivity.
    - subst n. destruct (own x) eqn:O.
      + destruct (Nat.eqb_spec (first (proc s)) 0) as [F|F].
        * cbn [Nat.eqb]. replace (Datatypes.S _ - 1) with (length (made s)) by lia. apply quiet_app; [exact Rcl|lia].
        * destruct (Nat.eqb_spec (first (proc s)) 0); [contradiction|]. apply quiet_app; [exact Rcl|].
          destruct (Rfi F) as (_ & y & Y & _). assert (first (proc s) - 1 < length (made s)) by (apply nth_error_Some; congruence). lia.
      + destruct (Nat.eqb_spec (first (proc s)) 0) as [F|F]; [now apply quiet_next|]. apply quiet_app; [exact Rcl|].
        destruct (Rfi F) as (_ & y & Y & _). assert (first (proc s) - 1 < length (made s)) by (apply nth_error_Some; congruence). lia.
    - assert (Old : first (proc s) <> 0 -> w < first (proc s) /\
        exists y, nth_error (made s ++ [x]) (first (proc s) - 1) = Some y /\ own y = true).
      { intros F. destruct (Rfi F) as (B & y & Y & O). split; [exact B|]. exists y. split; [|exact O].
        rewrite nth_error_app1; [exact Y|]. apply nth_error_Some. congruence. }
      subst n. destruct (own x) eqn:O; [|exact Old]. destruct (Nat.eqb_spec (first (proc s)) 0) as [F|F]; [|exact Old].
      intros _. split; [lia|]. exists x. split; [|exact O]. replace (Datatypes.S _ - 1) with (insert (proc s)) by lia. exact Z.
    - intros U. rewrite X by lia. auto.
    - intros U. rewrite X by lia. auto.
    - intros E. apply image_first; [lia|auto|]. apply Im'; [lia|exact E].
    - intros E U. apply heals_app. auto.
    - intros E p J. rewrite X by lia. auto.
    - intros E U. rewrite X by lia. auto.
  Qed.

  Lemma begin_checkpoint_open s c w : open_at s c w -> open_at (with_proc s (set_redo (proc s) (insert (proc s)))) c w.
  Proof.
    intros (R & S). split; [|exact S]. destruct R as [Rc Rr Re Rf Ri Rm Ru Ro Rw Rcl Rfi Rs Run Rim Rh Ra Ria].
    split; cbn; auto; try lia. intros _. left. intros j y J. lia.
  Qed.

  Hypothesis apply_lsn : forall n d p, lsn (apply n d p) = n.
  Hypothesis empty_lsn : lsn empty = 0.

  Lemma change_open s c w d : open_at s c w -> has_room room s = true -> open_at (do_change pr lsn apply s d) c w.
  Proof.
    intros O H. apply Nat.ltb_lt in H. unfold do_change. apply log_change_open; auto.
    - now destruct (needs_image pr lsn (proc s)).
    - intros q E. destruct (needs_image pr lsn (proc s)); [|discriminate]. injection E as <-. apply apply_lsn.
    - now destruct (needs_image pr lsn (proc s)).
    - intros E _. unfold needs_image. rewrite E. destruct (Nat.leb_spec (lsn (mem (proc s))) (redo (proc s))) as [L|L]; [left; eauto|right].
      destruct O as (R & _). intros Q. rewrite (r_mem _ _ _ _ _ _ _ _ R), (r_insert _ _ _ _ _ _ _ _ R) in L.
      assert (B := r_order _ _ _ _ _ _ _ _ R). rewrite (r_insert _ _ _ _ _ _ _ _ R) in B.
      rewrite (state_quiet apply empty (made s) _ _ Q) in L by lia.
      assert (W := is_sealed _ _ _ _ _ _ _ _ _ _ _ (r_fits _ _ _ _ _ _ _ _ R)).
      destruct (state_lsn lsn apply empty apply_lsn empty_lsn (made s) W (redo (proc s))); lia.
  Qed.

  (** ** Recovery *)

  (** Its end: all is written again, and durable but for the place. *)
  Lemma opens s c h n : mid s c h n -> unsynced (proc s) = true ->
    only (may (sync (data (dev s)))) (state h n) -> (pr = DoubleWrite -> forall p, In (Some p) (may (area (dev s))) -> p = state h n) ->
    insert (proc s) = n -> epoch (proc s) = control_epoch c -> first (proc s) = 0 -> unflushed (proc s) = [] ->
    safe s [SyncData; WriteControl (Control n (S (control_epoch c))); SyncControl; Opened].
  Proof.
    intros M U O A I E F UF. assert (M1 := mid_sync_data _ _ _ _ _ _ _ _ _ M).
    destruct (sync_data_only pr s (state h n)) as (d & G & Od); [apply M|congruence|auto|].
    eapply safe_op; [exact M|]. rewrite G in *. set (s1 := with_proc _ _) in *.
    set (c' := Control n (S (control_epoch c))).
    assert (Fit1 : forall k, k <= n -> fits (dev s1) c' (firstn n (made s)) k (firstn n h) n /\ firstn n h = firstn n (made s) /\ n <= length h).
    { intros k K. destruct M1 as (_ & [P W Ac [La Lb Lc Ld Le] PF] & _). cbn in P, Ac. assert (n <= length h) by lia.
      assert (firstn n h = firstn n (made s)) as Q by (rewrite P, firstn_firstn; f_equal; lia).
      split; [|auto]. assert (Len : length (firstn n h) = n) by (rewrite firstn_length; lia).
      split; auto.
      - rewrite Len, firstn_firstn, Nat.min_id. exact Q.
      - now apply sealed_firstn.
      - split; cbn; rewrite ?Len; try lia.
        + intros j r J. specialize (Lc j r J). lia.
        + intros j r _ J Er. specialize (Lc (S j) r J). lia.
      - assert (is_state (firstn n h) n n (state h n)) as X by (exists n; split; [lia|]; symmetry; now apply state_firstn).
        unfold Holds.pages_fit. cbn. destruct pr eqn:Y.
        + split; [left; eauto|]. left. rewrite Len. intros j y J. lia.
        + left. split; [eauto|]. intros p J. now rewrite (A eq_refl p J).
        + intros p J. now rewrite (Od p J). }
    destruct (Fit1 (acked s)) as (Fit & Q & Ln).
    { destruct M1 as (_ & Fi & _). apply Fi. }
    assert (Fit0 : fits (dev s1) c' (made s) (acked s) (firstn n h) n).
    { destruct Fit as [P W Ac L PF]. split; auto. rewrite Q, firstn_length. rewrite firstn_length in P. 
      destruct M1 as (_ & [Pm _ _ _ _] & _). cbn in Pm.
      assert (n <= length (made s)) by (rewrite Pm, firstn_length in Ln; lia). now replace (Nat.min n (length (made s))) with n by lia. }
    eapply control_safe; [eapply mid_holds; exact M1|apply M1|exact Fit0|].
    destruct M1 as (_ & Fm & Pr & _). destruct Pr as (Ins & Mem). cbn in Ins.
    change (mem (proc s) = state (made s) (insert (proc s))) in Mem.
    split; [intros y [<-|[]]; exists (firstn n h), n; now destruct Fit0|]. split; [split; [exact Ins|exact Mem]|].
    destruct (Fit1 n) as (Fit2 & _); [lia|].
    assert (Mem2 : mem (proc s) = state (firstn n (made s)) n) by (rewrite state_firstn by lia; congruence).
    assert (Len2 : length (firstn n (made s)) = n) by (rewrite firstn_length; lia).
    split; [|split; [split; cbn; rewrite I; [rewrite Len2; lia|exact Mem2]|]].
    - cbn. intros y [<-|[]]. exists (firstn n h), n. rewrite I. now destruct Fit2.
    - exists c', n. rewrite Q in Fit2.
      split; cbn; rewrite ?I, ?Len2; auto; try lia; try congruence.
      + intros y [<-|[]]. reflexivity.
      + now destruct Fit2.
      + now rewrite skipn_all2 by lia.
      + rewrite F. cbn. intros j y J. lia.
      + intros _. rewrite <- Mem2. replace (mem (proc s)) with (state h n); [exact Od|].
        rewrite Mem2, <- Q. symmetry. now apply state_firstn.
      + intros _. left. intros j y J. lia.
      + intros D p J. rewrite <- Q, state_firstn by lia. now apply A.
  Qed.

  (** What recovery makes of any contents that the files may have: a state with all that was promised. *)
  Lemma recovered v c made k h f : fits v c made k h f -> Seen v ->
    let found := read_log (control_epoch c) (fun n => seen (log v n)) (redo_point c) room in
    let n := redo_point c + length found in
    let start := match restored pr (seen (area v)) with Some q => q | None => seen (data v) end in
    found = part h (redo_point c) (length found) /\ f <= n <= length h /\
    replay lsn apply (redo_point c) found start = state h n.
  Proof.
    intros [P W Ac [La Lb Lc Ld Le] PF] (Sl & Sd & Sa & _) found n start.
    destruct (read_log_finds (control_epoch c) (fun n => seen (log v n)) h f room (redo_point c)) as (F1 & F2 & F3); try lia.
    { intros j r J E X. cbn in E. apply Ld; auto. apply whole_some. rewrite <- E. apply Sl. }
    { intros j J. destruct (Le j J) as (x & X & O). exists x. split; [exact X|]. eapply whole_only; [exact O|apply Sl]. }
    fold found in F1, F2, F3. fold n in F2, F3. split; [exact F1|]. split; [lia|]. unfold n. rewrite F1 at 1.
    assert (St : forall p, is_state h (redo_point c) f p -> replay lsn apply (redo_point c) (part h (redo_point c) (length found)) p =
      state h (redo_point c + length found)).
    { intros p (j & J & ->). apply replay_reaches; auto; lia. }
    unfold Holds.pages_fit in PF. unfold start, restored. destruct pr eqn:E.
    - destruct PF as ([(p & X & O)|H] & _).
      + rewrite (mixture_only Images _ p _ O Sd). now apply St.
      + apply replay_heals; auto. eapply heals_more; [exact H|lia].
    - destruct (seen (area v)) as [q|] eqn:Q.
      + apply St. destruct PF as [(_ & A)|(p & X & O)]; [now apply A, whole_some|]. now injection (whole_only _ _ _ O Sa) as ->.
      + destruct PF as [((p & X & O) & _)|(p & X & O)]; [|discriminate (whole_only _ _ _ O Sa)].
        rewrite (mixture_only DoubleWrite _ p _ O Sd). now apply St.
    - now apply St, PF.
  Qed.

  Lemma mid_ctl s c h f : Promise s -> Seen (dev s) -> fits (dev s) c (made s) (acked s) h f ->
    mid (with_ctl s (Block c [c] true)) c h f.
  Proof.
    intros P (A & B & C & _) F. split; [intros y [<-|[]]; reflexivity|]. split; [now destruct F|]. split; [exact P|].
    exact (conj A (conj B (conj C (or_introl eq_refl)))).
  Qed.

  (** The area's page, made durable in the area and written to its place. *)
  Lemma restore_safe s c h f q rest : mid s c h f -> pr = DoubleWrite -> is_state h (redo_point c) f q ->
    In (Some q) (may (area (dev s))) ->
    (forall a, let s' := with_proc (with_data (with_area s a) (write q (data (dev s)))) (set_unsynced (proc s) true) in
       mid s' c h f -> only (may a) (Some q) -> safe s' rest) ->
    safe s (WriteArea q :: SyncArea :: WriteData q :: rest).
  Proof.
    intros M D Q I K. eapply safe_op; [exact M|].
    assert (M2 : mid (go (WriteArea q) s) c h f).
    { assert (G := go_seen pr (WriteArea q) s). assert (M0 := M). destruct M as (Oc & [Pf W F LF PF] & Prm & S).
      eapply (mid_with pr room lsn apply empty s c h f M0) with (p := proc s); try reflexivity; auto; try exact (G S); try exact LF.
      unfold Holds.pages_fit in *. rewrite D in *. cbn. destruct PF as [((p & X & O) & A)|(p & X & O)].
      - left. split; [eauto|]. intros r [[= <-]|J]; auto.
      - right. exists p. split; [exact X|]. assert (Y := O _ I). injection Y as ->. now apply only_cons. }
    eapply safe_op; [exact M2|].
    set (a := sync (write (Some q) (area (dev s)))).
    assert (A : only (may a) (Some q)) by (now apply only_mine).
    assert (M3 : mid (with_area s a) c h f).
    { assert (G := go_seen pr SyncArea (go (WriteArea q) s)). assert (M0 := M2). destruct M2 as (Oc & [Pf W F LF PF] & Prm & S).
      eapply (mid_with pr room lsn apply empty _ c h f M0) with (p := proc s); try reflexivity; auto; try exact (G S); try exact LF.
      unfold Holds.pages_fit. rewrite D. right. now exists q. }
    assert (M4 : mid (go (WriteData q) (with_area s a)) c h f).
    { assert (G := go_seen pr (WriteData q) (with_area s a)). assert (M0 := M3). destruct M3 as (Oc & [Pf W F LF PF] & Prm & S).
      eapply (mid_with pr room lsn apply empty _ c h f M0) with (p := set_unsynced (proc s) true); try reflexivity; auto; try exact (G S); try exact LF.
      unfold Holds.pages_fit. rewrite D. right. now exists q. }
    change (safe (with_area s a) (WriteData q :: rest)). eapply safe_op; [exact M3|]. apply (K a); [exact M4|exact A].
  Qed.

  Definition recovering (s : store) :=
    let d := dev s in recover pr room lsn apply (seen (ctl d)) (fun n => seen (log d n)) (seen (area d)) (seen (data d)).

  Lemma recover_safe s : Holds s -> Seen (dev s) -> safe (with_proc s (fst (recovering s))) (snd (recovering s)).
  Proof.
    intros H S. set (c := seen (ctl (dev s))). destruct (H c) as (h & f & F); [apply S|].
    destruct (recovered (dev s) c (made s) (acked s) h f F S) as (F1 & F2 & F3).
    unfold recovering, recover. fold c. cbv zeta.
    set (found := read_log (control_epoch c) (fun n => seen (log (dev s) n)) (redo_point c) room) in *.
    set (n := redo_point c + length found) in *.
    set (start := match restored pr (seen (area (dev s))) with Some q => q | None => seen (data (dev s)) end) in *.
    cbn [fst snd]. set (p := Process _ _ _ _ _ _ _ _ _). set (s1 := with_proc s p). unfold again.
    assert (In1 : mem p = state h n) by exact F3.
    assert (Len : length h <= length (made s)).
    { destruct F as [P _ _ _ _]. rewrite P, firstn_length. lia. }
    assert (Pre : state h n = state (made s) n).
    { destruct F as [P _ _ _ _]. rewrite P. apply state_firstn. lia. }
    assert (Pr : Promise s1).
    { split; cbn [s1 with_proc proc made acked insert p mem]; [destruct F; lia|]. rewrite F3. exact Pre. }
    cbn [app]. eapply control_safe; [exact H|exact Pr|exact F|].
    assert (M2 := mid_ctl s1 c h f Pr S F). set (s2 := with_ctl s1 (Block c [c] true)) in *.
    eapply log_safe; [exact M2|assert (X := from_redo _ _ _ _ _ (log_fit _ _ _ _ _ _ _ _ _ _ _ F)); lia|exact F1|lia|].
    intros L M3. fold n in M3. replace (Nat.max f n) with n in M3 by lia.
    set (s3 := with_log s2 L) in *.
    assert (Own := first_own_spec h (redo_point c) found F1 ltac:(lia)). fold n in Own.
    assert (W := is_sealed _ _ _ _ _ _ _ _ _ _ _ F).
    assert (Rest : forall s4, mid s4 c h n -> proc s4 = p ->
      (pr = DoubleWrite -> exists q, is_state h (redo_point c) n q /\ only (may (sync (data (dev s4)))) q) ->
      (pr = DoubleWrite -> forall q, In (Some q) (may (area (dev s4))) -> is_state h (redo_point c) n q) ->
      safe s4 ((if first p =? 0 then [] else place_ops pr (mem p)) ++
        [SyncData; WriteControl (Control (insert p) (Datatypes.S (epoch p))); SyncControl; Opened])).
    { intros s4 M4 E4 D4 A4. rewrite In1. cbn [insert p epoch first].
      assert (Ln : redo_point c <= n) by (unfold n; lia).
      destruct (Nat.eqb_spec (first_own (redo_point c) found) 0) as [Z|Z].
      - assert (Q := proj1 Own Z). cbn [app].
        assert (One : forall q, is_state h (redo_point c) n q -> q = state h n).
        { intros q (k & K & ->). symmetry. apply state_quiet; [|lia]. intros j x J. apply Q. lia. }
        eapply opens; try rewrite E4; try reflexivity; [exact M4| |auto|].
        + destruct M4 as (_ & F4 & _ & S4). assert (PF := pages _ _ _ _ _ _ _ _ _ _ _ F4). unfold Holds.pages_fit in PF.
          destruct pr eqn:E.
          * destruct PF as ([(q & X & O)|(j & q & J & Y & _)] & _); [|discriminate (Q j (Image q) J Y)].
            rewrite <- (One q X). apply only_sync; [exact O|]. eapply mixture_only; [exact O|apply S4].
          * destruct (D4 eq_refl) as (q & X & O). now rewrite <- (One q X).
          * apply only_sync; [intros q X; now apply One, PF|]. apply One, PF, S4.
        + cbn. exact Z.
      - destruct (proj2 Own Z) as (x & B & X & Ox & Qx).
        eapply place_safe; [exact M4|exists n; split; [lia|reflexivity]| | |].
        + intros E. destruct M4 as (_ & F4 & _ & _). assert (PF := pages _ _ _ _ _ _ _ _ _ _ _ F4). unfold Holds.pages_fit in PF.
          rewrite E in PF. destruct PF as (_ & [Q|(j & q & J & Y & Qj)]).
          * assert (first_own (redo_point c) found - 1 < length h) by (apply nth_error_Some; congruence).
            rewrite (Q (first_own (redo_point c) found - 1) x) in Ox by (auto; lia). discriminate.
          * exists j, q. split; [|auto]. destruct (Nat.lt_ge_cases j n); [lia|].
            rewrite (Qj (first_own (redo_point c) found - 1) x) in Ox by (auto; lia). discriminate.
        + intros E. cbn. rewrite E4. cbn. auto.
        + intros d a s5 M5 Md Sd Oa. eapply opens; [exact M5|reflexivity| | | | | |].
          * now apply only_mine.
          * intros E q J. specialize (Oa E _ J). now injection Oa.
          * cbn. now rewrite E4.
          * cbn. now rewrite E4.
          * reflexivity.
          * cbn. now rewrite E4. }
    assert (S3 := proj2 (proj2 (proj2 M3))).
    assert (PF := pages _ _ _ _ _ _ _ _ _ _ _ F). unfold Holds.pages_fit in PF. unfold restored in *.
    destruct pr eqn:E; cbn [app]; try (apply (Rest s3); [exact M3|reflexivity|discriminate|discriminate]).
    rewrite <- E in *. destruct (seen (area (dev s))) as [q|] eqn:A; cbn [app].
    - assert (X : In (Some q) (may (area (dev s)))).
      { apply whole_some. rewrite <- A. apply S. }
      assert (Y : is_state h (redo_point c) n q).
      { assert (Z : is_state h (redo_point c) f q).
        { destruct PF as [(_ & B)|(r & B & O)]; [now apply B|]. specialize (O _ X). now injection O as ->. }
        destruct Z as (k & K & ->). exists k. split; [lia|reflexivity]. }
      eapply restore_safe; [exact M3|exact E|exact Y|exact X|]. intros a s4 M4 Oa. apply (Rest s4); [exact M4|reflexivity| |].
      + intros _. exists q. split; [exact Y|]. now apply only_mine.
      + intros _ r J. specialize (Oa _ J). now injection Oa as ->.
    - assert (Sa : whole_or_nothing (may (area (dev s))) None) by (rewrite <- A; apply S).
      destruct PF as [((q & B & O) & C)|(q & B & O)]; [|discriminate (whole_only _ _ _ O Sa)].
      assert (Y : forall q, is_state h (redo_point c) f q -> is_state h (redo_point c) n q).
      { intros r (k & K & ->). exists k. split; [lia|reflexivity]. }
      apply (Rest s3); [exact M3|reflexivity| |].
      + intros _. exists q. split; [auto|]. apply only_sync; [exact O|]. eapply (mixture_only pr); [exact O|apply S].
      + intros _ r J. auto.
  Qed.

  (** ** Any events *)
  Notation step := (step pr room lsn apply).
  Notation run := (run pr room lsn apply).
  Notation all_allowed := (all_allowed pr room lsn apply).

  Definition Inv (w : world sector delta) : Prop :=
    Seen (dev (now w)) /\ match program w with None => Holds (now w) | Some rest => safe (now w) rest end.

  Lemma inv_new : Inv (new empty).
  Proof.
    split; [split; [intros n; now left; left|split; [apply mixture_in; now left|split; [now left; left|now left]]]|].
    assert (F : fits (dev (now (@new sector delta empty))) (Control 0 1) [] 0 [] 0).
    { split; auto.
      - intros [|j] q; discriminate.
      - split; cbn; auto; try lia. intros j r [E|[]]. discriminate E. intros j r _ [E|[]]. discriminate E.
      - assert (is_state [] 0 0 empty) as X by (exists 0; split; [lia|reflexivity]). unfold Holds.pages_fit. cbn. destruct pr.
        + split; [left; exists empty; split; [exact X|intros y [<-|[]]; reflexivity]|]. left. intros j c J. lia.
        + left. split; [exists empty; split; [exact X|intros y [<-|[]]; reflexivity]|]. intros p [E|[]]. discriminate E.
        + intros p [<-|[]]. exact X. }
    apply (open_safe pr room lsn apply empty _ (Control 0 1) 0). split.
    - split; cbn; auto; try lia.
      + intros y [<-|[]]. reflexivity.
      + intros j c J. lia.
      + intros _ y [<-|[]]. reflexivity.
      + intros _. left. intros j c J. lia.
      + intros _ p [E|[]]. discriminate E.
    - split; [intros n; now left; left|split; [apply mixture_in; now left|split; [now left; left|now left]]].
  Qed.

  Lemma inv_ended s : Seen (dev s) -> Holds s -> Inv (ended s).
  Proof.
    intros (A & B & C & D) H. split; [exact (conj A (conj B (conj C D)))|].
    apply (holds_less pr room lsn apply empty s); try reflexivity; [|exact H]. apply incl_less; intros; apply incl_refl.
  Qed.

  Lemma inv_step w e : Inv w -> allowed pr w e -> Inv (step w e).
  Proof.
    intros (S & P) A. destruct w as [s program]. cbn [now Faults.program] in *.
    assert (H : Holds s) by (destruct program as [rest|]; [apply (safe_now _ _ _ _ _ _ _ P)|exact P]).
    assert (Lost : forall kept, may_be_left pr (dev s) kept -> Inv (Faults.step pr room lsn apply (World s program) (PowerLoss kept))).
    { intros kept (L & D & Ar & C). cbn. split; cbn; [split; [intros n; now left; left|split; [apply mixture_in; now left|split; [now left; left|now left]]]|].
      eapply (holds_less pr room lsn apply empty s); try reflexivity; [|exact H]. cbn.
      split; [intros n x [<-|[]]; apply L|]. split; [intros x [<-|[]]; exact D|]. split; [intros x [<-|[]]; exact Ar|].
      intros x [<-|[]]. exact C. }
    assert (E : (exists kept, e = PowerLoss kept) \/ forall kept, e <> PowerLoss kept) by (destruct e; eauto; right; discriminate).
    destruct E as [(kept & ->)|NL]; [now apply Lost|]. clear Lost.
    destruct program as [[|o rest]|].
    - (* open and idle *)
      assert (O : exists c w, open_at s c w).
      { destruct P as (_ & _ & c & w & R). exists c, w. now split. }
      destruct O as (c & w & O). assert (Idle : forall s', open_at s' c w -> Inv (World s' (Some []))).
      { intros s' O'. split; [apply O'|]. eapply open_safe. exact O'. }
      destruct e; unfold Faults.step, call; cbn [now Faults.program]; try (split; [exact S|exact P]); try (now destruct (NL _ eq_refl)); auto.
      + destruct (has_room room s) eqn:R; [|now apply Idle]. apply Idle. now apply change_open.
      + destruct (has_room room s) eqn:R; [|now apply Idle]. apply Idle. apply Nat.ltb_lt in R.
        apply log_change_open; auto; discriminate.
      + split; [exact S|]. rewrite <- (app_nil_r (flush_ops _)). eapply flush_safe; [exact O|]. intros; eapply open_safe; eassumption.
      + split; [exact S|]. eapply write_back_safe; eauto.
      + apply Idle. now apply begin_checkpoint_open.
      + split; [exact S|]. eapply checkpoint_safe; eauto.
      + now apply inv_ended.
    - (* a program runs *)
      destruct e; cbn; try (split; [exact S|exact P]); try (now destruct (NL _ eq_refl)); auto.
      + split; [now apply go_seen|]. apply P.
      + apply inv_ended; [now apply half_seen|]. eapply half_holds; eauto.
      + now apply inv_ended.
    - (* no process *)
      destruct e; cbn; try (split; [exact S|exact P]); try (now destruct (NL _ eq_refl)); auto.
      + now apply inv_ended.
      + destruct A as (L & D & Ar & C). split; [exact (conj L (conj D (conj Ar C)))|].
        eapply (holds_less pr room lsn apply empty s); try reflexivity; [|exact H]. apply incl_less; intros; apply incl_refl.
      + split; [exact S|]. exact (recover_safe s H S).
  Qed.

  Lemma inv_run events : forall w, Inv w -> all_allowed w events -> Inv (run w events).
  Proof.
    induction events as [|e events IH]; intros w I A; [exact I|]. destruct A as (A & B). apply IH; [now apply inv_step|exact B].
  Qed.

  (** ** The theorems *)

  (** After any calls, operations that work or fail, kills and power losses, also in recovery, several in a row and over any
      number of checkpoints: while a process runs, from the moment that a recovery has read the files, its page is as the first
      changes have left it, so many as it has found of the log; all that were promised are among them. *)
  Theorem what_was_promised_survives events : all_allowed (new empty) events ->
    let w := run (new empty) events in
    let s := now w in
    program w <> None ->
    acked s <= insert (proc s) <= length (made s) /\ mem (proc s) = state (made s) (insert (proc s)).
  Proof.
    intros A w s N. destruct (inv_run events _ inv_new A) as (_ & P). fold w in P. destruct (program w) as [rest|]; [|congruence].
    exact (proj2 (safe_now _ _ _ _ _ _ _ P)).
  Qed.

  (** A store that is open, and idle, has all changes that were made since its recovery, or found by it. *)
  Theorem an_open_store_is_up_to_date events : all_allowed (new empty) events ->
    let w := run (new empty) events in
    let s := now w in
    program w = Some [] -> insert (proc s) = length (made s) /\ mem (proc s) = state (made s) (length (made s)).
  Proof.
    intros A w s N. destruct (inv_run events _ inv_new A) as (_ & P). fold w in P. rewrite N in P.
    destruct P as (_ & _ & c & v & R). split; [apply R|].
    exact (eq_trans (r_mem _ _ _ _ _ _ _ _ R) (f_equal (state (made (now w))) (r_insert _ _ _ _ _ _ _ _ R))).
  Qed.

  (** What was promised once stays promised, whatever follows, and no other change takes its place. *)
  Theorem promises_stay events more : all_allowed (new empty) (events ++ more) ->
    let s := now (run (new empty) events) in
    let t := now (run (new empty) (events ++ more)) in
    acked s <= acked t /\ firstn (acked s) (made t) = firstn (acked s) (made s).
  Proof.
    intros A s t. subst s t. unfold Faults.run in *. rewrite fold_left_app.
    assert (B : forall evs w, all_allowed w (evs ++ more) -> all_allowed w evs /\ all_allowed (fold_left step evs w) more).
    { induction evs as [|e evs IH]; intros w X; [now split|]. destruct X as (X & Y). destruct (IH _ Y). now repeat split. }
    destruct (B _ _ A) as (A1 & A2). assert (I := inv_run _ _ inv_new A1). unfold Faults.run in I.
    set (w := fold_left step events (new empty)) in *. clearbody w. clear A A1 B events.
    assert (Stays : forall w e, Inv w -> acked (now w) <= acked (now (step w e)) /\
      firstn (acked (now w)) (made (now (step w e))) = firstn (acked (now w)) (made (now w))).
    { clear. intros [s program] e (S & P). cbn [now Faults.program] in *. destruct program as [[|o rest]|].
      - destruct P as (_ & (P & _) & _). destruct e; unfold Faults.step, call; cbn [now Faults.program]; try (cbn; split; [lia|reflexivity]).
        + destruct (has_room room s); [|split; [lia|reflexivity]]. cbn. split; [lia|]. rewrite firstn_app.
          replace (acked s - _) with 0 by lia. apply app_nil_r.
        + destruct (has_room room s); [|split; [lia|reflexivity]]. cbn. split; [lia|]. rewrite firstn_app.
          replace (acked s - _) with 0 by lia. apply app_nil_r.
      - destruct P as (_ & (P & _) & _). destruct e; cbn; try (split; [lia|reflexivity]); destruct o; cbn; try (split; [lia|reflexivity]).
        + destruct (unsynced (proc s)); cbn; (split; [lia|reflexivity]).
        + split; [lia|]. rewrite firstn_firstn. f_equal. lia.
      - destruct e; cbn; split; (lia || reflexivity). }
    revert w I A2. induction more as [|e more IH]; intros w I A2; [cbn; split; [lia|reflexivity]|].
    destruct A2 as (A & A2). destruct (IH _ (inv_step _ _ I A) A2) as (X & Y). destruct (Stays w e I) as (Z & V). cbn [fold_left].
    split; [lia|].
    assert (G : forall l : list change, firstn (acked (now w)) l = firstn (acked (now w)) (firstn (acked (now (step w e))) l)).
    { intros l. rewrite firstn_firstn. f_equal. lia. }
    rewrite <- V, G, Y, <- G. reflexivity.
  Qed.
End Changes.
