(* SPDX-License-Identifier: PostgreSQL *)
(** * The upkeep of KnownAssignedXids, and what it costs

    src/backend/storage/ipc/procarray.c (16 to 18): removal only clears a flag; the tail moves over cleared entries; now
    and then the array is compressed.  Here the entries of [tail, head) are a list, and each operation comes with its
    bill: how many entries it looked at for upkeep, and how many flags it cleared. *)
From Coq Require Import ZArith List Bool.
From Pgquern.snapbuild Require Import Memory Spec.
Import ListNotations.
Local Open Scope Z_scope.

Record known := {
  tail : Z;
  entries : list (Z * bool);
  transaction_ends : Z; (* calls for TRANSACTION_END that found a gap *)
  last_compress : Z (* in ms; 0: never *)
}.

Definition empty : known := {| tail := 0; entries := []; transaction_ends := 0; last_compress := 0 |}.

Definition live_xids (e : list (Z * bool)) : list Z := map fst (List.filter snd e).
Definition num (s : known) : Z := zlength (live_xids (entries s)).
Definition span (s : known) : Z := zlength (entries s).
Definition head (s : known) : Z := tail s + span s.

Inductive reason := NO_SPACE | PRUNE | TRANSACTION_END | STARTUP_PROCESS_IDLE.

(** KAX_COMPRESS_FREQUENCY, in transactions, and KAX_COMPRESS_IDLE_INTERVAL, in ms. *)
Definition COMPRESS_FREQUENCY : Z := 128.
Definition COMPRESS_IDLE_INTERVAL : Z := 1000.

Definition has_gap (s : known) : bool := negb (span s =? num s).

Definition worth_while (why : reason) (now : Z) (s : known) : bool :=
  match why with
  | NO_SPACE => true
  | PRUNE => has_gap s
  | TRANSACTION_END => has_gap s && (transaction_ends s mod COMPRESS_FREQUENCY =? 0) && (2 * num s <=? span s)
  | STARTUP_PROCESS_IDLE =>
      has_gap s && ((last_compress s =? 0) || (COMPRESS_IDLE_INTERVAL <=? now - last_compress s))
  end.

(** What was looked at: by compressing when it had to (NO_SPACE, TRANSACTION_END), by compressing for PRUNE and when
    idle, and by moving the tail; how many flags were cleared; and how often the array was compressed when idle. *)
Record bill := { for_space : Z; for_readers : Z; passed : Z; removed : Z; idle : Z }.

Definition free : bill := {| for_space := 0; for_readers := 0; passed := 0; removed := 0; idle := 0 |}.

Definition plus (b c : bill) : bill :=
  {| for_space := for_space b + for_space c; for_readers := for_readers b + for_readers c;
     passed := passed b + passed c; removed := removed b + removed c; idle := idle b + idle c |}.

(** KnownAssignedXidsCompress. *)
Definition compress_if (why : reason) (now : Z) (s : known) : known * bill :=
  let ends := match why with TRANSACTION_END => if has_gap s then transaction_ends s + 1 else transaction_ends s
              | _ => transaction_ends s end in
  if worth_while why now s then
    ({| tail := 0; entries := List.filter snd (entries s); transaction_ends := ends; last_compress := now |},
     match why with
     | NO_SPACE | TRANSACTION_END => {| for_space := span s; for_readers := 0; passed := 0; removed := 0; idle := 0 |}
     | PRUNE => {| for_space := 0; for_readers := span s; passed := 0; removed := 0; idle := 0 |}
     | STARTUP_PROCESS_IDLE => {| for_space := 0; for_readers := span s; passed := 0; removed := 0; idle := 1 |}
     end)
  else
    ({| tail := tail s; entries := entries s; transaction_ends := ends; last_compress := last_compress s |}, free).

(** The flags of the entries that [p] picks are cleared. *)
Definition clear (p : Z -> bool) (e : list (Z * bool)) : list (Z * bool) :=
  map (fun '(x, valid) => (x, valid && negb (p x))) e.

(** The cleared entries at the tail: how many, and what follows. *)
Fixpoint advance (e : list (Z * bool)) : Z * list (Z * bool) :=
  match e with
  | (_, false) :: rest => let '(n, rest) := advance rest in (n + 1, rest)
  | _ => (0, e)
  end.

(** Removal; an array that becomes empty starts again at 0. *)
Definition remove (p : Z -> bool) (s : known) : known * bill :=
  let cleared := clear p (entries s) in
  let '(n, rest) := advance cleared in
  ({| tail := match rest with [] => 0 | _ => tail s + n end; entries := rest;
      transaction_ends := transaction_ends s; last_compress := last_compress s |},
   {| for_space := 0; for_readers := 0; passed := n; removed := num s - zlength (live_xids cleared); idle := 0 |}).

(** What the startup process does.  [p] picks the transactions that end (RemoveTree), or those that precede an XID
    (RemovePreceding). *)
Inductive operation :=
  | Add (xids : list Z) (now : Z)
  | EndTransaction (p : Z -> bool) (now : Z)
  | RemovePreceding (p : Z -> bool) (now : Z)
  | WhenIdle (now : Z).

Definition append (xids : list Z) (s : known) : known :=
  {| tail := tail s; entries := entries s ++ map (fun x => (x, true)) xids;
     transaction_ends := transaction_ends s; last_compress := last_compress s |}.

Definition step (capacity : Z) (op : operation) (s : known) : known * bill :=
  match op with
  | Add xids now =>
      if head s + zlength xids <=? capacity then (append xids s, free)
      else
        let '(s, b) := compress_if NO_SPACE now s in
        if head s + zlength xids <=? capacity then (append xids s, b) else (s, b)
  | EndTransaction p now =>
      let '(s, b) := remove p s in let '(s, c) := compress_if TRANSACTION_END now s in (s, plus b c)
  | RemovePreceding p now =>
      let '(s, b) := remove p s in let '(s, c) := compress_if PRUNE now s in (s, plus b c)
  | WhenIdle now => compress_if STARTUP_PROCESS_IDLE now s
  end.

Fixpoint run (capacity : Z) (ops : list operation) (s : known) : known * bill :=
  match ops with
  | [] => (s, free)
  | op :: ops => let '(s, b) := step capacity op s in let '(s, c) := run capacity ops s in (s, plus b c)
  end.

(** There is room: whenever XIDs are added, the array has space for them and for twice the live ones. *)
Fixpoint roomy (capacity : Z) (ops : list operation) (s : known) : Prop :=
  match ops with
  | [] => True
  | op :: ops =>
      match op with Add xids _ => 2 * num s + zlength xids <= capacity | _ => True end /\
      roomy capacity ops (fst (step capacity op s))
  end.

(** Time does not run backwards. *)
Definition time_of (op : operation) : Z :=
  match op with Add _ now | EndTransaction _ now | RemovePreceding _ now | WhenIdle now => now end.

Fixpoint in_time (from upto : Z) (ops : list operation) : Prop :=
  match ops with [] => from <= upto | op :: ops => from <= time_of op /\ in_time (time_of op) upto ops end.

(** How often the array is pruned, for a running-xacts record. *)
Definition prunes (ops : list operation) : Z :=
  zlength (List.filter (fun op => match op with RemovePreceding _ _ => true | _ => false end) ops).

(** What the live XIDs must be after each operation, whatever upkeep does. *)
Definition live_after (op : operation) (l : list Z) : list Z :=
  match op with
  | Add xids _ => l ++ xids
  | EndTransaction p _ | RemovePreceding p _ => List.filter (fun x => negb (p x)) l
  | WhenIdle _ => l
  end.
