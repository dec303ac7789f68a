\* SPDX-License-Identifier: PostgreSQL
\* What 'pgquern show' says of the steps of datfrozenxid, and of what is broken: spec/tools/sentences.py has the form.

module commands
CreateTable STEP t \in Tables | creator of table {t} | creates table {t} in database {DbOf[t]} as transaction {next}: relfrozenxid {rel'[t].frozen}.
    Nobody else sees it yet
CommitTable STEP t \in Tables | creator of table {t} | commits: from now on snapshots show table {t}
AbortTable STEP t \in Tables | creator of table {t} | rolls back: table {t} is gone
DropTable STEP t \in Tables | a session in database {DbOf[t]} | drops table {t}, and commits
SendTable SMALL t \in Tables | a session in database {DbOf[t]} | sends the messages of the commit about table {t}
AlterRead STEP d \in Databases | ALTER DATABASE | reads the row of database {d}, to make a new version of it, with datfrozenxid {alter'.after}
AlterWrite STEP | ALTER DATABASE | writes the new version of the row of database {alter.db}, not committed yet
AlterCommit STEP | ALTER DATABASE -> pg_database | commits: the new version counts, with datfrozenxid {alter.after}. The old one had
    {row[alter.db].frozen}
AlterSend STEP | ALTER DATABASE | sends its messages: the row of database {alter.db} has changed
CopyDatabase STEP | CREATE DATABASE -> pg_database | copies the template {Template} to the new database {NewDatabase}, as transaction {copy'.xid}. The
    copy has the datfrozenxid of the template: {row'[NewDatabase].frozen}
CommitCopy STEP | CREATE DATABASE -> pg_database | commits: database {NewDatabase} is there. Snapshots that were taken before do not show it
SendCopy STEP | CREATE DATABASE | sends its messages, and lets go of the template: others may connect to {Template} again

module copied
INNER pc, my
Freeze STEP w \in Workers | vacuum {w} in database {DbOf[w]} | freezes all rows of its database: they need MultiXactIds from {oldest'[DbOf[w]]} on
Raise STEP w \in Workers | vacuum {w} in database {DbOf[w]} -> pg_database | writes datminmxid of its own database in place: {row'[DbOf[w]]}
Enter STEP w \in Workers | vacuum {w} in database {DbOf[w]} -> pg_database | begins to scan pg_database for the oldest datminmxid of all. Its snapshot
    shows the databases {my'[w].todo}
Scan STEP w \in Workers, d \in my[w].todo \ my'[w].todo | vacuum {w} in database {DbOf[w]} -> pg_database | reads the row of database {d}, as it is
    now: datminmxid {row[d]}. The oldest so far is {my'[w].new}
EndScan SMALL w \in Workers if pc'[w] = "truncate" | vacuum {w} in database {DbOf[w]} | has read all rows that its snapshot shows: the oldest of all
    is {my[w].new}
EndScan STEP w \in Workers | vacuum {w} in database {DbOf[w]} | has read all rows; a message came meanwhile, so it scans again: {my'[w].todo}
Truncate STEP w \in Workers if limit' # limit /\ segments' # segments | vacuum {w} in database {DbOf[w]} -> pg_multixact | refuses MultiXactIds before
    {my[w].new} from now on, and removes the segments {segments \ segments'} of pg_multixact
Truncate STEP w \in Workers if limit' # limit | vacuum {w} in database {DbOf[w]} -> pg_multixact | refuses MultiXactIds before {my[w].new} from now
    on; no whole segment of pg_multixact lies before
Truncate STEP w \in Workers | vacuum {w} in database {DbOf[w]} -> pg_multixact | has nothing to truncate
SetLimit STEP w \in Workers | vacuum {w} in database {DbOf[w]} | sets the shared limit to {limit'}; it was {limit}. It is done
Assign STEP | other transactions | take a MultiXactId: {next'}
Copy STEP | CREATE DATABASE -> pg_database | copies the template {Template} to the new database {NewDatabase}, and commits. The copy has its
    datminmxid, {row'[NewDatabase]}. Snapshots that were taken before do not show it
NOTE | MultiXactIds go round a ring of {Size}: after {Size - 1} comes {FirstNormal}. {PerSegment} share a segment of pg_multixact. The newest one is
    {next}
NOTE d \in Databases if row[d] # 0 | Database {d} has datminmxid {row[d]}; its rows have MultiXactIds from {oldest[d]} on
NOTE if MayCopy | Database {Template} is a template, of which CREATE DATABASE makes the copy {NewDatabase}
NothingNeededTruncated BROKEN d \in Present if Segment(oldest[d]) \notin segments | Rows of database {d} have MultiXactIds from {oldest[d]} on, but
    their segment, {Segment(oldest[d])}, is gone: nobody can read these rows
NobodyRefused BROKEN d \in Present if Precedes(oldest[d], limit) | Rows of database {d} have MultiXactIds from {oldest[d]} on, but all before {limit}
    are refused: nobody can read these rows
LimitAdvances BROKEN | The limit was {limit}, and is {limit'}

module crash
Crash STEP | the server | crashes, and recovers from the WAL that has survived

module datfrozenxid
INNER pc, my, snap, pending, cache, hold, copy, alter, unsent, passed, flushed, freezing
Begin SMALL w \in Workers | vacuum {w} in database {DbOf[w]} | starts a transaction
Look SMALL w \in Workers | vacuum {w} in database {DbOf[w]} | looks up the row of its database, and keeps a snapshot of the catalogs
LockIds SMALL w \in Workers | vacuum {w} in database {DbOf[w]} | takes the lock under which datfrozenxid is computed; no running transaction needs
    XIDs before {my'[w].new}
ReadNext SMALL w \in Workers | vacuum {w} in database {DbOf[w]} | reads the next XID: {my'[w].sane}
OpenClass SMALL w \in Workers | vacuum {w} in database {DbOf[w]} | scans pg_class; tables that it must look at: {my'[w].todo}
ScanClass STEP w \in Workers, t \in my[w].todo if my'[w].todo = {} /\ pc'[w] = "idle" /\ Future(rel[t].frozen, my[w].sane) | vacuum {w} in database
    {DbOf[w]} | reads the row of table {t} in pg_class: relfrozenxid {rel[t].frozen} is in the future. It gives up
ScanClass SMALL w \in Workers, t \in my[w].todo \ my'[w].todo | vacuum {w} in database {DbOf[w]} | reads the row of table {t} in pg_class:
    relfrozenxid {rel[t].frozen}
GiveUp STEP w \in Workers | vacuum {w} in database {DbOf[w]} | reads a MultiXactId in the future, and gives up
Load STEP w \in Workers | vacuum {w} in database {DbOf[w]} -> pg_database | has the row of its database no more in its cache, and loads it:
    datfrozenxid {cache'[w]}
Decide STEP w \in Workers if pc'[w] = "tuple" | vacuum {w} in database {DbOf[w]} | asks its cache: datfrozenxid is {cache[w]}. It must be written,
    with {my[w].new}
Decide STEP w \in Workers | vacuum {w} in database {DbOf[w]} | asks its cache: datfrozenxid is {cache[w]}. Nothing needs to be written
LockTuple SMALL w \in Workers if pc'[w] # "force" | vacuum {w} in database {DbOf[w]} | locks the row of its database: datfrozenxid is
    {row[DbOf[w]].frozen}, and may become {my'[w].new}
LockTuple SMALL w \in Workers | vacuum {w} in database {DbOf[w]} | locks the row of its database: datfrozenxid is {row[DbOf[w]].frozen}, and need not
    be written
LogTuple SMALL w \in Workers | vacuum {w} in database {DbOf[w]} -> WAL | writes the WAL of the update: datfrozenxid {my[w].new}
ShowTuple STEP w \in Workers | vacuum {w} in database {DbOf[w]} -> pg_database | writes its result over the old one, in place, in the row of its own
    database {DbOf[w]}: datfrozenxid is {my[w].new} now
SendTuple SMALL w \in Workers | vacuum {w} in database {DbOf[w]} | tells all others that the row has changed, and forgets its own cache and snapshot
Force SMALL w \in Workers | vacuum {w} in database {DbOf[w]} | goes on to truncate pg_xact, and reads the next XID: {next}
DoNotForce STEP w \in Workers | vacuum {w} in database {DbOf[w]} | ends here: nothing forces a truncation of pg_xact
EnterWrapLimits STEP w \in Workers | vacuum {w} in database {DbOf[w]} -> pg_database | begins to scan pg_database for the oldest datfrozenxid of all.
    Its snapshot shows the databases {snap'[w].rows}. Its own result is {my[w].new}
ScanDatabase STEP w \in Workers, d \in my[w].todo if pc'[w] = "idle" | vacuum {w} in database {DbOf[w]} -> pg_database | reads the row of database
    {d}: datfrozenxid {Seen(d, snap[w])}. A value was in the future, so it gives up
ScanDatabase STEP w \in Workers, d \in my[w].todo if my[w].todo = {d} /\ my'[w].todo # {} | vacuum {w} in database {DbOf[w]} -> pg_database | reads
    the row of database {d}: datfrozenxid {Seen(d, snap[w])}. A message came meanwhile: it scans all again, with a snapshot that shows {snap'[w].rows}
ScanDatabase STEP w \in Workers, d \in my[w].todo \ my'[w].todo if my'[w].bad | vacuum {w} in database {DbOf[w]} -> pg_database | reads the row of
    database {d}: datfrozenxid {Seen(d, snap[w])}. It will give up, because a value is in the future
ScanDatabase STEP w \in Workers, d \in my[w].todo \ my'[w].todo if my'[w].todo # {} | vacuum {w} in database {DbOf[w]} -> pg_database | reads the row
    of database {d}, as it is now: datfrozenxid {Seen(d, snap[w])}. The oldest so far is {my'[w].new}. Still to be read: {my'[w].todo}
ScanDatabase STEP w \in Workers, d \in my[w].todo \ my'[w].todo | vacuum {w} in database {DbOf[w]} -> pg_database | reads the row of database {d}, as
    it is now: datfrozenxid {Seen(d, snap[w])}. That was the last row that its snapshot shows. The oldest of all is {my'[w].new}
TruncateClog STEP w \in Workers if clog' # clog | vacuum {w} in database {DbOf[w]} -> pg_xact | removes from pg_xact all before XID {my[w].new}, the
    oldest that it found
TruncateClog STEP w \in Workers if clog' = clog /\ limit' = limit | vacuum {w} in database {DbOf[w]} -> pg_xact | would remove from pg_xact all before
    XID {my[w].new}; there is nothing
TruncateClog STEP w \in Workers | vacuum {w} in database {DbOf[w]} | sets the limit for new XIDs, before it cuts pg_xact: the oldest XID is
    {my[w].new}
SetLimit STEP w \in Workers if clog' = clog | vacuum {w} in database {DbOf[w]} | sets the shared limit to XID {my[w].new}, from which no XID may be
    half a ring ahead; it is done
SetLimit STEP w \in Workers | vacuum {w} in database {DbOf[w]} -> pg_xact | removes from pg_xact all before XID {my[w].new}
Assign STEP | other transactions | take XID {next}; the next one is {next'}
OtherEnds STEP | other transactions | The running transaction {hold} ends
NOTE | XIDs go round a ring of {Size}: after {Size - 1} comes {FirstNormal}. The next one to be assigned is {next}. pg_xact knows what became of the
    transactions from {clog} on
NOTE d \in Databases if row[d].status = "live" | Database {d} has datfrozenxid {row[d].frozen}: no row in it has an older XID
NOTE t \in Tables if rel[t].status = "live" | Table {t} in database {DbOf[t]} has relfrozenxid {rel[t].frozen}; its rows have XIDs from
    {rel[t].oldest} on
NOTE if MayCopy | Database {Template} is a template, of which CREATE DATABASE makes the copy {NewDatabase}
NOTE if hold # 0 | Another transaction, {hold}, is running
NothingNeededTruncated BROKEN t \in Tables if InUse(t) /\ Precedes(rel[t].oldest, clog) | Table {t} in database {DbOf[t]} has rows with XIDs from
    {rel[t].oldest} on, but pg_xact begins at {clog} now. Whether these rows are committed is lost: nobody can read them
LimitBehindTables BROKEN t \in Tables if InUse(t) /\ Precedes(rel[t].oldest, limit) | Table {t} in database {DbOf[t]} has rows with XIDs from
    {rel[t].oldest} on, but the limit is {limit}
LimitBehindClog BROKEN | The limit is {limit}, and pg_xact begins at {clog}
DatBehindRels BROKEN t \in Tables if rel[t].status = "live" /\ Precedes(rel[t].frozen, row[DbOf[t]].frozen) | Table {t} has relfrozenxid
    {rel[t].frozen}, and its database {DbOf[t]} has datfrozenxid {row[DbOf[t]].frozen}
DecidesByTheRow BROKEN w \in Workers if pc[w] = "decide" /\ cache[w] # 0 /\ cache[w] # row[DbOf[w]].frozen | Vacuum {w} takes datfrozenxid for
    {cache[w]}; the row has {row[DbOf[w]].frozen}
DatAdvances BROKEN d \in Databases if row'[d].frozen # row[d].frozen | datfrozenxid of database {d} was {row[d].frozen}, and is {row'[d].frozen}
PassedAdvances BROKEN d \in Databases if passed[d] # passed'[d] | In database {d} it was called with {passed[d]} before, and is called with
    {passed'[d]}
LimitAdvances BROKEN | The limit was {limit}, and is {limit'}
SkipsNoNeeded BROKEN w \in Workers if pc[w] \in {"decide", "tuple"} /\ pc'[w] = "force" | Vacuum {w} leaves datfrozenxid at {row[DbOf[w]].frozen}, and
    should have written {my[w].new}

module relfrozenxid
Freeze STEP t \in Tables | VACUUM of table {t} in database {DbOf[t]} | freezes the rows of {t}: from XID {rel'[t].oldest} on they need pg_xact;
    relfrozenxid will be {freezing'[t]}
LogRel SMALL t \in Tables | VACUUM of table {t} in database {DbOf[t]} -> WAL | writes the WAL of the update: relfrozenxid {freezing[t]}
ShowRel STEP t \in Tables | VACUUM of table {t} in database {DbOf[t]} | writes relfrozenxid of {t} in place: {rel'[t].frozen}
