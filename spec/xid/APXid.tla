\* SPDX-License-Identifier: PostgreSQL
------------------------------- MODULE APXid -------------------------------
(* The laws of XidLaws on the server's own ring, 2^32, for Apalache: no    *)
(* bound is smaller than the real one.                                     *)
EXTENDS Integers

CONSTANTS
    \* @type: Int;
    Span,
    \* @type: Bool;
    WithOpposite

VARIABLES
    \* @type: Int;
    x,
    \* @type: Int;
    y,
    \* @type: Int;
    z

INSTANCE XidMutants WITH Size <- 4294967296, FirstNormal <- 3, Epochs <- 1..4294967295

=============================================================================
