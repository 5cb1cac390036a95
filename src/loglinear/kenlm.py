"""The surface of the ``kenlm`` package: code written for it runs with ``from loglinear import kenlm``, and code that
cannot be changed after ``loglinear.kenlm.install()``.

``Model(path)`` reads KenLM's binary files of every kind, with the same scores to the bit; ARPA files (also
compressed, in any encoding: words are bytes, as in KenLM); and files of ``LanguageModel``. It differs from the original
for ARPA and model files: ``<s>`` inside a sentence is an unknown word, and a state belongs to one model. In addition, a
model has the methods of ``loglinear.backoff.queries.NgramQueries``: batches, next words, samples and the vocabulary.
"""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from loglinear.backoff.arpa import read_arpa, with_unknown
from loglinear.backoff.binary import BinaryQueries, is_binary
from loglinear.backoff.queries import FullScoreReturn, NgramQueries, State
from loglinear.errors import LoglinearError, ModelFileError
from loglinear.formats.text import read_head

__all__ = ["ARPALoadComplain", "Config", "FullScoreReturn", "LanguageModel", "LoadMethod", "Model", "State", "install"]

_MISSING_UNKNOWN = -100.0 * math.log(10.0)  # KenLM's probability of <unk> in a model without it


def install() -> ModuleType:
    """Make ``import kenlm`` give this module, in this process, from now on; return it.

    Modules that imported the original before keep it.
    """
    module = sys.modules[__name__]
    sys.modules["kenlm"] = module
    return module


class LoadMethod:
    """Ways to read KenLM's binary files: READ and PARALLEL_READ copy them, LAZY and POPULATE_OR_LAZY map them.

    A mapped file must stay as it is. POPULATE_OR_READ, as without a ``Config``, maps files of over 16 MiB.
    """

    LAZY, POPULATE_OR_LAZY, POPULATE_OR_READ, READ, PARALLEL_READ = range(5)


class ARPALoadComplain:
    """When KenLM warns about slow ARPA files; accepted without effect."""

    ALL, EXPENSIVE, NONE = range(3)


class Config:
    """Settings of the original: ``load_method``; the others are accepted without effect."""

    def __init__(self) -> None:
        self.load_method = LoadMethod.POPULATE_OR_READ
        self.show_progress = True
        self.arpa_complain = ARPALoadComplain.ALL


class Model:
    """A model read from a file, with the methods of ``kenlm.Model``; ``queries`` has the others."""

    path: bytes
    order: int
    queries: NgramQueries

    def __init__(self, path: str | bytes | os.PathLike[str], config: Config | None = None) -> None:
        name, self._config = os.fsdecode(path), config
        self.path = os.fsencode(str(Path(name).absolute()))
        try:
            self.queries = _read(name, LoadMethod.POPULATE_OR_READ if config is None else config.load_method)
        except (OSError, LoglinearError) as error:
            raise OSError(f"Cannot read model {name!r} ({error})") from error
        self.order = self.queries.order
        if type(self).BaseScore is Model.BaseScore:  # decoders call it for every word of every beam
            vars(self)["BaseScore"] = self.queries.native_base_score

    def score(self, sentence: str | bytes, bos: bool = True, eos: bool = True) -> float:
        """Return log10 p(sentence </s> | <s>); ``bos`` and ``eos`` say whether ``<s>`` and ``</s>`` are included."""
        return self.queries.score(sentence, bool(bos), bool(eos))

    def perplexity(self, sentence: str | bytes) -> float:
        """Return the perplexity of one sentence, its end included."""
        return self.queries.perplexity(sentence)

    def full_scores(
        self, sentence: str | bytes, bos: bool = True, eos: bool = True
    ) -> Iterator[tuple[float, int, bool]]:
        """Yield (log10 probability, length of the n-gram found, unknown) of each token."""
        return self.queries.full_scores(sentence, bool(bos), bool(eos))

    def BeginSentenceWrite(self, state: State) -> None:
        """Set the state to that after ``<s>``."""
        self.queries.BeginSentenceWrite(state)

    def NullContextWrite(self, state: State) -> None:
        """Set the state to that without context."""
        self.queries.NullContextWrite(state)

    def BaseScore(self, in_state: State, word: str, out_state: State) -> float:
        """Return log10 p(word | in_state); set ``out_state``, possibly the same object, to the state after the word."""
        return self.queries.BaseScore(in_state, word, out_state)

    def BaseFullScore(self, in_state: State, word: str, out_state: State) -> FullScoreReturn:
        """Do as ``BaseScore``; also return the length of the n-gram found and whether the word is unknown."""
        return self.queries.BaseFullScore(in_state, word, out_state)

    def __contains__(self, word: str | bytes) -> bool:
        return word in self.queries

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "queries":
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return getattr(self.queries, name)

    def __repr__(self) -> str:
        return f"<Model from {Path(os.fsdecode(self.path)).name}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.path, self._config)


class LanguageModel(Model):
    """The older name of ``Model``."""


# Ways to read a binary file -> whether it is mapped.
_IS_MAPPED = {
    LoadMethod.LAZY: True, LoadMethod.POPULATE_OR_LAZY: True, LoadMethod.POPULATE_OR_READ: None,
    LoadMethod.READ: False, LoadMethod.PARALLEL_READ: False,
}  # fmt: skip


def _read(name: str, load_method: int) -> NgramQueries:
    """Return the queries of a file of any of the three kinds."""
    if is_binary(name):
        return BinaryQueries.open(name, mmap=_IS_MAPPED[load_method])
    if read_head(name, 9)[8:] != b"{":  # safetensors: eight bytes of length, then JSON
        return NgramQueries.from_backoff(with_unknown(read_arpa(name, encoding=None), _MISSING_UNKNOWN))
    from loglinear.models import load_predictor

    queries = load_predictor(name, "language-model").queries_
    if not isinstance(queries, NgramQueries):
        raise ModelFileError(f"{name}: a model of more than n-grams has no states of KenLM's kind; use LanguageModel")
    if queries.vocabulary.is_open:
        return queries
    return NgramQueries.from_backoff(with_unknown(queries.to_backoff(), _MISSING_UNKNOWN))
