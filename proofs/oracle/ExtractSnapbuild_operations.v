(* SPDX-License-Identifier: PostgreSQL *)
(** * What the snapshot builder's kernels do to memory, one by one: extraction to OCaml

    The functions are those that are proved.  Their memory is another one here: an array, and a function that is told of
    each load (0, at, 0, 1), each store (1, at, 0, 1) and each move (2, to, from, how many).  A copy from one memory to another
    is a load and a store of many.  Of a kernel's local arrays nothing is told.  No other function touches a memory. *)
From Coq Require Import Extraction ExtrOcamlBasic ExtrOcamlNatInt ExtrOcamlZInt ZArith.
From stdpp Require Import base option.
From Pgquern.snapbuild Require Import Memory Algorithms Groups KeepRegisters Upstream Quicksort SideBySide SortAll.

(* Both are the identity on int, as ExtrOcamlZInt has it for N. *)
Extract Constant Z.of_nat => "fun n -> n".
Extract Constant Z.to_nat => "fun z -> if z < 0 then 0 else z".

Extract Constant memory => "((int -> int -> int -> int -> unit) * int array)".
Extract Constant load =>
  "fun (tell, a) i -> tell 0 i 0 1; if 0 <= i && i < Array.length a then Some a.(i) else None".
Extract Constant store =>
  "fun (tell, a) i x -> tell 1 i 0 1; if 0 <= i && i < Array.length a then (a.(i) <- x; Some (tell, a)) else None".
Extract Constant read =>
  "fun (tell, a) i n -> tell 0 i 0 n; if 0 <= i && i + n <= Array.length a then Some (Array.to_list (Array.sub a i n)) else None".
Extract Constant memmove =>
  "fun (tell, a) to_ from n -> tell 2 to_ from n; Array.blit a from a to_ n; Some (tell, a)".

Extract Constant memcpy =>
  "fun (tell, a) i (tell_from, b) j n -> tell_from 0 j 0 n; tell 1 i 0 n; Array.blit b j a i n; Some (tell, a)".

(* Local arrays: a new one that holds a list, always from its beginning on; one of CHUNK cells that nobody has written to; and
   a store to that. *)
Extract Constant allocate => "fun _ _ l -> ((fun _ _ _ _ -> ()), Array.of_list l)".
Extract Constant nothing => "((fun _ _ _ _ -> ()), Array.make 64 0)".
Extract Constant put =>
  "fun (tell, a) i x -> if 0 <= i && i < 64 then (let a = Array.copy a in a.(i) <- x; Some (tell, a)) else None".

Extraction Inline mbind option_bind.

Extraction Language OCaml.
Extraction "snapbuild_operations_proved.ml" purge_inplace purge_scalar purge_sorted purge_full compress compress_branchless
  purge_upstream append snapshot_sorted purge_avx2 purge_avx512 purge_neon compress_zeros insert_sorted append_few
  snapshot_upstream insert_unsorted purge_full_lazy_head.
