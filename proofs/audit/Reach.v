(* SPDX-License-Identifier: PostgreSQL *)
(* Which definitions of this development a statement reaches: every constant and inductive type that its term mentions, or that
   the definition of one of those mentions, and so on; and each of their terms, as the kernel has it, written out.  Names of
   variables and notations play no part; implicit arguments and instances stand there like all others.
   [motive] stands before this text (coq.py): a case's return type, which Coq's versions give in two ways. *)
From Ltac2 Require Import Ltac2.
Import Constr.Unsafe.

Ltac2 ours (path : ident list) :=
  match path with root :: _ => Ident.equal root @Pgquern | [] => false end.

Ltac2 rec same (a : ident list) (b : ident list) :=
  match a with
  | [] => match b with [] => true | _ :: _ => false end
  | x :: a => match b with [] => false | y :: b => if Ident.equal x y then same a b else false end
  end.

(* Coq's own has its arguments in another order from version to version. *)
Ltac2 rec gather (f : 'a -> 'b -> 'b) (a : 'b) (xs : 'a list) : 'b :=
  match xs with [] => a | x :: xs => f x (gather f a xs) end.

(* The references in a term, added to those already [found]. *)
Ltac2 rec mentioned (found : Std.reference list) (t : constr) : Std.reference list :=
  let into t found := mentioned found t in
  let binder found b := mentioned found (Constr.Binder.type b) in
  let binders found bs := gather (fun b found => binder found b) found (Array.to_list bs) in
  let all found ts := gather into found (Array.to_list ts) in
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
  | Case _ r _ t ts => all (mentioned (mentioned found (motive r)) t) ts
  | Fix _ _ bs ts => binders (all found ts) bs
  | CoFix _ bs ts => binders (all found ts) bs
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

Ltac2 text (words : message list) := gather Message.concat (Message.of_string "") words.
Ltac2 word (w : string) := Message.of_string w.
Ltac2 number (n : int) := text [word "#"; Message.of_int n].
Ltac2 name (r : Std.reference) := qualified (Env.path r).

(* A term, whole: equal texts mean equal terms, up to the names of variables and the levels of universes. *)
Ltac2 rec written (t : constr) : message :=
  let binder b := written (Constr.Binder.type b) in
  let all ts := text (List.map (fun t => text [word " "; written t]) (Array.to_list ts)) in
  let binders bs := text (List.map (fun b => text [word " "; binder b]) (Array.to_list bs)) in
  match kind t with
  | Rel n => number n
  | Var x => Message.of_ident x
  | Sort _ => word (if Constr.equal t 'Prop then "Prop" else if Constr.equal t 'Set then "Set" else "Type")
  | Cast t _ u => text [word "("; written t; word " : "; written u; word ")"]
  | Prod b t => text [word "(all "; binder b; word ", "; written t; word ")"]
  | Lambda b t => text [word "(fun "; binder b; word ", "; written t; word ")"]
  | LetIn b t u => text [word "(let "; binder b; word " := "; written t; word " in "; written u; word ")"]
  | App f ts => text [word "("; written f; all ts; word ")"]
  | Constant c _ => name (Std.ConstRef c)
  | Ind i _ => name (Std.IndRef i)
  | Constructor c _ => name (Std.ConstructRef c)
  | Case _ r _ t ts => text [word "(case "; written t; word " return "; written (motive r); word " with"; all ts; word ")"]
  | Fix ns n bs ts =>
      let structural := text (List.map number (Array.to_list ns)) in
      text [word "(fix "; number n; structural; binders bs; word " :="; all ts; word ")"]
  | CoFix n bs ts => text [word "(cofix "; number n; binders bs; word " :="; all ts; word ")"]
  | _ => Control.throw (Invalid_argument (Some (Message.concat (word "no way to write ") (Message.of_constr t))))
  end.

(* What a reference is: its type; then the body of a constant, or the types of the constructors of an inductive type. *)
Ltac2 defined (r : Std.reference) : message :=
  let term := Env.instantiate r in
  let typed := written (Constr.type term) in
  match r with
  | Std.ConstRef _ =>
      match Control.case (fun () => Std.eval_unfold [(r, Std.AllOccurrences)] term) with
      | Val body => let (body, _) := body in text [typed; word " := "; written body]
      | Err _ => typed
      end
  | Std.IndRef i =>
      let data := Ind.data i in
      let one c := text [word " | "; name c; word " : "; written (Constr.type (Env.instantiate c))] in
      text (typed :: List.map one (List.rev (constructors data (Ind.nconstructors data))))
  | _ => typed
  end.

(* Prints "reaches NAME TERM" for each definition that the statements of these theorems reach, and "states TERM" for each theorem;
   constructors go with their types. *)
Ltac2 reach (theorems : constr list) :=
  let start := gather (fun theorem found => mentioned found (Constr.type theorem)) [] theorems in
  List.iter (fun theorem => Message.print (text [word "states "; written (Constr.type theorem)])) theorems;
  List.iter
    (fun (r, path) =>
       match r with
       | Std.ConstructRef _ => ()
       | _ => Message.print (text [word "reaches "; qualified path; word " "; defined r])
       end)
    (walk [] start).
