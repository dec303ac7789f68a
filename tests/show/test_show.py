# SPDX-License-Identifier: PostgreSQL
"""Counterexamples that are drawn: TLC's traces are read, the sentences are the modules', and all of it is seen."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from spec.tools import draw, models, sentences, tlc, values
from spec.tools.counterexample import Picture
from spec.tools.models import ModelError
from spec.tools.outcome import ToolMissing
from spec.tools.values import Change, Members, Value

TOP = Path(__file__).resolve().parents[2]
OF_TOP = os.environ | {"PYTHONPATH": str(TOP)}
HANG = 1800


# ---- values, as TLC prints them


@pytest.mark.parametrize(
    ("text", "value", "said"),
    [
        ("7", 7, "7"),
        ("-7", -7, "-7"),
        ("TRUE", True, "yes"),
        ("FALSE", False, "no"),
        ('"a \\"b\\" \\\\ c"', 'a "b" \\ c', 'a "b" \\ c'),
        ('""', "", "none"),
        ("w1", "w1", "w1"),
        ("{}", Members(), "none"),
        ("{ 3, 1 }", Members((3, 1)), "3, 1"),
        ("2..4", Members((2, 3, 4)), "2, 3, 4"),
        ("<< >>", [], "none"),
        ("<<1, <<2, 3>>>>", [1, [2, 3]], "1, (2, 3)"),
        ('[a |-> 1, b |->\n  "x"]', {"a": 1, "b": "x"}, "{a: 1, b: x}"),
        ("( 22 :> TRUE @@\n 23 :> {} )", {22: True, 23: Members()}, "{22: yes, 23: none}"),
        ("[none |-> TRUE]", {"none": True}, "none"),
        ('(<<"r", 1>> :> 5 @@ {<<2>>} :> 6)', {("r", 1): 5, Members(((2,),)): 6}, "{(r, 1): 5, 2: 6}"),
    ],
)
def test_a_value_is_read_and_said(text: str, value: Value, said: str) -> None:
    assert values.read(text) == value
    assert type(values.read(text)) is type(value)
    assert values.words(values.read(text)) == said


@pytest.mark.parametrize(
    ("old", "new", "changes"),
    [
        ("1", "1", []),
        ("1", "2", [("x", "1", "2")]),
        ("0", "FALSE", [("x", "0", "no")]),
        ("[a |-> 1, b |-> {1}]", "[a |-> 1, b |-> {}]", [("x.b", "1", "none")]),
        ("(1 :> 5)", "(1 :> 5 @@ 2 :> 6)", [("x[2]", None, "6")]),
        ("(1 :> 5 @@ 2 :> 6)", "(2 :> 7)", [("x[1]", "5", None), ("x[2]", "6", "7")]),
        ("<<1>>", "<<1, 2, 3>>", [("x[2]", None, "2"), ("x[3]", None, "3")]),
        ("<<1, 2>>", "<<2>>", [("x", "1, 2", "2")]),
        ("<<[a |-> 1], [a |-> 2]>>", "<<[a |-> 1], [a |-> 3]>>", [("x[2].a", "2", "3")]),
        ("<<1, 2, 3, 4, 5, 6, 7, 8, 9>>", "<<1, 2, 3, 4, 5, 6, 7, 8, 0>>", [("x[9]", "9", "0")]),
        ("(<<7, 1>> :> 5)", "(<<7, 1>> :> 6)", [("x[7, 1]", "5", "6")]),
        ("[none |-> TRUE]", "[xmin |-> 3]", [("x", "none", "{xmin: 3}")]),
    ],
)
def test_what_changed_is_named_as_deep_as_it_can_be(old: str, new: str, changes: list[tuple[str, ...]]) -> None:
    assert list(values.differences(values.read(old), values.read(new), "x")) == [Change(*each) for each in changes]


# ---- sentences, as they stand beside the modules

BEADS = r"""\* SPDX-License-Identifier: PostgreSQL
---- MODULE beads ----
EXTENDS Naturals
CONSTANT Clients
VARIABLES
    stock,      \* what is left
                \* in the shop
    has, pc
vars == <<stock, has, pc>>
Init == stock = 1 /\ has = [c \in Clients |-> 0] /\ pc = [c \in Clients |-> "out"]
(* A client looks before it takes. *)
Look(c) == pc[c] = "out" /\ stock > 0 /\ pc' = [pc EXCEPT ![c] = "in"] /\ UNCHANGED <<stock, has>>
Take(c) ==
    /\ pc[c] = "in"
    /\ stock' = stock - 1 /\ has' = [has EXCEPT ![c] = @ + 1] /\ pc' = [pc EXCEPT ![c] = "done"]

Back(c) == has[c] > 0 /\ has' = [has EXCEPT ![c] = 0] /\ stock' = stock + 1
Serve(Does(_), when) == when = "late" /\ (\E c \in Clients : Does(c)) /\ UNCHANGED pc

Client == \E c \in Clients : Look(c) \/ Take(c)
Next == Client \/ Serve(Back, "late")
Spec == Init /\ [][Next]_vars /\ WF_vars(Next)

(* Nobody gets  *)
(* what is not there. *)
NothingMissing == stock >= 0
NeverTakes == \A c \in Clients : has[c] = 0

NobodyLoses == [][\A c \in Clients : has'[c] >= has[c]]_vars
Closes == <>(stock = 7)
====
"""
STORY = r"""\* What is said of beads.

module beads
INNER pc
NOTE | There are {stock} things
$client = client {c}
Look SMALL c \in Clients if stock = 0 | $client | sees that nothing is left
Look SMALL c \in Clients | $client -> shop | sees that {stock} is
    left
Take STEP c \in Clients, n \in {has'[c]} | $client -> shop | takes one, and has {n}; {stock'} is left
Back STEP of Serve(Back, "late") | the shop -> client {CHOOSE c \in Clients : has[c] # has'[c]} | takes a thing back
NothingMissing BROKEN if stock < 0 | {0 - stock} is missing
NobodyLoses BROKEN c \in Clients if has'[c] < has[c] | {c} had {has[c]}

module other
INNER nothing
"""
MC = r"""---- MODULE MCbeads ----
EXTENDS beads
Skipped(c) == FALSE
Again(c) == pc[c] = "in" /\ stock > 0 /\ stock' = stock - 1 /\ has' = [has EXCEPT ![c] = @ + 1] /\ UNCHANGED pc
Sells == <>[](stock = 0)
====
"""
RUNS = """
[base.MCbeads]
specification = "Spec"
deadlock = false
constants = { Clients = "{c, bob}" }

[run.MCbeads_mutant_missing]
says = "Two clients take the last thing."
violates = { invariant = "NothingMissing", trace = 5 }

[run.MCbeads_mutant_loses]
says = "A thing is taken back."
violates = { action = "NobodyLoses", trace = 4 }

[run.MCbeads_mutant_closes]
says = "Nobody can take what he has seen."
definitions = { Take = "Skipped" }
violates = { liveness = "Closes" }

[run.MCbeads_mutant_loops]
says = "The shop takes back and gives for ever."
definitions = { Take = "Again" }
violates = { liveness = "Sells" }

[run.MCbeads_small]
says = "If nobody can take a thing nobody has one."
definitions = { Take = "Skipped" }
invariants = ["NeverTakes"]
holds = { states = 4, depth = 3 }
"""


@pytest.fixture
def beads(tmp_path: Path) -> Path:
    """A folder with one small model, in which there is all that a sentence can say."""
    (tmp_path / "spec" / "beads").mkdir(parents=True)
    (tmp_path / "spec" / "common").mkdir()
    (tmp_path / "spec" / "beads" / "beads.tla").write_text(BEADS)
    (tmp_path / "spec" / "beads" / "MCbeads.tla").write_text(MC)
    (tmp_path / "spec" / "beads" / "beads.story").write_text(STORY)
    (tmp_path / "spec" / "beads" / "models.toml").write_text(RUNS)
    (tmp_path / "build").mkdir()
    (tmp_path / "build" / "tools").symlink_to(TOP / "build" / "tools")
    return tmp_path


@pytest.fixture
def with_tlc(beads: Path) -> Path:
    try:
        tlc.find(TOP / "build")
    except ToolMissing as error:
        pytest.skip(str(error))
    return beads


def show(folder: Path, run: str, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tools.show", "--stem", "beads", "--run", run, *options]
    return subprocess.run(command, cwd=folder, env=OF_TOP, capture_output=True, text=True, check=False, timeout=HANG)


def drawn(folder: Path, run: str) -> Picture:
    """What is drawn of a run, by way of the command."""
    done = show(folder, run, "--json")
    assert (done.returncode, done.stderr) == (0, "")
    told = json.loads(done.stdout)
    assert told["drawn"] == f"build/show/beads/{run}.html"
    assert (folder / told["drawn"]).read_text()
    assert [(one["run"], "tlc2.TLC" in one["command"]) for one in told["runs"]] == [(run, True)]
    return Picture.model_validate(told["counterexample"])


def told(picture: Picture) -> list[str]:
    return [f"{step.who} -> {step.whom}: {step.text}" for step in picture.steps]


def loaded(folder: Path) -> list[sentences.Module]:
    return sentences.modules(folder / "spec" / "beads" / "MCbeads.tla", folder / "spec" / "common")


@pytest.mark.tools
def test_each_step_has_its_actor_its_sentence_and_its_changes(with_tlc: Path) -> None:
    picture = drawn(with_tlc, "MCbeads_mutant_missing")
    assert told(picture) == [
        "client c -> shop: sees that 1 is left",
        "client bob -> shop: sees that 1 is left",
        "client c -> shop: takes one, and has 1; 0 is left",
        "client bob -> shop: takes one, and has 1; -1 is left",
    ]
    assert [step.small for step in picture.steps] == [True, True, False, False]
    assert [step.action for step in picture.steps] == ["Look", "Look", "Take", "Take"]
    assert [draw.compact(change) for change in picture.steps[3].changes] == ["stock: 0 → -1", "has.bob: 0 → 1"]
    assert [draw.compact(change) for change in picture.steps[3].inner] == ["pc.bob: in → done"]
    assert picture.rule == "Nobody gets what is not there."
    assert (picture.broken, picture.notes) == (["1 is missing"], ["There are 1 things"])
    assert picture.variables == {"stock": "what is left in the shop", "has": ""}
    assert (picture.back_to, picture.stutters) == (None, False)
    page = (with_tlc / "build" / "show" / "beads" / "MCbeads_mutant_missing.html").read_text()
    for text in (*picture.broken, *picture.notes, "NothingMissing", "client bob"):
        assert text in page
    assert "http" not in page.replace("http://www.w3.org", "")


@pytest.mark.tools
def test_a_step_that_breaks_a_property_and_an_action_given_to_another(with_tlc: Path) -> None:
    picture = drawn(with_tlc, "MCbeads_mutant_loses")
    assert told(picture)[-1] == "the shop -> client c: takes a thing back"
    assert picture.broken == ["c had 1"]


@pytest.mark.tools
def test_a_trace_that_never_ends_is_drawn_with_its_end(with_tlc: Path) -> None:
    picture = drawn(with_tlc, "MCbeads_mutant_closes")
    assert picture.stutters
    assert "nothing happens any more" in draw.html(picture)
    assert "for ever: Closes" in draw.html(picture)


@pytest.mark.tools
def test_a_trace_that_goes_round_is_drawn_with_its_loop(with_tlc: Path) -> None:
    picture = drawn(with_tlc, "MCbeads_mutant_loops")
    assert picture.back_to is not None
    last = picture.steps[-1]
    assert {step.action for step in picture.steps[picture.back_to :]} == {"Take", "Back"}
    assert last.number == len(picture.steps) > picture.back_to
    assert last.named
    assert f"The steps from {picture.back_to + 1} on can follow again, for ever" in draw.html(picture)


@pytest.mark.tools
def test_a_sentence_that_no_longer_fits_the_model_is_refused(with_tlc: Path) -> None:
    path = with_tlc / "spec" / "beads" / "beads.story"
    path.write_text(STORY.replace("{stock'} is left", "{shelf'} is left"))
    done = show(with_tlc, "MCbeads_mutant_missing")
    assert done.returncode == 2
    assert "Unknown operator: `shelf'" in done.stderr


def test_each_action_has_a_sentence_or_is_named(beads: Path) -> None:
    path = beads / "spec" / "beads" / "beads.story"
    assert sentences.unsaid(loaded(beads), "Next") == []
    path.write_text(re.sub(r"Take STEP .*\n", "", STORY))
    assert sentences.unsaid(loaded(beads), "Next") == ["Take"]
    path.write_text(re.sub(r"Back STEP .*\n", "", STORY))
    assert sentences.unsaid(loaded(beads), "Next") == ["Back"]
    path.write_text(STORY.replace('of Serve(Back, "late")', 'of Serve(Back, "soon")'))
    assert sentences.unsaid(loaded(beads), "Next") == ["Back"]


def test_a_name_that_no_module_has_is_found(beads: Path) -> None:
    path = beads / "spec" / "beads" / "beads.story"
    assert sentences.unknown(loaded(beads)) == []
    for old, new in [
        ("{stock'} is left", "{stocks'} is left"),
        ("n \\in {has'[c]}", "n \\in {had[c]}"),
        ("if stock < 0", "if stok < 0"),
    ]:
        assert old in STORY
        path.write_text(STORY.replace(old, new))
        assert len(sentences.unknown(loaded(beads))) == 1
    path.write_text(
        STORY.replace("{stock'} is left", '{Cardinality({d.n : d \\in Clients})} {[n |-> "nothing"].n} left')
    )
    assert sentences.unknown(loaded(beads)) == []


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("| $client -> shop | takes", "takes", "must have the form 'bounds | who | sentence'"),
        ("{c} had", "{c had", "a brace stays open"),
        ("STEP c \\in Clients, n", "STEP c of Clients, n", "must have the form|bounds are written"),
        ("BROKEN if stock < 0 | ", "BROKEN ", "must have the form 'bounds | sentence'"),
        ("Take STEP", "Takes STEP", "beads.tla has no definition Takes"),
        ("Take STEP", "Take STEPS", "is no sentence"),
    ],
)
def test_a_sentence_that_is_written_wrong_is_told_with_its_line(beads: Path, old: str, new: str, says: str) -> None:
    path = beads / "spec" / "beads" / "beads.story"
    assert old in STORY
    path.write_text(STORY.replace(old, new))
    with pytest.raises(ModelError, match=rf"beads\.story:\d+: .*({says})"):
        loaded(beads)


# ---- our own models

FAILING = [run for run in models.find(TOP / "spec") if run.must_fail and not run.symbolic]
STARTS = sorted({(run.module, run.settings.next or run.settings.specification) for run in FAILING})
WITHOUT_STEPS = {"MCXid", "MCxid_arrays"}
"""A state of these is a choice of XIDs. Nothing happens after it."""


@pytest.mark.parametrize(("path", "start"), STARTS, ids=[f"{path.stem}-{start}" for path, start in STARTS])
def test_each_action_that_a_failing_run_may_take_has_a_sentence_and_an_actor(path: Path, start: str) -> None:
    found = sentences.modules(path, TOP / "spec" / "common")
    assert sentences.unsaid(found, start) == []
    assert sentences.unknown(found) == []
    steps = [each for module in found for each in module.sentences if each.kind in ("STEP", "SMALL")]
    assert bool(steps) == (path.stem not in WITHOUT_STEPS)
    for one in steps:
        who, *_, text = one.texts
        assert "".join(who.parts).strip(), f"{one.definition}: who?"
        assert text.parts[0].strip() or text.expressions, f"{one.definition}: what?"
