(* SPDX-License-Identifier: PostgreSQL *)
(** * Each call is safe at each of its operations *)
From Pgquern.common Require Import Naturals.
From Pgquern.tornpage Require Import Faults Replays Holds.

Section Programs.
  Context {sector delta : Type}.
  Notation page := (list sector).
  Notation change := (change sector delta).
  Notation store := (store sector delta).
  Context (pr : protection) (room : nat) (lsn : page -> nat) (apply : nat -> delta -> page -> page) (empty : page).
  Notation state := (state apply empty).
  Notation replay := (replay lsn apply).
  Notation sealed := (@sealed sector delta lsn).
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

  Lemma mid_with s c h f : mid s c h f -> forall l d a p f',
    log_fits l c h f' -> pages_fit (may d) (may a) (redo_point c) h f' -> Seen (Device l d a (ctl (dev s))) ->
    f <= f' -> mem p = mem (proc s) -> insert p = insert (proc s) ->
    mid (Store (Device l d a (ctl (dev s))) p (made s) (acked s)) c h f'.
  Proof.
    intros (O & [P W F L G] & (A & M) & _) l d a p f' L' G' S B X Y.
    refine (conj O (conj _ (conj (conj _ _) S))); [constructor; auto; cbn; lia|cbn; lia|cbn; congruence].
  Qed.

  Lemma pages_more d a r h f f' : f <= f' -> pages_fit d a r h f -> pages_fit d a r h f'.
  Proof.
    intros L. assert (I : forall p, is_state h r f p -> is_state h r f' p) by (intros p (k & K & E); exists k; split; [lia|exact E]).
    unfold Holds.pages_fit. destruct pr.
    - intros ([(p & S & O)|H] & J); (split; [|exact J]); [left; exists p; auto|right; eapply heals_more; eauto].
    - intros [((p & S & O) & A)|(p & S & O)]; [left; split; [exists p|]; auto|right; exists p; auto].
    - intros A p J. auto.
  Qed.

  (** ** The log *)
  Lemma log_fits_write l c h f j x : log_fits l c h f -> redo_point c <= j -> nth_error h j = Some x ->
    log_fits (update l (S j) (write (Some (Record (control_epoch c) x)) (l (S j)))) c h f.
  Proof.
    intros [A B C D E] J N. split; auto; unfold update.
    - intros i r. destruct (i =? S j); [|apply C]. cbn. intros [[= <-]|I]; [reflexivity|now apply C in I].
    - intros i r I. destruct (Nat.eqb_spec (S i) (S j)) as [K|K]; [|now apply D]. injection K as ->. cbn.
      intros [[= <-]|M]; [auto|now apply D].
    - intros i I. destruct (E i I) as (y & M & O). exists y. split; [exact M|].
      destruct (Nat.eqb_spec (S i) (S j)) as [K|K]; [|exact O]. injection K as ->. rewrite N in M. injection M as ->. now apply only_cons.
  Qed.

  Lemma log_fits_sync l c h f n : (forall j, whole_or_nothing (may (l j)) (seen (l j))) -> log_fits l c h f -> n <= length h ->
    (forall j, f <= j < n -> exists x, nth_error h j = Some x /\ mine (l (S j)) = true /\
       seen (l (S j)) = Some (Record (control_epoch c) x)) ->
    log_fits (fun j => sync (l j)) c h (Nat.max f n).
  Proof.
    intros S L N M. assert (K : log_fits (fun j => sync (l j)) c h f).
    { eapply log_less; [|exact L]. intros j x I. unfold sync in I. destruct (mine (l j)); [|now left]. destruct I as [<-|[]]. apply S. }
    destruct K as [A B C D E]. split; auto; [lia|]. intros j J. destruct (Nat.lt_ge_cases j f); [apply E; lia|].
    destruct (M j) as (x & X & Y & Z); [lia|]. exists x. split; [exact X|]. now apply only_mine.
  Qed.

  Lemma part_cons (h : list change) n c l : c :: l = part h n (length (c :: l)) ->
    nth_error h n = Some c /\ l = part h (S n) (length l).
  Proof.
    unfold part. intros E. cbn [length] in E. assert (Y := nth_skipn h n 0). rewrite Nat.add_0_r in Y. rewrite <- Y.
    destruct (skipn n h) as [|x rest] eqn:K; [discriminate|]. cbn in E. injection E as -> E. split; [reflexivity|].
    rewrite E at 1. f_equal. rewrite <- K in *. clear -K. revert h K. induction n as [|n IH]; intros [|y h] K; cbn in *; try discriminate; [now injection K|auto].
  Qed.

  (** Writing records of the history, and syncing them, makes them durable. *)
  Lemma log_safe s c h f n l rest : mid s c h f -> redo_point c <= n <= f -> l = part h n (length l) -> n + length l <= length h ->
    (forall L, mid (with_log s L) c h (Nat.max f (n + length l)) -> safe (with_log s L) rest) ->
    safe s (log_ops (control_epoch c) n l ++ SyncLog :: rest).
  Proof.
    intros M N E LE K.
    assert (X : forall l n L, mid (with_log s L) c h f -> redo_point c <= n ->
      (forall j, f <= j < n -> exists x, nth_error h j = Some x /\ mine (L (S j)) = true /\
         seen (L (S j)) = Some (Record (control_epoch c) x)) ->
      l = part h n (length l) -> n + length l <= length h ->
      (forall L, mid (with_log s L) c h (Nat.max f (n + length l)) -> safe (with_log s L) rest) ->
      safe (with_log s L) (log_ops (control_epoch c) n l ++ SyncLog :: rest)).
    { clear M N E LE K n l. induction l as [|x l IH]; intros n L M N W E LE K; cbn [log_ops app].
      - eapply safe_op; [exact M|]. apply (K (fun j => sync (L j))). cbn in LE |- *. rewrite Nat.add_0_r in *.
        assert (S := go_seen pr SyncLog (with_log s L)). assert (M0 := M). destruct M as (O & [P Q F LF G] & Pr & Se).
        eapply (mid_with (with_log s L) c h f) with (p := proc s); [exact M0| | | | lia| |]; try reflexivity; try apply (S Se); cbn.
        + apply log_fits_sync; auto. apply Se.
        + eapply pages_more; [|exact G]. lia.
      - cbn [length] in *. destruct (part_cons h n x l E) as (E1 & E2).
        eapply safe_op; [exact M|].
        assert (S := go_seen pr (WriteLog (S n) (Record (control_epoch c) x)) (with_log s L)).
        apply (IH (Datatypes.S n) (update L (Datatypes.S n) (write (Some (Record (control_epoch c) x)) (L (Datatypes.S n))))); auto; try lia.
        + assert (M0 := M). destruct M as (O & [P Q F LF G] & Pr & Se).
          eapply (mid_with (with_log s L) c h f) with (p := proc s); [exact M0| | | | | |]; try reflexivity; try apply (S Se); cbn; auto.
          apply log_fits_write; auto.
        + intros j J. unfold update. destruct (Nat.eqb_spec (Datatypes.S j) (Datatypes.S n)) as [Z|Z].
          * injection Z as ->. exists x. repeat split; auto.
          * apply W. lia.
        + intros L' M'. apply K. now replace (n + Datatypes.S (length l)) with (Datatypes.S n + length l) by lia. }
    destruct s as [[L d a t] p m k]. apply (X l n L); auto; [lia|]. intros j J. lia.
  Qed.

  (** ** The page *)
  Lemma sync_less (s : store) : Seen (dev s) -> less pr (dev s) (dev (go SyncData s)).
  Proof.
    intros (_ & D & _). cbn. destruct (unsynced (proc s)); [|apply incl_less; intros; apply incl_refl].
    refine (conj (fun n x I => or_introl I) (conj _ (conj (fun x I => or_introl I) (fun x I => I)))). intros x. cbn. unfold sync.
    destruct (mine (data (dev s))); [intros [<-|[]]; exact D|intros I; now apply mixture_in].
  Qed.

  Lemma mid_sync_data (s : store) c h f : mid s c h f -> mid (go SyncData s) c h f.
  Proof.
    intros (O & F & P & S). assert (L := sync_less s S). assert (G := go_seen pr SyncData s S).
    assert (F' := fits_less pr room lsn apply empty _ _ c (made s) (acked s) h f L F).
    unfold Holds.mid, Holds.Promise in *. cbn in *. destruct (unsynced (proc s)); exact (conj O (conj F' (conj P G))).
  Qed.

  (** The page goes to its place, by its protection. *)
  Lemma place_safe s c h f q rest : mid s c h f -> is_state h (redo_point c) f q ->
    (pr = Images -> heals h (redo_point c) f) ->
    (pr = DoubleWrite -> exists p, is_state h (redo_point c) f p /\ only (may (data (dev (go SyncData s)))) p) ->
    (forall d a, let s' := with_proc (with_data (with_area s a) d) (set_first (set_unsynced (proc s) true) 0) in
       mid s' c h f -> mine d = true -> seen d = q -> (pr = DoubleWrite -> only (may a) (Some q)) -> safe s' rest) ->
    safe s (place_ops pr q ++ rest).
  Proof.
    intros M Q I D K.
    assert (Direct : pr <> DoubleWrite -> safe s (WriteData q :: Cleaned :: rest)).
    { intros N. assert (G := go_seen pr (WriteData q) s). assert (mid (go (WriteData q) s) c h f) as M1.
      { assert (M0 := M). destruct M as (O & [P W F LF PF] & Pr & S).
        apply (mid_with s c h f) with (l := log (dev s)) (d := write q (data (dev s))) (a := area (dev s)) (p := set_unsynced (proc s) true) (f' := f);
          [exact M0| | | | | |]; auto.
        unfold Holds.pages_fit in *. clear K D. destruct pr; [split; [auto|apply PF]|congruence|]. cbn. intros p [<-|J]; auto. }
      eapply safe_op; [exact M|]. eapply safe_op; [exact M1|].
      apply (K (write q (data (dev s))) (area (dev s))); try reflexivity; [|congruence].
      destruct M1 as (O & F & Pr & S). now repeat split; try apply F; try apply Pr; try apply S. }
    assert (C : (pr <> DoubleWrite /\ @place_ops sector delta pr q = [WriteData q; Cleaned]) \/
      (pr = DoubleWrite /\ @place_ops sector delta pr q = [SyncData; WriteArea q; SyncArea; WriteData q; Cleaned])).
    { unfold place_ops. destruct pr; [left|right|left]; (split; [easy|reflexivity]). }
    destruct C as [(E & ->)|(E & ->)]; [now apply Direct|]. cbn [app].
    eapply safe_op; [exact M|]. apply mid_sync_data in M. destruct (D E) as (p & P & O).
    assert (Same : exists d b, go SyncData s = with_proc (with_data s d) (set_unsynced (proc s) b)).
    { cbn. destruct (unsynced (proc s)) eqn:U; [now exists (sync (data (dev s))), false|]. exists (data (dev s)), false.
      destruct s as [[L d a t] [m fi u r dr i fl uf e] md k]. cbn in *. now subst u. }
    destruct Same as (d & b & Same). rewrite Same in *. clear Same. cbn in O.
    set (s1 := with_proc (with_data s d) (set_unsynced (proc s) b)) in *.
    (* the area may be written: the place holds a state *)
    assert (M2 : mid (go (WriteArea q) s1) c h f).
    { assert (G := go_seen pr (WriteArea q) s1). assert (M0 := M). destruct M as (Oc & [Pf W F LF PF] & Prm & S).
      apply (mid_with s1 c h f) with (l := log (dev s)) (d := d) (a := write (Some q) (area (dev s))) (p := proc s1) (f' := f);
        [exact M0| | | | | |]; try reflexivity; auto; try apply (G S).
      unfold Holds.pages_fit in *. rewrite E in *. left. split; [now exists p|]. cbn. intros r [[= <-]|J]; [exact Q|].
      destruct PF as [(_ & A)|(r' & R & A)]; [now apply A|]. specialize (A _ J). injection A as ->. exact R. }
    eapply safe_op; [exact M|]. eapply safe_op; [exact M2|].
    set (a := sync (write (Some q) (area (dev s)))).
    assert (A : only (may a) (Some q)) by (now apply only_mine).
    assert (M3 : mid (with_area s1 a) c h f).
    { assert (G := go_seen pr SyncArea (go (WriteArea q) s1)). assert (M0 := M2). destruct M2 as (Oc & [Pf W F LF PF] & Prm & S).
      apply (mid_with (go (WriteArea q) s1) c h f) with (l := log (dev s)) (d := d) (a := a) (p := proc s1) (f' := f);
        [exact M0| | | | | |]; try reflexivity; auto; try apply (G S).
      unfold Holds.pages_fit. rewrite E. right. now exists q. }
    assert (M4 : mid (go (WriteData q) (with_area s1 a)) c h f).
    { assert (G := go_seen pr (WriteData q) (with_area s1 a)). assert (M0 := M3). destruct M3 as (Oc & [Pf W F LF PF] & Prm & S).
      apply (mid_with (with_area s1 a) c h f) with (l := log (dev s)) (d := write q d) (a := a) (p := set_unsynced (proc s) true) (f' := f);
        [exact M0| | | | | |]; try reflexivity; auto; try apply (G S).
      unfold Holds.pages_fit. rewrite E. right. now exists q. }
    change (safe (with_area s1 a) (WriteData q :: Cleaned :: rest)).
    eapply safe_op; [exact M3|]. eapply safe_op; [exact M4|].
    apply (K (write q d) a); try reflexivity; [|auto].
    destruct M4 as (Oc & F & Prm & S). now repeat split; try apply F; try apply Prm; try apply S.
  Qed.

  (** ** The control file *)
  Lemma control_safe s c h f rest : Holds s -> Promise s -> fits (dev s) c (made s) (acked s) h f ->
    safe (with_ctl s (Block c [c] true)) rest -> safe s (WriteControl c :: SyncControl :: rest).
  Proof.
    intros H P F S. split; [exact H|]. split; [exact P|]. split; [|split; [exact P|exact S]].
    intros c' [<-|I]; [exists h, f; now destruct F|]. destruct (H c' I) as (h' & f' & F'). exists h', f'. now destruct F'.
  Qed.
End Programs.
