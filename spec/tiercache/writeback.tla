\* SPDX-License-Identifier: PostgreSQL
----------------------------- MODULE writeback ------------------------------
(* Write-backs of tiercache: they gather, take old contents off the SSD,   *)
(* write the store, sync it, and call the pages clean.                     *)
EXTENDS memory

Idle == [at |-> "idle", fsync |-> FALSE, target |-> None, from |-> 0, has |-> None, dirty |-> {}, off |-> {}]
Goto(f, label) == flush' = [flush EXCEPT ![f].at = label]
Alone(f) == \A other \in Flushers \ {f} : flush[other].at = "idle"

\* A write-back takes the dirty pages, and the clean ones at hand, to write them with the block. What is stale then it is to
\* overwrite on the SSD. An fsync does so with nothing dirty, too.
Wanted == {p \in Pages : Dirty(p)}
AtHand == {p \in Pages : InMemory(p) \/ OnSsd(p)}
NothingToWrite(f) == flush[f].dirty = {}
ToStore(f) == IF NothingToWrite(f) THEN "clean" ELSE "write"
Gather(f, fsync) ==
    /\ Up /\ flush[f].at = "idle" /\ Alone(f)
    /\ IF fsync THEN TRUE ELSE Wanted # {}
    /\ LET after == IF Wanted = {} THEN "clean" ELSE "write"
           next == IF ssdInUse THEN "scrub" ELSE IF retiring THEN "retire" ELSE after
       IN flush' = [flush EXCEPT ![f] = [at |-> next, fsync |-> fsync, target |-> newest, from |-> writes, dirty |-> Wanted,
                                         has |-> IF Wanted = {} THEN None ELSE [p \in AtHand |-> View(p)],
                                         off |-> IF next = "scrub" THEN stale ELSE {}]]
    /\ UNCHANGED <<user, cache, mounting, ssd, file, storage, report, bounds>>

\* A slot that is being written is waited for: then it has its page, or is stale still. So is one that is read.
Settled(s) == (IF leaving = None THEN TRUE ELSE leaving.slot # s) /\ ~(s \in stale /\ Used(s))
Scrub(f) ==
    /\ flush[f].at = "scrub" /\ \A s \in flush[f].off : Settled(s)
    /\ LET off == flush[f].off \cap stale
       IN \E done \in SUBSET off :
          /\ ssd' = [ssd EXCEPT !.disk = [s \in Slots |-> IF s \in done THEN None ELSE disk[s]],
                                !.diskMay = [s \in Slots |-> IF s \in off THEN diskMay[s] \cup {None} ELSE diskMay[s]]]
          /\ \/ /\ Works /\ done = off
                /\ stale' = stale \ flush[f].off
                /\ flush' = [flush EXCEPT ![f].at = "gathered", ![f].off = {}]
             \/ /\ Fails /\ off # {}
                /\ stale' = stale \ done
                /\ flush' = [flush EXCEPT ![f].at = "retire", ![f].off = {}]
    /\ UNCHANGED <<user, memory, held, way, ours, mounting, file, storage, report>>

SyncSsd(f) ==
    /\ flush[f].at = "gathered"
    /\ \/ Works /\ ssd' = [ssd EXCEPT !.diskMay = Each(disk)] /\ Goto(f, ToStore(f))
       \/ Fails /\ \E lost \in BOOLEAN : ssd' = [ssd EXCEPT !.forgot = lost] /\ Goto(f, "retire")
    /\ UNCHANGED <<user, cache, mounting, file, storage, report>>

\* No restart will trust the SSD any more: the control file gets a nonce that no superblock has carried. If that fails, it
\* may have it, or not. The SSD's dirty pages stay where they are.
FreshNonce == drawn + 1
Mark(id, n) == [id |-> id, n |-> n]
Retire(f) ==
    /\ flush[f].at = "retire"
    /\ held' = [s \in Slots |-> IF held[s] # None /\ held[s].dirty THEN held[s] ELSE None]
    /\ lives' = [lives EXCEPT !.drawn = @ + 1]
    /\ LET new == Mark(mine.id, FreshNonce) IN
       \/ /\ Works /\ file' = [control |-> new, controlMay |-> {new}] /\ Goto(f, ToStore(f))
          /\ ours' = [ours EXCEPT !.ssdInUse = FALSE, !.retiring = FALSE] /\ ssd' = [ssd EXCEPT !.forgot = FALSE]
       \/ /\ Fails /\ \E c \in {control, new} : file' = [control |-> c, controlMay |-> controlMay \cup {new}]
          /\ ours' = [ours EXCEPT !.ssdInUse = FALSE, !.retiring = TRUE] /\ Goto(f, "failed") /\ UNCHANGED ssd
    /\ UNCHANGED <<user, memory, stale, way, phase, inPlace, storage, report>>

Written(p) == IF pending[p] = None THEN {} ELSE {pending[p]}

\* If a write fails, part of it may have come there. Before, the trailer lists the pages; if that fails, nothing is written.
WriteStore(f) ==
    /\ flush[f].at = "write"
    /\ \E part \in SUBSET DOMAIN flush[f].has :
          /\ \/ Works /\ part = DOMAIN flush[f].has /\ Goto(f, "sync")
             \/ Fails /\ Goto(f, "failed")
          /\ storage' =
                [store |-> [p \in Pages |-> IF p \in part THEN flush[f].has[p] ELSE store[p]],
                 pending |-> [p \in Pages |-> IF p \in part THEN flush[f].has[p] ELSE pending[p]],
                 durable |-> [p \in Pages |-> IF p \in part THEN durable[p] \cup Written(p) ELSE durable[p]],
                 listed |-> listed \cup flush[f].dirty]
    /\ UNCHANGED <<user, cache, mounting, ssd, file, report>>

\* If a sync fails, what it was to make durable became so or not. The kernel forgets it, or writes it with a later sync.
SyncStore(f) ==
    /\ flush[f].at = "sync"
    /\ \/ /\ Works /\ Goto(f, "clean")
          /\ storage' = [storage EXCEPT !.durable = [p \in Pages |-> IF pending[p] = None THEN durable[p] ELSE {pending[p]}],
                                        !.pending = Nowhere, !.listed = @ \ flush[f].dirty]
       \/ /\ Fails /\ Goto(f, "failed")
          /\ \E left \in {pending, Nowhere} :
                storage' = [storage EXCEPT !.durable = [p \in Pages |-> durable[p] \cup Written(p)], !.pending = left]
    /\ UNCHANGED <<user, cache, mounting, ssd, file, report>>

\* A page is clean if it was not written since it was gathered.
Unchanged(f, p, v) == flush[f].has[p] = v
CallClean(f) ==
    /\ memory' = [p \in Pages |-> IF p \in flush[f].dirty /\ InMemory(p) /\ Unchanged(f, p, memory[p].v)
                                  THEN Copy(memory[p].v, FALSE) ELSE memory[p]]
    /\ held' = [s \in Slots |-> IF held[s] # None /\ held[s].page \in flush[f].dirty
                                   /\ Unchanged(f, held[s].page, held[s].v)
                                THEN Slot(held[s].page, held[s].v, FALSE) ELSE held[s]]

\* An fsync gives an error if it has failed, or if a write-back has since the last one.
Report(f, bad) ==
    IF flush[f].fsync
    THEN /\ report' = [failed |-> FALSE, unreported |-> FALSE, lied |-> lied \/ (~bad /\ unreported)]
         /\ user' = IF bad THEN user
                    ELSE [user EXCEPT !.synced = flush[f].target,
                                      !.allowed = [p \in Pages |->
                                          {flush[f].target[p]} \cup {v \in allowed[p] : v > flush[f].from}]]
    ELSE report' = [report EXCEPT !.failed = bad] /\ UNCHANGED user

Succeed(f) ==
    /\ flush[f].at = "clean"
    /\ CallClean(f)
    /\ Report(f, failed)
    /\ flush' = [flush EXCEPT ![f] = Idle]
    /\ UNCHANGED <<stale, way, ours, mounting, ssd, file, storage, bounds>>

\* Everything stays dirty; the next fsync gives the error.
AfterFailure(f) == UNCHANGED <<memory, held>>
Fail(f) ==
    /\ flush[f].at = "failed"
    /\ AfterFailure(f)
    /\ IF flush[f].fsync THEN Report(f, TRUE)
       ELSE report' = [report EXCEPT !.failed = TRUE, !.unreported = TRUE] /\ UNCHANGED user
    /\ flush' = [flush EXCEPT ![f] = Idle]
    /\ UNCHANGED <<stale, way, ours, mounting, ssd, file, storage, bounds>>

Flush(f) ==
    \/ \E fsync \in BOOLEAN : Gather(f, fsync)
    \/ Scrub(f) \/ SyncSsd(f) \/ Retire(f) \/ WriteStore(f) \/ SyncStore(f) \/ Succeed(f) \/ Fail(f)
=============================================================================
