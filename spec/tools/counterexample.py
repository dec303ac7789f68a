# SPDX-License-Identifier: PostgreSQL
"""The counterexample that TLC finds in a run, and what each of its steps means in English.

TLC here writes no trace in a form for machines, and does not say with which arguments an action was taken. So its trace
is read from its output. Then TLC itself follows the trace, in a module that is made for it, and evaluates the sentences
of the modules (sentences.py) for each step.
"""

from __future__ import annotations

import re
import shutil
import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import BaseModel

from spec.tools import runner, sentences, tlc, values
from spec.tools.models import ModelError, Run, Settings
from spec.tools.outcome import Outcome
from spec.tools.sentences import Module, Sentence
from spec.tools.values import Change, Value

STATE, STUTTERS, BACK, INITIAL = 2217, 2218, 2122, 2107
ACTION = re.compile(r"(\d+): (?:Back to state: )?<(\w+)")
ASSIGNED = re.compile(r"^(?:/\\ )?(\w+) = ", re.MULTILINE)
SHOWN = re.compile(r'^<<\s*"(note|step|end)",', re.MULTILINE)
NAMED = re.compile(r'"(?:\\.|[^"\\])*"|\b[A-Za-z]\w*\b(?! *\|->)')
"""A string, or a name that is no field's."""
KEYWORDS = {"TRUE", "FALSE", "SUBSET", "UNION", "BOOLEAN"}
DEADLOCK = "deadlock"
KNOWN = {DEADLOCK: "There is a next step, until all is done.", "TypeOK": "Each variable has a value of its kind."}
"""Properties that need no comment."""
AT_MOST = 3
"""So many sentences about what is broken are shown."""


class NoCounterexample(ModelError):
    """The run ends otherwise; the message says how."""


class Step(BaseModel):
    """One step, as it is drawn. Number n leads to state n + 1 of the trace."""

    number: int
    action: str
    who: str
    whom: str = ""
    text: str
    small: bool = False
    named: bool = True
    """Whether a sentence of the model says what it is."""
    changes: list[Change]
    inner: list[Change] = []
    """Changes of variables that are not drawn."""


class Picture(BaseModel):
    """A counterexample, as it is drawn."""

    stem: str
    run: str
    says: str
    property: str
    sort: str
    rule: str
    """The sentence over the property."""
    broken: list[str]
    notes: list[str]
    reached: bool = False
    """The run looks for a state or a step that must be possible; to reach it is no fault."""
    steps: list[Step]
    back_to: int | None = None
    """The last step leads to the state after this step, and so on for ever."""
    stutters: bool = False
    """After the last step nothing happens any more."""
    variables: dict[str, str]
    """The comments beside the variables that are drawn."""


@dataclass
class Trace:
    """The states of a counterexample: the name of the action before each, and its variables as TLC prints them."""

    actions: list[str]
    states: list[dict[str, str]]
    back_to: int | None = None
    back_by: str = ""
    stutters: bool = False


def read(output: str) -> Trace:
    """The trace in the output of TLC."""
    trace = Trace([], [])
    for code, _, text in tlc.messages(output.splitlines()):
        head, _, body = text.partition("\n")
        named = ACTION.match(head)
        if code == STATE or (code == INITIAL and not trace.states):
            trace.actions.append(named[2] if named else "")
            trace.states.append(assignments(body))
        elif code == STUTTERS:
            trace.stutters = True
        elif code == BACK and named:
            trace.back_to, trace.back_by = int(named[1]), named[2]
    return trace


def assignments(text: str) -> dict[str, str]:
    """The variables of a state."""
    starts = list(ASSIGNED.finditer(text))
    ends = [start.start() for start in starts[1:]] + [len(text)]
    return {start[1]: " ".join(text[start.end() : end].split()) for start, end in zip(starts, ends, strict=True)}


def modules(run: Run) -> list[Module]:
    return sentences.modules(run.module, run.module.parent.parent / "common")


def find(run: Run, build: Path) -> Picture:
    """The shortest counterexample of a run, with a sentence for each step."""
    if run.symbolic:
        raise NoCounterexample(f"{run.key} is a run of Apalache: only counterexamples of TLC are drawn")
    output, outcome = explore(run, build)
    if outcome.result == "success":
        raise NoCounterexample(f"{run.key} holds: there is no counterexample to draw")
    if outcome.result != "violation":
        raise NoCounterexample(f"{run.key} ended in an error: {outcome.reason}")
    found, trace = modules(run), read(output)
    steps = [each for module in found for each in module.sentences if each.kind in ("STEP", "SMALL")]
    notes = [each for module in found for each in module.sentences if each.kind == "NOTE"]
    name = outcome.property or ""
    over = run.settings.specification if name == DEADLOCK else name
    broken = [each for module in found for each in module.sentences if (each.definition, each.kind) == (over, "BROKEN")]
    said = follow(run, build, trace, steps, notes, broken, of_step=outcome.sort == "action")
    inner = {name for module in found for name in module.inner}
    comments = {name: text for module in reversed(found) for name, text in module.variables().items()}
    trace.states = [in_order(state, list(comments)) for state in trace.states]
    drawn = [step(number, trace, steps, said.steps[number], inner) for number in range(len(said.steps))]
    changed = {root(change.name) for each in drawn for change in each.changes}
    return Picture(
        stem=run.stem,
        run=run.name,
        says=run.says,
        property=name,
        sort=outcome.sort or "",
        rule=rule(name, found),
        reached=run.kind == "reach",
        broken=said.broken[:AT_MOST],
        notes=said.notes,
        steps=drawn,
        back_to=None if trace.back_to is None else trace.back_to - 1,
        stutters=trace.stutters,
        variables={name: text for name, text in comments.items() if name in changed},
    )


def in_order(state: dict[str, str], names: Sequence[str]) -> dict[str, str]:
    """The variables in the order in which the modules declare them; TLC has none."""
    return {name: state[name] for name in (*names, *sorted(state)) if name in state}


def explore(run: Run, build: Path) -> tuple[str, Outcome]:
    """The run, made alone and by one worker, so that the trace is a shortest one, and the same each time."""
    command, folder = tlc.command(run, build, coverage=False)
    log = tlc.scratch(run, build) / "log"
    ended = runner.execute(command, folder, log, runner.limit(run), threading.Event())
    output = log.read_text(errors="replace")
    return output, tlc.parse(output, ended.exit_code, run.settings.properties)


def rule(name: str, found: Sequence[Module]) -> str:
    """What a property says: the comment over its definition, else its name in words."""
    if name in KNOWN:
        return KNOWN[name]
    for module in found:
        if name in module.definitions and module.definitions[name].comment.strip():
            return " ".join(module.definitions[name].comment.split())
    return in_words(name)


def in_words(name: str) -> str:
    """A name as words: TruncateClog is "truncate clog"."""
    return " ".join(part.lower() for part in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+", name)) or name


@dataclass
class Said:
    """What TLC evaluated: for each step and each sentence the values with which it holds; notes and what is broken."""

    steps: list[list[list[list[str]]]]
    notes: list[str]
    broken: list[str]


def follow(
    run: Run,
    build: Path,
    trace: Trace,
    steps: Sequence[Sentence],
    notes: Sequence[Sentence],
    broken: Sequence[Sentence],
    *,
    of_step: bool,
) -> Said:
    """Let TLC follow the trace and evaluate the sentences. of_step: a step breaks the property, not a state."""
    states = [*trace.states, *([trace.states[trace.back_to - 1]] if trace.back_to else [])]
    name = f"Show_{run.name}"
    again = replace(run, name=name, module=run.module.with_name(f"{name}.tla"), settings=following(run.settings))
    command, folder = tlc.command(again, build, coverage=False)
    text = module(name, run, states, steps, notes, broken, of_step=of_step)
    (build / "model" / run.stem / f"{name}.tla").write_text(text)
    log = tlc.scratch(again, build) / "log"
    ended = runner.execute(command, folder, log, runner.limit(run), threading.Event())
    output = log.read_text(errors="replace")
    outcome = tlc.parse(output, ended.exit_code, [])
    shown = evaluated(output)
    if outcome.result != "success" or len(shown["step"]) != len(states) - 1:
        raise ModelError(f"{run.key}: TLC could not evaluate the sentences of the steps: {outcome.reason} (log: {log})")
    shutil.rmtree(tlc.scratch(again, build), ignore_errors=True)
    told = shown["step"] if of_step else shown["end"]
    return Said(shown["step"], fill(notes, shown["note"]), fill(broken, [told[-1][-len(broken) :]] if broken else []))


def following(settings: Settings) -> Settings:
    """The run's settings for the module that follows a trace: its constants and definitions, and nothing to check."""
    constants = settings.constants | {f"Show_{name}": name for name in model_values(settings)}
    return Settings(
        init="ShowInit", next="ShowNext", constants=constants, definitions=settings.definitions, deadlock=False
    )


def model_values(settings: Settings) -> list[str]:
    """Values that the configuration names. The module that follows a trace has constants of its own for them, as
    Show_p for p: the modules may use the same names for what is bound."""
    text = " ".join(str(value) for value in settings.constants.values() if isinstance(value, str))
    names = re.findall(r"\b[A-Za-z]\w*", re.sub(r'"[^"]*"', "", text))
    return [name for name in dict.fromkeys(names) if name not in KEYWORDS]


def module(
    name: str,
    run: Run,
    states: Sequence[dict[str, str]],
    steps: Sequence[Sentence],
    notes: Sequence[Sentence],
    broken: Sequence[Sentence],
    *,
    of_step: bool,
) -> str:
    """The module that follows these states and prints, at the start, with each step and in the end, what holds."""

    def told(what: str, each: Sequence[Sentence]) -> str:
        return f'PrintT(<<"{what}", <<{", ".join(one.tla() for one in each)}>>>>)'

    named = model_values(run.settings)

    def value(text: str) -> str:
        return NAMED.sub(lambda match: f"Show_{match[0]}" if match[0] in named else match[0], text)

    rows = ",\n    ".join(
        f"[{', '.join(f'{key} |-> {value(text)}' for key, text in state.items())}]" for state in states
    )
    names = list(states[0])
    first = "\n    ".join(f"/\\ {key} = ShowStates[1].{key}" for key in names)
    then = "\n       ".join(f"/\\ {key}' = ShowStates[shown'].{key}" for key in names)
    declared = f"CONSTANTS {', '.join(f'Show_{name}' for name in named)}\n" if named else ""
    return f"""---- MODULE {name} ----
EXTENDS {run.module.stem}, TLC, Integers, Sequences
{declared}\
VARIABLE shown
ShowStates == <<
    {rows}>>
ShowInit ==
    /\\ shown = 1
    {first}
    /\\ {told("note", notes)}
ShowNext ==
    \\/ /\\ shown < Len(ShowStates)
       /\\ shown' = shown + 1
       {then}
       /\\ {told("step", [*steps, *(broken if of_step else [])])}
    \\/ /\\ shown = Len(ShowStates)
       /\\ shown' = shown + 1
       /\\ UNCHANGED <<{", ".join(names)}>>
       /\\ {told("end", [] if of_step else broken)}
====
"""


def evaluated(output: str) -> dict[str, list[list[list[list[str]]]]]:
    """What the module printed: a list of sentences a step, of each the sets of values, in words."""
    found: dict[str, list[list[list[list[str]]]]] = {"note": [], "step": [], "end": []}
    for start in SHOWN.finditer(output):
        value = values.Reader(output[start.start() :]).value()
        assert isinstance(value, list)
        rows = value[1]
        assert isinstance(rows, list)
        found[start[1]].append([[[said(text) for text in each] for each in choices] for choices in rows])  # type: ignore[union-attr]
    return found


def said(text: Value) -> str:
    """A value that TLC gave as text, in words."""
    value = values.read(str(text))
    return value if isinstance(value, str) else values.words(value)


def fill(each: Sequence[Sentence], shown: Sequence[Sequence[Sequence[Sequence[str]]]]) -> list[str]:
    """The sentences that hold, filled in."""
    rows = zip(each, shown[0] if shown else [], strict=False)
    return [one.filled(choice)[-1] for one, choices in rows for choice in choices]


def step(number: int, trace: Trace, steps: Sequence[Sentence], held: list[list[list[str]]], inner: set[str]) -> Step:
    """One step: its sentence, and what it changes."""
    last = number + 1 == len(trace.states)
    action = trace.back_by if last else trace.actions[number + 1]
    after = trace.states[(trace.back_to or 1) - 1 if last else number + 1]
    before = trace.states[number]
    changes = [
        change
        for name in before
        for change in values.differences(values.read(before[name]), values.read(after[name]), name)
    ]
    kept = [change for change in changes if any(re.match(rf"{re.escape(name)}\b", change.name) for name in inner)]
    drawn = [change for change in changes if change not in kept]
    hold = [(one, choices[0]) for one, choices in zip(steps, held, strict=False) if choices]
    # Two actions may explain a step. Then that counts which TLC names.
    hold.sort(key=lambda pair: pair[0].definition != action)
    if not hold:
        text = f"{in_words(action)} (the model has no sentence for this step)"
        return Step(number=number + 1, action=action, who="model", text=text, named=False, changes=drawn, inner=kept)
    one, choice = hold[0]
    who, *whom, text = one.filled(choice)
    return Step(
        number=number + 1,
        action=one.definition,
        who=who,
        whom=whom[0] if whom else "",
        text=text,
        small=one.kind == "SMALL",
        changes=drawn,
        inner=kept,
    )


def root(name: str) -> str:
    """The variable of a changed part."""
    return re.split(r"[.\[]", name)[0]
