(* SPDX-License-Identifier: PostgreSQL *)
(** * What recovery reads of the log, and what replay makes of a page *)
From Pgquern.common Require Import Naturals.
From Pgquern.tornpage Require Import Faults.

Section Replays.
  Context {sector delta : Type}.
  Notation page := (list sector).
  Notation change := (change sector delta).
  Context (lsn : page -> nat) (apply : nat -> delta -> page -> page) (empty : page).
  Notation state := (state apply empty).
  Notation replay := (replay lsn apply).
  Notation after := (after apply).

  (** Images have the LSN of their record. *)
  Definition sealed (h : list change) : Prop := forall j q, nth_error h j = Some (Image q) -> lsn q = S j.

  Lemma sealed_firstn h n : sealed h -> sealed (firstn n h).
  Proof.
    intros W j q E. apply W. rewrite <- (firstn_skipn n h). rewrite nth_error_app1; [exact E|].
    apply nth_error_Some. congruence.
  Qed.

  Lemma play_app a : forall n b p, play apply n (a ++ b) p = play apply (n + length a) b (play apply n a p).
  Proof.
    induction a as [|c a IH]; intros n b p; cbn; [now rewrite Nat.add_0_r|]. rewrite IH. f_equal. lia.
  Qed.
  Lemma replay_app a : forall n b p, replay n (a ++ b) p = replay (n + length a) b (replay n a p).
  Proof.
    induction a as [|c a IH]; intros n b p; cbn; [now rewrite Nat.add_0_r|]. rewrite IH. f_equal. lia.
  Qed.

  Lemma firstn_next {A} (h : list A) k c : nth_error h k = Some c -> firstn (S k) h = firstn k h ++ [c].
  Proof.
    revert k. induction h as [|x h IH]; intros [|k] E; cbn in *; try discriminate; [now injection E as ->|].
    now rewrite <- IH.
  Qed.
  Lemma firstn_length_of {A} (h : list A) k c : nth_error h k = Some c -> length (firstn k h) = k.
  Proof. intros E. rewrite firstn_length. assert (k < length h) by (apply nth_error_Some; congruence). lia. Qed.

  Lemma state_next h k c : nth_error h k = Some c -> state h (S k) = after (S k) c (state h k).
  Proof.
    intros E. unfold Faults.state. rewrite (firstn_next _ _ _ E), play_app, (firstn_length_of _ _ _ E). reflexivity.
  Qed.
  Lemma state_firstn h n k : k <= n -> state (firstn n h) k = state h k.
  Proof. intros L. unfold Faults.state. rewrite firstn_firstn. now replace (Nat.min k n) with k by lia. Qed.
  Lemma state_app h a k : k <= length h -> state (h ++ a) k = state h k.
  Proof.
    intros L. unfold Faults.state. rewrite firstn_app. replace (k - length h) with 0 by lia. now rewrite app_nil_r.
  Qed.

  (** No record of the page is among those from a + 1 to b. *)
  Definition quiet (h : list change) (a b : nat) : Prop := forall j c, a <= j < b -> nth_error h j = Some c -> own c = false.
  Lemma state_quiet h a b : quiet h a b -> a <= b <= length h -> state h b = state h a.
  Proof.
    intros Q. revert Q. induction b as [|b IH]; intros Q L; [f_equal; lia|].
    destruct (Nat.eq_dec a (S b)) as [->|N]; [reflexivity|].
    destruct (nth_error h b) as [c|] eqn:E; [|apply nth_error_None in E; lia].
    rewrite (state_next _ _ _ E). assert (own c = false) by (apply (Q b); [lia|exact E]).
    destruct c; try discriminate. cbn. apply IH; [|lia]. intros j c' J. apply Q. lia.
  Qed.

  (** Among the records a + 1 to b is one of the page, and the first of these is an image. *)
  Definition heals (h : list change) (a b : nat) : Prop :=
    exists j q, a <= j < b /\ nth_error h j = Some (Image q) /\ quiet h a j.
  Lemma heals_more h a b b' : heals h a b -> b <= b' -> heals h a b'.
  Proof. intros (j & q & J & E) L. exists j, q. split; [lia|exact E]. Qed.

  Definition part (h : list change) (a n : nat) : list change := firstn n (skipn a h).
  Lemma nth_skipn {A} (h : list A) a : forall n, nth_error (skipn a h) n = nth_error h (a + n).
  Proof. revert h. induction a as [|a IH]; intros [|x h] n; cbn; try reflexivity; [now destruct n|apply IH]. Qed.
  Lemma part_next h a n c : nth_error h (a + n) = Some c -> part h a (S n) = part h a n ++ [c].
  Proof. intros E. apply firstn_next. now rewrite nth_skipn. Qed.
  Lemma part_length h a n : a + n <= length h -> length (part h a n) = n.
  Proof. intros L. unfold part. rewrite firstn_length, skipn_length. lia. Qed.

  Lemma replay_next h a n c p : nth_error h (a + n) = Some c ->
    replay a (part h a (S n)) p = replay_one lsn apply (S (a + n)) c (replay a (part h a n) p).
  Proof.
    intros E. assert (a + n < length h) by (apply nth_error_Some; congruence).
    rewrite (part_next _ _ _ _ E), replay_app, part_length by lia. reflexivity.
  Qed.

  (** What is read of the log: the records of the history, all that are durable, and perhaps more. *)
  Lemma read_log_finds e l h f : forall room n,
    n <= length h -> length h <= n + room -> f <= length h ->
    (forall j r, n <= j -> l (S j) = Some r -> record_epoch r = e -> nth_error h j = Some (what r)) ->
    (forall j, n <= j < f -> exists c, nth_error h j = Some c /\ l (S j) = Some (Record e c)) ->
    let found := read_log e l n room in
    found = part h n (length found) /\ f <= Nat.max n (n + length found) /\ n + length found <= length h.
  Proof.
    induction room as [|room IH]; intros n L R F S D; cbn [read_log].
    - cbn. split; [reflexivity|]. lia.
    - destruct (l (Datatypes.S n)) as [[e' c]|] eqn:E.
      + destruct (Nat.eqb_spec e' e) as [->|N].
        * assert (X := S n _ (le_n n) E eq_refl). cbn in X. assert (n < length h) by (apply nth_error_Some; congruence).
          destruct (IH (Datatypes.S n)) as (I1 & I2 & I3); try lia.
          { intros j r J. apply S. lia. }
          { intros j J. apply D. lia. }
          cbn [length]. split; [|lia]. unfold part. destruct (skipn n h) as [|c' rest] eqn:K.
          { assert (Y := nth_skipn h n 0). rewrite K, Nat.add_0_r, X in Y. discriminate. }
          assert (Y := nth_skipn h n 0). rewrite K, Nat.add_0_r, X in Y. injection Y as ->. cbn [firstn]. f_equal.
          rewrite I1 at 1. unfold part. f_equal.
          clear -K. revert h rest K. induction n as [|n IHn]; intros [|x h] rest K; cbn in *; try discriminate; [now injection K|].
          now apply IHn.
        * cbn. split; [reflexivity|]. split; [|lia]. destruct (Nat.le_gt_cases f n); [lia|].
          destruct (D n ltac:(lia)) as (c' & _ & Y). congruence.
      + cbn. split; [reflexivity|]. split; [|lia]. destruct (Nat.le_gt_cases f n); [lia|].
        destruct (D n ltac:(lia)) as (c' & _ & Y). congruence.
  Qed.

  Lemma first_own_spec h a : forall l, l = part h a (length l) -> a + length l <= length h ->
    (first_own a l = 0 -> quiet h a (a + length l)) /\
    (first_own a l <> 0 -> exists c, a < first_own a l <= a + length l /\ nth_error h (first_own a l - 1) = Some c /\ own c = true /\
       quiet h a (first_own a l - 1)).
  Proof.
    intros l. revert a. induction l as [|c l IH]; intros a E L; cbn [first_own length] in *.
    - split; [|congruence]. intros _ j c J. lia.
    - assert (X : nth_error h a = Some c).
      { assert (Y := nth_skipn h a 0). rewrite Nat.add_0_r in Y. rewrite <- Y. unfold part in E.
        destruct (skipn a h); cbn in E; [discriminate|]. now injection E as ->. }
      destruct (own c) eqn:O.
      + split; [discriminate|]. intros _. exists c. replace (S a - 1) with a by lia. repeat split; auto; try lia. intros j c' J. lia.
      + destruct (IH (S a)) as (I1 & I2); [| lia |].
        { unfold part in *. assert (skipn a h = c :: skipn (S a) h) as Y.
          { clear -X. revert h X. induction a as [|a IHa]; intros [|x h] X; cbn in *; try discriminate; [now injection X as ->|].
            now apply IHa. }
          rewrite Y in E. cbn in E. now injection E. }
        assert (Z : forall b, quiet h (S a) b -> quiet h a b).
        { intros b Q j c' J E'. destruct (Nat.eq_dec j a) as [->|N]; [congruence|]. apply (Q j); [lia|exact E']. }
        split.
        * intros F. replace (a + S (length l)) with (S a + length l) by lia. auto.
        * intros F. destruct (I2 F) as (c' & B & G & O' & Q). exists c'. repeat split; auto; lia.
  Qed.
  Hypothesis apply_lsn : forall n d p, lsn (apply n d p) = n.
  Hypothesis empty_lsn : lsn empty = 0.

  (** The LSN of a state is the last record of the page. *)
  Lemma state_lsn h : sealed h -> forall k, k <= length h -> lsn (state h k) <= k /\
    forall j c, j < k -> nth_error h j = Some c -> own c = true -> S j <= lsn (state h k).
  Proof.
    intros W. induction k as [|k IH]; intros L; [unfold Faults.state; cbn; rewrite empty_lsn; split; [lia|intros; lia]|].
    destruct (nth_error h k) as [c|] eqn:E; [|apply nth_error_None in E; lia].
    rewrite (state_next _ _ _ E). destruct (IH ltac:(lia)) as (I1 & I2).
    assert (A : own c = true -> lsn (after (S k) c (state h k)) = S k).
    { destruct c as [d|q|]; cbn; intros O; [apply apply_lsn|now apply W|discriminate]. }
    destruct (own c) eqn:O.
    - rewrite A by reflexivity. split; [lia|]. intros j c' J _ _. lia.
    - destruct c; try discriminate. cbn. split; [lia|]. intros j c' J E' O'.
      assert (j < k \/ j = k) as [J'| ->] by lia; [eapply I2; eassumption|]. rewrite E in E'. injection E' as <-. discriminate.
  Qed.

  (** From a state of the page with some of the records, replay reaches the last one. *)
  Lemma replay_of_state h a k : sealed h -> a <= k <= length h -> forall n, a + n <= length h ->
    (replay a (part h a n) (state h k) = state h k /\ a + n <= k) \/ replay a (part h a n) (state h k) = state h (a + n).
  Proof.
    intros W K. induction n as [|n IH]; intros L; [left; split; [reflexivity|lia]|].
    destruct (nth_error h (a + n)) as [c|] eqn:E; [|apply nth_error_None in E; lia].
    rewrite (replay_next _ _ _ _ _ E), <- plus_n_Sm, (state_next _ _ _ E).
    destruct (IH ltac:(lia)) as [(I & J)|I]; rewrite I.
    - destruct (Nat.eq_dec (a + n) k) as [->|N].
      + right. destruct c as [d|q|]; cbn [replay_one Faults.after]; try reflexivity.
        destruct (Nat.leb_spec (S k) (lsn (state h k))); [|reflexivity].
        destruct (state_lsn h W k); lia.
      + destruct c as [d|q|]; cbn [replay_one Faults.after]; [|now right|left; split; [reflexivity|lia]].
        left. split; [|lia]. destruct (state_lsn h W k) as (_ & S2); [lia|]. specialize (S2 (a + n) (Delta d)).
        destruct (Nat.leb_spec (S (a + n)) (lsn (state h k))); [reflexivity|].
        exfalso. assert (a + n < k) by lia. specialize (S2 H0 E eq_refl). lia.
    - right. destruct c as [d|q|]; cbn [replay_one Faults.after]; try reflexivity.
      destruct (Nat.leb_spec (S (a + n)) (lsn (state h (a + n)))); [|reflexivity].
      destruct (state_lsn h W (a + n)); lia.
  Qed.
  Lemma replay_reaches h a k n : sealed h -> a <= k <= a + n -> a + n <= length h ->
    replay a (part h a n) (state h k) = state h (a + n).
  Proof.
    intros W K L. destruct (replay_of_state h a k W ltac:(lia) n L) as [(I & J)|I]; [|exact I].
    rewrite I. f_equal. lia.
  Qed.

  (** With an image that comes first it reaches it from anything. *)
  Lemma replay_heals h a n p : sealed h -> heals h a (a + n) -> a + n <= length h ->
    replay a (part h a n) p = state h (a + n).
  Proof.
    intros W (j & q & J & E & Q) L. 
    assert (B : forall m, a + m <= j -> replay a (part h a m) p = p).
    { induction m as [|m IH]; intros M; [reflexivity|].
      destruct (nth_error h (a + m)) as [c|] eqn:F; [|apply nth_error_None in F; lia].
      rewrite (replay_next _ _ _ _ _ F), IH by lia. assert (own c = false) by (apply (Q (a + m)); [lia|exact F]).
      destruct c; try discriminate. reflexivity. }
    assert (C : forall m, j < a + m -> a + m <= length h -> replay a (part h a m) p = state h (a + m)).
    { induction m as [|m IH]; intros M M'; [lia|].
      destruct (nth_error h (a + m)) as [c|] eqn:F; [|apply nth_error_None in F; lia].
      rewrite (replay_next _ _ _ _ _ F), <- plus_n_Sm, (state_next _ _ _ F).
      destruct (Nat.eq_dec (a + m) j) as [G|G].
      - rewrite G, E in F. injection F as <-. reflexivity.
      - rewrite IH by lia. destruct c as [d|r|]; cbn [replay_one Faults.after]; try reflexivity.
        destruct (Nat.leb_spec (S (a + m)) (lsn (state h (a + m)))); [|reflexivity].
        destruct (state_lsn h W (a + m)); lia. }
    apply C; lia.
  Qed.
End Replays.
