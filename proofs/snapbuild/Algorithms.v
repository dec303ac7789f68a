(* SPDX-License-Identifier: PostgreSQL *)
(** * The snapshot builder's kernels, statement by statement

    Each is the loop that the C kernel runs, on a memory of its own; an array begins at address 0.  What they compute is
    said in Spec.v, and that they do in the other files. *)
From Coq Require Import ZArith List.
From stdpp Require Import base option.
From Pgquern.common Require Import Xid.
From Pgquern.snapbuild Require Import Memory.
Local Open Scope Z_scope.

(** A kernel's local array of [CHUNK] cells, which have no value until they are written. *)
Definition CHUNK : Z := 64.
Definition put (m : memory) (i x : Z) : option memory :=
  if (0 <=? i) && (i <? CHUNK) then Some (<[i := x]> m) else None.

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

(** The same without a branch: each element is written, and the next one may overwrite it.

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

(** The same for raw order in [base, base + n) without a branch on the data, as the kernels on sorted arrays do it: of
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

(** The same with a guess: probes on both sides of the guess, at 16, 128, 1024, ..., leave less to search.
    Indices count from base.

    for (low = 0, high = n, d = 16; d < n; d *= 8) {
      i = d < guess ? guess - d : 0; j = guess + d < n ? guess + d : n - 1;
      low = max(low, a[base + i] < x ? i + 1 : 0); high = min(high, a[base + j] < x ? n : j); }
    lower_bound(base + low, high - low); *)
Definition near_test (n : Z) (s : Z * Z * Z) : option bool := let '(d, low, high) := s in Some (d <? n).

Definition near_body (a : memory) (x base n guess : Z) (s : Z * Z * Z) : option (Z * Z * Z) :=
  let '(d, low, high) := s in
  let i := if d <? guess then guess - d else 0 in
  let j := if guess + d <? n then guess + d else n - 1 in
  u ← load a (base + i);
  v ← load a (base + j);
  Some (8 * d, Z.max low (if u <? x then i + 1 else 0), Z.min high (if v <? x then n else j)).

Definition lower_bound_near (a : memory) (x base n guess : Z) : option Z :=
  '(_, low, high) ← while (Z.to_nat (halvings n)) (near_test n) (near_body a x base n guess) (16, 0, n);
  lower_bound a x (base + low) (high - low).

(** ** Galloping: the same in [0, n), trying 1, 2, 4, ... steps down from the end first

    while (step <= n && a[n - step] >= x) { n -= step; step *= 2; } *)
Definition gallop_test (a : memory) (x : Z) (s : Z * Z) : option bool :=
  let '(n, step) := s in
  if step <=? n then v ← load a (n - step); Some (x <=? v) else Some false.

Definition gallop_body (s : Z * Z) : option (Z * Z) := let '(n, step) := s in Some (n - step, 2 * step).

Definition gallop (a : memory) (x n : Z) : option Z :=
  '(n, step) ← while (Z.to_nat (halvings n)) (gallop_test a x) gallop_body (n, 1);
  if step <=? n then lower_bound a x (n - step + 1) (step - 1) else lower_bound a x 0 n.

(** The same for m XIDs of the sorted b[low, low + m) at once: none lies below the first, which is galloped for.  If
    that is the end, it is for all; else the others halve what is above it, eight of them side by side, without a branch on
    the data.

    from = at[0] = gallop(a, n, b[low]);
    for (i = 1; i < m; i++) {
      if (from == n) { at[i] = n; continue; }
      for (p = from, w = n - from; w > 1; w -= half) { half = w / 2; p += a[p + half - 1] < b[low + i] ? half : 0; }
      at[i] = p + (p < n && a[p] < b[low + i]); } *)
Definition halve_test (s : Z * Z) : option bool := let '(p, w) := s in Some (1 <? w).

Definition halve_body (a : memory) (x : Z) (s : Z * Z) : option (Z * Z) :=
  let '(p, w) := s in
  let half := w / 2 in
  v ← load a (p + half - 1);
  Some (if v <? x then p + half else p, w - half).

Definition halve (a : memory) (x from n : Z) : option Z :=
  '(p, _) ← while (Z.to_nat (n - from)) halve_test (halve_body a x) (from, n - from);
  if p <? n then v ← load a p; Some (if v <? x then p + 1 else p) else Some p.

Definition search_test (m : Z) (s : Z * memory) : option bool := let '(i, at_) := s in Some (i <? m).

Definition search_body (a b : memory) (low from n : Z) (s : Z * memory) : option (Z * memory) :=
  let '(i, at_) := s in
  x ← load b (low + i);
  p ← (if from =? n then Some n else halve a x from n);
  at_ ← put at_ i p;
  Some (i + 1, at_).

Definition search_chunk (a b : memory) (low n m : Z) : option memory :=
  x ← load b low;
  from ← gallop a x n;
  at_ ← put ∅ 0 from;
  '(_, at_) ← while (Z.to_nat m) (search_test m) (search_body a b low from n) (1, at_);
  Some at_.

(** ** purge_sorted: two searches find the borders of the arc, one memmove closes the gap

    If the arc [xmin, past) doesn't cross 0 it is what stays, else [past, xmin) is what goes.  Either search is spared
    where one look tells its answer.

    Where [past, xmin) begins in a long array: after one rank of eighths, near where the border would be if nothing went
    and the XIDs above it lay as densely as in the next eighth.  XIDs are subtracted as C does, on the ring. *)
Definition LONG : Z := 2 ^ 16.

Definition gap_start (n past xmin : Z) (a : memory) : option Z :=
  if n <? LONG then lower_bound a past 0 n
  else
    let step := n / 8 in
    below ← count_below a past 0 step 7;
    let from := below * step in
    if below =? 7 then lower_bound a past from (n - from)
    else
      known ← load a (from + step - 1);
      next ← load a (from + 2 * step - 1);
      let back := (if known <? xmin then 0 else known - xmin) * step / ((next - known) mod RING + 1) in
      lower_bound_near a past from step (if back <? step then step - 1 - back else 0).

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
    first ← gap_start n past xmin a;
    none ← (if first =? n then Some true else v ← load a first; Some (xmin <=? v));
    if (none : bool) then Some (n, a)
    else
      last ← lower_bound a xmin 0 n;
      let last := if last <? first then first else last in
      a ← memmove a first last (n - last);
      Some (n - (last - first), a).

(** A trap: one search is right only while neither the arc nor the array crosses 0. *)
Definition purge_one_search (n xmin : Z) (a : memory) : option (Z * memory) :=
  first ← lower_bound a xmin 0 n;
  a ← memmove a 0 first (n - first);
  Some (n - first, a).

(** ** purge_full: on FullTransactionIds that one search is right *)
Definition purge_full : Z -> Z -> memory -> option (Z * memory) := purge_one_search.

(** With a moving head nothing is moved at all: n elements from [head] on count. *)
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

(** ** insert: merge a sorted batch b[0, m) into the sorted a[0, n), in place, from the back

    a[0, top) and b[0, j) are still to be merged.  A chunk of the batch at a time, b[low, j), is searched for; the run
    above each of its XIDs moves up at once, as far as it must to leave space for the j others.  If the XID was in the
    array already, that leaves a hole; holes are noted in the part of the batch that has been used up, the lowest last.

    for (j = low = m; j-- > 0; top = here) {
      if (j < low) { low = j < CHUNK ? 0 : j - CHUNK + 1; at = search_chunk(a, top, b + low, j - low + 1); }
      x = b[j]; here = at[j - low] < top ? at[j - low] : top; there = here < top && a[here] == x;
      memmove(a + here + j + 1, a + here, top - here);
      if (there) b[m - ++holes] = here + j; else a[here + j] = x; } *)
Definition merging : Type := Z * Z * Z * memory * Z * memory * memory.

Definition merge_test (s : merging) : option bool := let '(top, j, low, at_, holes, b, a) := s in Some (0 <? j).

Definition merge_body (m : Z) (s : merging) : option merging :=
  let '(top, j, low, at_, holes, b, a) := s in
  let j := j - 1 in
  '(low, at_) ← (
    if j <? low
    then
      let low := if j <? CHUNK then 0 else j - CHUNK + 1 in
      at_ ← search_chunk a b low top (j - low + 1);
      Some (low, at_)
    else Some (low, at_));
  x ← load b j;
  here ← load at_ (j - low);
  let here := if here <? top then here else top in
  there ← (if here <? top then v ← load a here; Some (v =? x) else Some false);
  a ← memmove a (here + j + 1) here (top - here);
  if (there : bool)
  then b ← store b (m - (holes + 1)) (here + j); Some (here, j, low, at_, holes + 1, b, a)
  else a ← store a (here + j) x; Some (here, j, low, at_, holes, b, a).

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
  '(_, _, _, _, holes, b, a) ← while (Z.to_nat m) merge_test (merge_body m) (n, m, m, ∅, 0, b, a);
  if holes =? 0 then Some (n + m, a)
  else
    lowest ← load b (m - holes);
    '(_, to, a) ← while (Z.to_nat holes) close_test (close_body n m b) (holes, lowest, a);
    Some (to, a).

(** ** Before that: sort the commit's XIDs b[0, m), in any order, and drop duplicates

    A chunk of m XIDs, no more than [CHUNK]: the place of each is the number of those below it.  Of equal ones, all but
    one leave a zero behind, which is no XID; zeroes are dropped.

    memcpy(key, b, m); memset(b, 0, m);
    for (i = 0; i < m; i++) b[count_below(key, 1, m, key[i])] = key[i];
    for (i = n = 0; i < m; i++) { x = b[i]; b[n] = x; n += x != 0; } *)
Definition rank_test (m : Z) (s : Z * memory) : option bool := let '(i, b) := s in Some (i <? m).

Definition rank_body (m : Z) (key : memory) (s : Z * memory) : option (Z * memory) :=
  let '(i, b) := s in
  x ← load key i;
  rank ← count_below key x 0 1 (Z.to_nat m);
  b ← store b rank x;
  Some (i + 1, b).

Definition squeeze_test (m : Z) (s : Z * Z * memory) : option bool := let '(i, n, b) := s in Some (i <? m).

Definition squeeze_body (s : Z * Z * memory) : option (Z * Z * memory) :=
  let '(i, n, b) := s in
  x ← load b i;
  b ← store b n x;
  Some (i + 1, if x =? 0 then n else n + 1, b).

Definition sort_chunk (m : Z) (b : memory) : option (Z * memory) :=
  l ← read b 0 (Z.to_nat m);
  b ← write b 0 (map (fun _ => 0) l);
  '(_, b) ← while (Z.to_nat m) (rank_test m) (rank_body m (allocate ∅ 0 l)) (0, b);
  '(_, n, b) ← while (Z.to_nat m) (squeeze_test m) squeeze_body (0, 0, b);
  Some (n, b).

(** A batch that rises, or that does but for its last XID, is nearly sorted already.  Another one is sorted by chunks,
    each merged into those before it.

    for (n = m > 0; n < m && b[n - 1] < b[n]; n++) ; *)
Definition rising_test (m : Z) (b : memory) (n : Z) : option bool :=
  if n <? m then u ← load b (n - 1); v ← load b n; Some (u <? v) else Some false.

Definition rising_body (n : Z) : option Z := Some (n + 1).

(** n = sort_chunk(b, min(m, CHUNK));
    for (i = CHUNK; i < m; i += CHUNK) {
      c = min(m - i, CHUNK); memcpy(next, b + i, c); n = merge_batch(b, n, next, sort_chunk(next, c)); } *)
Definition chunks_test (m : Z) (s : Z * Z * memory) : option bool := let '(i, n, b) := s in Some (i <? m).

Definition chunks_body (m : Z) (s : Z * Z * memory) : option (Z * Z * memory) :=
  let '(i, n, b) := s in
  l ← read b i (Z.to_nat (Z.min (m - i) CHUNK));
  '(k, next) ← sort_chunk (Z.min (m - i) CHUNK) (allocate ∅ 0 l);
  '(n, b) ← merge_batch n k next b;
  Some (i + CHUNK, n, b).

Definition sort_batch (m : Z) (b : memory) : option (Z * memory) :=
  n ← while (Z.to_nat m) (rising_test m b) rising_body (if 0 <? m then 1 else 0);
  if n =? m then Some (n, b)
  else if n + 1 =? m then top ← load b n; merge_batch n 1 (allocate ∅ 0 [top]) b
  else
    '(n, b) ← sort_chunk (Z.min m CHUNK) b;
    '(_, n, b) ← while (Z.to_nat m) (chunks_test m) (chunks_body m) (CHUNK, n, b);
    Some (n, b).

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

(** The same without a branch: each XID is stored, and the next one may overwrite it. The flags are set afterwards.

    for (w = 0, r = tail; r < head; r++) { xids[w] = xids[r]; w += valid[r]; }
    memset(valid, true, w); *)
Definition compress_branchless_body (valid : memory) (s : Z * Z * memory) : option (Z * Z * memory) :=
  let '(r, w, xids) := s in
  x ← load xids r;
  xids ← store xids w x;
  v ← load valid r;
  Some (r + 1, if v =? 0 then w else w + 1, xids).

Definition compress_branchless (tail head : Z) (xids valid : memory) : option (Z * memory * memory) :=
  '(_, w, xids) ← while (Z.to_nat (head - tail)) (slide_test head) (compress_branchless_body valid) (tail, 0, xids);
  valid ← write valid 0 (List.repeat 1 (Z.to_nat w));
  Some (w, xids, valid).

(** ** KnownAssignedXids' search, by the order of XIDs on the ring: where xid stands in [tail, head), else head *)
Definition find (tail head xid : Z) (xids : memory) : option Z :=
  first ← bisect (fun v => precedes v xid) xids tail head;
  if first <? head then v ← load xids first; Some (if v =? xid then first else head)
  else Some head.
