(* SPDX-License-Identifier: PostgreSQL *)
(** * What PageRepairFragmentation must leave behind

    The definition that every algorithm is held against: the bytes of the page afterwards, in terms of those before. *)
From Pgquern.common Require Import Integers.
From Pgquern.compaction Require Import Page Memory Algorithms.

(** In which order the tuples come to lie, from pd_special downwards. *)
Inductive order := Offset | ItemOrder.
Definition order_of (a : algorithm) : order := match a with PG13 => Offset | _ => ItemOrder end.
Definition ordered (o : order) (its : list item) : list item :=
  match o with Offset => sort its | ItemOrder => its end.

(** Each item with its new lp_off: the first one ends at [upper], the next one below it. *)
Fixpoint place (its : list item) (upper : Z) : list (item * Z) :=
  match its with [] => [] | it :: r => (it, upper - len it) :: place r (upper - len it) end.

(** The memory [base] with each placed item's bytes, as they are in [src]. *)
Fixpoint packed (placed : list (item * Z)) (src base : mem) : mem :=
  match placed with
  | [] => base
  | (it, to) :: r =>
      fun i => if (to <=? i) && (i <? to + len it) then src (off it + (i - to)) else packed r src base i
  end.

Definition placed (o : order) (m : mem) : list (item * Z) := place (ordered o (items m)) (pd_special m).

Definition new_off (o : order) (m : mem) (n : Z) : option Z :=
  option_map snd (find (fun p => number (fst p) =? n) (placed o m)).

(** Line pointer [n] afterwards: a new lp_off if it has storage, zero if it is unused, else as it was. *)
Definition new_word (o : order) (m : mem) (n : Z) : Z :=
  match new_off o m n with
  | Some to => set_off (lp_word m n) to
  | None => if is_used (lp_word m n) then lp_word m n else 0
  end.

(** How many line pointers are left, and whether an unused one is among them. *)
Definition nline_left (truncate : bool) (m : mem) : Z :=
  if truncate then last_used (line_pointers m) else nline m.
Definition has_free_lines (truncate : bool) (m : mem) : bool :=
  existsb (fun it => negb (is_used (word it)) && (number it <=? nline_left truncate m)) (line_pointers m).

Definition new_lower (truncate : bool) (m : mem) : Z := pd_lower m - 4 * (nline m - nline_left truncate m).
Definition new_upper (m : mem) : Z := pd_special m - total (items m).
Definition new_flags (truncate : bool) (m : mem) : Z :=
  pd_flags m / 2 * 2 + (if has_free_lines truncate m then 1 else 0).

Definition repaired (o : order) (truncate : bool) (m : mem) : mem :=
  fun i =>
    if (10 <=? i) && (i <? 12) then byte_of (i - 10) (new_flags truncate m)
    else if (12 <=? i) && (i <? 14) then byte_of (i - 12) (new_lower truncate m)
    else if (14 <=? i) && (i <? 16) then byte_of (i - 14) (new_upper m)
    else if (24 <=? i) && (i <? 24 + 4 * nline m)
    then byte_of ((i - 24) mod 4) (new_word o m ((i - 24) / 4 + 1))
    else packed (placed o m) m m i.

(** ** Which fault a refusal names *)

(** What is wrong with a line pointer that has [count] others with storage before it.  Each fault excludes the ones above it. *)
Inductive item_fault (m : mem) (count : Z) (it : item) : Z -> Prop :=
| offset_outside : ~ pd_upper m <= off it < pd_special m -> item_fault m count it LP_OFF
| offset_unaligned :
    pd_upper m <= off it < pd_special m -> maxalign (off it) <> off it -> item_fault m count it LP_ALIGN
| end_outside :
    pd_upper m <= off it < pd_special m -> maxalign (off it) = off it -> pd_special m < stop it -> item_fault m count it LP_END
| one_too_many : item_ok m it -> count = MAX_HEAP_TUPLES_PER_PAGE -> item_fault m count it TOO_MANY.

(** All line pointers with storage are right, each taken alone, and not too many. *)
Definition items_ok (m : mem) : Prop :=
  Forall (item_ok m) (items m) /\ Z.of_nat (length (items m)) <= MAX_HEAP_TUPLES_PER_PAGE.

(** The first fault of a page in the order of the checks: the header, each line pointer in item order, the total, and in
    presorted pages overlap in item order. *)
Inductive first_fault (m : mem) : refusal -> Prop :=
| header_fault : ~ header_ok m -> first_fault m (Refusal HEADER 0)
| line_pointer_fault before it after code :
    header_ok m -> items m = before ++ it :: after -> Forall (item_ok m) before ->
    Z.of_nat (length before) <= MAX_HEAP_TUPLES_PER_PAGE -> item_fault m (Z.of_nat (length before)) it code ->
    first_fault m (Refusal code (number it))
| total_fault : header_ok m -> items_ok m -> pd_special m - pd_lower m < total (items m) -> first_fault m (Refusal TOTAL 0)
| overlap_fault before it after :
    header_ok m -> items_ok m -> total (items m) <= pd_special m - pd_lower m -> presorted (pd_special m) (items m) = true ->
    items m = before ++ it :: after -> chain before (pd_special m) -> last (map off before) (pd_special m) < stop it ->
    first_fault m (Refusal OVERLAP (number it)).
