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
  match t with Vector512 => "__m512i" | Vector128 => "__m128i" | Mask16 => "__mmask16" | Word => "uint32_t" end.
Definition element_name (e : element) : string := match e with Words => "uint32_t" | Flags => "bool" end.

(** A pointer as the intrinsic wants it: those of 128 bits ask for a vector's. *)
Definition print_place (intrinsic p : string) (i : nat) : string :=
  let place := match i with O => p | _ => p ++ " + " ++ decimal i end in
  if String.eqb intrinsic "_mm_loadu_si128" then "(const __m128i *)(" ++ place ++ ")" else place.

Definition listed (l : list string) : string := "(" ++ String.concat ", " l ++ ")".

Fixpoint print_expression (e : expression) : string :=
  match e with
  | Var x => x
  | Number n => decimal_z n ++ "u"
  | Rest from last => "(__mmask16)((1u << (" ++ last ++ " - " ++ from ++ ")) - 1)"
  | Call f l => f ++ listed (map print_expression l)
  | LoadVector f mask p i => f ++ listed (map print_expression mask ++ [print_place f p i])%list
  end.

Definition print_statement (s : statement) : string :=
  match s with
  | Const t x e => "const " ++ type_name t ++ " " ++ x ++ " = " ++ print_expression e
  | Variable_ t x e => type_name t ++ " " ++ x ++ " = " ++ print_expression e
  | Assign x e => x ++ " = " ++ print_expression e
  | Store f p mask e => f ++ listed (p :: map print_expression mask ++ [print_expression e])%list
  | Advance p e => p ++ " += __builtin_popcount(" ++ print_expression e ++ ")"
  end ++ ";" ++ newline.

Definition print_outcome (o : outcome) : string :=
  "return " ++ match o with ReturnPointer p => p | ReturnWord e => print_expression e end ++ ";" ++ newline.

Definition print_step (o : outcome) (s : step) : string :=
  match s with
  | Do s => print_statement s
  | Loop from last n beside l =>
      "for (; " ++ last ++ " - " ++ from ++ " >= " ++ decimal n ++ "; " ++
      String.concat ", " (map (fun p => p ++ " += " ++ decimal n) (from :: beside)) ++ ") {" ++ newline ++
      String.concat "" (map print_statement l) ++ "}" ++ newline
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
