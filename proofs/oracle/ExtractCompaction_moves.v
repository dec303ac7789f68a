(* SPDX-License-Identifier: PostgreSQL *)
(** * What avx512 does with its proved scans as OCaml: extraction *)
From Pgquern.oracle Require Import CompactionNumbers.
From Pgquern.compaction Require Import Page Memory Algorithms.
From Pgquern.compaction Require ScanAvx512Moves.

Extraction "compaction_moves_proved.ml" ScanAvx512Moves.LANES ScanAvx512Moves.FEW ScanAvx512Moves.way ScanAvx512Moves.avx512_kernel.
