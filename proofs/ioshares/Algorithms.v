(* SPDX-License-Identifier: PostgreSQL *)
(** * The I/O scheduler, as csrc/ioshares runs it: start-time fair queueing, and the limit of requests in flight

    Numbers are unbounded here; Overflow.v proves that they fit into 64 bits. A class's queue is the list of what its
    requests cost, oldest first: their bytes, and those of an operation. *)
From Pgquern.common Require Import Integers.

Definition max_bytes : Z := 2 ^ 30.
Definition max_cost : Z := 2 ^ 31.
Definition max_share : Z := 10000.
Definition max_factor : Z := 2 ^ 30.
Definition max_window : Z := 2 ^ 16.
Definition max_latency : Z := 2 ^ 40.
Definition rebase_at : Z := 2 ^ 61.
Definition probe_every : Z := 64.

(** A class: struct flow. [warp] is in bytes times the factor, as [tag] is; C keeps the handicap, and the warp in bytes. [charged] does
    not wrap. *)
Record flow := Flow {
  capacity : Z;
  factor : Z;
  warp : Z;
  handicap : Z;
  tag : Z;
  queue : list Z;
  flying : Z;
  charged : Z }.

Record limits := Limits { least : Z; start : Z; most : Z; window : Z; target : Z }.

(** What the limit of requests in flight is made of: pace.c. *)
Record pace := Pace { level : Z; floor : Z; age : Z; probing : bool; settling : bool }.

(** struct pgq_ioshares, but for the limit. *)
Record state := State {
  flows : list flow;
  vtime : Z;
  waiting : Z;
  in_flight : Z;
  bounds : limits;
  pacing : pace;
  completed : Z;
  latency : Z;
  pressed : bool }.

Definition limit_of (l : limits) (a : pace) : Z :=
  if probing a then if least l <? level a / 2 then level a / 2 else least l else level a.

Definition limit (s : state) : Z := limit_of (bounds s) (pacing s).

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
  State (map (flow_of cs) cs) 0 0 0 l (Pace (start l) 0 0 true true) 0 0 false.

(** ** pgq_ioshares_submit *)

Definition enqueue (v cost : Z) (f : flow) : flow :=
  let t := match queue f with [] => if tag f <? v then v else tag f | _ :: _ => tag f end in
  Flow (capacity f) (factor f) (warp f) (handicap f) t (queue f ++ [cost]) (flying f) (charged f).

(** [op]: what an operation of its kind, a read or a write, costs. *)
Definition submit (i : nat) (op size : Z) (s : state) : option state :=
  match nth_error (flows s) i with
  | None => None
  | Some f =>
      if (size <? 1) || (max_bytes <? size) || (capacity f <=? Z.of_nat (length (queue f))) then None
      else Some (State (update i (enqueue (vtime s) (op + size) f) (flows s)) (vtime s) (waiting s + 1) (in_flight s)
                       (bounds s) (pacing s) (completed s) (latency s) (pressed s))
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

Definition go (cost : Z) (rest : list Z) (f : flow) : flow :=
  Flow (capacity f) (factor f) (warp f) (handicap f) (tag f + factor f * cost) rest (flying f + 1)
       (charged f + cost).

(** The class and the cost of the request that goes, and the state after it, before a rebase. *)
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
            | cost :: rest =>
                Some (chosen b, cost,
                      State (update (chosen b) (go cost rest f) (flows s)) (least_tag b) (waiting s - 1)
                            (in_flight s + 1) (bounds s) (pacing s) (completed s) (latency s) (pressed s))
            end
        end
    end.

Definition lead (v : Z) (f : flow) : Z := if v <? tag f then tag f - v else 0.

Definition lowered (v : Z) (f : flow) : flow :=
  Flow (capacity f) (factor f) (warp f) (handicap f) (lead v f) (queue f) (flying f)
       (charged f).

Definition rebase (s : state) : state :=
  if rebase_at <=? vtime s
  then State (map (lowered (vtime s)) (flows s)) 0 (waiting s) (in_flight s) (bounds s) (pacing s) (completed s)
             (latency s) (pressed s)
  else s.

Definition next_rebased (s : state) : option (nat * Z * state) :=
  match next s with
  | None => None
  | Some (i, size, s') => Some (i, size, rebase s')
  end.

(** ** pgq_ioshares_cancel: [k] counts the class's waiting requests from the oldest *)

Definition without (k : nat) (f : flow) : flow :=
  Flow (capacity f) (factor f) (warp f) (handicap f) (tag f) (firstn k (queue f) ++ skipn (S k) (queue f)) (flying f)
       (charged f).

Definition cancel (i k : nat) (s : state) : option (Z * state) :=
  match nth_error (flows s) i with
  | None => None
  | Some f =>
      match nth_error (queue f) k with
      | None => None
      | Some size =>
          Some (size, State (update i (without k f) (flows s)) (vtime s) (waiting s - 1) (in_flight s) (bounds s) (pacing s)
                            (completed s) (latency s) (pressed s))
      end
  end.

(** ** pgq_ioshares_set_shares *)

(** So many bytes times another factor. *)
Definition with_factor (l old new : Z) : Z := l / old * new + l mod old * new / old.

Definition class_with (f : flow) (n : Z) : class := Class n (warp f / factor f) (capacity f).

Definition classes_with (ns : list Z) (s : state) : list class :=
  map (fun p => class_with (fst p) (snd p)) (combine (flows s) ns).

Definition reweighed (v : Z) (cs : list class) (f : flow) (c : class) : flow :=
  let w := factor_of cs c * warp_bytes c in
  Flow (capacity f) (factor_of cs c) w (largest_warp cs - w) (with_factor (lead v f) (factor f) (factor_of cs c)) (queue f)
       (flying f) (charged f).

Definition good_shares (ns : list Z) : bool := forallb (fun n => (1 <=? n) && (n <=? max_share)) ns.

Definition set_shares (ns : list Z) (s : state) : option state :=
  let cs := classes_with ns s in
  if negb (Nat.eqb (length ns) (length (flows s))) || negb (good_shares ns) ||
     (max_factor * fold_right Z.min max_share ns <? multiple cs)
  then None
  else Some (State (map (fun p => reweighed (vtime s) cs (fst p) (class_with (fst p) (snd p))) (combine (flows s) ns)) 0
                   (waiting s) (in_flight s) (bounds s) (pacing s) (completed s) (latency s) (pressed s)).

(** ** pace.c, and pgq_ioshares_complete *)

(** Above this mean latency the limit falls. *)
Definition bound_of (l : limits) (f : Z) : Z :=
  if target l =? 0 then f * 7 / 4
  else if target l <? f * 3 / 2 then f * 3 / 2 else if f * 2 <? target l then f * 2 else target l.

Definition fallen (l : limits) (n f mean : Z) : Z :=
  let fair := n * f * 5 / (mean * 4) in
  let less := if fair <? n then fair else n - 1 in
  if least l <? less then less else least l.

(** The floor that a window with this mean leaves. *)
Definition lower (l : limits) (a : pace) (mean : Z) : Z :=
  if (mean <? floor a) || (level a =? least l) then mean else floor a.

Definition adapt (l : limits) (a : pace) (mean : Z) (p : bool) : pace :=
  if settling a then Pace (level a) (floor a) (age a) (probing a) false
  else if probing a then Pace (level a) mean 0 false true
  else
    let f := lower l a mean in
    if bound_of l f <? mean then Pace (fallen l (level a) f mean) f (age a) false true
    else if p
    then let due := age a + 1 =? probe_every in
         Pace (if level a <? most l then level a + 1 else level a) f (age a + 1) due due
    else Pace (level a) f (age a) false false.

Definition landed (f : flow) : flow :=
  Flow (capacity f) (factor f) (warp f) (handicap f) (tag f) (queue f) (flying f - 1) (charged f).

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
        Some (if (n <? window (bounds s)) || (n <? level (pacing s))
              then State fs (vtime s) (waiting s) (in_flight s - 1) (bounds s) (pacing s) n sum p
              else State fs (vtime s) (waiting s) (in_flight s - 1) (bounds s)
                         (adapt (bounds s) (pacing s) (sum / n) p) 0 0 false)
  end.
