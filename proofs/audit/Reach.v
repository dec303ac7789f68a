(* SPDX-License-Identifier: PostgreSQL *)
(* Which definitions of this development a statement reaches: every constant and inductive type that its term mentions, or that
   the definition of one of those mentions, and so on.  Names in the source and notations play no part: kernel terms do. *)
From Ltac2 Require Import Ltac2.
Import Constr.Unsafe.

Ltac2 ours (path : ident list) :=
  match path with root :: _ => Ident.equal root @Pgquern | [] => false end.

Ltac2 rec same (a : ident list) (b : ident list) :=
  match a with
  | [] => match b with [] => true | _ :: _ => false end
  | x :: a => match b with [] => false | y :: b => if Ident.equal x y then same a b else false end
  end.

(* The references in a term, added to those already [found]. *)
Ltac2 rec mentioned (found : Std.reference list) (t : constr) : Std.reference list :=
  let binder found b := mentioned found (Constr.Binder.type b) in
  let all found ts := Array.fold_right mentioned found ts in
  match kind t with
  | Evar _ ts => all found ts
  | Cast t _ u => mentioned (mentioned found t) u
  | Prod b t => mentioned (binder found b) t
  | Lambda b t => mentioned (binder found b) t
  | LetIn b t u => mentioned (mentioned (binder found b) t) u
  | App f ts => all (mentioned found f) ts
  | Constant c _ => Std.ConstRef c :: found
  | Ind i _ => Std.IndRef i :: found
  | Constructor c _ => Std.ConstructRef c :: found
  | Case _ r _ t ts => all (mentioned (mentioned found r) t) ts
  | Fix _ _ bs ts => Array.fold_right binder (all found ts) bs
  | CoFix _ bs ts => Array.fold_right binder (all found ts) bs
  | Proj _ t => mentioned found t
  | _ => found
  end.

Ltac2 rec constructors (data : Ind.data) (n : int) : Std.reference list :=
  if Int.equal n 0 then []
  else Std.ConstructRef (Ind.get_constructor data (Int.sub n 1)) :: constructors data (Int.sub n 1).

(* What a reference is made of: its type, and the body of a constant that has one, or the constructors of an inductive type. *)
Ltac2 made_of (r : Std.reference) : Std.reference list :=
  let term := Env.instantiate r in
  let typed := mentioned [] (Constr.type term) in
  match r with
  | Std.ConstRef _ =>
      match Control.case (fun () => Std.eval_unfold [(r, Std.AllOccurrences)] term) with
      | Val body => let (body, _) := body in mentioned typed body
      | Err _ => typed
      end
  | Std.IndRef i => let data := Ind.data i in List.append (constructors data (Ind.nconstructors data)) typed
  | _ => typed
  end.

Ltac2 rec walk (seen : (Std.reference * ident list) list) (todo : Std.reference list) :=
  match todo with
  | [] => seen
  | r :: todo =>
      let path := Env.path r in
      if ours path then
        if List.exist (fun (_, other) => same path other) seen then walk seen todo
        else walk ((r, path) :: seen) (List.append (made_of r) todo)
      else walk seen todo
  end.

Ltac2 rec qualified (path : ident list) :=
  match path with
  | [] => Message.of_string ""
  | name :: path =>
      let name := Message.of_ident name in
      match path with [] => name | _ :: _ => Message.concat name (Message.concat (Message.of_string ".") (qualified path)) end
  end.

(* Prints "reaches NAME" for each definition that the statements of these theorems reach; constructors go with their types. *)
Ltac2 reach (theorems : constr list) :=
  let start := List.fold_right (fun theorem found => mentioned found (Constr.type theorem)) [] theorems in
  List.iter
    (fun (r, path) =>
       match r with
       | Std.ConstructRef _ => ()
       | _ => Message.print (Message.concat (Message.of_string "reaches ") (qualified path))
       end)
    (walk [] start).
