(* SPDX-License-Identifier: PostgreSQL *)
(** * Pages to compute with: those of Necessity.v and Witness.v *)
From Pgquern.common Require Import Integers.
From Pgquern.compaction Require Import Page Memory.
From Pgquern.compaction Require ScanAvx2.
From Pgquern.compaction Require ScanAvx512 ScanAvx512Few.
From Pgquern.compaction Require ScanNeon.
Local Open Scope Z_scope.
Local Open Scope list_scope.
Local Open Scope Z_scope.

(** ** Pages *)

(** Line pointers: LP_NORMAL, LP_REDIRECT, LP_DEAD, and one that is unused but not zero. *)
Definition normal (off len : Z) : Z := off + 32768 + 131072 * len.
Definition redirect (to : Z) : Z := to + 65536.
Definition dead : Z := 98304.
Definition garbage : Z := 131072 * 5 + 40.

(** A page with these line pointers; every other byte differs from its neighbours. *)
Definition page_with (upper special : Z) (words : list Z) : mem := fun i =>
  let lower := 24 + 4 * Z.of_nat (length words) in
  if i <? 12 then 0
  else if i <? 14 then byte_of (i - 12) lower
  else if i <? 16 then byte_of (i - 14) upper
  else if i <? 18 then byte_of (i - 16) special
  else if i <? 24 then 0
  else if i <? lower then byte_of ((i - 24) mod 4) (nth (Z.to_nat ((i - 24) / 4)) words 0)
  else i mod 251.

(** Three tuples in place, then some that are not, with redirected, dead and unused line pointers. *)
Definition presorted_page : mem := page_with 7400 8192
  [normal 8160 30; normal 8128 32; normal 8096 32; 0; normal 8048 40; redirect 5; normal 8008 40; normal 7952 56;
   normal 7888 64; dead; normal 7864 23; normal 7808 48; normal 7776 32; normal 7720 56; normal 7688 32; normal 7656 32; garbage; 0].

(** The same out of order. *)
Definition unsorted_page : mem := page_with 7400 8176
  [normal 7888 64; normal 8144 30; normal 7400 32; 0; normal 8048 40; redirect 5; normal 7952 56; normal 8008 40; garbage; dead;
   normal 7864 23; normal 7808 48; normal 7776 32; normal 7688 32; normal 7720 56; normal 7656 32; 0; normal 7624 16].

(** Runs of all lengths, presorted. *)
Definition long_runs : mem := page_with 3000 8000
  [normal 7200 790; normal 6400 800; normal 5704 490; normal 5624 70; 0; normal 5496 100; normal 5440 50; normal 5416 24; garbage;
   normal 5360 33; normal 5320 20; normal 4608 640; normal 4000 600; normal 3400 600; normal 3376 24].

(** Mixed lengths, out of order, with an overlap. *)
Definition overlapping_page : mem := page_with 5000 8192
  [normal 6000 900; normal 8000 100; normal 7960 64; normal 5000 128; 0; normal 7000 300; normal 5128 200; normal 7304 64; redirect 3].

(** Few tuples and many line pointers: PostgreSQL 14 copies each tuple by itself. *)
Definition sparse_page : mem := page_with 7000 8192
  [0; 0; normal 7400 61; garbage; 0; dead; 0; 0; normal 7904 50; 0; 0; 0; normal 7000 37; 0; 0; 0].

(** Long tuples of one length, in slots: a chain to a free slot, a cycle, and one in place. *)
Definition slots_page : mem := page_with 5288 8192
  [normal 7928 264; normal 7400 264; normal 7664 264; normal 6344 264; 0; normal 6872 264; normal 6608 264; normal 5552 264;
   normal 5288 264].

(** Tuples of similar lengths, presorted, none shorter than a piece. *)
Definition pieces_page : mem := page_with 7000 8192
  [normal 8144 40; normal 7904 190; normal 7840 33; normal 7704 100; normal 7600 64; normal 7504 90].

(** The tuples lie so low that no window fits below them. *)
Definition low_page : mem := page_with 48 400 [normal 48 33; normal 320 64; normal 88 40; 0; normal 136 64].

(** 200 tuples of 25 to 32 bytes, with gaps, and 40 line pointers without storage between them. *)
Fixpoint crowd (n : nat) (count top : Z) : list Z :=
  match n with
  | O => []
  | S n =>
      if count mod 6 =? 5
      then (if count mod 4 =? 0 then 0 else if count mod 4 =? 1 then dead else if count mod 4 =? 2 then redirect 1 else garbage)
           :: crowd n (count + 1) (top - 16)
      else normal (top - 32) (25 + count mod 8) :: crowd n (count + 1) (top - 32)
  end.
Definition crowded_page : mem := page_with 1152 8192 (crowd 240 0 8192).

(** As many tuples as a page can have. *)
Definition full_page : mem := page_with 1200 8192 (map (fun n => normal (8192 - 24 * Z.of_nat n) 23) (seq 1 291)).

Definition pages : list mem :=
  [presorted_page; unsorted_page; long_runs; overlapping_page; sparse_page; slots_page; pieces_page; low_page].

(** Pages on which one test more or less lets a kernel take a way that does not fit: the new pd_upper has no line below; two
    lengths whose OR is no power of 2; long tuples, presorted and not, two of them in one slot; one gap. *)
Definition spaced (n : nat) (len top : Z) : list Z := map (fun k => normal (top - (len + 8) * (Z.of_nat k + 1)) len) (seq 0 n).
Definition two_sizes_page : mem := page_with 8000 8192 [normal 8000 40; normal 8112 40].
Definition climbing_page : mem := page_with 4096 8192 (spaced 20 160 8192).
Definition wide_page : mem := page_with 4000 8192 (rev (spaced 20 128 8192)).
Definition one_slot_page : mem := page_with 7664 8192 [normal 7928 264; normal 7928 264].
Definition squeezing_page : mem := page_with 4000 8192 (spaced 20 200 8192).
Definition long_page : mem := page_with 6400 8192 [normal 7592 600; normal 6400 520; normal 6960 632].

(** ** The instances *)

(** What lies in scratch before: another byte at each address than on the page. *)
Definition dirt : mem := fun i => 255 - (i mod 251).

(** The same of the scan of [avx2]; what its arrays hold before. *)
Definition dirty_arrays : ScanAvx2.dirt := ScanAvx2.Dirt (fun k => Z.of_nat k + 7) (fun k => - Z.of_nat k) (fun _ => 4294967295).

(** The same of the scan of [avx512] for few line pointers. *)
Definition dirty_vectors : ScanAvx512Few.dirt :=
  ScanAvx512Few.Dirt (fun k => Z.of_nat k + 7) (fun _ => 65535) (fun k => Z.of_nat k) (fun _ => 3) (fun _ => 5).

(** The same of its scan for more line pointers, which finds the same of few. *)
Definition dirty_scan : ScanAvx512.arrays :=
  ScanAvx512.Arrays (fun k => Z.of_nat k + 7) (fun _ => 7) (fun _ => 65535) (fun _ => 9) (fun _ => 1) (fun _ => 2) true.

(** The same of the scan of [neon]. *)
Definition dirty_neon : ScanNeon.dirt := ScanNeon.Dirt (fun k => Z.of_nat k + 7) (fun k => Z.of_nat k * 77777) (fun _ => 1).
