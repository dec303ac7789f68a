# SPDX-License-Identifier: PostgreSQL
"""What a candidate's object file holds beyond its functions: read before any of it runs.

A kernel is code and constants. What runs before it is called, memory that it keeps, names by which it could tell where it
runs or take the place of others', and calls that no kernel needs, are refused by their names.
"""

import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

MEMORY = frozenset({"malloc", "calloc", "realloc", "aligned_alloc", "posix_memalign", "free"})
CALLS = MEMORY | {
    "memcpy", "memmove", "memset", "memcmp", "memchr", "strlen", "qsort", "bsearch", "abort", "__assert_fail", "__stack_chk_fail",
    "_GLOBAL_OFFSET_TABLE_",
}  # fmt: skip
CPLUSPLUS = re.compile(r"_Zn[wa]m|_Zd[la]Pvm?|__gxx_personality_v0|_Unwind_Resume|__cxa_\w+|_ZSt\d+(terminate|__throw_\w+)")
THREADS = re.compile(r"pthread_\w+|clock_gettime|syscall|__errno_location|sched_yield|__world_\w+|world_\w+")
SANITIZED = re.compile(r"__(asan|ubsan|tsan|sanitizer)_\w+")
CONSTANT = re.compile(
    r"\.(text|rodata|data\.rel\.ro|eh_frame|note\.gnu\.property|note\.GNU-stack|gcc_except_table|gnu\.linkonce\.t)\b.*"
)


@dataclass(frozen=True)
class Symbol:
    name: str
    type: str
    bind: str
    visibility: str
    section: str


def _read(*words: str | Path) -> str:
    return subprocess.run(["readelf", "-W", *map(str, words)], capture_output=True, text=True, check=True).stdout


def symbols(target: Path) -> list[Symbol]:
    row = r"^ *\d+: [0-9a-f]+ +\S+ (\S+) +(\S+) +(\S+) +(\S+)(?: (\S+))?$"
    found = re.findall(row, _read("-s", target), re.MULTILINE)
    return [Symbol(name.partition("@")[0], type_, bind, seen, at) for type_, bind, seen, at, name in found]


def sections(target: Path) -> list[tuple[str, str, int, str]]:
    """Name, type, size and flags."""
    row = r"^ *\[ *\d+\] (\S+) +(\S+) +[0-9a-f]+ [0-9a-f]+ ([0-9a-f]+) [0-9a-f]+ +([A-Zxlop]*) +\d"
    found = re.findall(row, _read("-S", target), re.MULTILINE)
    return [(name, type_, int(size, 16), flags) for name, type_, size, flags in found]


def constructors(target: Path) -> list[str]:
    """Sections of what runs before main, or after."""
    what = re.compile(r"\.(preinit_array|init_array|fini_array|ctors|dtors|init|fini)\b")
    return [name for name, type_, *_ in sections(target) if what.match(name) or type_.endswith("_ARRAY")]


def interposed(target: Path, contract: Sequence[str]) -> list[str]:
    """Names beyond the contract's that others could see."""
    return sorted(
        one.name for one in symbols(target)
        if one.bind not in ("LOCAL",) and one.section != "UND" and one.name not in contract
    )  # fmt: skip


def refusal(target: Path, contract: Sequence[str], *, known: frozenset[str], component: bool, several: bool) -> str:
    """Why it is refused; empty: it is not.

    contract: the names that it must define. known: those of our kernels. several: it has several files, or is C++, whose
    own names are not seen by others once they are linked together.
    """
    if found := constructors(target):
        return f"it has a constructor or destructor (section {found[0]}): nothing of a kernel runs but its calls"
    for name, _, size, flags in sections(target):
        if "A" not in flags:
            continue
        if "T" in flags and size:
            return f"it has thread-local memory (section {name}), in which it could keep state from call to call"
        if "W" in flags and size and not name.startswith(".data.rel.ro"):
            return f"it has static memory that can be written (section {name}): that is state from call to call"
        if size and "W" not in flags and not CONSTANT.fullmatch(name):
            return f"it has a section of its own ({name}): a kernel is code and constants"
    listed = symbols(target)
    for one in listed:
        if one.type == "IFUNC" or one.bind == "UNIQUE" or one.section == "COM":
            return f"its symbol {one.name} is of a kind that a kernel needs none of ({one.type}, {one.bind}, {one.section})"
        if one.section == "UND" and one.bind == "WEAK":
            return f"it looks by a weak symbol whether {one.name} is there: it could tell where it runs"
        if one.section == "UND" and one.name and not _may_call(one.name, known, component=component):
            return f"it calls {one.name}: a kernel may call {', '.join(sorted(CALLS - {'_GLOBAL_OFFSET_TABLE_'}))}, and ours"
    for name in interposed(target, contract):
        if not several or name in CALLS or name.startswith(("pgq_", "judge_", "world_", "_start", "main")):
            return f"it defines {name} beyond its contract, which could take the place of another: make it static"
    return ""


def _may_call(name: str, known: frozenset[str], *, component: bool) -> bool:
    threads = component and THREADS.fullmatch(name)
    return name in CALLS or name in known or bool(CPLUSPLUS.fullmatch(name) or threads)


def of_kernels(archive: Path) -> frozenset[str]:
    """The names of ours."""
    told = subprocess.run(["nm", "-g", "--defined-only", archive], capture_output=True, text=True, check=True).stdout
    return frozenset(re.findall(r" [TRDB] (\w+)$", told, re.MULTILINE))
