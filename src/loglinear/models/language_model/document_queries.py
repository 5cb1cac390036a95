"""What all models over documents share: they read documents with layers, and score, name and draw words event by event.

A model gives log-probabilities of events (``score_events``) and the distribution before one (``distribution_at``); the
queries of ``NgramQueries`` that make sense for it follow from these two.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from loglinear.arrays import FloatArray
from loglinear.backoff.queries import SentenceScores
from loglinear.data.documents import Documents, Numbering, is_layered, iterate_documents, number_documents
from loglinear.data.documents import plain_documents as plain
from loglinear.data.sentences import Sentences
from loglinear.errors import IncompatibleError
from loglinear.features.word_vocabulary import UNKNOWN, WordVocabulary
from loglinear.formats.running_text import check_text
from loglinear.formats.units import split_units
from loglinear.models.push import Push
from loglinear.sources.kinds import InformationSource, Topic
from loglinear.sources.topics import TopicAssigner

UNSEEN = "\0"  # a symbol that no layer has
SO_FAR = "document"  # of a history: the sentences of the document before it


@dataclass(frozen=True, eq=False)
class EventScores:
    """Natural log-probabilities of all events of documents."""

    log_probability: FloatArray  # [n_events]
    depth: np.ndarray  # [n_events] order of the longest feature found, of any source


class DocumentQueries(ABC):
    """A trained model that answers queries about documents."""

    numbering: Numbering
    assigner: TopicAssigner | None = None
    infers: bool = False  # topics were clustered, so no label names them and they are always assigned
    n_threads: int | None = None

    @property
    @abstractmethod
    def sources(self) -> list[InformationSource]:
        """Return the information sources."""

    @property
    @abstractmethod
    def order(self) -> int:
        """Return the highest order of a feature."""

    @abstractmethod
    def score_events(self, documents: Documents) -> EventScores:
        """Return the log-probability of every event."""

    @abstractmethod
    def distribution_at(self, documents: Documents, event: int) -> FloatArray:
        """Return the probability of every word of the vocabulary before an event: [V]."""

    @abstractmethod
    def pushes(self, documents: Documents) -> list[tuple[int, float, list[Push]]]:
        """Return (word, log-probability, contributions that add up to it) of each event."""

    @property
    def vocabulary(self) -> WordVocabulary:
        """Return the vocabulary of words."""
        return self.numbering.vocabulary

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        sources = ", ".join(source.spec() for source in self.sources) if "numbering" in self.__dict__ else "documents"
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

    def _topic(self) -> Topic | None:
        return next((source for source in self.sources if isinstance(source, Topic)), None)

    def check_vocabulary(self, documents: Documents) -> None:
        """Raise IncompatibleError for documents in the numbers of other words."""
        if documents.sentences.n_words != self.vocabulary.n_words:
            raise IncompatibleError("the documents are numbered by another vocabulary than the model's")

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
    def history(self, context: Any = (), *, lenient: bool = False) -> tuple[Documents, int]:
        """Return a history, given by text, words, or a dict as JSON lines have it: a document, and the event after it.

        A dict has the words so far under "words"; its layers have a symbol for each of them, those under "before" one
        more, for the word to come; "document" has the sentences before, as text, lists of words or dicts; everything
        else labels the document. ``lenient``: layers may be missing, and have unknown symbols then.
        """
        record = dict(context) if isinstance(context, Mapping) else {"words": context}
        earlier = record.pop(SO_FAR, [])
        words = record.get("words", [])
        record["words"] = words = split_units(words) if isinstance(words, str) else list(words)
        if lenient or not words:
            for name in self.numbering.layers:
                record.setdefault(name, [UNSEEN] * len(words))
            if lenient and self.numbering.before:
                record.setdefault("before", {name: [UNSEEN] * (len(words) + 1) for name in self.numbering.before})
        if not words:
            record = _with_a_word(record)
        if earlier:
            labels = {k: v for k, v in record.items() if isinstance(v, (str, int))}
            own = {k: v for k, v in record.items() if k not in labels}
            record = {**labels, "sentences": [*(self._sentence(one) for one in earlier), own]}
        documents = self.read(number_documents(iterate_documents([record]), like=self.numbering)[0])
        return documents, documents.n_events - 1 - (0 if words else 1)

    def _sentence(self, given: Any) -> dict[str, Any]:
        if isinstance(given, Mapping):
            return dict(given)
        words = split_units(given) if isinstance(given, str) else list(given)
        found: dict[str, Any] = {"words": words, **{name: [UNSEEN] * len(words) for name in self.numbering.layers}}
        if self.numbering.before:
            found["before"] = {name: [UNSEEN] * (len(words) + 1) for name in self.numbering.before}
        return found

    def next_distribution(self, context: Any = (), bos: bool = True) -> FloatArray:
        """Return the probability of every word of the vocabulary after a history: [V]."""
        if not bos:
            raise ValueError("a model over documents predicts within sentences that begin")
        return self.distribution_at(*self.history(context))

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
        kept = {k: v for k, v in record.items() if isinstance(v, (str, int)) or k == SO_FAR}
        out = []
        for _ in range(n):
            begin = record.get("words", [])
            words: list[str] = split_units(begin) if isinstance(begin, str) else list(begin)
            given = len(words)
            while len(words) < given + max_length:
                p = self.distribution_at(*self.history({**kept, "words": words}, lenient=True))
                if not unknown and self.vocabulary.is_open:
                    p[1] = 0.0
                p = p ** (1 / temperature)
                drawn = int(rng.choice(p.size, p=p / p.sum()))
                if drawn == 0:
                    break
                words.append(self.vocabulary.word(drawn))
            out.append(" ".join(words[given:]))
        return out


def source_pushes(
    features: Any, context: int, outcome: int, name: str, weights: FloatArray, numbering: Numbering
) -> list[Push]:
    """Return what the features of one source in a history add to the score of an outcome, short contexts first."""
    found, table = [], features.table
    while context:
        entry = table.find_entry(context, outcome)
        if entry >= 0 and weights[entry] != 0:
            value = 1.0 if table.entry_value is None else float(table.entry_value[entry])
            weight = float(weights[entry])
            before = " ".join(reversed(features.context_names(context, numbering)))
            found.append(Push(f"{features.source.name}: {before} {name}", value, weight, value * weight))
        context = int(table.context_parent[context])
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
