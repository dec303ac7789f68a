\* SPDX-License-Identifier: PostgreSQL
-------------------------- MODULE APdatfrozenxid ---------------------------
(***************************************************************************)
(* The arithmetic of vac_update_datfrozenxid on the true 2^32, for         *)
(* Apalache: the decision need_update, and the minimum that the scan of    *)
(* pg_class keeps.                                                         *)
(*                                                                         *)
(* An initial state is any choice of normal XIDs; there are no steps.  x   *)
(* and y are two relfrozenxids, low is the minimum so far, other is any    *)
(* value that was read before.  A value survives the check if the last     *)
(* sane XID does not precede it: it lies in (sane - 2^31, sane], where     *)
(* Precedes is a total order.  Lowers is the step of an induction over the *)
(* scan: what was below all values read before is so after one more.       *)
(*                                                                         *)
(* How to break it: Checked = FALSE leaves out the check of the future; the*)
(* minimum then depends on the order in which pg_class is read.            *)
(***************************************************************************)
EXTENDS Integers

CONSTANT
    \* @type: Bool;
    Checked     \* does every value survive the check of the future?

VARIABLES
    \* @type: Int;
    dat,
    \* @type: Int;
    low,
    \* @type: Int;
    x,
    \* @type: Int;
    y,
    \* @type: Int;
    other,
    \* @type: Int;
    sane

INSTANCE Xid WITH Size <- 4294967296, FirstNormal <- 3

\* @type: Set(Int);
Normal == 3..4294967295
Init ==
    /\ dat \in Normal /\ low \in Normal /\ x \in Normal /\ y \in Normal /\ other \in Normal /\ sane \in Normal
    /\ Checked => ~Precedes(sane, low) /\ ~Precedes(sane, x) /\ ~Precedes(sane, y) /\ ~Precedes(sane, other)
Next == UNCHANGED <<dat, low, x, y, other, sane>>

\* @type: (Int, Int) => Int;
Older(p, q) == IF Precedes(p, q) THEN p ELSE q
\* @type: (Int, Int, Int) => Bool;
NeedUpdate(old, new, last) == old # new /\ (Precedes(old, new) \/ Precedes(last, old))

(* Wrong on purpose: an update whenever the values differ.                 *)
\* @type: (Int, Int, Int) => Bool;
AnyDifference(old, new, last) == old # new

(* The decision: an update advances datfrozenxid or mends a future value;  *)
(* without one datfrozenxid does not precede the new value, and is in the  *)
(* future only if it is the new value.  After an update none is needed.    *)
Decides ==
    /\ NeedUpdate(dat, low, sane) => Precedes(dat, low) \/ Precedes(sane, dat)
    /\ ~NeedUpdate(dat, low, sane) => ~Precedes(dat, low) /\ (~Precedes(sane, dat) \/ dat = low)
    /\ ~NeedUpdate(low, low, sane)

(* The minimum: a step keeps it below what was read before, below the new  *)
(* value, and among the survivors; two steps commute.                      *)
Lowers ==
    PrecedesOrEquals(low, other) =>
        /\ PrecedesOrEquals(Older(x, low), other)
        /\ PrecedesOrEquals(Older(x, low), x)
        /\ PrecedesOrEquals(Older(x, low), low)
        /\ Checked => ~Precedes(sane, Older(x, low))
AnyOrder == Older(y, Older(x, low)) = Older(x, Older(y, low))
=============================================================================
