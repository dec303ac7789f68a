(* SPDX-License-Identifier: PostgreSQL *)
(** * Small vector programs, and what they do in a memory

    A program is a function of C: loops over an array, and in them intrinsics on registers, loads, stores, and pointers
    that move.  An intrinsic stands in it by its name, with its immediate behind, and means what the table says of this
    name; Print.v writes the same name.  Memory is a list of cells, one a byte, and an address is a place in it.  A program
    has no result if it touches a cell that is not there, if it gives an intrinsic operands of another size, if C does not
    define the shift of a mask, or if a loop does not end. *)
From Coq Require Import String.
From Pgquern.common Require Import Integers.
From Pgquern.instructions Require Import Lanes Masked Memory Table.
Local Open Scope string_scope.
Local Open Scope list_scope.
Local Open Scope Z_scope.

(** ** Programs *)

(** __m512i, __m256i, __m128i, uint32x4_t, __mmask16, uint32_t. *)
Inductive type := Vector512 | Vector256 | Vector128 | Neon128 | Mask16 | Word.
(** What a pointer points to: uint32_t, bool. *)
Inductive element := Words | Flags.

(** [x * n], [x & n], [x >> n] of unsigned numbers of 32 bits. *)
Inductive operator := Times | And | Right.

Inductive expression :=
  | Var (x : string)
  | Number (n : Z)
  (** Numbers of 32 bits that C passes one by one, and the table as one operand *)
  | Numbers (l : list Z)
  (** [(uint32x4_t){a, b, c, d}] *)
  | Four (l : list Z)
  (** An operator on a variable of type uint32_t *)
  | Computed (o : operator) (x : string) (n : Z)
  (** How many elements are left: [(uint32_t)(last - from)] *)
  | Left (from last : string)
  (** A bit for each element that is left: [(__mmask16)((1u << (last - from)) - 1)] *)
  | Rest (from last : string)
  (** The lowest eight bits, each turned: [~e & 255u] *)
  | Turned (e : expression)
  (** [left_pack(mask)], of common/left_pack.h *)
  | LeftPack (mask : expression)
  (** [vld1q_u8(left_pack_neon[mask])], of common/left_pack_neon.h *)
  | NeonEntry (mask : expression)
  (** [word_at(p)], of common/word.h: four bytes, as a number *)
  | WordAt (p : string)
  | Call (intrinsic : string) (operands : list expression)
  (** [intrinsic(mask, p + i)], or [intrinsic(p + i, mask)] if the mask is signs; the list is the mask, or empty *)
  | LoadVector (intrinsic : string) (mask : list expression) (p : string) (i : nat).

Inductive statement :=
  | Const (t : type) (x : string) (e : expression)
  | Variable_ (t : type) (x : string) (e : expression)
  | Assign (x : string) (e : expression)
  (** [intrinsic(p, mask, e);] *)
  | Store (intrinsic : string) (p : string) (mask : list expression) (e : expression)
  (** [p += __builtin_popcount(e);] *)
  | Advance (p : string) (e : expression)
  (** [p += x;], of a variable of type uint32_t *)
  | AdvanceBy (p x : string).

Inductive step :=
  | Do (s : statement)
  (** [for (; last - from >= n; from += n, beside += n) body] *)
  | Loop (from last : string) (n : nat) (beside : list string) (body : list statement)
  (** [for (size_t rounds = (size_t)(last - from) / n; rounds > 0; rounds--, from += n, beside += n) body] *)
  | Counted (from last : string) (n : nat) (beside : list string) (body : list statement)
  (** [if (from == last) return ...;] *)
  | ReturnIf (from last : string).

(** A pointer, to const or not, or a number. *)
Inductive parameter := Pointer (constant : bool) (e : element) | Value.
Inductive outcome := ReturnPointer (p : string) | ReturnWord (e : expression).

Record program := Program {
  called : string; parameters : list (string * parameter); body : list step; outcome_of : outcome }.

(** ** What they do *)

Definition size (t : type) : nat :=
  match t with Vector512 => 64 | Vector256 => 32 | Vector128 | Neon128 => 16 | Mask16 => 2 | Word => 4 end.
Definition width_of (e : element) : nat := match e with Words => 4 | Flags => 1 end.

(** Intrinsics of registers alone.  Those of memory stand below. *)
Definition registers_alone : list instruction :=
  arithmetic ++ logic ++ shifts ++ comparisons ++ choices ++ permutations ++ conversions ++ general ++ arm.

(** All of [n] bytes; or [n] bytes into the lower end of a register; or lanes of [w] bytes of [n] under a mask, or under the
    signs of a register. *)
Inductive access := Whole (n : nat) | Lower (n size : nat) | Masked (w n : nat) | BySigns (w n : nat).
Definition loads_known : list (string * access) := [
  ("_mm512_loadu_si512", Whole 64); ("_mm256_loadu_si256", Whole 32); ("_mm_loadu_si128", Whole 16);
  ("_mm_loadl_epi64", Lower 8 16);
  ("_mm512_maskz_loadu_epi32", Masked 4 64); ("_mm_maskz_loadu_epi8", Masked 1 16);
  ("_mm256_maskload_epi32", BySigns 4 32); ("vld1q_u32", Whole 16)].
Definition stores_known : list (string * access) := [
  ("_mm512_storeu_si512", Whole 64); ("_mm256_storeu_si256", Whole 32); ("_mm512_mask_storeu_epi32", Masked 4 64);
  ("vst1q_u32", Whole 16)].
Definition known (s : string) (l : list (string * access)) : option access :=
  option_map snd (find (fun entry => String.eqb (fst entry) s) l).

(** The instruction that the table must have for a load, and for a store: so the CPU is asked the same.  No program stores
    under signs, or a part of a register without a mask. *)
Definition load_instruction (s : string) (a : access) : instruction :=
  match a with
  | Whole n => loads s n n
  | Lower n size => loads s n size
  | Masked w n => loads_masked s (n / w / 8) n (load_masked w)
  | BySigns w n => loads_masked s n n (load_by_signs w)
  end.
Definition store_instruction (s : string) (a : access) : option instruction :=
  match a with
  | Whole n => Some (stores s n)
  | Masked w n => Some (stores_masked s (n / w / 8) n (store_masked w))
  | Lower _ _ | BySigns _ _ => None
  end.

(** A pointer has the size of what it points to, and an address. *)
Inductive value := Address (w : nat) (a : Z) | Register (r : bytes).
Record state := State { env : string -> option value; memory : cells }.

Definition bind {A B} (a : option A) (f : A -> option B) : option B := match a with Some x => f x | None => None end.
Local Notation "x <-- a ; b" := (bind a (fun x => b)) (at level 100, a at next level, right associativity).

Definition register_in (s : state) (x : string) : option bytes :=
  match env s x with Some (Register r) => Some r | _ => None end.
Definition address_in (s : state) (x : string) : option (nat * Z) :=
  match env s x with Some (Address w a) => Some (w, a) | _ => None end.
Definition set (x : string) (v : value) (s : state) : state :=
  State (fun y => if String.eqb y x then Some v else env s y) (memory s).

(** [n] cells from an address on; what lies behind the memory is not there.  Memory with these cells in it. *)
Definition cells_at (m : cells) (a : Z) (n : nat) : option cells :=
  if a <? 0 then None else Some (firstn n (skipn (Z.to_nat a) m ++ repeat None n)).
Definition with_cells (m : cells) (a : Z) (n : nat) (c : cells) : cells :=
  firstn (length m) (firstn (Z.to_nat a) m ++ c ++ skipn (Z.to_nat a + n) m).

(** An operand as C passes it: as it is, or a smaller unsigned number with zeros above. *)
Definition passed (n : nat) (r : bytes) : option bytes :=
  if Nat.eqb (length r) n then Some r
  else if (length r <? n)%nat && (n <=? 4)%nat then Some (widened n r) else None.
Fixpoint all_passed (sizes : list nat) (l : list bytes) : option (list bytes) :=
  match sizes, l with
  | [], [] => Some []
  | n :: sizes, r :: l => r <-- passed n r; l <-- all_passed sizes l; Some (r :: l)
  | _, _ => None
  end.
Definition call (s : string) (operands : list bytes) : option bytes :=
  i <-- find (fun i => String.eqb (name i) s) registers_alone;
  operands <-- all_passed (sizes i) operands; Some (meaning i operands).

(** How many elements lie between two pointers. *)
Definition distance (s : state) (from last : string) : option Z :=
  from <-- address_in s from; last <-- address_in s last;
  if Nat.eqb (fst from) (fst last) then Some ((snd last - snd from) / Z.of_nat (fst from)) else None.

(** The one mask, of [n] bytes. *)
Definition mask_of (n : nat) (mask : list bytes) : option bytes :=
  match mask with [k] => if Nat.eqb (length k) n then Some k else None | _ => None end.

Definition load_from (a : access) (mask : list bytes) (m : cells) (p : Z) : option bytes :=
  match a with
  | Whole n => match mask with [] => c <-- cells_at m p n; load n c | _ => None end
  | Lower n size => match mask with [] => c <-- cells_at m p n; option_map (widened size) (load n c) | _ => None end
  | Masked w n => k <-- mask_of (n / w / 8) mask; c <-- cells_at m p n; load_masked w k c
  | BySigns w n => k <-- mask_of n mask; c <-- cells_at m p n; load_by_signs w k c
  end.

Definition store_to (a : access) (mask : list bytes) (r : bytes) (m : cells) (p : Z) : option cells :=
  match a with
  | Whole n =>
      match mask with
      | [] => c <-- cells_at m p n; c <-- (if Nat.eqb (length r) n then store r c else None); Some (with_cells m p n c)
      | _ => None
      end
  | Masked w n =>
      k <-- mask_of (n / w / 8) mask; c <-- cells_at m p n;
      c <-- (if Nat.eqb (length r) n then store_masked w k r c else None); Some (with_cells m p n c)
  | Lower _ _ | BySigns _ _ => None
  end.

(** Entry m of pgq_left_pack: the places of the bits set in m, then zeros; and what [left_pack] makes of it. *)
Definition left_pack_entry (kept : list bool) : bytes := widened 8 (selected kept [0; 1; 2; 3; 4; 5; 6; 7]).
Definition left_packing (kept : list bool) : bytes :=
  intrinsic "_mm256_cvtepu8_epi32" [intrinsic "_mm_cvtsi64_si128" [left_pack_entry kept]].

(** Entry m of left_pack_neon: the bytes of the lanes whose bits are set in m, then 255. *)
Definition neon_entry (kept : list bool) : bytes :=
  firstn 16 (concat (selected kept [[0; 1; 2; 3]; [4; 5; 6; 7]; [8; 9; 10; 11]; [12; 13; 14; 15]]) ++ repeat 255 16).

(** A number of C has 32 bits; a shift by all of them, or more, is not defined. *)
Definition computed (o : operator) (x n : Z) : option Z :=
  if (0 <=? n) && (n <? span 4) then
    match o with
    | Times => Some (x * n)
    | And => Some (Z.land x n)
    | Right => if n <? 32 then Some (Z.shiftr x n) else None
    end
  else None.

Fixpoint eval (s : state) (e : expression) : option bytes :=
  let all := fix all (l : list expression) : option (list bytes) :=
    match l with [] => Some [] | e :: l => r <-- eval s e; l <-- all l; Some (r :: l) end in
  match e with
  | Var x => register_in s x
  | Number n => Some (bytes_of 4 n)
  | Numbers l => Some (register_of 4 l)
  | Four l => if Nat.eqb (length l) 4 then Some (register_of 4 l) else None
  | Computed o x n =>
      r <-- register_in s x;
      if Nat.eqb (length r) 4 then y <-- computed o (number r) n; Some (bytes_of 4 y) else None
  | Left from last =>
      d <-- distance s from last;
      if (0 <=? d) && (d <? span 4) then Some (bytes_of 4 d) else None
  | Rest from last =>
      d <-- distance s from last;
      if (0 <=? d) && (d <? 32) then Some (bytes_of 2 (2 ^ d - 1)) else None
  | Turned e =>
      r <-- eval s e;
      if Nat.eqb (length r) 4 then Some (widened 4 (register_of_bits (map negb (firstn 8 (bits r))))) else None
  | LeftPack e =>
      r <-- eval s e; r <-- passed 4 r; if number r <? 256 then Some (left_packing (firstn 8 (bits r))) else None
  | NeonEntry e =>
      r <-- eval s e; r <-- passed 4 r; if number r <? 16 then Some (neon_entry (firstn 4 (bits r))) else None
  | WordAt p => p <-- address_in s p; c <-- cells_at (memory s) (snd p) 4; load 4 c
  | Call f l => operands <-- all l; call f operands
  | LoadVector f mask p i =>
      a <-- known f loads_known; mask <-- all mask; p <-- address_in s p;
      load_from a mask (memory s) (snd p + Z.of_nat (fst p) * Z.of_nat i)
  end.

Fixpoint eval_all (s : state) (l : list expression) : option (list bytes) :=
  match l with [] => Some [] | e :: l => r <-- eval s e; l <-- eval_all s l; Some (r :: l) end.

Definition declare (t : type) (x : string) (e : expression) (s : state) : option state :=
  r <-- eval s e; if Nat.eqb (length r) (size t) then Some (set x (Register r) s) else None.

Definition run_statement (i : statement) (s : state) : option state :=
  match i with
  | Const t x e | Variable_ t x e => declare t x e s
  | Assign x e =>
      old <-- register_in s x; r <-- eval s e;
      if Nat.eqb (length r) (length old) then Some (set x (Register r) s) else None
  | Store f p mask e =>
      a <-- known f stores_known; p <-- address_in s p; mask <-- eval_all s mask; r <-- eval s e;
      m <-- store_to a mask r (memory s) (snd p); Some (State (env s) m)
  | Advance p e =>
      q <-- address_in s p; r <-- eval s e; n <-- call "__builtin_popcount" [r];
      Some (set p (Address (fst q) (snd q + Z.of_nat (fst q) * number n)) s)
  | AdvanceBy p x =>
      q <-- address_in s p; r <-- register_in s x;
      if Nat.eqb (length r) 4 then Some (set p (Address (fst q) (snd q + Z.of_nat (fst q) * number r)) s) else None
  end.

Fixpoint run_statements (l : list statement) (s : state) : option state :=
  match l with [] => Some s | i :: l => s <-- run_statement i s; run_statements l s end.

Fixpoint move (n : nat) (pointers : list string) (s : state) : option state :=
  match pointers with
  | [] => Some s
  | p :: pointers =>
      q <-- address_in s p;
      move n pointers (set p (Address (fst q) (snd q + Z.of_nat (fst q) * Z.of_nat n)) s)
  end.

Fixpoint run_loop (fuel : nat) (from last : string) (n : nat) (beside : list string) (l : list statement) (s : state) :
    option state :=
  d <-- distance s from last;
  if d <? Z.of_nat n then Some s
  else match fuel with
       | O => None
       | S fuel => s <-- run_statements l s; s <-- move n (from :: beside) s; run_loop fuel from last n beside l s
       end.

Fixpoint run_rounds (rounds : nat) (from : string) (n : nat) (beside : list string) (l : list statement) (s : state) :
    option state :=
  match rounds with
  | O => Some s
  | S rounds => s <-- run_statements l s; s <-- move n (from :: beside) s; run_rounds rounds from n beside l s
  end.

(** A loop that does not count goes round at most once for each element. *)
Fixpoint run_steps (l : list step) (s : state) : option state :=
  match l with
  | [] => Some s
  | Do i :: l => s <-- run_statement i s; run_steps l s
  | Loop from last n beside body :: l =>
      d <-- distance s from last; s <-- run_loop (Z.to_nat d) from last n beside body s; run_steps l s
  | Counted from last n beside body :: l =>
      d <-- distance s from last;
      if d <? 0 then None else s <-- run_rounds (Z.to_nat (d / Z.of_nat n)) from n beside body s; run_steps l s
  | ReturnIf from last :: l => d <-- distance s from last; if d =? 0 then Some s else run_steps l s
  end.

Definition fits (p : parameter) (v : value) : bool :=
  match p, v with
  | Pointer _ e, Address w _ => Nat.eqb w (width_of e)
  | Value, Register r => Nat.eqb (length r) 4
  | _, _ => false
  end.

Fixpoint given (parameters : list (string * parameter)) (arguments : list value) (s : state) : option state :=
  match parameters, arguments with
  | [], [] => Some s
  | (x, p) :: parameters, v :: arguments => if fits p v then given parameters arguments (set x v s) else None
  | _, _ => None
  end.

(** The value that a call of a program returns, and the memory that it leaves. *)
Definition run (p : program) (arguments : list value) (m : cells) : option (value * cells) :=
  s <-- given (parameters p) arguments (State (fun _ => None) m);
  s <-- run_steps (body p) s;
  v <-- match outcome_of p with
        | ReturnPointer x => env s x
        | ReturnWord e => option_map Register (eval s e)
        end;
  Some (v, memory s).

(** ** What C asks for beside: a name is declared once, so that no block hides a name of another. *)
Definition declared_by (i : statement) : list string := match i with Const _ x _ | Variable_ _ x _ => [x] | _ => [] end.
Definition names_of (p : program) : list string :=
  map fst (parameters p) ++
  flat_map (fun s => match s with
                     | Do i => declared_by i
                     | Loop _ _ _ _ l | Counted _ _ _ _ l => flat_map declared_by l
                     | ReturnIf _ _ => []
                     end) (body p).
Fixpoint all_differ (l : list string) : bool :=
  match l with [] => true | x :: l => negb (existsb (String.eqb x) l) && all_differ l end.
Definition declares_once (p : program) : bool := all_differ ("rounds" :: names_of p).
