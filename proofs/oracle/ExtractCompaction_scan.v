(* SPDX-License-Identifier: PostgreSQL *)
(** * The proved scans of avx2, of avx512 and of neon as OCaml, register by register: extraction

    An intrinsic is what the table of instructions/ says of its name, as in oracle/ExtractInstructions.v. *)
From Pgquern.oracle Require Import CompactionNumbers.
From Pgquern.compaction Require Import Page.
From Pgquern.compaction Require ScanAvx2 ScanAvx512 ScanAvx512Few ScanNeon.

Extraction "compaction_scan_proved.ml" check_header nline ScanAvx2.LANES ScanAvx2.HALF ScanAvx2.scanned
  ScanAvx512.LANES ScanAvx512.scan_line_pointers ScanAvx512Few.FEW ScanAvx512Few.scan_few
  ScanNeon.LANES ScanNeon.scan_line_pointers.
