(* SPDX-License-Identifier: PostgreSQL *)
(** * Mounts that stop at any operation: csrc/tiercache/mount.c, store.c and ssd.c in their order *)
From Pgquern.common Require Import Naturals.
From Pgquern.tiercache Require Import Tiers FlatFile.

(** Where a mount stops, because it is refused or because a crash ends it.  A superblock or a slot that cannot be read, and an SSD that
    cannot be written, stop no mount: Tiers.v has them as choices of the mount. *)
Inductive stop :=
| BeforeTheStore                   (* the control file or the trailers cannot be read *)
| AmongTheBlocks (ps : list nat)   (* these pages were written again; then a block cannot be read or written *)
| AtTheStoreSync (forgets : bool)  (* it fails *)
| AmongTheSlots                    (* the store is synced, the slots are being read *)
| AtTheSuperblock                  (* it is written, or was to be; it is not synced *)
| AfterTheSsd                      (* the SSD is synced *)
| AtTheControl (lands : bool).     (* it is written, or was to be; it is not synced *)

Definition with_ssd_of (s t : state) : state := with_ssd s t.
Definition mount_until (s : state) (m : mount) (x : stop) : state :=
  let drawn := with_seen s [mark_of s m; other_mark_of s m] in
  let t := sync_store (written_again drawn (again m)) true (store_forgets m) in
  let uses := reads_super m && super_works m in
  match x with
  | BeforeTheStore => drawn
  | AmongTheBlocks ps => written_again drawn ps
  | AtTheStoreSync forgets => sync_store (written_again drawn (again m)) false forgets
  | AmongTheSlots => t
  | AtTheSuperblock => with_ssd_of t (mount_ssd t m false)
  | AfterTheSsd => if reads_super m then with_ssd_of t (mount_ssd t m true) else t
  | AtTheControl lands =>
      let told := Some (told_by s m uses) in
      with_control (with_ssd_of t (mount_ssd t m uses)) (Control (if lands then told else control s) (told :: control_may s))
  end.

(** Such a mount need not write again what was forgotten. *)
Definition assumed_stop (s : state) (m : mount) : bool :=
  is_fresh s (mark_of s m) && is_fresh s (other_mark_of s m) && negb (same_mark (mark_of s m) (other_mark_of s m)).
