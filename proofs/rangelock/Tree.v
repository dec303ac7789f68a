(* SPDX-License-Identifier: PostgreSQL *)
(** * The tree of csrc/rangelock/tree.c, and the two walks of interval.c over it

    An AVL tree of ranges, ordered by [lo] and then by ticket. Each node knows its height and the largest [hi] below it; in
    C both stand in its parent. The C functions change nodes in place; here they give back the tree. *)
From Pgquern.common Require Import Integers.

(** A request for the bytes from [lo] to [hi] - 1; tickets number requests in the order of arrival. *)
Record request := Request { ticket : Z; lo : Z; hi : Z; exclusive : bool }.

(** A node: a request, and how many earlier ones in conflict have not left. *)
Record entry := Entry { req : request; blockers : Z }.

Inductive tree :=
  | Leaf
  | Node (left : tree) (x : entry) (right : tree) (height_of : Z) (max_of : Z).

Definition height (t : tree) : Z := match t with Leaf => 0 | Node _ _ _ h _ => h end.
Definition max_hi (t : tree) : Z := match t with Leaf => 0 | Node _ _ _ _ m => m end.

(** [set_left] and [set_right]: what is known of a node and those below it. *)
Definition node (l : tree) (x : entry) (r : tree) : tree :=
  Node l x r (1 + Z.max (height l) (height r)) (Z.max (hi (req x)) (Z.max (max_hi l) (max_hi r))).

(** [balance], with the rotations that it does. *)
Definition balance (l : tree) (x : entry) (r : tree) : tree :=
  if height r + 1 <? height l then
    match l with
    | Node ll lx (Node m mx n _ _ as lr) _ _ =>
        if height ll <? height lr then node (node ll lx m) mx (node n x r) else node ll lx (node lr x r)
    | Node ll lx Leaf _ _ => node ll lx (node Leaf x r)
    | Leaf => node l x r
    end
  else if height l + 1 <? height r then
    match r with
    | Node (Node m mx n _ _ as rl) rx rr _ _ =>
        if height rr <? height rl then node (node l x m) mx (node n rx rr) else node (node l x rl) rx rr
    | Node Leaf rx rr _ _ => node (node l x Leaf) rx rr
    | Leaf => node l x r
    end
  else node l x r.

Definition precedes (a b : request) : bool := (lo a <? lo b) || ((lo a =? lo b) && (ticket a <? ticket b)).

(** [pgq_rangelock_tree_insert] *)
Fixpoint insert (t : tree) (x : entry) : tree :=
  match t with
  | Leaf => node Leaf x Leaf
  | Node l y r _ _ => if precedes (req x) (req y) then balance (insert l x) y r else balance l y (insert r x)
  end.

(** [remove_first]: the tree without its first node, and that node. *)
Fixpoint remove_first (l : tree) (x : entry) (r : tree) : tree * entry :=
  match l with
  | Leaf => (r, x)
  | Node ll lx lr _ _ => let '(l', first) := remove_first ll lx lr in (balance l' x r, first)
  end.

(** [without_top] *)
Definition without_top (l r : tree) : tree :=
  match l, r with
  | Leaf, _ => r
  | _, Leaf => l
  | _, Node rl rx rr _ _ => let '(r', first) := remove_first rl rx rr in balance l first r'
  end.

(** [pgq_rangelock_tree_remove]: a node is known by its ticket. *)
Fixpoint remove (t : tree) (x : request) : tree :=
  match t with
  | Leaf => Leaf
  | Node l y r _ _ =>
      if ticket (req y) =? ticket x then without_top l r
      else if precedes x (req y) then balance (remove l x) y r else balance l y (remove r x)
  end.

(** [count]: how many ranges overlap x. *)
Fixpoint count (t : tree) (x : request) : Z :=
  match t with
  | Leaf => 0
  | Node l y r _ m =>
      if lo x <? m then
        count l x + (if hi x <=? lo (req y) then 0 else (if lo x <? hi (req y) then 1 else 0) + count r x)
      else 0
  end.

(** [unblock]: the later ranges that overlap x have one blocker less. Also the tickets of those that have none then. *)
Fixpoint unblock (t : tree) (x : request) : tree * list Z :=
  match t with
  | Leaf => (Leaf, [])
  | Node l y r h m =>
      if lo x <? m then
        let '(l', granted) := unblock l x in
        if hi x <=? lo (req y) then (Node l' y r h m, granted)
        else
          let '(y', now) :=
            if (lo x <? hi (req y)) && (ticket x <? ticket (req y))
            then (Entry (req y) (blockers y - 1), if blockers y - 1 =? 0 then [ticket (req y)] else [])
            else (y, []) in
          let '(r', then_) := unblock r x in (Node l' y' r' h m, granted ++ now ++ then_)
      else (t, [])
  end.

(** ** What a tree holds, from left to right *)
Fixpoint elements (t : tree) : list entry :=
  match t with Leaf => [] | Node l x r _ _ => elements l ++ x :: elements r end.
