"""Names for things: one registry per folder, one line per entry."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

from loglinear.errors import IncompatibleError

T = TypeVar("T")


class Registry(Generic[T]):
    """Names mapped to factories; an unknown name is refused with the nearest known ones."""

    def __init__(self, what: str, entries: dict[str, Callable[..., T]]) -> None:
        self.what = what
        self._entries = dict(entries)

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __contains__(self, name: object) -> bool:
        return name in self._entries

    def register(self, name: str, factory: Callable[..., T]) -> None:
        """Add an entry of your own; it is then known by name everywhere, the command line included."""
        self._entries[name] = factory

    def factory(self, name: str) -> Callable[..., T]:
        """The class or function behind a name."""
        if name not in self._entries:
            near = difflib.get_close_matches(str(name), list(self._entries), n=1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise IncompatibleError(f"unknown {self.what} {name!r}{hint} (known: {', '.join(self._entries)})")
        return self._entries[name]

    def describe(self) -> list[tuple[str, str]]:
        """(name, first line of its docstring) of every entry."""
        return [(name, (f.__doc__ or "").strip().split("\n")[0]) for name, f in self._entries.items()]
