(* SPDX-License-Identifier: PostgreSQL *)
(* The proved forms of the page checksum, the proved recovery and the proved steps of a store, as a program: records from stdin
   to stdout, until the end of the input.

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

   In:  form (1 byte: 5 a store, from new on), protection (as above), block size (4 bytes each), the empty page; then events
        (1 byte each): 0 a change: offset, length (4 bytes each), where its record ends (8 bytes), its bytes; 1 a change of
        another page; 2 flush; 3 write back; 4 begin, 5 end a checkpoint; 6 the next operation works, 7 it fails; 8 the process
        ends; 9 recover; 10 a power loss, and what can be read then; 11 no process runs, and what can be read; 12 the end of
        the store. What can be read: redo point as a number of records, epoch, number of records found, whether the area has
        a copy (4 bytes each), the records as above without their epochs, the page in its place, the copy.
        13 asks alone.
   Out: after each event but 6 and 12: whether it is allowed (1 byte; if not, nothing has happened), whether a process runs (1
        byte), how many operations its call still has, how many records it has, how many are promised, how many are made (4
        bytes each), the page, the kinds of the operations (1 byte each: as above, or 8 a step in memory).
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

let kind_of = function
  | WriteControl _ -> Some 0
  | SyncControl -> Some 1
  | WriteLog _ -> Some 2
  | SyncLog -> Some 3
  | WriteArea _ -> Some 4
  | SyncArea -> Some 5
  | WriteData _ -> Some 6
  | SyncData -> Some 7
  | Flushed | Cleaned | Moved | Opened -> None

let print_op op =
  Option.iter (fun n -> print_char (Char.chr n)) (kind_of op);
  match op with WriteArea page | WriteData page -> print_string (whole page) | _ -> ()

let protection_of = function
  | 1 -> Images
  | 2 -> DoubleWrite
  | 3 -> Atomic
  | n -> failwith (Printf.sprintf "no protection %d" n)

let serve_recovery () =
  let head = block 20 in
  let size = word head 4 in
  let protection = protection_of (word head 0) in
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
  print_word (List.length (List.filter_map kind_of ops));
  List.iter print_op ops

(* A page of a store: the number of its last record, then its bytes. So a write may tear between any two bytes. *)
let numbered n page = n :: List.init (String.length page) (fun i -> Char.code page.[i])
let unnumbered = function
  | [] -> failwith "no page is empty"
  | _ :: bytes -> String.of_seq (Seq.map Char.chr (List.to_seq bytes))

(* What was read does not say the number: it is that of the same page, or of one with the same LSN, or of any. *)
let number_of versions page =
  let pages = List.map (fun v -> (List.hd v, unnumbered v)) versions in
  let same lsn_only (_, p) = if lsn_only then String.sub p 0 8 = String.sub page 0 8 else p = page in
  match (List.find_opt (same false) pages, List.find_opt (same true) pages, pages) with
  | Some (n, _), _, _ | None, Some (n, _), _ | None, None, (n, _) :: _ -> n
  | None, None, [] -> failwith "a file has no contents"

let serve_store () =
  let head = block 8 in
  let protection = protection_of (word head 0) and size = word head 4 in
  let page () = Bytes.to_string (block size) in
  let apply n (offset, data, ends) p = numbered n (changed (unnumbered p) offset data ends) in
  let no_fewer_records_fit = 1 lsl 40 in
  let steps = advance ( = ) ( = ) protection no_fewer_records_fit List.hd apply in
  let read_position () = Int64.to_int (Bytes.get_int64_le (block 8) 0) in
  let change () =
    let head = block 8 in
    let ends = read_position () in
    (word head 0, Bytes.to_string (block (word head 4)), ends)
  in
  let record n =
    let kind = word (block 4) 0 in
    let offset, data, ends = change () in
    match kind with
    | 0 -> Delta (offset, data, ends)
    | 1 -> Image (numbered n data)
    | 2 -> Elsewhere
    | kind -> failwith (Printf.sprintf "no kind %d" kind)
  in
  let observed w =
    let head = block 16 in
    let redo_point = word head 0 in
    let records_read = List.map (fun i -> record (redo_point + 1 + i)) (List.init (word head 8) Fun.id) in
    let read versions =
      let page = page () in
      numbered (number_of versions page) page
    in
    let place_read = read w.now.dev.data.may in
    let copies = List.filter_map Fun.id w.now.dev.area.may in
    let copy_read = if word head 12 = 1 then Some (if copies = [] then numbered 0 (page ()) else read copies) else None in
    { control_read = { redo_point; control_epoch = word head 4 }; records_read; place_read; copy_read }
  in
  let answer allowed w =
    let byte n = print_char (Char.chr n) in
    let ops = Option.value w.program ~default:[] in
    byte (if allowed then 1 else 0);
    byte (if Option.is_some w.program then 1 else 0);
    List.iter print_word [ List.length ops; w.now.proc.insert; w.now.acked; List.length w.now.made ];
    print_string (unnumbered w.now.proc.mem);
    List.iter (fun op -> byte (Option.value (kind_of op) ~default:8)) ops;
    flush stdout
  in
  (* Each step wraps the log, which is a function; what it gives is kept. *)
  let kept w =
    let table = Hashtbl.create 64 and log = w.now.dev.log in
    let log n =
      match Hashtbl.find_opt table n with
      | Some found -> found
      | None ->
          let found = log n in
          Hashtbl.add table n found;
          found
    in
    { w with now = { w.now with dev = { w.now.dev with log } } }
  in
  let rec live w =
    let silent = ref false in
    let next =
      match Bytes.get_uint8 (block 1) 0 with
      | 0 -> Some (Happens (Change (change ())))
      | 1 -> Some (Happens ChangeElsewhere)
      | 2 -> Some (Happens Flush)
      | 3 -> Some (Happens WriteBack)
      | 4 -> Some (Happens BeginCheckpoint)
      | 5 -> Some (Happens EndCheckpoint)
      | 6 -> silent := true; Some (Happens Go)
      | 7 -> Some (Happens Fail)
      | 8 -> Some (Happens Kill)
      | 9 -> Some (Happens Recover)
      | 10 -> Some (LosesPower (observed w))
      | 11 -> Some (Reads (observed w))
      | 12 -> silent := true; None
      | 13 -> None
      | event -> failwith (Printf.sprintf "no event %d" event)
    in
    match next with
    | None -> if not !silent then (answer true w; live w)
    | Some input ->
        let after = steps w input in
        let v = kept (Option.value after ~default:w) in
        if not !silent then answer (Option.is_some after) v;
        live v
  in
  live (new0 (numbered 0 (page ())))

let rec serve () =
  match block 1 with
  | exception End_of_file -> ()
  | form when Bytes.get_uint8 form 0 = 3 ->
      serve_recovery ();
      serve ()
  | form when Bytes.get_uint8 form 0 = 5 ->
      serve_store ();
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
