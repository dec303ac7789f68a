(* SPDX-License-Identifier: PostgreSQL *)
(** * What a prefetcher should have made of each reference, said with the history alone

    Nothing here looks at filters, window, queue or ring. A history is a log, the newest first. *)
From Pgquern.common Require Import Integers.
From Pgquern.prefetch Require Import Filters Prefetcher.

(** Up to which LSN, and from which block on, a relation or database is hidden: by all reasons for it since it was last shown.
    It is shown when the record of the last of these reasons has been replayed. *)
Fixpoint hidden_by (k : relation) (h : list told) : option (Z * Z) :=
  match h with
  | [] => None
  | Caused k' b l :: h =>
      if relation_eqb k' k then Some (l, match hidden_by k h with Some (_, b') => Z.min b' b | None => b end)
      else hidden_by k h
  | Replayed x :: h =>
      match hidden_by k h with Some (l, b) => if l <? x then None else Some (l, b) | None => None end
  | _ :: h => hidden_by k h
  end.

Definition hidden (h : list told) (r : relation) (b : Z) : bool :=
  match hidden_by r h with Some (_, from) => from <=? b | None => false end ||
  match hidden_by (whole_database (database r)) h with Some _ => true | None => false end.

(** The blocks of which the storage was asked, the newest first. *)
Fixpoint asked (h : list told) : list (relation * Z) :=
  match h with
  | [] => []
  | Judged _ _ _ NotAsked :: h => asked h
  | Judged _ r _ _ :: h => (rel r, block r) :: asked h
  | _ :: h => asked h
  end.

(** One of the last four. *)
Definition repeated (h : list told) (r : relation) (b : Z) : bool := existsb (same_block (r, b)) (firstn window (asked h)).

(** What becomes of a reference, after this history, if the storage says this. *)
Definition verdict (direct : bool) (h : list told) (r : reference) (s : said) : what :=
  if negb (fork r =? 0) then OtherFork
  else if has_image r then SkipFpw
  else if will_init r then SkipInit
  else if hidden h (rel r) (block r) then SkipNew
  else if repeated h (rel r) (block r) then SkipRep
  else match s with
       | Buffer _ (Some _) => Hit
       | Buffer _ None => if direct then Direct else Prefetch
       | _ => SkipNew
       end.

(** The storage is asked if and only if nothing else excuses the reference; and for a buffer only if the block exists. *)
Definition excused (h : list told) (r : reference) : bool :=
  negb (fork r =? 0) || has_image r || will_init r || hidden h (rel r) (block r) || repeated h (rel r) (block r).
Definition exists_block (n : option Z) (b : Z) : bool := match n with Some n => b <? n | None => false end.
Definition answers (h : list told) (r : reference) (s : said) : bool :=
  match s with
  | NotAsked => excused h r
  | Blocks n => negb (excused h r) && negb (exists_block n (block r))
  | Buffer n _ => negb (excused h r) && exists_block n (block r)
  end.

(** The references of the record at [l] that were judged, the oldest first. *)
Fixpoint judged_of (l : Z) (h : list told) : list reference :=
  match h with
  | [] => []
  | Judged l' r _ _ :: h => judged_of l h ++ (if l' =? l then [r] else [])
  | _ :: h => judged_of l h
  end.

(** What a record hides until it is replayed. *)
Definition hidden_until_replayed (r : record) : list told :=
  match does r with
  | Create k => [Caused k 0 (lsn r)]
  | Truncate k b => [Caused k b (lsn r)]
  | CreateDatabase d => [Caused (Relation 0 d 0) 0 (lsn r)]
  | NoEffect | Timeline => []
  end.

(** What is hidden since the storage does not have it: all of a relation without a file, or what lies past its end. *)
Definition hidden_as_missing (l : Z) (r : reference) (s : said) : list told :=
  match s with
  | Blocks None => [Caused (rel r) 0 l]
  | Blocks (Some _) => [Caused (rel r) (block r) l]
  | _ => []
  end.
