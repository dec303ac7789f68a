\* SPDX-License-Identifier: PostgreSQL
------------------------------- MODULE types --------------------------------
(* What each variable of datfrozenxid may hold.                            *)
EXTENDS catalogs

Optional == Normals \cup {0}
Locals == [new : Optional, sane : Optional, nextXid : Optional, todo : SUBSET (Tables \cup Databases),
           dirty : BOOLEAN, bad : BOOLEAN]
TypeOK ==
    /\ next \in Normals /\ hold \in Optional /\ clog \in Normals /\ limit \in Normals
    /\ passed \in [Databases -> Optional] /\ freezing \in [Tables -> Optional]
    /\ rel \in [Tables -> [status : {"none", "new", "live", "copied", "dropped"}, frozen : Optional, oldest : Optional]]
    /\ row \in [Databases -> [status : {"none", "new", "live"}, frozen : Optional]]
    /\ pc \in [Workers -> {"idle", "begun"} \cup InDatabase]
    /\ my \in [Workers -> Locals] /\ cache \in [Workers -> Optional]
    /\ pending \in [Workers -> SUBSET {"row", "other"}]
    /\ snap \in [Workers -> [xmin : Optional, rels : SUBSET Tables, rows : SUBSET Databases, altered : BOOLEAN]]
    /\ alter \in [pc : {"none", "read", "written", "committed", "sent"}, db : Databases \cup {""}, before : Optional,
                  after : Optional]
    /\ alter.pc # "none" => row[alter.db].status = "live"
    /\ copy \in [pc : {"none", "copied", "committed"}, xid : Optional]
    /\ unsent \subseteq Tables \cup {"copy"} /\ crashes \in {0, 1}
    /\ \A w \in Workers :
          /\ pc[w] \in InDatabase => my[w].new \in Normals
          /\ my[w].todo \subseteq CASE pc[w] = "scan" -> TablesOf(DbOf[w]) [] pc[w] = "rows" -> Databases [] OTHER -> {}
=============================================================================
