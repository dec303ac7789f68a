\* SPDX-License-Identifier: PostgreSQL
----------------------------- MODULE logicalctl -----------------------------
(***************************************************************************)
(* Logical decoding that is switched on and off while a server runs (19,   *)
(* with wal_level = replica): on by who creates the first logical slot,    *)
(* off by the checkpointer some time after the last one is gone.           *)
(*                                                                         *)
(* Two flags are in shared memory.  With xlog_logical_info transactions    *)
(* write what decoding needs; each process has a copy, which it renews     *)
(* when it takes note of a ProcSignalBarrier, or, if it has an XID then,   *)
(* at the end of its transaction.  With logical_decoding_enabled slots may *)
(* decode.  Who switches on sets the first, waits until all have taken     *)
(* note, sets the second, and writes a record of it.  The checkpointer     *)
(* looks for slots, clears both, and waits for nobody.  A standby does as  *)
(* the records say; when it is promoted, its own slots decide.             *)
(* Upstream: src/backend/replication/logical/logicalctl.c,                 *)
(* StartupLogicalDecodingStatus, ProcessBarrierUpdateXLogLogicalInfo,      *)
(* AtEOXact_LogicalCtl, EnsureLogicalDecodingEnabled,                      *)
(* abort_logical_decoding_activation, EnableLogicalDecoding,               *)
(* RequestDisableLogicalDecoding, DisableLogicalDecodingIfNecessary,       *)
(* DisableLogicalDecoding, UpdateLogicalDecodingStatusEndOfRecovery;       *)
(* src/backend/replication/logical/slotsync.c,                             *)
(* update_and_persist_local_synced_slot;                                   *)
(* src/backend/replication/slotfuncs.c, create_logical_replication_slot;   *)
(* src/backend/replication/slot.c, CheckLogicalSlotExists,                 *)
(* ReplicationSlotReserveWal, ReplicationSlotDropAcquired;                 *)
(* src/backend/storage/ipc/standby.c, LogStandbySnapshot;                  *)
(* src/backend/replication/logical/logical.c,                              *)
(* CheckLogicalDecodingRequirements, CreateInitDecodingContext;            *)
(* src/backend/access/transam/xlog.c, xlog_redo.                           *)
(* As of f20c427834 (20devel), but for what Holds says.                    *)
(*                                                                         *)
(* What is modelled                                                        *)
(*   - Each stretch of code between two locks is a step of its own.        *)
(*   - The WAL is what a slot finds behind its start: spoilt has "status"  *)
(*     (a record of a switch, on which decoding gives up for good),        *)
(*     "plain" (a change without what decoding needs, of a transaction     *)
(*     that the builder does not pass over), "stale" (a running-xacts      *)
(*     record with a transaction that had ended before it).                *)
(*   - Slots of three sorts: created on a primary, on a standby, and       *)
(*     copied to a standby from its primary (slotsync).                    *)
(* What is simplified                                                      *)
(*   - On a standby a record of a switch is replayed when it is written,   *)
(*     and what waits for its barrier is not modelled: a standby writes    *)
(*     nothing.                                                            *)
(*   - A transaction that runs when a slot reserves its WAL is passed      *)
(*     over; upstream's builder passes over some that begin later, too.    *)
(*   - A crash is where a behaviour may begin: in recovery, with what the  *)
(*     checkpoint's record says.  wal_level = logical, where nothing is    *)
(*     switched, is left out.                                              *)
(*                                                                         *)
(* How to break it: leave out a check (LooksAgain, AlreadyOn), clear   *)
(* flags where an activation is interrupted, do not wait for the barrier.  *)
(* The mutants and bugs of MClogicalctl do these.                          *)
(***************************************************************************)
EXTENDS FiniteSets, Naturals

CONSTANTS
    Creators,       \* who create slots, one at a time each
    Writers,        \* who run transactions
    Copies,         \* of Creators, those who copy a slot of the primary
    Starts,         \* the phases in which a behaviour may begin: "recovery", "normal"
    Minimal,        \* wal_level is minimal since the last start: then there are no slots
    Toggles         \* how many records of a switch the primary may still write

VARIABLES
    phase,          \* "recovery"; "promoted" (the status is decided, and recovery has not ended), or "switched" (it
                    \* is another one, and there is a record of it); "normal"
    replaying,      \* the startup process has switched off, and not yet invalidated the slots
    toggles,        \* records that the primary has written
    info,           \* xlog_logical_info
    enabled,        \* logical_decoding_enabled
    pending,        \* pending_disable
    disabling,      \* the checkpointer has seen a request
    cache,          \* of each writer: XLogLogicalInfo
    told,           \* those who have not taken note of a barrier yet
    late,           \* XLogLogicalInfoUpdatePending
    xid,            \* writers whose transaction has an XID
    pc,             \* of each creator
    slot,           \* of each creator: "none", "used", "ready", "invalid"
    waits,          \* of each creator: for whom it waits
    reserved,       \* creators whose slot has a start
    old,            \* of each creator: the transactions that its builder passes over
    spoilt,         \* of each creator: what lies behind its start
    snap            \* who writes a running-xacts record: where, what it read, what it lists

shared  == <<info, enabled, pending>>
caches  == <<cache, told, late>>
slots   == <<slot, waits, reserved, old, spoilt>>
startup == <<phase, replaying, toggles>>
vars    == <<startup, shared, disabling, caches, xid, pc, slots, snap>>

Snapper  == "snapper"
Procs    == Writers \cup {Snapper}
Recovers == phase # "normal"
Idle     == [at |-> "idle", holds |-> FALSE, lists |-> {}]

(* CheckLogicalSlotExists *)
SlotExists == \E c \in Creators : slot[c] \in {"used", "ready"}

Init ==
    /\ phase \in Starts
    /\ replaying = FALSE /\ toggles = 0
    /\ enabled \in IF phase = "recovery" THEN BOOLEAN ELSE {FALSE}
    /\ info = enabled /\ pending = FALSE /\ disabling = FALSE
    /\ cache = [w \in Writers |-> info] /\ told = {} /\ late = {} /\ xid = {}
    /\ pc = [c \in Creators |-> "idle"]
    /\ slot = [c \in Creators |-> "none"]
    /\ waits = [c \in Creators |-> {}]
    /\ reserved = {}
    /\ old = [c \in Creators |-> {}]
    /\ spoilt = [c \in Creators |-> {}]
    /\ snap = Idle

Goto(c, label) == pc' = [pc EXCEPT ![c] = label]
(* A record is written behind the starts of these slots. *)
Spoils(what, which) == spoilt' = [c \in Creators |-> IF c \in which THEN spoilt[c] \cup {what} ELSE spoilt[c]]

-----------------------------------------------------------------------------
(* Transactions.  Nobody gets an XID while XidGenLock is held, and nobody  *)
(* ends while ProcArrayLock is.                                            *)
Begin(w) ==
    /\ phase = "normal" /\ w \notin xid /\ snap.at # "listed"
    /\ xid' = xid \cup {w}
    /\ UNCHANGED <<startup, shared, disabling, caches, pc, slots, snap>>

Write(w) ==
    /\ w \in xid /\ ~cache[w]
    /\ Spoils("plain", {c \in reserved : w \notin old[c]})
    /\ UNCHANGED <<startup, shared, disabling, caches, xid, pc, slot, waits, reserved, old, snap>>

End(w) ==
    /\ w \in xid /\ ~(snap.at = "listed" /\ snap.holds)
    /\ xid' = xid \ {w}
    /\ old' = [c \in Creators |-> old[c] \ {w}]
    /\ cache' = IF w \in late THEN [cache EXCEPT ![w] = info] ELSE cache
    /\ late' = late \ {w}
    /\ UNCHANGED <<startup, shared, disabling, told, pc, slot, waits, reserved, spoilt, snap>>

(* Of several barriers that a process has not noted it notes all at once.  *)
(* Who writes a running-xacts record notes none meanwhile.                 *)
Absorb(p) ==
    /\ p \in told
    /\ p = Snapper => snap = Idle
    /\ told' = told \ {p}
    /\ waits' = [c \in Creators |-> waits[c] \ {p}]
    /\ late' = IF p \in xid THEN late \cup {p} ELSE late
    /\ cache' = IF p \in Writers \ xid THEN [cache EXCEPT ![p] = info] ELSE cache
    /\ UNCHANGED <<startup, shared, disabling, xid, pc, slot, reserved, old, spoilt, snap>>

(* LogStandbySnapshot.  Holds is whether ProcArrayLock stays held until    *)
(* the record is written; upstream asks for enabled.                       *)
Holds == info

SnapReads ==
    /\ phase = "normal" /\ snap = Idle
    /\ snap' = [Idle EXCEPT !.at = "read", !.holds = Holds]
    /\ UNCHANGED <<startup, shared, disabling, caches, xid, pc, slots>>

SnapLists ==
    /\ snap.at = "read"
    /\ snap' = [snap EXCEPT !.at = "listed", !.lists = xid]
    /\ UNCHANGED <<startup, shared, disabling, caches, xid, pc, slots>>

SnapWrites ==
    /\ snap.at = "listed"
    /\ snap' = Idle
    /\ Spoils("stale", IF snap.lists \subseteq xid THEN {} ELSE reserved)
    /\ UNCHANGED <<startup, shared, disabling, caches, xid, pc, slot, waits, reserved, old>>

-----------------------------------------------------------------------------
(* Creating a slot *)

(* CheckLogicalDecodingRequirements; a copy begins with what it is told of *)
(* the primary's slot, which has a start already.                          *)
Check(c) ==
    /\ ~Minimal /\ pc[c] = "idle" /\ slot[c] = "none"
    /\ Recovers => enabled
    /\ c \in Copies => phase = "recovery"
    /\ Goto(c, "checked")
    /\ reserved' = IF c \in Copies THEN reserved \cup {c} ELSE reserved
    /\ UNCHANGED <<startup, shared, disabling, caches, xid, slot, waits, old, spoilt, snap>>

Create(c) ==
    /\ pc[c] = "checked"
    /\ slot' = [slot EXCEPT ![c] = "used"]
    /\ Goto(c, "created")
    /\ UNCHANGED <<startup, shared, disabling, caches, xid, waits, reserved, old, spoilt, snap>>

(* In recovery it is looked again whether decoding is on, now that whoever *)
(* switches it off would see the slot.                                     *)
LooksAgain(c) == enabled

EnsureInRecovery(c) ==
    /\ pc[c] = "created" /\ (Recovers \/ c \in Copies)
    /\ Goto(c, IF LooksAgain(c) THEN IF c \in Copies THEN "reserved" ELSE "enabled" ELSE "failed")
    /\ UNCHANGED <<startup, shared, disabling, caches, xid, slots, snap>>

(* EnableLogicalDecoding, up to the barrier, *)
StartEnabling(c) ==
    /\ pc[c] = "created" /\ ~Recovers /\ c \notin Copies
    /\ IF enabled
       THEN /\ pending' = FALSE
            /\ Goto(c, "enabled")
            /\ UNCHANGED <<info, told, waits>>
       ELSE /\ info' = TRUE
            /\ told' = Procs /\ waits' = [waits EXCEPT ![c] = Procs]
            /\ Goto(c, "waiting")
            /\ UNCHANGED pending
    /\ UNCHANGED <<startup, enabled, disabling, cache, late, xid, slot, reserved, old, spoilt, snap>>

(* and behind it.  Somebody else may have been faster. *)
AlreadyOn == enabled

FinishEnabling(c) ==
    /\ pc[c] = "waiting" /\ waits[c] = {}
    /\ enabled' = TRUE /\ pending' = FALSE
    /\ Spoils("status", IF AlreadyOn THEN {} ELSE reserved)
    /\ Goto(c, "enabled")
    /\ UNCHANGED <<startup, info, disabling, caches, xid, slot, waits, reserved, old, snap>>

(* An interruption while it waits: the callback asks the checkpointer. *)
AbortEnabling(c) ==
    /\ pc[c] = "waiting"
    /\ pending' = TRUE
    /\ waits' = [waits EXCEPT ![c] = {}]
    /\ Goto(c, "failed")
    /\ UNCHANGED <<startup, info, enabled, disabling, caches, xid, slot, reserved, old, spoilt, snap>>

(* CreateInitDecodingContext checks anew.  In recovery the start is where  *)
(* replay is: before the record of its end.                                *)
Reserve(c) ==
    /\ pc[c] = "enabled"
    /\ IF Recovers /\ ~enabled
       THEN Goto(c, "failed") /\ UNCHANGED <<reserved, old>>
       ELSE /\ Goto(c, "reserved")
            /\ reserved' = reserved \cup {c}
            /\ old' = [old EXCEPT ![c] = xid]
    /\ Spoils("status", IF phase = "switched" THEN {c} ELSE {})
    /\ UNCHANGED <<startup, shared, disabling, caches, xid, slot, waits, snap>>

(* A builder that meets a record of a switch gives up. *)
Finish(c) ==
    /\ pc[c] = "reserved"
    /\ IF "status" \in spoilt[c] /\ c \notin Copies
       THEN Goto(c, "failed") /\ UNCHANGED slot
       ELSE Goto(c, "idle") /\ slot' = [slot EXCEPT ![c] = "ready"]
    /\ UNCHANGED <<startup, shared, disabling, caches, xid, waits, reserved, old, spoilt, snap>>

(* A slot that is to be invalidated while it is created: its creator is interrupted. *)
Interrupt(c) ==
    /\ replaying /\ slot[c] = "used" /\ pc[c] # "failed"
    /\ Goto(c, "failed")
    /\ UNCHANGED <<startup, shared, disabling, caches, xid, slots, snap>>

(* A slot goes, by an error or because it is dropped; then the checkpointer is asked. *)
Drop(c) ==
    /\ pc[c] = "failed" \/ (pc[c] = "idle" /\ slot[c] \in {"ready", "invalid"})
    /\ slot' = [slot EXCEPT ![c] = "none"]
    /\ reserved' = reserved \ {c}
    /\ old' = [old EXCEPT ![c] = {}] /\ spoilt' = [spoilt EXCEPT ![c] = {}]
    /\ Goto(c, "dropped")
    /\ UNCHANGED <<startup, shared, disabling, caches, xid, waits, snap>>

Request(c) ==
    /\ pc[c] = "dropped"
    /\ pending' = TRUE
    /\ Goto(c, "idle")
    /\ UNCHANGED <<startup, info, enabled, disabling, caches, xid, slots, snap>>

-----------------------------------------------------------------------------
(* The checkpointer: DisableLogicalDecodingIfNecessary, DisableLogicalDecoding *)
SeeRequest ==
    /\ ~Minimal /\ ~Recovers /\ pending /\ ~disabling
    /\ disabling' = TRUE
    /\ UNCHANGED <<startup, shared, caches, xid, pc, slots, snap>>

MayDisable == ~SlotExists

Disable ==
    /\ disabling
    /\ disabling' = FALSE /\ pending' = FALSE
    /\ IF (enabled \/ info) /\ MayDisable
       THEN /\ enabled' = FALSE /\ info' = FALSE
            /\ Spoils("status", IF enabled THEN reserved ELSE {})
            /\ told' = Procs
       ELSE UNCHANGED <<info, enabled, spoilt, told>>
    /\ UNCHANGED <<startup, cache, late, xid, pc, slot, waits, reserved, old, snap>>

-----------------------------------------------------------------------------
(* The startup process *)

(* xlog_redo; the primary writes a record when it has switched. *)
Replay ==
    /\ phase = "recovery" /\ ~replaying /\ toggles < Toggles
    /\ toggles' = toggles + 1
    /\ enabled' = ~enabled /\ info' = ~enabled
    /\ pending' = FALSE
    /\ told' = Procs
    /\ replaying' = enabled
    /\ Spoils("status", reserved)
    /\ UNCHANGED <<phase, disabling, cache, late, xid, pc, slot, waits, reserved, old, snap>>

Invalidate ==
    /\ replaying /\ \A c \in Creators : slot[c] # "used"
    /\ replaying' = FALSE
    /\ slot' = [c \in Creators |-> IF slot[c] = "ready" THEN "invalid" ELSE slot[c]]
    /\ pending' = (pending \/ SlotExists)
    /\ UNCHANGED <<phase, toggles, info, enabled, disabling, caches, xid, pc, waits, reserved, old, spoilt, snap>>

(* UpdateLogicalDecodingStatusEndOfRecovery; it waits for its barrier before anybody may write. *)
Decides == TRUE
StatusAtEnd == SlotExists

EndRecovery ==
    /\ phase = "recovery" /\ ~replaying
    /\ \A c \in Copies : pc[c] \in {"idle", "dropped"}  \* slotsync has been stopped
    /\ phase' = IF Decides /\ StatusAtEnd # enabled THEN "switched" ELSE "promoted"
    /\ IF Decides /\ StatusAtEnd # enabled
       THEN /\ info' = StatusAtEnd /\ enabled' = StatusAtEnd /\ pending' = FALSE
            /\ Spoils("status", reserved)
       ELSE UNCHANGED <<shared, spoilt>>
    /\ told' = Procs
    /\ UNCHANGED <<replaying, toggles, disabling, cache, late, xid, pc, slot, waits, reserved, old, snap>>

AcceptWrites ==
    /\ phase \in {"promoted", "switched"} /\ told = {}
    /\ phase' = "normal"
    /\ UNCHANGED <<replaying, toggles, shared, disabling, caches, xid, pc, slots, snap>>

Next ==
    \/ \E w \in Writers : Begin(w) \/ Write(w) \/ End(w)
    \/ \E p \in Procs : Absorb(p)
    \/ SnapReads \/ SnapLists \/ SnapWrites
    \/ \E c \in Creators :
           \/ Check(c) \/ Create(c) \/ EnsureInRecovery(c) \/ StartEnabling(c) \/ FinishEnabling(c)
           \/ AbortEnabling(c) \/ Reserve(c) \/ Finish(c) \/ Interrupt(c) \/ Drop(c) \/ Request(c)
    \/ SeeRequest \/ Disable
    \/ Replay \/ Invalidate \/ EndRecovery \/ AcceptWrites

Spec == Init /\ [][Next]_vars

-----------------------------------------------------------------------------
TypeOK ==
    /\ phase \in {"recovery", "promoted", "switched", "normal"} /\ toggles \in 0..Toggles
    /\ {replaying, info, enabled, pending, disabling} \subseteq BOOLEAN
    /\ cache \in [Writers -> BOOLEAN]
    /\ told \subseteq Procs /\ late \subseteq xid /\ xid \subseteq Writers
    /\ pc \in [Creators -> {"idle", "checked", "created", "waiting", "enabled", "reserved", "failed", "dropped"}]
    /\ slot \in [Creators -> {"none", "used", "ready", "invalid"}]
    /\ waits \in [Creators -> SUBSET Procs]
    /\ reserved \subseteq Creators
    /\ old \in [Creators -> SUBSET Writers]
    /\ spoilt \in [Creators -> SUBSET {"status", "plain", "stale"}]
    /\ snap \in [at : {"idle", "read", "listed"}, holds : BOOLEAN, lists : SUBSET Writers]

(* A slot that is there, and that no replay is about to invalidate *)
Usable(c) == slot[c] = "ready" /\ ~replaying

(* What decodes has all that it needs, and meets nothing on which it gives up. *)
Decodable == \A c \in Creators : Usable(c) => "status" \notin spoilt[c] /\ "plain" \notin spoilt[c]

(* A running-xacts record that a builder reads lists nobody who has ended before it. *)
RecordsAreTrue == \A c \in Creators : Usable(c) => "stale" \notin spoilt[c]

(* While there is a slot, decoding is on. *)
SlotsAreOn == \A c \in Creators : Usable(c) => enabled

(* No slot decodes what may be written without what it needs. *)
EnabledWrites == enabled => info

(* Nobody creates a slot in vain because of a record of a switch. *)
CreatedAtOnce ==
    \A c \in Creators : pc[c] = "reserved" /\ c \notin Copies /\ ~replaying => "status" \notin spoilt[c]

(* With wal_level = minimal nothing is on. *)
MinimalIsOff == Minimal /\ phase # "recovery" => ~enabled /\ ~info

-----------------------------------------------------------------------------
(* Liveness: each process goes on; who creates slots may stop to. *)
Fairness ==
    /\ \A p \in Procs : SF_vars(Absorb(p))
    /\ WF_vars(SnapLists) /\ WF_vars(SnapWrites)
    /\ \A w \in Writers : WF_vars(End(w))
    /\ \A c \in Creators :
           /\ WF_vars(Create(c) \/ EnsureInRecovery(c) \/ StartEnabling(c) \/ FinishEnabling(c) \/ Reserve(c)
                      \/ Finish(c) \/ Interrupt(c) \/ Request(c))
           /\ WF_vars(Drop(c) /\ pc[c] = "failed")
    /\ WF_vars(SeeRequest) /\ WF_vars(Disable)
    /\ WF_vars(Invalidate) /\ WF_vars(EndRecovery) /\ WF_vars(AcceptWrites)

FairSpec == Spec /\ Fairness

NobodyUses == \A c \in Creators : pc[c] = "idle" /\ slot[c] = "none"

(* If slots are gone for good, no more is written than without them. *)
GoesOff == <>[]NobodyUses => <>[](~enabled /\ ~info)

(* Who creates a slot comes to an end. *)
CreationEnds == \A c \in Creators : pc[c] = "created" ~> pc[c] \in {"idle", "dropped"}
=============================================================================
