(* SPDX-License-Identifier: PostgreSQL *)
(* The proved algorithm as a program: records from stdin to stdout, until the end of the input.

   In:  n (4 bytes), n numbers of 4 bytes.   Out: 1 and the largest number, or 0 and 0 (1 byte, 4 bytes).
   All little-endian. *)

open Toy_proved

let number bytes at = Int32.to_int (Bytes.get_int32_le bytes at) land 0xffffffff

let block length =
  let bytes = Bytes.create length in
  really_input stdin bytes 0 length;
  bytes

let reply found number =
  let bytes = Bytes.create 5 in
  Bytes.set_uint8 bytes 0 found;
  Bytes.set_int32_le bytes 1 (Int32.of_int number);
  print_bytes bytes

let rec serve () =
  match block 4 with
  | exception End_of_file -> ()
  | head ->
      let n = number head 0 in
      let array = block (4 * n) in
      (match largest (List.init n (fun i -> number array (4 * i))) with
      | Some m -> reply 1 m
      | None -> reply 0 0);
      serve ()

let () =
  set_binary_mode_in stdin true;
  set_binary_mode_out stdout true;
  serve ()
