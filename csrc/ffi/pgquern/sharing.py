# SPDX-License-Identifier: PostgreSQL
"""Which objects may be shared by threads. C runs without the GIL, so each class that C keeps memory for says it here.

Such an object cannot be copied (TypeError) or initialised again (RuntimeError).

A class without a decorator of this module must not be shared. Nor must the pages that a function is given: while it
runs no other thread may write them.
"""

from collections.abc import Callable
from functools import wraps
from threading import Lock, get_ident
from typing import Any, TypeVar

T = TypeVar("T")


class _Turn:
    """A lock that its owner cannot take again."""

    def __init__(self) -> None:
        self._lock, self._owner = Lock(), 0

    def __enter__(self) -> None:
        if self._owner == get_ident():
            raise RuntimeError("an object was called again from within its own call")
        self._lock.acquire()
        self._owner = get_ident()

    def __exit__(self, *_: object) -> None:
        self._owner = 0
        self._lock.release()


class _Calls:
    """The number of calls in progress, and a lock under which it changes."""

    def __init__(self) -> None:
        self.lock, self.number = Lock(), 0

    def __enter__(self) -> None:
        with self.lock:
            self.number += 1

    def __exit__(self, *_: object) -> None:
        with self.lock:
            self.number -= 1


def _each(cls: type[T], wrap: Callable[[Callable[..., Any], str], Callable[..., Any]]) -> None:
    """Wraps the public methods and properties."""
    for name, member in list(vars(cls).items()):
        if isinstance(member, property) and member.fget is not None:
            setattr(cls, name, property(wrap(member.fget, name), doc=member.__doc__))
        elif callable(member) and not name.startswith("_"):
            setattr(cls, name, wrap(member, name))


def uncopied(self: Any) -> Any:
    """As __reduce__: copy.copy, copy.deepcopy and pickle call that."""
    raise TypeError(f"a {type(self).__name__} cannot be copied or pickled, for C keeps memory for it; make a new one")


def _with(cls: type[T], name: str, make: Callable[[], Any]) -> None:
    """Gives each new object an attribute, first of all. C's memory has one owner: no copies, no second `__init__`."""
    init = cls.__init__

    @wraps(init)
    def made(self: Any, *args: Any, **named: Any) -> None:
        if name in vars(self):
            raise RuntimeError(f"a {cls.__name__} is initialised once; make a new one")
        setattr(self, name, make())
        init(self, *args, **named)

    cls.__init__ = made  # type: ignore[method-assign]
    cls.__reduce__ = uncopied  # type: ignore[method-assign]


def exclusive(cls: type[T]) -> type[T]:
    """Threads may share an object: its public methods and properties run one after the other.

    RuntimeError: a callback calls the object that has called it.
    """

    def wrap(method: Callable[..., Any], _name: str) -> Callable[..., Any]:
        @wraps(method)
        def alone(self: Any, *args: Any, **named: Any) -> Any:
            with self._turn:
                return method(self, *args, **named)

        return alone

    _each(cls, wrap)
    _with(cls, "_turn", _Turn)
    return cls


def closable(busy: Callable[[], Exception]) -> Callable[[type[T]], type[T]]:
    """Threads may share an object, and C has locks of its own for it; close() raises busy() while another call runs."""

    def decorate(cls: type[T]) -> type[T]:
        def wrap(method: Callable[..., Any], name: str) -> Callable[..., Any]:
            @wraps(method)
            def counted(self: Any, *args: Any, **named: Any) -> Any:
                with self._calls:
                    return method(self, *args, **named)

            @wraps(method)
            def last(self: Any, *args: Any, **named: Any) -> Any:
                with self._calls.lock:
                    if self._calls.number > 0:
                        raise busy()
                    return method(self, *args, **named)

            return last if name == "close" else counted

        _each(cls, wrap)
        _with(cls, "_calls", _Calls)
        return cls

    return decorate
