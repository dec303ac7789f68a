(* SPDX-License-Identifier: PostgreSQL *)
(** * Memory operations, and programs made of them

    An algorithm is a program: the list of the memory operations that its C code does on a page, in that order. *)
From Pgquern.common Require Import Integers.
From Pgquern.compaction Require Import Page.

(** [len] bytes of [src] from [from] on, copied over [m] from [to] on.  All bytes are read before one is written, so with
    [src] = [m] this is memmove, and between two memories it is memcpy. *)
Definition copy (src : mem) (from : Z) (m : mem) (to len : Z) : mem :=
  fun i => if (to <=? i) && (i <? to + len) then src (from + (i - to)) else m i.

Definition byte_of (k value : Z) : Z := value / 256 ^ k mod 256.

(** [size] bytes of [value], little-endian. *)
Definition store (m : mem) (a size value : Z) : mem :=
  fun i => if (a <=? i) && (i <? a + size) then byte_of (i - a) value else m i.

Inductive op :=
| Move (to from len : Z)     (** memmove within the page *)
| Save (to from len : Z)     (** memcpy from the page to the scratch area *)
| Restore (to from len : Z)  (** memcpy from the scratch area to the page *)
| Store16 (a value : Z)      (** a header field *)
| Store32 (a value : Z).     (** a line pointer *)

Record state := State { page : mem; scratch : mem }.

Definition step (o : op) (s : state) : state :=
  match o with
  | Move to from len => State (copy (page s) from (page s) to len) (scratch s)
  | Save to from len => State (page s) (copy (page s) from (scratch s) to len)
  | Restore to from len => State (copy (scratch s) from (page s) to len) (scratch s)
  | Store16 a value => State (store (page s) a 2 value) (scratch s)
  | Store32 a value => State (store (page s) a 4 value) (scratch s)
  end.

Definition exec (program : list op) (s : state) : state := fold_left (fun s o => step o s) program s.

(** An operation stays inside the page, and inside a scratch area that has [below] bytes before the page's first address
    and [above] bytes after its last. *)
Definition in_bounds (below above : Z) (o : op) : Prop :=
  let in_page a len := 0 <= a /\ a + len <= BLCKSZ in
  let in_scratch a len := - below <= a /\ a + len <= BLCKSZ + above in
  match o with
  | Move to from len => 0 <= len /\ in_page to len /\ in_page from len
  | Save to from len => 0 <= len /\ in_scratch to len /\ in_page from len
  | Restore to from len => 0 <= len /\ in_page to len /\ in_scratch from len
  | Store16 a _ => in_page a 2
  | Store32 a _ => in_page a 4
  end.
