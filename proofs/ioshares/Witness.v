(* SPDX-License-Identifier: PostgreSQL *)
(** * Witness: the hypotheses of the main theorems can be met, and the bound is nearly reached *)
From Pgquern.common Require Import Integers Premises Parts.
From Pgquern.ioshares Require Import Algorithms Spec Examples Consistent Fairness Overflow Limit Order Shares.

(** The four classes of PostgreSQL, the first with a warp of 1 MiB; a window of two completions, no target. *)
Definition classes : list class :=
  [Class 500 (2 ^ 20) 64; Class 200 0 64; Class 200 0 64; Class 100 0 64].

Definition narrow : limits := Limits 1 2 4 2 0.

Definition postgres : state := make classes narrow.

Definition M : Z := 8192.

(** Their factors are 2, 5, 5 and 10. *)
Theorem factors_of_postgres : map factor (flows postgres) = [2; 5; 5; 10].
Proof. reflexivity. Qed.

(** Three requests of each of the first two classes come. *)
Definition coming : list op := concat (repeat [Submit 0 0 M; Submit 1 0 M] 3).

(** Then one goes and completes, and another one, slowly and quickly. *)
Definition going (lat : Z) : list op := [Next; Complete 0 lat; Next; Complete 0 lat].

Lemma narrow_is_sound : sound narrow.
Proof. constructor; cbn; lia. Qed.

(** The scheduler of PostgreSQL's classes is consistent and modest: no theorem about such schedulers is vacuous. *)
Theorem postgres_is_consistent : consistent M (largest_warp classes) postgres /\ modest postgres.
Proof.
  split.
  - apply a_new_one_is_consistent; [unfold M; lia| |apply narrow_is_sound]. repeat constructor; cbn; lia.
  - constructor; [|vm_compute; split; [discriminate|reflexivity]|]; repeat (constructor; [try split; vm_compute; discriminate|]); constructor.
Qed.

(** All calls of these witnesses are within the bound on sizes. *)
Theorem calls_are_within : Forall (within M) (coming ++ going 100).
Proof. repeat constructor; cbn; lia. Qed.

Definition has_waiting (i : nat) (s : state) : bool :=
  match nth_error (flows s) i with Some f => match queue f with [] => false | _ => true end | None => false end.

Fixpoint throughout_b (p : state -> bool) (s : state) (os : list op) : bool :=
  p s && match os with [] => true | o :: os => throughout_b p (step s o) os end.

Lemma has_waiting_sound i s : has_waiting i s = true -> backlogged i s.
Proof. unfold has_waiting, backlogged. destruct (nth_error (flows s) i) as [f|]; [|easy]. exists f. now destruct (queue f). Qed.

Lemma throughout_sound i os : forall s, throughout_b (has_waiting i) s os = true -> throughout (backlogged i) s os.
Proof.
  induction os as [|o os IH]; intros s H; cbn in *; apply andb_true_iff in H as [H T]; (split; [now apply has_waiting_sound|]);
    [exact I|now apply IH].
Qed.

(** Two classes stay backlogged while both are served: the theorem of fairness speaks of this run. *)
Theorem two_stay_backlogged : let s := steps postgres coming in
  throughout (backlogged 0) s (going 100) /\ throughout (backlogged 1) s (going 100) /\
  map charged (flows (steps s (going 100))) = [2 * M; 0; 0; 0].
Proof.
  cbv zeta. split; [apply throughout_sound; vm_compute; reflexivity|].
  split; [apply throughout_sound; vm_compute; reflexivity|vm_compute; reflexivity].
Qed.

(** So many windows of two completions each, one after the other, while a request of the same class waits. *)
Definition windows (n : nat) (lat : Z) : list op :=
  concat (repeat [Submit 0 0 M; Next; Complete 0 lat] (2 * n)).

(** A probe finds the floor; the limit rises; it falls in a slow window, and rises again once the next one is over. *)
Theorem limit_falls_and_recovers :
  let limit_after os := limit (steps postgres (coming ++ os)) in
  limit_after [] = 1 /\ limit_after (windows 2 100) = 2 /\ limit_after (windows 4 100) = 3 /\
  let slow := windows 4 100 ++ concat (repeat [Submit 0 0 M; Next; Complete 0 176] 3) in
  limit_after slow = 2 /\ limit_after (slow ++ windows 2 100) = 3.
Proof. vm_compute. repeat split. Qed.

(** Tags start again: after five of the largest requests of that class the virtual time of C is lower than that of the
    definition, and both answer alike. *)
Theorem tags_start_again :
  vtime (steps_rebased steep alone) < vtime (steps steep alone) /\
  replies_rebased steep alone = replies steep alone /\ 2 ^ 61 < vtime (steps steep alone).
Proof. vm_compute. repeat split; reflexivity. Qed.

Definition uneven : state := make [Class 1 0 8; Class 1 0 8] (Limits 1 1 1 1 1).

(** The bound is reached: of two classes with equal shares, without warps, one pays for two requests of 100 bytes while the other
    waits and pays nothing.  One request for both classes together would be too little. *)
Theorem bound_is_reached :
  let s := steps uneven [Submit 1 0 100; Submit 1 0 100; Next; Complete 1 1; Submit 0 0 100; Submit 0 0 100; Submit 0 0 100] in
  let os := [Next; Complete 0 1; Next] in
  throughout (backlogged 0) s os /\ throughout (backlogged 1) s os /\
  map paid (flows s) = [0; 100] /\ map paid (flows (steps s os)) = [200; 100] /\
  let f := flow_of [Class 1 0 8; Class 1 0 8] (Class 1 0 8) in bound 100 f f = 200.
Proof.
  cbv zeta. split; [apply throughout_sound; vm_compute; reflexivity|].
  split; [apply throughout_sound; vm_compute; reflexivity|vm_compute; repeat split].
Qed.

(** The run of Examples.v fills both classes, and is refused requests of each; of what is accepted some are taken back, one waits
    in the end, and two are in flight. *)
Theorem run_fills_both_classes :
  queue_of 0 (steps small (firstn 8 run)) = [1; 2] /\ queue_of 1 (steps small (firstn 8 run)) = [4; 6; 7] /\
  came 0 run (replies small run) = [1; 2; max_bytes; 9] /\ came 1 run (replies small run) = [5; 4; 6; 7; 3; 2; 8] /\
  went 0 (replies small run) = [1; 2; max_bytes] /\ went 1 (replies small run) = [5; 4; 6; 7] /\
  taken_back 0 (replies small run) = [9] /\ taken_back 1 (replies small run) = [3; 8] /\
  queue_of 0 (steps small run) = [] /\ queue_of 1 (steps small run) = [2] /\ flying_of 1 (steps small run) = 2.
Proof. vm_compute. repeat split. Qed.

(** ** The premises of each theorem, met together *)

Definition W : Z := largest_warp classes.

Definition busy : state := steps postgres coming.

Lemma steps_keep_consistent os : forall s, consistent M W s -> Forall (within M) os -> consistent M W (steps s os).
Proof.
  induction os as [|o os IH]; intros s C B; [exact C|]. inversion_clear B as [|? ? O Os]. apply IH; [|exact Os].
  now apply every_call_keeps_consistent.
Qed.

Lemma busy_is_consistent : consistent M W busy.
Proof.
  apply steps_keep_consistent; [apply postgres_is_consistent|]. assert (B := calls_are_within). now apply Forall_app in B as [B _].
Qed.

Lemma going_is_within lat : 0 <= lat -> Forall (within M) (going lat).
Proof. intros L. repeat constructor; exact L. Qed.

Lemma every_call_keeps_consistent_witness : premises_of every_call_keeps_consistent.
Proof. exists M, W, busy, (Submit 2 0 M). split; [exact busy_is_consistent|]. cbn. lia. Qed.
Lemma factors_are_exact_witness : premises_of factors_are_exact.
Proof. exists classes, (Class 500 (2 ^ 20) 64). split; [repeat constructor; discriminate|now left]. Qed.
Lemma a_new_one_is_consistent_witness : premises_of a_new_one_is_consistent.
Proof.
  exists M, classes, narrow. split; [discriminate|]. split; [|exact narrow_is_sound]. repeat constructor; discriminate.
Qed.
Lemma work_is_conserved_witness : premises_of work_is_conserved.
Proof. exists M, W, busy. exact busy_is_consistent. Qed.
Lemma nothing_goes_at_the_limit_witness : premises_of nothing_goes_at_the_limit.
Proof. exists (steps busy [Next; Next]). vm_compute. discriminate. Qed.
Lemma the_least_goes_witness : inner_premises_of the_least_goes.
Proof.
  do 3 eexists. exists 0%nat. do 3 eexists. split; [exact busy_is_consistent|]. do 2 (split; [vm_compute; reflexivity|]).
  eexists. split; [vm_compute; reflexivity|]. exists 0%nat. eexists. split; [vm_compute; reflexivity|vm_compute; discriminate].
Qed.
Lemma nothing_is_banked_witness : premises_of nothing_is_banked.
Proof.
  exists M, W, busy, 2%nat, 0, M. do 3 eexists. split; [exact busy_is_consistent|]. repeat split; vm_compute; reflexivity.
Qed.

(* Both classes stay backlogged; one is served. *)
Lemma service_is_fair_witness : premises_of service_is_fair.
Proof.
  exists M, W, busy, (going 100), 0%nat, 1%nat. do 4 eexists. split; [exact busy_is_consistent|].
  split; [now apply going_is_within|]. do 4 (split; [vm_compute; reflexivity|]). split; apply two_stay_backlogged.
Qed.
Lemma service_divides_by_the_shares_witness : premises_of service_divides_by_the_shares.
Proof.
  exists M, W, busy, (going 100), 0%nat, 1%nat. do 4 eexists. exists 1000, 500, 200, (2 ^ 20), 0.
  split; [exact busy_is_consistent|]. split; [now apply going_is_within|]. do 4 (split; [vm_compute; reflexivity|]).
  do 2 (split; [apply two_stay_backlogged|]). repeat split; vm_compute; discriminate || reflexivity.
Qed.
Lemma completed_service_is_fair_witness : premises_of completed_service_is_fair.
Proof.
  exists M, W, busy, (going 100), 0%nat, 1%nat. do 4 eexists. exists 0, 0, (2 * M), 0. split; [exact busy_is_consistent|].
  split; [now apply going_is_within|]. split; [discriminate|]. do 4 (split; [vm_compute; reflexivity|]).
  do 2 (split; [apply two_stay_backlogged|]). repeat split; vm_compute; discriminate.
Qed.
Lemma nobody_starves_witness : premises_of nobody_starves.
Proof.
  exists M, W, busy, (going 100), 1%nat, 0%nat. do 4 eexists. split; [exact busy_is_consistent|].
  split; [now apply going_is_within|]. do 4 (split; [vm_compute; reflexivity|]). split; [apply two_stay_backlogged|reflexivity].
Qed.

(* Three windows: after the probe and what it leaves behind the limit may move. *)
Definition found : state := steps postgres (coming ++ windows 3 100).

Lemma found_is_consistent : consistent M W found.
Proof. apply steps_keep_consistent; [apply postgres_is_consistent|]. repeat constructor; discriminate. Qed.

Lemma the_limit_grows_under_pressure_witness : premises_of the_limit_grows_under_pressure.
Proof. exists narrow, (Pace 2 100 0 false false), 100, true. split; [exact narrow_is_sound|]. vm_compute. repeat split; discriminate. Qed.
Lemma a_probe_keeps_the_level_witness : premises_of a_probe_keeps_the_level.
Proof. exists narrow, (Pace 2 100 0 true false), 100, true. reflexivity. Qed.
Lemma the_limit_of_a_probe_witness : premises_of the_limit_of_a_probe.
Proof. exists narrow, (Pace 2 100 0 true false). split; [exact narrow_is_sound|discriminate]. Qed.
Lemma a_target_moves_the_bound_a_little_witness : premises_of a_target_moves_the_bound_a_little.
Proof. exists narrow, 100. discriminate. Qed.
Lemma at_the_floor_the_limit_does_not_fall_witness : premises_of at_the_floor_the_limit_does_not_fall.
Proof. exists narrow, (Pace 2 100 0 false false), 100, true. split; [exact narrow_is_sound|]. vm_compute. repeat split; discriminate. Qed.
Lemma a_probe_forgets_the_floor_witness : premises_of a_probe_forgets_the_floor.
Proof. exists narrow, (Pace 2 100 0 true false), 100, true. split; reflexivity. Qed.
Lemma the_limit_stays_in_range_witness : premises_of the_limit_stays_in_range.
Proof. exists M, W, busy, (going 100). split; [exact busy_is_consistent|now apply going_is_within]. Qed.
Lemma calm_never_lowers_the_limit_witness : premises_of calm_never_lowers_the_limit.
Proof.
  exists M, W, (windows 1 100), found. split; [exact found_is_consistent|]. split; [repeat constructor; discriminate|].
  split; [right; vm_compute; discriminate|]. vm_compute. repeat split; right; discriminate.
Qed.
Lemma taken_back_iff_it_waits_witness : premises_of taken_back_iff_it_waits.
Proof. exists busy, 0%nat, 1%nat. exact I. Qed.
Lemma what_is_taken_back_costs_nothing_witness : premises_of what_is_taken_back_costs_nothing.
Proof. exists busy, 0%nat, 1%nat, M. do 3 eexists. repeat split; vm_compute; reflexivity. Qed.
Lemma without_cancels_nothing_is_left_out_witness : premises_of without_cancels_nothing_is_left_out.
Proof. exists busy, (going 100), 0%nat. vm_compute. reflexivity. Qed.
Lemma rebase_is_invisible_witness : premises_of rebase_is_invisible.
Proof. exists M, W, busy, (going 100). split; [exact busy_is_consistent|now apply going_is_within]. Qed.
Lemma tags_fit_witness : inner_premises_of tags_fit.
Proof.
  exists M, W, postgres, coming. split; [apply postgres_is_consistent|]. split; [apply postgres_is_consistent|].
  do 3 (split; [vm_compute; discriminate|]). assert (B := calls_are_within).
  apply Forall_app in B as [B _]. split; [exact B|]. eexists. vm_compute. now left.
Qed.

Lemma the_limit_follows_the_rule_witness : premises_of the_limit_follows_the_rule.
Proof. exists narrow, (Pace 2 100 0 false false), 201, true. split; [exact narrow_is_sound|]. vm_compute. repeat split; discriminate. Qed.
Lemma a_window_counts_all_its_completions_witness : premises_of a_window_counts_all_its_completions.
Proof. exists (steps busy [Next]), 0%nat, 7. eexists. vm_compute. reflexivity. Qed.
Lemma never_more_than_the_capacity_witness : premises_of never_more_than_the_capacity.
Proof.
  exists classes, narrow, coming, 0%nat, (Class 500 (2 ^ 20) 64). split; [reflexivity|]. split; [vm_compute; discriminate|].
  eexists. left. reflexivity.
Qed.
(* The first class has paid for one request, and has another one waiting. *)
Lemma of_equals_the_lower_number_goes_witness : premises_of of_equals_the_lower_number_goes.
Proof.
  exists (steps uneven [Submit 0 0 1; Submit 0 0 1; Submit 1 0 100; Submit 1 0 100; Next; Complete 0 1]), 1%nat, 100. do 2 eexists.
  exists 0%nat. eexists. do 4 (split; [vm_compute; reflexivity|]). discriminate.
Qed.

(** ** Shares that change: the first class gets what the second one had *)

Definition turned_shares : list Z := [200; 500; 200; 100].
Definition after_turn : state := shared turned_shares busy.

Lemma it_turns : set_shares turned_shares busy = Some after_turn.
Proof. vm_compute. reflexivity. Qed.

Lemma busy_is_modest : modest busy.
Proof.
  constructor; [|vm_compute; split; [discriminate|reflexivity]|]; apply Forall_forall; intros f I; vm_compute in I;
    (repeat destruct I as [<-|I]; [..|destruct I]); try split; vm_compute; discriminate.
Qed.

Lemma new_shares_keep_consistent_witness : premises_of new_shares_keep_consistent.
Proof. exists M, W, busy, turned_shares, after_turn. split; [exact busy_is_consistent|exact it_turns]. Qed.
Lemma a_lead_stays_as_many_bytes_witness : premises_of a_lead_stays_as_many_bytes.
Proof.
  exists M, W, busy, turned_shares, after_turn, 1%nat. do 3 eexists. split; [exact busy_is_consistent|]. split; [exact it_turns|].
  do 2 (split; [vm_compute; reflexivity|]). vm_compute. reflexivity.
Qed.
Lemma new_shares_hold_at_once_witness : premises_of new_shares_hold_at_once.
Proof.
  exists M, W, busy, turned_shares, after_turn, (going 100), 0%nat, 1%nat. do 6 eexists. split; [exact busy_is_consistent|].
  split; [exact it_turns|]. do 2 (split; [vm_compute; reflexivity|]). split; [now apply going_is_within|].
  do 4 (split; [vm_compute; reflexivity|]). split; apply throughout_sound; vm_compute; reflexivity.
Qed.
Lemma new_shares_forget_where_tags_began_witness : premises_of new_shares_forget_where_tags_began.
Proof. exists 0, busy, busy, turned_shares. apply shifted_refl. Qed.

Definition phases : list phase := [(coming, turned_shares); (going 100, [1; 1; 1; 1])].
Lemma phases_are_within : Forall (phase_within M) phases.
Proof.
  assert (B := calls_are_within). apply Forall_app in B as [B _].
  constructor; [exact B|]. constructor; [|constructor]. now apply (going_is_within 100).
Qed.

Lemma rebase_is_invisible_through_new_shares_witness : premises_of rebase_is_invisible_through_new_shares.
Proof. exists M, W, postgres, phases. split; [apply postgres_is_consistent|exact phases_are_within]. Qed.
Lemma new_shares_stay_modest_witness : premises_of new_shares_stay_modest.
Proof.
  exists M, W, busy, turned_shares, after_turn. split; [exact busy_is_consistent|]. split; [exact busy_is_modest|exact it_turns].
Qed.
Lemma a_lead_fits_its_new_factor_witness : premises_of a_lead_fits_its_new_factor.
Proof.
  exists M, W, busy. do 1 eexists. exists 3. split; [exact busy_is_consistent|]. split; [exact busy_is_modest|].
  split; [vm_compute; discriminate|]. split; [vm_compute; left; reflexivity|]. vm_compute. split; discriminate.
Qed.
Lemma tags_fit_through_new_shares_witness : inner_premises_of tags_fit_through_new_shares.
Proof.
  exists M, W, postgres, phases. split; [apply postgres_is_consistent|]. split; [apply postgres_is_consistent|].
  do 3 (split; [vm_compute; discriminate|]). split; [exact phases_are_within|]. eexists. vm_compute. now left.
Qed.
