"""Information sources of composite language models: their features, relations, plans and normalisers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from loglinear.registry import Registry
from loglinear.sources.kinds import (
    Classes,
    Function,
    Heads,
    HeadTags,
    History,
    InformationSource,
    Skip,
    Tags,
    Topic,
    Words,
)

SOURCES: Registry[Callable[..., InformationSource]] = Registry(
    "information source",
    {"words": Words, "skip": Skip, "tags": Tags, "topic": Topic, "heads": Heads, "headtags": HeadTags,
     "classes": Classes},
)  # fmt: skip

_FIRST = {"skip": "skipped", "topic": "label"}  # what a number or name after the first colon means; else the order


def parse_source(text: str) -> InformationSource:
    """Return the source that a text such as ``words:3`` or ``topic:select=65000:min_count=2`` describes."""
    name, *parts = text.split(":")
    given: dict[str, Any] = {}
    for place, part in enumerate(parts):
        key, equals, value = part.partition("=")
        if not equals:
            key, value = (_FIRST.get(name, "order") if place == 0 else "order"), part
        given[key] = _value(key, value)
    make = SOURCES[name]
    try:
        return make(**given)
    except TypeError as error:
        raise ValueError(f"source {text!r}: {error}") from None


def parse_sources(given: str | Sequence[str | InformationSource]) -> list[InformationSource]:
    """Return sources given as objects, as texts, or as one text with commas."""
    items = given.split(",") if isinstance(given, str) else list(given)
    found = [item if isinstance(item, InformationSource) else parse_source(item) for item in items]
    if not found:
        raise ValueError("a composite model needs one source or more, such as words:3,topic")
    names = [source.spec().split(":")[0] + source.name for source in found]
    if len(set(names)) < len(names) and len({source.spec() for source in found}) < len(found):
        raise ValueError(f"a source occurs twice: {', '.join(source.spec() for source in found)}")
    return found


def parse_disjoint(given: Any, sources: Sequence[InformationSource]) -> list[tuple[int, ...]]:
    """Return the numbers of sources in sets of names, given as ``words+topic,words+tags`` or as lists of names."""
    sets = given.split(",") if isinstance(given, str) else list(given or ())
    number = {source.name: k for k, source in enumerate(sources)}
    out = []
    for one in sets:
        names = one.split("+") if isinstance(one, str) else list(one)
        for name in names:
            if name not in number:
                raise ValueError(f"disjoint: there is no source {name!r}; the sources are {', '.join(number)}")
        if len(set(names)) < 2:
            raise ValueError(f"disjoint: {'+'.join(names)!r} is no set of two sources or more, such as words+topic")
        out.append(tuple(sorted({number[name] for name in names})))
    return out


def _value(key: str, text: str) -> Any:
    if key in ("label", "layer", "classes", "title", "penalty"):
        return text
    if key == "nonnegative":
        return text in ("1", "true", "True")
    numbers = [float(t) if any(c in t for c in ".e") else int(t) for t in text.split("+")] if _numeric(text) else None
    if numbers is None:
        raise ValueError(f"{key}={text!r} is no number")
    return numbers[0] if len(numbers) == 1 else tuple(numbers)


def _numeric(text: str) -> bool:
    try:
        [float(t) for t in text.split("+")]
    except ValueError:
        return False
    return True


__all__ = [
    "SOURCES", "Classes", "Function", "HeadTags", "Heads", "History", "InformationSource", "Skip", "Tags", "Topic",
    "Words", "parse_disjoint", "parse_source", "parse_sources",
]  # fmt: skip
