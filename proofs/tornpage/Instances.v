(* SPDX-License-Identifier: PostgreSQL *)
(** * Concrete pages and logs, and claims of the theorems as booleans

    A mutant of a definition is refuted if one of these becomes false. *)
From Coq Require Import ZArith Arith List Bool String.
From Pgquern.tornpage Require Import Checksum Recovery.
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

(** ** The instances: hypotheses and conclusions of the theorems *)
Record instance := Instance { claim : string; hypothesis : bool; conclusion : bool }.
Definition holds (i : instance) : bool := hypothesis i && conclusion i.
Definition fails (i : instance) : bool := hypothesis i && negb (conclusion i).

Definition instances : list instance :=
  [Instance "kernel_is_checksum" true (kernel_b next [0; 1; 2; 3]);
   Instance "split_kernel_is_checksum" true (kernel_b next_split [3; 1; 2; 0]);
   Instance "checksum_is_16_bits_and_not_0" true range_b;
   Instance "durable_records_are_found" true (forallb found_b [0; 1; 3; 5]);
   Instance "images_restore" true (forallb images_b [1; 2; 4; 5]);
   Instance "double_write_restores_in_the_area" true (forallb (fun old => double_b old (S old) 4) [0; 1; 2; 3]);
   Instance "atomic_writes_restore" true (forallb (fun old => atomic_b old 4) [0; 1; 2; 3; 4])].
