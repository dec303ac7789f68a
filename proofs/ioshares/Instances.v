(* SPDX-License-Identifier: PostgreSQL *)
(** * Instances of the main theorems, to be computed

    Runs of small schedulers, and for each what a theorem assumes and what it concludes, both as a boolean. Witness.v proves that
    all of them are true. `make prove-mutants` computes them with a definition changed: where a hypothesis is true and its
    conclusion false, the theorem is false. *)
From Coq Require Import String ZArith List Bool.
From Pgquern.ioshares Require Import Algorithms Spec.
Import ListNotations.
Local Open Scope Z_scope.

Record instance := Instance { claim : string; hypothesis : bool; conclusion : bool }.
Definition fails (i : instance) : bool := hypothesis i && negb (conclusion i).
Definition holds (i : instance) : bool := hypothesis i && conclusion i.

Definition same (a b : list Z) : bool := if list_eq_dec Z.eq_dec a b then true else false.

(** Two classes with room for two and for three requests, the second with a warp; two or three in flight. *)
Definition small_classes : list class := [Class 2 0 2; Class 1 5 3].
Definition small : state := make small_classes (Limits 2 2 3 2 10).

(** Requests of different sizes, more than there is room for, of a class that is not there, and of forbidden sizes; some go, and
    some are completed, also more than are in flight. *)
Definition run : list op :=
  [Submit 0 0 1; Submit 0 0 2; Submit 0 0 3; Submit 1 0 5; Next; Submit 1 0 4; Submit 1 4 2; Submit 1 0 7; Submit 2 0 1; Submit 0 0 8; Submit 0 0 0;
   Next; Next; Complete 0 3; Complete 1 30; Complete 1 4; Next; Submit 0 0 (max_bytes + 1); Submit 0 0 max_bytes; Next;
   Complete 1 1; Next; Complete 0 1; Next; Next; Complete 0 50; Complete 0 50; Submit 0 0 9; Submit 1 0 3; Submit 1 0 2; Cancel 1 1;
   Cancel 0 0; Cancel 0 0; Cancel 1 5; Submit 1 0 8; Cancel 1 2; Next].

Definition classes_of_run : list nat := [0; 1; 2]%nat.

Fixpoint keeps_b (xs ys : list Z) : bool :=
  match xs, ys with
  | [], [] => true
  | [], _ :: _ => false
  | x :: xs, [] => keeps_b xs []
  | x :: xs, y :: ys' => if x =? y then keeps_b xs ys' else keeps_b xs (y :: ys')
  end.

Definition served_in_order (os : list op) (i : nat) : instance :=
  Instance "a_class_is_served_in_order" true
    (keeps_b (queue_of i small ++ came i os (replies small os)) (went i (replies small os) ++ queue_of i (steps small os)) &&
     Nat.eqb (List.length (queue_of i small ++ came i os (replies small os)))
       (List.length (went i (replies small os) ++ taken_back i (replies small os) ++ queue_of i (steps small os)))).

Definition in_flight_counted (os : list op) (i : nat) : instance :=
  Instance "in_flight_is_what_went" true
    (flying_of i (steps small os) =?
     flying_of i small + Z.of_nat (List.length (went i (replies small os))) - ended i os (replies small os)).

Definition is_some {A} (o : option A) : bool := match o with Some _ => true | None => false end.

Definition accepted (os : list op) (p : nat * Z) : instance :=
  let '(i, size) := p in let s := steps small os in
  Instance "accepted_iff_there_is_room" true
    (Bool.eqb (is_some (submit i 0 size s))
       match nth_error (flows s) i with
       | Some f => (1 <=? size) && (size <=? 2 ^ 30) && (queued f <? capacity f)
       | None => false
       end).

(** The class's requests less the one at a place, and nothing else changes but the count. *)
Definition back_iff_waiting (os : list op) (p : nat * nat) : list instance :=
  let '(i, k) := p in let s := steps small os in
  [Instance "taken_back_iff_it_waits" true (Bool.eqb (is_some (cancel i k s)) (Nat.ltb k (List.length (queue_of i s))));
   Instance "what_is_taken_back_costs_nothing" true
     match cancel i k s with
     | None => true
     | Some (_, t) =>
         (vtime t =? vtime s) && (in_flight t =? in_flight s) && (limit t =? limit s) && same (map tag (flows t)) (map tag (flows s)) &&
         same (map charged (flows t)) (map charged (flows s))
     end].

Definition counted (os : list op) (i : nat) : instance :=
  let s := steps small os in
  Instance "counted_iff_in_flight" true
    (Bool.eqb (is_some (complete i 1 s)) match nth_error (flows s) i with Some f => 0 <? flying f | None => false end).

Definition has_room (os : list op) (i : nat) : instance :=
  Instance "never_more_than_the_capacity" true
    match nth_error small_classes i with
    | None => true
    | Some c =>
        match nth_error (flows (steps small os)) i with
        | Some f => (capacity f =? room c) && (queued f <=? room c)
        | None => false
        end
    end.

Definition lower_number (os : list op) : instance :=
  let s := steps small os in
  Instance "of_equals_the_lower_number_goes" true
    match next s with
    | None => true
    | Some (i, _, _) =>
        match nth_error (flows s) i with
        | None => true
        | Some f => forallb (fun g => match queue g with [] => true | _ :: _ => tag f + handicap f <? tag g + handicap g end)
                      (firstn i (flows s))
        end
    end.

(** ** Consistent schedulers *)

Definition near_b (M W v : Z) (f : flow) : bool :=
  (1 <=? factor f) && (0 <=? warp f) && (warp f <=? W) && (handicap f =? W - warp f) &&
  forallb (fun size => (1 <=? size) && (size <=? M)) (queue f) && (0 <=? flying f) &&
  (tag f <=? v + warp f + factor f * M) && match queue f with [] => true | _ :: _ => v <=? tag f end &&
  (warp f mod factor f =? 0).

Definition sound_b (l : limits) : bool :=
  (1 <=? least l) && (least l <=? start l) && (start l <=? most l) && (1 <=? window l) && (window l <=? max_window) &&
  (0 <=? target l) && (target l <=? max_latency).

Definition consistent_b (M W : Z) (s : state) : bool :=
  (1 <=? M) && forallb (near_b M W (vtime s)) (flows s) && (waiting s =? total queued (flows s)) &&
  (in_flight s =? total flying (flows s)) && sound_b (bounds s) &&
  (least (bounds s) <=? level (pacing s)) && (level (pacing s) <=? most (bounds s)) &&
  (0 <=? floor (pacing s)) && (floor (pacing s) <=? max_latency) && (0 <=? age (pacing s)) && (age (pacing s) <=? probe_every) &&
  (probing (pacing s) || (age (pacing s) <? probe_every)) && (in_flight s <=? most (bounds s)) &&
  (0 <=? completed s) && (completed s <? Z.max (window (bounds s)) (level (pacing s))) &&
  (0 <=? latency s) && (latency s <=? completed s * max_latency).

(** Requests of 8 bytes at most, of two classes; the second comes back from idleness. *)
Definition even_classes : list class := [Class 1 0 8; Class 1 0 8].
Definition even : state := make even_classes (Limits 2 2 8 2 10).
Definition back : list op :=
  [Submit 0 0 8; Submit 0 0 8; Submit 0 0 8; Submit 0 0 8; Next; Next; Submit 1 0 8; Complete 0 30; Complete 0 2; Next; Next; Next;
   Complete 0 1; Complete 1 1; Complete 0 50].

(** The first class sends small requests, the second large ones. *)
Definition small_and_large : list op :=
  [Submit 0 0 1; Submit 0 0 1; Submit 0 0 1; Submit 1 0 8; Submit 1 0 8; Next; Complete 0 1; Next; Complete 1 1; Next; Complete 0 1].

Definition one_more (s : state) (o : op) : instance :=
  Instance "every_call_keeps_consistent" (consistent_b 8 0 s) (consistent_b 8 0 (step s o)).

Definition on_next (s : state) : list instance :=
  [Instance "work_is_conserved" (consistent_b 8 0 s) (Bool.eqb (is_some (next s)) ((0 <? waiting s) && (in_flight s <? limit s)));
   Instance "nothing_goes_at_the_limit" (limit s <=? in_flight s) (negb (is_some (next s)));
   Instance "the_least_goes" (consistent_b 8 0 s)
     match next s with
     | None => true
     | Some (i, _, _) =>
         match nth_error (flows s) i with
         | None => true
         | Some f => forallb (fun g => match queue g with [] => true | _ :: _ => tag f - warp f <=? tag g - warp g end) (flows s)
         end
     end].

Fixpoint both_wait (s : state) (os : list op) : bool :=
  negb (same (queue_of 0 s) []) && negb (same (queue_of 1 s) []) &&
  match os with [] => true | o :: os => both_wait (step s o) os end.

Definition paid_of (i : nat) (s : state) : Z := match nth_error (flows s) i with Some f => paid f | None => 0 end.

(** Four requests of 8 bytes of each class wait, and three go, the third once one of the first is done. *)
Definition full : state := steps even (List.concat (repeat [Submit 0 0 8; Submit 1 0 8] 4)).
Definition fair : instance :=
  let os := [Next; Next; Complete 0 1; Next] in let t := steps full os in
  Instance "service_is_fair" (consistent_b 8 0 full && both_wait full os)
    (Z.abs ((paid_of 0 t - paid_of 0 full) - (paid_of 1 t - paid_of 1 full)) <=? 16).

Definition factors (cs : list class) : list instance :=
  map (fun c => Instance "factors_are_exact" (forallb (fun d => 1 <=? share d) cs)
                  ((factor_of cs c * share c =? multiple cs) && (1 <=? factor_of cs c))) cs.

(** ** The limit *)

Definition limits_of (t : Z) : limits := Limits 2 4 40 3 t.
Definition ready (n f : Z) : pace := Pace n f 3 false false.

(** The bound that the header promises. *)
Definition promised (t f : Z) : Z := if t =? 0 then f * 7 / 4 else Z.max (f * 3 / 2) (Z.min (f * 2) t).

Definition rule (p : Z * Z) (q : Z * bool) : list instance :=
  let '(t, n) := p in let '(mean, b) := q in let l := limits_of t in
  let f := if (n =? 2) || (mean <? 100) then mean else 100 in
  [Instance "the_limit_follows_the_rule" (sound_b l && (2 <=? n) && (n <=? 40))
     (level (adapt l (ready n 100) mean b) =?
      if promised t f <? mean then Z.max 2 (Z.min (n - 1) (n * f * 5 / (mean * 4))) else if b then Z.min 40 (n + 1) else n);
   Instance "at_the_floor_the_limit_does_not_fall" (sound_b l && (2 <=? n) && (n <=? 40) && (mean <=? 100))
     (n <=? level (adapt l (ready n 100) mean b));
   Instance "the_floor_was_observed" true (let f := floor (adapt l (ready n 100) mean b) in (f =? 100) || (f =? mean));
   Instance "a_target_moves_the_bound_a_little" true ((150 <=? bound_of l 100) && (bound_of l 100 <=? 200))].

(** A window of each other kind, and what may be in flight. *)
Definition probe (a : pace) : list instance :=
  let l := limits_of 0 in
  [Instance "a_probe_keeps_the_level" (settling a || probing a) (level (adapt l a 500 true) =? level a);
   Instance "a_probe_forgets_the_floor" (negb (settling a) && probing a) (floor (adapt l a 500 true) =? 500);
   Instance "the_limit_of_a_probe" (sound_b l && (2 <=? level a))
     (limit_of l a =? if probing a then Z.max 2 (level a / 2) else level a)].

Definition paces : list pace :=
  flat_map (fun n => [Pace n 100 0 true true; Pace n 100 0 true false; Pace n 100 0 false true; Pace n 100 0 false false])
    [2; 3; 4; 5; 40].

(** Every 64th window that might raise it begins a probe, which is kept for two windows. *)
Definition in_time : instance :=
  Instance "a_probe_comes_in_time" true
    (let after n := fold_left (fun a _ => adapt (limits_of 0) a 100 true) (repeat 0 n) (Pace 4 100 0 false false) in
     negb (existsb (fun n => probing (after n)) (seq 1 63)) && probing (after 64%nat) && probing (after 65%nat) &&
     negb (probing (after 66%nat)) && (age (after 66%nat) =? 0) && settling (after 66%nat) && negb (settling (after 67%nat))).

(** Three requests go. The first is done while another one waits; then none waits any more. *)
Definition emptied : list op := [Submit 0 0 8; Submit 0 0 8; Next; Submit 1 0 8; Next; Complete 0 1; Next].

Definition same_pace (a b : pace) : bool :=
  (level a =? level b) && (floor a =? floor b) && (age a =? age b) && Bool.eqb (probing a) (probing b) &&
  Bool.eqb (settling a) (settling b).

(** After each prefix of a run, one completion more of a class. *)
Definition window_counts (os : list op) (p : nat * Z) : instance :=
  let '(i, lat) := p in let s := steps even os in
  Instance "a_window_counts_all_its_completions" true
    match complete i lat s with
    | None => true
    | Some t =>
        let n := completed s + 1 in let sum := latency s + Z.min lat (2 ^ 40) in let p := pressed s || (0 <? waiting s) in
        if (n <? window (bounds s)) || (n <? level (pacing s))
        then same_pace (pacing t) (pacing s) && (completed t =? n) && (latency t =? sum) && Bool.eqb (pressed t) p
        else same_pace (pacing t) (adapt (bounds s) (pacing s) (sum / n) p) && (completed t =? 0) && (latency t =? 0) &&
             negb (pressed t)
    end.

(** ** Tags that start again *)

(** Classes of shares 1, 10, 9973 and 9967: the first one's factor is nearly the largest that is accepted. It sends five requests
    of the largest size. After the fourth, at which tags start again, two classes may send one of 1 byte each instead. *)
Definition steep_classes : list class := map (fun n => Class n 0 8) [1; 10; 9973; 9967].
Definition steep : state := make steep_classes (Limits 1 1 1 1 1).
Definition alone : list op := List.concat (repeat [Submit 0 0 max_bytes; Next; Complete 0 1] 5).
Definition then_two : list op := firstn 12 alone ++ [Submit 0 0 1; Submit 1 0 1; Next].

Definition same_answer (a b : answer) : bool :=
  match a, b with
  | Refused, Refused | Done, Done => true
  | Went i n, Went j m | Back i n, Back j m => Nat.eqb i j && (n =? m)
  | _, _ => false
  end.

Definition again : list instance :=
  [Instance "rebase_is_invisible" (consistent_b (2 ^ 30) 0 steep)
     (Nat.eqb (List.length (replies steep then_two)) (List.length (replies_rebased steep then_two)) &&
      forallb (fun p => same_answer (fst p) (snd p)) (combine (replies steep then_two) (replies_rebased steep then_two)));
   Instance "tags_fit" (consistent_b (2 ^ 30) 0 steep && forallb (fun f => factor f <=? max_factor) (flows steep) &&
                        (2 ^ 30 <=? max_bytes))
     (let t := steps_rebased steep alone in
      (0 <=? vtime t) && (vtime t <? 2 ^ 61) && forallb (fun f => (0 <=? tag f) && (tag f <? 2 ^ 63)) (flows t))].

(** ** Shares that change *)

Definition stays (s t : state) (p : flow * flow) : bool :=
  let '(f, g) := p in
  (lead (vtime t) g =? lead (vtime s) f * factor g / factor f) && (warp g =? factor g * (warp f / factor f)) &&
  (capacity g =? capacity f) && same (queue g) (queue f) && (flying g =? flying f) && (charged g =? charged f).

Definition new_shares (M W : Z) (s : state) (ns : list Z) : list instance :=
  match set_shares ns s with
  | None => []
  | Some t =>
      [Instance "new_shares_keep_consistent" (consistent_b M W s) (consistent_b M (largest_warp (classes_with ns s)) t);
       Instance "a_lead_stays_as_many_bytes" (consistent_b M W s)
         (forallb (stays s t) (combine (flows s) (flows t)) &&
          forallb (fun p => factor (fst p) * snd p =? multiple (classes_with ns s)) (combine (flows t) ns) &&
          Nat.eqb (List.length (flows t)) (List.length (flows s)))]
  end.

(** With shares of 1 and 3 for four requests of each class, where the first one is ahead. *)
Definition turned : state := match set_shares [1; 3] (steps full [Next; Complete 0 1]) with Some s => s | None => full end.
Definition fair_at_once : instance :=
  let os := [Next; Complete 1 1; Next; Complete 1 1] in let t := steps turned os in
  let given i := match nth_error (flows t) i, nth_error (flows turned) i with Some f, Some g => charged f - charged g | _, _ => 0 end in
  Instance "new_shares_hold_at_once" (both_wait turned os) (Z.abs (given 0%nat * 3 - given 1%nat) <=? 8 * 3 + 8).

(** The same wherever the tags began. *)
Definition tags_after (ns : list Z) (s : state) : list Z :=
  match set_shares ns s with Some t => vtime t :: map tag (flows t) | None => [] end.
Definition began (os : list op) : instance :=
  Instance "new_shares_forget_where_tags_began" (consistent_b (2 ^ 30) 0 steep)
    (same (tags_after [2; 1; 3; 4] (steps steep os)) (tags_after [2; 1; 3; 4] (steps_rebased steep os))).

(** ** All *)

Definition prefixes (os : list op) : list (list op) := map (fun n => firstn n os) (seq 0 (S (List.length os))).

Definition instances : list instance :=
  flat_map (fun os => map (served_in_order os) classes_of_run ++ map (in_flight_counted os) classes_of_run ++
    map (accepted os) (list_prod classes_of_run [0; 1; max_bytes; max_bytes + 1]) ++ map (counted os) classes_of_run ++
    flat_map (back_iff_waiting os) (list_prod classes_of_run [0; 1; 2; 3]%nat) ++
    map (has_room os) classes_of_run ++ [lower_number os]) (prefixes run) ++
  flat_map (fun os => on_next (steps even os) ++ [one_more (steps even os) (Submit 0 0 8); one_more (steps even os) (Submit 1 0 3);
    one_more (steps even os) Next; one_more (steps even os) (Complete 0 50); one_more (steps even os) (Complete 1 1);
    one_more (steps even os) (Cancel 0 0); one_more (steps even os) (Cancel 1 0)])
    (prefixes back ++ prefixes small_and_large) ++
  flat_map (fun os => flat_map (new_shares 8 0 (steps even os)) [[1; 1]; [2; 1]; [3; 7]]) (prefixes back ++ prefixes small_and_large) ++
  flat_map (fun os => flat_map (new_shares max_bytes (largest_warp small_classes) (steps small os)) [[2; 1]; [1; 3]; [5; 2]])
    (prefixes run) ++
  [fair_at_once; began alone; began (firstn 13 alone)] ++
  flat_map (fun os => map (window_counts os) (list_prod [0; 1]%nat [1; 2 ^ 40; 2 ^ 40 + 1])) (prefixes back ++ prefixes emptied) ++
  Instance "a_new_one_is_consistent" true (consistent_b 1 (largest_warp small_classes) small) ::
  fair :: factors small_classes ++ factors steep_classes ++
  flat_map (fun p => flat_map (rule p) (list_prod [0; 60; 99; 100; 101; 150; 151; 160; 161; 175; 176; 190; 200; 201; 5000] [true; false]))
    (list_prod [0; 1; 160; 500] [2; 3; 4; 5; 16; 39; 40]) ++ flat_map probe paces ++ in_time :: again.
