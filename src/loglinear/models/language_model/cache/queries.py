"""A memory of the document over one model or a linear mixture of several, exactly normalised.

    P(w | h) = sum over models of weight * P_m(w | h)
    log-linear    p(w | h) = P(w | h) exp(s(w)) / Z        s(w): weights times features of the uses of w so far
    linear        p(w | h) = (1 - share) P(w | h) + share * (decayed uses of w / decayed uses of all words)

``native/cache`` describes features and normalisation. The few weights are fitted on held-out documents, which the
models were not trained on. What is remembered are the last ``window`` words of the document; a plain text is one
document.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loglinear import _core
from loglinear.arrays import FloatArray
from loglinear.backoff.interpolation import loglinear_weights
from loglinear.backoff.model import BackoffModel
from loglinear.backoff.queries import NgramQueries
from loglinear.data.documents import Documents, Numbering
from loglinear.errors import IncompatibleError
from loglinear.models.language_model.document_queries import DocumentQueries, EventScores
from loglinear.models.language_model.factored.queries import Component, FactoredQueries, NgramWeights, blocks
from loglinear.models.push import Push
from loglinear.sources.kinds import InformationSource
from loglinear.threads import pool

LOGLINEAR, LINEAR = "log-linear", "linear"
OF_LINEAR = {"half_lives": (100.0,), "order": 1}  # one half-life between those of the log-linear cache


@dataclass(frozen=True)
class CacheSettings:
    """What a cache remembers.

    kind : "log-linear" or "linear"
    window : events of the document that are remembered
    half_lives : of unigram features, in events: after so many a use counts half; a linear cache has the first
    ngram_half_life : of the uses after the same words
    order : longest n-grams with features: 1, 2 or 3
    ratio : r of the features log(1 + r (share of the uses) / P): with r / (1 + r) the share of a linear cache
    strength : ridge of the weights of groups of words
    """

    kind: str = LOGLINEAR
    window: int = 1000
    half_lives: tuple[float, ...] = (30.0, 200.0)
    ngram_half_life: float = 500.0
    order: int = 3
    ratio: float = 0.1
    strength: float = 1.0

    def __post_init__(self) -> None:
        if self.kind not in (LOGLINEAR, LINEAR):
            raise ValueError(f"cache: the kind is {self.kind!r}; it must be {LOGLINEAR!r} or {LINEAR!r}")
        if not isinstance(self.window, int) or not 1 <= self.window <= 10_000_000:
            raise ValueError(f"cache: the window is {self.window!r}; it must be a whole number from 1")
        if self.order not in (1, 2, 3):
            raise ValueError(f"cache: the order is {self.order!r}; it must be 1, 2 or 3")
        lives = (*self.half_lives, self.ngram_half_life)
        if not self.half_lives or not all(np.isfinite(h) and h > 0 for h in lives):
            raise ValueError("cache: half-lives must be positive numbers, and words need one or more")
        if not (np.isfinite(self.ratio) and self.ratio > 0):
            raise ValueError(f"cache: the ratio is {self.ratio!r}; it must be a positive number")
        if not (np.isfinite(self.strength) and self.strength >= 0):
            raise ValueError(f"cache: the strength is {self.strength!r}; it must be a number from 0")

    @property
    def n_features(self) -> int:
        """Return the number of features of a word."""
        return 2 * (len(self.half_lives) + self.order - 1)

    @property
    def names(self) -> list[str]:
        """Return the names of the features in explanations."""
        more = ["used after the same word", "used after the same two words"][: self.order - 1]
        found = [*(f"used lately (half-life {h:g})" for h in self.half_lives), *more]
        return [*found, *(f"{name}, as a share" for name in found)]

    def on(self, documents: Documents, n_threads: int | None) -> _core.LoglinearCache:
        """Return the memory of every event of documents."""
        start = np.ascontiguousarray(documents.event_ptr[documents.document_ptr])
        return _core.LoglinearCache(
            pool(n_threads), documents.sentences.n_words, np.ascontiguousarray(documents.words), start, self.window,
            list(self.half_lives), self.ngram_half_life, self.order, self.ratio,
        )


def parse_cache(given: Any) -> CacheSettings:
    """Return the settings that True, a kind, a window or a dict of settings stand for."""
    if isinstance(given, CacheSettings):
        return given
    if given is True:
        return CacheSettings()
    if isinstance(given, str):
        given = {"kind": given}
    if isinstance(given, int) and not isinstance(given, bool):
        return CacheSettings(window=given)
    if isinstance(given, Mapping):
        known = {**(OF_LINEAR if given.get("kind") == LINEAR else {}), **given}
        if "half_lives" in known:
            known["half_lives"] = tuple(known["half_lives"])
        try:
            return CacheSettings(**known)
        except TypeError:
            unknown = sorted(set(given) - set(asdict(CacheSettings())))
            raise ValueError(f"cache: unknown settings {', '.join(unknown)}") from None
    raise ValueError(f"cache: {given!r} is no cache; give True, 'log-linear', 'linear', a window or a dict of settings")


class NgramMember:
    """An n-gram model, of any estimator, as a member of a mixture: one class that has all words."""

    def __init__(self, words: NgramWeights, n_threads: int | None = None) -> None:
        self.words, self.n_threads = words, n_threads
        n = int(words.entry_start[1])
        every, start = np.arange(n, dtype=np.uint32), np.array([0, n], np.uint32)
        self._native = _core.WithinClasses(pool(n_threads), words.shape(n, n_threads), words.weight, start, every)

    @classmethod
    def of(cls, model: BackoffModel, n_threads: int | None = None) -> NgramMember:
        """Return a back-off model as weights."""
        arrays = (model.context_start, model.entry_start, model.context_word, model.context_child, model.context_entry,
                  model.entry_word)  # fmt: skip
        return cls(NgramWeights(*arrays, loglinear_weights(model, n_threads=n_threads)), n_threads)

    @property
    def order(self) -> int:
        """Return the length of the longest n-grams."""
        return self.words.order

    @property
    def nbytes(self) -> int:
        """Return the size of all arrays in bytes."""
        return self.words.nbytes

    @property
    def word_counts(self) -> NDArray[np.int64]:
        """Return about how often words occur, by the model of the empty context, in a million tokens."""
        weight = self.words.weight[: int(self.words.entry_start[1])]
        p = np.exp(weight - weight.max())
        return np.ceil(1e6 * p / p.sum()).astype(np.int64)

    def component(self, documents: Documents) -> Component:
        """Return the model as a cache sees it."""
        leaf = np.empty(documents.n_events, np.uint32)
        self._native.leaves(*documents.sentences.contiguous(), leaf)
        return Component(self._native, leaf)

    def __getstate__(self) -> dict[str, Any]:
        return {"words": self.words, "n_threads": self.n_threads}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state)  # type: ignore[misc]


Member = FactoredQueries | NgramMember


def member_of(queries: Any, n_threads: int | None = None) -> Member:
    """Return a model as a member of a mixture; raise IncompatibleError for one that cannot be."""
    if isinstance(queries, FactoredQueries):
        return queries
    if isinstance(queries, NgramQueries):
        return NgramMember.of(queries.to_backoff(), n_threads)
    raise IncompatibleError(
        "a cache or a mixture takes n-gram models and class-factored models; this one has sources without classes"
    )


class CachedQueries(DocumentQueries):
    """A mixture of models, with a cache or without, that answers queries about documents.

    shares : of the members, which add up to one
    settings : of the cache; None: there is none
    weights : of a log-linear cache: [n_words, n_features]; of a linear one: its share, [1]
    """

    def __init__(
        self, numbering: Numbering, members: Sequence[Member], shares: FloatArray,
        settings: CacheSettings | None = None, weights: FloatArray | None = None, *, n_threads: int | None = None,
    ) -> None:  # fmt: skip
        self.numbering, self.members, self.shares = numbering, list(members), np.asarray(shares, np.float64)
        self.settings, self.n_threads = settings, n_threads
        self.weights = np.zeros(0) if weights is None else weights
        for one in self.members:
            if isinstance(one, FactoredQueries) and one.assigner is not None:
                self.assigner, self.infers = one.assigner, one.infers
        self.check()

    def check(self) -> None:
        """Raise ValueError for parts that do not fit together."""
        V, s = self.vocabulary.n_words, self.settings
        expected = (0,) if s is None else (1,) if s.kind == LINEAR else (V, s.n_features)
        if self.weights.shape != expected or not np.all(np.isfinite(self.weights)):
            raise ValueError("the weights of the cache do not fit its features")
        shares = self.shares
        if shares.shape != (len(self.members),) or not (np.all(shares >= 0) and abs(shares.sum() - 1) < 1e-9):
            raise ValueError("the shares of the members of a mixture must be nonnegative and add up to one")

    @property
    def factored(self) -> list[FactoredQueries]:
        """Return the members that have classes."""
        return [one for one in self.members if isinstance(one, FactoredQueries)]

    @property
    def sources(self) -> list[InformationSource]:
        """Return the sources of all members."""
        return [source for one in self.factored for source in one.sources]

    @property
    def order(self) -> int:
        """Return the highest order of a member."""
        return max(one.order for one in self.members)

    @property
    def n_states(self) -> int:
        """Return the number of contexts of all members."""
        return sum(one.n_states if isinstance(one, FactoredQueries) else one.words.context_word.size
                   for one in self.members)  # fmt: skip

    @property
    def nbytes(self) -> int:
        """Return the size of all arrays in bytes."""
        return self.weights.nbytes + sum(one.nbytes for one in self.members)

    def of_components(self, components: Sequence[Component], begin: int, end: int) -> list[Any]:
        """Return the members before a range of events, in native form, with their shares."""
        return [(*one.block(begin, end), float(share)) for one, share in zip(components, self.shares)]

    def score_events(self, documents: Documents) -> EventScores:
        """Return the log-probability of every event."""
        self.check_vocabulary(documents)
        components = [one.component(documents) for one in self.members]
        settings = self.settings or CacheSettings(window=1, half_lives=(1.0,), order=1)
        memory, n = settings.on(documents, self.n_threads), documents.n_events
        weights = self.weights if self.settings and settings.kind == LOGLINEAR else np.zeros(
            (self.vocabulary.n_words, settings.n_features))  # fmt: skip
        out = np.empty(n)
        for begin, end in blocks(n):
            given = self.of_components(components, begin, end)
            memory.score(pool(self.n_threads), begin, given, weights, out[begin:end])
        if self.settings is not None and settings.kind == LINEAR:
            of_cache = np.empty(n)
            memory.linear(pool(self.n_threads), of_cache)
            out = np.log(with_linear_cache(np.exp(out), of_cache, float(self.weights[0])))
        return EventScores(out, np.full(n, self.order, np.int64))

    def distribution_at(self, documents: Documents, event: int) -> FloatArray:
        """Return the probability of every word of the vocabulary before an event: [V]."""
        self.check_vocabulary(documents)
        settings = self.settings or CacheSettings(window=1, half_lives=(1.0,), order=1)
        memory = settings.on(documents, self.n_threads)
        components = [one.component(documents) for one in self.members]
        out = np.empty(self.vocabulary.n_words)
        loglinear = self.settings is not None and settings.kind == LOGLINEAR
        weights = self.weights if loglinear else np.zeros((out.size, settings.n_features))
        memory.distribution(event, self.of_components(components, event, event + 1), weights, out)
        if self.settings is not None and settings.kind == LINEAR:
            uses = np.empty(out.size)
            memory.uses(event, uses)
            if uses.sum() > 0:
                out = (1 - self.weights[0]) * out + self.weights[0] * uses / uses.sum()
        return out

    def pushes(self, documents: Documents) -> list[tuple[int, float, list[Push]]]:
        """Return (word, log-probability, contributions of the models and of the cache) of each event."""
        scores = self.score_events(documents).log_probability
        without = CachedQueries(self.numbering, self.members, self.shares, n_threads=self.n_threads)
        before = without.score_events(documents).log_probability if self.settings is not None else scores
        alone = len(self.members) == 1 and isinstance(self.members[0], FactoredQueries)
        base: list[list[Push]] = (
            [pushes for _, _, pushes in self.factored[0].pushes(documents)] if alone
            else [[Push("mixture of models", 1.0, float(p), float(p))] for p in before]
        )  # fmt: skip
        memory = None if self.settings is None else self.settings.on(documents, self.n_threads)
        components = [one.component(documents) for one in self.members]
        out = []
        for event, word in enumerate(documents.words.tolist()):
            found = list(base[event])
            if self.settings is not None and self.settings.kind == LOGLINEAR and memory is not None:
                features = np.empty(self.settings.n_features)
                memory.features(event, word, self.of_components(components, event, event + 1), features)
                for name, value, weight in zip(self.settings.names, features.tolist(), self.weights[word].tolist()):
                    if value:
                        found.append(Push(f"cache: {name}", value, weight, value * weight))
            rest = float(scores[event]) - sum(push.contribution for push in found)
            if self.settings is not None:
                name = "log Z of the cache" if self.settings.kind == LOGLINEAR else "linear cache"
                found.append(Push(name, -1.0, -rest, rest) if self.settings.kind == LOGLINEAR
                             else Push(name, 1.0, rest, rest))  # fmt: skip
            out.append((word, float(scores[event]), found))
        return out


def with_linear_cache(p: FloatArray, of_cache: FloatArray, share: float) -> FloatArray:
    """Mix probabilities with those of a linear cache, which are -1 where nothing is remembered."""
    return np.where(of_cache < 0, p, (1 - share) * p + share * np.maximum(of_cache, 0.0))
