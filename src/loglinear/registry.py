"""Names for things: one registry per folder, one line per entry."""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Callable, Iterator, Mapping
from typing import Generic, TypeVar

from loglinear.errors import IncompatibleError

T = TypeVar("T")


class Registry(Generic[T]):
    """Names mapped to factories; an unknown name is refused with the nearest known ones.

    A factory may be given as ``"module:name"``: it is then imported when it is first asked for.
    """

    def __init__(self, what: str, entries: Mapping[str, Callable[..., T] | str]) -> None:
        self.what = what
        self._entries: dict[str, Callable[..., T] | str] = dict(entries)

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
        entry = self._entries[name]
        if isinstance(entry, str):
            module, _, attribute = entry.partition(":")
            entry = self._entries[name] = getattr(importlib.import_module(module), attribute)
        return entry

    def describe(self) -> list[tuple[str, str]]:
        """(name, first line of its docstring) of every entry."""
        return [(name, (self.factory(name).__doc__ or "").strip().split("\n")[0]) for name in self]
