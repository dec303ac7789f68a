(* SPDX-License-Identifier: PostgreSQL *)
(* The proved scan of avx2 as a filter, for tests.

   Standard input: records of 2 bytes, which are ignored, and 8192 bytes page.  Standard output, one for each: 3 bytes of zero,
   4 bytes number of integers; these, of 32 bits: nitems, nused, nline_left, total, longest, ngaps, first, out_of_bounds,
   unsorted, overlapping; words, and as many more as a round of the loop stores; pd_special, tuples, and as many more; gaps,
   and as many more as a vector has.  If the kernel does not scan the page: none.  All little-endian.

   Before the scan each word of the arrays is [dirt]; so tests/compaction/scanned_avx2.c has it, too. *)

open Compaction_scan_proved

let block = 8192
let dirt _ = 0xa5a5a5a5
let flag b = if b then 1 else 0
let array get count = List.init count get

let found page =
  let memory i = Char.code (Bytes.get page i) in
  if (not (check_header memory)) || pd_lower memory + (4 * lANES) > block then []
  else
    let s = scanned memory { old_words = dirt; old_tuples = dirt; old_gaps = dirt } in
    if not s.stays_inside then failwith "oracle/compaction_scan: an access outside of an array, which is proved impossible";
    [ s.nitems; s.used_count; s.left_count; s.total_length; s.longest_length; s.ngaps; s.first_moved;
      flag s.is_out_of_bounds; flag s.is_unsorted; flag s.is_overlapping ]
    @ array s.words_to_be (nline memory + lANES)
    @ array s.found_tuples (1 + s.nitems + lANES)
    @ array s.found_gaps (s.ngaps + hALF)

let output_int32 value =
  let bytes = Bytes.create 4 in
  Bytes.set_int32_le bytes 0 (Int32.of_int value);
  output_bytes stdout bytes

let rec main () =
  match input_byte stdin with
  | exception End_of_file -> ()
  | _ ->
    let page = Bytes.create block in
    (try
       ignore (input_byte stdin);
       really_input stdin page 0 block
     with End_of_file -> prerr_endline "the last record is cut off: each has 8194 bytes"; exit 2);
    let numbers = found page in
    output_string stdout "\000\000\000";
    output_int32 (List.length numbers);
    List.iter output_int32 numbers;
    main ()

let () =
  set_binary_mode_in stdin true;
  set_binary_mode_out stdout true;
  main ()
