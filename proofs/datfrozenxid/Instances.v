(* SPDX-License-Identifier: PostgreSQL *)
(** * Instances of the main theorems, to be computed

    Arrays, tables and decisions at the corners, and for each what a theorem assumes and what it concludes, both as a boolean.
    Witness.v proves that all of them are true.  `make prove-mutants` computes them with a definition changed: where a
    hypothesis is true and its conclusion false, the theorem is false. *)
From Coq Require Import String ZArith Bool List.
From Pgquern.common Require Import Xid.
From Pgquern.instructions Require Lanes Program.
From Pgquern.datfrozenxid Require Import Spec Algorithms Loads Patch Call.
From Pgquern.datfrozenxid Require Generated.
Import ListNotations.
Local Open Scope Z_scope.

Record instance := Instance { claim : string; hypothesis : bool; conclusion : bool }.
Definition fails (i : instance) : bool := hypothesis i && negb (conclusion i).
Definition sound (i : instance) : bool := hypothesis i && conclusion i.

Definition bounds_b (s : sort) (start sane : Z) : bool :=
  (first_normal s <=? start) && (start <? RING) && (first_normal s <=? sane) && (sane <? RING) &&
  negb (before s sane start).

Definition same (a b : answer) : bool :=
  match a, b with Oldest x, Oldest y => x =? y | Future i, Future j => i =? j | _, _ => false end.
Definition same_rows (a b : rows_answer) : bool :=
  match a, b with
  | OldestOf x m, OldestOf y n => (x =? y) && (m =? n)
  | FutureXid i, FutureXid j | FutureMulti i, FutureMulti j => i =? j
  | _, _ => false
  end.

(** 100 XIDs across the wrap, an invalid one among every five. The oldest stands in the middle. *)
Definition wrapped : list Z :=
  map (fun i => if i mod 5 =? 0 then 0 else (2 ^ 32 - 60 + i) mod RING + (if 59 <? i then 3 else 0))
    (map Z.of_nat (seq 30 70 ++ seq 1 29)).

Definition corners : list Z := [0; 1; 2; 3; 4; 49; 50; 51; 2 ^ 31 + 49; 2 ^ 31 + 50; 2 ^ 31 + 51; 2 ^ 31; 2 ^ 31 + 1; 2 ^ 32 - 1].

(** Each corner behind 17 values, between two long arrays, or at the end. *)
Definition arrays : list (list Z) :=
  flat_map (fun x => [firstn 17 wrapped ++ [x]; wrapped ++ [x] ++ wrapped; wrapped ++ [x; x]]) corners.

Definition on_arrays (s : sort) (sane : Z) (l : list Z) : list instance :=
  map (fun find => Instance "min_frozen_is_the_scan" (bounds_b s sane sane)
                     (same (min_frozen find s sane sane l) (scan s sane l 1 sane))) [scalar_age; avx2_age; avx512_age].
Definition on_plain (s : sort) (sane : Z) (l : list Z) : list instance :=
  map (fun kernel => Instance "plain_kernels_are_the_scan" (bounds_b s sane sane)
                       match kernel s sane sane (length l) l with Some a => same a (scan s sane l 1 sane) | None => false end)
    [scan_kernel; scalar_kernel].

(** More than a chunk; one more id is the only one of the second chunk, or the second of two. *)
Definition long (n : nat) (x : Z) : list Z := repeat 40 n ++ [41; x].

(** The minimum is not preceded by any value, and is found in the opposite order too. *)
Definition is_minimum (s : sort) (sane : Z) (l : list Z) : list instance :=
  match scan s sane l 1 sane with
  | Oldest o =>
      [Instance "scan_finds_the_minimum" (bounds_b s sane sane) (forallb (fun x => (x =? 0) || negb (before s x o)) l);
       Instance "minimum_does_not_depend_on_the_order" (bounds_b s sane sane) (same (scan s sane (rev l) 1 sane) (Oldest o))]
  | Future _ => []
  end.

Definition decisions (s : sort) (sane dat new : Z) : list instance :=
  let need := need_update s dat new sane in
  [Instance "one_comparison_decides" true (Bool.eqb (need_update_by_age s dat new sane) need);
   Instance "kept_value_is_newer" true (need || (dat =? new) || (before s new dat && negb (before s sane dat)))].

Definition table (multi : Z) : list row :=
  map (fun x => Row (negb (x mod 7 =? 0)) x multi) (filter (fun x => x <=? 50) wrapped) ++
  [Row true 50 50; Row false (2 ^ 32 - 100) (2 ^ 32 - 100)].

Definition on_tables (multi : Z) : list instance :=
  let rows := table multi in
  map (fun find => Instance "min_frozen_rows_is_the_scan" true
                     (same_rows (min_frozen_rows find 50 50 50 50 rows) (scan_rows 50 50 rows 1 50 50)))
    [scalar_row_age; row_age] ++
  map (fun kernel => Instance "plain_kernels_on_rows_are_the_scan" true
                       match kernel 50 50 50 50 (length rows) rows with
                       | Some a => same_rows a (scan_rows 50 50 rows 1 50 50)
                       | None => false
                       end) [scan_rows_kernel; scalar_rows_kernel] ++
  (* The oldest row stands in each place of a step. *)
  flat_map (fun k => let rows := skipn k rows in
                     map (fun kernel => Instance "registers_of_rows_are_the_scan" true
                            match kernel 50 50 50 50 (length rows) rows with
                            | Some a => same_rows a (scan_rows 50 50 rows 1 50 50)
                            | None => false
                            end) [avx2_rows_kernel [3; 2; 1; 0]%nat; neon_rows_kernel [1; 0]%nat]) (seq 0 8).

Definition fresh_cache (x m : Z) : instance :=
  let dat := Pair x m in let new := Pair 40 40 in let sane := Pair 50 50 in
  let plain := update dat new sane in let patched := update_patched (Some dat) dat new sane in
  Instance "fresh_cache_changes_only_the_lock" true
    (Bool.eqb (dirty patched) (dirty plain) && (xid (stored patched) =? xid (stored plain)) &&
     (multi (stored patched) =? multi (stored plain))).

Definition same_pair (a b : pair) : bool := (xid a =? xid b) && (multi a =? multi b).

(** The next ids differ, so that neither may stand for the other. *)
Definition one_call (dat : pair) : list instance :=
  let new := Pair 40 45 in let sane := Pair 50 60 in
  let x := need_update Xids (xid dat) 40 50 in let m := need_update Multis (multi dat) 45 60 in
  let after := update dat new sane in
  let skipped := negb (xid dat =? 0) && negb (multi dat =? 0) && negb x && negb m in
  [Instance "each_field_is_stored_by_its_own_answer" true
     ((xid (stored after) =? if x then 40 else xid dat) && (multi (stored after) =? if m then 45 else multi dat) &&
      match passed after with Some p => same_pair p (stored after) | None => false end &&
      Bool.eqb (dirty after) (negb (same_pair (stored after) dat)) && locked after);
   Instance "both_values_are_sane_afterwards" true
     (negb (before Xids 50 (xid (stored after))) && negb (before Xids (xid (stored after)) 40) &&
      negb (before Multis 60 (multi (stored after))) && negb (before Multis (multi (stored after)) 45));
   Instance "any_cache_writes_right_or_nothing" true
     (let patched := update_patched (Some dat) (Pair 41 46) new sane in
      let plain := update (Pair 41 46) new sane in
      match passed patched, passed plain with
      | Some p, Some q =>
          (same_pair (stored patched) (stored plain) && same_pair p q && Bool.eqb (dirty patched) (dirty plain) &&
           Bool.eqb (locked patched) (locked plain)) ||
          (same_pair (stored patched) (Pair 41 46) && negb (dirty patched) && same_pair p dat)
      | _, _ => false
      end);
   Instance "lock_is_skipped_iff_the_cache_agrees" true
     (Bool.eqb (locked (update_patched (Some dat) (Pair 41 46) new sane)) (negb skipped) &&
      locked (update_patched None dat new sane))].

(** From the rows to what is stored. The next ids differ here, too, and so do the two starts. *)
Definition from_its_rows (dat : pair) (rows : list row) : instance :=
  let start := Pair 49 58 in let sane := Pair 50 60 in
  let after := call rows start dat sane in
  let by_kernel find := call_by find rows start dat sane in
  let agrees (a b : outcome) :=
    same_pair (stored a) (stored b) && Bool.eqb (dirty a) (dirty b) && Bool.eqb (locked a) (locked b) &&
    match passed a, passed b with Some p, Some q => same_pair p q | None, None => true | _, _ => false end in
  Instance "a_call_stores_what_its_rows_say" true
    (agrees (by_kernel scalar_row_age) after && agrees (by_kernel row_age) after &&
     agrees after match scan_rows 50 60 rows 1 49 58 with
                  | OldestOf x m => update dat (Pair x m) sane
                  | _ => Outcome dat None false false
                  end).

(** ** The programs of which C is printed: arrays of 1 to 84 ids between two ids of the greatest age, and an end that is not there *)
Definition words (l : list Z) : list (option Z) := map Some (Lanes.register_of 4 l).
Definition cells_are (a b : list (option Z)) : bool :=
  Nat.eqb (length a) (length b) &&
  forallb (fun p => match p with (Some x, Some y) => x =? y | (None, None) => true | _ => false end) (combine a b).
Definition program_finds (claim : string) (p : Program.program) (s : sort) (sane : Z) (l : list Z) : instance :=
  let m := words (sane + 1 :: l ++ [sane + 1]) ++ [None] in
  let number b := Program.Register (Lanes.bytes_of 4 b) in
  Instance claim (forallb (fun x => (0 <=? x) && (x <? RING)) (sane :: l))
    (match Program.run p
             [Program.Address 4 4; Program.Address 4 (4 + 4 * Z.of_nat (length l)); number sane; number (first_normal s)] m with
     | Some (Program.Register r, after) =>
         (Lanes.number r =? fold_right Z.max 0 (map (age s sane) l)) && cells_are after m
     | _ => false
     end).
(** One that is in the future stands last, or first. *)
Definition program_finds_it (n : nat) : list instance :=
  let l := firstn n (skipn 10 wrapped) in
  flat_map (fun find : sort -> Z -> list Z -> instance => [find Xids 50 (l ++ [51]); find Multis 50 (2 ^ 31 + 60 :: l)])
    [program_finds "greatest_program_finds_the_greatest_age" Generated.greatest_program;
     program_finds "greatest_avx2_program_finds_the_greatest_age" Generated.greatest_avx2_program].

Definition instances : list instance :=
  flat_map (fun l => on_arrays Xids 50 l ++ on_arrays Multis 50 l ++ on_plain Xids 50 l ++ on_plain Multis 50 l) arrays ++
  flat_map (on_plain Xids 50) [long 4095 39; long 4096 51] ++
  flat_map (fun l => is_minimum Xids 50 l ++ is_minimum Multis 50 l) arrays ++
  flat_map (fun x => decisions Xids 50 x 40 ++ decisions Xids 50 x (2 ^ 31 + 51) ++ decisions Multis 50 x 40 ++
    decisions Multis 50 x 50 ++ decisions Xids 50 x 50) corners ++
  flat_map on_tables corners ++
  map (fun p => fresh_cache (fst p) (snd p)) (list_prod [39; 40; 41; 60] [39; 40; 41; 60]) ++
  flat_map (fun p => one_call (Pair (fst p) (snd p))) (list_prod [0; 39; 40; 41; 50; 55; 60] [0; 44; 45; 46; 55; 60; 70]) ++
  flat_map (fun m => map (fun x => from_its_rows (Pair x 55) (table m)) [39; 50; 51]) [40; 60; 61] ++
  flat_map program_finds_it [0; 15; 17; 83]%nat.
