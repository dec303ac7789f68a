(* SPDX-License-Identifier: PostgreSQL *)
(* The proved kernels of the snapshot builder, as a program: records from stdin to stdout, until the end of the input.

   In:  op (1 byte: 0 purge, 1 purge_sorted, 2 insert, 3 purge_full, 4 compress), n and m (4 bytes each), xmin (8 bytes),
        n numbers (the array), m numbers (insert: the batch; compress: the flags, 0 or 1; else none), of 8 bytes each.
   Out: code (1 byte, as pgq_code; 0 if accepted), k (4 bytes), k numbers of 8 bytes (none if refused).
   All little-endian.  XIDs are below 2^32; FullTransactionIds below 2^62, since OCaml's int has 63 bits.  Arrays of up to
   100,000 take about a second.  What breaks these rules ends the program with exit code 2. *)

open Snapbuild_proved

let fail message =
  prerr_endline ("oracle/snapbuild: " ^ message);
  exit 2

let number bytes at =
  let x = Bytes.get_int64_le bytes at in
  if Int64.shift_right_logical x 62 <> 0L then fail "a number of 2^62 or more: use a lower epoch";
  Int64.to_int x

let numbers bytes n = List.init n (fun i -> number bytes (8 * i))

let block length =
  let bytes = Bytes.create length in
  (try really_input stdin bytes 0 length with End_of_file -> fail "the input ends within a record");
  bytes

let check_xids xids = if List.exists (fun x -> x lsr 32 <> 0) xids then fail "an XID of 2^32 or more"

let answer op xmin array other =
  if op < 3 then check_xids ((xmin :: array) @ other);
  if other <> [] && op <> 2 && op <> 4 then fail "this op takes no second array: m must be 0";
  match op with
  | 0 -> run_purge array xmin
  | 1 -> run_purge_sorted array xmin
  | 2 -> run_insert array other
  | 3 -> run_purge_full array xmin
  | 4 when List.compare_lengths array other = 0 -> run_compress array other
  | 4 -> fail "compress needs a flag for each XID: m must equal n"
  | _ -> fail (Printf.sprintf "op %d: only 0 to 4 are known" op)

let reply code l =
  let k = List.length l in
  let bytes = Bytes.create (5 + (8 * k)) in
  Bytes.set_uint8 bytes 0 code;
  Bytes.set_int32_le bytes 1 (Int32.of_int k);
  List.iteri (fun i x -> Bytes.set_int64_le bytes (5 + (8 * i)) (Int64.of_int x)) l;
  print_bytes bytes;
  flush stdout

let rec serve () =
  match input_char stdin with
  | exception End_of_file -> ()
  | op ->
      let head = block 16 in
      let count at = Int32.to_int (Bytes.get_int32_le head at) land 0xffffffff in
      let n = count 0 and m = count 4 in
      let array = numbers (block (8 * n)) n in
      let other = numbers (block (8 * m)) m in
      (match answer (Char.code op) (number head 8) array other with
      | Accepted l -> reply 0 l
      | Refused code -> reply code []
      | Stuck -> fail "the proved program got stuck, which is proved impossible");
      serve ()

let () =
  set_binary_mode_in stdin true;
  set_binary_mode_out stdout true;
  try serve () with Stack_overflow -> fail "the array is too long for the stack: give fewer than 100,000 numbers"
