(* SPDX-License-Identifier: PostgreSQL *)
(* The proved prefetcher as a program: a line of input, a line of output, until the end of the input.

   In:  start N BEGIN SPACE DIRECT   a fresh prefetcher (start); SPACE: records in the queue; DIRECT: 0 or 1
        change N                     the concurrency (reconfigure)
        begin AT                     reading begins anew (begin_read)
        read ANSWER...               a record (read_record), with what the world answers, in order: b<N> or b- how many blocks a
                                     relation has, f<N> or f- the buffer of a block, w<RECORD> or w- the next record.
                                     A record: LSN,NEXT,EFFECT,TABLESPACE,DATABASE,RELATION,BLOCK, and /TABLESPACE,DATABASE,
                                     RELATION,BLOCK,FORK,FLAGS for each reference; effects are 0 to 4, as in the definition;
                                     flags: 1 an image, 2 will be initialised, 4 in use
   Out: of start, change and begin "ok"; of read GIVEN UNUSED EVENT... : FILTER... : RECENT... : ENTRY...
        GIVEN: the LSN, or - for none; UNUSED: the answers that were not asked for; an event is WHAT@LSN,BLOCK; a filter is
        its key, LSN and block; RECENT the window, the newest first; "wrong question" if an answer is of another kind;
        an entry of the ring is i<LSN> or n<LSN>, the oldest first
   LSNs are below 2^62, since OCaml's int has 63 bits.  What breaks these rules ends the program with exit code 2. *)

open Prefetch_proved

let fail message =
  prerr_endline ("oracle/prefetch: " ^ message);
  exit 2

let number text =
  match int_of_string_opt text with
  | Some n when n >= 0 && n lsr 62 = 0 -> n
  | _ -> fail ("not a number from 0 to 2^62: " ^ text)

(* The proof's queue is a function, and each push wraps it once more.  An array gives the same answers. *)
let flat r =
  let slots = Array.init r.size r.queue in
  { r with queue = (fun i -> slots.(i)) }

let entry e = Printf.sprintf " %c%d" (if e.entry_io then 'i' else 'n') e.entry_lsn

(* Its world is the answers to come. *)
exception Wrong_question

let numbers text = List.map number (String.split_on_char ',' text)
let rest text = String.sub text 1 (String.length text - 1)

let next kind = function a :: answers when a.[0] = kind -> (rest a, answers) | _ -> raise Wrong_question
let optional parse text = if text = "-" then None else Some (parse text)

let asked kind parse answers =
  let text, answers = next kind answers in
  (optional parse text, answers)

let reference text =
  match numbers text with
  | [ tablespace; database; number; block; fork; flags ] ->
      let flag bit = flags land bit <> 0 in
      { rel = { tablespace; database; number }; block; fork; has_image = flag 1; will_init = flag 2; in_use = flag 4 }
  | _ -> fail ("not a reference: " ^ text)

let record text =
  match String.split_on_char '/' text with
  | [] -> fail "no record"
  | head :: blocks -> (
      match numbers head with
      | [ lsn; next_lsn; does; tablespace; database; number; block ] ->
          let relation = { tablespace; database; number } in
          let does =
            match does with
            | 0 -> NoEffect
            | 1 -> Create relation
            | 2 -> Truncate (relation, block)
            | 3 -> CreateDatabase database
            | 4 -> Timeline
            | _ -> fail ("not an effect: " ^ head)
          in
          { lsn; next_lsn; references = List.map reference blocks; does }
      | _ -> fail ("not a record: " ^ text))

type running = { space : int; direct : bool; prefetcher : string list prefetcher }

let read r =
  read_record
    (fun _ -> asked 'b' number)
    (fun _ _ -> asked 'f' number)
    (fun _ _ -> asked 'w' record)
    r.space r.direct r.prefetcher

let name = function
  | OtherFork -> "other_fork"
  | SkipFpw -> "skip_fpw"
  | SkipInit -> "skip_init"
  | SkipNew -> "skip_new"
  | SkipRep -> "skip_rep"
  | Hit -> "hit"
  | Direct -> "direct"
  | Prefetch -> "prefetch"

let event = function
  | Judged (l, r, w, _) -> [ Printf.sprintf " %s@%d,%d" (name w) l r.block ]
  | Caused _ | Replayed _ | Given _ | NoMore -> []

let key k = Printf.sprintf "%d,%d,%d" k.tablespace k.database k.number
let filter f = Printf.sprintf " %s,%d,%d" (key f.key) f.until f.from_block
let seen (k, block) = Printf.sprintf " %s,%d" (key k) block

(* The log is a ghost: it is printed, and forgotten. *)
let told given p =
  let j = p.walked.judged in
  let all print l = String.concat "" (List.map print l) in
  Printf.sprintf "%s %d%s :%s :%s :%s"
    (match given with Some r -> string_of_int r.lsn | None -> "-")
    (List.length j.world)
    (String.concat "" (List.concat_map event (List.rev j.log)))
    (all filter j.filters) (all seen j.recent)
    (all entry (entries p.ring_of))

let quiet p = { p with walked = { p.walked with judged = { p.walked.judged with log = [] } }; ring_of = flat p.ring_of }

let run running line =
  match String.split_on_char ' ' line with
  | [ "start"; n; at; space; direct ] ->
      let prefetcher = start (number n) (number at) [] in
      ("ok", { space = number space; direct = number direct = 1; prefetcher })
  | [ "change"; n ] -> ("ok", { running with prefetcher = reconfigure (number n) running.prefetcher })
  | [ "begin"; at ] -> ("ok", { running with prefetcher = begin_read (number at) running.prefetcher })
  | "read" :: answers -> (
      let p = with_world_of answers running.prefetcher in
      match read { running with prefetcher = p } with
      | exception Wrong_question -> ("wrong question", running)
      | given, p -> (told given p, { running with prefetcher = quiet p }))
  | _ -> fail ("unknown: " ^ line)

let rec serve running =
  match input_line stdin with
  | exception End_of_file -> ()
  | line ->
      let answer, running = run running line in
      print_endline answer;
      serve running

let () = serve { space = 1; direct = false; prefetcher = start 0 0 [] }
