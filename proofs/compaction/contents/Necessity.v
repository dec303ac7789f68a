(* SPDX-License-Identifier: PostgreSQL *)
(** * Every check is needed: drop one, and here is the page whose contents are lost

    Each example is a concrete page of 8192 bytes, computed. *)
From Pgquern.common Require Import Integers.
From Pgquern.compaction Require Import Page Memory Algorithms Spec Examples.

Definition the_item (m : mem) (n : Z) : item := Item n (lp_word m n).
Definition after (p : list op) (m : mem) (garbage : Z) : mem := page (exec p (State m (fun _ => garbage))).

(** In the page [r], byte [k] of the tuple of line pointer [n] isn't what it was in [m]. *)
Definition lost (m r : mem) (n k : Z) : Prop :=
  0 <= k < len (the_item m n) /\ r (lp_off (lp_word r n) + k) <> m (off (the_item m n) + k).

Ltac computed := vm_compute; repeat split; discriminate || reflexivity.

(** Strictly falling offsets, every item ending below pd_special, total small enough: all that PostgreSQL 14 checks.  But the
    two tuples overlap, and moving the first one destroys the end of the second. *)
Definition overlapping : mem := page_with 7992 8192 [normal 8000 64; normal 7992 144].

(** What PostgreSQL 13 does: it moves the sorted tuples in place, one by one. *)
Definition upstream_13 (m : mem) : list op := singles Move (sort (items m)) (pd_special m).

(** Without the check that presorted tuples are disjoint, the in-place moves lose contents. PostgreSQL 13's lose the same
    bytes as 14's: from the new pd_upper on the results are equal. *)
Theorem disjointness_is_needed :
  presorted (pd_special overlapping) (items overlapping) = true /\
  check overlapping = Some (Refusal OVERLAP 2) /\
  lost overlapping (after (pg14_presorted overlapping) overlapping 0) 2 136 /\
  forallb (fun a => after (upstream_13 overlapping) overlapping 0 a =? after (pg14_presorted overlapping) overlapping 0 a)
    (map (fun k => new_upper overlapping + Z.of_nat k) (seq 0 208)) = true.
Proof. computed. Qed.

(** Two tuples that don't overlap, the first one below the second. *)
Definition unsorted : mem := page_with 8000 8192 [normal 8000 64; normal 8064 128].

(** On a page that isn't presorted the in-place moves lose contents. *)
Theorem presortedness_is_needed :
  check unsorted = None /\ presorted (pd_special unsorted) (items unsorted) = false /\
  chain (rev (items unsorted)) (pd_special unsorted) /\
  lost unsorted (after (pg14_presorted unsorted) unsorted 0) 2 64.
Proof. computed. Qed.

(** The first tuple reaches 56 bytes into the special space. *)
Definition past_special : mem := page_with 7912 8000 [normal 7992 64; normal 7912 64].

(** Without the check that each item ends at or below pd_special, the in-place moves lose contents, though the page is presorted
    and its tuples are disjoint. *)
Theorem ends_are_needed :
  presorted (pd_special past_special) (items past_special) = true /\
  chain (items past_special) 8056 /\
  check past_special = Some (Refusal LP_END 1) /\
  lost past_special (after (pg14_presorted past_special) past_special 0) 2 24.
Proof. computed. Qed.

(** Overlap on a page that isn't presorted. *)
Definition unsorted_overlap : mem := page_with 7900 8192 [normal 8064 128; normal 7904 64; normal 7936 144].

(** A page with overlapping tuples that is not presorted is accepted, and by contents_preserved no algorithm loses
    contents on it. *)
Theorem unsorted_overlap_is_harmless :
  check unsorted_overlap = None /\ ~ chain (sort (items unsorted_overlap)) (pd_special unsorted_overlap).
Proof. split; [reflexivity|]. vm_compute. intros (_ & H & _). now apply H. Qed.

(** PostgreSQL 13's moves in place, without a check for overlap after sorting, lose contents on that page. *)
Theorem overlap_check_of_pg13_is_needed :
  lost unsorted_overlap (after (upstream_13 unsorted_overlap) unsorted_overlap 0) 2 32.
Proof. computed. Qed.

(** PostgreSQL 14's dense way as it stands upstream: of the tuple area only what lies below the tuples in place is saved. *)
Definition upstream_dense (m : mem) : list op :=
  let (rest, upper) := start false m in save_area m upper :: runs Restore rest upper.

(** On a page whose tuples overlap, upstream copies bytes of the scratch area that were never written. They get into the
    result, and contents are lost. *)
Theorem upstream_reads_unwritten_scratch :
  after (upstream_dense unsorted_overlap) unsorted_overlap 0 7990 <> after (upstream_dense unsorted_overlap) unsorted_overlap 1 7990 /\
  lost unsorted_overlap (after (upstream_dense unsorted_overlap) unsorted_overlap 0) 3 140.
Proof. computed. Qed.

(** ** Stores of one width with slack: a way that no kernel takes

    [window] bytes for each tuple from scratch, last item first.  What a store writes above its tuple is overwritten by the
    next store.  Where it would reach above [limit], which holds bytes that stay, the tuple is stored exactly.  The list is
    built from its end.  The three theorems say what whoever tries this way must heed. *)
Fixpoint slack_stores (window limit : Z) (its : list item) (upper : Z) (after : list op) : list op :=
  match its with
  | [] => after
  | it :: r =>
      let to := upper - len it in
      let n := if to + window <=? limit then window else len it in
      slack_stores window limit r to (Restore to (off it) n :: after)
  end.

(** Whole chunks of 64 bytes that hold the longest tuple. *)
Definition chunks (its : list item) : Z := (longest its + 63) / 64 * 64.

Definition fast (m : mem) : list op :=
  let (rest, upper) := start false m in
  save_area m (save_top m rest upper) :: slack_stores (chunks rest) upper rest upper [].

(* Three small tuples. *)
Definition small : mem := page_with 8000 8192 [normal 8128 24; normal 8040 40; normal 8000 16].

(** Fixed-size stores in forward order, first item first: the extra bytes of each store overwrite the tuple before, and
    contents are lost. *)
Theorem reverse_order_is_needed :
  check small = None /\
  (let r := after (save_area small 8192 :: rev (slack_stores 64 8192 (items small) 8192 [])) small 0 in
   r 8191 <> small (off (the_item small 1) + 23)).
Proof. computed. Qed.

Definition small_special : mem := page_with 7000 8128 [normal 7500 24; normal 7040 40].

(** Fixed-size stores that aren't exact at the limit overwrite the special space. *)
Theorem exactness_at_the_limit_is_needed :
  after (save_area small_special 8128 :: slack_stores 64 8192 (items small_special) 8128 []) small_special 0 8130
  <> small_special 8130.
Proof. computed. Qed.

(** The operation reads scratch beyond 8192 bytes. *)
Definition reads_past_scratch (o : op) : bool := match o with Restore _ from n => BLCKSZ <? from + n | _ => false end.
Definition at_the_end : mem :=
  page_with 8000 8192 [normal 8000 16; normal 8016 16; normal 8032 16; normal 8048 16; normal 8176 16].

(** Loads of the fixed size pass the end of a scratch area of 8192 bytes: it needs padding. *)
Theorem padding_is_needed : check at_the_end = None /\ existsb reads_past_scratch (fast at_the_end) = true.
Proof. computed. Qed.

(** Windows that end with the tuple, last item first: the extra bytes below each tuple overwrite the next item. *)
Theorem forward_order_of_windows_is_needed :
  (let w := rev (windows (Some 64) (items small) 8192) in
   let r := after (w ++ [Restore (new_upper small) (new_upper small) (8192 - new_upper small)]) small 0 in
   r (8192 - 24 - 40) <> small (off (the_item small 2))).
Proof. computed. Qed.

(* Four presorted tuples with a gap above each, in two lines. *)
Definition gaps : mem := page_with 8064 8192 [normal 8160 24; normal 8128 16; normal 8096 24; normal 8064 16].

(** Squeezing without restoring the hole: the last stores change bytes below the new pd_upper. *)
Theorem putting_back_is_needed :
  check gaps = None /\ after (removelast (squeeze gaps)) gaps 0 (new_upper gaps - 1) <> gaps (new_upper gaps - 1).
Proof. computed. Qed.

(** Squeezing a page that is not presorted loses contents, since units keep their physical order. *)
Theorem presortedness_is_needed_to_squeeze :
  let squeezed := squeeze_lines (live (items unsorted) 8192) 4 8192 8192 in
  (after squeezed unsorted 0) (new_upper unsorted + 128) <> unsorted (off (the_item unsorted 1)).
Proof. computed. Qed.

(* Two tuples of one length, each in the other's slot. *)
Definition swapped : mem := page_with 7664 8192 [normal 7664 264; normal 7928 264].

(** Moving from slot to slot without setting one tuple of each cycle aside loses the contents of that tuple. *)
Theorem putting_aside_is_needed :
  check swapped = None /\ slots_fit swapped = true /\
  let moves := filter (fun o => match o with Move _ _ _ => true | _ => false end) (by_slots swapped) in
  (after moves swapped 0) 7664 <> swapped (off (the_item swapped 2)).
Proof. computed. Qed.

(** If each window is read directly before it is written, the extra bytes below a tuple overwrite the next tuple before
    it is read. *)
Theorem reading_ahead_is_needed :
  let slid := flat_map (fun i => reads 64 (items gaps) 8192 i 1 ++ writes 64 (items gaps) 8192 i 1) (seq 0 5) in
  (after slid gaps 0) (8192 - 24 - 16) <> gaps (off (the_item gaps 2)).
Proof. computed. Qed.
