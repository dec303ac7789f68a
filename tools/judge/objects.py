# SPDX-License-Identifier: PostgreSQL
"""What a candidate's object file holds beyond its functions: read before any of it runs.

A kernel is code and constants. What runs before it is called, memory that it keeps, names by which it could tell where
it runs or take the place of others', and calls that no kernel needs, are refused by their names.
"""

import re
import struct
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from tools.judge.kinds import JudgeError

MEMORY = frozenset({"malloc", "calloc", "realloc", "aligned_alloc", "posix_memalign", "free"})
OF_THE_CPU = frozenset({"__cpu_model", "__cpu_features2", "__cpu_indicator_init"})
"""What __builtin_cpu_supports looks at: a kernel may ask the CPU itself, too."""
CALLS = MEMORY | OF_THE_CPU | {
    "memcpy", "memmove", "memset", "memcmp", "memchr", "strlen", "qsort", "bsearch", "abort", "__assert_fail",
    "__stack_chk_fail", "_GLOBAL_OFFSET_TABLE_",
}  # fmt: skip
CPLUSPLUS = re.compile(
    r"_Zn[wa]m|_Zd[la]Pvm?|__gxx_personality_v0|_Unwind_Resume|__cxa_\w+|_ZSt\d+(terminate|__throw_\w+)"
)
THREADS = re.compile(r"pthread_\w+|clock_gettime|syscall|__errno_location|sched_yield|__world_\w+|world_\w+")
RELOCATED = re.compile(r"\.data\.rel\.ro[.\w]*")
"""Constants with addresses: the loader writes them, and takes the right to write away before a kernel runs."""
CONSTANT = re.compile(r"\.(text|rodata|eh_frame|note\.gnu\.property|gcc_except_table|group)(\.[.\w]+)?")


ALLOCATED, WRITTEN, OF_THREADS = 2, 1, 0x400
SYMBOLS, RELOCATIONS, ARRAYS = 2, 4, (14, 15, 16)
"""Of sections: flags, and types: a table of symbols, of relocations; INIT_ARRAY, FINI_ARRAY and PREINIT_ARRAY."""
LOCAL, GLOBAL, WEAK, IFUNC, OF_THREAD, UNDEFINED, COMMON = 0, 1, 2, 10, 6, 0, 0xFFF2
"""Of symbols: binds, types, and where they stand."""


class Section(NamedTuple):
    name: str
    type: int
    flags: int
    size: int


class Symbol(NamedTuple):
    name: str
    type: int
    bind: int
    section: int


def printable(text: bytes) -> str:
    """What a stranger chose, as characters that no terminal obeys."""
    shown = (
        one if one.isprintable() or one in "\n\t" else f"\\x{ord(one):02x}" for one in text.decode(errors="replace")
    )
    return "".join(shown)


def _text(table: bytes, at: int) -> str:
    return printable(table[at : table.index(b"\0", at)]).replace("\n", "\\n")


def _headers(elf: bytes) -> list[tuple[int, ...]]:
    """Those of the sections: name, type, flags, address, offset, size, link, info, alignment, size of an entry."""
    at, (size, count) = struct.unpack_from("<Q", elf, 40)[0], struct.unpack_from("<HH", elf, 58)
    if count == 0:  # the number stands elsewhere, and so do those that symbols name
        raise JudgeError("It has 65,280 sections or more: nobody looks through these. Give a kernel fewer.")
    return [struct.unpack_from("<IIQQQQIIQQ", elf, at + i * size) for i in range(count)]


def sections(target: Path) -> list[Section]:
    elf = target.read_bytes()
    headers = _headers(elf)
    names = headers[struct.unpack_from("<H", elf, 62)[0]]
    table = elf[names[4] : names[4] + names[5]]
    return [Section(_text(table, one[0]), one[1], one[2], one[5]) for one in headers]


def symbols(target: Path) -> list[Symbol]:
    elf = target.read_bytes()
    headers, found = _headers(elf), []
    for one in headers:
        if one[1] != SYMBOLS:
            continue
        names = headers[one[6]]
        table = elf[names[4] : names[4] + names[5]]
        for at in range(one[4], one[4] + one[5], 24):
            name, info, _, section = struct.unpack_from("<IBBH", elf, at)
            found.append(Symbol(_text(table, name), info & 15, info >> 4, section))
    return found


def constructors(target: Path) -> list[str]:
    """Sections of what runs before main, or after."""
    what = re.compile(r"\.(preinit_array|init_array|fini_array|ctors|dtors|init|fini)\b")
    return [one.name for one in sections(target) if what.match(one.name) or one.type in ARRAYS]


def written(target: Path) -> list[str]:
    """Sections that can be written, and that its code names: behind an empty one lies another's memory."""
    elf = target.read_bytes()
    headers, known = _headers(elf), sections(target)
    found: set[str] = set()
    for one in headers:
        if one[1] != RELOCATIONS or not known[one[7]].flags & ALLOCATED:
            continue
        table = headers[one[6]]
        for at in range(one[4], one[4] + one[5], 24):
            (symbol,) = struct.unpack_from("<I", elf, at + 12)
            (section,) = struct.unpack_from("<H", elf, table[4] + symbol * 24 + 6)
            if section < len(known) and known[section].flags & WRITTEN:
                found.add(known[section].name)
    return sorted(found)


def interposed(target: Path, contract: Sequence[str]) -> list[str]:
    """Names beyond the contract's that others could see."""
    seen = (one for one in symbols(target) if one.bind != LOCAL and one.section != UNDEFINED)
    return sorted(one.name for one in seen if one.name not in contract)


def calls(target: Path) -> list[str]:
    """What it uses, and does not define."""
    return sorted({one.name for one in symbols(target) if one.section == UNDEFINED and one.name})


def refusal(target: Path, contract: Sequence[str], *, known: frozenset[str], component: bool, several: bool) -> str:
    """Why it is refused; empty: it is not.

    contract: the names that it must define. known: those of our kernels. several: it has several files, or is C++,
    whose own names are not seen by others once they are linked together.
    """
    if found := constructors(target):
        return f"it has a constructor or destructor (section {found[0]}): nothing of a kernel runs but its calls"
    for one in sections(target):
        if not one.flags & ALLOCATED or not one.size:
            continue
        if one.flags & OF_THREADS:
            return f"it has thread-local memory (section {one.name}), in which it could keep state from call to call"
        if one.flags & WRITTEN and not RELOCATED.fullmatch(one.name):
            return f"it has static memory that can be written (section {one.name}): that is state from call to call"
        if not one.flags & WRITTEN and not CONSTANT.fullmatch(one.name):
            return f"it has a section of its own ({one.name}): a kernel is code and constants"
    for name in written(target):
        if not RELOCATED.fullmatch(name):
            return f"it has static memory of no size (section {name}), behind which it could keep state"
    for symbol in symbols(target):
        name = symbol.name
        if symbol.type in (IFUNC, OF_THREAD) or symbol.bind not in (LOCAL, GLOBAL, WEAK) or symbol.section == COMMON:
            return (
                f"{name} is no plain function or constant: it is chosen, shared or kept elsewhere (an IFUNC, a common)"
            )
        if symbol.section == UNDEFINED and symbol.bind == WEAK:
            return f"it looks by a weak symbol whether {name} is there: it could tell where it runs"
        if symbol.section == UNDEFINED and name and not _may_call(name, known, component=component):
            may = ", ".join(sorted(CALLS - OF_THE_CPU - {"_GLOBAL_OFFSET_TABLE_"}))
            return f"it calls {name}: a kernel may call {may}, and ours"
    for name in interposed(target, contract):
        if not several or name in CALLS or name.startswith(("pgq_", "judge_", "world_", "__wrap", "_start", "main")):
            return f"it defines {name} beyond its contract, which could take the place of another: make it static"
    return ""


def _may_call(name: str, known: frozenset[str], *, component: bool) -> bool:
    threads = component and THREADS.fullmatch(name)
    return name in CALLS or name in known or bool(CPLUSPLUS.fullmatch(name) or threads)


def of_kernels(archive: Path) -> frozenset[str]:
    """The names of ours."""
    told = subprocess.run(["nm", "-g", "--defined-only", archive], capture_output=True, text=True, check=True).stdout
    return frozenset(re.findall(r" [TRDB] (\w+)$", told, re.MULTILINE))
