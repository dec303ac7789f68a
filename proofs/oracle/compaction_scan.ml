(* SPDX-License-Identifier: PostgreSQL *)
(* The proved scans of avx2, of avx512 and of neon as a filter, for tests.

   Standard input: records of 1 byte kernel, 1 byte that is ignored, and 8192 bytes page.  Standard output, one for each: 3 bytes
   of zero, 4 bytes number of integers; these, of 32 bits.  Kernel 23 is avx2: nitems, nused, nline_left, total, longest, ngaps,
   first, out_of_bounds, unsorted, overlapping; words, and as many more as a round of the loop stores; pd_special, tuples, and as
   many more; gaps, and as many more as a vector has.  Kernel 24 is avx512: nitems, nused, nline_left, total, new_upper, longest,
   shortest, ngaps, first, out_of_bounds, falls; words; ends; old_ends; shifts; run_ends; run_old_ends; of each array as many more
   as a vector has.  Kernel 26 is neon: nitems, nused, nline_left, total, longest, new_upper, ngaps, first, out_of_bounds, falls;
   words, and as many more as a round of the loop stores; tuples, and as many more as put_tuples stores; a byte for each tuple, which
   says whether there is a gap, and as many more as a vector has.  If the kernel does not scan the page: none.  All little-endian.

   Before the scan each word of the arrays is [dirt], each half of one [short_dirt], each byte [dirty_byte]; so
   tests/compaction/scanned_*.c have it, too.

   Of names that several files have, extraction numbers the later ones: [nitems] is of ScanAvx2.v, [nitems0] of ScanAvx512.v,
   [nitems1] of ScanAvx512Few.v, [nitems2] of ScanNeon.v. *)

open Compaction_scan_proved

let block = 8192
let dirt _ = 0xa5a5a5a5
let short_dirt _ = 0xa5a5
let dirty_byte _ = 0xa5
let flag b = if b then 1 else 0
let array get count = List.init count get

let check inside =
  if not inside then failwith "oracle/compaction_scan: an access outside of an array, which is proved impossible"

let avx2 memory =
  let s = scanned memory { old_words = dirt; old_tuples = dirt; old_gaps = dirt } in
  check s.stays_inside;
  [ s.nitems; s.used_count; s.left_count; s.total_length; s.longest_length; s.ngaps; s.first_moved;
    flag s.is_out_of_bounds; flag s.is_unsorted; flag s.is_overlapping ]
  @ array s.words_to_be (nline memory + lANES)
  @ array s.found_tuples (1 + s.nitems + lANES)
  @ array s.found_gaps (s.ngaps + hALF)

(* [scan_few] and [scan_line_pointers] of avx512; the former has no shifts. *)
let few memory =
  let s = scan_few memory
    { dirty_words = dirt; dirty_ends = short_dirt; dirty_old_ends = short_dirt;
      dirty_run_ends = short_dirt; dirty_run_old_ends = short_dirt } in
  { found =
      { words0 = s.words_to_be0; ends0 = s.new_ends; old_ends = s.old_ends0; shifts0 = short_dirt;
        run_ends = s.run_ends0; run_old_ends = s.run_old_ends0; inside0 = s.stays_inside0 };
    nitems0 = s.nitems1; nused0 = s.used_count0; nline_left0 = s.left_count0; total = s.total_length0;
    new_upper = s.upper_to_be; longest = s.longest_length0; shortest = s.shortest_length; ngaps0 = s.ngaps1;
    first0 = s.first_moved0; out_of_bounds0 = s.is_out_of_bounds0; falls = s.is_falling }

let many memory =
  scan_line_pointers0 memory
    { words0 = dirt; ends0 = short_dirt; old_ends = short_dirt; shifts0 = short_dirt;
      run_ends = short_dirt; run_old_ends = short_dirt; inside0 = true }

let avx512 memory =
  let s = if nline memory <= fEW then few memory else many memory in
  let a = s.found in
  check a.inside0;
  [ s.nitems0; s.nused0; s.nline_left0; s.total; s.new_upper; s.longest; s.shortest; s.ngaps0; s.first0;
    flag s.out_of_bounds0; flag s.falls ]
  @ array a.words0 (nline memory + lANES0)
  @ array a.ends0 (s.nitems0 + lANES0)
  @ array a.old_ends (s.nitems0 + lANES0)
  @ array a.shifts0 (1 + s.nitems0 + lANES0)
  @ array a.run_ends (s.ngaps0 + lANES0)
  @ array a.run_old_ends (s.ngaps0 + lANES0)

let neon memory =
  let s = scan_line_pointers1 memory { old_words0 = dirt; old_tuples0 = dirt; old_gaps0 = dirty_byte } in
  check s.stays_inside1;
  [ s.nitems2; s.used_count1; s.left_count1; s.total_length1; s.longest_length1; s.upper_to_be0; s.ngaps2; s.first_moved1;
    flag s.is_out_of_bounds1; flag s.is_falling0 ]
  @ array s.words_to_be1 (nline memory + lANES1)
  @ array s.found_tuples0 (s.nitems2 + (2 * lANES1))
  @ array s.found_gaps0 (s.nitems2 + lANES1)

let scan_of kernel =
  match kernel with
  | 23 -> (lANES, avx2)
  | 24 -> (lANES0, avx512)
  | 26 -> (lANES1, neon)
  | _ -> prerr_endline "the kernels are 23, 24 and 26"; exit 2

let found kernel page =
  let memory i = Char.code (Bytes.get page i) in
  let lanes, scan = scan_of kernel in
  if (not (check_header memory)) || pd_lower memory + (4 * lanes) > block then [] else scan memory

let output_int32 value =
  let bytes = Bytes.create 4 in
  Bytes.set_int32_le bytes 0 (Int32.of_int value);
  output_bytes stdout bytes

let rec main () =
  match input_byte stdin with
  | exception End_of_file -> ()
  | kernel ->
    let page = Bytes.create block in
    (try
       ignore (input_byte stdin);
       really_input stdin page 0 block
     with End_of_file -> prerr_endline "the last record is cut off: each has 8194 bytes"; exit 2);
    let numbers = found kernel page in
    output_string stdout "\000\000\000";
    output_int32 (List.length numbers);
    List.iter output_int32 numbers;
    main ()

let () =
  set_binary_mode_in stdin true;
  set_binary_mode_out stdout true;
  main ()
