(* SPDX-License-Identifier: PostgreSQL *)
(** * Instances of the main theorems, to be computed

    XID arrays across the wrap, and for each what a theorem assumes and what it concludes, both as a boolean.  Witness.v proves
    that all of them are true.  `make prove-mutants` computes them with a definition changed: where a hypothesis is true and its
    conclusion false, the theorem is false. *)
From Coq Require Import String ZArith List Bool.
From stdpp Require Import base option zmap.
From Pgquern.common Require Import Xid.
From Pgquern.instructions Require Lanes Program.
From Pgquern.snapbuild Require Import Memory Spec Algorithms Blocks Groups KeepRegisters Upstream Quicksort.
From Pgquern.snapbuild Require Maintenance Generated Slides SideBySide SortAll CompressRegisters.
Import ListNotations.
Local Open Scope Z_scope.

Record instance := Instance { claim : string; hypothesis : bool; conclusion : bool }.
Definition fails (i : instance) : bool := hypothesis i && negb (conclusion i).
Definition holds (i : instance) : bool := hypothesis i && conclusion i.

(** ** Arrays *)

(** 200 XIDs around the wrap, in raw order: 100 from 3 on, then 100 up to 2^32 - 7. *)
Definition wrapped : list Z :=
  map (fun k => 3 + 7 * Z.of_nat k) (seq 0 100) ++ map (fun k => 2 ^ 32 - 700 + 7 * Z.of_nat k) (seq 0 100).
(** As they were assigned. *)
Definition assigned : list Z := map (fun k => 2 ^ 32 - 700 + 7 * Z.of_nat k) (seq 0 100) ++ map (fun k => 3 + 7 * Z.of_nat k) (seq 0 100).
(** Around the other end of the arc of an xmin near 0. *)
Definition halfway : list Z := map (fun k => 2 ^ 31 - 50 + Z.of_nat k) (seq 0 100).
(** FullTransactionIds of two epochs. *)
Definition full : list Z := map (fun k => 7 * 2 ^ 32 - 640 + 7 * Z.of_nat k) (seq 0 200).
Definition xmins : list Z := [3; 4; 10; 52; 53; 350; 696; 2 ^ 31; 2 ^ 31 + 10; 2 ^ 32 - 1; 2 ^ 32 - 7; 2 ^ 32 - 300; 2 ^ 32 - 700].

(** Long enough for blocks: before an xmin of 5,000 the first 1,000 XIDs go and the next 2,600 stay; of most others every third stays. *)
Definition long : list Z :=
  map (fun k => let i := Z.of_nat k in if (1000 <? i) && ((i <? 3600) || (3700 <? i) && (i mod 3 =? 0)) then 6000 + i else 3 + i)
    (seq 0 4500).

(** Commits: in order, in disorder, with duplicates, larger than a chunk, and partly there already. *)
Definition batches : list (list Z) :=
  [[5]; [3; 10; 17]; [4; 5; 6; 2 ^ 32 - 1]; [2 ^ 32 - 2; 900; 5; 5; 2 ^ 32 - 2; 901]; [];
   map (fun k => 3 + (Z.of_nat k * 37) mod 211) (seq 0 150); map (fun k => 1000 + Z.of_nat k) (seq 0 70) ++ [999]].

(** ** What is assumed, decided *)
Fixpoint sorted_b (l : list Z) : bool :=
  match l with x :: (y :: _) as r => (x <? y) && sorted_b r | _ => true end.
Definition normal_b (x : Z) : bool := (3 <=? x) && (x <? 2 ^ 32).

(** ** The instances *)
Fixpoint same (l l' : list Z) : bool :=
  match l, l' with [], [] => true | x :: l, x' :: l' => (x =? x') && same l l' | _, _ => false end.

Definition laid (l : list Z) : memory := allocate ∅ 0 l.

(** That a program ends with [want] at the front of its array. *)
Definition leaves (r : option (Z * memory)) (want : list Z) : bool :=
  match r with
  | Some (n, a) => (n =? zlength want) && match read a 0 (Z.to_nat n) with Some l => same l want | None => false end
  | None => false
  end.

(** The sorted union of two lists, by insertion. *)
Fixpoint add (x : Z) (l : list Z) : list Z :=
  match l with [] => [x] | y :: r => if x <? y then x :: l else if x =? y then l else y :: add x r end.
Definition union (l batch : list Z) : list Z := fold_right add l batch.

Definition purges_by_blocks (l : list Z) (xmin : Z) : list instance :=
  Instance "purge_scalar_is_filter" (forallb normal_b l) (leaves (purge_scalar (zlength l) xmin (laid l)) (kept xmin l)) ::
  map (fun purge =>
      Instance "simd_purges_are_filters" true (leaves (purge (compress_zeros xmin) (zlength l) xmin (laid l)) (kept xmin l)))
    [purge_avx2; purge_avx512; purge_neon].
Definition purges (l : list Z) (xmin : Z) : list instance :=
  purges_by_blocks l xmin ++
  [Instance "purge_inplace_is_filter" (forallb normal_b l) (leaves (purge_inplace (zlength l) xmin (laid l)) (kept xmin l));
   Instance "purge_branchless_is_filter" (forallb normal_b l) (leaves (purge_branchless (zlength l) xmin (laid l)) (kept xmin l));
   Instance "purge_upstream_is_filter" (forallb normal_b l) (leaves (purge_upstream (zlength l) xmin (laid l) (laid l)) (kept xmin l))].
Definition purges_sorted (l : list Z) (xmin : Z) : instance :=
  Instance "purge_sorted_is_filter" (sorted_b l && forallb normal_b l && normal_b xmin)
    (leaves (purge_sorted (zlength l) xmin (laid l)) (kept xmin l)).
Definition purges_full (l : list Z) (xmin : Z) : instance :=
  Instance "purge_full_is_filter" (sorted_b l) (leaves (purge_full (zlength l) xmin (laid l)) (full_kept xmin l)).
Definition inserts (l batch : list Z) : instance :=
  Instance "insert_is_union" (sorted_b l && forallb normal_b batch)
    (leaves (insert (zlength l) (zlength batch) (laid batch) (laid (l ++ map (fun _ => 0) batch))) (union l batch)).
(** The same in the order of C; of a batch with a permanent XID nothing is inserted. *)
Definition inserts_in_order (l batch : list Z) : instance :=
  Instance "insert_sorted_is_union" (sorted_b l)
    (leaves (SideBySide.insert_sorted (zlength l) (zlength batch) (laid batch) (laid (l ++ map (fun _ => 0) batch)))
       (if forallb (fun x => 3 <=? x) batch then union l batch else l)).

Definition inserts_unsorted (l batch : list Z) : instance :=
  Instance "insert_unsorted_is_union" true
    (leaves (SortAll.insert_unsorted (zlength l) (zlength batch) (laid batch) (laid (l ++ map (fun _ => 0) batch)))
       (if forallb (fun x => 3 <=? x) batch then union (union [] l) batch else l)).

Definition appends (l batch : list Z) : instance :=
  Instance "append_adds_a_commit" true
    (leaves (append (zlength l) (zlength batch) (laid batch) (laid (l ++ batch)))
       (if forallb (fun x => 3 <=? x) batch then l ++ batch else l)).

(** Before CONSISTENT: a batch of [m] XIDs. *)
Definition appends_few (l : list Z) (m : nat) : instance :=
  let batch := skipn (9 - m)%nat [900; 5; 77; 2 ^ 32 - 1; 4; 3; 600; 17; 42] in
  Instance "append_few_adds_a_commit" true
    (leaves (append_few (zlength l) (zlength batch) (laid batch) (laid (l ++ map (fun _ => 0) batch))) (l ++ batch)).

Definition copies (l : list Z) : instance :=
  Instance "snapshot_sorted_copies" true
    (leaves (option_map (pair (zlength l)) (snapshot_sorted (zlength l) (laid l) (laid (rev l)))) l).

(** 150 XIDs in disorder, each of them in many places, too. *)
Definition shuffled : list Z := map (fun k => 3 + (Z.of_nat k * 37) mod 61) (seq 0 150).
Fixpoint put (x : Z) (l : list Z) : list Z := match l with [] => [x] | y :: r => if x <=? y then x :: l else y :: put x r end.
Definition snapshots (l : list Z) : instance :=
  Instance "snapshot_upstream_sorts" true
    (leaves (option_map (pair (zlength l)) (snapshot_upstream (zlength l) (laid l) (laid (rev l)))) (fold_right put [] l)).

(** A nearly full array, entries cleared here and there, one more behind the head that must not be looked at. *)
Definition flags : list Z := map (fun k => if Nat.eqb (Nat.modulo k 3) 1 then 0 else 1) (seq 0 200).
Definition compresses (program : Z -> Z -> memory -> memory -> option (Z * memory * memory)) (name : string) : instance :=
  Instance name (Nat.eqb (length assigned) (length flags))
    (let r := program 2 202 (laid (8 :: 9 :: assigned ++ [7])) (laid (1 :: 1 :: flags ++ [1])) in
     let want := live assigned flags in
     match r with
     | Some (n, xids, valid) =>
         leaves (Some (n, xids)) want &&
         match read valid 0 (Z.to_nat n) with Some v => forallb (Z.eqb 1) v | None => false end
     | None => false
     end).

Definition finds (xid place : Z) : instance :=
  Instance "find_finds" true (match find 0 200 xid (laid assigned) with Some i => i =? place | None => false end).

(** Arrays of eight entries of which the first k are live, after some ends of transactions, and at some times. *)
Definition upkept : list (Maintenance.known * Z) :=
  flat_map (fun k => flat_map (fun ends => flat_map (fun last => map (fun now =>
    ({| Maintenance.tail := 2; Maintenance.entries := map (fun i => (i, i <? k)) (map Z.of_nat (seq 0 8));
        Maintenance.transaction_ends := ends; Maintenance.last_compress := last |}, now))
    [1499; 1500; 2500]) [0; 500]) [0; 1; 127; 128; 384]) [0; 3; 4; 5; 7; 8] ++
  map (fun now => (Maintenance.empty, now)) [0; 1500].

Definition unchanged_b (r : Maintenance.known * Maintenance.bill) (s : Maintenance.known) : bool :=
  let '(t, b) := r in
  (Maintenance.tail t =? Maintenance.tail s) && (Maintenance.span t =? Maintenance.span s) &&
  (Maintenance.transaction_ends t =? Maintenance.transaction_ends s) &&
  (Maintenance.last_compress t =? Maintenance.last_compress s) && (Maintenance.for_space b =? 0) &&
  (Maintenance.for_readers b =? 0).

Definition upkeeps (case : Maintenance.known * Z) : list instance :=
  let '(s, now) := case in
  let gap := Maintenance.has_gap s in
  let after why := Maintenance.compress_if why now s in
  let open why := Maintenance.has_gap (fst (after why)) in
  map (fun why => Instance "without_a_gap_nothing_is_done" (negb gap) (unchanged_b (after why) s))
    [Maintenance.PRUNE; Maintenance.TRANSACTION_END; Maintenance.STARTUP_PROCESS_IDLE] ++
  map (fun why => Instance "room_and_prunes_close_all_gaps" true
                    (negb (open why) && (negb gap || (Maintenance.tail (fst (after why)) =? 0))))
    [Maintenance.NO_SPACE; Maintenance.PRUNE] ++
  [Instance "transaction_end_compresses_iff" gap
     (let ends := Maintenance.transaction_ends s in
      Bool.eqb (negb (open Maintenance.TRANSACTION_END))
        ((ends mod 128 =? 0) && (2 * Maintenance.num s <=? Maintenance.span s)) &&
      (Maintenance.transaction_ends (fst (after Maintenance.TRANSACTION_END)) =? ends + 1));
   Instance "idle_compresses_iff" gap
     (let last := Maintenance.last_compress s in
      let r := after Maintenance.STARTUP_PROCESS_IDLE in
      Bool.eqb (negb (open Maintenance.STARTUP_PROCESS_IDLE)) ((last =? 0) || (last + 1000 <=? now)) &&
      (if open Maintenance.STARTUP_PROCESS_IDLE then unchanged_b r s else Maintenance.last_compress (fst r) =? now))].

Definition removals (case : Maintenance.known * Z) : list instance :=
  let '(s, now) := case in
  map (fun op => Instance "removed_is_what_has_gone" true
    (let '(t, b) := Maintenance.step 16 op s in
     Maintenance.removed b =?
       Maintenance.num s + (match op with Maintenance.Add xids _ => zlength xids | _ => 0 end) - Maintenance.num t))
    [Maintenance.Add [8; 9] now; Maintenance.EndTransaction (Z.eqb 1) now; Maintenance.RemovePreceding (Z.gtb 2) now;
     Maintenance.WhenIdle now].

(** ** The programs of which C is printed: arrays of 0 to 83 XIDs, with two words before them, and an end that is not there *)
Definition words (l : list Z) : list (option Z) := map Some (Lanes.register_of 4 l).
Definition place (n : Z) : Program.value := Program.Address 4 (4 * n).
(** That a program returns the end of [want], which stands where `to` was, one word behind the first. *)
Definition returns (r : option (Program.value * list (option Z))) (want : list Z) (size : nat) : bool :=
  match r with
  | Some (Program.Address 4 a, m) =>
      (a =? 4 * (1 + zlength want)) && Nat.eqb (length m) size &&
      same (Lanes.lanes 4 (map (fun c => match c with Some b => b | None => 256 end) (firstn (Z.to_nat a) m))) (7 :: want)
  | _ => false
  end.
Definition taken (n : nat) : list Z := firstn n (skipn 70 assigned).
Definition program_purges (n : nat) (xmin : Z) : instance :=
  let m := words ([7; 8] ++ taken n) in
  Instance "purge_program_is_filter" (forallb normal_b (taken n) && normal_b xmin)
    (returns (Program.run Generated.purge_program
       [place 1; place 2; place (2 + Z.of_nat n); Program.Register (Lanes.bytes_of 4 xmin)] m) (kept xmin (taken n)) (length m)).
Definition program_compresses (n : nat) : instance :=
  let live_flags := firstn n flags in
  let m := words ([7; 8] ++ taken n) in
  Instance "compress_program_keeps_live" true
    (returns (Program.run Generated.compress_program
       [place 1; place 2; place (2 + Z.of_nat n); Program.Address 1 (zlength m)] (m ++ map Some live_flags))
      (live (taken n) live_flags) (length m + n)).

Definition program_compresses_8 (n : nat) : instance :=
  let live_flags := firstn n flags in let whole := (n / 8 * 8)%nat in
  let m := words ([7; 8] ++ taken n) in
  Instance "compress_avx2_program_keeps_live" true
    (returns (Program.run Generated.compress_avx2_program
       [place 1; place 2; place (2 + Z.of_nat n); Program.Address 1 (zlength m)] (m ++ map Some live_flags))
      (live (taken whole) (firstn whole flags)) (length m + n)).

Definition program_purges_4 (n : nat) (xmin : Z) : instance :=
  let m := words ([7; 8] ++ taken n) in
  Instance "purge_neon_program_is_filter" (forallb normal_b (taken n) && normal_b xmin)
    (returns (Program.run Generated.purge_neon_program
       [place 1; place 2; place (2 + Z.of_nat n); Program.Register (Lanes.bytes_of 4 xmin)] m)
      (kept xmin (taken (n / 4 * 4))) (length m)).
Definition program_compresses_4 (n : nat) : instance :=
  let live_flags := firstn n flags in let whole := (n / 4 * 4)%nat in
  let m := words ([7; 8] ++ taken n) in
  Instance "compress_neon_program_keeps_live" true
    (returns (Program.run Generated.compress_neon_program
       [place 1; place 2; place (2 + Z.of_nat n); Program.Address 1 (zlength m)] (m ++ map Some live_flags))
      (live (taken whole) (firstn whole flags)) (length m + n)).

(** NEON's kernels whole. *)
Definition at_word (r : option (Z * list (option Z))) : option (Program.value * list (option Z)) :=
  option_map (fun r => (Program.Address 4 (fst r), snd r)) r.
Definition neon_purges (n : nat) (xmin : Z) : instance :=
  let m := words ([7; 8] ++ taken n) in
  Instance "keep_neon_is_filter" (forallb normal_b (taken n) && normal_b xmin)
    (returns (at_word (Slides.keep_neon xmin 4 8 (4 * (2 + Z.of_nat n)) m)) (kept xmin (taken n)) (length m)).
Definition compresses_whole (n : nat) : list instance :=
  let live_flags := firstn n flags in
  let m := words ([7; 8] ++ taken n) in
  let moves kernel name := Instance name true
    (returns (at_word (kernel 4 8 (4 * (2 + Z.of_nat n)) (zlength m) (m ++ map Some live_flags)))
      (live (taken n) live_flags) (length m + n)) in
  [moves Slides.compress_neon "compress_neon_keeps_live"%string; moves Slides.compress_avx2 "compress_avx2_keeps_live"%string].

Definition instances : list instance :=
  flat_map (fun n => [program_purges n 20; program_purges n 3; program_compresses n; program_compresses_8 n;
                      program_purges_4 n 20; program_purges_4 n 3; program_compresses_4 n;
                      neon_purges n 20; neon_purges n (2 ^ 31 + 10)] ++ compresses_whole n)
    [0; 1; 15; 16; 17; 31; 64; 83]%nat ++
  [program_purges 20 (2 ^ 31 + 10); program_purges 70 (2 ^ 32 - 50)] ++
  flat_map (fun xmin => purges wrapped xmin ++ [purges_sorted wrapped xmin; purges_sorted halfway xmin;
                                                purges_sorted [3] xmin; purges_sorted [2 ^ 32 - 1] xmin]) xmins ++
  flat_map (fun l => purges_by_blocks l 5000) [long; rev long] ++
  map (purges_full full) [3; 7 * 2 ^ 32 - 640; 7 * 2 ^ 32; 7 * 2 ^ 32 + 300; 8 * 2 ^ 32] ++
  flat_map (fun batch => [inserts wrapped batch; inserts [] batch]) batches ++
  flat_map (fun batch => [inserts_in_order wrapped batch; inserts_in_order [] batch]) ([5; 2; 6] :: batches) ++
  flat_map (fun batch => [inserts_unsorted shuffled batch; inserts_unsorted [] batch]) ([5; 2; 6] :: batches) ++
  flat_map (fun batch => [appends wrapped batch; appends [] batch]) ([5; 2; 6] :: batches) ++ [copies wrapped; copies []] ++
  map snapshots (shuffled :: assigned :: rev wrapped :: batches) ++
  map (appends_few wrapped) (seq 0 10) ++
  List.filter hypothesis (flat_map upkeeps upkept) ++ flat_map removals upkept ++
  [compresses compress "compress_keeps_live"; compresses compress_branchless "compress_branchless_keeps_live";
   compresses (CompressRegisters.compress_registers CompressRegisters.pack_live 4) "compress_registers_keeps_live";
   compresses (CompressRegisters.compress_registers CompressRegisters.pack_live 7) "compress_registers_keeps_live";
   finds (2 ^ 32 - 700) 0; finds 3 100; finds 696 199; finds 4 200; finds 697 200].
