"""How models, explanations and paths look in a notebook: small HTML without scripts, everything escaped.

A class inherits ``Shown`` and says by ``sections`` what there is to see. Nothing here is imported before it is shown.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from loglinear.display.page import Section

_FIGURES = {  # of a trained model -> what they are called
    "validation_score_": "score on held-out data", "status_": "training ended", "objective_": "objective",
    "strength_": "strength", "solver_": "solver", "n_iter_": "passes over the data", "fit_seconds_": "seconds",
}  # fmt: skip


class Shown:
    """Mixin: an object that a notebook shows as HTML; by default, its text."""

    def sections(self) -> list[Section]:
        """Return what is shown."""
        from loglinear.display.page import Section

        return [Section("", quote=str(self))]

    def _repr_html_(self) -> str:
        from loglinear.display.page import piece

        return piece(self.sections())

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        """Return both faces, before scikit-learn shows a diagram of its own."""
        return {"text/plain": repr(self), "text/html": self._repr_html_()}


def model_section(model: Any) -> Section:
    """Return the settings of a model that differ from their defaults, and how training ended, if it is trained."""
    from loglinear.display.page import Section
    from loglinear.display.tables import Table

    usual = {name: p.default for name, p in inspect.signature(type(model)).parameters.items()}
    changed = [(name, _text(value)) for name, value in model.parameters().items() if not _same(usual.get(name), value)]
    found = [(told, getattr(model, name)) for name, told in _FIGURES.items() if hasattr(model, name)]
    tables = [Table(("trained", ""), [(told, _figure(value)) for told, value in found])] if found else []
    if changed:
        tables.append(Table(("setting", ""), changed))
    state = "" if found else ", not trained"
    told = f"{type(model).__name__}{state}" + ("" if changed else "; all settings have their defaults")
    return Section("", [told], tables=tables)


def _same(usual: Any, value: Any) -> bool:
    return type(usual) is type(value) and repr(usual) == repr(value)


def _figure(value: Any) -> Any:
    return value if isinstance(value, (int, float)) else str(value)


def _text(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 200 else text[:200] + " ..."


def curve_section(
    title: str, x_label: str, x: Sequence[float], curves: Mapping[str, Sequence[float]], **axes: Any
) -> Section:
    """Return a section with curves over common x."""
    from loglinear.display.charts import Curve, Plot
    from loglinear.display.page import Section

    drawn = [Curve(name, list(x), list(values)) for name, values in curves.items()]
    return Section("", plots=[Plot(title, drawn, x_label, **axes)])
