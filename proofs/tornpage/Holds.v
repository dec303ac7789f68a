(* SPDX-License-Identifier: PostgreSQL *)
(** * What holds of the files at every moment, whatever fault comes next

    [Holds] says what any recovery yields, from any of the contents that the files may have.  A fault leaves some of these.  So
    it is enough that each operation keeps it; [safe] says so of a program. *)
From Pgquern.common Require Import Naturals.
From Pgquern.tornpage Require Import RecoveryFacts Faults Replays.

Definition only {A} (m : list A) (x : A) : Prop := forall y, In y m -> y = x.

Section Holds.
  Context {sector delta : Type}.
  Notation page := (list sector).
  Notation change := (change sector delta).
  Notation store := (store sector delta).
  Context (pr : protection) (room : nat) (lsn : page -> nat) (apply : nat -> delta -> page -> page) (empty : page).
  Notation state := (state apply empty).
  Notation replay := (replay lsn apply).
  Notation sealed := (@sealed sector delta lsn).

  (** The log from the redo point on has the history h, the first f records of it for sure. *)
  Record log_fits (l : nat -> block (option (record sector delta))) (c : control) (h : list change) (f : nat) : Prop := {
    from_redo : redo_point c <= f <= length h;
    in_room : length h <= redo_point c + room;
    epochs : forall j r, In (Some r) (may (l j)) -> record_epoch r <= control_epoch c;
    sound : forall j r, redo_point c <= j -> In (Some r) (may (l (S j))) -> record_epoch r = control_epoch c ->
      nth_error h j = Some (what r);
    durable : forall j, redo_point c <= j < f -> exists x,
      nth_error h j = Some x /\ only (may (l (S j))) (Some (Record (control_epoch c) x));
  }.

  (** Page and area, by the protection: replay from record r on makes of them the state after f records, or more. *)
  Definition is_state (h : list change) (a b : nat) (p : page) : Prop := exists k, a <= k <= b /\ p = state h k.
  Definition pages_fit (d : list page) (a : list (option page)) (r : nat) (h : list change) (f : nat) : Prop :=
    match pr with
    | Images =>
        ((exists p, is_state h r f p /\ only d p) \/ heals h r f) /\ (quiet h r (length h) \/ heals h r (length h))
    | DoubleWrite =>
        (exists p, is_state h r f p /\ only d p) /\ (forall p, In (Some p) a -> is_state h r f p) \/
        (exists p, is_state h r f p /\ only a (Some p))
    | Atomic => forall p, In p d -> is_state h r f p
    end.

  Record fits (v : device sector delta) (c : control) (made : list change) (acked : nat) (h : list change) (f : nat) : Prop := {
    is_prefix : h = firstn (length h) made;
    is_sealed : sealed h;
    has_acked : acked <= f;
    log_fit : log_fits (log v) c h f;
    pages : pages_fit (may (data v)) (may (area v)) (redo_point c) h f;
  }.
  Definition Holds (s : store) : Prop :=
    forall c, In c (may (ctl (dev s))) -> exists h f, fits (dev s) c (made s) (acked s) h f.

  (** ** Faults leave less *)
  Definition leaves_less {A} (mix : list A -> A -> Prop) (m m' : list A) : Prop := forall x, In x m' -> mix m x.
  Definition less (v v' : device sector delta) : Prop :=
    (forall n, leaves_less whole_or_nothing (may (log v n)) (may (log v' n))) /\
    leaves_less (mixture pr) (may (data v)) (may (data v')) /\
    leaves_less whole_or_nothing (may (area v)) (may (area v')) /\ incl (may (ctl v')) (may (ctl v)).

  Lemma whole_only {A} (m : list (option A)) x y : only m x -> whole_or_nothing m y -> y = x.
  Proof. intros O [I|(_ & a & b & I & J & N)]; [now apply O|]. now rewrite (O a I), (O b J) in N. Qed.
  Lemma mixture_only (m : list page) x y : only m x -> mixture pr m y -> y = x.
  Proof.
    intros O. assert (S : sector_by_sector m y -> y = x).
    { intros ((w & I & L) & S). rewrite (O w I) in L. apply same_by_sector; [exact L|]. intros i s E.
      destruct (S i s E) as (v & J & F). now rewrite (O v J) in F. }
    unfold mixture. destruct pr; auto.
  Qed.
  Lemma whole_some {A} (m : list (option A)) x : whole_or_nothing m (Some x) -> In (Some x) m.
  Proof. intros [I|(E & _)]; [exact I|discriminate]. Qed.
  Lemma mixture_in (m : list page) x : In x m -> mixture pr m x.
  Proof.
    intros I. unfold mixture. assert (sector_by_sector m x) by (split; [now exists x|intros i s E; now exists x]). now destruct pr.
  Qed.
  Lemma incl_less (v v' : device sector delta) : (forall n, incl (may (log v' n)) (may (log v n))) ->
    incl (may (data v')) (may (data v)) -> incl (may (area v')) (may (area v)) -> incl (may (ctl v')) (may (ctl v)) -> less v v'.
  Proof.
    intros A B C D. repeat split; [intros n x I; left; now apply A|intros x I; now apply mixture_in, B|intros x I; left; now apply C|exact D].
  Qed.

  Lemma pages_less d d' a a' r h f : leaves_less (mixture pr) d d' -> leaves_less whole_or_nothing a a' ->
    pages_fit d a r h f -> pages_fit d' a' r h f.
  Proof.
    intros D A. assert (O : forall p, only d p -> only d' p) by (intros p O y I; eapply mixture_only; eauto).
    assert (O' : forall p, only a p -> only a' p) by (intros p O1 y I; eapply whole_only; eauto).
    unfold pages_fit. destruct pr eqn:P.
    - intros ([(p & S & Q)|H] & I); (split; [|exact I]); [left; exists p; auto|now right].
    - intros [((p & S & Q) & R)|(p & S & Q)]; [left|right; exists p; auto].
      split; [exists p; auto|]. intros q I. apply R, whole_some. now apply A.
    - intros R p I. apply R. now apply (D p I).
  Qed.

  Lemma log_less (l l' : nat -> block (option (record sector delta))) c h f :
    (forall n, leaves_less whole_or_nothing (may (l n)) (may (l' n))) -> log_fits l c h f -> log_fits l' c h f.
  Proof.
    intros L [A B C D E]. split; auto.
    - intros j r I. apply (C j). now apply whole_some, L.
    - intros j r J I. apply D; [exact J|]. now apply whole_some, L.
    - intros j J. destruct (E j J) as (x & N & O). exists x. split; [exact N|]. intros y I. eapply whole_only; [exact O|]. now apply L.
  Qed.

  Lemma fits_less v v' c m k h f : less v v' -> fits v c m k h f -> fits v' c m k h f.
  Proof.
    intros (L & D & A & _) [P W F G H]. split; auto; [eapply log_less; eassumption|eapply pages_less; eassumption].
  Qed.
  Lemma holds_less s s' : less (dev s) (dev s') -> made s' = made s -> acked s' = acked s -> Holds s -> Holds s'.
  Proof.
    intros L M K H c I. destruct (H c) as (h & f & F); [apply L, I|]. exists h, f. rewrite M, K. eapply fits_less; eassumption.
  Qed.

  (** ** What a read gives is of what may be there *)
  Definition Seen (v : device sector delta) : Prop :=
    (forall n, whole_or_nothing (may (log v n)) (seen (log v n))) /\ mixture pr (may (data v)) (seen (data v)) /\
    whole_or_nothing (may (area v)) (seen (area v)) /\ In (seen (ctl v)) (may (ctl v)).
  Lemma whole_sync {A} (b : block (option A)) : whole_or_nothing (may b) (seen b) -> whole_or_nothing (may (sync b)) (seen (sync b)).
  Proof. unfold sync. destruct (mine b); cbn; [now left; left|auto]. Qed.
  Lemma whole_write {A} (b : block (option A)) x : whole_or_nothing (may (write x b)) (seen (write x b)).
  Proof. now left; left. Qed.
  Lemma go_seen o s : Seen (dev s) -> Seen (dev (go o s)).
  Proof.
    intros (L & D & A & C). destruct o; cbn; try exact (conj L (conj D (conj A C))).
    - refine (conj (fun j => _) (conj D (conj A C))). cbn. unfold update. destruct (j =? n); [apply whole_write|apply L].
    - refine (conj (fun j => _) (conj D (conj A C))). apply whole_sync, L.
    - exact (conj L (conj D (conj (whole_write _ _) C))).
    - exact (conj L (conj D (conj (whole_sync _ A) C))).
    - refine (conj L (conj _ (conj A C))). now apply mixture_in; left.
    - destruct (unsynced (proc s)); [|exact (conj L (conj D (conj A C)))]. refine (conj L (conj _ (conj A C))). cbn. unfold sync.
      destruct (mine (data (dev s))); [|exact D]. now apply mixture_in; left.
    - refine (conj L (conj D (conj A _))). now left.
    - refine (conj L (conj D (conj A _))). cbn. unfold sync. destruct (mine (ctl (dev s))); [now left|exact C].
  Qed.

  Lemma mixture_more m w (x : page) : mixture pr m x -> mixture pr (w :: m) x.
  Proof.
    unfold mixture. assert (sector_by_sector m x -> sector_by_sector (w :: m) x).
    { intros ((v & I & L) & S). split; [exists v; split; [now right|exact L]|]. intros i t E. destruct (S i t E) as (u & J & F).
      exists u. split; [now right|exact F]. }
    destruct pr; auto. now right.
  Qed.
  Lemma whole_more {A} m w (x : option A) : whole_or_nothing m x -> whole_or_nothing (w :: m) x.
  Proof. intros [I|(E & y & z & I & J & N)]; [left; now right|]. right. split; [exact E|]. exists y, z. repeat split; auto; now right. Qed.
  Lemma half_seen o s : Seen (dev s) -> Seen (dev (half o s)).
  Proof.
    intros (L & D & A & C). destruct o; cbn; try exact (conj L (conj D (conj A C))).
    - refine (conj (fun j => _) (conj D (conj A C))). cbn. unfold update.
      destruct (Nat.eqb_spec j n) as [->|N]; [apply whole_more, L|apply L].
    - exact (conj L (conj D (conj (whole_more _ _ _ A) C))).
    - exact (conj L (conj (mixture_more _ _ _ D) (conj A C))).
    - exact (conj L (conj D (conj A (or_intror C)))).
  Qed.

  (** ** Programs *)
  (** What memory has is a state of the page, with all that was promised. *)
  Definition Promise (s : store) : Prop :=
    acked s <= insert (proc s) <= length (made s) /\ mem (proc s) = state (made s) (insert (proc s)).

  (** An open store, between calls.  w: the state that was written to the place last. *)
  Record ready_of (s : store) (c : control) (w : nat) : Prop := {
    r_control : only (may (ctl (dev s))) c;
    r_redo : redo_point c = durable_redo (proc s);
    r_epoch : control_epoch c = epoch (proc s);
    r_fits : fits (dev s) c (made s) (acked s) (made s) (flushed (proc s));
    r_insert : insert (proc s) = length (made s);
    r_mem : mem (proc s) = state (made s) (insert (proc s));
    r_unflushed : unflushed (proc s) = skipn (flushed (proc s)) (made s);
    r_order : durable_redo (proc s) <= redo (proc s) <= insert (proc s);
    r_written : durable_redo (proc s) <= w <= flushed (proc s);
    r_clean : quiet (made s) w (if first (proc s) =? 0 then length (made s) else first (proc s) - 1);
    r_first : first (proc s) <> 0 ->
      w < first (proc s) /\ exists x, nth_error (made s) (first (proc s) - 1) = Some x /\ own x = true;
    r_synced : unsynced (proc s) = false -> only (may (data (dev s))) (state (made s) w);
    r_unsynced : unsynced (proc s) = true -> mine (data (dev s)) = true /\ seen (data (dev s)) = state (made s) w;
    r_images : pr = Images ->
      quiet (made s) (redo (proc s)) (length (made s)) \/ heals (made s) (redo (proc s)) (length (made s));
    r_heals : pr = Images -> unsynced (proc s) = true -> heals (made s) (durable_redo (proc s)) (flushed (proc s));
    r_area : pr = DoubleWrite -> forall p, In (Some p) (may (area (dev s))) -> p = state (made s) w;
    r_in_area : pr = DoubleWrite -> unsynced (proc s) = true -> only (may (area (dev s))) (Some (state (made s) w));
  }.
  Definition Ready (s : store) : Prop := exists c w, ready_of s c w.

  Fixpoint safe (s : store) (rest : list (op sector delta)) : Prop :=
    Holds s /\ Promise s /\ match rest with [] => Ready s | o :: rest => safe (go o s) rest end.
  Lemma safe_now s rest : safe s rest -> Holds s /\ Promise s.
  Proof. destruct rest; cbn; tauto. Qed.

  (** A program that is safe stays so while it runs, and its operations may fail. *)
  Lemma half_holds o s rest : safe s (o :: rest) -> Holds (half o s).
  Proof.
    intros (H & _ & N). apply safe_now in N as (N & _).
    destruct o as [n r| | | | | |c| | | | |]; try exact H;
      match goal with |- Holds (half ?o s) => apply (holds_less (go o s) (half o s)); [|reflexivity|reflexivity|exact N] end;
      apply incl_less; cbn; intros; try apply incl_refl.
    unfold update. destruct (_ =? n); apply incl_refl.
  Qed.

  Definition mid (s : store) (c : control) (h : list change) (f : nat) : Prop :=
    only (may (ctl (dev s))) c /\ fits (dev s) c (made s) (acked s) h f /\ Promise s /\ Seen (dev s).
  Lemma mid_holds s c h f : mid s c h f -> Holds s.
  Proof. intros (O & F & _) c' I. rewrite (O c' I). now exists h, f. Qed.
  Lemma safe_op s o rest c h f : mid s c h f -> safe (go o s) rest -> safe s (o :: rest).
  Proof. intros M S. split; [eapply mid_holds; exact M|]. split; [apply M|exact S]. Qed.

  Lemma only_sync {A} (b : block A) x : only (may b) x -> seen b = x -> only (may (sync b)) x.
  Proof. intros O S. unfold sync. destruct (mine b); [|exact O]. intros y [<-|[]]. exact S. Qed.
  Lemma only_mine {A} (b : block A) x : mine b = true -> seen b = x -> only (may (sync b)) x.
  Proof. intros M S. unfold sync. rewrite M. intros y [<-|[]]. exact S. Qed.
  Lemma only_cons {A} m (x : A) : only m x -> only (x :: m) x.
  Proof. intros O y [<-|I]; [reflexivity|now apply O]. Qed.
End Holds.
