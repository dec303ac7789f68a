(* SPDX-License-Identifier: PostgreSQL *)
(** * The I/O scheduler, as csrc/ioshares runs it: start-time fair queueing, and the limit of requests in flight

    Numbers are unbounded here; Overflow.v proves that they fit into 64 bits. A class's queue is the list of its
    requests' sizes, oldest first. What only the proofs need is marked so. *)
From Coq Require Import ZArith List Bool.
Import ListNotations.
Local Open Scope Z_scope.

Definition max_bytes : Z := 2 ^ 30.
Definition max_factor : Z := 2 ^ 30.
Definition max_window : Z := 2 ^ 16.
Definition max_latency : Z := 2 ^ 40.
Definition rebase_at : Z := 2 ^ 61.

(** A class: struct flow. [warp] is in bytes times the factor, as [tag] is; C keeps the handicap only. [dispatched] does
    not wrap. *)
Record flow := Flow {
  capacity : Z;
  factor : Z;
  warp : Z;
  handicap : Z;
  tag : Z;
  queue : list Z;
  flying : Z;
  dispatched : Z }.

Record limits := Limits { least : Z; start : Z; most : Z; window : Z; target : Z }.

(** struct pgq_ioshares. *)
Record state := State {
  flows : list flow;
  vtime : Z;
  waiting : Z;
  in_flight : Z;
  bounds : limits;
  limit : Z;
  completed : Z;
  latency : Z;
  pressed : bool }.

Fixpoint update {A} (i : nat) (x : A) (l : list A) : list A :=
  match l, i with
  | [], _ => []
  | _ :: l, O => x :: l
  | y :: l, S i => y :: update i x l
  end.

(** ** make_flows: shares, warps in bytes, and capacities *)

Record class := Class { share : Z; warp_bytes : Z; room : Z }.

Definition multiple (cs : list class) : Z := fold_right (fun c m => Z.lcm (share c) m) 1 cs.

Definition factor_of (cs : list class) (c : class) : Z := multiple cs / share c.

Definition largest_warp (cs : list class) : Z :=
  fold_right (fun c w => Z.max (factor_of cs c * warp_bytes c) w) 0 cs.

Definition flow_of (cs : list class) (c : class) : flow :=
  let w := factor_of cs c * warp_bytes c in
  Flow (room c) (factor_of cs c) w (largest_warp cs - w) 0 [] 0 0.

Definition make (cs : list class) (l : limits) : state :=
  State (map (flow_of cs) cs) 0 0 0 l (start l) 0 0 false.

(** ** pgq_ioshares_submit *)

Definition enqueue (v size : Z) (f : flow) : flow :=
  let t := match queue f with [] => if tag f <? v then v else tag f | _ :: _ => tag f end in
  Flow (capacity f) (factor f) (warp f) (handicap f) t (queue f ++ [size]) (flying f) (dispatched f).

Definition submit (i : nat) (size : Z) (s : state) : option state :=
  match nth_error (flows s) i with
  | None => None
  | Some f =>
      if (size <? 1) || (max_bytes <? size) || (capacity f <=? Z.of_nat (length (queue f))) then None
      else Some (State (update i (enqueue (vtime s) size f) (flows s)) (vtime s) (waiting s + 1) (in_flight s)
                       (bounds s) (limit s) (completed s) (latency s) (pressed s))
  end.

(** ** choose() of sfq.c, and pgq_ioshares_next *)

Record best := Best { chosen : nat; least_key : Z; least_tag : Z }.

Definition look (i : nat) (f : flow) (b : option best) : option best :=
  match queue f with
  | [] => b
  | _ :: _ =>
      let key := tag f + handicap f in
      match b with
      | None => Some (Best i key (tag f))
      | Some r =>
          let t := if tag f <? least_tag r then tag f else least_tag r in
          Some (if key <? least_key r then Best i key t else Best (chosen r) (least_key r) t)
      end
  end.

Fixpoint scan (i : nat) (fs : list flow) (b : option best) : option best :=
  match fs with
  | [] => b
  | f :: fs => scan (S i) fs (look i f b)
  end.

Definition go (size : Z) (rest : list Z) (f : flow) : flow :=
  Flow (capacity f) (factor f) (warp f) (handicap f) (tag f + factor f * size) rest (flying f + 1)
       (dispatched f + size).

(** The class and the size of the request that goes, and the state after it, before a rebase. *)
Definition next (s : state) : option (nat * Z * state) :=
  if limit s <=? in_flight s then None
  else
    match scan 0 (flows s) None with
    | None => None
    | Some b =>
        match nth_error (flows s) (chosen b) with
        | None => None
        | Some f =>
            match queue f with
            | [] => None
            | size :: rest =>
                Some (chosen b, size,
                      State (update (chosen b) (go size rest f) (flows s)) (least_tag b) (waiting s - 1)
                            (in_flight s + 1) (bounds s) (limit s) (completed s) (latency s) (pressed s))
            end
        end
    end.

Definition lowered (v : Z) (f : flow) : flow :=
  Flow (capacity f) (factor f) (warp f) (handicap f) (if v <? tag f then tag f - v else 0) (queue f) (flying f)
       (dispatched f).

Definition rebase (s : state) : state :=
  if rebase_at <=? vtime s
  then State (map (lowered (vtime s)) (flows s)) 0 (waiting s) (in_flight s) (bounds s) (limit s) (completed s)
             (latency s) (pressed s)
  else s.

Definition next_rebased (s : state) : option (nat * Z * state) :=
  match next s with
  | None => None
  | Some (i, size, s') => Some (i, size, rebase s')
  end.

(** ** adapt(), and pgq_ioshares_complete *)

Definition lower (l : limits) (n : Z) : Z :=
  let step := if 0 <? n / 8 then n / 8 else 1 in
  if step <? n - least l then n - step else least l.

Definition adapt (l : limits) (n sum : Z) (p : bool) : Z :=
  if target l * window l <? sum then lower l n else if p && (n <? most l) then n + 1 else n.

Definition landed (f : flow) : flow :=
  Flow (capacity f) (factor f) (warp f) (handicap f) (tag f) (queue f) (flying f - 1) (dispatched f).

Definition complete (i : nat) (lat : Z) (s : state) : option state :=
  match nth_error (flows s) i with
  | None => None
  | Some f =>
      if flying f <=? 0 then None
      else
        let fs := update i (landed f) (flows s) in
        let n := completed s + 1 in
        let sum := latency s + Z.min lat max_latency in
        let p := pressed s || (0 <? waiting s) in
        Some (if n <? window (bounds s)
              then State fs (vtime s) (waiting s) (in_flight s - 1) (bounds s) (limit s) n sum p
              else State fs (vtime s) (waiting s) (in_flight s - 1) (bounds s)
                         (adapt (bounds s) (limit s) sum p) 0 0 false)
  end.
