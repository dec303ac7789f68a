# SPDX-License-Identifier: PostgreSQL
"""Builds a private binding with a candidate in a kind's table of variants."""

import re
import resource
import shlex
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tools.common.kernels import kernel_sources
from tools.common.options import option
from tools.judge import objects
from tools.judge.kinds import CALL, JudgeError, Kind

FFI = "_pgquern.abi3.so"
BINDING = Path("build/ffi-src/_pgquern.o")
CPLUSPLUS = {".cc", ".cpp", ".cxx", ".C"}
HERE = Path("tools/judge")
LIBRARY = Path("build/lib/libpgquern.a")
TRAPS = [
    "-fsanitize=undefined", "-fsanitize-undefined-trap-on-error", "-fstack-protector-all", "-U__SSP_ALL__",
    "-ftrivial-auto-var-init=pattern",
]  # fmt: skip
"""Undefined behaviour, and a write beyond an array of its own, are a signal: nothing is linked for it. What a kernel
has not set holds no zeroes. No macro tells it: EXEMPT are gone in each build."""
EXEMPT = [
    "-Dno_sanitize(...)=", "-D__no_sanitize__(...)=", "-Dno_sanitize_undefined=", "-Dno_sanitize_thread=",
    "-D__no_sanitize_thread__=", "-Dno_stack_protector=", "-D__no_stack_protector__=",
]  # fmt: skip
"""Attributes by which a function would be left out."""
LEFT_OUT = re.compile(r"\b_*(?:no_sanitize(?:_undefined|_thread)?|no_stack_protector|disable_sanitizer\w*)\b")
"""What is left of them, if a source takes the macros away."""
FLAG = re.compile(
    r"-(O\w*|g\w*|w|m[-\w=+.,]+|f(?!plugin|lto|use-ld|(no-)?sanitize)[-\w=+.,]+|W(?![alp],)[-\w=+]*|[DUI].+|std=[\w+]+)"
)
"""What FLAGS= may hold: words for the compiler alone. Files, and what the linker reads, are not judged."""
COMPILES = {resource.RLIMIT_CPU: 300, resource.RLIMIT_AS: 4 << 30, resource.RLIMIT_FSIZE: 1 << 30}
"""What a compiler may use, of CPU seconds and bytes: a source can have it read or write for ever."""
INVOKES = """\
#include <stdbool.h>
void judge_invoke(void *there);
void judge_prepare(void);
extern const bool judge_keeps_memory;
extern const size_t judge_arguments_size;
const size_t judge_arguments_size = sizeof(arguments);
"""
RACES = ["-fsanitize=thread", "-U__SANITIZE_THREAD__", "-fno-builtin"]
"""What races.h has the doubles of."""
DOUBLE = re.compile(r" T judge_double_(\w+)$", re.MULTILINE)
"""Of a function that a component calls in its process: what a name there stands for."""


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
    as_upstream: bool = False
    """It is PostgreSQL's own, as somebody has changed it: no more is asked of it than of upstream."""

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
        kept = [*(flag for flag in kept if flag != "-fPIC"), "-fPIE"]
        if file.suffix in CPLUSPLUS:
            return [re.sub(r"(?<![a-z])gcc", "g++", re.sub(r"clang(?!\+)", "clang++", names[0])), *names[1:], *kept]
        return [*names, "-std=gnu11", *kept]


def _arguments(kind: Kind) -> str:
    """A struct of a call's arguments, and of its result."""
    named = [re.sub(r"(\w+)\s*\[\w*\]$", r"*\1", one.strip()) for one in kind.arguments.split(",")]
    return f"typedef struct arguments {{ {'; '.join(named)}; {kind.result} result; }} arguments;\n"


def write_sources(candidate: Candidate) -> None:
    """The table with one more row, what its function calls, and the declaration that the candidate is held to.

    JudgeError: a component in C++; flags that are none of the compiler's.
    """
    kind, folder = candidate.kind, candidate.folder
    if other := [word for word in shlex.split(candidate.flags) if not FLAG.fullmatch(word)]:
        raise JudgeError(
            f"{option('FLAGS')} {other[0]!r} is no flag of the compiler's own (-O, -f, -m, -W, -D, -U, -I, -g, -std):"
            " an object file, a library or a flag of the linker would be judged by nobody. Give sources, in a folder."
        )
    if kind.functions and candidate.is_cplusplus:
        raise JudgeError(
            f"{candidate.source} is C++: write {kind.name} in C, whose calls the world of threads replaces."
        )
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "variants.c").write_text(kind.with_candidate())
    if kind.functions:
        (folder / "candidate.h").write_text(
            f'#ifdef __cplusplus\nextern "C" {{\n#endif\n#include "{kind.header}"\n#ifdef __cplusplus\n}}\n#endif\n'
        )
        (folder / "call.c").write_text(f'#include "../{kind.folder}/candidate.c"\n')
        shared = f'#include "../tools/judge/watch.h"\n#include "../{kind.cage}"\n'
        (folder / "proxy.c").write_text(shared)
        (folder / "invoke.c").write_text(
            f"#define JUDGE_HOST\n{shared}{INVOKES}void judge_invoke(void *there)\n{{\n    invoke(there);\n}}\n"
        )
        return
    (folder / "candidate.h").write_text(
        f'#include "{kind.header}"\n#ifdef __cplusplus\nextern "C"\n#endif\n{kind.signature};\n'
    )
    names = kind.names.split(", ")
    (folder / "call.h").write_text(
        f'#include "{kind.header}"\n#include "cage.h"\n{_arguments(kind)}#include "../{kind.inputs}"\n'
    )
    (folder / "call.c").write_text(
        f'#include "call.h"\n{kind.declaration(CALL)};\n{kind.declaration(CALL)}\n{{\n    arguments a;\n\n'
        f"    memset(&a, 0, sizeof a);\n    {' '.join(f'a.{name} = {name};' for name in names)}\n"
        f"    judge_call(&a, sizeof a, stage, {'serve' if kind.asks else 'NULL'});\n    return a.result;\n}}\n"
    )
    asks, call = (f'#define JUDGE_HOST\n#include "../{kind.inputs}"\n', "asking") if kind.asks else ("", "candidate")
    (folder / "invoke.c").write_text(
        f'#include "{kind.header}"\n{_arguments(kind)}{kind.signature};\n{asks}'
        f"{INVOKES}const bool judge_keeps_memory = false;\nvoid judge_prepare(void)\n{{\n}}\n"
        f"void judge_invoke(void *there)\n{{\n    arguments *a = there;\n\n"
        f"    a->result = {call}({', '.join(f'a->{name}' for name in names)});\n}}\n"
    )


def _limit() -> None:
    for what, most in COMPILES.items():
        hard = resource.getrlimit(what)[1]
        resource.setrlimit(what, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))


def _run(command: Sequence[str | Path]) -> str:
    """What a program says of a stranger's file, as characters that no terminal obeys."""
    words = [str(word) for word in command]
    run = subprocess.run(words, capture_output=True, check=False, preexec_fn=_limit)
    out, err = objects.printable(run.stdout), objects.printable(run.stderr)
    if run.returncode:
        raise subprocess.CalledProcessError(run.returncode, words, out, err)
    return out + err


def compile_candidate(candidate: Candidate, cflags: Sequence[str], target: Path) -> str:
    """Compiles the candidate's files into one; their warnings. JudgeError: they do not, or there is no `candidate`."""
    warnings, parts = "", []
    for i, file in enumerate(candidate.files):
        parts.append(target.with_suffix(f".{i}.o"))
        warnings += _compile(candidate, cflags, file, "-c", "-o", str(parts[-1]))
    try:
        _run(["ld", "-r", *parts, "-o", target])
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


def _compile(candidate: Candidate, cflags: Sequence[str], file: Path, *to: str) -> str:
    command = [
        *candidate.command(cflags, file), *EXEMPT, f"-I{file.parent}",
        "-include", str(candidate.folder / "candidate.h"), *shlex.split(candidate.flags), str(file),
    ]  # fmt: skip
    try:
        return _run([*command, *to])
    except FileNotFoundError as error:
        raise JudgeError(
            f"There is no compiler {command[0]!r}: install it, or name another with {option('COMPILER')}."
        ) from error
    except subprocess.CalledProcessError as error:
        raise JudgeError(
            f"{candidate.source} does not compile; correct what the compiler says, or add flags with"
            f" {option('FLAGS')}:\n"
            f"{(error.stdout + error.stderr).strip()}"
        ) from error


def left_out(candidate: Candidate, cflags: Sequence[str]) -> str:
    """An attribute by which it would leave a function out of what looks for its faults; empty: there is none."""
    flags = [*cflags, *TRAPS, *(RACES if candidate.kind.threads else [])]
    found = (LEFT_OUT.search(_compile(candidate, flags, file, "-E", "-P")) for file in candidate.files)
    return next((one[0] for one in found if one), "")


def examine(candidate: Candidate, target: Path) -> str:
    """Why its object file is refused; empty: it is not. What is upstream's own is not."""
    kind = candidate.kind
    several = len(candidate.files) > 1 or candidate.is_cplusplus or bool(candidate.tree)
    known = objects.of_kernels(LIBRARY)
    known |= set(kind.asks)
    return objects.refusal(target, kind.defines, known=known, component=bool(kind.functions), several=several)


def host(candidate: Candidate, kernel: Path | str, target: Path) -> Path:
    """A program in which a kernel runs alone: an object file's `candidate`, or a function of ours. JudgeError."""
    folder = candidate.folder / "host"
    folder.mkdir(exist_ok=True)
    flags = ["-O2", "-fPIE", "-std=gnu11", "-D_GNU_SOURCE", "-Icsrc", f"-I{HERE}"]
    for source in (HERE / "host.c", candidate.folder / "invoke.c"):
        if not (folder / f"{source.stem}.o").exists():
            _run(["gcc", *flags, "-c", source, "-o", folder / f"{source.stem}.o"])
    if isinstance(kernel, Path):  # its other names are seen by nobody
        doubles = DOUBLE.findall(_run(["nm", folder / "invoke.o"]))
        renamed = [f"--redefine-sym={name}=judge_double_{name}" for name in doubles]
        _run(["objcopy", *renamed, *(f"--keep-global-symbol={name}" for name in candidate.kind.defines), kernel])
    mine = [kernel] if isinstance(kernel, Path) else [f"-Wl,--defsym=candidate={kernel}", f"-Wl,-u,{kernel}"]
    asks = [name for name in (*candidate.kind.asks, "syscall") if candidate.kind.asks and not name.startswith("_")]
    wraps = ",".join(f"--wrap={name}" for name in (*sorted(objects.MEMORY), *asks))
    linker = "g++" if candidate.is_cplusplus else "gcc"
    try:
        _run([
            linker, "-static-pie", "-Wl,-z,noexecstack,-z,relro,-z,now",
            folder / "host.o", folder / "invoke.o", *mine, f"-Wl,{wraps}",
            LIBRARY, "-o", target,
        ])  # fmt: skip
    except subprocess.CalledProcessError as error:
        raise JudgeError(
            f"{candidate.source} does not link; define or rename what the linker says:\n{error.stderr.strip()}"
        ) from error
    return target.resolve()


def driver(candidate: Candidate, target: Path) -> Path:
    """The program that makes inputs, gives them to hosts, and compares."""
    flags = ["-O2", "-std=gnu11", "-D_GNU_SOURCE", "-Icsrc", f"-I{HERE}", f"-I{candidate.folder}"]
    _run(["gcc", *flags, HERE / "driver.c", HERE / "cage.c", "-pthread", "-o", target])
    return target


def component_host(candidate: Candidate, cflags: Sequence[str]) -> Path:
    """The program in which a component runs alone; undefined behaviour is a signal. JudgeError: it does not link."""
    target = candidate.folder / "caged.o"
    compile_candidate(candidate, [*cflags, *TRAPS, *(RACES if candidate.kind.threads else [])], target)
    return host(candidate, target, candidate.folder / "theirs")


@dataclass(frozen=True)
class Hosts:
    """The programs of a trial."""

    driver: Path
    theirs: Path
    traps: Path
    """The same, where undefined behaviour is a signal."""
    ours: Path

    @classmethod
    def build(cls, candidate: Candidate, cflags: Sequence[str]) -> "Hosts":
        """JudgeError: it does not link."""
        folder, mine = candidate.folder, candidate.folder / "traps.o"
        theirs = host(candidate, folder / "candidate.o", folder / "theirs")
        compile_candidate(candidate, [*cflags, *TRAPS], mine)
        return cls(
            driver(candidate, folder / "driver"), theirs, host(candidate, mine, folder / "traps"),
            host(candidate, candidate.kind.variant, folder / "ours"),
        )  # fmt: skip


def link(candidate: Candidate, cflags: Sequence[str], built: Path, target: Path) -> None:
    """Builds the binding into the folder `target`, where a call of the candidate is one of its host. JudgeError.

    built: the ordinary build with the same flags.
    """
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    own: list[Path] = []
    sources = [candidate.folder / "variants.c", candidate.folder / "call.c", HERE / "cage.c"]
    sources += [candidate.folder / "proxy.c"] if candidate.kind.cage else []
    for source in sources:
        own.append(target / f"{source.stem}.o")
        includes = [f"-I{HERE}", f"-I{candidate.folder}"]
        _run(["gcc", *includes, *cflags, "-Wno-unused-function", "-c", source, "-o", own[-1]])
    names = (source.relative_to("csrc") for source in kernel_sources())
    theirs = [built / name.with_suffix(".o") for name in names if Path("csrc", name) != candidate.kind.table()]
    sanitizers = [flag for flag in cflags if flag.startswith("-fsanitize=")]
    linker = ["g++" if candidate.is_cplusplus else "gcc", "-shared", *sanitizers]
    try:
        _run([*linker, BINDING, *theirs, *own, "-o", target / FFI])
    except subprocess.CalledProcessError as error:
        raise JudgeError(
            f"{candidate.source} does not link; define or rename what the linker says:\n{error.stderr.strip()}"
        ) from error
