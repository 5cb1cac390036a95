"""Composite language models: several information sources in one exactly normalised model, trained and in use.

``train_composite`` makes the features, plans the normaliser, chooses strengths and minimises; ``CompositeQueries`` is
the trained model: it stands where ``NgramQueries`` stands in n-gram models.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from loglinear.arrays import FloatArray
from loglinear.backoff.queries import SentenceScores
from loglinear.data.documents import Documents, Numbering, is_layered, iterate_documents, number_documents
from loglinear.data.documents import plain_documents as plain
from loglinear.data.sentences import Sentences
from loglinear.errors import FormatError, IncompatibleError
from loglinear.features.word_vocabulary import UNKNOWN, WordVocabulary
from loglinear.formats.running_text import check_text, split_units
from loglinear.models.push import Push
from loglinear.sources.extraction import SourceFeatures
from loglinear.sources.kinds import InformationSource, Topic
from loglinear.sources.normalisers import Normaliser, make_normaliser, usable_partition
from loglinear.sources.problem import CompositeProblem, join_histories, native_problem
from loglinear.sources.topics import TopicAssigner

UNSEEN = "\0"  # a symbol that no layer has
FEATURES_PER_HISTORY = 100  # about as long as the other methods take for a history, sharing takes for so many features
MOST_SHARED = 1 << 32  # bytes of intersections


@dataclass(frozen=True, eq=False)
class EventScores:
    """Natural log-probabilities of all events of documents."""

    log_probability: FloatArray  # [n_events]
    depth: np.ndarray  # [n_events] order of the longest feature found, of any source


class CompositeQueries:
    """A trained composite model that answers queries about documents."""

    def __init__(
        self, numbering: Numbering, features: Sequence[SourceFeatures], weights: FloatArray, *,
        assigner: TopicAssigner | None = None, infers: bool = False, n_threads: int | None = None,
    ) -> None:  # fmt: skip
        self.numbering, self.features, self.weights = numbering, list(features), weights
        self.assigner, self.infers, self.n_threads = assigner, infers, n_threads
        expected = numbering.vocabulary.n_words + sum(one.table.n_entries for one in self.features)
        if weights.shape != (expected,):
            raise ValueError(f"{weights.size} weights for {expected} features")

    @property
    def vocabulary(self) -> WordVocabulary:
        """Return the vocabulary of words."""
        return self.numbering.vocabulary

    @property
    def order(self) -> int:
        """Return the highest order of a feature."""
        return 1 + max(one.table.depth for one in self.features)

    @property
    def n_states(self) -> int:
        """Return the number of contexts of all sources."""
        return 1 + sum(one.table.n_contexts - 1 for one in self.features)

    @property
    def nbytes(self) -> int:
        """Return the size of weights and features in bytes."""
        return self.weights.nbytes + sum(one.table.nbytes for one in self.features)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        sources = ", ".join(one.source.spec() for one in self.__dict__.get("features", ()))
        raise IncompatibleError(
            f"{name!r} is a query of n-gram models, and this model has the sources {sources}; approximate it by an "
            "ARPA file (to_arpa), or use a model without sources"
        )

    # ---- documents --------------------------------------------------------------------------------------------------
    def read(self, X: Any, *, kind: str | None = None, infer_topics: bool = False, **options: Any) -> Documents:
        """Number documents, or plain text as one document, as training did.

        ``infer_topics`` : assign topics from the words so far, whatever the labels say
        """
        if isinstance(X, Documents):
            found = X
        elif isinstance(X, Sentences):
            found = plain(X)
        elif is_layered(X, kind):
            found, _ = number_documents(iterate_documents(X, kind), like=self.numbering)
        else:
            check_text(X, "next_distribution({}) takes the beginning of one")
            from loglinear.data.corpus import read_corpus

            sentences, _ = read_corpus(X, vocabulary=self.vocabulary, **options)
            found = plain(sentences)
        topics = self._topic()
        if topics is not None and topics.label not in found.before and (infer_topics or self.infers):
            if self.assigner is None:
                raise ValueError("the model has no function that assigns topics")
            found = self.assigner.assign(found, topics.label)
        return found

    # ``infers``: the topics were clustered, so no label names them and they are always assigned
    def _topic(self) -> Topic | None:
        return next((one.source for one in self.features if isinstance(one.source, Topic)), None)

    def partition(self) -> int | None:
        """Return the source that partitions histories best: the one of depth 1 with the fewest contexts."""
        return partition_of(self.features)

    def score_events(self, documents: Documents) -> EventScores:
        """Return the log-probability of every event."""
        if documents.sentences.n_words != self.vocabulary.n_words:
            raise IncompatibleError("the documents are numbered by another vocabulary than the model's")
        V, words = self.vocabulary.n_words, documents.words
        leaves = [one.leaves(documents, self.numbering) for one in self.features]
        score = self.weights[words]
        depth = np.ones(words.size, np.int64)
        offset = V
        for one, leaf in zip(self.features, leaves):
            found = one.table.scores(leaf, words, self.weights[offset : offset + one.table.n_entries])
            score = score + found[0]
            np.maximum(depth, found[1] + 1, out=depth)
            offset += one.table.n_entries
        return EventScores(score - self._log_z(leaves), depth)

    def _log_z(self, leaves: Sequence[np.ndarray]) -> FloatArray:
        """Return log Z of every event, once per distinct history."""
        tables = tuple(one.table for one in self.features)
        example, _, number = join_histories(tables, leaves)
        problem = CompositeProblem(
            self.vocabulary.n_words, tables, tuple(leaf[example] for leaf in leaves), np.ones(example.size),
            np.zeros(self.weights.size),
        )  # fmt: skip
        return self._normaliser(problem).log_z(self.weights)[number]

    def _normaliser(self, problem: CompositeProblem) -> Normaliser:
        """Return the method that is fastest once: sharing goes through all features, the others through histories."""
        if problem.n_histories * FEATURES_PER_HISTORY > problem.n_weights:
            try:
                return make_normaliser(problem, "sharing", max_bytes=MOST_SHARED, n_threads=self.n_threads)
            except MemoryError:  # too many intersections
                pass
        partition = usable_partition(problem, self.partition())
        method = "hierarchical" if partition is None or len(problem.tables) == 1 else "partition-hierarchical"
        return make_normaliser(problem, method, partition=partition, n_threads=self.n_threads)

    def score_sentences(self, documents: Documents | Sentences) -> SentenceScores:
        """Return the scores of all sentences, as those of n-gram models are reported."""
        documents = self.read(documents)
        found, ptr = self.score_events(documents), documents.event_ptr
        unknown = documents.words == (1 if self.vocabulary.is_open else -1)
        by_sentence = np.add.reduceat(found.log_probability, ptr[:-1])
        unknown_part = np.add.reduceat(np.where(unknown, found.log_probability, 0.0), ptr[:-1])
        hits = np.bincount(found.depth, minlength=self.order + 1)[1:]
        return SentenceScores(
            by_sentence, unknown_part, np.diff(documents.sentences.sentence_ptr),
            np.add.reduceat(unknown.astype(np.int64), ptr[:-1]), hits,
        )  # fmt: skip

    def token_log_probabilities(self, documents: Documents | Sentences) -> FloatArray:
        """Return the natural log-probabilities of all tokens and ends of sentences."""
        return self.score_events(self.read(documents)).log_probability

    def token_scores(self, documents: Documents | Sentences) -> tuple[FloatArray, np.ndarray]:
        """Return the same, and the order of the longest feature found."""
        found = self.score_events(self.read(documents))
        return found.log_probability, found.depth.astype(np.uint8)

    # ---- one history ------------------------------------------------------------------------------------------------
    def history(self, context: Any = (), *, lenient: bool = False) -> tuple[Documents, list[int]]:
        """Return a history, given by text, words, or a dict as JSON lines have it, and its contexts by source.

        A dict has the words so far under "words"; its layers have a symbol for each of them, those under "before" one
        more, for the word to come; everything else labels the document. ``lenient``: layers may be missing, and have
        unknown symbols then.
        """
        record = dict(context) if isinstance(context, Mapping) else {
            "words": split_units(context) if isinstance(context, str) else list(context)}  # fmt: skip
        words = record.get("words", [])
        if isinstance(words, str):
            words = split_units(words)
        record["words"] = words
        if lenient or not words:
            for name in self.numbering.layers:
                record.setdefault(name, [UNSEEN] * len(words))
            if lenient and self.numbering.before:
                record.setdefault("before", {name: [UNSEEN] * (len(words) + 1) for name in self.numbering.before})
        if not words:
            record = _with_a_word(record)
        documents, _ = number_documents(iterate_documents([record]), like=self.numbering)
        event = documents.n_events - 1 if words else 0
        leaves = [int(one.leaves(documents, self.numbering)[event]) for one in self.features]
        return documents, leaves

    def next_distribution(self, context: Any = (), bos: bool = True) -> FloatArray:
        """Return the probability of every word of the vocabulary after a history: [V]."""
        if not bos:
            raise ValueError("a composite model predicts within sentences that begin")
        return self._distribution(self.history(context)[1])

    def _distribution(self, leaves: Sequence[int]) -> FloatArray:
        parts, offset = [], self.vocabulary.n_words
        for one, leaf in zip(self.features, leaves):
            parts.append((one.table, offset, np.array([leaf], np.uint32)))
            offset += one.table.n_entries
        native = native_problem(self.vocabulary.n_words, parts, np.ones(1), np.zeros(self.weights.size))
        scores = np.empty(self.vocabulary.n_words)
        native.scores(self.weights, 0, scores)
        scores -= scores.max()
        np.exp(scores, out=scores)
        return scores / scores.sum()

    def top(self, context: Any = (), k: int = 10, bos: bool = True) -> list[tuple[str, float]]:
        """Return the k most probable next words with their probabilities, best first."""
        p = self.next_distribution(context, bos)
        best = np.argsort(-p, kind="stable")[: max(k, 0)]
        return [(self.vocabulary.word(int(w)), float(p[w])) for w in best]

    def sample(
        self, n: int = 1, *, max_length: int = 1000, random_state: Any = None, temperature: float = 1.0,
        context: Any = (), unknown: bool = True,
    ) -> list[str]:  # fmt: skip
        """Draw sentences that continue a history; sources over layers of the drawn words see no symbols there."""
        rng = np.random.default_rng(random_state)
        record = dict(context) if isinstance(context, Mapping) else {"words": split_units(context)
                      if isinstance(context, str) else list(context)}  # fmt: skip
        labels = {k: v for k, v in record.items() if isinstance(v, (str, int))}
        out = []
        for _ in range(n):
            given_words = record.get("words", [])
            words: list[str] = split_units(given_words) if isinstance(given_words, str) else list(given_words)
            given = len(words)
            while len(words) < given + max_length:
                p = self._distribution(self.history({**labels, "words": words}, lenient=True)[1])
                if not unknown and self.vocabulary.is_open:
                    p[1] = 0.0
                p = p ** (1 / temperature)
                drawn = int(rng.choice(p.size, p=p / p.sum()))
                if drawn == 0:
                    break
                words.append(self.vocabulary.word(drawn))
            out.append(" ".join(words[given:]))
        return out

    def pushes(self, documents: Documents) -> list[tuple[int, float, list[Push]]]:
        """Return (word, log-probability, contributions of every feature and of log Z) of each event."""
        leaves = [one.leaves(documents, self.numbering) for one in self.features]
        log_p = self.score_events(documents).log_probability
        out = []
        for event, word in enumerate(documents.words.tolist()):
            name = self.vocabulary.word(word)
            found = [Push(name, 1.0, float(self.weights[word]), float(self.weights[word]))]
            offset = self.vocabulary.n_words
            for one, leaf in zip(self.features, leaves):
                found += self._source_pushes(one, int(leaf[event]), word, name, offset)
                offset += one.table.n_entries
            log_z = sum(push.contribution for push in found) - float(log_p[event])
            found.append(Push("log Z", -1.0, log_z, -log_z))
            out.append((word, float(log_p[event]), found))
        return out

    def _source_pushes(self, one: SourceFeatures, context: int, word: int, name: str, offset: int) -> list[Push]:
        found = []
        while context:
            entry = one.table.find_entry(context, word)
            if entry >= 0 and self.weights[offset + entry] != 0:
                value = 1.0 if one.table.entry_value is None else float(one.table.entry_value[entry])
                weight = float(self.weights[offset + entry])
                before = " ".join(reversed(one.context_names(context, self.numbering)))
                found.append(Push(f"{one.source.name}: {before} {name}", value, weight, value * weight))
            context = int(one.table.context_parent[context])
        return found[::-1]


def _with_a_word(record: dict[str, Any]) -> dict[str, Any]:
    """Return a record without words as one of a sentence, which needs one; its first event is the one that is meant."""
    out: dict[str, Any] = {"words": [UNKNOWN]}
    for key, value in record.items():
        if key == "before":
            out[key] = {name: [*symbols, UNSEEN] for name, symbols in value.items()}
        elif key != "words":
            out[key] = [UNSEEN] if isinstance(value, (list, tuple)) else value
    return out


def partition_of(features: Sequence[SourceFeatures]) -> int | None:
    """Return the source of one symbol with the fewest values, which partitions histories; None: there is none."""
    single = [i for i, one in enumerate(features) if one.table.depth == 1 and one.table.n_contexts > 1]
    return min(single, key=lambda i: features[i].table.n_contexts, default=None)


def without_zeros(features: Sequence[SourceFeatures], weights: FloatArray, n_words: int) -> Any:
    """Return the features whose weights are not zero, with the shorter ones they need, and their weights."""
    out, kept_weights, offset = [], [weights[:n_words]], n_words
    for one in features:
        part = weights[offset : offset + one.table.n_entries]
        table, kept = one.table.keep(part != 0)
        out.append(SourceFeatures(one.source, one.state, table))
        kept_weights.append(part[kept])
        offset += one.table.n_entries
    return out, np.concatenate(kept_weights)


def check_sources(sources: Sequence[InformationSource], documents: Documents) -> None:
    """Raise FormatError for a topic source over documents of which some have no topic."""
    for source in sources:
        if isinstance(source, Topic) and source.label in documents.labels:
            missing = np.flatnonzero(documents.labels[source.label].numbers < 0)
            if missing.size:
                raise FormatError(f"the document has no {source.label!r}, which the source {source.spec()} needs",
                                  documents.place(int(missing[0])))  # fmt: skip


