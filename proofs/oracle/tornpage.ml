(* SPDX-License-Identifier: PostgreSQL *)
(* The proved forms of the page checksum, and the proved recovery, as a program: records from stdin to stdout, until the end of the input.

   In:  form (1 byte: 0 upstream's loop, 1 the chain, 2 the chain with the prime in two parts), number of lanes and number of
        rows (4 bytes each), block (4 bytes), the lanes' start values, the order in which the lanes are taken, the rows; all
        are words of 4 bytes.
   Out: the checksum (4 bytes).

   In:  form (1 byte: 4 a page as it is, with the start values that are proved with it), number of words, block (4 bytes
        each), the words.
   Out: the checksum (4 bytes).

   In:  form (1 byte: 3 recovery of a page), protection (1: images, 2: double write, 3: atomic), block size, epoch, number of
        records, whether the area has a copy (4 bytes each); of each record from the redo point on that is whole: epoch, kind
        (0 a change, 1 an image, 2 of another page, or a mark), offset, length (4 bytes each), where it ends (8 bytes), its
        bytes; the page in its place; the copy.
   Out: the page, the number of records found, the number of operations (4 bytes each); of each operation its kind (1 byte)
        and, if it writes the page, the page. Kinds: 0 WriteControl, 1 SyncControl, 2 WriteLog, 3 SyncLog, 4 WriteArea,
        5 SyncArea, 6 WriteData, 7 SyncData; the steps in memory are left out.
   Record n is the nth after the redo point.
   All little-endian. *)

open Tornpage_proved

let word bytes at = Int32.to_int (Bytes.get_int32_le bytes at) land 0xffffffff

let block length =
  let bytes = Bytes.create length in
  really_input stdin bytes 0 length;
  bytes

let words count =
  let bytes = block (4 * count) in
  List.init count (fun i -> word bytes (4 * i))

let sector = 512

(* A page is a list of sectors. *)
let split page = List.init (String.length page / sector) (fun i -> String.sub page (i * sector) sector)
let whole sectors = String.concat "" sectors

(* The LSN stands in two halves, the high one first. *)
let position page =
  let half at = Int32.to_int (String.get_int32_le page at) land 0xffffffff in
  (half 0 lsl 32) lor half 4

let changed page at data lsn =
  let page = Bytes.of_string page in
  Bytes.blit_string data 0 page at (String.length data);
  Bytes.set_int32_le page 0 (Int32.of_int (lsn lsr 32));
  Bytes.set_int32_le page 4 (Int32.of_int (lsn land 0xffffffff));
  Bytes.to_string page

let read_record () =
  let head = block 24 in
  let data = Bytes.to_string (block (word head 12)) in
  let change =
    match word head 4 with
    | 0 -> Delta (word head 8, data)
    | 1 -> Image (split data)
    | 2 -> Elsewhere
    | kind -> failwith (Printf.sprintf "no kind %d" kind)
  in
  (Int64.to_int (Bytes.get_int64_le head 16), { record_epoch = word head 0; what = change })

let print_word n =
  let reply = Bytes.create 4 in
  Bytes.set_int32_le reply 0 (Int32.of_int n);
  print_bytes reply

let print_op op =
  let kind n = print_bytes (Bytes.make 1 (Char.chr n)) in
  match op with
  | WriteControl _ -> kind 0
  | SyncControl -> kind 1
  | WriteLog _ -> kind 2
  | SyncLog -> kind 3
  | WriteArea page -> kind 4; print_string (whole page)
  | SyncArea -> kind 5
  | WriteData page -> kind 6; print_string (whole page)
  | SyncData -> kind 7
  | Flushed | Cleaned | Moved | Opened -> ()

let serve_recovery () =
  let head = block 20 in
  let size = word head 4 in
  let protection =
    match word head 0 with
    | 1 -> Images
    | 2 -> DoubleWrite
    | 3 -> Atomic
    | n -> failwith (Printf.sprintf "no protection %d" n)
  in
  let records = Array.init (word head 12) (fun _ -> read_record ()) in
  let page () = split (Bytes.to_string (block size)) in
  let place = page () in
  let area = if word head 16 = 1 then Some (page ()) else None in
  let room = Array.length records in
  (* so many records end at the page's LSN, or before it *)
  let lsn p =
    let at = position (whole p) in
    Array.fold_left (fun n (ends, _) -> if ends <= at then n + 1 else n) 0 records
  in
  let apply n (offset, data) p = split (changed (whole p) offset data (fst records.(n - 1))) in
  let log n = if n <= room then Some (snd records.(n - 1)) else None in
  let control = { redo_point = 0; control_epoch = word head 8 } in
  let memory, ops = recover protection room lsn apply control log area place in
  print_string (whole memory.mem);
  print_word memory.insert;
  let on_files = function Flushed | Cleaned | Moved | Opened -> false | _ -> true in
  print_word (List.length (List.filter on_files ops));
  List.iter print_op ops

let rec serve () =
  match block 1 with
  | exception End_of_file -> ()
  | form when Bytes.get_uint8 form 0 = 3 ->
      serve_recovery ();
      serve ()
  | form when Bytes.get_uint8 form 0 = 4 ->
      let head = block 8 in
      let page = words (word head 0) in
      print_word (page_checksum page (word head 4));
      serve ()
  | form ->
      let head = Bytes.cat form (block 12) in
      let lanes = word head 1 and rows = word head 5 and number = word head 9 in
      let bases = words lanes in
      let order = words lanes in
      let page = List.init rows (fun _ -> words lanes) in
      let answer =
        match Bytes.get_uint8 head 0 with
        | 0 -> checksum bases page number
        | 1 -> kernel next order bases page number
        | 2 -> kernel next_split order bases page number
        | form -> failwith (Printf.sprintf "no form %d" form)
      in
      print_word answer;
      serve ()

let () =
  set_binary_mode_in stdin true;
  set_binary_mode_out stdout true;
  serve ()
