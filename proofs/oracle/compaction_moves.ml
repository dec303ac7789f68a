(* SPDX-License-Identifier: PostgreSQL *)
(* What the proved avx512 does with its scans, as a filter, for tests.

   Standard input: records of 1 byte kernel, which is 25, 1 byte that is ignored, and 8192 bytes page.  Standard output, one for
   each: 3 bytes of zero, 4 bytes number of integers; these, of 32 bits: the way that it takes, and up to two numbers with it, as
   [taken] has them; then twice, without truncation and with it, of the page with the stores done, and no copy: all line pointers,
   pd_lower, pd_upper, pd_flags.  If it leaves the page to scalar: none.  All little-endian.

   Before the scan each word of the arrays is [dirt], each half of one [short_dirt].

   Of names that several files have, extraction numbers the later ones. *)

open Compaction_moves_proved

let block = 8192
let dirt _ = 0xa5a5a5a5
let short_dirt _ = 0xa5a5

let few =
  { dirty_words = dirt; dirty_ends = short_dirt; dirty_old_ends = short_dirt; dirty_run_ends = short_dirt;
    dirty_run_old_ends = short_dirt }

let many =
  { words0 = dirt; ends = short_dirt; old_ends = short_dirt; shifts0 = short_dirt; run_ends = short_dirt;
    run_old_ends = short_dirt; inside = true }

(* As tests/compaction/moved_avx512.c numbers them. *)
let taken = function
  | None -> [ 0; 0; 0 ]
  | Some (Permute (window, few)) -> [ 1; window; few ]
  | Some (Runs true) -> [ 2; 0; 0 ]
  | Some (Slide window) -> [ 3; window; 0 ]
  | Some (Climb pieces) -> [ 4; pieces; 0 ]
  | Some (Gather (Some window)) -> [ 5; window; 0 ]
  | Some Squeeze -> [ 6; 0; 0 ]
  | Some Slots -> [ 7; 0; 0 ]
  | Some ByDepth -> [ 8; 0; 0 ]
  | Some Lines -> [ 9; 0; 0 ]
  | Some (Gather None) -> [ 10; 0; 0 ]
  | Some _ -> failwith "oracle/compaction_moves: a way that avx512 does not have"

let store page = function
  | Store16 (at, value) -> Bytes.set_uint16_le page at value
  | Store32 (at, value) -> Bytes.set_int32_le page at (Int32.of_int value)
  | Move _ | Save _ | Restore _ -> ()

let stored page memory truncate =
  match avx512_kernel truncate memory few many with
  | Inl _ -> failwith "oracle/compaction_moves: a page is refused whose scan is not, which is proved impossible"
  | Inr program ->
    let after = Bytes.copy page in
    List.iter (store after) program;
    List.init (nline memory) (fun i -> Int32.to_int (Bytes.get_int32_le after (24 + (4 * i))))
    @ List.map (Bytes.get_uint16_le after) [ 12; 14; 10 ]

let found page =
  let memory i = Char.code (Bytes.get page i) in
  if (not (check_header memory)) || pd_lower memory + (4 * lANES) > block then []
  else
    let seen = if nline memory <= fEW then seen_by_few memory few else seen_by_many memory many in
    if seen.is_refused then []
    else
      let moved = seen.ngaps2 > 0 || seen.is_falling0 in
      taken (if moved then Some (way memory seen) else None) @ stored page memory false @ stored page memory true

let output_int32 value =
  let bytes = Bytes.create 4 in
  Bytes.set_int32_le bytes 0 (Int32.of_int value);
  output_bytes stdout bytes

let rec main () =
  match input_byte stdin with
  | exception End_of_file -> ()
  | kernel ->
    if kernel <> 25 then (prerr_endline "the kernel is 25"; exit 2);
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
