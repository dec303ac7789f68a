\* SPDX-License-Identifier: PostgreSQL
------------------------------- MODULE MCXid -------------------------------
(* XidLaws on small rings, with the wrong definitions of XidMutants.       *)
EXTENDS XidMutants

\* The ring's size counts as an XID.
OneTooMany == 0..Size

\* Denials of states that must be among the choices.
NeverAcrossTheWrap == ~(IsNormal(z) /\ z < y /\ Precedes(x, y) /\ Precedes(y, z))
=============================================================================
