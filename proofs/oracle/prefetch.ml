(* SPDX-License-Identifier: PostgreSQL *)
(* The proved ring of recovery prefetching, as a program: a line of input, a line of output, until the end of the input.

   In:  new DISTANCE N      a fresh ring (lrq_alloc)
        complete LSN        entries of records below the LSN leave (lrq_complete)
        prefetch A...       look-ahead (lrq_prefetch): the callback's answers, i<LSN> an I/O, n<LSN> none, a for AGAIN
   Out: inflight completed consumed starved ENTRY...
        consumed: how many answers were asked for; starved: 1 if one more was asked for than there are;
        an entry is i<LSN> or n<LSN>, the oldest first.
   LSNs are below 2^62, since OCaml's int has 63 bits.  What breaks these rules ends the program with exit code 2. *)

open Prefetch_proved

let fail message =
  prerr_endline ("oracle/prefetch: " ^ message);
  exit 2

let number text =
  match int_of_string_opt text with
  | Some n when n >= 0 && n lsr 62 = 0 -> n
  | _ -> fail ("not a number from 0 to 2^62: " ^ text)

let answer text =
  let lsn () = number (String.sub text 1 (String.length text - 1)) in
  match text.[0] with 'i' -> Io (lsn ()) | 'n' -> NoIo (lsn ()) | 'a' when text = "a" -> Again | _ -> fail text

(* The callback: the answers to come, how many were taken, and whether one more was asked for. *)
let look (answers, taken, _) =
  match answers with a :: rest -> (a, (rest, taken + 1, false)) | [] -> (Again, ([], taken, true))

(* The proof's queue is a function, and each push wraps it once more.  An array gives the same answers. *)
let flat r =
  let slots = Array.init r.size r.queue in
  { r with queue = (fun i -> slots.(i)) }

let step ring line =
  match String.split_on_char ' ' line with
  | [ "new"; distance; n ] -> (lrq_alloc (number distance) (number n), 0, false)
  | [ "complete"; lsn ] -> (lrq_complete (number lsn) ring, 0, false)
  | "prefetch" :: answers ->
      let ring, (_, taken, starved) = lrq_prefetch look (List.map answer answers, 0, false) ring in
      (ring, taken, starved)
  | _ -> fail ("unknown: " ^ line)

let entry e = Printf.sprintf " %c%d" (if e.entry_io then 'i' else 'n') e.entry_lsn

let rec serve ring =
  match input_line stdin with
  | exception End_of_file -> ()
  | line ->
      let ring, taken, starved = step ring line in
      let ring = flat ring in
      Printf.printf "%d %d %d %d%s\n" ring.inflight ring.completed taken (Bool.to_int starved)
        (String.concat "" (List.map entry (entries ring)));
      serve ring

let () = serve (lrq_alloc 1 1)
