(* SPDX-License-Identifier: PostgreSQL *)
(** * Instances of the main theorems, to be computed

    Concrete pages, and for each what a theorem assumes of it and what it concludes, both as a boolean.  Witness.v proves that
    all of them are true, so no theorem holds for want of a page that fulfils its hypotheses.  `make prove-mutants` computes
    them with a definition changed: where a hypothesis is true and its conclusion false, the theorem is false. *)
From Coq Require Import String ZArith List Bool.
From Pgquern.compaction Require Import Page Memory Algorithms Spec Choice Scan.
From Pgquern.compaction Require ScanAvx2.
From Pgquern.compaction Require ScanAvx512 ScanAvx512Few ScanAvx512Moves.
From Pgquern.compaction Require ScanNeon ScanNeonMoves ScanUpstream.
Import ListNotations.
Local Open Scope Z_scope.
Local Open Scope string_scope.
Local Open Scope list_scope.
Local Open Scope Z_scope.

Record instance := Instance { claim : string; hypothesis : bool; conclusion : bool }.
Definition fails (i : instance) : bool := hypothesis i && negb (conclusion i).
Definition holds (i : instance) : bool := hypothesis i && conclusion i.

(** ** Pages *)

(** Line pointers: LP_NORMAL, LP_REDIRECT, LP_DEAD, and one that is unused but not zero. *)
Definition normal (off len : Z) : Z := off + 32768 + 131072 * len.
Definition redirect (to : Z) : Z := to + 65536.
Definition dead : Z := 98304.
Definition garbage : Z := 131072 * 5 + 40.

(** A page with these line pointers; every other byte differs from its neighbours. *)
Definition page_with (upper special : Z) (words : list Z) : mem := fun i =>
  let lower := 24 + 4 * Z.of_nat (length words) in
  if i <? 12 then 0
  else if i <? 14 then byte_of (i - 12) lower
  else if i <? 16 then byte_of (i - 14) upper
  else if i <? 18 then byte_of (i - 16) special
  else if i <? 24 then 0
  else if i <? lower then byte_of ((i - 24) mod 4) (nth (Z.to_nat ((i - 24) / 4)) words 0)
  else i mod 251.

(** Three tuples in place, then some that are not, with redirected, dead and unused line pointers. *)
Definition presorted_page : mem := page_with 7400 8192
  [normal 8160 30; normal 8128 32; normal 8096 32; 0; normal 8048 40; redirect 5; normal 8008 40; normal 7952 56;
   normal 7888 64; dead; normal 7864 23; normal 7808 48; normal 7776 32; normal 7720 56; normal 7688 32; normal 7656 32; garbage; 0].

(** The same out of order. *)
Definition unsorted_page : mem := page_with 7400 8176
  [normal 7888 64; normal 8144 30; normal 7400 32; 0; normal 8048 40; redirect 5; normal 7952 56; normal 8008 40; garbage; dead;
   normal 7864 23; normal 7808 48; normal 7776 32; normal 7688 32; normal 7720 56; normal 7656 32; 0; normal 7624 16].

(** Runs of all lengths, presorted. *)
Definition long_runs : mem := page_with 3000 8000
  [normal 7200 790; normal 6400 800; normal 5704 490; normal 5624 70; 0; normal 5496 100; normal 5440 50; normal 5416 24; garbage;
   normal 5360 33; normal 5320 20; normal 4608 640; normal 4000 600; normal 3400 600; normal 3376 24].

(** Mixed lengths, out of order, with an overlap. *)
Definition overlapping_page : mem := page_with 5000 8192
  [normal 6000 900; normal 8000 100; normal 7960 64; normal 5000 128; 0; normal 7000 300; normal 5128 200; normal 7304 64; redirect 3].

(** Few tuples and many line pointers: PostgreSQL 14 copies each tuple by itself. *)
Definition sparse_page : mem := page_with 7000 8192
  [0; 0; normal 7400 61; garbage; 0; dead; 0; 0; normal 7904 50; 0; 0; 0; normal 7000 37; 0; 0; 0].

(** Long tuples of one length, in slots: a chain to a free slot, a cycle, and one in place. *)
Definition slots_page : mem := page_with 5288 8192
  [normal 7928 264; normal 7400 264; normal 7664 264; normal 6344 264; 0; normal 6872 264; normal 6608 264; normal 5552 264;
   normal 5288 264].

(** Tuples of similar lengths, presorted, none shorter than a piece. *)
Definition pieces_page : mem := page_with 7000 8192
  [normal 8144 40; normal 7904 190; normal 7840 33; normal 7704 100; normal 7600 64; normal 7504 90].

(** The tuples lie so low that no window fits below them. *)
Definition low_page : mem := page_with 48 400 [normal 48 33; normal 320 64; normal 88 40; 0; normal 136 64].

(** 200 tuples of 25 to 32 bytes, with gaps, and 40 line pointers without storage between them. *)
Fixpoint crowd (n : nat) (count top : Z) : list Z :=
  match n with
  | O => []
  | S n =>
      if count mod 6 =? 5
      then (if count mod 4 =? 0 then 0 else if count mod 4 =? 1 then dead else if count mod 4 =? 2 then redirect 1 else garbage)
           :: crowd n (count + 1) (top - 16)
      else normal (top - 32) (25 + count mod 8) :: crowd n (count + 1) (top - 32)
  end.
Definition crowded_page : mem := page_with 1152 8192 (crowd 240 0 8192).

(** As many tuples as a page can have. *)
Definition full_page : mem := page_with 1200 8192 (map (fun n => normal (8192 - 24 * Z.of_nat n) 23) (seq 1 291)).

Definition pages : list mem :=
  [presorted_page; unsorted_page; long_runs; overlapping_page; sparse_page; slots_page; pieces_page; low_page].

(** Pages on which one test more or less lets a kernel take a way that does not fit: the new pd_upper has no line below; two
    lengths whose OR is no power of 2; long tuples, presorted and not, two of them in one slot; one gap. *)
Definition spaced (n : nat) (len top : Z) : list Z := map (fun k => normal (top - (len + 8) * (Z.of_nat k + 1)) len) (seq 0 n).
Definition tight_page : mem := page_with 64 128 [normal 64 40; normal 88 40].
Definition two_sizes_page : mem := page_with 8000 8192 [normal 8000 40; normal 8112 40].
Definition climbing_page : mem := page_with 4096 8192 (spaced 20 160 8192).
Definition wide_page : mem := page_with 4000 8192 (rev (spaced 20 128 8192)).
Definition one_slot_page : mem := page_with 7664 8192 [normal 7928 264; normal 7928 264].
Definition one_gap_page : mem := page_with 8128 8192 [normal 8128 64; normal 8160 32].
Definition squeezing_page : mem := page_with 4000 8192 (spaced 20 200 8192).
Definition long_page : mem := page_with 6400 8192 [normal 7592 600; normal 6400 520; normal 6960 632].
Definition crossroads : list mem :=
  [tight_page; two_sizes_page; climbing_page; wide_page; one_slot_page; one_gap_page; squeezing_page; long_page].

(** ** What is assumed, decided *)
Definition header_ok_b (m : mem) : bool :=
  (HEADER_SIZE <=? pd_lower m) && (pd_lower m <=? pd_upper m) && (pd_upper m <=? pd_special m) && (pd_special m <=? BLCKSZ) &&
  (maxalign (pd_special m) =? pd_special m).
Definition item_ok_b (m : mem) (it : item) : bool :=
  (pd_upper m <=? off it) && (off it <? pd_special m) && (maxalign (off it) =? off it) && (stop it <=? pd_special m).
Fixpoint chain_b (its : list item) (top : Z) : bool :=
  match its with [] => true | it :: r => (stop it <=? top) && chain_b r (off it) end.
Definition valid_b (m : mem) : bool :=
  header_ok_b m && forallb (item_ok_b m) (items m) && (Z.of_nat (length (items m)) <=? MAX_HEAP_TUPLES_PER_PAGE) &&
  (total (items m) <=? pd_special m - pd_lower m) &&
  (negb (presorted (pd_special m) (items m)) || chain_b (items m) (pd_special m)).

(** ** The instances *)
Definition algorithms : list algorithm :=
  [PG13; PG14; Gather false (Some 64); Gather true (Some 64); Gather false (Some 904); Gather false None; Squeeze; Permute 64 16;
   Slide 64; SlidePairs; Runs true; Runs false; Area; Climb 6; Climb 2; Lines; ByDepth; Slots].

(** What lies in scratch before: another byte at each address than on the page. *)
Definition dirt : mem := fun i => 255 - (i mod 251).

(** The page [r] that is left of [m], whose items are [its]: each claim looked at where a mistake would show.  Of each tuple
    that is its first and last byte and some between, of the rest what adjoins. *)
Definition keeps_contents (m r : mem) (its : list item) : bool :=
  forallb (fun it =>
    let word' := lp_word r (number it) in
    (lp_flags word' =? lp_flags (word it)) && (lp_len word' =? lp_len (word it)) &&
    forallb (fun k => r (lp_off word' + k) =? m (off it + k)) [0; 8; len it / 2; len it - 9; len it - 1]) its.
Definition keeps_rest (m r : mem) : bool :=
  let top := pd_upper r in
  forallb (fun i => r i =? m i) [0; 9; 16; 17; 23; top - 1; top - 8; top - 33; top - 63] &&
  forallb (fun i => (8192 <=? i) || (r i =? m i)) (map (fun k => pd_special m + k) [0; 7; 40]).
Definition has_header (truncate : bool) (m r : mem) (its : list item) : bool :=
  let left := if truncate then last_used (line_pointers m) else nline m in
  (pd_upper r =? pd_special m - total its) && (pd_special r =? pd_special m) && (nline r =? left) &&
  (pd_lower r =? pd_lower m - 4 * (nline m - left)).
Definition keeps_pointers (m r : mem) : bool :=
  forallb (fun it => has_storage (word it) || (lp_word r (number it) =? if is_used (word it) then word it else 0)) (line_pointers m).
Definition flags_free (m r : mem) : bool :=
  Bool.eqb (pd_flags r mod 2 =? 1)
    (existsb (fun it => negb (is_used (word it)) && (number it <=? nline r)) (line_pointers m)).

Definition within_b (below above : Z) (o : op) : bool :=
  let in_page a len := (0 <=? a) && (a + len <=? 8192) in
  let in_scratch a len := (- below <=? a) && (a + len <=? 8192 + above) in
  match o with
  | Move to from len => (0 <=? len) && in_page to len && in_page from len
  | Save to from len => (0 <=? len) && in_scratch to len && in_page from len
  | Restore to from len => (0 <=? len) && in_page to len && in_scratch from len
  | Store16 a _ => in_page a 2
  | Store32 a _ => in_page a 4
  end.

(** The order in which the tuples come to lie. *)
Definition keeps_order (a : algorithm) (r : mem) (its : list item) : bool :=
  let placed := map (fun it => (it, lp_off (lp_word r (number it)))) its in
  let above it it' := match order_of a with Offset => off it' <? off it | ItemOrder => number it <? number it' end in
  forallb (fun '(it, to) => forallb (fun '(it', to') => negb (above it it') || (to' + len it' <=? to)) placed) placed.
Definition order_claim (a : algorithm) : string :=
  match order_of a with Offset => "pg13_keeps_physical_order" | ItemOrder => "others_order_by_item" end.

(** The claims on one algorithm and one page. *)
Definition claims (valid truncate : bool) (m : mem) (its : list item) (a : algorithm) : list instance :=
  let r := run a truncate m dirt in
  [Instance "contents_preserved" valid (keeps_contents m r its); Instance "rest_untouched" valid (keeps_rest m r);
   Instance "header_after" valid (has_header truncate m r its); Instance "other_line_pointers" valid (keeps_pointers m r);
   Instance "flags_after" valid (flags_free m r); Instance (order_claim a) valid (keeps_order a r its);
   Instance "stays_in_bounds" valid (forallb (within_b (scratch_below a) (scratch_above a)) (program a truncate m))].
Definition judge (truncate : bool) (algorithms : list algorithm) (m : mem) : list instance :=
  let valid := valid_b m in let its := items m in flat_map (claims valid truncate m its) algorithms.

Definition accepts (m : mem) : instance :=
  Instance "check_iff_valid" (valid_b m) (match check m with None => true | Some _ => false end).

(** A page that must be refused, and as what. *)
Definition refuses (m : mem) (code index : Z) : list instance :=
  let said := check m in
  [Instance "check_iff_valid" (negb (valid_b m)) (match said with Some _ => true | None => false end);
   Instance "check_names_first_fault" (match said with Some _ => true | None => false end)
     (match said with Some r => (Page.code r =? code) && (Page.index r =? index) | None => true end)].

Definition refusals : list instance := concat
  [refuses (page_with 20 8192 []) 3 0; refuses (page_with 8000 8188 []) 3 0;
   refuses (page_with 7000 8192 [normal 8128 64; 0; normal 6992 64; normal 7001 8]) 4 3;
   refuses (page_with 7000 8192 [normal 8128 64; normal 8192 8; normal 7001 8]) 4 2;
   refuses (page_with 7000 8192 [normal 8128 64; redirect 1; normal 7004 64]) 5 3;
   refuses (page_with 7000 8000 [normal 7900 10; normal 7936 65; normal 7001 8]) 5 1;
   refuses (page_with 7000 8000 [normal 7904 96; normal 7936 65; normal 7001 8]) 6 2;
   refuses (page_with 1200 8192 (map (fun n => normal (8192 - 8 * Z.of_nat n) 8) (seq 1 292))) 7 292;
   refuses (page_with 7000 8192 [normal 7000 1192; normal 7000 1192; normal 7000 1192; normal 7000 1192; normal 7000 1192;
                                normal 7000 1192; normal 7000 1192]) 8 0;
   refuses (page_with 7992 8192 [normal 8128 64; normal 8000 64; normal 7992 144]) 9 3].

(** The decoders read what was written.  These come first, since the other instances are pages that the decoders read. *)
Definition fits (bits value : Z) : bool := (0 <=? value) && (value <? 2 ^ bits).
Definition unpacks (off flags len : Z) : instance :=
  let word := off + 2 ^ 15 * flags + 2 ^ 17 * len in
  Instance "packed_is_unpacked" (fits 15 off && fits 2 flags && fits 15 len)
    ((lp_off word =? off) && (lp_flags word =? flags) && (lp_len word =? len)).
Definition reads_line_pointer (number word : Z) : instance :=
  Instance "stored_line_pointer_is_read" (fits 32 word) (lp_word (store dirt (24 + 4 * (number - 1)) 4 word) number =? word).
Definition reads_header (flags lower upper special : Z) : instance :=
  let h := store (store (store (store dirt 10 2 flags) 12 2 lower) 14 2 upper) 16 2 special in
  Instance "stored_header_is_read" (fits 16 flags && fits 16 lower && fits 16 upper && fits 16 special)
    ((pd_flags h =? flags) && (pd_lower h =? lower) && (pd_upper h =? upper) && (pd_special h =? special)).
Definition aligns (n : Z) : instance :=
  Instance "maxalign_is_least" true ((n <=? maxalign n) && (maxalign n <? n + 8) && (maxalign n mod 8 =? 0)).
Definition decoded : list instance :=
  [unpacks 8160 1 30; unpacks 32767 3 32767; unpacks 0 2 16384; unpacks 16384 0 0;
   reads_line_pointer 1 (2 ^ 32 - 2); reads_line_pointer 291 (1 + 256 * 2 + 65536 * 3 + 2 ^ 24 * 4);
   reads_header 5 24 4096 8192; reads_header 65535 513 1027 2049] ++ map aligns [0; 1; 7; 8; 23; 8191].

(** A slot is found by a multiplication. *)
Definition finds_slots (length : Z) : instance :=
  Instance "slots_are_found" ((SHORTEST_IN_SLOTS <=? length) && (length <=? 8192))
    (forallb (fun k => let below := 8 * Z.of_nat k in
       Bool.eqb (is_slot length below) (below mod length =? 0) &&
       (negb (is_slot length below) || (slot_below length below =? below / length - 1))) (seq 0 400)).

(** The codes of refusals, and the room beside the page that an algorithm's scratch area has. *)
Definition numbers : list instance :=
  Instance "codes_are_those_of_the_kernels" true
    (forallb (fun p => fst p =? snd p)
       (combine [HEADER; LP_OFF; LP_ALIGN; LP_END; TOO_MANY; TOTAL; OVERLAP] [3; 4; 5; 6; 7; 8; 9])) ::
  map (fun a => Instance "scratch_is_no_larger_than_it_must_be" true
         (match a with
          | Lines => (scratch_above a =? 64) && (scratch_below a =? 64)
          | ByDepth => (scratch_above a =? 0) && (scratch_below a =? 64)
          | Gather _ (Some w) => (scratch_above a =? 0) && (scratch_below a =? w)
          | _ => (scratch_above a =? 0) && (scratch_below a =? 0)
          end)) algorithms.

(** A kernel's choice suits the page, and the kernel takes those tuples for presorted that are. *)
Definition chooses (m : mem) : list instance :=
  flat_map (fun k =>
    [Instance "choice_suits" (valid_b m) (suits (choice k m) m);
     Instance "kernels_agree_on_order" (valid_b m) (Bool.eqb (unsorted k m) (negb (presorted (pd_special m) (items m))))])
    [Scalar; Avx2; Avx512; Neon].
Definition runs_in_order (m : mem) : instance :=
  Instance "neon_runs_are_presorted" (match neon_way m with Gather false (Some 0) => true | _ => false end)
    (presorted (pd_special m) (items m)).

(** The scan of [scalar] finds what there is, and what is made of it is the page of the specification: the claims whose
    hypothesis the page meets. *)
Definition same_refusal (a b : option refusal) : bool :=
  match a, b with
  | Some r, Some r' => (Page.code r =? Page.code r') && (Page.index r =? Page.index r')
  | None, None => true
  | _, _ => false
  end.
Definition same_numbers (a b : list Z) : bool :=
  (length a =? length b)%nat && forallb (fun p => fst p =? snd p) (combine a b).
Definition scans (truncate : bool) (m : mem) : list instance :=
  let s := scan_line_pointers m in let its := items m in let header := header_ok_b m in let valid := valid_b m in
  filter hypothesis
  [Instance "check_in_order_is_the_check" true (same_refusal (check_in_order m) (check m));
   Instance "scan_refuses_the_same" header
     (Bool.eqb (refused s) (match check m with Some _ => true | None => false end));
   Instance "scan_finds" header
     (same_numbers (map (fun i => tuple_off (found_tuples s i)) (seq 0 (tuple_count s))) (map off its) &&
      same_numbers (map (fun i => tuple_len (found_tuples s i)) (seq 0 (tuple_count s))) (map len its) &&
      same_numbers (map (fun i => Z.of_nat (found_gaps s i)) (seq 0 (gap_count s)))
        (map Z.of_nat (gap_positions 0 its (pd_special m))) &&
      (total_length s =? total its) && (or_of_lengths s =? lengths its) &&
      (nused s =? length (filter (fun it => is_used (word it)) (line_pointers m)))%nat &&
      Bool.eqb (is_unsorted s) (unsorted Scalar m));
   Instance "scan_stays_in_its_arrays" header ((tuple_count s <=? 2042)%nat && (gap_count s <=? tuple_count s)%nat);
   Instance "scan_knows_the_line_pointers" valid
     (forallb (fun k => new_word ItemOrder m (Z.of_nat k + 1) =?
        (if (k <? nkept s)%nat then lp_word m (Z.of_nat k + 1) else words_to_be s k)) (seq 0 (Z.to_nat (nline m))));
   Instance "scalar_repairs" true
     (match scalar_kernel truncate m with
      | inl r => same_refusal (check m) (Some r)
      | inr ops =>
          let r := page (exec ops (State m dirt)) in
          valid && keeps_contents m r its && keeps_rest m r && has_header truncate m r its && keeps_pointers m r && flags_free m r
      end)].

(** Two programs copy the same. *)
Definition same_copy (a b : op) : bool :=
  match a, b with
  | Move to from n, Move to' from' n' | Save to from n, Save to' from' n' | Restore to from n, Restore to' from' n' =>
      (to =? to') && (from =? from') && (n =? n')
  | _, _ => false
  end.
Definition same_copies (a b : list op) : bool := (length a =? length b)%nat && forallb (fun p => same_copy (fst p) (snd p)) (combine a b).

(** Upstream's kernels, whose two sorts are that of the proof: the same refusal, or the same program. *)
Definition same_op (a b : op) : bool :=
  match a, b with
  | Store16 a x, Store16 b y | Store32 a x, Store32 b y => (a =? b) && (x =? y)
  | _, _ => same_copy a b
  end.
Definition upstream_kernels (truncate : bool) (m : mem) : list instance :=
  let same a kernel :=
    match kernel, page_repair_fragmentation a truncate m with
    | inl r, inl r' => same_refusal (Some r) (Some r')
    | inr ops, inr ops' => (length ops =? length ops')%nat && forallb (fun p => same_op (fst p) (snd p)) (combine ops ops')
    | _, _ => false
    end in
  let sorted := sort (items m) in
  [Instance "pg13_repairs" true (same PG13 (ScanUpstream.pg13_kernel sorted sorted truncate m));
   Instance "pg14_repairs" true (same PG14 (ScanUpstream.pg14_kernel truncate m))].

(** The same of the scan of [avx2]; what its arrays hold before. *)
Definition dirty_arrays : ScanAvx2.dirt := ScanAvx2.Dirt (fun k => Z.of_nat k + 7) (fun k => - Z.of_nat k) (fun _ => 4294967295).
Definition avx2_scans (m : mem) : list instance :=
  let s := ScanAvx2.scanned m dirty_arrays in let its := items m in let special := pd_special m in
  let header := header_ok_b m && (pd_lower m + 4 * ScanAvx2.LANES <=? BLCKSZ) in
  filter hypothesis
  [Instance "avx2_scan_finds" header
     (same_numbers (map (ScanAvx2.tuple_off s) (seq 0 (Z.to_nat (ScanAvx2.nitems s)))) (map off its) &&
      same_numbers (map (ScanAvx2.tuple_len s) (seq 0 (Z.to_nat (ScanAvx2.nitems s)))) (map len its) &&
      same_numbers (map (ScanAvx2.found_gaps s) (seq 0 (Z.to_nat (ScanAvx2.ngaps s))))
        (map (fun p => fst p + 65536 * snd p) (ScanAvx2.gap_list its special)) &&
      ((ScanAvx2.ngaps s =? 0) || (ScanAvx2.first_moved s =? Z.of_nat (hd O (gap_positions 0 its special)))) &&
      (ScanAvx2.used_count s =? Z.of_nat (length (filter (fun it => is_used (word it)) (line_pointers m)))) &&
      (ScanAvx2.left_count s =? last_used (line_pointers m)) && (ScanAvx2.longest_length s =? longest its) &&
      Bool.eqb (ScanAvx2.is_unsorted s) (unsorted Avx2 m) && Bool.eqb (ScanAvx2.is_overlapping s) (overlaps its special) &&
      ScanAvx2.stays_inside s);
   Instance "avx2_scan_refuses_the_same" header
     (Bool.eqb (ScanAvx2.refused m s) (match check m with Some _ => true | None => false end) &&
      (ScanAvx2.refused m s || (ScanAvx2.total_length s =? total its)));
   Instance "avx2_scan_knows_the_line_pointers" (header && valid_b m)
     (forallb (fun k => ScanAvx2.words_to_be s k =? new_word ItemOrder m (Z.of_nat k + 1)) (seq 0 (Z.to_nat (nline m))));
   Instance "avx2_repairs" true
     (match ScanAvx2.avx2_kernel true m dirty_arrays with
      | inl r => same_refusal (check m) (Some r)
      | inr ops =>
          let r := page (exec ops (State m dirt)) in
          valid_b m && same_copies (filter is_copy ops) (filter is_copy (program (choice Avx2 m) true m)) &&
          keeps_contents m r its && keeps_rest m r && has_header true m r its && keeps_pointers m r && flags_free m r
      end)].

(** The same of the scan of [avx512] for few line pointers. *)
Definition dirty_vectors : ScanAvx512Few.dirt :=
  ScanAvx512Few.Dirt (fun k => Z.of_nat k + 7) (fun _ => 65535) (fun k => Z.of_nat k) (fun _ => 3) (fun _ => 5).
Definition avx512_few_scans (m : mem) : list instance :=
  let s := ScanAvx512Few.scan_few m dirty_vectors in let its := items m in let special := pd_special m in
  let header := header_ok_b m && (pd_lower m + 4 * ScanAvx512Few.LANES <=? BLCKSZ) && (nline m <=? ScanAvx512Few.FEW) in
  let as_numbers := map (fun p => fst p + 65536 * snd p) in
  let listed a b n := map (fun i => a i + 65536 * b i) (seq 0 (Z.to_nat n)) in
  let runs := ScanAvx512Few.run_list its special special in
  filter hypothesis
  [Instance "avx512_few_scan_finds" header
     ((ScanAvx512Few.nitems s =? Choice.nitems m) &&
      (ScanAvx512Few.used_count s =? Z.of_nat (length (filter (fun it => is_used (word it)) (line_pointers m)))) &&
      (ScanAvx512Few.left_count s =? last_used (line_pointers m)) && (ScanAvx512Few.total_length s =? total its) &&
      (ScanAvx512Few.longest_length s =? longest its) && (ScanAvx512Few.shortest_length s =? 0) &&
      Bool.eqb (negb (ScanAvx512Few.is_out_of_bounds s)) (forallb (item_ok_b m) its) && ScanAvx512Few.stays_inside s);
   Instance "avx512_few_scan_knows_the_moves" (header && forallb (item_ok_b m) its && (total its <=? special - pd_lower m))
     ((ScanAvx512Few.upper_to_be s =? new_upper m) && Bool.eqb (ScanAvx512Few.is_falling s) (unsorted Avx512 m) &&
      (ScanAvx512Few.ngaps s =? Z.of_nat (length runs)) && (ScanAvx512Few.is_falling s || (ScanAvx512Few.ngaps s =? Choice.ngaps m)) &&
      Bool.eqb ((ScanAvx512Few.ngaps s =? 0) && negb (ScanAvx512Few.is_falling s)) (Choice.ngaps m =? 0) &&
      ((Choice.ngaps m =? 0) ||
       (ScanAvx512Few.first_moved s =? Z.of_nat (hd O (gap_positions 0 its special))) &&
       same_numbers (listed (ScanAvx512Few.new_ends s) (ScanAvx512Few.old_ends s) (ScanAvx512Few.nitems s))
         (as_numbers (ScanAvx512Few.end_list its special)) &&
       forallb (fun i => (ScanAvx512Few.new_ends s i =? new_upper m) && (ScanAvx512Few.old_ends s i =? new_upper m))
         (seq (length its) (17 - length its)) &&
       same_numbers (listed (ScanAvx512Few.run_ends s) (ScanAvx512Few.run_old_ends s) (ScanAvx512Few.ngaps s)) (as_numbers runs) &&
       Bool.eqb (ScanAvx512Few.presorted s) (presorted special its)));
   Instance "avx512_few_scan_refuses_the_same" header
     (Bool.eqb (ScanAvx512Few.refused m s) (match check m with Some _ => true | None => false end));
   Instance "avx512_few_scan_knows_the_line_pointers" (header && valid_b m)
     (forallb (fun k => ScanAvx512Few.words_to_be s k =? new_word ItemOrder m (Z.of_nat k + 1)) (seq 0 (Z.to_nat (nline m))))].

(** The same of its scan for more line pointers, which finds the same of few. *)
Definition dirty_scan : ScanAvx512.arrays :=
  ScanAvx512.Arrays (fun k => Z.of_nat k + 7) (fun _ => 7) (fun _ => 65535) (fun _ => 9) (fun _ => 1) (fun _ => 2) true.
Definition avx512_scans (m : mem) : list instance :=
  let s := ScanAvx512.scan_line_pointers m dirty_scan in let a := ScanAvx512.found s in let its := items m in let special := pd_special m in
  let count := ScanAvx512.nitems s in let behind := repeat ((special - total its) mod 65536) 32 in
  let header := header_ok_b m && (pd_lower m + 4 * ScanAvx512.LANES <=? BLCKSZ) in
  let runs := ScanAvx512.run_list its special special in
  filter hypothesis
  [Instance "avx512_scan_finds" header
     ((count =? length its)%nat && same_numbers (map (ScanAvx512.old_ends a) (seq 0 count)) (map stop its) &&
      same_numbers (map (ScanAvx512.ends a) (seq 0 count)) (map (fun p => (snd p + len (fst p)) mod 65536) (placed ItemOrder m)) &&
      same_numbers (map (ScanAvx512.old_ends a) (seq count 32)) behind && same_numbers (map (ScanAvx512.ends a) (seq count 32)) behind &&
      (ScanAvx512.nused s =? Z.of_nat (length (filter (fun it => is_used (word it)) (line_pointers m)))) &&
      (ScanAvx512.nline_left s =? last_used (line_pointers m)) && (ScanAvx512.longest s =? longest its) &&
      (ScanAvx512.shortest s =? fold_right (fun it n => Z.min (len it) n) 65535 its) && ScanAvx512.inside a);
   Instance "avx512_scan_finds_the_runs" (header && forallb (item_ok_b m) its && (total its <=? special - pd_lower m))
     ((ScanAvx512.total s =? total its) && (ScanAvx512.new_upper s =? new_upper m) && Bool.eqb (ScanAvx512.falls s) (unsorted Avx512 m) &&
      (ScanAvx512.falls s || (Z.of_nat (ScanAvx512.ngaps s) =? Choice.ngaps m) &&
       same_numbers (map (fun i => ScanAvx512.run_ends a i + 65536 * ScanAvx512.run_old_ends a i) (seq 0 (ScanAvx512.ngaps s)))
         (map (fun p => fst p + 65536 * snd p) runs)) &&
      Bool.eqb ((ScanAvx512.ngaps s =? 0)%nat && negb (ScanAvx512.falls s)) (Choice.ngaps m =? 0) &&
      ((Choice.ngaps m =? 0) || (ScanAvx512.first s =? Z.of_nat (hd O (gap_positions 0 its special)))));
   Instance "avx512_scan_refuses_the_same" header
     (Bool.eqb (ScanAvx512.refused m s) (match check m with Some _ => true | None => false end));
   Instance "avx512_scan_knows_the_line_pointers" (header && valid_b m)
     (forallb (fun k => ScanAvx512.words a k =? new_word ItemOrder m (Z.of_nat k + 1)) (seq 0 (Z.to_nat (nline m))))].

(** pgq_compaction_avx512 by either scan: what it copies is what the proved choice copies. *)
Definition avx512_kernels (truncate : bool) (m : mem) : instance :=
  Instance "avx512_repairs" true
    (match ScanAvx512Moves.avx512_kernel truncate m dirty_vectors dirty_scan with
     | inl r => same_refusal (check m) (Some r)
     | inr ops =>
         let r := page (exec ops (State m dirt)) in let its := items m in
         valid_b m && same_copies (filter is_copy ops) (filter is_copy (program (choice Avx512 m) truncate m)) &&
         keeps_contents m r its && keeps_rest m r && has_header truncate m r its && keeps_pointers m r && flags_free m r
     end).

(** The same of the scan of [neon]. *)
Definition dirty_neon : ScanNeon.dirt := ScanNeon.Dirt (fun k => Z.of_nat k + 7) (fun k => Z.of_nat k * 77777) (fun _ => 1).
Definition neon_scans (m : mem) : list instance :=
  let s := ScanNeon.scan_line_pointers m dirty_neon in let its := items m in let special := pd_special m in
  let count := ScanNeon.nitems s in let slots := seq 0 (8 * ((count + 7) / 8)) in
  let header := header_ok_b m && (pd_lower m + 4 * ScanNeon.LANES <=? BLCKSZ) in
  let ends i := ScanNeon.end_in (ScanNeon.found_tuples s) i + 65536 * ScanNeon.old_end_in (ScanNeon.found_tuples s) i in
  filter hypothesis
  [Instance "neon_scan_finds" header
     ((count =? length its)%nat &&
      same_numbers (map ends (seq 0 count)) (map (fun p => (snd p + len (fst p)) mod 65536 + 65536 * stop (fst p)) (placed ItemOrder m)) &&
      (ScanNeon.used_count s =? Z.of_nat (length (filter (fun it => is_used (word it)) (line_pointers m)))) &&
      (ScanNeon.left_count s =? last_used (line_pointers m)) && (ScanNeon.total_length s =? total its) &&
      (ScanNeon.longest_length s =? longest its) && Bool.eqb (negb (ScanNeon.is_out_of_bounds s)) (forallb (item_ok_b m) its) &&
      ScanNeon.stays_inside s);
   Instance "neon_scan_finds_the_moves" (header && forallb (item_ok_b m) its && (total its <=? special - pd_lower m))
     (same_numbers (map (ScanNeon.tuple_off s) (seq 0 count)) (map off its) &&
      same_numbers (map (ScanNeon.tuple_len s) (seq 0 count)) (map len its) &&
      forallb (fun i => ends i =? new_upper m + 65536 * new_upper m) (seq count 16) && (ScanNeon.upper_to_be s =? new_upper m) &&
      Bool.eqb (ScanNeon.is_falling s) (overlaps its special) &&
      Bool.eqb ((ScanNeon.ngaps s =? 0) && negb (ScanNeon.is_falling s)) (Choice.ngaps m =? 0) &&
      ((Choice.ngaps m =? 0) || (ScanNeon.first_moved s =? Z.of_nat (hd O (gap_positions 0 its special)))) &&
      (ScanNeon.is_falling s || (ScanNeon.ngaps s =? Choice.ngaps m) &&
       same_numbers (map Z.of_nat (filter (fun i => Z.odd (ScanNeon.found_gaps s i)) slots)) (map Z.of_nat (gap_positions 0 its special))) &&
      Bool.eqb (ScanNeon.presorted s) (presorted special its));
   Instance "neon_scan_refuses_the_same" header
     (Bool.eqb (ScanNeon.refused m s) (match check m with Some _ => true | None => false end));
   Instance "neon_scan_knows_the_line_pointers" (header && valid_b m)
     (forallb (fun k => ScanNeon.words_to_be s k =? new_word ItemOrder m (Z.of_nat k + 1)) (seq 0 (Z.to_nat (nline m))))].

(** pgq_compaction_neon: what it copies by its arrays is what the proved choice copies. *)
Definition neon_kernels (truncate : bool) (m : mem) : instance :=
  Instance "neon_repairs" true
    (match ScanNeonMoves.neon_kernel truncate m dirty_neon with
     | inl r => same_refusal (check m) (Some r)
     | inr ops =>
         let r := page (exec ops (State m dirt)) in let its := items m in let copies := filter ScanNeonMoves.copies_bytes in
         valid_b m && same_copies (copies ops) (copies (program (choice Neon m) truncate m)) &&
         keeps_contents m r its && keeps_rest m r && has_header truncate m r its && keeps_pointers m r && flags_free m r
     end).

(** Line pointers without storage among others, so that the scan gives up its branches; a page that is refused for each reason. *)
Definition dead_page : mem := page_with 7000 8192
  [normal 8160 30; redirect 1; 0; dead; garbage; dead; normal 8064 60; 0; normal 8000 64; dead; normal 7904 65; normal 7872 32; 0; garbage].
Definition faulty : list mem :=
  [page_with 20 8192 []; page_with 7000 8192 [normal 8128 64; 0; normal 6992 64; normal 7001 8];
   page_with 7000 8192 [normal 8128 64; redirect 1; 0; 0; 0; 0; normal 7004 64];
   page_with 7000 8192 [normal 8128 64; dead; 0; dead; 0; normal 8064 64; normal 6992 72];
   page_with 7000 8000 [normal 7904 96; normal 7936 65; normal 7001 8];
   page_with 7000 8000 [normal 7904 96; normal 7936 65]; page_with 8100 8192 [normal 8120 64; normal 8056 64];
   page_with 8100 8192 [normal 8128 64; normal 8064 64]; page_with 7000 8192 [normal 8128 64; normal 7992 144; normal 7000 64];
   page_with 7000 8192 [normal 7000 1192; normal 7000 1192; normal 7000 1192; normal 7000 1192; normal 7000 1192; normal 7000 1192;
                        normal 7000 1192]].
(** For the scan of [avx2]: tuples in both halves of its first vector, two that start at one place, and more line pointers than sixteen. *)
Definition ten_tuples : mem :=
  page_with 7000 8192 (map (fun k => normal (8128 - 72 * Z.of_nat k) (57 + Z.of_nat k mod 8)) (seq 0 10)).
Definition equal_offsets : mem := page_with 7000 8192 [normal 8168 24; normal 8144 24; normal 8144 24].
Definition long_line_pointers : mem :=
  page_with 4000 8192 (map (fun k => if (k mod 5 =? 3)%nat then garbage else if (k mod 7 =? 2)%nat then dead
                                     else normal (8160 - 40 * Z.of_nat ((k * 13) mod 40)) (25 + Z.of_nat (k mod 8))) (seq 0 39) ++ [0; 0]).
(** For that of [avx512]: as many tuples as it has lanes, out of order, and in order with a gap below every other one. *)
Definition sixteen_out_of_order : mem :=
  page_with 7000 8192 (map (fun k => normal (8128 - 64 * Z.of_nat ((k * 7) mod 16)) (57 + Z.of_nat (k mod 8))) (seq 0 16)).
Definition sixteen_in_order : mem :=
  page_with 7000 8192 (map (fun k => normal (8152 - 40 * Z.of_nat k - 8 * (Z.of_nat k / 2)) (33 + Z.of_nat (k mod 8))) (seq 0 16)).
(** For what it makes of its scans: one line pointer more than its scan of few takes; 23 with a gap before every third tuple; two tuples of
    which one reaches into the other, and none leaves a gap. *)
Definition seventeen : mem :=
  page_with 6000 8192 (map (fun k => normal (8120 - 72 * Z.of_nat k) (57 + Z.of_nat (k mod 16))) (seq 0 16) ++ [normal 6904 57]).
Definition gaps_of (len : Z) : mem :=
  page_with 4000 8192 (map (fun k => normal (8192 - (len + 7) / 8 * 8 * (Z.of_nat k + 1) - 8 * (Z.of_nat k / 3)) len) (seq 0 23)).
Definition reaching_page : mem := page_with 7000 8192 [normal 8128 64; normal 8144 40].
(** More than its scan of many takes at a time, in order with gaps in either vector. *)
Definition two_vectors_in_order : mem :=
  page_with 6000 8192 (map (fun k => if (k mod 9 =? 4)%nat then dead else normal (8152 - 40 * Z.of_nat k - 8 * (Z.of_nat k / 3)) (25 + Z.of_nat (k mod 16)))
                           (seq 0 40)).
Definition avx512_instances : list instance :=
  map (avx512_kernels true)
    ([dead_page; unsorted_page; overlapping_page; slots_page; ten_tuples; equal_offsets; sixteen_out_of_order; sixteen_in_order;
      long_line_pointers; seventeen; gaps_of 60; gaps_of 100; two_vectors_in_order; reaching_page] ++ faulty) ++
  map (avx512_kernels false) [dead_page; gaps_of 100].
(** Of [neon] each way: by runs, by pairs of registers, by windows of two widths, from slot to slot, and each tuple exactly. *)
Definition neon_instances : list instance :=
  map (neon_kernels true)
    ([dead_page; unsorted_page; overlapping_page; slots_page; ten_tuples; equal_offsets; long_runs; tight_page; low_page; long_line_pointers;
      gaps_of 24; gaps_of 60; gaps_of 100; wide_page; two_vectors_in_order; reaching_page] ++ faulty) ++
  map (neon_kernels false) [dead_page; gaps_of 100].
Definition scanned_instances : list instance :=
  flat_map (scans true) ([dead_page; unsorted_page; overlapping_page; slots_page; two_sizes_page; one_gap_page; long_page] ++ faulty) ++
  scans false dead_page ++ upstream_kernels false dead_page ++
  flat_map (upstream_kernels true) ([dead_page; unsorted_page; overlapping_page; equal_offsets; long_line_pointers; reaching_page] ++ faulty) ++
  flat_map avx2_scans ([dead_page; unsorted_page; overlapping_page; slots_page; ten_tuples; equal_offsets; long_line_pointers] ++ faulty) ++
  flat_map avx512_few_scans ([dead_page; unsorted_page; overlapping_page; slots_page; ten_tuples; equal_offsets;
                              sixteen_out_of_order; sixteen_in_order] ++ faulty) ++
  flat_map avx512_scans ([dead_page; overlapping_page; long_line_pointers; seventeen; gaps_of 60; two_vectors_in_order; reaching_page] ++ faulty) ++
  flat_map neon_scans ([dead_page; unsorted_page; overlapping_page; slots_page; ten_tuples; equal_offsets; long_line_pointers] ++ faulty).

(** Each algorithm on the pages that it is made for, and all of them on two.  Then one on the crowded page. *)
Definition instances : list instance :=
  numbers ++ decoded ++ map accepts (full_page :: crowded_page :: pages ++ crossroads) ++ refusals ++
  flat_map chooses (pages ++ crossroads) ++ [runs_in_order long_runs] ++ scanned_instances ++ [finds_slots 264; finds_slots 1000] ++
  judge true algorithms presorted_page ++ judge false algorithms unsorted_page ++
  judge true [PG13; PG14; Gather true (Some 904); Runs true; Runs false; Area; Lines; ByDepth] long_runs ++
  judge true [PG13; PG14; Area; Lines; ByDepth] overlapping_page ++ judge true [PG13; PG14; Permute 64 8] sparse_page ++
  judge true [PG13; PG14; Slots] slots_page ++ judge true [Climb 6; Climb 5] pieces_page ++ judge true [SlidePairs] tight_page ++
  judge false [Gather true (Some 64); Squeeze; Slide 64; Permute 64 16; Lines; ByDepth] low_page ++
  avx512_instances ++ neon_instances.
Definition crowded_instances : list instance := judge true [PG14] crowded_page.
