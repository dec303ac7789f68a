(* SPDX-License-Identifier: PostgreSQL *)
(** * Witnesses: locks that can be reached, on which the theorems say something *)
From Pgquern.common Require Import Integers Premises Parts.
From Pgquern.rangelock Require Import Tree Lock Shape TreeFacts LockFacts Balance Told Word WordFacts Examples.

(** A writer of bytes 0 to 3, a writer of 2 to 5, a reader of 5 to 8. *)
Definition first := Request 1 0 4 true.
Definition second := Request 2 2 6 true.
Definition third := Request 3 5 9 false.

Definition three : lock := fst (ask (fst (ask (fst (ask new_lock 0 4 true)) 2 6 true)) 5 9 false).

(** Three requests, of which two wait, make a lock that can be reached. *)
Theorem three_can_be_reached : reachable three /\ requests three = [third; first; second].
Proof. split; [repeat constructor|vm_compute; reflexivity]. Qed.

(** The third conflicts with nothing that is held, and still waits: the second, which waits, came first. *)
Theorem the_third_waits_for_the_second :
  held three = [first] /\ waiting three = [third; second] /\ conflict first third = false /\
  snd (leave three first) = [2] /\ snd (leave three second) = [3].
Proof. vm_compute. auto. Qed.

Definition crowd : lock :=
  fold_left (fun s i => fst (ask s (Z.of_nat i) (Z.of_nat i + 1) false)) (seq 0 100) (fst (ask new_lock 0 100 true)).

Lemma crowd_can_be_reached l : forall s, reachable s ->
  reachable (fold_left (fun s i => fst (ask s (Z.of_nat i) (Z.of_nat i + 1) false)) l s).
Proof. induction l as [|i l IH]; intros s R; [exact R|]. cbn [fold_left]. apply IH. now apply after_ask. Qed.

(** A hundred readers of one byte each wait for a writer of all; when it leaves, all go. *)
Theorem a_hundred_go_at_once : reachable crowd /\ length (waiting crowd) = 100%nat /\
  length (snd (leave crowd (Request 1 0 100 true))) = 100%nat /\ height (shareds crowd) = 7.
Proof. split; [apply crowd_can_be_reached, after_ask, at_the_start|]. vm_compute. auto. Qed.

(** The calls of Examples.v make locks that can be reached, the last of them with requests that are held and that wait. *)
Theorem locks_can_be_reached : Forall reachable locks /\
  let s := last locks new_lock in map ticket (held s) = [11; 13; 5; 10] /\ map ticket (waiting s) = [12].
Proof.
  split; [|vm_compute; auto].
  assert (D : forall s c, reachable s -> reachable (done s c)).
  { intros s [from to mode|from to mode|number] R; cbn; [now apply after_ask|now apply after_try|].
    destruct (find _ (requests s)) as [x|] eqn:F; [|exact R]. apply find_some in F as [I _]. now apply after_leave. }
  assert (A : forall cs s, reachable s -> reachable (fold_left done cs s)).
  { induction cs as [|c cs IH]; intros s R; cbn; [exact R|]. now apply IH, D. }
  apply Forall_forall. intros s I. apply in_app_iff in I as [I|I]; apply in_map_iff in I as (n & <- & _); apply A, at_the_start.
Qed.

(** ** The premises of each theorem, met together *)

Lemma reachable_is_sound_witness : premises_of reachable_is_sound.
Proof. exists three. apply three_can_be_reached. Qed.
Lemma count_counts_witness : premises_of count_counts.
Proof.
  exists (exclusives three), third. destruct (reachable_is_sound three (proj1 three_can_be_reached)) as [_ O _ B]. now split.
Qed.
Lemma unblock_unblocks_witness : premises_of unblock_unblocks.
Proof. exact count_counts_witness. Qed.
Lemma held_iff_first_witness : premises_of held_iff_first.
Proof. exists three, second. split; [apply three_can_be_reached|]. vm_compute. auto. Qed.
Lemma held_iff_may_go_witness : premises_of held_iff_may_go.
Proof. exact held_iff_first_witness. Qed.
Lemma leave_grants_exactly_witness : premises_of leave_grants_exactly.
Proof. exists three, first, second. split; [apply three_can_be_reached|]. vm_compute. repeat split; auto. discriminate. Qed.
Lemma waits_for_an_earlier_one_witness : premises_of waits_for_an_earlier_one.
Proof. exists three, second. split; [apply three_can_be_reached|]. vm_compute. split; [auto|]. intros [E|[]]. discriminate. Qed.
Lemma first_is_held_witness : premises_of first_is_held.
Proof.
  exists three, first. split; [apply three_can_be_reached|]. split; [vm_compute; auto|].
  intros other [<-|[<-|[<-|[]]]]; vm_compute; discriminate.
Qed.

(* Two that do not conflict, and a third that waits for both. *)
Definition two_held : lock := fst (ask (fst (ask (fst (ask new_lock 0 4 false)) 2 6 false)) 0 9 true).

Lemma two_held_can_be_reached : reachable two_held.
Proof. repeat constructor. Qed.

Lemma held_never_conflict_witness : premises_of held_never_conflict.
Proof.
  exists two_held, (Request 1 0 4 false), (Request 2 2 6 false). split; [exact two_held_can_be_reached|].
  vm_compute. repeat split; auto. discriminate.
Qed.
Lemma nobody_waits_nobody_is_let_go_witness : premises_of nobody_waits_nobody_is_let_go.
Proof.
  exists two_held, (Request 3 0 9 true). split; [exact two_held_can_be_reached|]. split; [vm_compute; auto|].
  intros r [<-|[]]. reflexivity.
Qed.
Lemma conflict_is_a_common_byte_witness : premises_of conflict_is_a_common_byte.
Proof. exists first, second. vm_compute. split; reflexivity. Qed.
Lemma asked_is_granted_iff_it_may_go_witness : premises_of asked_is_granted_iff_it_may_go.
Proof. exists three, 2, 6, false. apply three_can_be_reached. Qed.
Lemma tried_is_granted_iff_it_may_go_witness : premises_of tried_is_granted_iff_it_may_go.
Proof. exact asked_is_granted_iff_it_may_go_witness. Qed.
Lemma nobody_else_leaves_witness : inner_premises_of nobody_else_leaves.
Proof.
  exists three, second, first. split; [apply three_can_be_reached|]. vm_compute. repeat split; auto; discriminate.
Qed.

(** ** Balance *)

(** A tree of the least number of ranges for its height, 4: seven. It is at the bound of size_is_fib. *)
Definition least : tree :=
  fold_left (fun t i => insert t (Entry (Request i i (i + 1) false) 0)) [5; 3; 7; 2; 4; 6; 1] Leaf.

(** Seven ranges can stand four high, and no fewer can. *)
Theorem seven_stand_four_high : balanced least /\ height least = 4 /\ size least = 7 /\ fib (4 + 2) = 8.
Proof. vm_compute. repeat split; discriminate. Qed.

Lemma height_is_depth_witness : premises_of height_is_depth.
Proof. exists least. apply seven_stand_four_high. Qed.
Lemma insert_keeps_balance_witness : premises_of insert_keeps_balance.
Proof. exists least, (Entry (Request 8 0 1 false) 0). apply seven_stand_four_high. Qed.
Lemma remove_keeps_balance_witness : premises_of remove_keeps_balance.
Proof. exists least, (Request 7 7 8 false). apply seven_stand_four_high. Qed.
Lemma size_is_fib_witness : premises_of size_is_fib.
Proof. exact height_is_depth_witness. Qed.
Lemma height_is_logarithmic_witness : premises_of height_is_logarithmic.
Proof. exact height_is_depth_witness. Qed.
Lemma height_in_memory_witness : premises_of height_in_memory.
Proof. exists least. split; [apply seven_stand_four_high|reflexivity]. Qed.
Lemma trees_stay_balanced_witness : premises_of trees_stay_balanced.
Proof. exists crowd. apply a_hundred_go_at_once. Qed.

(** ** Who is told *)

(** The first was told when it asked, the second when the first left; the third waits and was not told. *)
Theorem the_second_is_told_in_time : run (fst (leave three first)) [2; 1] /\ requests (fst (leave three first)) = [third; second].
Proof.
  split; [|vm_compute; reflexivity].
  assert (R : run three [1]) by exact (run_ask _ _ 5 9 false (run_ask _ _ 2 6 true (run_ask _ _ 0 4 true run_start))).
  apply (run_leave three [1] first R). vm_compute. auto.
Qed.

Lemma told_iff_held_witness : premises_of told_iff_held.
Proof. exists (fst (leave three first)), [2; 1], third. split; [apply the_second_is_told_in_time|]. vm_compute. auto. Qed.
Lemma told_iff_no_earlier_is_left_witness : premises_of told_iff_no_earlier_is_left.
Proof. exact told_iff_held_witness. Qed.
Lemma told_once_witness : premises_of told_once.
Proof. exists (fst (leave three first)), [2; 1]. apply the_second_is_told_in_time. Qed.

(** ** The word *)

Definition one : guarded := fst (come new_guarded 0 4 true).
Definition two : guarded := fst (come one 2 6 true).

(** The first comes alone; the second finds it, puts it into a tree, and waits. When the first has left, and the second, the word is
    open again. *)
Theorem the_second_shuts_the_word : used two /\ alone one = Alone 0 4 true /\ alone two = Shut /\ held (everybody two) = [first] /\
  waiting (everybody two) = [second] /\ snd (go two first) = [2] /\ alone (fst (go (fst (go two first)) second)) = Open.
Proof. split; [repeat constructor|vm_compute; auto 10]. Qed.

Lemma everybody_is_reachable_witness : premises_of everybody_is_reachable.
Proof. exists two. apply the_second_shuts_the_word. Qed.
Lemma come_is_ask_witness : premises_of come_is_ask.
Proof. exists one, 2, 6, true. repeat constructor. Qed.
Lemma try_come_is_try_witness : premises_of try_come_is_try.
Proof. exact come_is_ask_witness. Qed.
Lemma who_goes_alone_was_alone_witness : premises_of who_goes_alone_was_alone.
Proof. exists one, 0, 4, true. split; [repeat constructor|reflexivity]. Qed.
Lemma go_is_leave_witness : premises_of go_is_leave.
Proof. exists two, first. exact I. Qed.
Lemma a_log_hears_everybody_witness : premises_of a_log_hears_everybody.
Proof. exists (look one true). split; [repeat constructor|reflexivity]. Qed.
