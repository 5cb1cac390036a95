"""LanguageModelPredictor: a trained n-gram language model in use. It needs numpy and the extension only."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from loglinear.arrays import FloatArray
from loglinear.backoff.arpa import read_arpa, write_arpa
from loglinear.backoff.binary import BinaryQueries, is_binary, write_binary
from loglinear.backoff.model import BackoffModel
from loglinear.backoff.queries import NgramQueries
from loglinear.backoff.trie_model import TrieModel
from loglinear.data.corpus import read_corpus
from loglinear.data.documents import TEXT
from loglinear.data.sentences import Sentences
from loglinear.errors import FormatError
from loglinear.features.word_vocabulary import WordVocabulary
from loglinear.formats.running_text import check_text
from loglinear.formats.units import Units, join_units, split_units
from loglinear.metrics.perplexity import TextScore
from loglinear.models.archive import Archive
from loglinear.models.language_model import file
from loglinear.models.language_model.composite.queries import CompositeQueries
from loglinear.models.language_model.document_queries import DocumentQueries
from loglinear.models.language_model.explain import (
    SentenceExplanation,
    WordExplanation,
    explain,
    explain_documents,
    explain_next,
)
from loglinear.models.predictor import Predictor
from loglinear.status import Status

if TYPE_CHECKING:
    from typing_extensions import Self

ONE_SENTENCE = "explain({}) scores one sentence"


class LanguageModelPredictor(Predictor):
    """A trained n-gram language model: it scores text, names the most probable next words and draws sentences.

    Text is a path (plain or compressed, or "-"), a list of paths, an iterable of sentences (strings or lists of
    words), of records (dicts) with a ``text_column``, or ``Sentences`` in the numbers of the model's vocabulary.
    """

    kind = file.KIND
    # Settings that the use of a model depends on; LanguageModel documents them.
    estimator: str = "imported"
    units: Units = "words"
    reserved: str = "error"
    document_format: str | None = None
    encoding: str = "utf-8"
    text_column: str | None = None  # not kept in files, since it is that of texts
    random_state: int | None = None
    penalty: str | None
    # What training leaves.
    queries_: NgramQueries | Any  # DocumentQueries, where the model has sources, classes or a cache
    vocabulary_: WordVocabulary
    order_: int
    n_ngrams_: list[int]
    n_weights_: int
    status_: str
    converged_: bool
    n_iter_: int
    n_tokens_: int
    counts_: list[int]
    fit_seconds_: float
    validation_score_: float  # where training had held-out text

    def __getattr__(self, name: str) -> Any:
        """Return the vocabulary of a binary file, whose words are read when they are first needed."""
        if name == "vocabulary_" and "queries_" in vars(self):
            self.vocabulary_ = self.queries_.vocabulary
            return self.vocabulary_
        return super().__getattr__(name)

    # ---- text -------------------------------------------------------------------------------------------------------
    @property
    def reading_options(self) -> dict[str, Any]:
        """Return how text for the model is read, as options of ``read_corpus``."""
        names = ("units", "reserved", "encoding", "text_column", "n_threads")
        return {name: getattr(self, name) for name in names}

    @property
    def document_kind(self) -> str | None:
        """Return the format of documents; where a column of text is named, there are no documents with layers."""
        return self.document_format if self.text_column is None else TEXT

    def read(
        self, X: Any, *, infer_topics: bool = False, progress: Callable[[int, int], None] | None = None
    ) -> Any:
        """Read text in the numbers of the model's vocabulary; what is read already is returned as it is.

        A model with ``sources`` reads documents; ``infer_topics`` assigns their topics from the words so far.
        ``progress`` is told how many bytes of a file of text have been read, and of how many.
        """
        composite = vars(self).get("queries_")
        if isinstance(composite, DocumentQueries):
            options = {name: value for name, value in self.reading_options.items() if name != "units"}
            return composite.read(X, kind=self.document_kind, infer_topics=infer_topics, **options)
        if isinstance(X, Sentences):
            return X
        check_text(X, ONE_SENTENCE)
        sentences, _ = read_corpus(X, vocabulary=self.vocabulary_, progress=progress, **self.reading_options)
        return sentences

    def evaluate(self, X: Any, y: Any = None, *, infer_topics: bool = False) -> dict[str, Any]:
        """Return the figures of ``lm eval``: perplexity, log-probability, unknown words, n-grams found by order."""
        self.check_fitted()
        from loglinear.optimise.progress import Reading

        with Reading() as progress:
            sentences = self.read(X, infer_topics=infer_topics, progress=progress)
        found, unknown = self._score(sentences).as_dict(), sentences.unknown
        if unknown is not None:
            found["unknown_types"] = unknown.n_types
            found["unknown_examples"] = [
                {"word": word, "source": source, "line": line} for word, source, line in unknown.examples
            ]
        return found

    def _score(self, X: Any) -> TextScore:
        self.check_fitted()
        sentences = self.read(X)
        scores = self.queries_.score_sentences(sentences)
        return TextScore(
            sentences.n_sentences, sentences.n_tokens, int(scores.n_unknown.sum()), float(scores.log_probability.sum()),
            float(scores.unknown_log_probability.sum()), scores.hits.tolist(),
        )

    def perplexity(self, X: Any) -> float:
        """Return exp(- log-probability per token); the ends of sentences and unknown words are tokens."""
        return self._score(X).perplexity

    def score(self, X: Any, y: Any = None) -> float:
        """Return the mean log-probability per token (greater is better, as scikit-learn expects)."""
        text = self._score(X)
        return text.log_probability / text.n_tokens

    def explain(self, sentence: str | Sequence[str] | Mapping[str, Any]) -> SentenceExplanation:
        """Return which n-grams gave each word of a sentence its log-probability, and by how much.

        Of a model with sources, the sentence may be a dict with its layers.
        """
        self.check_fitted()
        composite = self.queries_
        if isinstance(composite, DocumentQueries):
            return explain_documents(composite, sentence)
        return explain(self, cast(Any, sentence))

    def explain_next(self, context: str | Sequence[str], words: Sequence[str]) -> list[WordExplanation]:
        """Return why each of these words (``</s>``: the end) is as probable as it is after the context."""
        self.check_fitted()
        return explain_next(self, context, words)

    # ---- the next word ----------------------------------------------------------------------------------------------
    def next_distribution(self, context: str | Sequence[str] | Mapping[str, Any] = "") -> FloatArray:
        """Return the probability of every word of the vocabulary after the words that begin a sentence: [V].

        Of a model with sources, the history may be a dict: {"words": [...], "tags": [...], "topic": ...}.
        """
        self.check_fitted()
        return self.queries_.next_distribution(self.split(context))

    def top(self, context: str | Sequence[str] | Mapping[str, Any] = "", k: int = 10) -> list[tuple[str, float]]:
        """Return the k most probable next words with their probabilities, best first."""
        self.check_fitted()
        return self.queries_.top(self.split(context), k)

    def sample(self, n: int = 1, *, max_length: int = 100, temperature: float = 1.0, context: Any = ()) -> list[str]:
        """Draw n sentences that continue ``context``, of at most ``max_length`` words; see ``NgramQueries.sample``."""
        self.check_fitted()
        options: dict[str, Any] = {"max_length": max_length, "temperature": temperature}
        drawn = self.queries_.sample(n, random_state=self.random_state, context=self.split(context), **options)
        return drawn if self.units == "words" else [join_units(text.split(" "), self.units) for text in drawn]

    def split(self, context: Any) -> Any:
        """Return the units (words, characters or bytes) of a text; a list of them is returned as it is."""
        return split_units(context, self.units) if isinstance(context, str) else context

    # ---- files ------------------------------------------------------------------------------------------------------
    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to one file, atomically."""
        self.check_fitted()
        file.save(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, mmap: bool = False) -> Self:
        """Read a model file, an ARPA file, or a binary file of KenLM; ``mmap`` is as in ``loglinear.load``."""
        if file.looks_like_arpa(path):
            return cls.from_arpa(path)
        return cls.from_binary(path, mmap=mmap or None) if is_binary(path) else super().load(path, mmap=mmap)

    @classmethod
    def from_archive(cls, archive: Archive, source: Any) -> Self:
        """Make the model of an opened file; ``source`` is the name of the file in messages."""
        return file.load(cls, archive, source)

    def to_arpa(
        self, path: str | os.PathLike[str], *, full_precision: bool = False, topic: str | None = None
    ) -> None:
        """Write the model as an ARPA file, which represents maximum-entropy models exactly too.

        A model of words and a topic is approximated: by the n-grams of one ``topic``, by default that with most
        features, or of their mixture, "marginal". ``approximation`` returns that model, to measure what it loses.
        """
        self.check_fitted()
        model = self.queries_.to_backoff() if topic is None and not self._is_composite() else self._approximated(topic)
        write_arpa(model, path, full_precision, n_threads=self.n_threads)

    def approximation(self, topic: str | None = None) -> Self:
        """Return the n-gram model that ``to_arpa`` writes for a model of words and a topic."""
        self.check_fitted()
        return type(self).from_backoff(self._approximated(topic), **self.reading_options)

    def _is_composite(self) -> bool:
        return isinstance(self.queries_, CompositeQueries)

    def _approximated(self, topic: str | None) -> BackoffModel:
        from loglinear.models.language_model.composite.arpa import approximate

        if not isinstance(self.queries_, CompositeQueries):
            raise ValueError("only a model with a topic source is approximated by one of its topics")
        return approximate(self.queries_, topic)

    def to_binary(self, path: str | os.PathLike[str], *, quantise: int | None = None) -> None:
        """Write the model as a binary file that KenLM reads too; ``load`` opens it at once, whatever its size.

        ``quantise``: bits of a probability or a back-off, 8 for about 5 bytes per n-gram; None: exact, in single
        precision.
        """
        self.check_fitted()
        write_binary(self.queries_.to_backoff(), path, quantise, n_threads=self.n_threads)

    @classmethod
    def from_arpa(
        cls, path: str | os.PathLike[str], *, encoding: str | None = "utf-8", n_threads: int | None = None
    ) -> Self:
        """Read an ARPA file."""
        return cls.from_backoff(read_arpa(path, encoding=encoding, n_threads=n_threads), n_threads=n_threads)

    @classmethod
    def from_binary(
        cls, path: str | os.PathLike[str], *, mmap: bool | None = None, n_threads: int | None = None
    ) -> Self:
        """Open a binary file of KenLM, which must have its words. It is read, or mapped if it has over 16 MiB.

        mmap : map a file of any size, or none. A mapped file must stay as it is
        """
        queries = BinaryQueries.open(path, mmap=mmap, n_threads=n_threads)
        made = cls(order=queries.order, estimator="imported", n_threads=n_threads)
        made.status_, made.converged_, made.n_iter_ = Status.IMPORTED, True, 1
        if not queries.has_words:
            raise FormatError(
                "the binary file was built without its words (build_binary -v); build it with them, or use "
                "loglinear.kenlm.Model, which needs none", os.fspath(path),
            )  # fmt: skip
        made.queries_, made.order_ = queries, queries.order
        made.n_ngrams_ = queries.counts
        made.n_weights_ = sum(made.n_ngrams_)
        return made

    @classmethod
    def from_backoff(cls, model: BackoffModel, **settings: Any) -> Self:
        """Make a model of n-grams that were estimated elsewhere: read, mixed or merged."""
        made = cls(order=model.order, estimator="imported", **settings)
        made.status_, made.converged_, made.n_iter_ = Status.IMPORTED, True, 1
        made.n_weights_ = model.n_entries
        made.take(model)
        return made

    def take(self, model: BackoffModel | TrieModel) -> None:
        """Use the n-grams of this model from now on."""
        if isinstance(model, TrieModel):
            self.queries_, self.n_ngrams_ = model.to_queries(n_threads=self.n_threads), model.n_ngrams
        else:
            self.queries_ = NgramQueries.from_backoff(model, n_threads=self.n_threads)
            self.n_ngrams_ = np.diff(model.entry_start).tolist()
        self.vocabulary_, self.order_ = model.vocabulary, self.queries_.order
