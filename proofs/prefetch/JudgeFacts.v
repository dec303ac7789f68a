(* SPDX-License-Identifier: PostgreSQL *)
(** * Each verdict is the one that the history asks for *)
From Pgquern.common Require Import Integers.
From Pgquern.prefetch Require Import Ring Filters FiltersFacts Prefetcher History.

(** ** What a log may say *)

(** Nothing in the log is of a later record than the one at [l]. *)
Definition up_to (l : Z) (e : told) : Prop :=
  match e with Judged l' _ _ _ | Caused _ _ l' => l' <= l | Given r _ => lsn r <= l | _ => True end.

(** The records that were given out come before the one at [l]. *)
Definition given_before (l : Z) (e : told) : Prop := match e with Given r _ => lsn r < l | _ => True end.

Definition caused_before (l : Z) (e : told) : Prop := match e with Caused _ _ l' => l' <= l | _ => True end.

Fixpoint truthful (direct : bool) (h : list told) : Prop :=
  match h with
  | [] => True
  | e :: h => truthful direct h /\
      match e with
      | Judged l r w s => w = verdict direct h r s /\ answers h r s = true /\ Forall (given_before l) h
      | Caused _ _ l => Forall (caused_before l) h
      | Given r f => judged_of (lsn r) h ++ filter in_use f = filter in_use (references r)
      | _ => True
      end
  end.

(** What is added to a log while the record at [l] is looked at. *)
Definition of_record (l : Z) (e : told) : Prop :=
  match e with Judged l' _ _ _ | Caused _ _ l' => l' = l | Replayed _ | Given _ _ => False | NoMore => True end.
Definition adds (P : told -> Prop) (h h' : list told) : Prop := exists new, h' = new ++ h /\ Forall P new.

Lemma adds_refl P h : adds P h h.
Proof. exists []. auto. Qed.
Lemma adds_trans P h1 h2 h3 : adds P h1 h2 -> adds P h2 h3 -> adds P h1 h3.
Proof. intros (a & -> & A) (b & -> & B). exists (b ++ a). rewrite app_assoc. split; [reflexivity|]. apply Forall_app. auto. Qed.
Lemma adds_impl (P Q : told -> Prop) h h' : (forall e, P e -> Q e) -> adds P h h' -> adds Q h h'.
Proof. intros I (n & -> & A). exists n. split; [reflexivity|]. eapply Forall_impl; eauto. Qed.
Lemma adds_all (P Q : told -> Prop) h h' : (forall e, P e -> Q e) -> adds P h h' -> Forall Q h -> Forall Q h'.
Proof. intros I (n & -> & A) F. apply Forall_app. split; [|exact F]. eapply Forall_impl; eauto. Qed.
Lemma adds_cons (P : told -> Prop) e h h' : P e -> adds P h h' -> adds P h (e :: h').
Proof. intros E (n & -> & A). exists (e :: n). auto. Qed.

Lemma judged_of_other l l' h h' : adds (of_record l) h h' -> l' <> l -> judged_of l' h' = judged_of l' h.
Proof.
  intros (n & -> & A) N. induction A as [|e n E A IH]; [reflexivity|]. destruct e; simpl in *; try exact IH; try tauto.
  subst. destruct (Z.eqb_spec l l'); [congruence|]. now rewrite app_nil_r.
Qed.

Lemma judged_of_later l h : Forall (up_to l) h -> forall l', l < l' -> judged_of l' h = [].
Proof.
  induction 1 as [|e h E F IH]; intros l' L; [reflexivity|]. destruct e; simpl in *; try (now apply IH).
  rewrite IH by exact L. destruct (Z.eqb_spec l0 l'); [lia|reflexivity].
Qed.

Lemma up_to_given_before l l' h : l < l' -> Forall (up_to l) h -> Forall (given_before l') h.
Proof. intros L. apply Forall_impl. intros []; simpl; auto. lia. Qed.

(** ** The invariant of what judges *)
Section Facts.
Context {W : Type} (blocks : relation -> W -> option Z * W) (buffer : relation -> Z -> W -> option Z * W) (direct : bool).
Local Notation judge := (judge blocks buffer direct).
Local Notation look_at := (look_at blocks buffer direct).
Local Notation judging := (@judging W).

Record sound (l : Z) (j : judging) : Prop := {
  filters_tell : faithful (filters j) (log j);
  filters_early : Forall (fun f => until f <= l) (filters j);
  window_tells : recent j = firstn window (asked (log j));
  log_truthful : truthful direct (log j);
  log_early : Forall (up_to l) (log j);
}.

Lemma sound_later l l' j : l <= l' -> sound l j -> sound l' j.
Proof.
  intros L [A B C D E]. constructor; try assumption.
  - eapply Forall_impl; [|exact B]. simpl. lia.
  - eapply Forall_impl; [|exact E]. intros []; simpl; lia.
Qed.

Lemma up_to_caused_before l h : Forall (up_to l) h -> Forall (caused_before l) h.
Proof. apply Forall_impl. intros []; simpl; auto. Qed.

Lemma sound_note_filter k b l j : sound l j -> sound l (note_filter k b l j).
Proof.
  intros [A B C D E]. constructor; simpl.
  - now apply faithful_add.
  - now apply add_bounded.
  - exact C.
  - split; [exact D|]. now apply up_to_caused_before.
  - constructor; [simpl; lia|exact E].
Qed.

Lemma faithful_judged l r w s fs h : faithful fs h -> faithful fs (Judged l r w s :: h).
Proof. intros [A B C]. now constructor. Qed.

Lemma firstn_cons_window {A} (x : A) l : firstn window (x :: firstn window l) = firstn window (x :: l).
Proof.
  unfold window. destruct l as [|a [|b [|c [|d l]]]]; reflexivity.
Qed.

Lemma judge_sound l r j : sound l j -> Forall (given_before l) (log j) -> sound l (snd (judge l r j)).
Proof.
  intros S G. pose proof S as [A B C D E]. unfold Prefetcher.judge.
  assert (X : forall w, w = verdict direct (log j) r NotAsked -> excused (log j) r = true -> sound l (judged_so l r w j)).
  { intros w V X. constructor; simpl; try assumption.
    - now apply faithful_judged.
    - repeat split; assumption.
    - constructor; [simpl; lia|exact E]. }
  pose proof (hides_hidden _ _ (rel r) (block r) A) as H.
  assert (R : existsb (same_block (rel r, block r)) (recent j) = repeated (log j) (rel r) (block r)).
  { unfold repeated. now rewrite C. }
  rewrite H, R. unfold verdict in X. unfold excused in X.
  destruct (negb (fork r =? 0)) eqn:E1; [apply X; reflexivity|].
  destruct (has_image r) eqn:E2; [apply X; reflexivity|].
  destruct (will_init r) eqn:E3; [apply X; reflexivity|].
  destruct (hidden (log j) (rel r) (block r)) eqn:E4; [apply X; reflexivity|].
  destruct (repeated (log j) (rel r) (block r)) eqn:E5; [apply X; reflexivity|]. clear X.
  assert (Y : excused (log j) r = false) by (unfold excused; now rewrite E1, E2, E3, E4, E5).
  assert (Z_ : forall w s world, s <> NotAsked -> w = verdict direct (log j) r s -> answers (log j) r s = true ->
    sound l (Judging (filters j) (firstn window ((rel r, block r) :: recent j)) world (Judged l r w s :: log j))).
  { intros w s world N V An. constructor; cbn [filters log recent].
    - now apply faithful_judged.
    - assumption.
    - rewrite C, firstn_cons_window. destruct s; [congruence|reflexivity|reflexivity].
    - simpl. auto.
    - constructor; [simpl; lia|exact E]. }
  unfold ask_storage. destruct (blocks (rel r) (world j)) as [n w].
  change (match n with Some n => block r <? n | None => false end) with (exists_block n (block r)).
  destruct (exists_block n (block r)) eqn:Ex.
  - destruct (buffer (rel r) (block r) w) as [found w']. cbn [snd]. apply Z_; [discriminate| |].
    + unfold verdict. rewrite E1, E2, E3, E4, E5. now destruct found.
    + simpl. now rewrite Y, Ex.
  - cbn [snd]. apply sound_note_filter, Z_; [discriminate| |].
    + unfold verdict. now rewrite E1, E2, E3, E4, E5.
    + simpl. now rewrite Y, Ex.
Qed.

Lemma judge_log l r j : exists s, 
  log (snd (judge l r j)) = Judged l r (fst (judge l r j)) s :: log j \/
  exists k b, log (snd (judge l r j)) = Caused k b l :: Judged l r (fst (judge l r j)) s :: log j.
Proof.
  unfold Prefetcher.judge, judged_so.
  repeat match goal with |- context [if ?b then (_, _) else _] => destruct b; [exists NotAsked; left; reflexivity|] end.
  unfold ask_storage. destruct (blocks (rel r) (world j)) as [n w].
  destruct (match n with Some n => block r <? n | None => false end).
  - destruct (buffer (rel r) (block r) w) as [found w']. eexists. left. reflexivity.
  - eexists. right. eexists _, _. reflexivity.
Qed.

Lemma judge_adds l r j : adds (of_record l) (log j) (log (snd (judge l r j))) /\
  judged_of l (log (snd (judge l r j))) = judged_of l (log j) ++ [r].
Proof.
  destruct (judge_log l r j) as (s & [->|(k & b & ->)]); split; simpl; rewrite ?Z.eqb_refl; try reflexivity;
    repeat (apply adds_cons; [simpl; reflexivity|]); apply adds_refl.
Qed.

(** The answer for an entry: the record's LSN. *)
Definition answer_of (l : Z) (a : option answer) : Prop := a = None \/ a = Some (Io l) \/ a = Some (NoIo l).

Lemma look_at_sound l rs : forall j, sound l j -> Forall (given_before l) (log j) ->
  let '(a, rest, j') := look_at l rs j in
  sound l j' /\ adds (of_record l) (log j) (log j') /\
  judged_of l (log j') ++ filter in_use rest = judged_of l (log j) ++ filter in_use rs /\
  (a = None -> rest = []) /\ answer_of l a.
Proof.
  induction rs as [|r rs IH]; intros j S G.
  - simpl. split; [exact S|]. split; [apply adds_refl|]. split; [reflexivity|]. split; [reflexivity|now left].
  - simpl. destruct (in_use r) eqn:U; [|now apply IH].
    pose proof (judge_sound l r j S G) as S'. pose proof (judge_adds l r j) as [A J].
    destruct (judge l r j) as [w j']. cbn [snd] in *.
    assert (G' : Forall (given_before l) (log j')).
    { eapply adds_all; [|exact A|exact G]. intros []; simpl; tauto. }
    assert (X : forall a, a = Some (NoIo l) \/ a = Some (Io l) -> sound l j' /\ adds (of_record l) (log j) (log j') /\
      judged_of l (log j') ++ filter in_use rs = judged_of l (log j) ++ r :: filter in_use rs /\
      (a = None -> rs = []) /\ answer_of l a).
    { intros a E. split; [exact S'|]. split; [exact A|]. split; [rewrite J, <- app_assoc; reflexivity|]. unfold answer_of.
      destruct E; subst; split; auto; discriminate. }
    destruct w; try (apply X; auto; fail).
    specialize (IH j' S' G'). destruct (look_at l rs j') as [[a rest] j2]. destruct IH as (S2 & A2 & J2 & N2 & An).
    split; [exact S2|]. split; [now apply adds_trans with (log j')|]. split; [|auto].
    rewrite J2, J, <- app_assoc. reflexivity.
Qed.

Lemma note_effect_sound r j : sound (lsn r) j -> sound (lsn r) (note_effect r j) /\
  adds (of_record (lsn r)) (log j) (log (note_effect r j)) /\ judged_of (lsn r) (log (note_effect r j)) = judged_of (lsn r) (log j).
Proof.
  intros S. unfold note_effect. destruct (does r); (split; [try apply sound_note_filter; exact S|]);
    (split; [|reflexivity]); try apply adds_refl; apply adds_cons; try apply adds_refl; reflexivity.
Qed.
End Facts.
