\* SPDX-License-Identifier: PostgreSQL
------------------------------- MODULE mount --------------------------------
(* The end of a mount of tiercache, what may happen to the devices then,   *)
(* and the steps of the next mount.                                        *)
EXTENDS writeback

MarkOf(u) == Mark(u.id, u.n)

Nothing ==
    /\ memory' = Nowhere /\ held' = Empty /\ stale' = {}
    /\ ours' = [ssdInUse |-> FALSE, retiring |-> FALSE, mine |-> None]
    /\ way' = [reading |-> None, waits |-> None, leaving |-> None, needs |-> FALSE]
Down ==
    /\ Nothing /\ phase' = "down"
    /\ flush' = [f \in Flushers |-> Idle]
    /\ report' = [report EXCEPT !.failed = FALSE, !.unreported = FALSE]
Happens == crashes < MaxCrashes /\ bounds' = [bounds EXCEPT !.crashes = @ + 1] /\ UNCHANGED user

\* The process ends. What the kernel has in its cache it gives to reads, and writes one day, unless it forgot that.
Kill ==
    /\ phase # "down" /\ Happens /\ Down
    /\ UNCHANGED <<ssd, file, storage, inPlace, lives>>

\* What each device has, for certain.
IsSsd(slots, u)   == ssd' = [disk |-> slots, diskMay |-> Each(slots), super |-> u, superMay |-> {u}, forgot |-> FALSE]
IsFile(c)         == file' = [control |-> c, controlMay |-> {c}]
IsStore(v, pages) == storage' = [store |-> v, durable |-> Each(v), pending |-> Nowhere, listed |-> pages]

\* The kernel's cache is gone. The SSD may be lost as a whole, or some of its slots.
Leaves(p) == durable[p] \cup Written(p)
PowerLoss ==
    /\ Happens /\ Down
    /\ \E left \in [Pages -> UNION {Leaves(p) : p \in Pages}], kept \in [Slots -> UNION {diskMay[s] : s \in Slots} \cup {None}],
          u \in superMay, c \in controlMay, pages \in SUBSET listed :
          /\ \A p \in Pages : left[p] \in Leaves(p)
          /\ \A s \in Slots : kept[s] \in diskMay[s] \cup {None}
          /\ IsStore(left, pages) /\ IsFile(c)
          /\ IsSsd(kept, u) \/ IsSsd(Empty, None)
    /\ UNCHANGED <<inPlace, lives>>

\* Another SSD comes in place of the SSD: of another store, with any nonce, or one of ours from before the last mount.
SlotsGen(id, n) == Mark(id, n)
Exchange ==
    /\ phase = "down" /\ Happens
    /\ \E u \in earlier \cup {Mark(0, n) : n \in 1..drawn}, s \in Slots, p \in Pages :
          LET gen == SlotsGen(u.id, u.n) IN
          IsSsd([Empty EXCEPT ![s] = [page |-> p, v |-> Alien, dirty |-> TRUE, gen |-> gen]],
                [id |-> u.id, n |-> u.n, gen |-> gen])
    /\ UNCHANGED <<cache, mounting, file, storage, flush, report>>

\* Another store is there in place of the store; and it comes back.
OtherStore ==
    /\ phase = "down"
    /\ inPlace' = ~inPlace
    /\ IF inPlace THEN Happens ELSE UNCHANGED <<user, bounds>>
    /\ UNCHANGED <<cache, phase, lives, ssd, file, storage, flush, report>>

\* Store and control file are made anew. The SSD stays as it is.
SecondLife ==
    /\ phase = "down" /\ life < MaxLives
    /\ lives' = [lives EXCEPT !.life = @ + 1, !.drawn = 0]
    /\ LET zero == [p \in Pages |-> 0] IN
       IsStore(zero, {}) /\ user' = [newest |-> zero, synced |-> zero, allowed |-> Each(zero)]
    /\ IsFile(None) /\ inPlace' = TRUE
    /\ UNCHANGED <<cache, phase, ssd, flush, report, bounds>>

-----------------------------------------------------------------------------
(* A mount: five steps that write, each of which may fail. It is refused without its store or its control file; the next
   one begins anew. Without its SSD it goes on. *)

\* The store's trailer has the id that the control file has. The pages that it lists are read and written again, and the
\* store is synced: what a process that was killed has written becomes what it seems to be. If one of the writes fails, the
\* mount is refused as if the sync had.
Again(p) == p \in listed
MountStore ==
    /\ phase = "down" /\ inPlace
    /\ LET written == [p \in Pages |-> IF Again(p) THEN store[p] ELSE pending[p]]
           also(p) == IF written[p] = None THEN {} ELSE {written[p]}
       IN \/ /\ Works /\ phase' = "scan"
             /\ storage' = [storage EXCEPT !.durable = [p \in Pages |-> IF written[p] = None THEN durable[p] ELSE also(p)],
                                           !.pending = Nowhere, !.listed = {}]
          \/ /\ Fails /\ UNCHANGED phase
             /\ \E left \in {written, Nowhere} :
                   storage' = [storage EXCEPT !.durable = [p \in Pages |-> durable[p] \cup Written(p) \cup also(p)],
                                              !.pending = left]
    /\ UNCHANGED <<user, cache, inPlace, lives, ssd, file, flush, report>>

Trusts(u, c) == u.id = c.id /\ u.n = c.n
IsTrusted == super # None /\ control # None /\ Trusts(super, control)

\* The slots that count are taken over: of a page one. What cannot be read now may be valid later: it is stale, as is what
\* another slot was taken for. In doubt, all others are stale, too. An SSD that is not trusted is taken for empty: its slots
\* are of no generation that counts.
Taken(what) == Slot(what.page, what.v, what.dirty)
Scan ==
    /\ phase = "scan"
    /\ LET id  == IF control = None THEN life ELSE control.id
           gen == IF IsTrusted THEN super.gen ELSE SlotsGen(id, FreshNonce)
           valid == IF IsTrusted THEN {s \in Slots : disk[s] # None /\ disk[s].gen = gen} ELSE {}
           uses(it) == ours' = [ours EXCEPT !.ssdInUse = it, !.mine = [id |-> id, gen |-> gen, n |-> FreshNonce,
                                                     before |-> IF super = None THEN {} ELSE {MarkOf(super)}]]
       IN \/ \E unreadable \in SUBSET valid, chosen \in SUBSET valid :
                /\ IF unreadable = {} THEN Works ELSE Fails
                /\ chosen \cap unreadable = {}
                /\ \A s, t \in chosen : s # t => disk[s].page # disk[t].page
                /\ \A s \in valid \ unreadable : \E t \in chosen : disk[t].page = disk[s].page
                /\ held' = [s \in Slots |-> IF s \in chosen THEN Taken(disk[s]) ELSE None]
                /\ stale' = unreadable \cup (valid \ chosen)
                            \cup (IF forgot /\ IsTrusted THEN Slots \ chosen ELSE {})
                /\ uses(TRUE) /\ phase' = "super"
          \/ Fails /\ uses(ssdInUse) /\ phase' = "control" /\ UNCHANGED <<held, stale>>
    /\ lives' = [lives EXCEPT !.drawn = @ + 1]
    /\ UNCHANGED <<user, memory, way, inPlace, ssd, file, storage, flush, report>>

\* An SSD that fails is not used in this mount. Its superblock may have this mount's nonce: control gets another one.
SetAside ==
    /\ held' = Empty /\ stale' = {}
    /\ ours' = [ours EXCEPT !.ssdInUse = FALSE, !.mine.n = FreshNonce]
    /\ lives' = [lives EXCEPT !.drawn = @ + 1]
    /\ phase' = "control"

WriteSuper ==
    /\ phase = "super"
    /\ LET new == [id |-> mine.id, n |-> mine.n, gen |-> mine.gen]
           has(u) == ssd' = [ssd EXCEPT !.super = u, !.superMay = @ \cup {new}]
       IN \/ Works /\ has(new) /\ phase' = "sync" /\ UNCHANGED <<held, stale, ours, lives>>
          \/ Fails /\ (\E u \in {super, new} : has(u)) /\ SetAside
    /\ UNCHANGED <<user, memory, way, inPlace, file, storage, flush, report>>

\* What was taken over is durable. In doubt it was written again, and what a slot has that was not is not known.
TakenOver == [s \in Slots |-> IF forgot /\ held[s] = None THEN diskMay[s] ELSE {disk[s]}]
SyncSuper ==
    /\ phase = "sync"
    /\ \/ /\ Works /\ phase' = "control" /\ UNCHANGED <<held, stale, ours, lives>>
          /\ ssd' = [ssd EXCEPT !.superMay = {super}, !.diskMay = TakenOver, !.forgot = FALSE]
       \/ Fails /\ SetAside /\ UNCHANGED ssd
    /\ UNCHANGED <<user, memory, way, inPlace, file, storage, flush, report>>

WriteControl ==
    /\ phase = "control"
    /\ LET new == Mark(mine.id, mine.n)
           has(c) == file' = [control |-> c, controlMay |-> controlMay \cup {new}]
       IN \/ Works /\ has(new) /\ phase' = "confirm" /\ UNCHANGED <<cache, flush, report>>
          \/ Fails /\ (\E c \in {control, new} : has(c)) /\ Down
    /\ UNCHANGED <<user, inPlace, lives, ssd, storage>>

\* From here on no mount trusts a slot of another generation: the model drops those.
MayCount(what) == \E u \in superMay : u # None /\ Trusts(u, control) /\ what.gen = u.gen
Counting(what) == IF what = None THEN None ELSE IF MayCount(what) THEN what ELSE None
SyncControl ==
    /\ phase = "confirm"
    /\ \/ /\ Works /\ IsFile(control) /\ phase' = "up"
          /\ user' = [user EXCEPT !.newest = [p \in Pages |-> View(p)]]
          /\ ssd' = [ssd EXCEPT !.disk = [s \in Slots |-> Counting(disk[s])],
                                !.diskMay = [s \in Slots |-> {Counting(what) : what \in diskMay[s]}]]
          /\ lives' = [lives EXCEPT !.earlier = @ \cup mine.before]
          /\ ours' = [ours EXCEPT !.mine = [id |-> mine.id, gen |-> mine.gen]]
          /\ UNCHANGED <<memory, held, stale, way, flush, report>>
       \/ Fails /\ Down /\ UNCHANGED <<user, ssd, file, lives>>
    /\ UNCHANGED <<inPlace, storage>>
=============================================================================
