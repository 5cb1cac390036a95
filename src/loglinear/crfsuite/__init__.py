"""The surfaces of sklearn-crfsuite and python-crfsuite, so that code written for them changes one import line.

    from loglinear import crfsuite as sklearn_crfsuite      # CRF, metrics, scorers
    from loglinear import crfsuite as pycrfsuite            # Trainer, Tagger, ItemSequence

``install()`` puts this package in the place of both, for code that cannot be changed. Models are kept as ``.ll`` files;
those of CRFsuite itself are read too. No file is written unless one is asked for.
"""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING, Any

from loglinear.crfsuite.items import ItemSequence
from loglinear.crfsuite.tagger import ParsedDump, Tagger

if TYPE_CHECKING:
    from loglinear.crfsuite import metrics as metrics
    from loglinear.crfsuite import scorers as scorers
    from loglinear.crfsuite.estimator import CRF
    from loglinear.crfsuite.trainer import CRFSuiteError, Trainer

CRFSUITE_VERSION = "0.12"  # of the original that this follows
_LATER = {  # name: module that has it, imported on first use; the tagger alone needs no scikit-learn
    "CRF": "estimator",
    "CRFSuiteError": "trainer",
    "Trainer": "trainer",
    "metrics": "",
    "scorers": "",
}

__all__ = ["CRF", "CRFSUITE_VERSION", "CRFSuiteError", "ItemSequence", "ParsedDump", "Tagger", "Trainer", "install"]


def install() -> None:
    """Let ``import sklearn_crfsuite`` and ``import pycrfsuite`` mean this package, in this process from now on."""
    here = sys.modules[__name__]
    sys.modules["pycrfsuite"] = sys.modules["sklearn_crfsuite"] = here
    for name in ("estimator", "metrics", "scorers", "trainer"):
        sys.modules[f"sklearn_crfsuite.{name}"] = importlib.import_module(f"{__name__}.{name}")
    sys.modules["sklearn_crfsuite.utils"] = sys.modules["sklearn_crfsuite.metrics"]  # which has flatten


def __getattr__(name: str) -> Any:
    """Import names that need scikit-learn on first use."""
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = importlib.import_module(f"{__name__}.{_LATER[name] or name}")
    return getattr(home, name) if _LATER[name] else home


def __dir__() -> list[str]:
    return sorted([*globals(), *_LATER])
