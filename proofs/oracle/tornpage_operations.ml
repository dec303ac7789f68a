(* SPDX-License-Identifier: PostgreSQL *)
(* The proved checksums, as a program that tells what they load: records from stdin to stdout, until the end of the input.

   In:  operation (1 byte: 0 upstream, 1 scalar, 2 avx2, 3 avx512, 4 neon), how many rows a page has (4 bytes), how many pages
        there are (4 bytes; one for 0 and 1), and the pages: rows of 32 words.
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
  match block 9 with
  | exception End_of_file -> ()
  | head ->
      let rows = number head 1 and count = number head 5 in
      let bytes = block (128 * rows * count) in
      let pages = (tell, Array.init (32 * rows * count) (fun i -> number bytes (4 * i))) in
      Buffer.clear told;
      let stuck = match (Bytes.get_uint8 head 0, count) with
        | 0, 1 -> upstream_fold rows pages = None
        | 1, 1 -> scalar_fold rows pages = None
        | 2, _ -> avx2_sums rows count pages = None
        | 3, _ -> avx512_sums rows count pages = None
        | 4, _ -> neon_sums rows count pages = None
        | operation, _ -> fail (Printf.sprintf "operation %d on %d pages is not known" operation count) in
      if stuck then fail "the proved program got stuck, which is proved impossible";
      let k = Bytes.create 4 in
      Bytes.set_int32_le k 0 (Int32.of_int (Buffer.length told / 16));
      print_bytes k;
      print_string (Buffer.contents told);
      serve ()

let () =
  set_binary_mode_in stdin true;
  set_binary_mode_out stdout true;
  serve ()
