(* SPDX-License-Identifier: PostgreSQL *)
(** * A program as text of C

    clang-format lays the text out. *)
From Coq Require Import ZArith Ascii String List DecimalString.
From Pgquern.instructions Require Import Program.
Import ListNotations.
Local Open Scope string_scope.

Definition newline : string := String (ascii_of_nat 10) "".
Definition decimal (n : nat) : string := NilZero.string_of_uint (Nat.to_uint n).
Definition decimal_z (n : Z) : string := NilZero.string_of_int (Z.to_int n).

Definition type_name (t : type) : string :=
  match t with
  | Vector512 => "__m512i" | Vector256 => "__m256i" | Vector128 => "__m128i" | Neon128 => "uint32x4_t"
  | Mask16 => "__mmask16" | Word => "uint32_t"
  end.
Definition element_name (e : element) : string := match e with Words => "uint32_t" | Flags => "bool" end.

(** A pointer as the intrinsic wants it: those of 128 and 256 bits ask for a vector's, and one under signs for an int's. *)
Definition print_place (intrinsic p : string) (i : nat) : string :=
  let place := match i with O => p | _ => p ++ " + " ++ decimal i end in
  let cast := find (fun entry => String.eqb (fst entry) intrinsic)
    [("_mm_loadu_si128", "__m128i"); ("_mm_loadl_epi64", "__m128i"); ("_mm256_loadu_si256", "__m256i"); ("_mm256_maskload_epi32", "int")] in
  match cast with Some (_, t) => "(const " ++ t ++ " *)(" ++ place ++ ")" | None => place end.

Definition print_target (intrinsic p : string) : string :=
  if String.eqb intrinsic "_mm256_storeu_si256" then "(__m256i *)(" ++ p ++ ")" else p.

Definition listed (l : list string) : string := "(" ++ String.concat ", " l ++ ")".

(** A call.  An immediate stands behind the intrinsic's name, after a blank; in C it is the last operand. *)
Definition print_call (intrinsic : string) (l : list string) : string :=
  match index 0 " " intrinsic with
  | Some n => substring 0 n intrinsic ++ listed (l ++ [substring (S n) (String.length intrinsic) intrinsic])%list
  | None => intrinsic ++ listed l
  end.

Definition by_signs (intrinsic : string) : bool :=
  match known intrinsic loads_known with Some (BySigns _ _) => true | _ => false end.
Definition print_load (intrinsic : string) (mask : list string) (place : string) : string :=
  intrinsic ++ listed (if by_signs intrinsic then place :: mask else mask ++ [place])%list.

Definition print_number (n : Z) : string := decimal_z n ++ "u".

Definition print_operator (o : operator) : string := match o with Times => " * " | And => " & " | Right => " >> " end.

Fixpoint print_expression (e : expression) : string :=
  match e with
  | Var x => x
  | Number n => print_number n
  | Numbers l => String.concat ", " (map print_number l)
  | Four l => "(uint32x4_t){" ++ String.concat ", " (map print_number l) ++ "}"
  | Computed o x n => "(" ++ x ++ print_operator o ++ print_number n ++ ")"
  | Left from last => "(uint32_t)(" ++ last ++ " - " ++ from ++ ")"
  | Rest from last => "(__mmask16)((1u << (" ++ last ++ " - " ++ from ++ ")) - 1)"
  | Turned e => "~" ++ print_expression e ++ " & 255u"
  | LeftPack e => "left_pack(" ++ print_expression e ++ ")"
  | NeonEntry e => "vld1q_u8(left_pack_neon[" ++ print_expression e ++ "])"
  | WordAt p => "word_at(" ++ p ++ ")"
  | Call f l => print_call f (map print_expression l)
  | LoadVector f mask p i => print_load f (map print_expression mask) (print_place f p i)
  end.

Definition print_statement (s : statement) : string :=
  match s with
  | Const t x e => "const " ++ type_name t ++ " " ++ x ++ " = " ++ print_expression e
  | Variable_ t x e => type_name t ++ " " ++ x ++ " = " ++ print_expression e
  | Assign x e => x ++ " = " ++ print_expression e
  | Store f p mask e => f ++ listed (print_target f p :: map print_expression mask ++ [print_expression e])%list
  | Advance p e => p ++ " += __builtin_popcount(" ++ print_expression e ++ ")"
  | AdvanceBy p x => p ++ " += " ++ x
  end ++ ";" ++ newline.

Definition print_outcome (o : outcome) : string :=
  "return " ++ match o with ReturnPointer p => p | ReturnWord e => print_expression e end ++ ";" ++ newline.

Definition print_block (l : list statement) : string :=
  ") {" ++ newline ++ String.concat "" (map print_statement l) ++ "}" ++ newline.

Definition print_step (o : outcome) (s : step) : string :=
  match s with
  | Do s => print_statement s
  | Loop from last n beside l =>
      "for (; " ++ last ++ " - " ++ from ++ " >= " ++ decimal n ++ "; " ++
      String.concat ", " (map (fun p => p ++ " += " ++ decimal n) (from :: beside)) ++ print_block l
  | Counted from last n beside l =>
      "for (size_t rounds = (size_t)(" ++ last ++ " - " ++ from ++ ") / " ++ decimal n ++ "; rounds > 0; " ++
      String.concat ", " ("rounds--" :: map (fun p => p ++ " += " ++ decimal n) (from :: beside)) ++ print_block l
  | ReturnIf from last => "if (" ++ from ++ " == " ++ last ++ ")" ++ newline ++ print_outcome o
  end.

Definition print_parameter (p : string * parameter) : string :=
  match snd p with
  | Pointer constant e => (if constant then "const " else "") ++ element_name e ++ " *" ++ fst p
  | Value => "uint32_t " ++ fst p
  end.

Definition print_program (p : program) : string :=
  "static inline __attribute__((always_inline)) " ++
  match outcome_of p with ReturnPointer _ => "uint32_t *" | ReturnWord _ => "uint32_t " end ++
  called p ++ listed (map print_parameter (parameters p)) ++ newline ++ "{" ++ newline ++
  String.concat "" (map (print_step (outcome_of p)) (body p)) ++ print_outcome (outcome_of p) ++ "}" ++ newline.

(** A header of C with one program. *)
Definition print_header (guard comment : string) (p : program) : string :=
  "/* SPDX-License-Identifier: PostgreSQL */" ++ newline ++ "/* " ++ comment ++ " */" ++ newline ++
  "#ifndef " ++ guard ++ newline ++ "#define " ++ guard ++ newline ++ newline ++
  print_program p ++ newline ++ "#endif" ++ newline.
