"""Options of ``loglinear lm`` for a memory of the document."""

from __future__ import annotations

from typing import Annotated, Any

import typer

Cache = Annotated[bool, typer.Option("--cache", help="Put a memory of the document over it, fitted on the dev set.")]
CacheKind = Annotated[
    str | None, typer.Option(metavar="log-linear|linear", help="Kind of the cache.", show_default="log-linear")
]
CacheWindow = Annotated[
    int | None, typer.Option(metavar="N", help="Words that the cache remembers.", show_default="1000")
]


def cache_setting(cache: bool, kind: str | None, window: int | None) -> Any:
    """Return the setting that --cache, --cache-kind and --cache-window stand for."""
    given = {name: value for name, value in (("kind", kind), ("window", window)) if value is not None}
    if not cache:
        if given:
            raise ValueError(f"--cache-{next(iter(given))} is a setting of --cache")
        return None
    return given or True
