(* SPDX-License-Identifier: PostgreSQL *)
(* The proved kernels of the snapshot builder, as a program that tells what they do to memory: records from stdin to
   stdout, until the end of the input.

   In:  as of oracle/snapbuild, with op 0 purge_inplace, 1 purge_sorted, 2 purge_scalar, 3 purge_full, 4 compress, 5
        purge_upstream, 6 append, 7 snapshot_sorted, 8 compress_branchless, 9 purge_avx2, 10 the insertion of a batch into
        a sorted array, 11 append_few, 12 purge_neon, 13 snapshot_upstream, 14 purge_avx512, 15 the insertion of a batch into
        an array in any order, 16 purge_full_lazy_head, with as many XIDs before the head as there are flags.  For 4 and 8
        xmin is the tail.
   Out: k (4 bytes), and k operations of 16 bytes: what (0 load, 1 store, 2 move), array (0, or 1: the flags, the workspace,
        the batch, the snapshot), 2 bytes of zero, at, from, how many (4 bytes each).  A move that changes nothing is
        left out.
   All little-endian.  The arrays must be right: what the kernels refuse is not looked for. *)

open Snapbuild_operations_proved

let fail message =
  prerr_endline ("oracle/snapbuild_operations: " ^ message);
  exit 2

let block length =
  let bytes = Bytes.create length in
  (try really_input stdin bytes 0 length with End_of_file -> fail "the input ends within a record");
  bytes

let numbers n =
  let bytes = block (8 * n) in
  Array.init n (fun i -> Int64.to_int (Bytes.get_int64_le bytes (8 * i)))

let told = Buffer.create 65536

let tell array what at from n =
  if what < 2 || (n > 0 && at <> from) then begin
    Buffer.add_uint8 told what;
    Buffer.add_uint8 told array;
    Buffer.add_uint16_le told 0;
    List.iter (fun x -> Buffer.add_int32_le told (Int32.of_int x)) [ at; from; n ]
  end

let run op xmin xids beside =
  let n = Array.length xids and m = Array.length beside in
  let array = (tell 0, xids) and other = (tell 1, beside) in
  let stuck = match op with
    | 0 -> purge_inplace n xmin array = None
    | 1 -> purge_sorted n xmin array = None
    | 2 -> purge_scalar n xmin array = None
    | 3 -> purge_full n xmin array = None
    | 4 -> compress xmin n array other = None
    | 5 -> purge_upstream n xmin (tell 1, Array.make n 0) array = None
    | 6 -> append n m other (tell 0, Array.append xids (Array.make m 0)) = None
    | 7 -> snapshot_sorted n array other = None
    | 8 -> compress_branchless xmin n array other = None
    | 9 -> purge_avx2 (compress_zeros xmin) n xmin array = None
    | 12 -> purge_neon (compress_zeros xmin) n xmin array = None
    | 14 -> purge_avx512 (compress_zeros xmin) n xmin array = None
    | 10 -> insert_sorted n m other (tell 0, Array.append xids (Array.make m 0)) = None
    | 11 -> append_few n m other (tell 0, Array.append xids (Array.make m 0)) = None
    | 13 -> snapshot_upstream n array other = None
    | 15 -> insert_unsorted n m other (tell 0, Array.append xids (Array.make m 0)) = None
    | 16 -> purge_full_lazy_head m (n - m) xmin array = None
    | _ -> fail (Printf.sprintf "op %d: only 0 to 16 are known" op) in
  if stuck then fail "the proved program got stuck, which is proved impossible"

let rec serve () =
  match input_char stdin with
  | exception End_of_file -> ()
  | op ->
      let head = block 16 in
      let count at = Int32.to_int (Bytes.get_int32_le head at) land 0xffffffff in
      let xids = numbers (count 0) in
      let beside = numbers (count 4) in
      Buffer.clear told;
      run (Char.code op) (Int64.to_int (Bytes.get_int64_le head 8)) xids beside;
      let k = Bytes.create 4 in
      Bytes.set_int32_le k 0 (Int32.of_int (Buffer.length told / 16));
      print_bytes k;
      print_string (Buffer.contents told);
      serve ()

let () =
  set_binary_mode_in stdin true;
  set_binary_mode_out stdout true;
  serve ()
