(* SPDX-License-Identifier: PostgreSQL *)
(** * With the word the lock keeps the same rule *)
From Pgquern.common Require Import Integers.
From Pgquern.rangelock Require Import Tree Lock Word.

Lemma empty_ask s from to mode : shareds s = Leaf -> exclusives s = Leaf ->
  ask s from to mode = (stay s (Entry (Request (arrivals s + 1) from to mode) 0), Entry (Request (arrivals s + 1) from to mode) 0).
Proof. intros A B. unfold ask, arrive. rewrite A, B. now destruct mode. Qed.

Definition in_order (g : guarded) : Prop :=
  reachable (inside g) /\ (alone g <> Shut -> shareds (inside g) = Leaf /\ exclusives (inside g) = Leaf /\ has_log g = false).

Lemma everybody_in_order g : in_order g -> reachable (everybody g).
Proof.
  intros [R C]. unfold everybody. destruct (alone g) as [|from to mode|]; [exact R| |exact R].
  destruct C as (A & B & _); [discriminate|]. pose proof (after_ask (inside g) from to mode R) as Q. now rewrite empty_ask in Q.
Qed.

Lemma opened_in_order s log : reachable s -> in_order (opened_if_empty s log).
Proof.
  intros R. unfold opened_if_empty. destruct (shareds s) eqn:A, (exclusives s) eqn:B; [destruct log|..]; (split; [exact R|]); cbn;
    intros N; try (now destruct N). now rewrite A, B.
Qed.

Lemma used_in_order g : used g -> in_order g.
Proof.
  induction 1 as [|g from to mode H IH|g from to mode H IH|g H IH|g x H IH I|g log H IH].
  - split; [apply at_the_start|now cbn].
  - pose proof (after_ask (everybody g) from to mode (everybody_in_order g IH)) as Q. unfold come. destruct IH as [R C].
    destruct (alone g); [now split; [|intros _; apply C]| |];
      destruct (ask (everybody g) from to mode); (split; [exact Q|now intros []]).
  - pose proof (after_try (everybody g) from to mode (everybody_in_order g IH)) as Q. unfold try_come. destruct IH as [R C].
    destruct (alone g); [now split; [|intros _; apply C]| |];
      destruct (try_ask (everybody g) from to mode); (split; [exact Q|now intros []]).
  - unfold go_alone. destruct (alone g) eqn:E; [exact IH| |exact IH]. destruct IH as [R C]. rewrite E in C.
    split; [exact R|]. intros _. now apply C.
  - pose proof (after_leave (everybody g) x (everybody_in_order g IH) I) as Q. unfold go. destruct (leave (everybody g) x).
    now apply opened_in_order.
  - now apply opened_in_order, everybody_in_order.
Qed.

(** Whatever calls have been made: all that are there, in the trees or alone, are as calls of the lock without a word could have left
    them, so what is proved of that lock is true of them. *)
Theorem everybody_is_reachable g : used g -> reachable (everybody g).
Proof. intros U. now apply everybody_in_order, used_in_order. Qed.

(** Who comes, alone or not, is granted at once if and only if the lock without a word would grant it, and leaves what that lock
    would have. *)
Theorem come_is_ask g from to mode : used g ->
  let '(g', granted) := come g from to mode in
  let '(s, x) := ask (everybody g) from to mode in everybody g' = s /\ granted = is_held x.
Proof.
  intros U. apply used_in_order in U as [R C]. unfold come. destruct (alone g) eqn:E; [|now destruct (ask _ from to mode)..].
  destruct C as (A & B & _); [discriminate|]. assert (K : everybody g = inside g) by (unfold everybody; now rewrite E).
  rewrite K, empty_ask by assumption. split; reflexivity.
Qed.

(** So it is with who tries. *)
Theorem try_come_is_try g from to mode : used g ->
  let '(g', granted) := try_come g from to mode in
  let '(s, answer) := try_ask (everybody g) from to mode in
  everybody g' = s /\ granted = match answer with Some _ => true | None => false end.
Proof.
  intros U. apply used_in_order in U as [R C]. unfold try_come. destruct (alone g) eqn:E; [|now destruct (try_ask _ from to mode)..].
  destruct C as (A & B & _); [discriminate|]. assert (K : everybody g = inside g) by (unfold everybody; now rewrite E).
  rewrite K. unfold try_ask, arrive. rewrite A, B. now destruct mode.
Qed.

(** Who leaves alone was there with nobody else: nobody is left, and nobody waits to be let go. *)
Theorem who_goes_alone_was_alone g from to mode : used g -> alone g = Alone from to mode ->
  exists x, requests (everybody g) = [x] /\ In x (held (everybody g)) /\ snd (leave (everybody g) x) = [] /\
  requests (fst (leave (everybody g) x)) = [] /\ requests (everybody (go_alone g)) = [].
Proof.
  intros U E. apply used_in_order in U as [R C]. rewrite E in C. destruct C as (A & B & _); [discriminate|].
  exists (Request (arrivals (inside g) + 1) from to mode). unfold go_alone, everybody. rewrite E. cbn [alone inside].
  unfold stay, leave, requests, present, held. cbn [req exclusive].
  destruct mode; rewrite A, B; cbn; rewrite Z.eqb_refl; cbn; rewrite ?A, ?B; repeat split; auto.
Qed.

(** Who leaves a tree leaves what the lock without a word would have, and lets the same ones go. *)
Theorem go_is_leave g x : let '(g', granted) := go g x in
  everybody g' = fst (leave (everybody g) x) /\ granted = snd (leave (everybody g) x).
Proof.
  unfold go. destruct (leave (everybody g) x) as [s granted]. split; [|reflexivity].
  unfold opened_if_empty, everybody. now destruct (shareds s), (exclusives s), (has_log g).
Qed.

(** A log hears of everybody: while there is one the word is shut. *)
Theorem a_log_hears_everybody g : used g -> has_log g = true -> alone g = Shut.
Proof.
  intros U L. apply used_in_order in U as [_ C]. destruct (alone g); [| |reflexivity]; destruct C as (_ & _ & F); try discriminate; congruence.
Qed.
