"""Registries map names to what they stand for: one registry per folder, one line per entry."""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Iterator, Mapping
from typing import Any, Generic, TypeVar

from loglinear.errors import IncompatibleError

T = TypeVar("T")


class Registry(Generic[T]):
    """Names and their entries; an unknown name is refused with the nearest known ones.

    An entry may be given as ``"module:name"``: it is then imported when it is first asked for.
    """

    def __init__(self, what: str, entries: Mapping[str, T | str]) -> None:
        self.what = what
        self._entries: dict[str, T | str] = dict(entries)

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __contains__(self, name: object) -> bool:
        return name in self._entries

    def register(self, name: str, entry: T) -> None:
        """Add an entry of your own; it is then known by name everywhere, the command line included."""
        self._entries[name] = entry

    def __getitem__(self, name: str) -> T:
        if name not in self._entries:
            same = [entry for entry in self._entries if entry.casefold() == str(name).casefold()]
            near = same or difflib.get_close_matches(str(name), list(self._entries), n=1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise IncompatibleError(f"unknown {self.what} {name!r}{hint} (known: {', '.join(self._entries)})")
        entry = self._entries[name]
        if isinstance(entry, str):
            entry = self._entries[name] = imported(entry)
        return entry

    def describe(self) -> list[tuple[str, str]]:
        """Return (name, first line of its docstring) of every entry."""
        return [(name, (self[name].__doc__ or "").strip().split("\n")[0]) for name in self]


def imported(place: str) -> Any:
    """Import what ``"module:name"`` names."""
    module, _, attribute = place.partition(":")
    return getattr(importlib.import_module(module), attribute)
