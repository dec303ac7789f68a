# SPDX-License-Identifier: PostgreSQL
"""What can be called in the binding. tests/<stem>/entry_points.py has CALLS, which make a sound call of each."""

import pkgutil
from collections.abc import Callable, Iterator
from enum import Enum
from importlib import import_module
from inspect import isclass, isfunction
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import pgquern


class Call(NamedTuple):
    """A function, or a method of an object that nothing else uses, and arguments that it accepts."""

    function: Callable[..., Any]
    args: tuple[Any, ...] = ()
    named: dict[str, Any] = {}  # noqa: RUF012  (never changed)

    def __call__(self) -> Any:
        return self.function(*self.args, **self.named)

    def changed(self, wrong: Any) -> "Iterator[Call]":
        """The same call with one argument replaced, for each argument."""
        for i in range(len(self.args)):
            yield self._replace(args=(*self.args[:i], wrong, *self.args[i + 1 :]))
        for name in self.named:
            yield self._replace(named=self.named | {name: wrong})


def modules() -> list[ModuleType]:
    """The binding's modules of rows: those whose tests have entry points."""
    here = Path(__file__).parents[1]
    names = [module.name for module in pkgutil.iter_modules(pgquern.__path__)]
    return [import_module(f"pgquern.{name}") for name in names if (here / name / "entry_points.py").exists()]


def row(module: ModuleType) -> Any:
    """tests/<stem>/entry_points.py."""
    return import_module(f"tests.{module.__name__.rpartition('.')[2]}.entry_points")


def is_data(cls: type) -> bool:
    """A class that only holds values, or that callers write themselves."""
    return issubclass(cls, Enum | tuple | BaseException) or any(
        hasattr(cls, mark) for mark in ("__dataclass_fields__", "_is_protocol")
    )


def classes(module: ModuleType) -> list[type]:
    """The public classes whose objects have memory in C."""
    own = [member for member in vars(module).values() if getattr(member, "__module__", "") == module.__name__]
    return [cls for cls in own if isclass(cls) and not cls.__name__.startswith("_") and not is_data(cls)]


def entry_points(module: ModuleType) -> set[str]:
    """The public functions, classes and methods of a module."""
    named = {
        name
        for name, member in vars(module).items()
        if isfunction(member) and member.__module__ == module.__name__ and not name.startswith("_")
    }
    for cls in classes(module):
        methods = {name for name, member in vars(cls).items() if callable(member) and not name.startswith("_")}
        named |= {cls.__name__, *(f"{cls.__name__}.{name}" for name in methods)}
    return named


def calls() -> list[tuple[ModuleType, str]]:
    """All of them."""
    return [(module, name) for module in modules() for name in sorted(row(module).CALLS)]


def call_of(module: ModuleType, name: str) -> Call:
    """A fresh sound call."""
    made: Call = row(module).CALLS[name]()
    return made
