(* SPDX-License-Identifier: PostgreSQL *)
(** * What avx512 does with its proved scans as OCaml: extraction *)
From Pgquern.oracle Require Import CompactionNumbers.
From Pgquern.compaction Require Import Page Memory Algorithms.
From Pgquern.compaction Require ScanAvx512 ScanAvx512Few ScanAvx512Moves.

Extraction "compaction_moves_proved.ml" ScanAvx512.LANES ScanAvx512Few.FEW ScanAvx512Moves.way ScanAvx512Moves.avx512_kernel.
