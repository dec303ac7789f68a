(* SPDX-License-Identifier: PostgreSQL *)
(* The proved checksums in plain C, as a program that tells what they load: records from stdin to stdout, until the end of the
   input.

   In:  operation (1 byte: 0 upstream, 1 scalar), the number of rows (4 bytes), and the page: rows of 32 words.
   Out: k (4 bytes), and k operations of 16 bytes: 4 bytes of zero (a load from array 0), at, 4 bytes of zero, how many (4 bytes
        each).
   All little-endian. *)

open Tornpage_operations_proved

let fail message =
  prerr_endline ("oracle/tornpage_operations: " ^ message);
  exit 2

let number bytes at = Int32.to_int (Bytes.get_int32_le bytes at) land 0xffffffff

let block length =
  let bytes = Bytes.create length in
  really_input stdin bytes 0 length;
  bytes

let told = Buffer.create 65536
let tell at = List.iter (fun x -> Buffer.add_int32_le told (Int32.of_int x)) [ 0; at; 0; 1 ]

let rec serve () =
  match block 5 with
  | exception End_of_file -> ()
  | head ->
      let rows = number head 1 in
      let bytes = block (128 * rows) in
      let page = (tell, Array.init (32 * rows) (fun i -> number bytes (4 * i))) in
      Buffer.clear told;
      let fold = match Bytes.get_uint8 head 0 with
        | 0 -> upstream_fold
        | 1 -> scalar_fold
        | operation -> fail (Printf.sprintf "operation %d: only 0 and 1 are known" operation) in
      if fold rows page = None then fail "the proved program got stuck, which is proved impossible";
      let k = Bytes.create 4 in
      Bytes.set_int32_le k 0 (Int32.of_int (Buffer.length told / 16));
      print_bytes k;
      print_string (Buffer.contents told);
      serve ()

let () =
  set_binary_mode_in stdin true;
  set_binary_mode_out stdout true;
  serve ()
