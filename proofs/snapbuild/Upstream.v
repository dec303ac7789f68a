(* SPDX-License-Identifier: PostgreSQL *)
(** * The kernels that copy from one array to another: upstream's purge, upstream's insert, and a snapshot of a sorted array *)
From Coq Require Import ZArith.
From stdpp Require Import base option.
From Pgquern.common Require Import Xid.
From Pgquern.snapbuild Require Import Memory.
Local Open Scope Z_scope.

(** memcpy(to + i, from + j, n), which are two memories *)
Definition memcpy (to : memory) (i : Z) (from : memory) (j n : Z) : option memory :=
  l ← read from j (Z.to_nat n); write to i l.

(** ** purge_upstream.c: the XIDs that stay go to a workspace, and back

    for (off = surviving = 0; off < n; off++) { x = xip[off]; if (!precedes(x, xmin)) workspace[surviving++] = x; }
    memcpy(xip, workspace, surviving);

    Nobody has written to the workspace before; what it holds then does not matter. *)
Definition keep_test (n : Z) (s : Z * Z * memory) : option bool := let '(off, surviving, workspace) := s in Some (off <? n).

Definition keep_body (xmin : Z) (xip : memory) (s : Z * Z * memory) : option (Z * Z * memory) :=
  let '(off, surviving, workspace) := s in
  x ← load xip off;
  if precedes x xmin then Some (off + 1, surviving, workspace)
  else workspace ← store workspace surviving x; Some (off + 1, surviving + 1, workspace).

Definition purge_upstream (n xmin : Z) (workspace xip : memory) : option (Z * memory) :=
  '(_, surviving, workspace) ← while (Z.to_nat n) (keep_test n) (keep_body xmin xip) (0, 0, workspace);
  xip ← memcpy xip 0 workspace 0 surviving;
  Some (surviving, xip).

(** ** insert.c, append: a commit's XIDs go behind the array, if none of them is permanent

    for (i = permanent = 0; i < m; i++) permanent |= batch[i] < 3;
    if (permanent) refuse;
    memcpy(xip + n, batch, m); *)
Definition permanent_test (m : Z) (s : Z * bool) : option bool := let '(i, permanent) := s in Some (i <? m).

Definition permanent_body (batch : memory) (s : Z * bool) : option (Z * bool) :=
  let '(i, permanent) := s in
  x ← load batch i;
  Some (i + 1, orb permanent (x <? 3)).

Definition append (n m : Z) (batch xip : memory) : option (Z * memory) :=
  '(_, permanent) ← while (Z.to_nat m) (permanent_test m) (permanent_body batch) (0, false);
  if (permanent : bool) then Some (n, xip) else xip ← memcpy xip n batch 0 m; Some (n + m, xip).

(** ** insert.c, pgq_snapbuild_insert_sorted_after_consistent before CONSISTENT: the same, but a few XIDs are not copied by a call

    store_few: the first and the last 2 or 4 of them, which may overlap.

    if (m == 1) *to = *from;
    else { memcpy(ends, from, e); memcpy(ends + e, from + m - e, e); memcpy(to, ends, e); memcpy(to + m - e, ends + e, e); } *)
Definition FEW : Z := 8.

Definition store_few (n m : Z) (batch xip : memory) : option memory :=
  if m =? 1 then x ← load batch 0; store xip n x
  else
    let e := if m <? 4 then 2 else 4 in
    first ← read batch 0 (Z.to_nat e);
    last ← read batch (m - e) (Z.to_nat e);
    xip ← write xip n first;
    write xip (n + (m - e)) last.

Definition append_few (n m : Z) (batch xip : memory) : option (Z * memory) :=
  '(_, permanent) ← while (Z.to_nat m) (permanent_test m) (permanent_body batch) (0, false);
  if (permanent : bool) then Some (n, xip)
  else
    xip ← (if (m =? 0) || (FEW <? m) then memcpy xip n batch 0 m else store_few n m batch xip);
    Some (n + m, xip).

(** ** snapshot.c: of an array that is sorted, a snapshot is a copy

    memcpy(snapshot, xip, n); *)
Definition snapshot_sorted (n : Z) (xip snapshot : memory) : option memory := memcpy snapshot 0 xip 0 n.
