(* SPDX-License-Identifier: PostgreSQL *)
(* The proved scan, kernels and decisions as a program: records from stdin to stdout, until the end of the input.

   In: operation (1 byte), n (4), six numbers (4 each), then n values or n rows.
     0 to 3  an array of n values (4 bytes each) by the scan, or the kernel scalar, avx2 or avx512. Numbers: start, last_sane,
             1 for MultiXactIds and 0 for XIDs
     4 to 6  n rows (4 bytes: 1 if they hold ids; relfrozenxid; relminmxid) by the scan, or the kernel scalar or avx2. Numbers: the
             starts and the last_sanes, XID before MultiXactId
     7, 8    the decision, and that of one comparison. Numbers: stored, minimum, last_sane of XIDs, then of MultiXactIds
     9, 10   a call of the function as it is, and with the patch. n is 9: 1 if the syscache has the row, then four pairs, XID
             before MultiXactId: what the syscache has, what is stored, the minima, the last_sanes
   Out: tag (1 byte), two numbers (4 each). Tag 0: the minimum, or minima, or decisions; 1, 2: the place of an XID, or of a
   MultiXactId, that lies in the future. Of a call three such: what is stored; what is passed on, with tag 1 if it gave up;
   whether the row was written and whether its lock was taken. All little-endian. *)

open Datfrozenxid_proved

let number bytes at = Int32.to_int (Bytes.get_int32_le bytes at) land 0xffffffff

let block length =
  let bytes = Bytes.create length in
  really_input stdin bytes 0 length;
  bytes

let reply tag a b =
  let bytes = Bytes.create 9 in
  Bytes.set_uint8 bytes 0 tag;
  Bytes.set_int32_le bytes 1 (Int32.of_int a);
  Bytes.set_int32_le bytes 5 (Int32.of_int b);
  print_bytes bytes

let sort multixact = if multixact = 1 then Multis else Xids

let on_array operation n start sane multixact =
  let bytes = block (4 * n) in
  let values = List.init n (fun i -> number bytes (4 * i)) and s = sort multixact in
  let answer =
    match operation with
    | 0 -> scan s sane values 1 start
    | 1 -> min_frozen scalar_age s start sane values
    | 2 -> min_frozen avx2_age s start sane values
    | _ -> min_frozen avx512_age s start sane values
  in
  match answer with Oldest x -> reply 0 x 0 | Future place -> reply (1 + multixact) place 0

let on_rows operation n xid multi xid_sane multi_sane =
  let bytes = block (12 * n) in
  let field i k = number bytes ((12 * i) + (4 * k)) in
  let row i = { holds = field i 0 = 1; relfrozenxid = field i 1; relminmxid = field i 2 } in
  let rows = List.init n row in
  let answer =
    match operation with
    | 4 -> scan_rows xid_sane multi_sane rows 1 xid multi
    | 5 -> min_frozen_rows scalar_row_age xid multi xid_sane multi_sane rows
    | _ -> min_frozen_rows row_age xid multi xid_sane multi_sane rows
  in
  match answer with
  | OldestOf (x, m) -> reply 0 x m
  | FutureXid place -> reply 1 place 0
  | FutureMulti place -> reply 2 place 0

let decide operation a =
  let need = if operation = 7 then need_update else need_update_by_age in
  reply 0 (Bool.to_int (need Xids a.(0) a.(1) a.(2))) (Bool.to_int (need Multis a.(3) a.(4) a.(5)))

let call operation =
  let bytes = block 36 in
  let pair i = { xid = number bytes (4 * i); multi = number bytes (4 * (i + 1)) } in
  let cached = if number bytes 0 = 1 then Some (pair 1) else None in
  let dat = pair 3 and minima = pair 5 and sane = pair 7 in
  let outcome = if operation = 9 then update dat minima sane else update_patched cached dat minima sane in
  reply 0 outcome.stored.xid outcome.stored.multi;
  (match outcome.passed with Some p -> reply 0 p.xid p.multi | None -> reply 1 0 0);
  reply 0 (Bool.to_int outcome.dirty) (Bool.to_int outcome.locked)

let rec serve () =
  match block 29 with
  | exception End_of_file -> ()
  | head ->
      let operation = Bytes.get_uint8 head 0 and n = number head 1 in
      let a = Array.init 6 (fun i -> number head (5 + (4 * i))) in
      if operation < 4 then on_array operation n a.(0) a.(1) a.(2)
      else if operation < 7 then on_rows operation n a.(0) a.(1) a.(2) a.(3)
      else if operation < 9 then decide operation a
      else call operation;
      serve ()

let () =
  set_binary_mode_in stdin true;
  set_binary_mode_out stdout true;
  serve ()
