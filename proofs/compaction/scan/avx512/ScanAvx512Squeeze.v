(* SPDX-License-Identifier: PostgreSQL *)
(** * How avx512vbmi2.c squeezes the dead units out: [prefix_xor], [mark_live], [squeeze]

    A unit is 8 bytes.  [live] has a bit for each unit of the page, a byte for each line of 64 bytes.  An intrinsic has the meaning that
    the table of instructions/ gives it; the shifts of [odd], a [uint32_t], lose no bit. *)
From Coq Require Import String.
From Pgquern.common Require Import Integers.
From Pgquern.instructions Require Import Lanes Table.
From Pgquern.compaction Require Import Memory Algorithms.
From Pgquern.compaction Require Scan ScanAvx512.
Local Open Scope string_scope.
Local Open Scope list_scope.
Local Open Scope Z_scope.

Notation UNIT := ScanAvx512.UNIT.

(** Bit k of each lane of 64 becomes the XOR of bits 0 to k: [v = v ^ (v << n)], six times. *)
Definition xor_shifted (v : bytes) (shift : string) : bytes := ScanAvx512.xor_si512 v (intrinsic shift [v]).
Definition prefix_xor (v : bytes) : bytes :=
  fold_left xor_shifted
    ["_mm512_slli_epi64 1"; "_mm512_slli_epi64 2"; "_mm512_slli_epi64 4"; "_mm512_slli_epi64 8"; "_mm512_slli_epi64 16";
     "_mm512_slli_epi64 32"] v.

(** The loop over runs in [mark_live], [count] of them from the [i]-th on: 1 where, going upwards, live begins or ends.  [above] is
    where the tuples above the gap start. *)
Fixpoint toggle_runs (run_ends run_old_ends : nat -> Z) (i count : nat) (above : Z) (toggles : nat -> Z) : nat -> Z :=
  let toggles := Scan.put toggles (Z.to_nat (above / UNIT)) 1 in
  match count with
  | O => toggles
  | S count =>
      toggle_runs run_ends run_old_ends (S i) count (run_old_ends i - (run_ends i - run_ends (S i)))
        (Scan.put toggles (Z.to_nat (run_old_ends i / UNIT)) 1)
  end.

(** [bits]: eight of its words from the [i]-th on, each of 64 toggles. *)
Definition toggle_word (toggles : nat -> Z) (i : nat) : bytes :=
  let t := map toggles (seq (64 * i) 64) in intrinsic "_mm512_test_epi8_mask" [t; t].
Definition toggle_words (toggles : nat -> Z) (i : nat) : bytes := concat (map (toggle_word toggles) (seq i 8)).

Definition movepi64_mask (v : bytes) : Z := Lanes.number (intrinsic "_mm512_movepi64_mask" [v]).
Definition invert (odd : Z) (v : bytes) : bytes :=
  intrinsic "_mm512_mask_xor_epi64" [v; bytes_of 1 odd; v; intrinsic "_mm512_set1_epi8" [bytes_of 1 (-1)]].

(** Which words have below them an odd number of toggles, given which have an odd number of their own. *)
Definition inverted (odd : Z) : Z :=
  let odd := Z.lxor odd (Z.shiftl odd 1) in
  let odd := Z.lxor odd (Z.shiftl odd 2) in
  let odd := Z.lxor odd (Z.shiftl odd 4) in
  let odd := Z.lxor odd (Z.shiftl odd 8) in
  Z.shiftl odd 1.

Definition mark_live (run_ends run_old_ends : nat -> Z) (ngaps : nat) : bytes :=
  let toggles := toggle_runs run_ends run_old_ends 0 ngaps (run_ends 0%nat) (fun _ => 0) in
  let low := prefix_xor (toggle_words toggles 0) in
  let high := prefix_xor (toggle_words toggles 8) in
  let odd := inverted (Z.lor (movepi64_mask low) (Z.shiftl (movepi64_mask high) 8)) in
  invert odd low ++ invert (Z.shiftr odd 8) high.

(** The live units of a line from its end downwards.  C packs them to the bottom of a register and rotates them to its top, and so
    loads each of them against the one before. *)
Definition live_units (live : bytes) (line : nat) : list Z :=
  filter (fun u => Z.testbit (nth line live 0) ((u - LINE * Z.of_nat line) / UNIT)) (down (LINE * Z.of_nat line + LINE) 8).

(** The loop of [squeeze] over [count] lines downwards, the highest of which is [line - 1]. *)
Fixpoint squeeze_lines (live : bytes) (line count : nat) (to : Z) : list op :=
  match count with
  | O => []
  | S count =>
      let here := live_units live (line - 1) in
      load here LINE ++ Restore (to - LINE) 0 LINE :: squeeze_lines live (line - 1) count (to - UNIT * Z.of_nat (length here))
  end.

Definition squeeze (run_ends run_old_ends : nat -> Z) (ngaps : nat) (new_upper : Z) : list op :=
  let line := (run_ends 0%nat + LINE - 1) / LINE in
  let bottom := (run_old_ends (ngaps - 1)%nat - (run_ends (ngaps - 1)%nat - new_upper)) / LINE in
  Save LINE (new_upper - LINE) LINE ::
  squeeze_lines (mark_live run_ends run_old_ends ngaps) (Z.to_nat line) (Z.to_nat (line - bottom)) (LINE * line) ++
  [Restore (new_upper - LINE) LINE LINE].
