# SPDX-License-Identifier: PostgreSQL
"""Builds a private binding with a candidate in a kind's table of variants."""

import re
import shlex
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tools.common.asked import option
from tools.common.kernels import kernel_sources
from tools.judge.kinds import CALL, JudgeError, Kind

FFI = "_pgquern.abi3.so"
BINDING = Path("build/ffi-src/_pgquern.o")
CPLUSPLUS = {".cc", ".cpp", ".cxx", ".C"}
WATCH = Path("tools/judge")
HEAP = (
    "malloc", "calloc", "realloc", "aligned_alloc", "posix_memalign", "strdup", "free", "mmap", "munmap",
    "_Znwm", "_Znam", "_ZdlPv", "_ZdaPv", "_ZdlPvm", "_ZdaPvm",
)  # fmt: skip
"""What asks for memory and gives it back, in C and in C++: tools/judge/heap.c counts the candidate's calls of them."""
UNWATCHED = ["-DPGQUERN_JUDGE_UNWATCHED"]
WRITABLE = re.compile(r"^\s*\d+ (\.(?:data|bss)(?!\.rel\.ro)[.\w]*)\s", re.MULTILINE)
LOCAL_TO_A_THREAD = re.compile(r"^\s*\d+ \.t(?:data|bss)\S*\s+0*[1-9a-f]", re.MULTILINE)


@dataclass(frozen=True)
class Candidate:
    """Someone's source, and how it is compiled."""

    kind: Kind
    source: Path
    folder: Path
    compiler: str = "gcc"
    flags: str = ""
    parts: tuple[Path, ...] = ()
    """Its files, if they are several, or others than `source`."""
    tree: Path | None = None
    """A changed copy of the kernels' sources, whose headers come first."""
    alias: str = ""
    """The function that is the candidate, if it has another name; then nothing else of its files is seen."""

    @property
    def files(self) -> tuple[Path, ...]:
        return self.parts or (self.source,)

    @property
    def is_cplusplus(self) -> bool:
        return any(file.suffix in CPLUSPLUS for file in self.files)

    def command(self, cflags: Sequence[str], file: Path) -> list[str]:
        """What compiles a file. Its warnings are told, and are no errors."""
        names = [*shlex.split(self.compiler), *([f"-I{self.tree}"] if self.tree else [])]
        kept = [flag for flag in cflags if flag not in ("-Werror", "-std=c11")]
        if file.suffix in CPLUSPLUS:
            return [re.sub(r"(?<![a-z])gcc", "g++", re.sub(r"clang(?!\+)", "clang++", names[0])), *names[1:], *kept]
        return [*names, "-std=gnu11", *kept]


def write_sources(candidate: Candidate) -> None:
    """The table with one more row, what its function calls, and the declaration that the candidate is held to.

    JudgeError: a component in C++.
    """
    kind, folder = candidate.kind, candidate.folder
    if kind.functions and candidate.is_cplusplus:
        raise JudgeError(
            f"{candidate.source} is C++: write {kind.name} in C, whose calls the world of threads replaces."
        )
    (folder / "variants.c").write_text(kind.with_candidate())
    if kind.functions:
        (folder / "candidate.h").write_text(
            f'#ifdef __cplusplus\nextern "C" {{\n#endif\n#include "{kind.header}"\n#ifdef __cplusplus\n}}\n#endif\n'
        )
        (folder / "call.c").write_text(f'#include "../{kind.folder}/candidate.c"\n')
        return
    (folder / "candidate.h").write_text(
        f'#include "{kind.header}"\n#ifdef __cplusplus\nextern "C"\n#endif\n{kind.signature};\n'
    )
    after = "pgq_judge_after_call(true)" if kind.waits else "pgq_judge_after()"
    (folder / "call.c").write_text(
        f'#include "{kind.header}"\n#include "watch.h"\n{kind.signature};\n{kind.declaration(CALL)};\n'
        f"{kind.declaration(CALL)}\n{{\n    pgq_judge_before();\n"
        f"    {kind.result} answer = candidate({kind.names});\n    {after};\n    return answer;\n}}\n"
    )


def _run(command: Sequence[str | Path]) -> str:
    run = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=True)
    return run.stdout + run.stderr


def compile_candidate(candidate: Candidate, cflags: Sequence[str], target: Path) -> str:
    """Compiles the candidate's files into one; their warnings. JudgeError: they do not, or there is no `candidate`."""
    warnings, objects = "", []
    for i, file in enumerate(candidate.files):
        objects.append(target.with_suffix(f".{i}.o"))
        warnings += _compile(candidate, cflags, file, objects[-1])
    try:
        _run(["ld", "-r", *objects, "-o", target])
    except subprocess.CalledProcessError as error:
        raise JudgeError(
            f"The files of {candidate.source} do not link together; correct what the linker says:\n"
            f"{error.stderr.strip()}"
        ) from error
    if candidate.alias:
        _run(["objcopy", f"--redefine-sym={candidate.alias}=candidate", target])
        _run(["objcopy", "--keep-global-symbol=candidate", target])
    defined = re.findall(r"^[0-9a-f]+ [TtWi] (\w+)$", _run(["nm", "--defined-only", target]), re.MULTILINE)
    for name in candidate.kind.defines:
        if name not in defined:
            raise JudgeError(
                f"{candidate.source} has no function named {name}; it must define: {candidate.kind.signature}"
            )
    return warnings


def _compile(candidate: Candidate, cflags: Sequence[str], file: Path, target: Path) -> str:
    command = [
        *candidate.command(cflags, file), f"-I{file.parent}", "-include", str(candidate.folder / "candidate.h"),
        *shlex.split(candidate.flags), "-c", str(file), "-o", str(target),
    ]  # fmt: skip
    try:
        return _run(command)
    except FileNotFoundError as error:
        raise JudgeError(
            f"There is no compiler {command[0]!r}: install it, or name another with {option('CC', ours='compiler')}."
        ) from error
    except subprocess.CalledProcessError as error:
        raise JudgeError(
            f"{candidate.source} does not compile; correct what the compiler says, or add flags with"
            f" {option('FLAGS')}:\n"
            f"{(error.stdout + error.stderr).strip()}"
        ) from error


def unwatched(candidate: Candidate, cflags: Sequence[str], folder: Path) -> list[str | Path]:
    """What the linker needs of the candidate and its table, called as directly as all others. JudgeError."""
    mine, table, call = (folder / f"{name}.o" for name in ("candidate", "variants", "call"))
    compile_candidate(candidate, cflags, mine)
    _run(["gcc", *cflags, "-c", candidate.folder / "variants.c", "-o", table])
    if not candidate.kind.functions:
        return [table, mine, f"-Wl,--defsym={CALL}=candidate"]
    _run(["gcc", *UNWATCHED, "-DPGQUERN_JUDGE_UNCHECKED", *cflags, "-c", candidate.folder / "call.c", "-o", call])
    return [table, mine, call]


def set_statics_apart(target: Path) -> None:
    """Gives the candidate's writable sections names of their own, by which tools/judge/watch.c finds them."""
    for section in sorted(set(WRITABLE.findall(_run(["objdump", "-h", target])))):
        name, kinds = ("judge_bss", "alloc") if section.startswith(".bss") else (
            "judge_data", "alloc,load,data,contents"
        )  # fmt: skip
        _run(["objcopy", "--rename-section", f"{section}={name},{kinds}", target])


def has_memory_of_threads(target: Path) -> bool:
    return LOCAL_TO_A_THREAD.search(_run(["objdump", "-h", target])) is not None


def imports(target: Path) -> list[str]:
    """What the candidate calls, and does not define."""
    return re.findall(r"^\s+U (\w+)", _run(["nm", "-u", target]), re.MULTILINE)


def link(candidate: Candidate, cflags: Sequence[str], objects: Path, target: Path, watched: bool) -> str:
    """Builds the binding into the folder `target`; the compiler's warnings of the candidate. JudgeError.

    objects: of the ordinary build with the same flags. watched: the candidate's statics lie apart.
    """
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    mine = target / "candidate.o"
    warnings = compile_candidate(candidate, cflags, mine)
    if watched:
        set_statics_apart(mine)
        # What a component has made lives until it is destroyed.
        if not candidate.kind.functions:
            _run(["objcopy", *(f"--redefine-sym={name}=pgq_judge_{name}" for name in HEAP), mine])
    own = [mine]
    for source in (candidate.folder / "variants.c", candidate.folder / "call.c", WATCH / "watch.c", WATCH / "heap.c"):
        own.append(target / f"{source.stem}.o")
        _run(["gcc", f"-I{WATCH}", *cflags, "-c", source, "-o", own[-1]])
    names = (source.relative_to("csrc") for source in kernel_sources())
    theirs = [objects / name.with_suffix(".o") for name in names if Path("csrc", name) != candidate.kind.table()]
    sanitizers = [flag for flag in cflags if flag.startswith("-fsanitize=")]
    linker = ["g++" if candidate.is_cplusplus else "gcc", "-shared", *sanitizers]
    flags = shlex.split(candidate.flags)
    try:
        # Python's symbols are found at run time; all others must be there now.
        _run([*linker, *theirs, *own, *flags, "-Wl,-z,defs" if not sanitizers else "-Wl,-z,lazy", "-o", target / FFI])
        _run([*linker, BINDING, *theirs, *own, *flags, "-o", target / FFI])
    except subprocess.CalledProcessError as error:
        raise JudgeError(
            f"{candidate.source} does not link; define or rename what the linker says:\n{error.stderr.strip()}"
        ) from error
    return warnings
