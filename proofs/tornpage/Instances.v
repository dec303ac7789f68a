(* SPDX-License-Identifier: PostgreSQL *)
(** * Concrete pages and logs, and claims of the theorems as booleans

    A mutant of a definition is refuted if one of these becomes false. *)
From Coq Require Import ZArith Arith List Bool String.
From Pgquern.tornpage Require Import Checksum Recovery.
From Pgquern.tornpage Require Faults Loads Vectors.
From Pgquern.instructions Require Lanes.
Import ListNotations.
Open Scope list_scope.

(** ** Checksums: four columns, three rows, large words *)
Section Sums.
  Local Open Scope Z_scope.
  Definition four_bases : list Z := [0x5b1f36e9; 0xb8525960; 0x02ab50aa; 0x1de66d2a].
  Definition three_rows : list (list Z) :=
    [[0xffffffff; 0; 1; 0x80000000]; [17; 0xdeadbeef; 0x7fffffff; 3]; [0; 0xffffffff; 0x12345678; 0x9abcdef0]].
  Definition kernel_b (step : Z -> Z -> Z) (lanes : list nat) : bool :=
    kernel step lanes four_bases three_rows 7 =? checksum four_bases three_rows 7.
  Definition range_b : bool :=
    let c := checksum four_bases three_rows 7 in
    ((1 <=? c) && (c <=? 65535) && (finish 65534 0 =? 65535) && (finish 0 0 =? 1) && (finish 65535 0 =? 1))%bool.

  (** Pages of 8192 bytes: of one word all over, and of words that all differ. *)
  Definition all_of (word : Z) : list Z := repeat word 2048.
  Definition all_differ : list Z :=
    map (fun n => let i := Z.of_nat n in (i * i * 2654435761 + i) mod 2 ^ 32) (seq 0 2048).

  (** contrib/pageinspect/sql/checksum.sql: bytes 01, 04, ff, abcd, e6d6 and 4a5e all over, in blocks 0, 50 and 100. *)
  Definition upstreams_test : list (list Z) :=
    map (fun block => map (fun word => page_checksum (all_of word) block)
      [0x01010101; 0x04040404; 0xffffffff; 0xcdabcdab; 0xd6e6d6e6; 0x5e4a5e4a]) [0; 50; 100].
  (** What its expected/checksum.out has, as 16 bits without a sign. *)
  Definition upstreams_answers : list (list Z) :=
    [[1175; 28338; 3612; 65536 - 30781; 65536 - 16269; 65536 - 27377];
     [1225; 28352; 3598; 65536 - 30795; 65536 - 16251; 65536 - 27391];
     [1139; 28438; 3648; 65536 - 30881; 65536 - 16305; 65536 - 27349]].
  Definition same_numbers (a b : list Z) : bool := if list_eq_dec Z.eq_dec a b then true else false.
  Definition upstream_b : bool := same_numbers (List.concat upstreams_test) (List.concat upstreams_answers).

  Definition in_blocks : list Z := map (page_checksum all_differ) [0; 7; 2 ^ 32 - 2].
  Definition differ_b : bool := same_numbers in_blocks [46344; 46349; 19194].
  Definition other_checksum : list Z :=
    match all_differ with a :: b :: w :: rest => a :: b :: (w / 65536 * 65536 + 7) :: rest | words => words end.
  Definition stored_b : bool := page_checksum all_differ 7 =? page_checksum other_checksum 7.

  (** The SIMD kernels as their instructions: a page of 1024 bytes whose words all differ. *)
  Definition vectors_b : bool :=
    let page := firstn 256 all_differ in
    forallb (fun f => Vectors.vector_checksum f (Lanes.register_of 4 page) 7 =? page_checksum page 7)
      [Vectors.avx2; Vectors.avx512].

  (** The kernels in plain C, on that page. *)
  Definition loads_b : bool :=
    let page := firstn 256 all_differ in
    forallb (fun fold => match fold 8%nat page with Some sum => finish sum 7 =? page_checksum page 7 | None => false end)
      [Loads.upstream_fold; Loads.scalar_fold].

  (** Those by vector registers, on seven pages of three rows: groups, and pages that are left. *)
  Definition groups_b : bool :=
    let pages := firstn 672 all_differ in
    forallb (fun sums => match sums 3%nat 7%nat pages with
                         | Some sums => same_numbers (Loads.finish_all sums 7) (Loads.page_checksums 96 7 pages 7)
                         | None => false
                         end) [Loads.avx2_sums; Loads.avx512_sums; Loads.neon_sums].
End Sums.

(** ** Recovery: pages of three sectors, of which the first is the header; records that change a sector each *)
Definition three : Type := page nat.
Definition set_sector (i v : nat) (p : three) : three := firstn i p ++ v :: skipn (S i) p.
Definition step_of (j : nat) (p : three) : three := set_sector 0 j (set_sector (1 + j mod 2) (10 + j) p).
Fixpoint state_of (j : nat) : three :=
  match j with
  | 0 => [0; 1; 2]
  | S j => step_of (S j) (state_of j)
  end.
Definition lsn_of (p : three) : nat := hd 0 p.
Definition first_is_image (j : nat) : bool := j =? 1.
Definition none_is_image (_ : nat) : bool := false.
Definition whole_up_to (k j : nat) : bool := j <=? k.

Fixpoint same (a b : three) : bool :=
  match a, b with
  | [], [] => true
  | x :: a, y :: b => (x =? y) && same a b
  | _, _ => false
  end.

(** All pages that a crash may leave after a write. *)
Fixpoint mixtures (durable written : three) : list three :=
  match durable, written with
  | d :: ds, w :: ws => map (cons d) (mixtures ds ws) ++ map (cons w) (mixtures ds ws)
  | _, _ => [[]]
  end.

Definition images_b (found : nat) : bool :=
  forallb (fun place => same (recover first_is_image state_of step_of lsn_of (whole_up_to found) 5 place) (state_of found))
    (mixtures (state_of 0) (state_of found)).
Definition is_state (p : three) : bool := existsb (fun j => same p (state_of j)) (seq 0 6).
Definition double_b (old new found : nat) : bool :=
  forallb (fun area => same (recover_double none_is_image state_of step_of lsn_of is_state (whole_up_to found) 5 area (state_of old))
      (state_of found)) (mixtures (state_of old) (state_of new)) &&
  forallb (fun place => same (recover_double none_is_image state_of step_of lsn_of is_state (whole_up_to found) 5 (state_of new) place)
      (state_of found)) (mixtures (state_of old) (state_of new)).
Definition atomic_b (old found : nat) : bool :=
  same (recover none_is_image state_of step_of lsn_of (whole_up_to found) 5 (state_of old)) (state_of found).
Definition found_b (k : nat) : bool := valid (whole_up_to k) 1 5 =? Nat.min k 5.

(** ** Faults: a store fails at any operation, and so does its recovery; what a power loss then keeps *)
Definition newer (n d : nat) (p : three) : three := [n; d; nth 1 p 0].
Definition blank : three := [0; 0; 0].
Definition world : Type := Faults.world nat nat.
Definition room_of_log : nat := 8.
Definition lives (pr : Faults.protection) : world -> list (Faults.event nat nat) -> world := Faults.run pr room_of_log lsn_of newer.
Definition works (n : nat) : list (Faults.event nat nat) := repeat Faults.Go n.

(** The newest of a block, the oldest, or a mixture: a page with the newest header on what is oldest, or an area whose CRC is
    wrong, if it may hold two copies. *)
Inductive pick := Newest | Oldest | Header.
Definition picked {A} (k : pick) (x : A) (m : list A) : A := match k with Newest => hd x m | _ => last m x end.
Definition picked_page (pr : Faults.protection) (k : pick) (m : list three) : three :=
  match pr, k with
  | Faults.Atomic, _ | _, Newest | _, Oldest => picked k blank m
  | _, Header => hd 0 (hd blank m) :: tl (last m blank)
  end.
Definition picked_area (k : pick) (m : list (option three)) : option three :=
  match k, m with
  | Header, Some p :: older => if forallb (fun q => match q with Some q => same p q | None => false end) older then Some p else None
  | _, _ => picked k None m
  end.
Definition loss (pr : Faults.protection) (l d a c : pick) (w : world) : Faults.event nat nat :=
  let v := Faults.dev (Faults.now w) in
  Faults.PowerLoss (Faults.Contents (fun n => picked l None (Faults.may (Faults.log v n)))
    (picked_page pr d (Faults.may (Faults.data v))) (picked_area a (Faults.may (Faults.area v)))
    (picked c (Faults.Control 0 1) (Faults.may (Faults.ctl v)))).

(** What the theorems say of a store whose process runs. *)
Definition as_promised (w : world) : bool :=
  let s := Faults.now w in
  let n := Faults.insert (Faults.proc s) in
  match Faults.program w with
  | None => false
  | Some _ => (Faults.acked s <=? n) && (n <=? List.length (Faults.made s)) &&
      same (Faults.mem (Faults.proc s)) (Faults.state newer blank (Faults.made s) n)
  end.

(** A change that is written back; a checkpoint with a change in it; one more is written back.  Operation [n] fails. *)
Definition fails_at (pr : Faults.protection) (n : nat) : world :=
  lives pr (Faults.new blank)
    ([Faults.Change 5; Faults.Flush] ++ works 3 ++ [Faults.WriteBack] ++ works 8 ++ [Faults.Change 7; Faults.BeginCheckpoint; Faults.Change 8;
      Faults.ChangeElsewhere; Faults.EndCheckpoint] ++ works n ++ [Faults.Change 6; Faults.WriteBack] ++ works (n - 14) ++ [Faults.Fail; Faults.Kill]).
(** Recovery works for m operations.  Then the power fails, and recovery reads again; it ends, the power fails again. *)
Definition survives (pr : Faults.protection) (n m : nat) (l d a c : pick) : bool :=
  let w := lives pr (fails_at pr n) (Faults.Recover :: works m) in
  let x := lives pr w [loss pr l d a c w; Faults.Recover] in
  let y := lives pr x (works 30 ++ [Faults.Change 9; Faults.Flush] ++ works 3) in
  let z := lives pr y [loss pr Oldest d Oldest Oldest y; Faults.Recover] in
  as_promised w && as_promised x && as_promised y && as_promised z.
Definition all_survive (pr : Faults.protection) : bool :=
  forallb (fun n => forallb (fun m =>
    survives pr n m Oldest Newest Oldest Oldest && survives pr n m Newest Header Oldest Newest &&
    survives pr n m Oldest Header Newest Oldest && survives pr n m Oldest Oldest Newest Newest &&
    survives pr n m Newest Header Header Newest) (seq 0 20)) (seq 0 24).

(** ** The instances: hypotheses and conclusions of the theorems *)
Record instance := Instance { claim : string; hypothesis : bool; conclusion : bool }.
Definition holds (i : instance) : bool := hypothesis i && conclusion i.
Definition fails (i : instance) : bool := hypothesis i && negb (conclusion i).

Definition instances : list instance :=
  [Instance "kernel_is_checksum" true (kernel_b next [0; 1; 2; 3]);
   Instance "split_kernel_is_checksum" true (kernel_b next_split [3; 1; 2; 0]);
   Instance "checksum_is_16_bits_and_not_0" true range_b;
   Instance "upstreams_test_is_passed" true upstream_b;
   Instance "each_column_has_its_own_start" true differ_b;
   Instance "pd_checksum_does_not_count" true stored_b;
   Instance "vector_checksums_are_postgresqls" true vectors_b;
   Instance "plain_kernels_are_pg_checksum_page" true loads_b;
   Instance "vector_kernels_are_pg_checksum_page" true groups_b;
   Instance "durable_records_are_found" true (forallb found_b [0; 1; 3; 5]);
   Instance "images_restore" true (forallb images_b [1; 2; 4; 5]);
   Instance "double_write_restores_in_the_area" true (forallb (fun old => double_b old (S old) 4) [0; 1; 2; 3]);
   Instance "atomic_writes_restore" true (forallb (fun old => atomic_b old 4) [0; 1; 2; 3; 4]);
   Instance "what_was_promised_survives" true (forallb all_survive [Faults.Images; Faults.DoubleWrite; Faults.Atomic])].
