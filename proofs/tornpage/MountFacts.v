(* SPDX-License-Identifier: PostgreSQL *)
(** * The double writes of `pgquern mount`: no page is torn, and what an fsync has covered is there *)
From Coq Require Import Arith List Bool Lia.
From Pgquern.tornpage Require Import RecoveryFacts Faults Replays Holds Mount.
Import ListNotations.

Section Facts.
  Context {sector : Type}.
  Notation page := (list sector).
  Notation mount := (mount sector).
  Notation batch := (batch sector).
  Notation slot := (slot sector).
  Notation event := (event sector).

  (** ** What holds of the files *)
  Definition holds (b : block page) (p : page) : Prop := seen b = p /\ only (may b) p.
  Definition floor (m : mount) (k : nat) : nat := if up _ (state _ m) then clean _ m k else promised _ m k.
  Definition valid (m : mount) (k : nat) (p : page) : Prop :=
    exists j, floor m k <= j < length (versions _ m k) /\ p = nth_version _ m k j.
  Definition whole (m : mount) (k : nat) : Prop := exists p, valid m k p /\ holds (place _ m k) p.
  Definition keys (b : batch) : list nat := map fst b.
  Definition fits (m : mount) (b : batch) : Prop := NoDup (keys b) /\ forall k p, In (k, p) b -> valid m k p.
  Definition area_is (m : mount) (b : batch) : Prop := seen (area _ m) = Some b /\ only (may (area _ m)) (Some b).
  Definition written (m : mount) (l : batch) : Prop := forall k p, In (k, p) l -> seen (place _ m k) = p /\ mine (place _ m k) = true.
  Definition synced (m : mount) (l : batch) : Prop := forall k p, In (k, p) l -> holds (place _ m k) p.
  Definition exact (m : mount) (k : nat) : Prop := holds (place _ m k) (nth_version _ m k (clean _ m k)).
  Definition slots_fit (m : mount) (s : list slot) : Prop :=
    NoDup (keys (batch_of _ s)) /\ forall x, In x s -> memory _ m (number _ x) <> None /\
      clean _ m (number _ x) <= version _ x < length (versions _ m (number _ x)) /\ bytes _ x = nth_version _ m (number _ x) (version _ x).
  Definition all_but (m : mount) (b : batch) : Prop := forall k, ~ In k (keys b) -> exact m k.
  Definition healed_but (m : mount) (b : batch) : Prop := forall k, ~ In k (keys b) -> whole m k.
  Definition healable (m : mount) : Prop := forall k, whole m k \/ exists b, area_is m b /\ In k (keys b).

  Definition at_phase (m : mount) : Prop :=
    match state _ m with
    | Down _ => healable m
    | Idle _ => all_but m []
    | Gathered _ s => slots_fit m s /\ all_but m []
    | InArea _ s => slots_fit m s /\ all_but m [] /\ seen (area _ m) = Some (batch_of _ s) /\ mine (area _ m) = true
    | Pending _ s => slots_fit m s /\ area_is m (batch_of _ s) /\ all_but m (batch_of _ s)
    | Placing _ s todo =>
        slots_fit m s /\ area_is m (batch_of _ s) /\ all_but m (batch_of _ s) /\
        exists done, batch_of _ s = done ++ todo /\ written m done
    | Syncing _ s todo =>
        slots_fit m s /\ area_is m (batch_of _ s) /\ all_but m (batch_of _ s) /\
        exists done, batch_of _ s = done ++ todo /\ synced m done /\ written m todo
    | Found _ b => In (Some b) (may (area _ m)) /\ healable m
    | Rewritten _ b => In (Some b) (may (area _ m)) /\ healable m /\ seen (area _ m) = Some b /\ mine (area _ m) = true
    | Repairing _ b todo => area_is m b /\ healed_but m b /\ exists done, b = done ++ todo /\ written m done
    | Resyncing _ b todo =>
        area_is m b /\ healed_but m b /\ exists done, b = done ++ todo /\ synced m done /\ written m todo
    | Emptying _ => healed_but m []
    | Emptied _ => healed_but m [] /\ seen (area _ m) = None /\ mine (area _ m) = true
    end.
  Record Good (m : mount) : Prop := {
    g_promised : forall k, promised _ m k < length (versions _ m k);
    g_area : forall b, In (Some b) (seen (area _ m) :: may (area _ m)) -> fits m b;
    g_seen : whole_or_nothing (may (area _ m)) (seen (area _ m));
    g_up : up _ (state _ m) = true -> forall k, promised _ m k <= clean _ m k < length (versions _ m k) /\
      match memory _ m k with
      | Some p => p = nth_version _ m k (newest _ m k)
      | None => clean _ m k = newest _ m k
      end;
    g_phase : at_phase m;
  }.

  (** ** Versions only grow *)
  Definition later (m m' : mount) : Prop :=
    forall k, floor m' k <= floor m k /\ exists l, versions _ m' k = versions _ m k ++ l.
  Lemma nth_version_more (m m' : mount) k j l : versions _ m' k = versions _ m k ++ l -> j < length (versions _ m k) ->
    nth_version _ m' k j = nth_version _ m k j.
  Proof. intros E J. unfold nth_version. rewrite E. now apply app_nth1. Qed.
  Lemma valid_later m m' k p : later m m' -> valid m k p -> valid m' k p.
  Proof.
    intros L (j & J & ->). destruct (L k) as (F & l & E). exists j. rewrite (nth_version_more _ _ _ _ _ E) by lia.
    rewrite E, app_length. split; [lia|reflexivity].
  Qed.
  Lemma fits_later m m' b : later m m' -> fits m b -> fits m' b.
  Proof. intros L (N & F). split; [exact N|]. intros k p I. eapply valid_later; eauto. Qed.
  Lemma whole_later m m' k : later m m' -> (forall p, holds (place _ m k) p -> holds (place _ m' k) p) -> whole m k -> whole m' k.
  Proof. intros L H (p & V & P). exists p. split; [eapply valid_later; eauto|auto]. Qed.
  Lemma same_later (m m' : mount) : state _ m' = state _ m -> clean _ m' = clean _ m -> promised _ m' = promised _ m ->
    versions _ m' = versions _ m -> later m m'.
  Proof. intros S C P V k. unfold floor. rewrite S, C, P, V. split; [lia|]. exists []. now rewrite app_nil_r. Qed.
  Lemma later_between (m m' : mount) : up _ (state _ m) = up _ (state _ m') \/ up _ (state _ m') = false /\ Good m ->
    clean _ m' = clean _ m -> promised _ m' = promised _ m -> versions _ m' = versions _ m -> later m m'.
  Proof.
    intros U C P V k. split; [|exists []; now rewrite V, app_nil_r]. unfold floor. rewrite C, P.
    destruct U as [->|(-> & G)]; [lia|]. destruct (up _ (state _ m)) eqn:E; [|lia]. destruct (g_up _ G E k) as (B & _). lia.
  Qed.

  (** ** Blocks *)
  Lemma holds_reread b p q : holds b p -> sector_by_sector (may b) q -> holds (reread q b) p.
  Proof. intros (S & O) M. split; [|exact O]. exact (mixture_only DoubleWrite _ _ _ O M). Qed.
  Lemma holds_lost b p q : holds b p -> sector_by_sector (may b) q -> holds (lost q) p.
  Proof. intros (S & O) M. rewrite (mixture_only DoubleWrite _ _ _ O M : q = p). split; [reflexivity|]. intros y [->|[]]; reflexivity. Qed.
  Lemma holds_synced b p : seen b = p -> mine b = true -> holds (sync b) p.
  Proof. intros S M. unfold sync. rewrite M. split; [exact S|]. intros y [<-|[]]. exact S. Qed.
  Lemma update_same {A} (f : nat -> A) k x : update f k x k = x.
  Proof. unfold update. now rewrite Nat.eqb_refl. Qed.
  Lemma update_other {A} (f : nat -> A) k x j : j <> k -> update f k x j = f j.
  Proof. intros N. unfold update. now apply Nat.eqb_neq in N as ->. Qed.

  Lemma in_keys k p (b : batch) : In (k, p) b -> In k (keys b).
  Proof. intros I. apply in_map_iff. exists (k, p). now split. Qed.
  Lemma key_in k (b : batch) : In k (keys b) -> exists p, In (k, p) b.
  Proof. intros I. apply in_map_iff in I as ((j & p) & <- & I). now exists p. Qed.
  Lemma one_of_key k p q (b : batch) : NoDup (keys b) -> In (k, p) b -> In (k, q) b -> p = q.
  Proof.
    intros N I J. induction b as [|(j & r) b IH]; [destruct I|]. cbn in N. apply NoDup_cons_iff in N as (X & N).
    destruct I as [I|I], J as [J|J]; [congruence| | |now apply IH].
    - injection I as -> ->. destruct X. eapply in_keys; eauto.
    - injection J as -> ->. destruct X. eapply in_keys; eauto.
  Qed.
  Lemma not_before k p (done todo : batch) : NoDup (keys (done ++ (k, p) :: todo)) -> ~ In k (keys done) /\ ~ In k (keys todo).
  Proof.
    unfold keys. rewrite map_app. cbn. intros N. apply NoDup_remove in N as (_ & N). split; intros I; apply N, in_or_app; auto.
  Qed.

  Lemma exact_whole m k : Good m -> up _ (state _ m) = true -> exact m k -> whole m k.
  Proof.
    intros G U E. exists (nth_version _ m k (clean _ m k)). split; [|exact E]. exists (clean _ m k). unfold floor. rewrite U.
    destruct (g_up _ G U k) as (B & _). split; [lia|reflexivity].
  Qed.

  (** Whatever the moment: each page is whole in its place, or in the area for sure. *)
  Lemma always_healable m : Good m -> healable m.
  Proof.
    intros G k. assert (P := g_phase _ G). assert (X := exact_whole m k G). unfold at_phase in P.
    destruct (state _ m) eqn:S; try exact (P k); try specialize (X eq_refl).
    - left. apply X, P. intros [].
    - left. apply X, P. intros [].
    - left. apply X, P. intros [].
    - destruct P as (_ & A & P & _). destruct (in_dec Nat.eq_dec k (keys (batch_of _ s))); [right; eauto|left; auto].
    - destruct P as (_ & A & P & _). destruct (in_dec Nat.eq_dec k (keys (batch_of _ s))); [right; eauto|left; auto].
    - destruct P as (_ & A & P). destruct (in_dec Nat.eq_dec k (keys (batch_of _ s))); [right; eauto|left; auto].
    - apply P.
    - apply P.
    - destruct P as (A & P & _). destruct (in_dec Nat.eq_dec k (keys b)); [right; eauto|left; auto].
    - destruct P as (A & P & _). destruct (in_dec Nat.eq_dec k (keys b)); [right; eauto|left; auto].
    - left. apply P. intros [].
    - left. apply P. intros [].
  Qed.

  (** ** The end of a program *)
  Lemma later_down m m' : Good m -> up _ (state _ m') = false -> clean _ m' = clean _ m -> promised _ m' = promised _ m ->
    versions _ m' = versions _ m -> later m m'.
  Proof. intros G U C P V. apply later_between; auto. Qed.
  Lemma still_healable m m' : Good m -> later m m' ->
    (forall k, (forall p, holds (place _ m k) p -> holds (place _ m' k) p) \/ exists b, area_is m b /\ In k (keys b)) ->
    (forall b, area_is m b -> area_is m' b) -> healable m'.
  Proof.
    intros G L H R k. destruct (H k) as [Hk|(b & B & I)]; [|right; eauto].
    destruct (always_healable m G k) as [X|(b & B & I)]; [|right; eauto]. left. eapply whole_later; eauto.
  Qed.
  Lemma goes_down m m' : Good m -> state _ m' = Down _ -> clean _ m' = clean _ m -> promised _ m' = promised _ m ->
    versions _ m' = versions _ m ->
    (forall b, In (Some b) (seen (area _ m') :: may (area _ m')) -> In (Some b) (seen (area _ m) :: may (area _ m))) ->
    whole_or_nothing (may (area _ m')) (seen (area _ m')) -> healable m' -> Good m'.
  Proof.
    intros G S C P V A W H. assert (L : later m m') by (apply later_down; auto; now rewrite S). split; auto.
    - intros k. rewrite P, V. apply G.
    - intros b I. eapply fits_later; [exact L|]. now apply G, A.
    - rewrite S. discriminate.
    - unfold at_phase. now rewrite S.
  Qed.
  Lemma seen_is_among {A} (m : list (option A)) x b : whole_or_nothing m x -> In (Some b) (x :: m) -> In (Some b) m.
  Proof. intros W [->|I]; [|exact I]. now apply whole_some. Qed.

  Lemma good_kill m : Good m -> Good (goes_to _ (Down _) (abandoned _ m)).
  Proof.
    intros G. apply (goes_down m); auto; [apply G|]. apply (still_healable m); auto.
    apply later_down; auto.
  Qed.
  Lemma good_power_loss m a ps : Good m -> whole_or_nothing (may (area _ m)) a ->
    (forall k, sector_by_sector (may (place _ m k)) (ps k)) ->
    Good (step _ true true m (PowerLoss _ a ps)).
  Proof.
    intros G A P. apply (goes_down m); auto; cbn.
    - intros b I. assert (a = Some b) as -> by (destruct I as [I|[I|[]]]; exact I). right. now apply whole_some.
    - left. now left.
    - apply (still_healable m); auto.
      + apply later_down; auto.
      + intros k. left. intros p H. now apply (holds_lost (place _ m k)).
      + intros b (S & O). cbn. rewrite (whole_only _ _ _ O A). split; [reflexivity|]. intros y [->|[]]. reflexivity.
  Qed.

  (** ** The kernel reads a block again, which nobody has written since *)
  Lemma good_reread_area m a : Good m -> whole_or_nothing (may (area _ m)) a -> Good (step _ true true m (RereadArea _ a)).
  Proof.
    intros G A. cbn. destruct (mine (area _ m)) eqn:M; [exact G|]. set (m' := with_area _ m _).
    assert (L : later m m') by (now apply same_later). 
    assert (I : forall b, area_is m b -> area_is m' b).
    { intros b (S & O). split; [|exact O]. exact (whole_only _ _ _ O A). }
    assert (W : forall k, whole m k -> whole m' k) by (intros k; apply whole_later; auto).
    assert (H : healable m -> healable m') by (intros H k; destruct (H k) as [X|(b & B & J)]; [left; auto|right; eauto]).
    split; [apply G| |exact A|apply G|].
    - intros b J. eapply fits_later; [exact L|]. apply G. right. exact (seen_is_among _ _ _ A J).
    - assert (P := g_phase _ G). unfold at_phase in *. change (state _ m') with (state _ m). destruct (state _ m); auto.
      + destruct P as (_ & _ & _ & X). congruence.
      + destruct P as (X & Y & Z). split; [exact X|]. split; [now apply I|exact Z].
      + destruct P as (X & Y & Z). split; [exact X|]. split; [now apply I|exact Z].
      + destruct P as (X & Y & Z). split; [exact X|]. split; [now apply I|exact Z].
      + destruct P as (X & Y). split; [exact X|auto].
      + destruct P as (_ & _ & _ & X). congruence.
      + destruct P as (X & Y & Z). split; [now apply I|]. split; [intros k N; now apply W, Y|exact Z].
      + destruct P as (X & Y & Z). split; [now apply I|]. split; [intros k N; now apply W, Y|exact Z].
      + destruct P as (_ & _ & X). congruence.
  Qed.
  Lemma good_reread m k p : Good m -> sector_by_sector (may (place _ m k)) p -> Good (step _ true true m (Reread _ k p)).
  Proof.
    intros G A. cbn. destruct (mine (place _ m k)) eqn:M; [exact G|]. set (m' := with_place _ m _).
    assert (L : later m m') by (now apply same_later).
    assert (Hk : forall j q, holds (place _ m j) q -> holds (place _ m' j) q).
    { intros j q H. cbn. destruct (Nat.eq_dec j k) as [->|N]; [rewrite update_same|now rewrite update_other by auto].
      now apply holds_reread. }
    assert (Wr : forall l, written m l -> written m' l).
    { intros l W j q I. specialize (W j q I). cbn. destruct (Nat.eq_dec j k) as [->|N]; [destruct W; congruence|].
      now rewrite update_other by auto. }
    assert (Sy : forall l, synced m l -> synced m' l) by (intros l S j q I; apply Hk, S, I).
    assert (E : forall b, all_but m b -> all_but m' b) by (intros b E j N; apply Hk, E, N).
    assert (W : forall j, whole m j -> whole m' j) by (intros j; apply whole_later; auto).
    assert (H : healable m -> healable m') by (intros H j; destruct (H j) as [X|X]; [left; auto|right; exact X]).
    assert (Hb : forall b, healed_but m b -> healed_but m' b) by (intros b H' j N; apply W, H', N).
    split; [apply G| |apply G|apply G|].
    - intros b J. eapply fits_later; [exact L|]. now apply G.
    - assert (P := g_phase _ G). unfold at_phase in *. change (state _ m') with (state _ m). destruct (state _ m); auto.
      + destruct P as (X & Y). split; [exact X|auto].
      + destruct P as (X & Y & Z). split; [exact X|]. split; [auto|exact Z].
      + destruct P as (X & Y & Z & d & D & V). repeat (split; auto). exists d. auto.
      + destruct P as (X & Y & Z & d & D & V & U). repeat (split; auto). exists d. auto.
      + destruct P as (X & Y & Z). auto.
      + destruct P as (X & Y). auto.
      + destruct P as (X & Y & Z). auto.
      + destruct P as (X & Y & d & D & V). split; [exact X|]. split; [auto|]. exists d. auto.
      + destruct P as (X & Y & d & D & V & U). split; [exact X|]. split; [auto|]. exists d. auto.
      + destruct P as (X & Y). auto.
  Qed.

  (** ** The server writes, and syncs *)
  Lemma good_write m k p : Good m -> Good (step _ true true m (Write _ k p)).
  Proof.
    intros G. cbn. destruct (up _ (state _ m)) eqn:U; [|exact G]. set (m' := Mount.Mount _ _ _ _ _ _ _ _).
    assert (V : forall j, exists l, versions _ m' j = versions _ m j ++ l).
    { intros j. cbn. destruct (Nat.eq_dec j k) as [->|N]; [rewrite update_same; now exists [p]|rewrite update_other by auto].
      exists []. now rewrite app_nil_r. }
    assert (L : later m m') by (intros j; split; [apply Nat.le_refl|apply V]).
    assert (Len : forall j, length (versions _ m j) <= length (versions _ m' j)).
    { intros j. destruct (V j) as (l & ->). rewrite app_length. lia. }
    assert (Nth : forall j v, v < length (versions _ m j) -> nth_version _ m' j v = nth_version _ m j v).
    { intros j v J. destruct (V j) as (l & E). now apply (nth_version_more _ _ _ _ _ E). }
    assert (E : forall b, all_but m b -> all_but m' b).
    { intros b E j N. unfold exact. destruct (g_up _ G U j) as (B & _). change (clean _ m' j) with (clean _ m j).
      rewrite Nth by lia. now apply E. }
    assert (S : forall s, slots_fit m s -> slots_fit m' s).
    { intros s (N & S). split; [exact N|]. intros x I. destruct (S x I) as (A & B & C). split; [|split].
      - cbn. destruct (Nat.eq_dec (number _ x) k) as [->|D]; [rewrite update_same; discriminate|now rewrite update_other by auto].
      - specialize (Len (number _ x)). change (clean _ m' (number _ x)) with (clean _ m (number _ x)). lia.
      - now rewrite Nth by lia. }
    split.
    - intros j. specialize (Len j). assert (X := g_promised _ G j). change (promised _ m' j) with (promised _ m j). lia.
    - intros b I. eapply fits_later; [exact L|]. now apply G.
    - apply G.
    - intros _ j. destruct (g_up _ G U j) as (B & C). specialize (Len j).
      change (promised _ m' j) with (promised _ m j). change (clean _ m' j) with (clean _ m j). split; [lia|].
      unfold newest, nth_version. cbn. destruct (Nat.eq_dec j k) as [->|N].
      + rewrite !update_same, app_length. cbn. rewrite app_nth2 by lia. replace (_ - _) with 0 by lia. reflexivity.
      + rewrite !update_other by auto. exact C.
    - assert (P := g_phase _ G). unfold at_phase in *. change (state _ m') with (state _ m). destruct (state _ m); try discriminate.
      + auto.
      + destruct P as (X & Y). auto.
      + destruct P as (X & Y & Z). auto.
      + destruct P as (X & Y & Z & D). auto.
      + destruct P as (X & Y & Z & D). auto.
      + destruct P as (X & Y & Z). auto.
  Qed.

  Lemma good_fsynced m k j : Good m -> Good (step _ true true m (Fsynced _ k j)).
  Proof.
    intros G. cbn. destruct (up _ (state _ m)) eqn:U; [|exact G]. destruct (Nat.leb_spec j (clean _ m k)) as [J|J]; [|exact G].
    cbn. set (m' := Mount.Mount _ _ _ _ _ _ _ _).
    assert (L : later m m').
    { intros i. unfold floor. change (state _ m') with (state _ m). rewrite U. split; [apply Nat.le_refl|].
      exists []. now rewrite app_nil_r. }
    assert (B : forall i, promised _ m i <= clean _ m i < length (versions _ m i)) by (intros i; apply (g_up _ G U i)).
    assert (B' : forall i, promised _ m' i <= clean _ m i).
    { intros i. cbn. destruct (Nat.eq_dec i k) as [->|N]; [rewrite update_same|rewrite update_other by auto]; [specialize (B k)|specialize (B i)]; lia. }
    split.
    - intros i. specialize (B i). specialize (B' i). change (versions _ m' i) with (versions _ m i). lia.
    - intros b I. eapply fits_later; [exact L|]. now apply G.
    - apply G.
    - intros _ i. split; [|apply (g_up _ G U i)]. specialize (B i). specialize (B' i).
      change (clean _ m' i) with (clean _ m i). change (versions _ m' i) with (versions _ m i). lia.
    - assert (P := g_phase _ G). unfold at_phase in *. change (state _ m') with (state _ m). destruct (state _ m); auto; discriminate.
  Qed.

  (** ** A batch *)
  Lemma slots_valid m s : Good m -> up _ (state _ m) = true -> slots_fit m s -> fits m (batch_of _ s).
  Proof.
    intros G U (N & S). split; [exact N|]. intros k p I. unfold batch_of in I. apply in_map_iff in I as (x & E & I). injection E as <- <-.
    destruct (S x I) as (_ & B & ->). exists (version _ x). unfold floor. rewrite U. split; [exact B|reflexivity].
  Qed.
  Lemma gathered_fits m ks : Good m -> up _ (state _ m) = true -> slots_fit m (gathered _ m ks).
  Proof.
    intros G U. unfold gathered. assert (N := NoDup_nodup Nat.eq_dec ks). revert N. generalize (nodup Nat.eq_dec ks). intros l N. split.
    - induction N as [|k l I N IH]; [constructor|]. cbn. destruct (memory _ m k) as [p|]; [|exact IH]. cbn. constructor; [|exact IH].
      intros J. apply I. apply key_in in J as (q & J). apply in_map_iff in J as (x & Q & J). injection Q as <- _.
      apply in_flat_map in J as (j & J & K). destruct (memory _ m j); [|destruct K]. destruct K as [<-|[]]. exact J.
    - intros x I. apply in_flat_map in I as (k & _ & I). destruct (memory _ m k) as [p|] eqn:E; [|destruct I].
      destruct I as [<-|[]]. cbn. destruct (g_up _ G U k) as (B & M). rewrite E in M. split; [congruence|]. split; [|exact M].
      unfold newest. lia.
  Qed.
  Lemma slot_of_in (s : list slot) k x : slot_of _ s k = Some x -> In x s /\ number _ x = k.
  Proof. intros F. apply find_some in F as (I & E). split; [exact I|]. now apply Nat.eqb_eq. Qed.
  Lemma no_slot (s : list slot) k : slot_of _ s k = None -> ~ In k (keys (batch_of _ s)).
  Proof.
    intros F I. apply key_in in I as (p & I). unfold batch_of in I. apply in_map_iff in I as (x & E & I). injection E as <- _.
    apply (find_none _ _ F) in I. cbn in I. rewrite Nat.eqb_refl in I. discriminate.
  Qed.
  Lemma in_batch (s : list slot) x : In x s -> In (number _ x, bytes _ x) (batch_of _ s).
  Proof. intros I. unfold batch_of. apply in_map_iff. now exists x. Qed.

  (** ** An operation *)
  Lemma moves m m' : Good m -> up _ (state _ m') = up _ (state _ m) -> clean _ m' = clean _ m -> promised _ m' = promised _ m ->
    versions _ m' = versions _ m -> memory _ m' = memory _ m ->
    (forall b, In (Some b) (seen (area _ m') :: may (area _ m')) -> In (Some b) (seen (area _ m) :: may (area _ m)) \/ fits m b) ->
    whole_or_nothing (may (area _ m')) (seen (area _ m')) -> (later m m' -> at_phase m') -> Good m'.
  Proof.
    intros G U C P V M A W H. assert (L : later m m') by (apply later_between; auto). split; auto.
    - intros k. rewrite P, V. apply G.
    - intros b I. eapply fits_later; [exact L|]. destruct (A b I) as [I'|F]; [now apply G|exact F].
    - rewrite U. intros E k. destruct (g_up _ G E k) as (B & Y). rewrite P, C, V, M. split; [exact B|].
      unfold newest, nth_version in *. now rewrite V.
  Qed.
  (** A page of a batch is written in place, or synced there. *)
  Lemma write_one m k p (done todo : batch) : NoDup (keys (done ++ (k, p) :: todo)) -> written m done ->
    written (put _ (@write) m k p) (done ++ [(k, p)]).
  Proof.
    intros N W j q I. apply in_app_or in I as [I|[I|[]]].
    - cbn. rewrite update_other; [now apply W|]. intros ->. apply (proj1 (not_before _ _ _ _ N)). eapply in_keys; eauto.
    - injection I as <- <-. cbn. now rewrite update_same.
  Qed.
  Lemma sync_one_of m k p (done todo : batch) : NoDup (keys (done ++ (k, p) :: todo)) -> synced m done -> written m ((k, p) :: todo) ->
    synced (sync_one _ m k) (done ++ [(k, p)]) /\ written (sync_one _ m k) todo.
  Proof.
    intros N S W. split; intros j q I.
    - apply in_app_or in I as [I|[I|[]]].
      + cbn. rewrite update_other; [now apply S|]. intros ->. apply (proj1 (not_before _ _ _ _ N)). eapply in_keys; eauto.
      + injection I as <- <-. cbn. rewrite update_same. destruct (W k p (or_introl eq_refl)). now apply holds_synced.
    - cbn. rewrite update_other; [apply W; now right|]. intros ->. apply (proj2 (not_before _ _ _ _ N)). eapply in_keys; eauto.
  Qed.
  Lemma in_middle k p (done todo : batch) : In k (keys (done ++ (k, p) :: todo)).
  Proof. eapply in_keys, in_or_app. right. now left. Qed.

  Lemma good_leave m s : Good m -> state _ m = Syncing _ s [] -> Good (leave _ m s).
  Proof.
    intros G E. assert (P := g_phase _ G). unfold at_phase in P. rewrite E in P.
    destruct P as (F & A & X & d & D & Y & _). rewrite app_nil_r in D. subst d.
    assert (U : up _ (state _ m) = true) by now rewrite E.
    assert (One : forall x, In x s -> slot_of _ s (number _ x) = Some x).
    { intros x I. destruct (slot_of _ s (number _ x)) as [y|] eqn:Z.
      - destruct F as (N & _). apply slot_of_in in Z as (J & K). f_equal. clear - N I J K. revert I J. induction s as [|z s IH]; [intros []|].
        cbn in N. apply NoDup_cons_iff in N as (O & N). intros [->|I] [->|J]; auto.
        + destruct O. rewrite <- K. exact (in_keys _ _ _ (in_batch _ _ J)).
        + destruct O. rewrite K. exact (in_keys _ _ _ (in_batch _ _ I)).
      - apply no_slot in Z. destruct Z. exact (in_keys _ _ _ (in_batch _ _ I)). }
    assert (C : forall k, clean _ m k <= clean _ (leave _ m s) k < length (versions _ m k)).
    { intros k. cbn. destruct (slot_of _ s k) as [x|] eqn:Z; [|destruct (g_up _ G U k); lia].
      apply slot_of_in in Z as (I & <-). destruct F as (_ & F). now apply F. }
    split.
    - apply G.
    - intros b I. destruct A as (A1 & A2). assert (b = batch_of _ s) as ->.
      { destruct I as [I|I]; [change (seen (area _ m) = Some b) in I; congruence|]. apply A2 in I. now injection I. }
      destruct F as (N & F). split; [exact N|]. intros k p J. unfold batch_of in J. apply in_map_iff in J as (x & Z & J). injection Z as <- <-.
      destruct (F x J) as (_ & B & ->). exists (version _ x). unfold floor. cbn. rewrite (One x J). split; [lia|reflexivity].
    - apply G.
    - intros _ k. destruct (g_up _ G U k) as (B & M). specialize (C k). split; [change (promised _ (leave _ m s) k) with (promised _ m k); change (versions _ (leave _ m s) k) with (versions _ m k); lia|].
      cbn. destruct (slot_of _ s k) as [x|] eqn:Z; [|exact M]. apply slot_of_in in Z as (I & <-).
      destruct (Nat.eqb_spec (version _ x) (newest _ m (number _ x))) as [V|V]; [exact V|].
      destruct F as (_ & F). destruct (F x I) as (Q & _). destruct (memory _ m (number _ x)); [exact M|congruence].
    - cbn. intros k _. unfold exact. cbn. destruct (slot_of _ s k) as [x|] eqn:Z.
      + apply slot_of_in in Z as (I & <-). destruct F as (_ & F). destruct (F x I) as (_ & _ & V).
        fold (nth_version _ m (number _ x) (version _ x)). rewrite <- V. apply Y. now apply in_batch.
      + apply X. now apply no_slot.
  Qed.

  Lemma good_opened m : Good m -> state _ m = Emptied _ -> Good (opened _ (with_area _ m (sync (area _ m)))).
  Proof.
    intros G E. assert (P := g_phase _ G). unfold at_phase in P. rewrite E in P. destruct P as (H & S & M).
    assert (Sy : sync (area _ m) = Block None [None] true) by (unfold sync; now rewrite M, S).
    set (m' := opened _ _). assert (A : area _ m' = Block None [None] true) by exact Sy. split.
    - intros k. cbn. rewrite app_length. assert (X := g_promised _ G k). lia.
    - intros b I. rewrite A in I. destruct I as [I|[I|[]]]; discriminate.
    - rewrite A. left. now left.
    - intros _ k. assert (X := g_promised _ G k). unfold newest. cbn. rewrite app_length. cbn. lia.
    - cbn. intros k _. unfold exact, nth_version. cbn. rewrite app_nth2, Nat.sub_diag by lia. cbn.
      destruct (H k (fun N => N)) as (p & _ & Q). destruct Q as (<- & O). now split.
  Qed.

  Lemma good_go m : Good m -> Good (go _ m).
  Proof.
    intros G. assert (P := g_phase _ G). assert (SV := slots_valid m). unfold at_phase in P. unfold go.
    destruct (state _ m) as [| |s|s|s todo|s todo|s|b|b|b todo|b todo| |] eqn:E; try exact G.
    - destruct P as (F & X). apply (moves m); auto; cbn; try now rewrite E.
      + intros b [I|[I|I]]; [| |left; now right]; injection I as <-; right; now apply SV.
      + left. now left.
      + intros _. cbn. auto.
    - destruct P as (F & X & S & M). assert (Sy : sync (area _ m) = Block (Some (batch_of _ s)) [Some (batch_of _ s)] true) by (unfold sync; now rewrite M, S).
      apply (moves m); auto; cbn; try rewrite Sy; try now rewrite E.
      + intros b [I|[I|[]]]; cbn in I; left; left; congruence.
      + left. now left.
      + intros _. unfold at_phase. cbn. split; [exact F|]. split; [split; [reflexivity|]; intros y [<-|[]]; reflexivity|].
        split; [intros k _; now apply X|]. exists []. split; [reflexivity|]. intros k p [].
    - destruct P as (F & A & X & d & D & W). destruct todo as [|(k & p) todo].
      + rewrite app_nil_r in D. subst d. apply (moves m); auto; cbn; try (now rewrite E); [apply G|].
        intros _. unfold at_phase. cbn. split; [exact F|]. split; [exact A|]. split; [exact X|]. exists []. split; [reflexivity|]. split; [intros k p []|exact W].
      + assert (N : NoDup (keys (d ++ (k, p) :: todo))) by (rewrite <- D; apply F).
        apply (moves m); auto; cbn; try (now rewrite E); [apply G|].
        intros _. unfold at_phase. cbn. split; [exact F|]. split; [exact A|]. split.
        * intros j J. unfold exact. cbn. rewrite update_other; [now apply X|]. intros ->. apply J. rewrite D. apply in_middle.
        * exists (d ++ [(k, p)]). split; [rewrite <- app_assoc; exact D|]. exact (write_one m k p d todo N W).
    - destruct P as (F & A & X & d & D & S & W). destruct todo as [|(k & p) todo].
      + now apply good_leave.
      + assert (N : NoDup (keys (d ++ (k, p) :: todo))) by (rewrite <- D; apply F).
        apply (moves m); auto; cbn; try (now rewrite E); [apply G|].
        intros _. unfold at_phase. cbn. split; [exact F|]. split; [exact A|]. split.
        * intros j J. unfold exact. cbn. rewrite update_other; [now apply X|]. intros ->. apply J. rewrite D. apply in_middle.
        * exists (d ++ [(k, p)]). split; [rewrite <- app_assoc; exact D|]. exact (sync_one_of m k p d todo N S W).
    - destruct P as (I & H). apply (moves m); auto; cbn; try now rewrite E.
      + intros b' [J|[J|J]]; left; right; congruence.
      + left. now left.
      + intros L. unfold at_phase. cbn. split; [now left|]. split; [|auto]. intros k. destruct (H k) as [X|(b' & (S & O) & J)].
        * left. eapply whole_later; eauto.
        * right. exists b. apply O in I as Q. injection Q as ->. split; [|exact J]. split; [reflexivity|]. now apply only_cons.
    - destruct P as (I & H & S & M). assert (Sy : sync (area _ m) = Block (Some b) [Some b] true) by (unfold sync; now rewrite M, S).
      apply (moves m); auto; cbn; try rewrite Sy; try now rewrite E.
      + intros b' [J|[J|[]]]; cbn in J; left; left; congruence.
      + left. now left.
      + intros L. unfold at_phase. cbn. split; [split; [reflexivity|]; intros y [<-|[]]; reflexivity|].
        split; [|exists []; split; [reflexivity|]; intros k p []].
        intros k N. destruct (H k) as [X|(b' & (S' & O) & J)]; [eapply whole_later; eauto|]. rewrite S in S'. injection S' as ->. contradiction.
    - destruct P as (A & X & d & D & W).
      assert (Nb := proj1 (g_area _ G b (or_introl (proj1 A)))).
      destruct todo as [|(k & p) todo].
      + rewrite app_nil_r in D. subst d. apply (moves m); auto; cbn; try (now rewrite E); [apply G|].
        intros L. unfold at_phase. cbn. split; [exact A|]. split; [intros k N; eapply whole_later; eauto|]. exists []. split; [reflexivity|]. split; [intros k p []|exact W].
      + assert (N := Nb). rewrite D in N. apply (moves m); auto; cbn; try (now rewrite E); [apply G|].
        intros L. unfold at_phase. cbn. split; [exact A|]. split.
        * intros j J. eapply whole_later; [exact L| |exact (X j J)]. intros q. cbn. rewrite update_other; [auto|].
          intros ->. apply J. rewrite D. apply in_middle.
        * exists (d ++ [(k, p)]). split; [rewrite <- app_assoc; exact D|]. exact (write_one m k p d todo N W).
    - destruct P as (A & X & d & D & S & W).
      assert (Fb := g_area _ G b (or_introl (proj1 A))).
      destruct todo as [|(k & p) todo].
      + rewrite app_nil_r in D. subst d. apply (moves m); auto; cbn; try (now rewrite E); [apply G|].
        intros L. unfold at_phase. cbn. intros k _. eapply whole_later; [exact L|auto|].
        destruct (in_dec Nat.eq_dec k (keys b)) as [I|I]; [|now apply X]. apply key_in in I as (p & I).
        exists p. split; [now apply Fb|now apply S].
      + assert (N := proj1 Fb). rewrite D in N. apply (moves m); auto; cbn; try (now rewrite E); [apply G|].
        intros L. unfold at_phase. cbn. split; [exact A|]. split.
        * intros j J. eapply whole_later; [exact L| |exact (X j J)]. intros q. cbn. rewrite update_other; [auto|].
          intros ->. apply J. rewrite D. apply in_middle.
        * exists (d ++ [(k, p)]). split; [rewrite <- app_assoc; exact D|]. exact (sync_one_of m k p d todo N S W).
    - apply (moves m); auto; cbn; try now rewrite E.
      + intros b [I|[I|I]]; try discriminate. left. now right.
      + left. now left.
      + intros L. unfold at_phase. cbn. split; [|auto]. intros k N. eapply whole_later; eauto.
    - now apply good_opened.
  Qed.

  Lemma good_fail m : Good m -> Good (fail _ m).
  Proof.
    intros G. assert (P := g_phase _ G). assert (SV := slots_valid m). unfold at_phase in P. unfold fail.
    assert (W : forall x, whole_or_nothing (x :: may (area _ m)) (seen (area _ m))).
    { intros x. destruct (g_seen _ G) as [I|(N & y & z & I & J & D)]; [left; now right|]. right. split; [exact N|].
      exists y, z. split; [now right|]. split; [now right|exact D]. }
    destruct (state _ m) as [| |s|s|s todo|s todo|s|b|b|b todo|b todo| |] eqn:E; try exact G.
    - destruct P as (F & X). apply (moves m); auto; cbn; try now rewrite E.
      + intros b [I|[I|I]]; [left; now left| |left; now right]. injection I as <-. right. now apply SV.
      + apply W.
    - destruct P as (F & X & _). apply (moves m); auto; cbn; try now rewrite E. apply G.
    - destruct todo as [|(k & p) todo]; [exact G|]. destruct P as (F & A & X & d & D & _).
      apply (moves m); auto; cbn; try (now rewrite E); [apply G|]. intros _. unfold at_phase. cbn. split; [exact F|]. split; [exact A|].
      intros j J. unfold exact. cbn. rewrite update_other; [now apply X|]. intros ->. apply J. rewrite D. apply in_middle.
    - destruct todo as [|(k & p) todo]; [exact G|]. destruct P as (F & A & X & _).
      apply (moves m); auto; cbn; try (now rewrite E); [apply G|]. intros _. now split.
    - destruct P as (I & H). apply (goes_down m); auto; cbn.
      + intros b' [J|[J|J]]; [now left| |now right]. right. congruence.
      + apply W.
      + apply (still_healable m); auto; [apply later_down; auto|]. intros b' (S & O). split; [exact S|]. cbn.
        apply O in I as Q. injection Q as ->. now apply only_cons.
    - now apply good_kill.
    - destruct todo as [|(k & p) todo]; [exact G|]. destruct P as (A & X & d & D & _).
      apply (goes_down m); auto; cbn; [apply G|]. apply (still_healable m); auto; [apply later_down; auto|].
      intros j. destruct (Nat.eq_dec j k) as [->|N]; [right; exists b; split; [exact A|]; rewrite D; apply in_middle|].
      left. intros q. cbn. rewrite update_other by exact N. trivial.
    - destruct todo as [|(k & p) todo]; [exact G|]. now apply good_kill.
    - apply (goes_down m); auto; cbn.
      + intros b [I|[I|I]]; [now left|discriminate|now right].
      + apply W.
      + intros k. left. apply (whole_later m); [apply later_down; auto|auto|]. apply P. intros [].
    - now apply good_kill.
  Qed.

  Lemma good_write_back m ks : Good m -> Good (step _ true true m (WriteBack _ ks)).
  Proof.
    intros G. assert (P := g_phase _ G). unfold at_phase in P. assert (F := gathered_fits m ks G). cbn.
    destruct (state _ m) eqn:E; try exact G.
    - apply (moves m); auto; cbn; try (now rewrite E); [apply G|]. intros _. unfold at_phase. cbn. split; [|exact P].
      apply F. reflexivity.
    - destruct P as (S & A & X). apply (moves m); auto; cbn; try (now rewrite E); [apply G|]. intros _. unfold at_phase. cbn.
      split; [exact S|]. split; [exact A|]. split; [exact X|]. exists []. split; [reflexivity|]. intros k p [].
  Qed.
  Lemma good_start m : Good m -> Good (step _ true true m (Start _)).
  Proof.
    intros G. assert (P := g_phase _ G). unfold at_phase in P. cbn. destruct (state _ m) eqn:E; try exact G.
    destruct (seen (area _ m)) as [b|] eqn:S; apply (moves m); auto; cbn; try (now rewrite E); try apply G; intros L; unfold at_phase; cbn.
    - split; [apply whole_some; rewrite <- S; apply G|]. intros k. destruct (P k) as [X|X]; [left; eapply whole_later; eauto|now right].
    - intros k _. destruct (P k) as [X|(b & (B & _) & _)]; [eapply whole_later; eauto|congruence].
  Qed.

  Lemma good_step m e : Good m -> allowed _ m e -> Good (step _ true true m e).
  Proof.
    intros G A. destruct e as [k p|ks|k j| | | |a ps|a|k p|].
    - now apply good_write.
    - now apply good_write_back.
    - now apply good_fsynced.
    - now apply good_go.
    - now apply good_fail.
    - now apply good_kill.
    - exact (good_power_loss m a ps G (proj1 A) (proj2 A)).
    - exact (good_reread_area m a G A).
    - exact (good_reread m k p G A).
    - now apply good_start.
  Qed.
  Lemma good_new (files : nat -> page) : Good (new _ files).
  Proof.
    split; cbn; auto.
    - intros b [I|[I|[]]]; discriminate.
    - left. now left.
    - intros k _. unfold exact. cbn. split; [reflexivity|]. intros y [->|[]]. reflexivity.
  Qed.
  Lemma good_run (events : list event) : forall m, Good m -> all_allowed _ true true m events -> Good (run _ true true m events).
  Proof.
    induction events as [|e events IH]; intros m G A; [exact G|]. destruct A as (A & B). cbn. apply IH; [now apply good_step|exact B].
  Qed.

  (** While the mount is up a read gives what was written last, or what recovery has found. *)
  Theorem a_mount_reads_the_newest (files : nat -> page) (events : list event) k : all_allowed _ true true (new _ files) events ->
    let m := run _ true true (new _ files) events in
    up _ (state _ m) = true -> read _ m k = nth_version _ m k (newest _ m k).
  Proof.
    intros A m U. assert (G : Good m) by (apply good_run; [apply good_new|exact A]). destruct (g_up _ G U k) as (B & M). unfold read.
    destruct (memory _ m k) as [p|] eqn:E; [exact M|]. assert (P := g_phase _ G). unfold at_phase in P. rewrite <- M.
    assert (X : forall s, slots_fit m s -> ~ In k (keys (batch_of _ s))).
    { intros s (_ & S) I. apply key_in in I as (q & I). unfold batch_of in I. apply in_map_iff in I as (x & Y & I). injection Y as <- _.
      destruct (S x I) as (N & _). contradiction. }
    destruct (state _ m) as [| |s|s|s todo|s todo|s| | | | | |]; try discriminate U.
    - exact (proj1 (P k (fun N => N))).
    - exact (proj1 (proj2 P k (fun N => N))).
    - exact (proj1 (proj1 (proj2 P) k (fun N => N))).
    - exact (proj1 (proj1 (proj2 (proj2 P)) k (X s (proj1 P)))).
    - exact (proj1 (proj1 (proj2 (proj2 P)) k (X s (proj1 P)))).
    - exact (proj1 (proj2 (proj2 P) k (X s (proj1 P)))).
  Qed.
  (** When recovery has ended each page, in its place, is a version that it has had, as a whole, and none that is older than what
      an fsync has covered. *)
  Theorem a_mount_finds_what_was_synced (files : nat -> page) (events : list event) k : all_allowed _ true true (new _ files) events ->
    let m := run _ true true (new _ files) events in
    state _ m = Emptied _ ->
    exists j, promised _ m k <= j < length (versions _ m k) /\ seen (place _ m k) = nth_version _ m k j.
  Proof.
    intros A m E. assert (G : Good m) by (apply good_run; [apply good_new|exact A]). assert (P := g_phase _ G). unfold at_phase in P.
    rewrite E in P. destruct P as (P & _). destruct (P k (fun N => N)) as (p & (j & J & ->) & (S & _)). exists j. split; [|exact S].
    unfold floor in J. rewrite E in J. exact J.
  Qed.
End Facts.
