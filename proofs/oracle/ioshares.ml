(* SPDX-License-Identifier: PostgreSQL *)
(* The proved scheduler as a program: lines of numbers from stdin to stdout, until the end of the input.

   In:   new LEAST START MOST WINDOW TARGET N, then N times SHARE WARP CAPACITY
         submit CLASS OPERATION SIZE | next | complete CLASS LATENCY | cancel CLASS PLACE, from 0, the oldest | shares N...
   Out, for each line but new: refused | done | CLASS COST; then, after a bar, what waits, what is in flight, the limit, the level,
         the floor, the completions of the window and the sum of their latencies, and for each class its lead and what it was
         charged. *)

open Ioshares_proved

let show state =
  let of_class f = Printf.sprintf " %d %d" (lead state.vtime f) f.charged in
  Printf.sprintf "| %d %d %d %d %d %d %d%s" state.waiting state.in_flight (limit state) state.pacing.level
    state.pacing.floor state.completed state.latency
    (String.concat "" (List.map of_class state.flows))

let rec classes = function
  | [] -> []
  | share :: warp_bytes :: room :: rest -> { share; warp_bytes; room } :: classes rest
  | _ -> failwith "a class has three numbers"

let start numbers =
  match List.map int_of_string numbers with
  | least :: start :: most :: window :: target :: n :: rest when List.length rest = 3 * n ->
      make (classes rest) { least; start; most; window; target }
  | _ -> failwith "new has five limits, the number of classes, and the classes"

(* The answer, and the state after the call. *)
let call state words =
  let plain = function Some state -> ("done", state) | None -> ("refused", state) in
  match words with
  | [ "submit"; cls; op; size ] -> plain (submit (int_of_string cls) (int_of_string op) (int_of_string size) state)
  | "shares" :: shares -> plain (set_shares (List.map int_of_string shares) state)
  | [ "complete"; cls; latency ] -> plain (complete (int_of_string cls) (int_of_string latency) state)
  | [ "cancel"; cls; place ] -> (
      match cancel (int_of_string cls) (int_of_string place) state with
      | Some (_, state) -> ("done", state)
      | None -> ("refused", state))
  | [ "next" ] -> (
      match next_rebased state with
      | Some ((cls, cost), state) -> (Printf.sprintf "%d %d" cls cost, state)
      | None -> ("refused", state))
  | _ -> failwith "not a call"

let rec serve state =
  match String.split_on_char ' ' (input_line stdin) with
  | exception End_of_file -> ()
  | "new" :: numbers -> serve (Some (start numbers))
  | words -> (
      match state with
      | None -> failwith "the first line is new"
      | Some state ->
          let answer, state = call state words in
          Printf.printf "%s %s\n" answer (show state);
          serve (Some state))

let () = serve None
