\* SPDX-License-Identifier: PostgreSQL
\* What 'pgquern show' says of the steps of xid, and of what is broken: spec/tools/sentences.py has the form.

module XidLaws
NOTE | XIDs go round a ring of {Size}; the normal ones begin with {FirstNormal}. Three are chosen, x, y and z: {x}, {y} and {z}
Irreflexive BROKEN | {x} precedes itself
Asymmetric BROKEN | {x} precedes {y}, and {y} precedes {x}
Transitive BROKEN | {x} precedes {y}, and {y} precedes {z}; but {x} does not precede {z}
Total BROKEN | {x} does not precede {y}, nor {y} {x}, and they are not the same
PermanentFirst BROKEN | {x} is permanent and {y} is normal, and {x} does not come first
