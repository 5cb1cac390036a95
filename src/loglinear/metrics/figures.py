"""The figures of an evaluation: a dict of plain values, as every model's ``evaluate`` returns it."""

from __future__ import annotations

import warnings
from typing import Any


class Figures(dict[str, Any]):
    """A dict whose entries can also be read as attributes, as in version 0.1.0, with a FutureWarning."""

    def __getattr__(self, name: str) -> Any:
        if name not in self:
            raise AttributeError(f"there is no figure {name!r}; there are {', '.join(self)}")
        message = f"evaluate returns a dict; read its figures as found[{name!r}], not as attributes"
        warnings.warn(message, FutureWarning, stacklevel=2)
        return self[name]
