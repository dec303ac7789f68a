(* SPDX-License-Identifier: PostgreSQL *)
(* The proved kernels in plain C, and those of AVX2 and NEON on rows, as a program that tells what they load: records from stdin
   to stdout, until the end of the input.

   In:  as of oracle/datfrozenxid, operations 0 and 1 on an array, and 2, for NEON: the loads of 1, whose lanes go to other chains;
        4 to 7 on rows.
   Out: k (4 bytes), and k operations of 16 bytes: 4 bytes of zero (a load from array 0), at, 4 bytes of zero, how many (4 bytes
        each).  Of rows the elements are bytes.
   All little-endian. *)

open Datfrozenxid_operations_proved

let fail message =
  prerr_endline ("oracle/datfrozenxid_operations: " ^ message);
  exit 2

let number bytes at = Int32.to_int (Bytes.get_int32_le bytes at) land 0xffffffff

let block length =
  let bytes = Bytes.create length in
  really_input stdin bytes 0 length;
  bytes

let told = Buffer.create 65536
let tell at n = List.iter (fun x -> Buffer.add_int32_le told (Int32.of_int x)) [ 0; at; 0; n ]

(* Of the ids of the rows of a register gcc loads those of the last row first, or on ARM those of the first one.  The theorem is
   about any order. *)
let order = [ 3; 2; 1; 0 ]
let order_of_two = [ 0; 1 ]

let run operation n a =
  let array () =
    let bytes = block (4 * n) in
    (tell, Array.init n (fun i -> number bytes (4 * i))) in
  let rows () =
    let bytes = block (12 * n) in
    let column k = Array.init n (fun i -> number bytes ((12 * i) + (4 * k))) in
    (tell, Array.map (fun holds -> holds = 1) (column 0), column 1, column 2) in
  let sort = if a.(2) = 1 then Multis else Xids in
  let stuck = match operation with
    | 0 -> scan_kernel sort a.(0) a.(1) n (array ()) = None
    | 1 | 2 -> scalar_kernel sort a.(0) a.(1) n (array ()) = None
    | 4 -> scan_rows_kernel a.(0) a.(1) a.(2) a.(3) n (rows ()) = None
    | 5 -> scalar_rows_kernel a.(0) a.(1) a.(2) a.(3) n (rows ()) = None
    | 6 -> register_rows_kernel order a.(0) a.(1) a.(2) a.(3) n (rows ()) = None
    | 7 -> register_rows_kernel order_of_two a.(0) a.(1) a.(2) a.(3) n (rows ()) = None
    | _ -> fail (Printf.sprintf "operation %d: only 0 to 2 and 4 to 7 are known" operation) in
  if stuck then fail "the proved program got stuck, which is proved impossible"

let rec serve () =
  match block 29 with
  | exception End_of_file -> ()
  | head ->
      Buffer.clear told;
      run (Bytes.get_uint8 head 0) (number head 1) (Array.init 6 (fun i -> number head (5 + (4 * i))));
      let k = Bytes.create 4 in
      Bytes.set_int32_le k 0 (Int32.of_int (Buffer.length told / 16));
      print_bytes k;
      print_string (Buffer.contents told);
      serve ()

let () =
  set_binary_mode_in stdin true;
  set_binary_mode_out stdout true;
  serve ()
