"""The surface of the ``kenlm`` package, so that code written for it runs with ``from loglinear import kenlm``.

``Model(path)`` reads ARPA files (also compressed) and files of ``LanguageModel``. It differs from the original: ``<s>``
inside a sentence is an unknown word; if the model has no ``<unk>``, an unknown word raises an error, and the original
gives it a probability of 10^-100; states cannot be carried from one model to another; KenLM's own binary files cannot
be read. In addition, a model is a ``loglinear.backoff.queries.NgramQueries``, with batches, next words, samples and the
vocabulary.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from loglinear.backoff.arpa import read_arpa
from loglinear.backoff.queries import FullScoreReturn, NgramQueries, State
from loglinear.errors import LoglinearError

__all__ = ["ARPALoadComplain", "Config", "FullScoreReturn", "LanguageModel", "LoadMethod", "Model", "State"]


class LoadMethod:
    """Ways to read KenLM's binary files; accepted without effect."""

    LAZY, POPULATE_OR_LAZY, POPULATE_OR_READ, READ, PARALLEL_READ = range(5)


class ARPALoadComplain:
    """When KenLM warns about slow ARPA files; accepted without effect."""

    ALL, EXPENSIVE, NONE = range(3)


class Config:
    """Settings of the original; accepted without effect."""

    def __init__(self) -> None:
        self.load_method = LoadMethod.POPULATE_OR_READ
        self.show_progress = True
        self.arpa_complain = ARPALoadComplain.ALL


class Model(NgramQueries):
    """A model read from a file, with the methods of ``kenlm.Model``."""

    path: bytes

    def __init__(self, path: str | bytes | os.PathLike[str], config: Config | None = None) -> None:
        name = os.fsdecode(path)
        self.path = os.fsencode(str(Path(name).absolute()))
        try:
            queries = _read(name)
        except (OSError, LoglinearError) as error:
            raise OSError(f"Cannot read model {name!r} ({error})") from error
        vars(self).update(vars(queries))  # checked once, when read

    def __repr__(self) -> str:
        return f"<Model from {Path(os.fsdecode(self.path)).name}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.path,)


class LanguageModel(Model):
    """The older name of ``Model``."""


def _read(name: str) -> NgramQueries:
    """Read the queries of a model file or an ARPA file."""
    with Path(name).open("rb") as file:
        is_model = file.read(9)[8:] == b"{"  # safetensors: eight bytes of length, then JSON
    if not is_model:
        return NgramQueries.from_backoff(read_arpa(name))
    from loglinear.models import load_predictor

    return load_predictor(name, "language-model").queries_
