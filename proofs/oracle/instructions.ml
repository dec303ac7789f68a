(* SPDX-License-Identifier: PostgreSQL *)
(* The instructions' meanings as a program. Batches come from stdin and results go to stdout, until the end of the
   input.

   In: the length of a name (1 byte), the name, n (4 bytes, little-endian), then n times the operands, each with its
   bytes. Out: n results. With the argument --list: a line for each instruction, its name, the sizes of the operands,
   and that of the result, with tabs between. tests/instructions/machine.h has the same for the CPU. *)

open Instructions_proved

let described i = Printf.sprintf "%s\t%s\t%d" i.name (String.concat " " (List.map string_of_int i.sizes)) i.width

let block length =
  let bytes = Bytes.create length in
  really_input stdin bytes 0 length;
  bytes

let operand bytes at size = List.init size (fun i -> Bytes.get_uint8 bytes (at + i))

let rec operands bytes at = function
  | [] -> []
  | size :: sizes -> operand bytes at size :: operands bytes (at + size) sizes

let result i bytes =
  let r = i.meaning (operands bytes 0 i.sizes) in
  if List.length r <> i.width then failwith (i.name ^ ": the result has not the size that the table says");
  List.iter (output_byte stdout) r

let find name =
  match List.find_opt (fun i -> i.name = name) table with
  | Some i -> i
  | None -> failwith (name ^ ": proofs/instructions/Table.v has no such instruction")

let rec serve () =
  match input_byte stdin with
  | exception End_of_file -> ()
  | length ->
      let i = find (Bytes.to_string (block length)) in
      let n = Int32.to_int (Bytes.get_int32_le (block 4) 0) and size = List.fold_left ( + ) 0 i.sizes in
      for _ = 1 to n do
        result i (block size)
      done;
      serve ()

let () =
  set_binary_mode_in stdin true;
  set_binary_mode_out stdout true;
  if Array.length Sys.argv > 1 then List.iter (fun i -> print_endline (described i)) table else serve ()
