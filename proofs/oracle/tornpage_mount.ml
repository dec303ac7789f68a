(* SPDX-License-Identifier: PostgreSQL *)
(* The proved double writes of the mount, as a program: a line from stdin, a line to stdout, until the end of the input.
   A page is two sectors, numbers A and B. What is asked:

     new A B A B ...        a mount of these pages, idle
     write K A B            the server writes page K
     back K K ...           a write-back of these pages begins
     fsynced K J            an fsync that began after version J of page K returns
     go, fail, kill, start  the next operation works, or fails; the program ends; the next mount
     area, area none, area K A B K A B ...        the kernel reads the area again, and finds this
     loss none A B A B ..., loss K A B ... / A B A B ...      a power loss leaves this of the area, and of all pages
     read K, newest K       what the server reads, the number of its newest version

   The answer: to the last two the page, or the number. Else what is to come: "idle", "down", "pending", or an operation:
   "area K A B ...", "sync area", "place K A B", "sync K", "empty"; after "refused ", if what was asked cannot be. *)

open Tornpage_mount_proved

let split_pages words =
  let rec go = function [] -> [] | a :: b :: rest -> [ a; b ] :: go rest | _ -> failwith "half a page" in
  go words

let rec split_batch = function
  | [] -> []
  | k :: a :: b :: rest -> (k, [ a; b ]) :: split_batch rest
  | _ -> failwith "half a page"

let area_of = function [ "none" ] -> None | words -> Some (split_batch (List.map int_of_string words))
let say_page p = String.concat " " (List.map string_of_int p)
let say_batch b = String.concat " " (List.map (fun (k, p) -> Printf.sprintf "%d %s" k (say_page p)) b)

let next m =
  match m.state with
  | Down -> "down"
  | Idle -> "idle"
  | Pending _ -> "pending"
  | Gathered s -> "area " ^ say_batch (List.map (fun x -> (x.number, x.bytes)) s)
  | Found b -> "area " ^ say_batch b
  | InArea _ | Rewritten _ | Emptied -> "sync area"
  | Placing (_, (k, p) :: _) | Repairing (_, (k, p) :: _) -> Printf.sprintf "place %d %s" k (say_page p)
  | Syncing (_, (k, _) :: _) | Resyncing (_, (k, _) :: _) -> Printf.sprintf "sync %d" k
  | Placing (_, []) | Repairing (_, []) | Syncing (_, []) | Resyncing (_, []) -> "nothing"
  | Emptying -> "empty"

let rec advance m e =
  let m = step true true m e in
  if next m = "nothing" then advance m Go else m

(* What the theorems let a medium give, decided. *)
let area_may m a =
  let may = m.area.may in
  List.mem a may || (a = None && List.exists (fun x -> x <> List.hd may) may)

let page_may m k p =
  let may = (m.place k).may in
  List.exists (fun w -> List.length w = List.length p) may
  && List.for_all Fun.id (List.mapi (fun i x -> List.exists (fun w -> List.nth_opt w i = Some x) may) p)

let pages = ref 0

let answer m line =
  let numbers = List.map int_of_string in
  let asked m e allowed = if allowed then let m = advance m e in (m, next m) else (m, "refused " ^ next m) in
  match List.filter (( <> ) "") (String.split_on_char ' ' line) with
  | "new" :: rest ->
      let all = Array.of_list (split_pages (numbers rest)) in
      pages := Array.length all;
      let m = new0 (fun k -> all.(k)) in
      (m, next m)
  | [ "write"; k; a; b ] -> asked m (Write (int_of_string k, numbers [ a; b ])) true
  | "back" :: ks -> asked m (WriteBack (numbers ks)) true
  | [ "fsynced"; k; j ] ->
      let k = int_of_string k and j = int_of_string j in
      asked m (Fsynced (k, j)) (j <= m.clean k)
  | [ "go" ] -> asked m Go true
  | [ "fail" ] -> asked m Fail true
  | [ "kill" ] -> asked m Kill true
  | [ "start" ] -> asked m Start true
  | "area" :: rest ->
      let a = area_of rest in
      asked m (RereadArea a) (if m.area.mine then a = m.area.seen else area_may m a)
  | "loss" :: rest ->
      let rec cut before = function "/" :: after -> (List.rev before, after) | x :: l -> cut (x :: before) l | [] -> failwith "no /" in
      let area, after = cut [] rest in
      let area = area_of area and all = Array.of_list (split_pages (numbers after)) in
      let may = area_may m area && List.for_all (fun k -> page_may m k all.(k)) (List.init !pages Fun.id) in
      asked m (PowerLoss (area, fun k -> all.(k))) may
  | [ "read"; k ] -> (m, say_page (read m (int_of_string k)))
  | [ "newest"; k ] -> (m, string_of_int (newest m (int_of_string k)))
  | _ -> failwith ("not known: " ^ line)

let rec serve m =
  match input_line stdin with
  | exception End_of_file -> ()
  | line ->
      let m, said = answer m line in
      print_endline said;
      serve m

let () = serve (new0 (fun _ -> []))
