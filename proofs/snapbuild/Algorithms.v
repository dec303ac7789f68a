(* SPDX-License-Identifier: PostgreSQL *)
(** * The snapshot builder's kernels, statement by statement

    Each is the loop that the C kernel runs, on a memory of its own; an array begins at address 0.  What they compute is
    said in Spec.v, and that they do in the other files. *)
From Coq Require Import ZArith List.
From stdpp Require Import base option.
From Pgquern.common Require Import Xid.
From Pgquern.snapbuild Require Import Memory.
Local Open Scope Z_scope.

(** ** purge: survivors slide down in one array

    for (r = w = 0; r < n; r++) if (!precedes(a[r], xmin)) a[w++] = a[r]; *)
Definition slide_test (n : Z) (s : Z * Z * memory) : option bool :=
  let '(r, w, a) := s in Some (r <? n).

Definition slide_body (xmin : Z) (s : Z * Z * memory) : option (Z * Z * memory) :=
  let '(r, w, a) := s in
  x ← load a r;
  if precedes x xmin then Some (r + 1, w, a) else a ← store a w x; Some (r + 1, w + 1, a).

Definition purge_inplace (n xmin : Z) (a : memory) : option (Z * memory) :=
  '(_, w, a) ← while (Z.to_nat n) (slide_test n) (slide_body xmin) (0, 0, a);
  Some (w, a).

(** ... and without a branch: each element is written, and the next one may overwrite it.

    for (r = w = 0; r < n; r++) { x = a[r]; a[w] = x; w += !precedes(x, xmin); } *)
Definition branchless_body (xmin : Z) (s : Z * Z * memory) : option (Z * Z * memory) :=
  let '(r, w, a) := s in
  x ← load a r;
  a ← store a w x;
  Some (r + 1, if precedes x xmin then w else w + 1, a).

Definition purge_branchless (n xmin : Z) (a : memory) : option (Z * memory) :=
  '(_, w, a) ← while (Z.to_nat n) (slide_test n) (branchless_body xmin) (0, 0, a);
  Some (w, a).

(** ** Binary search: the first index in [lo, hi) whose element is not under the one sought, else hi

    while (lo < hi) { mid = lo + (hi - lo) / 2; if (under(a[mid])) lo = mid + 1; else hi = mid; } *)
Definition bisect_test (s : Z * Z) : option bool := let '(lo, hi) := s in Some (lo <? hi).

Definition bisect_body (under : Z -> bool) (a : memory) (s : Z * Z) : option (Z * Z) :=
  let '(lo, hi) := s in
  let mid := lo + (hi - lo) / 2 in
  v ← load a mid;
  Some (if under v then (mid + 1, hi) else (lo, mid)).

Definition bisect (under : Z -> bool) (a : memory) (lo hi : Z) : option Z :=
  '(lo, _) ← while (Z.to_nat (halvings (hi - lo))) bisect_test (bisect_body under a) (lo, hi);
  Some lo.

(** ... and for raw order in [base, base + n) without a branch on the data, as the kernels on sorted arrays do it: of
    seven probes that cut the array into eight, how many are under x?

    for (below = 0, k = 1; k <= n; k++) below += a[base + k * step - 1] < x; *)
Fixpoint count_below (a : memory) (x base step : Z) (n : nat) : option Z :=
  match n with
  | O => Some 0
  | S k =>
      below ← count_below a x base step k;
      v ← load a (base + Z.of_nat n * step - 1);
      Some (if v <? x then below + 1 else below)
  end.

(** while (n >= 16) { step = n / 8; base += count_below(base, step, 7) * step; n -= 7 * step; }
    base += count_below(base, 1, n); *)
Definition eighth_test (s : Z * Z) : option bool := let '(base, n) := s in Some (16 <=? n).

Definition eighth_body (a : memory) (x : Z) (s : Z * Z) : option (Z * Z) :=
  let '(base, n) := s in
  let step := n / 8 in
  below ← count_below a x base step 7;
  Some (base + below * step, n - 7 * step).

Definition lower_bound (a : memory) (x base n : Z) : option Z :=
  '(base, n) ← while (Z.to_nat (halvings n)) eighth_test (eighth_body a x) (base, n);
  below ← count_below a x base 1 (Z.to_nat n);
  Some (base + below).

(** ** Galloping: the same in [0, n), trying 1, 2, 4, ... steps down from the end first

    while (step <= n && a[n - step] >= x) { n -= step; step *= 2; } *)
Definition gallop_test (a : memory) (x : Z) (s : Z * Z) : option bool :=
  let '(n, step) := s in
  if step <=? n then v ← load a (n - step); Some (x <=? v) else Some false.

Definition gallop_body (s : Z * Z) : option (Z * Z) := let '(n, step) := s in Some (n - step, 2 * step).

Definition gallop (a : memory) (x n : Z) : option Z :=
  '(n, step) ← while (Z.to_nat (halvings n)) (gallop_test a x) gallop_body (n, 1);
  if step <=? n then lower_bound a x (n - step + 1) (step - 1) else lower_bound a x 0 n.

(** ** purge_sorted: two searches find the borders of the arc, one memmove closes the gap

    If the arc [xmin, past) doesn't cross 0 it is what stays, else [past, xmin) is what goes.  Either search is spared
    where one look tells its answer. *)
Definition purge_sorted (n xmin : Z) (a : memory) : option (Z * memory) :=
  let past := (xmin + HALF) mod RING in
  if n =? 0 then Some (0, a)
  else if xmin <=? past then
    lowest ← load a 0;
    first ← (if xmin <=? lowest then Some 0 else lower_bound a xmin 0 n);
    highest ← load a (n - 1);
    last ← (if highest <? past then Some n else lower_bound a past 0 n);
    a ← (if 0 <? first then memmove a 0 first (last - first) else Some a);
    Some (last - first, a)
  else
    first ← lower_bound a past 0 n;
    none ← (if first =? n then Some true else v ← load a first; Some (xmin <=? v));
    if (none : bool) then Some (n, a)
    else
      last ← lower_bound a xmin 0 n;
      a ← memmove a first last (n - last);
      Some (n - (last - first), a).

(** ... and the trap: one search, right only while neither the arc nor the array crosses 0. *)
Definition purge_one_search (n xmin : Z) (a : memory) : option (Z * memory) :=
  first ← lower_bound a xmin 0 n;
  a ← memmove a 0 first (n - first);
  Some (n - first, a).

(** ** purge_full: on FullTransactionIds that one search is right *)
Definition purge_full : Z -> Z -> memory -> option (Z * memory) := purge_one_search.

(** ... and with a moving head nothing is moved at all: n elements from [head] on count. *)
Definition purge_full_lazy_head (head n xmin : Z) (a : memory) : option (Z * Z) :=
  first ← lower_bound a xmin head n;
  let n := n - (first - head) in
  Some (if n =? 0 then 0 else first, n).

(** ** snapshot_full: FullTransactionIds cut down to XIDs, those of the younger epoch first *)
Definition snapshot_full (n : Z) (a : memory) : option (list Z) :=
  if n =? 0 then Some []
  else
    last ← load a (n - 1);
    wrap ← lower_bound a (epoch_of last * RING) 0 n;
    young ← read a wrap (Z.to_nat (n - wrap));
    old ← read a 0 (Z.to_nat wrap);
    Some (map xid_of young ++ map xid_of old).

(** ** insert, first step: sort the commit's XIDs b[0, m), in any order, and drop duplicates

    Each XID is inserted into the sorted run b[0, n) before it; most are its new maximum. *)
Definition sort_test (m : Z) (s : Z * Z * memory) : option bool :=
  let '(i, n, b) := s in Some (i <? m).

Definition sort_body (s : Z * Z * memory) : option (Z * Z * memory) :=
  let '(i, n, b) := s in
  x ← load b i;
  highest ← load b (n - 1);
  if highest <? x then b ← store b n x; Some (i + 1, n + 1, b)
  else
    at_ ← lower_bound b x 0 n;
    v ← load b at_;
    if v =? x then Some (i + 1, n, b)
    else
      b ← memmove b (at_ + 1) at_ (n - at_);
      b ← store b at_ x;
      Some (i + 1, n + 1, b).

Definition sort_batch (m : Z) (b : memory) : option (Z * memory) :=
  if m =? 0 then Some (0, b)
  else '(_, n, b) ← while (Z.to_nat m) (sort_test m) sort_body (1, 1, b); Some (n, b).

(** ** insert, second step: merge the sorted batch b[0, m) into the sorted a[0, n), in place, from the back

    a[0, top) and b[0, j) are still to be merged.  Each XID of the batch gallops to its place, and the run above it
    moves up at once, as far as it must to leave space for the j others.  If the XID was in the array already, that
    leaves a hole; holes are noted in the part of the batch that has been used up, the lowest last.

    for (j = m; j-- > 0; top = at) {
      at = gallop(a, top, x = b[j]); there = at < top && a[at] == x;
      memmove(a + at + j + 1, a + at, top - at);
      if (there) b[m - ++holes] = at + j; else a[at + j] = x; } *)
Definition merge_test (s : Z * Z * Z * memory * memory) : option bool :=
  let '(top, j, holes, b, a) := s in Some (0 <? j).

Definition merge_body (m : Z) (s : Z * Z * Z * memory * memory) : option (Z * Z * Z * memory * memory) :=
  let '(top, j, holes, b, a) := s in
  let j := j - 1 in
  x ← load b j;
  at_ ← gallop a x top;
  there ← (if at_ <? top then v ← load a at_; Some (v =? x) else Some false);
  a ← memmove a (at_ + j + 1) at_ (top - at_);
  if (there : bool)
  then b ← store b (m - (holes + 1)) (at_ + j); Some (at_, j, holes + 1, b, a)
  else a ← store a (at_ + j) x; Some (at_, j, holes, b, a).

(** Then the runs between the holes slide down, the lowest first.

    to = b[m - holes];
    for (k = holes; k > 0; k--) {
      from = b[m - k] + 1; end = k > 1 ? b[m - k + 1] : n + m;
      memmove(a + to, a + from, end - from); to += end - from; } *)
Definition close_test (s : Z * Z * memory) : option bool := let '(k, to, a) := s in Some (0 <? k).

Definition close_body (n m : Z) (b : memory) (s : Z * Z * memory) : option (Z * Z * memory) :=
  let '(k, to, a) := s in
  hole ← load b (m - k);
  end_ ← (if 1 <? k then load b (m - k + 1) else Some (n + m));
  a ← memmove a to (hole + 1) (end_ - (hole + 1));
  Some (k - 1, to + (end_ - (hole + 1)), a).

Definition merge_batch (n m : Z) (b a : memory) : option (Z * memory) :=
  '(_, _, holes, b, a) ← while (Z.to_nat m) merge_test (merge_body m) (n, m, 0, b, a);
  if holes =? 0 then Some (n + m, a)
  else
    lowest ← load b (m - holes);
    '(_, to, a) ← while (Z.to_nat holes) close_test (close_body n m b) (holes, lowest, a);
    Some (to, a).

Definition insert (n m : Z) (b a : memory) : option (Z * memory) :=
  '(m, b) ← sort_batch m b;
  merge_batch n m b a.

(** ** KnownAssignedXidsCompress: the live entries of [tail, head) slide down to 0

    for (w = 0, r = tail; r < head; r++) if (valid[r]) { xids[w] = xids[r]; valid[w] = true; w++; } *)
Definition compress_test (head : Z) (s : Z * Z * memory * memory) : option bool :=
  let '(r, w, xids, valid) := s in Some (r <? head).

Definition compress_body (s : Z * Z * memory * memory) : option (Z * Z * memory * memory) :=
  let '(r, w, xids, valid) := s in
  v ← load valid r;
  if v =? 0 then Some (r + 1, w, xids, valid)
  else
    x ← load xids r;
    xids ← store xids w x;
    valid ← store valid w 1;
    Some (r + 1, w + 1, xids, valid).

Definition compress (tail head : Z) (xids valid : memory) : option (Z * memory * memory) :=
  '(_, w, xids, valid) ← while (Z.to_nat (head - tail)) (compress_test head) compress_body (tail, 0, xids, valid);
  Some (w, xids, valid).

(** ** KnownAssignedXids' search, by the order of XIDs on the ring: where xid stands in [tail, head), else head *)
Definition find (tail head xid : Z) (xids : memory) : option Z :=
  first ← bisect (fun v => precedes v xid) xids tail head;
  if first <? head then v ← load xids first; Some (if v =? xid then first else head)
  else Some head.
