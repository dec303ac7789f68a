(* SPDX-License-Identifier: PostgreSQL *)
(* The proved range lock, as a program: records from stdin to stdout, until the end of the input.

   In:  op (1 byte: 0 ask, 1 try, 2 leave, 3 begin with a new lock), mode (1 byte: 1 exclusive), a and b (8 bytes each):
        ask and try: the range [a, b); leave: the ticket a.
   Out: code (1 byte: ask and try: whether it is held; else 0), n (4 bytes), n tickets of 8 bytes: ask, and a try that
        is granted: its own; leave: those that are granted by it.
   All little-endian.  Numbers are below 2^62, since OCaml's int has 63 bits.  What breaks these rules ends the program
   with exit code 2. *)

open Rangelock_proved

let fail message =
  prerr_endline ("oracle/rangelock: " ^ message);
  exit 2

let number bytes at =
  let x = Bytes.get_int64_le bytes at in
  if Int64.shift_right_logical x 62 <> 0L then fail "a number of 2^62 or more";
  Int64.to_int x

let block length =
  let bytes = Bytes.create length in
  (try really_input stdin bytes 0 length with End_of_file -> fail "the input ends within a record");
  bytes

let reply code l =
  let bytes = Bytes.create (5 + (8 * List.length l)) in
  Bytes.set_uint8 bytes 0 code;
  Bytes.set_int32_le bytes 1 (Int32.of_int (List.length l));
  List.iteri (fun i x -> Bytes.set_int64_le bytes (5 + (8 * i)) (Int64.of_int x)) l;
  print_bytes bytes

let find lock ticket =
  match List.find_opt (fun x -> x.req.ticket = ticket) (present lock) with
  | Some x -> x.req
  | None -> fail "no request has this ticket"

let step lock op mode a b =
  if op < 2 && a >= b then fail "an empty range";
  match op with
  | 0 ->
      let lock, x = ask lock a b mode in
      reply (if is_held x then 1 else 0) [ x.req.ticket ];
      lock
  | 1 ->
      let lock, x = try_ask lock a b mode in
      (match x with Some x -> reply 1 [ x.req.ticket ] | None -> reply 0 []);
      lock
  | 2 ->
      let lock, granted = leave lock (find lock a) in
      reply 0 granted;
      lock
  | 3 ->
      reply 0 [];
      new_lock
  | _ -> fail (Printf.sprintf "op %d: only 0 to 3 are known" op)

let rec serve lock =
  match input_char stdin with
  | exception End_of_file -> ()
  | op ->
      let rest = block 17 in
      serve (step lock (Char.code op) (Bytes.get_uint8 rest 0 = 1) (number rest 1) (number rest 9))

let () =
  set_binary_mode_in stdin true;
  set_binary_mode_out stdout true;
  serve new_lock
