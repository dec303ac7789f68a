(* SPDX-License-Identifier: PostgreSQL *)
(** * The premises of a theorem, and those inside of its conclusion, as one statement that they can be met

    A conclusion may have premises of its own, behind a definition, [let], [/\], [exists], [Forall], or an [if].  If it has
    several parts with premises, these need not be met together: [forall x, H x -> (A x -> C x) /\ (B x -> D x)] asks for
    [(exists x, H x /\ A x) /\ exists x, H x /\ B x].  Where a conclusion has none, this is [premises_of].

    An equivalence has no premises, nor has what an inductive type of ours says, nor what can be met [always].  What the
    conclusion denies is no premise.  A [match] is opened on a pair and on a boolean only. *)
From Coq Require Import ZArith List Lia.
From Pgquern.common Require Import Premises.

(* What can be met whatever else holds: a value for each variable, a place outside of a range, a member of a list. *)
Ltac always :=
  first
    [ values
    | lazymatch goal with
      | |- exists i : Z, ~ (?a <= i < _)%Z => exists (a - 1)%Z; lia
      | |- exists x : _, In x (?y :: _) => exists y; now left
      end ].

(* Premises of two parts of a conclusion. *)
Definition Both (P Q : Prop) : Prop := P /\ Q.

Ltac both M N :=
  lazymatch M with
  | True => N
  | _ => lazymatch constr:((M, N)) with (?L, ?L) => M | (_, True) => M | _ => constr:(Both M N) end
  end.

(* Those of a part; none if they can be met always. *)
Ltac of_part M :=
  match goal with
  | _ => let met := constr:(ltac:(always) : M) in constr:(True)
  | _ => M
  end.

(* [fun x => M], where x is a variable: there is one, with M. *)
Ltac some rest :=
  lazymatch rest with
  | fun y => Both (@?M y) (@?N y) => let m := some M in let n := some N in both m n
  | _ => constr:(ex rest)
  end.

(* The same where x proves A. *)
Ltac given A rest :=
  lazymatch rest with
  | fun _ => True => A
  | fun y => Both (@?M y) (@?N y) => let m := given A M in let n := given A N in both m n
  | fun _ => ?met => constr:(A /\ met)
  | _ => constr:(ex rest)
  end.

(* One case of a conclusion: none if it says nothing, or that this case is none. *)
Ltac case_of says P parts_in :=
  let Q := eval hnf in says in
  lazymatch Q with True => True | False => True | _ => parts_in P end.

(* Where the rest says something: it stands beside A, a part of the conclusion. *)
Ltac beside A M := lazymatch M with True => M | _ => given A constr:(fun _ : A => M) end.

(* A premise of which the rest speaks stands under [ex], as a variable does.  The conclusion is unfolded: premises behind a
   definition count too. *)
Ltac parts_in P :=
  lazymatch P with
  | _ -> False => constr:(True)
  | forall x : ?A, @?B x =>
      let y := fresh x in
      let rest := constr:(fun y : A => ltac:(let b := eval cbv beta in (B y) in let met := parts_in b in exact met)) in
      let sort := type of A in
      let sort := eval hnf in sort in
      lazymatch sort with Prop => given A rest | _ => some rest end
  | _ =>
      let Q := eval hnf in P in
      lazymatch Q with
      | forall x : _, _ => parts_in Q
      | (?A -> ?B) /\ (?B -> ?A) => constr:(True)
      | ?L /\ ?R => let l := parts_of_part L in let r := parts_of_part R in both l r
      | @ex ?A ?F =>
          let y := fresh in
          let rest := constr:(fun y : A => ltac:(let b := eval cbv beta in (F y) in let met := parts_of_chosen b in exact met)) in
          lazymatch rest with fun _ => True => constr:(True) | _ => some rest end
      | Forall ?F ?l => let each := eval cbv beta in (forall e, In e l -> F e) in parts_in each
      | match ?p with (a, b) => @?C a b end => let c := eval cbv beta in (C (fst p) (snd p)) in parts_in c
      | match ?b with true => ?L | false => ?R end =>
          let l := case_of L constr:(b = true -> L) parts_in in
          let r := case_of R constr:(b = false -> R) parts_in in
          both l r
      | _ => constr:(True)
      end
  end
(* What there is stands under [ex], so all else that is said of it does, too. *)
with parts_of_chosen P :=
  let Q := eval hnf in P in
  lazymatch Q with
  | (?A -> ?B) /\ (?B -> ?A) => constr:(True)
  | ?L /\ ?R =>
      let l := parts_of_chosen L in let r := parts_of_chosen R in
      let l := beside R l in let r := beside L r in both l r
  | _ => parts_of_part P
  end
with parts_of_part P := let met := parts_in P in of_part met.

Ltac inner_premises_of T := let P := type of T in let met := parts_in P in let met := eval cbv beta delta [Both] in met in met.
Notation inner_premises_of T := (ltac:(let met := inner_premises_of T in exact met)) (only parsing).
