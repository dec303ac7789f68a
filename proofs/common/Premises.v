(* SPDX-License-Identifier: PostgreSQL *)
(** * The premises of a theorem, as one statement that they can be met together

    Of [forall x, H x -> forall y, K x y -> C x y] that is [exists x, H x /\ exists y, K x y].  A theorem [T] whose premises
    nothing meets says nothing, so S/Witness.v proves [T_witness : premises_of T] for each theorem of S.  The audit derives
    the statement anew, and asks the kernel. *)

(* A premise of which the rest speaks stands under [ex], as a variable does.  The conclusion is unfolded: premises behind a
   definition count too.  What the conclusion denies is no premise. *)
Ltac premises_in P :=
  lazymatch P with
  | _ -> False => constr:(True)
  | forall x : ?A, @?B x =>
      let y := fresh x in
      let rest := constr:(fun y : A => ltac:(let b := eval cbv beta in (B y) in let met := premises_in b in exact met)) in
      let sort := type of A in
      let sort := eval hnf in sort in
      lazymatch sort with
      | Prop => lazymatch rest with
                | fun _ => True => A
                | fun _ => ?met => constr:(A /\ met)
                | _ => constr:(ex rest)
                end
      | _ => constr:(ex rest)
      end
  | _ =>
      let Q := eval hnf in P in
      lazymatch Q with
      | forall x : _, _ => premises_in Q
      | _ => constr:(True)
      end
  end.

Ltac premises_of T := let P := type of T in premises_in P.
Notation premises_of T := (ltac:(let met := premises_of T in exact met)) (only parsing).

(* A value of a type, by constructors alone. *)
Ltac value depth :=
  lazymatch depth with
  | O => fail
  | S ?depth => intros; first [exact unit | constructor; value depth]
  end.

(* Where a theorem has variables and no premise: a value for each variable. *)
Ltac values :=
  lazymatch goal with
  | |- True => exact I
  | |- exists _ : ?A, _ => let x := fresh in assert (x : A) by (once value 5%nat); exists x; clear x; values
  end.
