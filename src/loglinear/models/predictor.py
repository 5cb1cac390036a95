"""Predictor: the part of every model that uses what training has learnt. It needs numpy and the extension only."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, ClassVar

from loglinear.models.archive import Archive
from loglinear.models.notebook import Shown, model_section

if TYPE_CHECKING:
    from typing_extensions import Self

    from loglinear.display.page import Section


class Predictor(Shown):
    """A trained model, read from a file, without the means to train it.

    Its subclass in ``models/<kind>/predictor.py`` predicts, scores and explains; the estimator inherits from that one
    and from ``models.estimator.Estimator`` and adds training. What training learnt ends in an underscore in both.
    The settings of the model are attributes: an estimator's are its parameters, a predictor's are those of the file.
    """

    kind: ClassVar[str]  # as model files and ``models.KINDS`` name it
    n_threads: int | None = None

    def __init__(self, **settings: Any) -> None:
        for name in settings:
            if name.startswith("_") or name.endswith("_") or callable(getattr(type(self), name, None)):
                raise ValueError(f"{name!r} is no setting")
        vars(self).update(settings)
        self._settings_names = tuple(settings)

    def sections(self) -> list[Section]:
        """Return what a notebook shows: how training ended, and the settings that differ from their defaults."""
        return [model_section(self)]

    def parameters(self) -> dict[str, Any]:
        """Return the settings by name, as a model file keeps them."""
        return {name: getattr(self, name) for name in self._settings_names}

    def check_fitted(self) -> None:
        """Raise sklearn's NotFittedError if there is nothing to predict with. A model read from a file is trained."""

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, mmap: bool = False) -> Self:
        """Read a model file of this kind; ``mmap`` is as in ``loglinear.load``."""
        from loglinear.models import made, open_archive

        return made(cls, open_archive(path, cls.kind, mmap=mmap), path)

    @classmethod
    def from_archive(cls, archive: Archive, source: Any) -> Self:
        """Make the model of an opened file; ``source`` is the name of the file in messages."""
        raise NotImplementedError
