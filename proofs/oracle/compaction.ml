(* SPDX-License-Identifier: PostgreSQL *)
(* The proved compaction as a filter, for tests.

   Standard input: records of 1 byte algorithm, 1 byte truncate (0 or 1), 8192 bytes page.  Standard output, one for each:
   1 byte error code, 2 bytes little-endian number of the line pointer, 8192 bytes page (unchanged if the code isn't 0).

   Algorithm: 0 pg13; 1 pg14; then ours through scratch: 2 by windows of 64 bytes, 3 the same without a look at what is in
   place, 4 by windows of 256 bytes, 5 each tuple exactly, 6 by runs; 7 squeezed in place, line by line; through registers,
   by windows of 64 bytes: 8 all read before one is written, 9 read ahead; 10 each in place by pieces of 32 bytes; from
   scratch: 11 by whole lines, 12 each exactly; 13 to scratch line by line, by depth; by runs in place, by vectors of 64 (14)
   or 32 bytes (15); 16 from slot to slot; 17 by windows of 32 bytes; the way that a kernel takes for the page: 18 scalar, 19 avx2,
   20 avx512, 24 neon; 21: all that pgq_compaction_scalar does, from its scan on, stores as C does them; 23 as 9, by pairs of
   registers of 16 bytes.  Where windows or pieces don't fit, the tuples are too many or not in slots, or the page isn't presorted,
   2 to 4, 7 to 11, 13 to 17 and 23 go by runs as 6 does.

   Plus 128: the extracted interpreter does the operations, byte by byte on functions (slow), instead of [step] below on
   buffers.

   22: what the scan of scalar finds. After code and number, which are 0, come 4 bytes number of integers, and these, of 32
   bits: nkept, nitems, nused, ngaps, total, lengths, refused, unsorted, changed; words from the nkept-th to the last; tuples;
   gaps.  If the header is refused: none.

   Plus 64: nothing is done. After code and number come 4 bytes number of operations, and of each operation four integers
   of 32 bits: 0 Move to from length, 1 Save to from length, 2 Restore to from length, 3 Store16 at value 0, 4 Store32 at
   value 0. *)

open Compaction_proved

let block = 8192

(* The scratch area goes beyond the page's addresses by this much on both sides, and is full of garbage to begin with. *)
let margin = 2 * block
let garbage = '\xa5'

let step page scratch = function
  | Move (dst, src, len) -> Bytes.blit page src page dst len
  | Save (dst, src, len) -> Bytes.blit page src scratch (margin + dst) len
  | Restore (dst, src, len) -> Bytes.blit scratch (margin + src) page dst len
  | Store16 (at, value) -> Bytes.set_uint16_le page at value
  | Store32 (at, value) -> Bytes.set_int32_le page at (Int32.of_int value)

let run_on_buffers page program =
  let scratch = Bytes.make (block + (2 * margin)) garbage in
  List.iter (step page scratch) program

let run_extracted page program =
  let before = Bytes.copy page in
  let memory i = Char.code (Bytes.get before i) in
  let after = exec program { page = memory; scratch = (fun _ -> Char.code garbage) } in
  Bytes.iteri (fun i _ -> Bytes.set page i (Char.chr (after.page i))) page

let algorithm = function
  | 0 -> PG13
  | 1 -> PG14
  | 2 -> Gather (Some 64)
  | 4 -> Gather (Some 256)
  | 5 -> Gather None
  | 6 -> Gather (Some 0)
  | 7 -> Squeeze
  | 8 -> Permute (64, 16)
  | 9 -> Slide 64
  | 10 -> Climb 6
  | 11 -> Lines
  | 12 -> Area
  | 13 -> ByDepth
  | 14 -> Runs true
  | 15 -> Runs false
  | 16 -> Slots
  | 17 -> Gather (Some 32)
  | 23 -> SlidePairs
  | n -> prerr_endline (Printf.sprintf "no algorithm %d: give 0 to 24" n); exit 2

let answer kind truncate page =
  let memory i = Char.code (Bytes.get page i) in
  let repaired =
    match kind land 63 with
    | 18 -> repair_by Scalar truncate memory
    | 19 -> repair_by Avx2 truncate memory
    | 20 -> repair_by Avx512 truncate memory
    | 24 -> repair_by Neon truncate memory
    | 21 -> scalar_kernel truncate memory
    | way -> page_repair_fragmentation (algorithm way) truncate memory
  in
  match repaired with
  | Inl refusal -> (refusal.code, refusal.index, [])
  | Inr program -> (0, 0, program)

let numbers = function
  | Move (dst, src, len) -> [ 0; dst; src; len ]
  | Save (dst, src, len) -> [ 1; dst; src; len ]
  | Restore (dst, src, len) -> [ 2; dst; src; len ]
  | Store16 (at, value) -> [ 3; at; value; 0 ]
  | Store32 (at, value) -> [ 4; at; value; 0 ]

let output_int32 value =
  let bytes = Bytes.create 4 in
  Bytes.set_int32_le bytes 0 (Int32.of_int value);
  output_bytes stdout bytes

let array get first count = List.init (max 0 (count - first)) (fun i -> get (first + i))

let scanned page =
  let memory i = Char.code (Bytes.get page i) in
  if not (check_header memory) then []
  else
    let s = scan_line_pointers memory in
    let flag b = if b then 1 else 0 in
    [ s.nkept; s.tuple_count; s.nused; s.gap_count; s.total_length; s.or_of_lengths; flag s.refused; flag s.is_unsorted;
      flag s.changed ]
    @ array s.words_to_be s.nkept (nline memory) @ array s.found_tuples 0 s.tuple_count @ array s.found_gaps 0 s.gap_count

let rec main () =
  match input_byte stdin with
  | exception End_of_file -> ()
  | kind ->
    (try
       let truncate = input_byte stdin <> 0 in
       let page = Bytes.create block in
       really_input stdin page 0 block;
       let scan = kind = 22 in
       let code, index, program = if scan then (0, 0, []) else answer kind truncate page in
       output_byte stdout code;
       output_byte stdout (index land 255);
       output_byte stdout (index lsr 8);
       if scan then begin
         let found = scanned page in
         output_int32 (List.length found);
         List.iter output_int32 found
       end
       else if kind land 64 <> 0 then begin
         output_int32 (List.length program);
         List.iter (fun operation -> List.iter output_int32 (numbers operation)) program
       end
       else begin
         (if kind land 128 = 0 then run_on_buffers else run_extracted) page program;
         output_bytes stdout page
       end
     with End_of_file -> prerr_endline "the last record is cut off: each has 8194 bytes"; exit 2);
    main ()

let () =
  set_binary_mode_in stdin true;
  set_binary_mode_out stdout true;
  main ()
