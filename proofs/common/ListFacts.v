(* SPDX-License-Identifier: PostgreSQL *)
(** * Facts about lists that several subjects need and that Coq 8.16's library has not *)
From Pgquern.common Require Import Integers.

Lemma split_at {A} (l : list A) n : (n <= length l)%nat -> exists a b, l = a ++ b /\ length a = n.
Proof. intros L. exists (firstn n l), (skipn n l). rewrite firstn_skipn, firstn_length. split; [auto|lia]. Qed.

Lemma same_parts {A} : forall (u u' v v' : list A), length u = length u' -> u ++ v = u' ++ v' -> u = u' /\ v = v'.
Proof.
  induction u as [|x u IH]; intros [|y u'] v v' L E; try discriminate; [auto|]. cbn [app] in E. injection E as -> E. injection L as L.
  destruct (IH u' v v' L E) as [-> ->]. auto.
Qed.

Lemma last_of_cons {A} (a : list A) : forall t d, last (t :: a) d = last a t.
Proof. induction a as [|u a IH]; intros t d; [reflexivity|]. change (last (t :: u :: a) d) with (last (u :: a) d). now rewrite !IH. Qed.

Lemma filter_length_le {A} (p : A -> bool) l : (length (filter p l) <= length l)%nat.
Proof. induction l as [|x l IH]; cbn; [lia|]. destruct (p x); cbn; lia. Qed.

Lemma combine_both {A B} (u : list A) : forall v : list B, length u = length v -> map fst (combine u v) = u /\ map snd (combine u v) = v.
Proof.
  induction u as [|x u IH]; intros [|y v] L; try discriminate; [auto|]. injection L as L. cbn [combine map fst snd].
  destruct (IH v L) as [-> ->]. auto.
Qed.

Lemma existsb_map {A B} (f : A -> B) g l : existsb g (map f l) = existsb (fun x => g (f x)) l.
Proof. induction l as [|x l IH]; cbn [map existsb]; [|rewrite IH]; reflexivity. Qed.

Lemma forall_repeat {A} (P : A -> Prop) x n : P x -> Forall P (repeat x n).
Proof. intros H. apply Forall_forall. intros y Y. apply repeat_spec in Y. now subst. Qed.

(** ** Lists of a known length *)
Lemma four {A} (l : list A) : length l = 4%nat -> exists a b c d, l = [a; b; c; d].
Proof. intros L. do 4 (destruct l as [|? l]; [discriminate|]). destruct l; [repeat eexists|discriminate]. Qed.
Lemma eight {A} (l : list A) : length l = 8%nat -> exists a b c d e f g h, l = [a; b; c; d; e; f; g; h].
Proof. intros L. do 8 (destruct l as [|? l]; [discriminate|]). destruct l; [repeat eexists|discriminate]. Qed.
Lemma sixteen {A} (l : list A) : length l = 16%nat ->
  exists a b c d e f g h i j k m n o p q, l = [a; b; c; d; e; f; g; h; i; j; k; m; n; o; p; q].
Proof. intros L. do 16 (destruct l as [|? l]; [discriminate|]). destruct l; [repeat eexists|discriminate]. Qed.
