\* SPDX-License-Identifier: PostgreSQL
\* What 'pgquern show' says of the steps of ioshares, and of what is broken: spec/tools/sentences.py has the form.

module ioshares
INNER pace, completed, total, pressed, last, lag
NOTE | {limit} requests may be in flight at once
NOTE c \in Classes | Class {c} pays {factor[c]} for each unit that it reads or writes: the less, the larger its share
Submit STEP c \in Classes, size \in Sizes | class {c} -> scheduler | asks for a request of size {size}. These wait: {queue'[c]}
Dispatch STEP c \in Classes | scheduler -> device | takes the oldest request of class {c}, of size {Head(queue[c])}. What each class is ahead:
    {ahead'}
Cancel STEP c \in Classes, k \in 1..Capacity | class {c} -> scheduler | takes back its request number {k}. These wait: {queue'[c]}
SetShares STEP k \in 1..Len(Factors) | caller -> scheduler | sets other shares: for each unit the classes pay {factor'} from now on. What each class
    is ahead: {ahead'}
Complete STEP c \in Classes, latency \in Latencies if limit' # limit | device -> scheduler | has done a request of class {c}, in {latency}. A window
    ends: {limit'} may be in flight now, not {limit}
Complete STEP c \in Classes, latency \in Latencies | device -> scheduler | has done a request of class {c}, in {latency}
CalmDown STEP | device | is never slow again, from now on
TagsNear BROKEN c \in Classes if ~(c \in Backlogged => ahead[c] >= 0) \/ ahead[c] > WarpOf(c) + factor[c] * Largest | Class {c} is {ahead[c]} ahead;
    it should lie between 0 (if it waits) and {WarpOf(c) + factor[c] * Largest}
Shares BROKEN | Class 1 has paid {lag} more than class 2; the bound is {LagBound} either way
AtMostMost BROKEN | {InFlight} are in flight, and at most {Most} may be
