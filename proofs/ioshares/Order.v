(* SPDX-License-Identifier: PostgreSQL *)
(** * What is accepted, that nothing of it is lost, and in which order a class's requests go *)
From Coq Require Import Permutation.
From Pgquern.common Require Import Integers.
From Pgquern.ioshares Require Import Algorithms Spec Consistent.

(** ** What a call answers *)

(** A request is accepted if and only if its class exists, it has 1 to 2^30 bytes, and fewer requests of its class wait than
    the class has room for. *)
Theorem accepted_iff_there_is_room s i op size :
  submit i op size s <> None <->
  exists f, nth_error (flows s) i = Some f /\ 1 <= size <= 2 ^ 30 /\ queued f < capacity f.
Proof.
  change (2 ^ 30) with 1073741824. unfold submit, queued. change max_bytes with 1073741824.
  destruct (nth_error (flows s) i) as [f|]; [|split; [easy|intros (f & N & _); discriminate]].
  assert (E : (exists g, Some f = Some g /\ 1 <= size <= 1073741824 /\ Z.of_nat (length (queue g)) < capacity g) <->
    1 <= size <= 1073741824 /\ Z.of_nat (length (queue f)) < capacity f).
  { split; [intros (g & [= <-] & H); exact H|]. intros H. now exists f. }
  rewrite E. destruct (Z.ltb_spec size 1), (Z.ltb_spec 1073741824 size), (Z.leb_spec (capacity f) (Z.of_nat (length (queue f)))); cbn;
    (split; [first [congruence|intros _; lia]|first [discriminate|intros ?; exfalso; lia]]).
Qed.

(** A completion counts if and only if a request of its class is in flight. *)
Theorem counted_iff_in_flight s i lat :
  complete i lat s <> None <-> exists f, nth_error (flows s) i = Some f /\ 0 < flying f.
Proof.
  unfold complete. destruct (nth_error (flows s) i) as [f|]; [|split; [easy|intros (f & N & _); discriminate]].
  destruct (Z.leb_spec (flying f) 0).
  - split; [easy|]. intros (g & [= <-] & ?). lia.
  - split; [intros _; exists f; auto|]. intros _. now destruct (_ || _)%bool.
Qed.

(** A request is taken back if and only if it waits. *)
Theorem taken_back_iff_it_waits s i k :
  cancel i k s <> None <-> exists f, nth_error (flows s) i = Some f /\ (k < length (queue f))%nat.
Proof.
  unfold cancel. destruct (nth_error (flows s) i) as [f|]; [|split; [easy|intros (f & N & _); discriminate]].
  destruct (nth_error (queue f) k) as [z|] eqn:K.
  - split; [|easy]. intros _. exists f. split; [reflexivity|]. apply nth_error_Some. congruence.
  - split; [easy|]. intros (g & [= <-] & L). apply nth_error_Some in L. congruence.
Qed.

(** What is taken back costs its class nothing: its tag stays, and so does the virtual time, and what has gone of it. *)
Theorem what_is_taken_back_costs_nothing s i k size s' f f' :
  cancel i k s = Some (size, s') -> nth_error (flows s) i = Some f -> nth_error (flows s') i = Some f' ->
  vtime s' = vtime s /\ tag f' = tag f /\ charged f' = charged f /\ in_flight s' = in_flight s /\ limit s' = limit s.
Proof.
  unfold cancel. intros H N N'. rewrite N in H. destruct (nth_error (queue f) k); [|discriminate]. injection H as _ <-.
  cbn in N'. rewrite nth_update, N, Nat.eqb_refl in N'. injection N' as <-. cbn. auto.
Qed.

(** ** Lists of which some are left out *)

Lemma keeps_refl xs : keeps xs xs.
Proof. induction xs; constructor; auto. Qed.

Lemma keeps_app xs ys : keeps xs ys -> forall us vs, keeps us vs -> keeps (xs ++ us) (ys ++ vs).
Proof. induction 1; intros us vs U; cbn; auto; constructor; auto. Qed.

Lemma keeps_trans xs ys zs : keeps xs ys -> keeps ys zs -> keeps xs zs.
Proof.
  intros K. revert zs. induction K as [|x xs ys K IH|x xs ys K IH]; intros zs J; auto.
  - inversion J; subst; constructor; auto.
  - constructor. auto.
Qed.

Lemma keeps_without q : forall k, keeps q (firstn k q ++ skipn (S k) q).
Proof.
  induction q as [|x q IH]; intros k; [destruct k; constructor|]. destruct k as [|k].
  - cbn. constructor. apply keeps_refl.
  - cbn [firstn skipn app]. constructor. apply IH.
Qed.

Lemma keeps_length xs ys : keeps xs ys -> (length ys <= length xs)%nat /\ (length ys = length xs -> ys = xs).
Proof.
  induction 1 as [|x xs ys K [IH1 IH2]|x xs ys K [IH1 IH2]]; cbn; split; intros; auto; try lia. f_equal. apply IH2. lia.
Qed.

(** ** One call *)

Lemma came_one i o os r rs : came i (o :: os) (r :: rs) = came i [o] [r] ++ came i os rs.
Proof. destruct o, r; cbn; rewrite ?app_nil_r; reflexivity. Qed.

Lemma went_one i r rs : went i (r :: rs) = went i [r] ++ went i rs.
Proof. destruct r; cbn; rewrite ?app_nil_r; reflexivity. Qed.

Lemma taken_back_one i r rs : taken_back i (r :: rs) = taken_back i [r] ++ taken_back i rs.
Proof. destruct r; cbn; rewrite ?app_nil_r; reflexivity. Qed.

Lemma ended_one i o os r rs : ended i (o :: os) (r :: rs) = ended i [o] [r] + ended i os rs.
Proof. destruct o, r; cbn; lia. Qed.

(** What one call, with its answer, does to a class: its capacity stays, its queue loses what goes at the front or is taken
    back, and gains what comes at the end, and its count of what is in flight follows. *)
Definition follows (i : nat) (o : op) (r : answer) (f g : flow) : Prop :=
  capacity g = capacity f /\ keeps (queue f ++ came i [o] [r]) (went i [r] ++ queue g) /\
  Permutation (queue f ++ came i [o] [r]) (went i [r] ++ taken_back i [r] ++ queue g) /\
  flying g = flying f + Z.of_nat (length (went i [r])) - ended i [o] [r] /\
  (queued f <= capacity f -> queued g <= capacity g).

Definition in_order (call : state -> op -> state) : Prop := forall s o i,
  match nth_error (flows s) i, nth_error (flows (call s o)) i with
  | Some f, Some g => follows i o (reply s o) f g
  | None, None => came i [o] [reply s o] = [] /\ went i [reply s o] = [] /\ taken_back i [reply s o] = [] /\
                  ended i [o] [reply s o] = 0
  | _, _ => False
  end.

Lemma nothing_follows i o r f :
  came i [o] [r] = [] -> went i [r] = [] -> taken_back i [r] = [] -> ended i [o] [r] = 0 -> follows i o r f f.
Proof.
  intros C W B E. unfold follows. rewrite C, W, B, E, app_nil_r. cbn. repeat split; auto using keeps_refl; lia.
Qed.

Lemma step_in_order : in_order step.
Proof.
  intros s o i.
  assert (same : came i [o] [reply s o] = [] -> went i [reply s o] = [] -> taken_back i [reply s o] = [] ->
    ended i [o] [reply s o] = 0 ->
    match nth_error (flows s) i, nth_error (flows s) i with
    | Some f, Some g => follows i o (reply s o) f g
    | None, None => came i [o] [reply s o] = [] /\ went i [reply s o] = [] /\ taken_back i [reply s o] = [] /\
                    ended i [o] [reply s o] = 0
    | _, _ => False
    end).
  { intros C W B E. destruct (nth_error (flows s) i); [now apply nothing_follows|auto]. }
  destruct o as [j op size| |j lat|j k]; cbn in *.
  - destruct (submit j op size s) as [s'|] eqn:H; cbn in *; [|now apply same].
    unfold submit in H. destruct (nth_error (flows s) j) as [f|] eqn:N; [|discriminate].
    destruct (size <? 1); [discriminate|]. destruct (max_bytes <? size); [discriminate|].
    destruct (Z.leb_spec (capacity f) (Z.of_nat (length (queue f)))); [discriminate|]. injection H as <-. cbn.
    rewrite nth_update, N. destruct (Nat.eqb_spec j i) as [->|]; [|now apply same].
    rewrite N. unfold follows, queued. cbn. rewrite Nat.eqb_refl, app_length. cbn. repeat split; auto using keeps_refl; lia.
  - destruct (next s) as [[[j size] s']|] eqn:H; cbn in *; [|now apply same].
    apply next_spec in H as (f & rest & v & N & Q & _ & _ & _ & ->). cbn.
    rewrite nth_update, N. destruct (Nat.eqb_spec j i) as [->|D].
    + rewrite N. unfold follows, queued. cbn. rewrite Nat.eqb_refl, Q, app_nil_r. cbn [length].
      repeat split; auto using keeps_refl; cbn; lia.
    + now apply same.
  - destruct (complete j lat s) as [s'|] eqn:H; cbn in *; [|now apply same].
    unfold complete in H. destruct (nth_error (flows s) j) as [f|] eqn:N; [|discriminate].
    destruct (flying f <=? 0); [discriminate|].
    assert (E : flows s' = update j (landed f) (flows s)) by (destruct (_ || _)%bool; injection H as <-; reflexivity).
    rewrite E, nth_update, N. destruct (Nat.eqb_spec j i) as [->|]; [|now apply same].
    rewrite N. unfold follows, queued. cbn. rewrite Nat.eqb_refl, app_nil_r. repeat split; auto using keeps_refl; lia.
  - destruct (cancel j k s) as [[size s']|] eqn:H; cbn in *; [|now apply same].
    unfold cancel in H. destruct (nth_error (flows s) j) as [f|] eqn:N; [|discriminate].
    destruct (nth_error (queue f) k) as [z|] eqn:K; [|discriminate]. injection H as <- <-.
    cbn [flows]. rewrite nth_update, N. destruct (Nat.eqb_spec j i) as [->|D].
    + rewrite N. pose proof (taken_apart _ _ _ K) as A. unfold follows, queued.
      cbn [came went taken_back ended without queue capacity flying app length]. rewrite Nat.eqb_refl, !app_nil_r.
      split; [reflexivity|]. split; [apply keeps_without|]. split.
      * rewrite A at 1. cbn [app]. symmetry. apply Permutation_middle.
      * split; [lia|]. intros L. destruct (keeps_length _ _ (keeps_without (queue f) k)). lia.
    + now apply same.
Qed.

Lemma nth_rebase s i :
  match nth_error (flows s) i, nth_error (flows (rebase s)) i with
  | Some f, Some g => capacity g = capacity f /\ queue g = queue f /\ flying g = flying f
  | None, None => True
  | _, _ => False
  end.
Proof.
  unfold rebase. destruct (_ <=? _); cbn; [rewrite nth_error_map|]; now destruct (nth_error (flows s) i).
Qed.

Lemma step_rebased_in_order : in_order step_rebased.
Proof.
  intros s o i. pose proof (step_in_order s o i) as K. destruct o as [j op size| |j lat|j k]; cbn in *; auto.
  unfold next_rebased. destruct (next s) as [[[j size] s']|]; auto. pose proof (nth_rebase s' i) as R.
  destruct (nth_error (flows s) i) as [f|], (nth_error (flows s') i) as [g|], (nth_error (flows (rebase s')) i) as [h|]; try easy.
  unfold follows, queued in *. destruct R as (-> & -> & ->). exact K.
Qed.

(** ** A run *)

Fixpoint answers (call : state -> op -> state) (s : state) (os : list op) : list answer :=
  match os with [] => [] | o :: os => reply s o :: answers call (call s o) os end.

Lemma replies_answers os : forall s, replies s os = answers step s os.
Proof. induction os as [|o os IH]; intros s; cbn; [reflexivity|]. now rewrite IH. Qed.

Lemma replies_rebased_answers os : forall s, replies_rebased s os = answers step_rebased s os.
Proof.
  induction os as [|o os IH]; intros s; cbn; [reflexivity|]. rewrite IH. f_equal.
  destruct o; cbn; auto. unfold next_rebased. now destruct (next s) as [[[j size] s']|].
Qed.

Lemma run_in_order call : in_order call -> forall os s i,
  match nth_error (flows s) i, nth_error (flows (fold_left call os s)) i with
  | Some f, Some g =>
      capacity g = capacity f /\ keeps (queue f ++ came i os (answers call s os)) (went i (answers call s os) ++ queue g) /\
      Permutation (queue f ++ came i os (answers call s os))
        (went i (answers call s os) ++ taken_back i (answers call s os) ++ queue g) /\
      flying g = flying f + Z.of_nat (length (went i (answers call s os))) - ended i os (answers call s os) /\
      (queued f <= capacity f -> queued g <= capacity g)
  | None, None => came i os (answers call s os) = [] /\ went i (answers call s os) = [] /\
                  taken_back i (answers call s os) = [] /\ ended i os (answers call s os) = 0
  | _, _ => False
  end.
Proof.
  intros K os. induction os as [|o os IH]; intros s i; cbn [fold_left answers].
  - destruct (nth_error (flows s) i); [|auto]. cbn. rewrite app_nil_r. repeat split; auto using keeps_refl; lia.
  - specialize (K s o i). specialize (IH (call s o) i).
    rewrite (came_one i o os), (went_one i (reply s o)), (taken_back_one i (reply s o)), (ended_one i o os).
    destruct (nth_error (flows s) i) as [f|], (nth_error (flows (call s o)) i) as [g|],
      (nth_error (flows (fold_left call os (call s o))) i) as [h|]; try easy.
    + destruct K as (K1 & K2 & K3 & K4 & K5), IH as (I1 & I2 & I3 & I4 & I5). rewrite app_length.
      set (c1 := came i [o] [reply s o]) in *. set (c2 := came i os _) in *. set (w1 := went i [reply s o]) in *.
      set (w2 := went i (answers _ _ _)) in *. set (b1 := taken_back i [reply s o]) in *. set (b2 := taken_back i _) in *.
      split; [congruence|]. split; [|split; [|split; [lia|auto]]].
      * assert (T : keeps ((queue f ++ c1) ++ c2) (w1 ++ (w2 ++ queue h))).
        { apply keeps_trans with ((w1 ++ queue g) ++ c2); [apply keeps_app; auto using keeps_refl|].
          rewrite <- app_assoc. apply keeps_app; auto using keeps_refl. }
        rewrite <- !app_assoc in *. exact T.
      * rewrite (app_assoc (queue f)), K3, <- !app_assoc. apply Permutation_app_head. rewrite I3, !app_assoc.
        apply Permutation_app_tail, Permutation_app_tail, Permutation_app_comm.
    + destruct K as (-> & -> & -> & ->), IH as (-> & -> & -> & ->). auto.
Qed.

(** Within a class it is first come, first served, and nothing is lost or taken twice: after any calls, what has gone, in the
    order in which it went, and then what waits, is what waited and what was accepted since, in the order in which it came, but
    for what was taken back; and all of these are what went, what was taken back, and what waits. *)
Theorem a_class_is_served_in_order s os i :
  keeps (queue_of i s ++ came i os (replies s os)) (went i (replies s os) ++ queue_of i (steps s os)) /\
  Permutation (queue_of i s ++ came i os (replies s os))
    (went i (replies s os) ++ taken_back i (replies s os) ++ queue_of i (steps s os)).
Proof.
  rewrite replies_answers. pose proof (run_in_order step step_in_order os s i) as R. unfold queue_of, steps.
  destruct (nth_error (flows s) i), (nth_error (flows (fold_left step os s)) i);
    [split; apply R|easy|easy|destruct R as (-> & -> & -> & _); split; constructor].
Qed.

(** The same of what C runs, where tags start again. *)
Theorem a_class_is_served_in_order_by_c s os i :
  keeps (queue_of i s ++ came i os (replies_rebased s os)) (went i (replies_rebased s os) ++ queue_of i (steps_rebased s os)) /\
  Permutation (queue_of i s ++ came i os (replies_rebased s os))
    (went i (replies_rebased s os) ++ taken_back i (replies_rebased s os) ++ queue_of i (steps_rebased s os)).
Proof.
  rewrite replies_rebased_answers. pose proof (run_in_order step_rebased step_rebased_in_order os s i) as R.
  unfold queue_of, steps_rebased.
  destruct (nth_error (flows s) i), (nth_error (flows (fold_left step_rebased os s)) i);
    [split; apply R|easy|easy|destruct R as (-> & -> & -> & _); split; constructor].
Qed.

(** If none of a class is taken back, what came is what went and then what waits, one by one. *)
Theorem without_cancels_nothing_is_left_out s os i : taken_back i (replies s os) = [] ->
  queue_of i s ++ came i os (replies s os) = went i (replies s os) ++ queue_of i (steps s os).
Proof.
  intros B. destruct (a_class_is_served_in_order s os i) as [K P]. rewrite B in P. symmetry.
  apply (proj2 (keeps_length _ _ K)). symmetry. exact (Permutation_length P).
Qed.

(** What is in flight of a class is what was in flight and what has gone since, less the completions that counted. *)
Theorem in_flight_is_what_went s os i :
  flying_of i (steps s os) = flying_of i s + Z.of_nat (length (went i (replies s os))) - ended i os (replies s os).
Proof.
  rewrite replies_answers. pose proof (run_in_order step step_in_order os s i) as R. unfold flying_of, steps.
  destruct (nth_error (flows s) i), (nth_error (flows (fold_left step os s)) i);
    [apply R|easy|easy|now destruct R as (_ & -> & _ & ->)].
Qed.

(** After any calls, by the definition or in C, each class of a new scheduler still has its capacity, and no more of its requests
    wait than that. *)
Theorem never_more_than_the_capacity cs l os i c :
  nth_error cs i = Some c -> 0 <= room c ->
  forall t, In t [steps (make cs l) os; steps_rebased (make cs l) os] ->
  exists f, nth_error (flows t) i = Some f /\ capacity f = room c /\ queued f <= room c.
Proof.
  intros N P.
  assert (K : forall call, in_order call ->
    exists f, nth_error (flows (fold_left call os (make cs l))) i = Some f /\ capacity f = room c /\ queued f <= room c).
  { intros call K. pose proof (run_in_order call K os (make cs l) i) as R. cbn in R. rewrite nth_error_map, N in R. cbn in R.
    destruct (nth_error (flows (fold_left call os (make cs l))) i) as [f|]; [|easy]. destruct R as (C & _ & _ & _ & Q).
    exists f. split; [reflexivity|]. split; [auto|]. rewrite <- C. now apply Q. }
  intros t [<-|[<-|[]]]; apply K; [exact step_in_order|exact step_rebased_in_order].
Qed.

(** ** Of equals *)

Lemma look_first pre f b : best_of pre b ->
  (forall r, b = Some r -> forall j g, (j < chosen r)%nat -> nth_error pre j = Some g -> queue g <> [] ->
     least_key r < tag g + handicap g) ->
  forall r, look (length pre) f b = Some r -> forall j g, (j < chosen r)%nat -> nth_error (pre ++ [f]) j = Some g ->
    queue g <> [] -> least_key r < tag g + handicap g.
Proof.
  intros B L r E j g J N NE. unfold look in E.
  assert (P : (j < length pre)%nat -> nth_error pre j = Some g) by (intros; now rewrite nth_error_app1 in N).
  destruct (queue f) as [|z q].
  - subst b. destruct B as ((h & H & _) & _). assert (chosen r < length pre)%nat by (apply nth_error_Some; congruence).
    apply (L r eq_refl j); auto. apply P. lia.
  - destruct b as [b|].
    + destruct B as ((h & H & _) & _ & F). assert (chosen b < length pre)%nat by (apply nth_error_Some; congruence).
      injection E as <-. destruct (Z.ltb_spec (tag f + handicap f) (least_key b)); cbn in *.
      * destruct (Forall_nth _ _ _ _ F (P J) NE). lia.
      * apply (L b eq_refl j); auto. apply P. lia.
    + injection E as <-. cbn in *. destruct NE. exact (Forall_nth _ _ _ _ B (P J)).
Qed.

Lemma scan_first fs : forall pre b, best_of pre b ->
  (forall r, b = Some r -> forall j g, (j < chosen r)%nat -> nth_error pre j = Some g -> queue g <> [] ->
     least_key r < tag g + handicap g) ->
  forall r, scan (length pre) fs b = Some r -> forall j g, (j < chosen r)%nat -> nth_error (pre ++ fs) j = Some g ->
    queue g <> [] -> least_key r < tag g + handicap g.
Proof.
  induction fs as [|f fs IH]; intros pre b B L r E j g J N NE; cbn [scan] in E.
  - rewrite app_nil_r in N. eauto.
  - replace (pre ++ f :: fs) with ((pre ++ [f]) ++ fs) in N by now rewrite <- app_assoc.
    replace (S (length pre)) with (length (pre ++ [f])) in E by (rewrite app_length; cbn; lia).
    eapply (IH (pre ++ [f])); [exact (look_best pre f b B)|exact (look_first pre f b B L)|exact E|exact J|exact N|exact NE].
Qed.

(** Of classes with equal tags when warps are taken off, the one with the lower number goes: those before it that have requests
    waiting are all further ahead. *)
Theorem of_equals_the_lower_number_goes s i size s' f j g :
  next s = Some (i, size, s') -> nth_error (flows s) i = Some f ->
  (j < i)%nat -> nth_error (flows s) j = Some g -> queue g <> [] -> tag f + handicap f < tag g + handicap g.
Proof.
  unfold next. intros H N J G NE. destruct (_ <=? _); [discriminate|].
  pose proof (scan_all (flows s)) as B. pose proof (scan_first (flows s) [] None) as F. cbn in F.
  destruct (scan 0 (flows s) None) as [r|]; [|discriminate]. destruct B as ((f' & N' & _ & K) & _). rewrite N' in H.
  destruct (queue f') as [|z rest]; [discriminate|]. injection H as <- <- <-. rewrite N in N'. injection N' as <-.
  rewrite <- K. eapply F; [constructor|discriminate|reflexivity|exact J|exact G|exact NE].
Qed.
