(* SPDX-License-Identifier: PostgreSQL *)
(** * The heap page: 8192 bytes, decoded as PostgreSQL decodes them

    Upstream: src/include/storage/bufpage.h, PageHeaderData; src/include/storage/itemid.h, ItemIdData. As of 15.18, on a little-endian machine
    with MAXIMUM_ALIGNOF 8.  Offsets and lengths are bytes; line pointers are numbered from 1. *)
From Pgquern.common Require Import Integers.

(* Keep arithmetic readable in proofs: cbn must not unfold it. *)
#[global] Arguments Z.add : simpl never.
#[global] Arguments Z.sub : simpl never.
#[global] Arguments Z.mul : simpl never.

Definition BLCKSZ : Z := 8192.
Definition HEADER_SIZE : Z := 24.
Definition MAX_HEAP_TUPLES_PER_PAGE : Z := 291.

(** A memory: the byte at each address.  A page is a memory whose addresses 0 to 8191 hold bytes. *)
Definition mem := Z -> Z.
Definition is_page (m : mem) : Prop := forall i, 0 <= i < BLCKSZ -> 0 <= m i < 256.

Definition read16 (m : mem) (a : Z) : Z := m a + 256 * m (a + 1).
Definition read32 (m : mem) (a : Z) : Z := m a + 256 * m (a + 1) + 65536 * m (a + 2) + 16777216 * m (a + 3).

(** ** The header *)
Definition pd_flags (m : mem) : Z := read16 m 10.
Definition pd_lower (m : mem) : Z := read16 m 12.
Definition pd_upper (m : mem) : Z := read16 m 14.
Definition pd_special (m : mem) : Z := read16 m 16.

(** PageGetMaxOffsetNumber: how many line pointers there are; up to 3 bytes below pd_lower may remain. *)
Definition nline (m : mem) : Z := (pd_lower m - HEADER_SIZE) / 4.

Definition maxalign (n : Z) : Z := (n + 7) / 8 * 8.

(** ** Line pointers: 32 bits, lp_off 15, lp_flags 2, lp_len 15, from the lowest *)
Definition lp_off (word : Z) : Z := word mod 32768.
Definition lp_flags (word : Z) : Z := word / 32768 mod 4.
Definition lp_len (word : Z) : Z := word / 131072.
Definition LP_UNUSED : Z := 0.

Definition lp_address (number : Z) : Z := HEADER_SIZE + 4 * (number - 1).
Definition lp_word (m : mem) (number : Z) : Z := read32 m (lp_address number).
Definition is_used (word : Z) : bool := negb (lp_flags word =? LP_UNUSED).
Definition has_storage (word : Z) : bool := is_used word && negb (lp_len word =? 0).

(** [word] with another lp_off. *)
Definition set_off (word off : Z) : Z := off + word / 32768 * 32768.

(** A line pointer with its number. *)
Record item := Item { number : Z; word : Z }.
Definition off (it : item) : Z := lp_off (word it).
Definition len (it : item) : Z := maxalign (lp_len (word it)).
Definition stop (it : item) : Z := off it + len it.

Fixpoint line_pointers_from (m : mem) (first : Z) (count : nat) : list item :=
  match count with
  | O => []
  | S count => Item first (lp_word m first) :: line_pointers_from m (first + 1) count
  end.

(** All line pointers, in item order. *)
Definition line_pointers (m : mem) : list item := line_pointers_from m 1 (Z.to_nat (nline m)).

(** Those that are used and have storage: the tuples that compaction moves. *)
Definition items (m : mem) : list item := filter (fun it => has_storage (word it)) (line_pointers m).

Fixpoint total (its : list item) : Z :=
  match its with [] => 0 | it :: r => len it + total r end.

(** ** What is accepted *)

(** lp_off falls strictly in item order. *)
Fixpoint presorted_below (top : Z) (its : list item) : bool :=
  match its with [] => true | it :: r => (off it <? top) && presorted_below (off it) r end.
Definition presorted (special : Z) (its : list item) : bool := presorted_below special its.

(** Each item ends at or below [top], resp. below the start of the one before it. *)
Fixpoint chain (its : list item) (top : Z) : Prop :=
  match its with [] => True | it :: r => stop it <= top /\ chain r (off it) end.

Definition header_ok (m : mem) : Prop :=
  HEADER_SIZE <= pd_lower m <= pd_upper m /\ pd_upper m <= pd_special m <= BLCKSZ /\
  maxalign (pd_special m) = pd_special m.

Definition item_ok (m : mem) (it : item) : Prop :=
  pd_upper m <= off it < pd_special m /\ maxalign (off it) = off it /\ stop it <= pd_special m.

(** The contract: exactly what the kernels check. *)
Definition valid_page (m : mem) : Prop :=
  header_ok m /\
  Forall (item_ok m) (items m) /\
  Z.of_nat (length (items m)) <= MAX_HEAP_TUPLES_PER_PAGE /\
  total (items m) <= pd_special m - pd_lower m /\
  (presorted (pd_special m) (items m) = true -> chain (items m) (pd_special m)).

(** ** The check: a refusal is an error code and the number of the line pointer, 0 for none *)
Record refusal := Refusal { code : Z; index : Z }.
Definition HEADER : Z := 3.
Definition LP_OFF : Z := 4.
Definition LP_ALIGN : Z := 5.
Definition LP_END : Z := 6.
Definition TOO_MANY : Z := 7.
Definition TOTAL : Z := 8.
Definition OVERLAP : Z := 9.

Definition check_header (m : mem) : bool :=
  (HEADER_SIZE <=? pd_lower m) && (pd_lower m <=? pd_upper m) && (pd_upper m <=? pd_special m) &&
  (pd_special m <=? BLCKSZ) && (maxalign (pd_special m) =? pd_special m).

Fixpoint check_items (upper special : Z) (its : list item) (seen : Z) : option refusal :=
  match its with
  | [] => None
  | it :: r =>
      if negb ((upper <=? off it) && (off it <? special)) then Some (Refusal LP_OFF (number it))
      else if negb (maxalign (off it) =? off it) then Some (Refusal LP_ALIGN (number it))
      else if special <? stop it then Some (Refusal LP_END (number it))
      else if seen =? MAX_HEAP_TUPLES_PER_PAGE then Some (Refusal TOO_MANY (number it))
      else check_items upper special r (seen + 1)
  end.

(** The first item that ends above [top], resp. above the start of the one before it. *)
Fixpoint find_overlap (its : list item) (top : Z) : option refusal :=
  match its with
  | [] => None
  | it :: r => if top <? stop it then Some (Refusal OVERLAP (number it)) else find_overlap r (off it)
  end.

Definition check (m : mem) : option refusal :=
  if negb (check_header m) then Some (Refusal HEADER 0)
  else match check_items (pd_upper m) (pd_special m) (items m) 0 with
       | Some r => Some r
       | None =>
           if pd_special m - pd_lower m <? total (items m) then Some (Refusal TOTAL 0)
           else if presorted (pd_special m) (items m) then find_overlap (items m) (pd_special m)
           else None
       end.
