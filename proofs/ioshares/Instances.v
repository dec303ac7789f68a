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
Definition small : state := make small_classes (Limits 1 2 3 2 10).

(** Requests of different sizes, more than there is room for, of a class that is not there, and of forbidden sizes; some go, and
    some are completed, also more than are in flight. *)
Definition run : list op :=
  [Submit 0 1; Submit 0 2; Submit 0 3; Submit 1 5; Next; Submit 1 4; Submit 1 6; Submit 1 7; Submit 2 1; Submit 0 8; Submit 0 0;
   Next; Next; Complete 0 3; Complete 1 30; Complete 1 4; Next; Submit 0 (max_bytes + 1); Submit 0 max_bytes; Next;
   Complete 1 1; Next; Complete 0 1; Next; Next; Complete 0 50; Complete 0 50].

Definition classes_of_run : list nat := [0; 1; 2]%nat.

Definition served_in_order (os : list op) (i : nat) : instance :=
  Instance "a_class_is_served_in_order" true
    (same (queue_of i small ++ came i os (replies small os)) (went i (replies small os) ++ queue_of i (steps small os))).

Definition in_flight_counted (os : list op) (i : nat) : instance :=
  Instance "in_flight_is_what_went" true
    (flying_of i (steps small os) =?
     flying_of i small + Z.of_nat (List.length (went i (replies small os))) - ended i os (replies small os)).

Definition is_some {A} (o : option A) : bool := match o with Some _ => true | None => false end.

Definition accepted (os : list op) (p : nat * Z) : instance :=
  let '(i, size) := p in let s := steps small os in
  Instance "accepted_iff_there_is_room" true
    (Bool.eqb (is_some (submit i size s))
       match nth_error (flows s) i with
       | Some f => (1 <=? size) && (size <=? 2 ^ 30) && (queued f <? capacity f)
       | None => false
       end).

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
  (tag f <=? v + warp f + factor f * M) && match queue f with [] => true | _ :: _ => v <=? tag f end.

Definition sound_b (l : limits) : bool :=
  (1 <=? least l) && (least l <=? start l) && (start l <=? most l) && (1 <=? window l) && (window l <=? max_window) &&
  (1 <=? target l) && (target l <=? max_latency).

Definition consistent_b (M W : Z) (s : state) : bool :=
  (1 <=? M) && forallb (near_b M W (vtime s)) (flows s) && (waiting s =? total queued (flows s)) &&
  (in_flight s =? total flying (flows s)) && sound_b (bounds s) &&
  (least (bounds s) <=? limit s) && (limit s <=? most (bounds s)) && (in_flight s <=? most (bounds s)) &&
  (0 <=? completed s) && (completed s <? window (bounds s)) &&
  (0 <=? latency s) && (latency s <=? completed s * max_latency).

(** Requests of 8 bytes at most, of two classes; the second comes back from idleness. *)
Definition even_classes : list class := [Class 1 0 8; Class 1 0 8].
Definition even : state := make even_classes (Limits 2 2 8 2 10).
Definition back : list op :=
  [Submit 0 8; Submit 0 8; Submit 0 8; Submit 0 8; Next; Next; Submit 1 8; Complete 0 30; Complete 0 2; Next; Next; Next;
   Complete 0 1; Complete 1 1; Complete 0 50].

(** The first class sends small requests, the second large ones. *)
Definition small_and_large : list op :=
  [Submit 0 1; Submit 0 1; Submit 0 1; Submit 1 8; Submit 1 8; Next; Complete 0 1; Next; Complete 1 1; Next; Complete 0 1].

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
Definition full : state := steps even (List.concat (repeat [Submit 0 8; Submit 1 8] 4)).
Definition fair : instance :=
  let os := [Next; Next; Complete 0 1; Next] in let t := steps full os in
  Instance "service_is_fair" (consistent_b 8 0 full && both_wait full os)
    (Z.abs ((paid_of 0 t - paid_of 0 full) - (paid_of 1 t - paid_of 1 full)) <=? 16).

Definition factors (cs : list class) : list instance :=
  map (fun c => Instance "factors_are_exact" (forallb (fun d => 1 <=? share d) cs)
                  ((factor_of cs c * share c =? multiple cs) && (1 <=? factor_of cs c))) cs.

(** ** The limit *)

Definition limits_of_rule : limits := Limits 2 4 40 3 10.
Definition rule (n sum : Z) (p : bool) : instance :=
  Instance "the_limit_follows_the_rule" (sound_b limits_of_rule && (2 <=? n) && (n <=? 40))
    (adapt limits_of_rule n sum p =? if 30 <? sum then Z.max 2 (n - Z.max 1 (n / 8)) else if p then Z.min 40 (n + 1) else n).

(** Three requests go. The first is done while another one waits; then none waits any more. *)
Definition emptied : list op := [Submit 0 8; Submit 0 8; Next; Submit 1 8; Next; Complete 0 1; Next].

(** After each prefix of a run, one completion more of a class. *)
Definition window_counts (os : list op) (p : nat * Z) : instance :=
  let '(i, lat) := p in let s := steps even os in
  Instance "a_window_counts_all_its_completions" true
    match complete i lat s with
    | None => true
    | Some t =>
        let n := completed s + 1 in let sum := latency s + Z.min lat (2 ^ 40) in let p := pressed s || (0 <? waiting s) in
        if n <? window (bounds s)
        then (limit t =? limit s) && (completed t =? n) && (latency t =? sum) && Bool.eqb (pressed t) p
        else (limit t =? adapt (bounds s) (limit s) sum p) && (completed t =? 0) && (latency t =? 0) && negb (pressed t)
    end.

(** ** Tags that start again *)

(** Classes of shares 1, 10, 9973 and 9967: the first one's factor is nearly the largest that is accepted. It sends five requests
    of the largest size. After the fourth, at which tags start again, two classes may send one of 1 byte each instead. *)
Definition steep_classes : list class := map (fun n => Class n 0 8) [1; 10; 9973; 9967].
Definition steep : state := make steep_classes (Limits 1 1 1 1 1).
Definition alone : list op := List.concat (repeat [Submit 0 max_bytes; Next; Complete 0 1] 5).
Definition then_two : list op := firstn 12 alone ++ [Submit 0 1; Submit 1 1; Next].

Definition same_answer (a b : answer) : bool :=
  match a, b with
  | Refused, Refused | Done, Done => true
  | Went i n, Went j m => Nat.eqb i j && (n =? m)
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

(** ** All *)

Definition prefixes (os : list op) : list (list op) := map (fun n => firstn n os) (seq 0 (S (List.length os))).

Definition instances : list instance :=
  flat_map (fun os => map (served_in_order os) classes_of_run ++ map (in_flight_counted os) classes_of_run ++
    map (accepted os) (list_prod classes_of_run [0; 1; max_bytes; max_bytes + 1]) ++ map (counted os) classes_of_run ++
    map (has_room os) classes_of_run ++ [lower_number os]) (prefixes run) ++
  flat_map (fun os => on_next (steps even os) ++ [one_more (steps even os) (Submit 0 8); one_more (steps even os) (Submit 1 3);
    one_more (steps even os) Next; one_more (steps even os) (Complete 0 50); one_more (steps even os) (Complete 1 1)])
    (prefixes back ++ prefixes small_and_large) ++
  flat_map (fun os => map (window_counts os) (list_prod [0; 1]%nat [1; 2 ^ 40; 2 ^ 40 + 1])) (prefixes back ++ prefixes emptied) ++
  Instance "a_new_one_is_consistent" true (consistent_b 1 (largest_warp small_classes) small) ::
  fair :: factors small_classes ++ factors steep_classes ++
  flat_map (fun n => [rule n 30 true; rule n 30 false; rule n 31 true; rule n 31 false]) [2; 3; 8; 16; 39; 40] ++ again.
