(* SPDX-License-Identifier: PostgreSQL *)
(* The proved steps as a program: a line of numbers in, a line out, until the end of the input.

   In:  0 pages slots                       a new cache
        1 page                              Write
        2 page                              Load
        3 page slot works                   ToSsd; works is 1, or what is there of a write that failed: 0 nothing, 2 a
                                            part, 3 the whole
        4 page                              Drop
        5 slot                              DropSlot
        6 ssd_works syncs n m ...           WriteBack, Taken: n pages that were asked for, those whole, those in part;
                                            each list after its length; syncs is 1, 0 if the store's sync failed, 2 if
                                            it was not tried
        7 slots lands forgets               WriteBack, NotTaken: whether the control file has the nonce, and whether the
                                            SSD's sync has failed
        9                                   Fsync, Taken with an SSD that works
        12                                  Kill
        13 loses_ssd ...                    PowerLoss: for each page what was left, and for each slot 0, or 1, page,
                                            contents and dirty
        14 store_syncs reads_super in_doubt super_lands super_works control_lands control_works n m ...
                                            Mount: n slots that it does not take over, and m pages that it writes
                                            again; each list after its length
   Out: the answer (1; of an fsync 0 if it failed, of a mount 0 if it was refused), and for each page what a read gives
        (-1: nothing) and whether it is dirty. What a crash may not leave, and a step that the theorems do not assume, end
        the program.

   Nonces are drawn in order. After a failed sync the kernel forgets: that leaves most to a power loss. *)

open Tiercache_proved

exception Impossible_crash
exception Not_assumed

let drawn = ref 1

let draw () =
  incr drawn;
  !drawn

let rec index_of fits list n =
  match list with
  | [] -> raise Impossible_crash
  | first :: rest -> if fits first then n else index_of fits rest (n + 1)

let rec take n list =
  match (n, list) with
  | 0, rest -> ([], rest)
  | _, first :: rest ->
      let taken, rest = take (n - 1) rest in
      (first :: taken, rest)
  | _, [] -> failwith "a line is too short"

let rec lists n numbers =
  match (n, numbers) with
  | 0, _ -> []
  | _, length :: rest ->
      let taken, rest = take length rest in
      taken :: lists (n - 1) rest
  | _, [] -> failwith "a line is too short"

(* What the crash left on each slot. *)
let rec slots_of = function
  | [] -> []
  | 0 :: rest -> None :: slots_of rest
  | _ :: page :: contents :: dirty :: rest ->
      Some { slot_page = page; slot_contents = contents; slot_dirty = dirty = 1 } :: slots_of rest
  | _ -> failwith "a line is too short"

let generation = ref { mark_id = 1; mark_nonce = 1 }

let power_loss state loses numbers =
  (* A superblock and a control file that go together, if there are such. *)
  let told = state.control_of.control_may and blocks = state.ssd_of.super_may in
  let goes = function Some b -> List.mem (Some b.super_mark) told | None -> false in
  let u = if List.exists goes blocks then index_of goes blocks 0 else 0 in
  let c =
    match List.nth blocks u with
    | Some b when goes (Some b) ->
        generation := b.super_generation;
        index_of (( = ) (Some b.super_mark)) told 0
    | _ -> 0
  in
  let left, rest = take state.pages numbers in
  let kept = Array.of_list (slots_of rest) in
  let keeps page = index_of (( = ) (List.nth left page)) (state.store_of.store_may page) 0 in
  (* A slot without anything that counts may have been lost: that is pick 0. *)
  let left_there i w = valid !generation w = kept.(i) in
  let slot i = if loses || kept.(i) = None then 0 else 1 + index_of (left_there i) (state.ssd_of.disk_may i) 0 in
  List.iteri (fun page _ -> ignore (keeps page)) left;
  Array.iteri (fun i _ -> ignore (slot i)) kept;
  PowerLoss (loses, keeps, slot, u, c)

(* A step, and an answer to it. *)
let take_step state step answer =
  if not (assumed state step) then raise Not_assumed;
  let after = run_step state step in
  if after.cache_of.up then generation := after.cache_of.generation;
  (after, answer after)

let run state step = take_step state step (fun _ -> true)
let is_up after = after.cache_of.up
let landing = function 2 -> Torn | 3 -> Whole | _ -> Nothing

let step state = function
  | [ 0; pages; slots ] ->
      drawn := 1;
      (start pages slots, true)
  | [ 1; page ] -> run state (Write page)
  | [ 2; page ] -> run state (Load page)
  | [ 3; page; slot; works ] -> run state (ToSsd (page, slot, works = 1, landing works))
  | [ 4; page ] -> run state (Drop page)
  | [ 5; slot ] -> run state (DropSlot slot)
  | 6 :: ssd_works :: syncs :: numbers ->
      let taking = Taken (ssd_works = 1, draw ()) in
      (match lists 3 numbers with
      | [ asked; whole; part ] -> run state (WriteBack (asked, taking, whole, part, syncs = 1, syncs = 0))
      | _ -> failwith "a line is too short")
  | [ 7; n; lands; forgets ] ->
      run state (WriteBack ([], NotTaken (n, forgets = 1, lands = 1, draw ()), [], [], false, false))
  | [ 9 ] ->
      let taking = Taken (true, draw ()) in
      take_step state (Fsync taking) (fun _ -> snd (do_fsync state taking))
  | [ 12 ] -> run state Kill
  | 13 :: loses :: numbers -> run state (power_loss state (loses = 1) numbers)
  | 14 :: store_syncs :: reads_super :: in_doubt :: super_lands :: super_works :: control_lands :: control_works :: numbers ->
      let is n = n = 1 in
      let left, again = match lists 2 numbers with [ a; b ] -> (a, b) | _ -> failwith "a line is too short" in
      let nonce = draw () in
      let other_nonce = draw () in
      let mount =
        { new_id = 1; nonce; other_nonce; again; store_syncs = is store_syncs; store_forgets = true;
          reads_super = is reads_super; in_doubt = is in_doubt; takes = (fun i -> not (List.mem i left));
          super_lands = is super_lands; super_works = is super_works; control_lands = is control_lands;
          control_works = is control_works }
      in
      take_step state (Mount mount) is_up
  | _ -> failwith "no such step"

(* The state's functions would grow with each step: they become arrays. *)
let frozen n f =
  let a = Array.init n f in
  fun i -> a.(i)

let freeze s =
  let c = s.cache_of and d = s.ssd_of and t = s.store_of in
  {
    s with
    cache_of =
      { c with memory = frozen s.pages c.memory; held = frozen s.slots c.held; stale = frozen s.slots c.stale };
    ssd_of = { d with disk = frozen s.slots d.disk; disk_may = frozen s.slots d.disk_may };
    store_of =
      {
        store = frozen s.pages t.store;
        store_may = frozen s.pages t.store_may;
        unsynced = frozen s.pages t.unsynced;
      };
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
