(* SPDX-License-Identifier: PostgreSQL *)
(** * Instances of the theorems on order and capacity, to be computed

    Runs of a small scheduler, and for each what a theorem concludes, as a boolean; these theorems have no hypothesis but which
    class is meant. Witness.v proves that all are true. `make prove-mutants` computes them with a definition changed: where one
    is false, the theorem is false. *)
From Coq Require Import String ZArith List Bool.
From Pgquern.ioshares Require Import Algorithms Spec.
Import ListNotations.
Local Open Scope Z_scope.

Record instance := Instance { claim : string; conclusion : bool }.
Definition fails (i : instance) : bool := negb (conclusion i).

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
  Instance "a_class_is_served_in_order"
    (same (queue_of i small ++ came i os (replies small os)) (went i (replies small os) ++ queue_of i (steps small os))).

Definition in_flight_counted (os : list op) (i : nat) : instance :=
  Instance "in_flight_is_what_went"
    (flying_of i (steps small os) =?
     flying_of i small + Z.of_nat (List.length (went i (replies small os))) - ended i os (replies small os)).

Definition is_some {A} (o : option A) : bool := match o with Some _ => true | None => false end.

Definition accepted (os : list op) (p : nat * Z) : instance :=
  let '(i, size) := p in let s := steps small os in
  Instance "accepted_iff_there_is_room"
    (Bool.eqb (is_some (submit i size s))
       match nth_error (flows s) i with
       | Some f => (1 <=? size) && (size <=? 2 ^ 30) && (queued f <? capacity f)
       | None => false
       end).

Definition counted (os : list op) (i : nat) : instance :=
  let s := steps small os in
  Instance "counted_iff_in_flight"
    (Bool.eqb (is_some (complete i 1 s)) match nth_error (flows s) i with Some f => 0 <? flying f | None => false end).

Definition has_room (os : list op) (i : nat) : instance :=
  Instance "never_more_than_the_capacity"
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
  Instance "of_equals_the_lower_number_goes"
    match next s with
    | None => true
    | Some (i, _, _) =>
        match nth_error (flows s) i with
        | None => true
        | Some f => forallb (fun g => match queue g with [] => true | _ :: _ => tag f + handicap f <? tag g + handicap g end)
                      (firstn i (flows s))
        end
    end.

Definition prefixes : list (list op) := map (fun n => firstn n run) (seq 0 (S (List.length run))).

Definition instances : list instance :=
  flat_map (fun os => map (served_in_order os) classes_of_run ++ map (in_flight_counted os) classes_of_run ++
    map (accepted os) (list_prod classes_of_run [0; 1; max_bytes; max_bytes + 1]) ++ map (counted os) classes_of_run ++
    map (has_room os) classes_of_run ++ [lower_number os]) prefixes.
