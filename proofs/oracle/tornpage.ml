(* SPDX-License-Identifier: PostgreSQL *)
(* The proved forms of the page checksum as a program: records from stdin to stdout, until the end of the input.

   In:  form (1 byte: 0 upstream's loop, 1 the chain, 2 the chain with the prime in two parts), number of lanes and number of
        rows (4 bytes each), block (4 bytes), the lanes' start values, the order in which the lanes are taken, the rows; all
        are words of 4 bytes.
   Out: the checksum (4 bytes).
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

let rec serve () =
  match block 13 with
  | exception End_of_file -> ()
  | head ->
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
      let reply = Bytes.create 4 in
      Bytes.set_int32_le reply 0 (Int32.of_int answer);
      print_bytes reply;
      serve ()

let () =
  set_binary_mode_in stdin true;
  set_binary_mode_out stdout true;
  serve ()
