(* SPDX-License-Identifier: PostgreSQL *)
(** * The proved compaction as OCaml: check, planner and interpreter, verbatim

    A page is a function from addresses to bytes here, which the main program gives as a look-up in its buffer.  What
    extraction adds to the trusted base: Coq's extraction and the OCaml compiler; numbers as CompactionNumbers.v has them; and, where
    the main program runs a program of operations on its buffers and not by the extracted [exec], its interpreter of five cases. *)
From Pgquern.oracle Require Import CompactionNumbers.
From Pgquern.compaction Require Import Page Memory Algorithms Choice Scan.

Extraction "compaction_proved.ml" page_repair_fragmentation repair_by scan_line_pointers scalar_kernel exec.
