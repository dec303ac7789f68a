(* SPDX-License-Identifier: PostgreSQL *)
(** * How tuples move by the arrays of a scan

    A scan leaves two numbers of each tuple, in item order: where it must end, and where it ends now.  Behind the last tuple both are
    the new pd_upper: there lies the hole, like tuples of no bytes.  Each way of Algorithms.v that does not go run by run is here the
    loop over these numbers, as C has it; [first] is the first tuple that moves, and what lies above it stays. *)
From Pgquern.common Require Import Integers.
From Pgquern.compaction Require Import Page Memory Algorithms.

Section Arrays.
  Variables new_ends old_ends : nat -> Z.
  Variables first nitems : nat.

  Definition moved : list nat := seq first (nitems - first).

  (** A tuple's length, and where it starts now. *)
  Definition length_of (t : nat) : Z := new_ends t - new_ends (S t).
  Definition start_at (t : nat) : Z := old_ends t - length_of t.

  (** ** Through registers: [count] windows from tuple [t] on *)
  Definition load_windows (window : Z) (t count : nat) : list op :=
    map (fun t => Save (register window (t - first)) (old_ends t - window) window) (seq t count).
  Definition store_windows (window : Z) (t count : nat) : list op :=
    map (fun t => Restore (new_ends t - window) (register window (t - first)) window) (seq t count).

  Definition permute (window : Z) (few : nat) : list op :=
    load_windows window first (S few) ++ store_windows window first (S few).

  Fixpoint slide_from (fuel ahead : nat) (window : Z) (t : nat) : list op :=
    match fuel with
    | O => []
    | S fuel =>
        load_windows window (t + ahead) ahead ++ store_windows window t ahead ++
        (if (nitems <? t + ahead)%nat then [] else slide_from fuel ahead window (t + ahead))
    end.
  Definition slide (ahead : nat) (window : Z) : list op :=
    load_windows window first ahead ++ slide_from (S nitems) ahead window first.

  (** ** In place, piece by piece *)
  Definition piece_at (length : Z) (k : nat) : Z :=
    if PIECE * Z.of_nat k + PIECE <? length then length - PIECE * Z.of_nat k - PIECE else 0.
  Definition climb (pieces : nat) : list op :=
    flat_map (fun t =>
      map (fun k => Save (PIECE * Z.of_nat k) (start_at t + piece_at (length_of t) k) PIECE) (seq 0 pieces) ++
      map (fun k => Restore (new_ends (S t) + piece_at (length_of t) k) (PIECE * Z.of_nat k) PIECE) (seq 0 pieces)) moved.

  (** ** To scratch *)
  Definition gather (window : Z) : list op :=
    map (fun t => Save (new_ends t - window) (old_ends t - window) window) moved.
  Definition gather_each : list op :=
    map (fun t => Save (new_ends (S t)) (start_at t) (length_of t)) moved.
  Definition gather_lines (depth : Z) : list op :=
    flat_map (fun t =>
      let top := new_ends t - depth in
      let at_ := if depth =? 0 then top - LINE else Z.max (top - LINE) (new_ends (S t)) in
      if new_ends (S t) <? top then [Save at_ (old_ends t + (at_ - new_ends t)) LINE] else []) moved.
  Definition gather_by_list (longest : Z) : list op :=
    flat_map (fun d => gather_lines (LINE * Z.of_nat d)) (seq 0 (Z.to_nat ((longest + LINE - 1) / LINE))).

  (** What was gathered, back to the page. *)
  Definition move_by_scratch (new_upper : Z) (gathered : list op) : list op :=
    gathered ++ [Restore new_upper new_upper (new_ends first - new_upper)].

  (** ** From scratch *)
  Definition restore_each : list op :=
    map (fun t => Restore (new_ends (S t)) (start_at t) (length_of t)) moved.
  Definition restore_lines : list op :=
    flat_map (fun t =>
      let end_ := new_ends t in
      let by_ := old_ends t - end_ in
      Restore (end_ - LINE) (end_ + by_ - LINE) LINE ::
      lines_down (Z.to_nat ((end_ / LINE * LINE - new_ends (S t) + LINE - 1) / LINE)) (end_ / LINE * LINE) by_) moved.
End Arrays.

(** ** From slot to slot, long tuples of one length, given where each starts now *)
Section Slots.
  Variables (m : mem) (starts : nat -> Z) (nitems : nat) (length : Z).

  Definition below_special : list Z := map (fun t => pd_special m - starts t) (seq 0 nitems).
  Definition slots_found : list nat := map (fun below => Z.to_nat (slot_below length below)) below_special.
  Definition find_slots (total : Z) : bool :=
    (SHORTEST_IN_SLOTS <=? length) && (total =? Z.of_nat nitems * length) &&
    forallb (is_slot length) below_special && distinct slots_found.
End Slots.

(** ** Run by run: where each must end, and where it ends now; behind the last one stands the new pd_upper *)
Section Runs.
  Variables run_ends run_old_ends : nat -> Z.

  (** The loop of [move_runs] of avx512, over [count] runs from the [i]-th on. *)
  Fixpoint move_runs (i count : nat) : list op :=
    match count with
    | O => []
    | S count =>
        let to := run_ends (S i) in
        let bytes := run_ends i - to in
        Move to (run_old_ends i - bytes) bytes :: move_runs (S i) count
    end.
End Runs.
