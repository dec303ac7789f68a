(* SPDX-License-Identifier: PostgreSQL *)
(** * Pages and logs to compute with: those of Witness.v, and upstream's own test of the checksum *)
From Coq Require Import Bool ZArith Arith List.
From Pgquern.tornpage Require Import Checksum Recovery.
From Pgquern.tornpage Require Faults.
Import ListNotations.
Open Scope list_scope.

(** ** Checksums: four columns, three rows, large words *)
Section Sums.
  Local Open Scope Z_scope.
  Definition four_bases : list Z := [0x5b1f36e9; 0xb8525960; 0x02ab50aa; 0x1de66d2a].
  Definition three_rows : list (list Z) :=
    [[0xffffffff; 0; 1; 0x80000000]; [17; 0xdeadbeef; 0x7fffffff; 3]; [0; 0xffffffff; 0x12345678; 0x9abcdef0]].

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

Definition is_state (p : three) : bool := existsb (fun j => same p (state_of j)) (seq 0 6).

(** ** Faults: a store fails at any operation, and so does its recovery; what a power loss then keeps *)
Definition newer (n d : nat) (p : three) : three := [n; d; nth 1 p 0].
Definition blank : three := [0; 0; 0].
Definition world : Type := Faults.world nat nat.
Definition room_of_log : nat := 8.
Definition lives (pr : Faults.protection) : world -> list (Faults.event nat nat) -> world := Faults.run pr room_of_log lsn_of newer.
Definition works (n : nat) : list (Faults.event nat nat) := repeat Faults.Go n.
