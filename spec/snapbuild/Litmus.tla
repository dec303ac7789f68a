\* SPDX-License-Identifier: PostgreSQL
--------------------------------- MODULE Litmus ---------------------------------
(* The head of KnownAssignedXids (csrc/snapbuild/known_assigned.c): the startup process appends XIDs while readers, who share   *)
(* ProcArrayLock, go through those below the head. Upstream has barriers in these two places (procarray.c,                      *)
(* KnownAssignedXidsAdd and KnownAssignedXidsGetAndSetXmin).                                                                    *)
(*                                                                                                                              *)
(* store   head_release, in pgq_snapbuild_known_assigned_add       load   head_acquire                                          *)
EXTENDS Orders

Reader == [
    begin |-> {Loads("head", "load" :> "acquire", 1 :> "one" @@ 2 :> "both", "begin")},
    one   |-> {Reads("first", "begin")},
    both  |-> {Reads("first", "more")},
    more  |-> {Reads("second", "begin")}]
Appends == [first |-> [head |-> 0, first |-> "no XID", second |-> "no XID"], threads |-> [
    startup |-> [
        begin     |-> {Puts("first", "XID", "publishes")},
        publishes |-> {Stores("head", "store" :> "release", 1, "adds")},
        adds      |-> {Puts("second", "XID", "ends")},
        ends      |-> {Stores("head", "store" :> "release", 2, "gone")}],
    reader |-> Reader, another |-> Reader]]
=============================================================================
