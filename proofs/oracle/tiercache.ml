(* SPDX-License-Identifier: PostgreSQL *)
(* The proved steps as a program: a line of numbers in, a line out, until the end of the input.

   In:  0 pages slots                       a new cache
        1 page                              Write
        2 page                              Load
        3 page slot works                   ToSsd
        4 page                              Drop
        5 slot                              DropSlot
        6 ssd_works syncs n m ...           WriteBack, Written: n pages that were asked for, those whole, those in part;
                                            each list after its length
        7 slots                             WriteBack, Scrubbed
        8 loses_ssd ...                     Crash: for each page what was left, and for each slot 0, or 1, page, contents
                                            and dirty
        9                                   Fsync
   Out: the answer (1; of an fsync 0 if it failed), and for each page what a read gives (-1: nothing) and whether it is
        dirty. A crash that may not leave what it is said to have left ends the program. *)

open Tiercache_proved

exception Impossible_crash

let rec index_of what list n =
  match list with
  | [] -> raise Impossible_crash
  | first :: rest -> if first = what then n else index_of what rest (n + 1)

let rec take n list =
  match (n, list) with
  | 0, rest -> ([], rest)
  | _, first :: rest ->
      let taken, rest = take (n - 1) rest in
      (first :: taken, rest)
  | _, [] -> failwith "a line is too short"

let lists3 numbers =
  let next = function n :: rest -> take n rest | [] -> failwith "a line is too short" in
  let first, rest = next numbers in
  let second, rest = next rest in
  let third, _ = next rest in
  (first, second, third)

(* What the crash left on each slot. *)
let rec slots_of = function
  | [] -> []
  | 0 :: rest -> None :: slots_of rest
  | _ :: page :: contents :: dirty :: rest ->
      Some { slot_page = page; slot_contents = contents; slot_dirty = dirty = 1 } :: slots_of rest
  | _ -> failwith "a line is too short"

let crash state loses numbers =
  let left, rest = take state.pages numbers in
  let kept = Array.of_list (slots_of rest) in
  let keeps page = index_of (List.nth left page) (state.store_may page) 0 in
  let slot i = if loses then 0 else index_of kept.(i) (state.disk_may i) 0 in
  List.iteri (fun page _ -> ignore (keeps page)) left;
  Array.iteri (fun i _ -> ignore (slot i)) kept;
  run_step state (Crash (loses, keeps, slot))

let step state = function
  | [ 0; pages; slots ] -> (start pages slots, true)
  | [ 1; page ] -> (run_step state (Write page), true)
  | [ 2; page ] -> (run_step state (Load page), true)
  | [ 3; page; slot; works ] -> (run_step state (ToSsd (page, slot, works = 1)), true)
  | [ 4; page ] -> (run_step state (Drop page), true)
  | [ 5; slot ] -> (run_step state (DropSlot slot), true)
  | 6 :: ssd_works :: syncs :: numbers ->
      let asked, whole, part = lists3 numbers in
      (do_write_back state asked (ssd_works = 1) (Written (whole, part, syncs = 1)), true)
  | [ 7; n ] -> (do_write_back state [] false (Scrubbed n), true)
  | 8 :: loses :: numbers -> (crash state (loses = 1) numbers, true)
  | [ 9 ] -> do_fsync state
  | _ -> failwith "no such step"

(* The state's functions would grow with each step: they become arrays. *)
let frozen n f =
  let a = Array.init n f in
  fun i -> a.(i)

let freeze s =
  {
    s with
    memory = frozen s.pages s.memory;
    held = frozen s.slots s.held;
    stale = frozen s.slots s.stale;
    disk = frozen s.slots s.disk;
    disk_may = frozen s.slots s.disk_may;
    store = frozen s.pages s.store;
    store_may = frozen s.pages s.store_may;
    unsynced = frozen s.pages s.unsynced;
  }

let reply state answer =
  print_int (Bool.to_int answer);
  for page = 0 to state.pages - 1 do
    let contents = match read state page with Some contents -> contents | None -> -1 in
    Printf.printf " %d %d" contents (Bool.to_int (dirty state page))
  done;
  print_newline ()

let rec serve state =
  match input_line stdin with
  | exception End_of_file -> ()
  | line ->
      let numbers = List.map int_of_string (String.split_on_char ' ' line) in
      let state, answer = step state numbers in
      let state = freeze state in
      reply state answer;
      serve state

let () = serve (start 0 0)
