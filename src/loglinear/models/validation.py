"""Held-out data has one name in every ``fit``: ``validation``. Older names still work, with a FutureWarning."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any, TypeVar

_Function = TypeVar("_Function", bound=Callable[..., Any])


def as_pair(validation: Any) -> tuple[Any, Any] | None:
    """Return held-out (examples, labels), or None; raise ValueError for anything else, so before training."""
    if validation is None:
        return None
    if not isinstance(validation, tuple) or len(validation) != 2:
        kind = type(validation).__name__
        raise ValueError(f"validation must be a pair (X, y), held-out examples and their labels, not {kind}")
    X, y = validation
    if X is None or y is None:
        raise ValueError(f"validation lacks its {'labels' if y is None else 'examples'}: give a pair (X, y)")
    return X, y


def renamed(new: str, *old: str, after: int | None = None) -> Callable[[_Function], _Function]:
    """Decorate a function so that a keyword argument is also known by its older name, with a FutureWarning.

    Two older names together make a pair, the new argument; ``after`` says after how many positional arguments they
    could also be given by position.
    """
    told = f"{old[0]} is now {new}" if len(old) == 1 else f"{' and '.join(old)} are now {new}=(X, y)"

    def decorate(function: _Function) -> _Function:
        @functools.wraps(function)
        def run(*args: Any, **kwargs: Any) -> Any:
            found = {name: kwargs.pop(name) for name in old if name in kwargs}
            if after is not None:
                args, found = args[:after], {**dict(zip(old, args[after:])), **found}
            if any(value is not None for value in found.values()):
                if kwargs.get(new) is not None:
                    raise TypeError(f"{told}: give {new} alone")
                warnings.warn(told, FutureWarning, stacklevel=2)
                pair = tuple(found.get(name) for name in old)
                kwargs[new] = pair if len(old) > 1 else pair[0]
            return function(*args, **kwargs)

        return run  # type: ignore[return-value]

    return decorate


def old_name(old: str, new: str) -> Any:
    """Return a property that reads an attribute by its older name, with a FutureWarning."""

    def read(self: Any) -> Any:
        value = getattr(self, new)  # AttributeError where there is none
        warnings.warn(f"{old} is now {new}", FutureWarning, stacklevel=2)
        return value

    return property(read, doc=f"The older name of ``{new}``.")
