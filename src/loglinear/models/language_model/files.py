"""Language models at work on texts and files: scores line by line, mixtures, comparisons, generated sentences.

The lines of a file of words are split, looked up and scored natively; no word becomes a Python object.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from loglinear.arrays import FloatArray
from loglinear.backoff.interpolation import interpolation_weights, merge
from loglinear.backoff.queries import SentenceScores
from loglinear.data.corpus import iter_corpus, read_corpus
from loglinear.data.documents import Numbering, is_layered, iterate_documents, plain_documents
from loglinear.data.sentences import Sentences
from loglinear.errors import FormatError, IncompatibleError
from loglinear.features.word_vocabulary import WordVocabulary
from loglinear.formats.blocks import iterate_lines
from loglinear.formats.json_text import json_text
from loglinear.formats.running_text import TextSource, iterate_bytes
from loglinear.formats.text import Source, name_of, split_lines
from loglinear.formats.units import Units, join_units
from loglinear.metrics.comparison import Comparison, PairedScores, compare_scores
from loglinear.metrics.perplexity import perplexity
from loglinear.models.language_model.composite.queries import CompositeQueries
from loglinear.models.language_model.document_queries import DocumentQueries
from loglinear.models.language_model.predictor import LanguageModelPredictor
from loglinear.models.validation import renamed
from loglinear.status import Status

if TYPE_CHECKING:
    from loglinear.models.language_model.estimator import LanguageModel
    from loglinear.models.language_model.trainer import LanguageModelTrainer

BLOCK = 1 << 22  # bytes of text scored at a time
_OF_MAXENT = (
    "penalty", "strength", "tune", "depth_growth", "feature_decay", "group_norm", "l2", "strength_classes", "l1_ratio",
    "nonnegative", "min_count", "base", "sources", "method", "n_topics", "disjoint", "classes", "checkpoint",
)  # fmt: skip
_OF = {"prune": ("kneser-ney", "kneser-ney-single"), "k": ("add-k",)} | dict.fromkeys(_OF_MAXENT, ("maxent",))


BINARY = (".bin", ".binary")  # how the name of a binary file of KenLM ends


def make_language_model(settings: dict[str, Any]) -> LanguageModelTrainer:
    """Return a model to train; raise ValueError for a setting that its estimator would ignore."""
    from loglinear.models.language_model.trainer import LanguageModelTrainer

    model = LanguageModelTrainer(**settings)
    for name in settings:
        if model.estimator not in _OF.get(name, (model.estimator,)):
            setting = "signed" if name == "nonnegative" else name.replace("_", "-")
            raise ValueError(f"{setting} is a setting of {' and '.join(_OF[name])}, not of {model.estimator}")
    return model


def load_language_model(path: Source, n_threads: int | None = None) -> LanguageModelPredictor:
    """Load a language model for use, from a model file or an ARPA file."""
    model = LanguageModelPredictor.load(path)
    model.n_threads = model.queries_.n_threads = n_threads
    return model


def export(
    model: LanguageModelPredictor, output: Source, *, full_precision: bool = False, quantise: int | None = None,
    topic: str | None = None, text: TextSource | None = None,
) -> dict[str, Any]:  # fmt: skip
    """Write a model as an ARPA file, or as a binary file of KenLM if the name ends in .bin or .binary.

    With a text, return its perplexity by the model and by the n-grams written.

    A model of words and a topic is approximated by the n-grams of one topic, or of their mixture ("marginal").
    """
    model.check_fitted()
    if not isinstance(model.queries_, CompositeQueries):
        if topic is not None:
            raise ValueError("the model has no topic source, so that there is no topic to choose")
        _write(model, output, full_precision, quantise)
        return {"output": name_of(output)}
    ngrams = model.approximation(topic)
    found: dict[str, Any] = {"output": name_of(output), "topic": topic}
    if text is not None:
        documents = model.read(text)
        perplexities = model.perplexity(documents), ngrams.perplexity(documents.sentences)
        found |= {"perplexity": perplexities[0], "perplexity_of_ngrams": perplexities[1],
                  "loss": perplexities[1] / perplexities[0] - 1}  # fmt: skip
    _write(ngrams, output, full_precision, quantise)
    return found


def _write(model: LanguageModelPredictor, output: Source, full_precision: bool, quantise: int | None) -> None:
    if name_of(output).lower().endswith(BINARY):
        if full_precision:
            raise ValueError("full-precision is a setting of ARPA files: a binary file holds single precision")
        model.to_binary(output, quantise=quantise)
        return
    if quantise is not None:
        raise ValueError(f"quantise is a setting of binary files, whose names end in {' or '.join(BINARY)}")
    model.to_arpa(output, full_precision=full_precision)


# ---- text ---------------------------------------------------------------------------------------------------------
@dataclass(frozen=True, eq=False)
class Text:
    """A text in the numbers of its own words; it is read once and renumbered for any model."""

    name: str
    units: Units
    sentences: Sentences
    vocabulary: WordVocabulary

    @classmethod
    def read(cls, source: TextSource, like: LanguageModelPredictor) -> Text:
        """Read text in the units of a model."""
        sentences, words = read_corpus(source, **like.reading_options)
        name = name_of(source) if isinstance(source, (str, os.PathLike)) else "the text"
        return cls(name, like.units, sentences, words)

    def numbers_in(self, model: LanguageModelPredictor) -> np.ndarray:
        """Return the number of every distinct word in the vocabulary of the model, -1 if it is unknown."""
        if model.units != self.units:
            raise IncompatibleError(f"{self.name} was read as {self.units}, and a model is one of {model.units}")
        return _numbers_in(model.vocabulary_, self.vocabulary)

    def numbered_for(self, model: LanguageModelPredictor) -> Sentences:
        """Return the sentences as the model numbers words; FormatError for words outside a closed vocabulary."""
        numbers, words = self.numbers_in(model), self.sentences.words
        if not model.vocabulary_.is_open:
            unknown = np.flatnonzero(numbers[words] < 0)
            if unknown.size:
                word = self.vocabulary.word(int(words[unknown[0]]))
                place = int(np.searchsorted(self.sentences.sentence_ptr, unknown[0], side="right"))
                message = f"the word {word!r} of sentence {place} is not in a model's vocabulary, which is closed"
                raise FormatError(f"{message}; train it with unknown='token', or leave the word out", self.name)
        known = np.where(numbers < 0, 1, numbers).astype(np.uint32)
        return Sentences(model.vocabulary_.n_words, known[words], self.sentences.sentence_ptr)

    def words_and_ends(self) -> np.ndarray:
        """Return the distinct word of every token, each sentence followed by its end, 0: [n_tokens + n_sentences]."""
        out = np.zeros(self.sentences.n_tokens + self.sentences.n_sentences, dtype=np.int64)
        lengths = np.diff(self.sentences.sentence_ptr)
        places = np.arange(self.sentences.n_tokens) + np.repeat(np.arange(lengths.size), lengths)
        out[places] = self.sentences.words
        return out

    def sentence(self, number: int) -> str:
        """Return the text of a sentence."""
        a, b = self.sentences.sentence_ptr[number : number + 2]
        return join_units([self.vocabulary.word(int(w)) for w in self.sentences.words[a:b]], self.units)


def _numbers_in(known: WordVocabulary, words: WordVocabulary) -> np.ndarray:
    """Return the numbers of words in another vocabulary, -1 for those that it lacks."""
    numbers = np.empty(len(words), dtype=np.int32)
    known.words.index().find(words.words.blob, words.words.offsets, numbers)
    return numbers


# ---- sentence by sentence -------------------------------------------------------------------------------------------
def score_file(
    model: LanguageModelPredictor, source: Source, *, threshold: float | None = None, block: int = BLOCK
) -> Iterator[bytes]:
    """Yield for every line of a file log10 of its probability, its tokens (with the end) and its perplexity.

    With a ``threshold``, yield instead the lines whose perplexity is at most that. Memory is bounded by the block and
    the longest line; standard input is scored as it comes.
    """
    if threshold is not None and not threshold > 0:
        raise ValueError(f"the threshold is a perplexity and must be above 0, not {threshold!r}")
    if isinstance(model.queries_, DocumentQueries):  # one line per sentence of the documents
        if threshold is not None:
            raise ValueError("a threshold chooses lines of text, and this model reads documents")
        found = model.queries_.score_sentences(model.read(source))
        yield _score_lines(found, np.exp(-found.log_probability / found.n_tokens))
        return
    for text, scores in _scored_blocks(model, source, block):
        with np.errstate(over="ignore"):
            each = np.exp(-scores.log_probability / scores.n_tokens)
        yield _score_lines(scores, each) if threshold is None else _chosen_lines(text, each <= threshold)


def _scored_blocks(model: LanguageModelPredictor, source: Source, block: int) -> Iterator[tuple[bytes, SentenceScores]]:
    plain = model.units == "words" and model.reserved == "error" and model.encoding.lower() in ("utf-8", "utf8")
    if plain and model.vocabulary_.is_open:
        for text in iterate_bytes(source, block, text_column=model.text_column):
            yield text, model.queries_.score_lines(text)
        return
    for piece in iter_corpus(source, model.vocabulary_, block, **model.reading_options):
        yield piece.text, model.queries_.score_sentences(piece.sentences)


def _score_lines(scores: SentenceScores, each: FloatArray) -> bytes:
    fields: list[Any] = [None] * (3 * each.size)
    fields[0::3], fields[1::3], fields[2::3] = scores.log10.tolist(), scores.n_tokens.tolist(), each.tolist()
    return (b"%.6f\t%d\t%.6g\n" * each.size) % tuple(fields)


def _chosen_lines(text: bytes, chosen: np.ndarray) -> bytes:
    data = np.frombuffer(text, dtype=np.uint8)
    ends = np.flatnonzero(data == ord("\n")) + 1
    if ends.size < chosen.size:  # the last line has no end
        ends = np.append(ends, data.size)
    return data[np.repeat(chosen, np.diff(ends, prepend=0))].tobytes()


def lines_of(model: LanguageModelPredictor, source: Source, block: int = BLOCK) -> Iterator[str]:
    """Yield the lines of a file in the encoding of a model; those of a pipe as they come."""
    for text in iterate_lines(source, block, model.encoding):
        yield from split_lines(text)


def explain_sentences(
    model: LanguageModelPredictor, sentences: Iterable[str], *, as_json: bool = False
) -> Iterator[bytes]:
    """Yield what gave each sentence its probability, as text with an empty line after it or as one JSON object."""
    for sentence in sentences:
        explained = model.explain(parse_history(model, sentence))
        text = json_text(explained.to_dict()) if as_json else f"{explained}\n"
        yield f"{text}\n".encode("utf-8", "surrogatepass")


def parse_history(model: LanguageModelPredictor, text: str) -> Any:
    """Return words, or for a model with sources the JSON object that a text holds: words, layers and labels."""
    if not isinstance(model.queries_, CompositeQueries) or not text.lstrip().startswith("{"):
        return text
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise FormatError(f"a history that begins with {{ must be a JSON object: {error}") from None


# ---- generated sentences ---------------------------------------------------------------------------------------------
def generate(
    model: LanguageModelPredictor,
    n: int = 1,
    *,
    temperature: float = 1.0,
    max_length: int = 100,
    context: str = "",
    unknown: bool = True,
    random_state: int | None = None,
) -> list[str]:
    """Draw sentences from the model, each beginning with the context."""
    history = model.split(parse_history(model, context))
    begin = model.split(history.get("words", [])) if isinstance(history, dict) else history
    drawn = model.queries_.sample(
        n, max_length=max_length, random_state=random_state, temperature=temperature, context=history, unknown=unknown
    )
    return [join_units([*begin, *(text.split(" ") if text else [])], model.units) for text in drawn]


# ---- mixing -------------------------------------------------------------------------------------------------------
@dataclass(frozen=True, eq=False)
class Mixture:
    """The mixture p(w | h) = sum of weight_m p_m(w | h). Of a general and a domain's model it is MAP adaptation.

    ``union``: the models may have different vocabularies; a word that a model lacks has probability zero there.
    """

    models: Sequence[LanguageModelPredictor]
    weights: tuple[float, ...]
    union: bool = False
    cache: Any = None  # settings of a cache over the mixture
    validation: Text | None = None  # which the cache is fitted on

    def perplexities(self, text: Text) -> list[float]:
        """Return the perplexity of the mixture, and of each model, on a text."""
        each = _token_log_probabilities(self.models, text, self.union)
        with np.errstate(divide="ignore"):
            mixed = np.logaddexp.reduce(each + np.log(np.array(self.weights))[:, None], axis=0)
        return [perplexity(float(row.sum()), row.size) for row in (mixed, *each)]

    def merged(self) -> LanguageModel:
        """Return one model: over the n-grams of all, exact at these and renormalised elsewhere; or, with classes or
        a cache, the mixture itself, exact everywhere.
        """
        from loglinear.models.language_model.estimator import LanguageModel

        first = self.models[0]
        if self.cache is not None or any(isinstance(m.queries_, DocumentQueries) for m in self.models):
            return self._kept_apart()
        parts = [m.queries_.to_backoff() for m in self.models]
        model = merge(parts, self.weights, n_threads=first.n_threads)
        return LanguageModel.from_backoff(model, **first.reading_options)


    def _kept_apart(self) -> LanguageModel:
        from loglinear.models.language_model.cache.queries import CachedQueries, member_of, parse_cache
        from loglinear.models.language_model.cache.training import fit_cache
        from loglinear.models.language_model.estimator import LanguageModel
        from loglinear.optimise.training import Settings

        first = self.models[0]
        if self.union or any(list(m.vocabulary_) != list(first.vocabulary_) for m in self.models):
            raise IncompatibleError(
                "models with classes or a cache are mixed word by word: train them with one vocabulary (--vocab)"
            )
        numbering = next((m.queries_.numbering for m in self.models if isinstance(m.queries_, DocumentQueries)), None)
        if numbering is None:
            numbering = Numbering(first.vocabulary_, {}, {}, {})
        members = [member_of(m.queries_, first.n_threads) for m in self.models]
        queries = CachedQueries(numbering, members, np.array(self.weights), n_threads=first.n_threads)
        if self.cache is not None:
            if self.validation is None:
                raise ValueError("the weights of a cache are fitted on held-out text: give --dev")
            documents = plain_documents(self.validation.numbered_for(first))
            queries, _ = fit_cache(queries, parse_cache(self.cache), documents, Settings(n_threads=first.n_threads))
        made = LanguageModel(order=queries.order, estimator="imported", cache=self.cache, **first.reading_options)
        made.status_, made.converged_, made.n_iter_ = Status.IMPORTED, True, 1
        made.queries_, made.vocabulary_, made.order_ = queries, first.vocabulary_, queries.order
        made.n_weights_ = sum(int(m.n_weights_) for m in self.models)
        made.n_ngrams_ = [sum(int(m.n_ngrams_[k]) for m in self.models if k < len(m.n_ngrams_))
                          for k in range(queries.order)]  # fmt: skip
        return made


@renamed("validation", "tune")
def mix(
    models: Sequence[LanguageModelPredictor],
    *,
    weights: Sequence[float] | None = None,
    validation: Text | None = None,
    union: bool = False,
    cache: Any = None,
) -> Mixture:
    """Return a mixture, with given weights or with those that maximise the probability of ``validation`` text.

    cache : as in ``LanguageModel``; a log-linear cache over the mixture, fitted on ``validation`` when it is merged
    """
    if len(models) < 2 and cache is None:
        raise ValueError("a mixture needs two models or more")
    if (weights is None) == (validation is None):
        raise ValueError("the weights of a mixture are either given (--weights) or chosen on held-out text (--dev)")
    if not union:
        _check_same_words(models)
    if validation is not None:
        weights = interpolation_weights(list(_token_log_probabilities(models, validation, union))).tolist() if len(
            models) > 1 else [1.0]  # fmt: skip
    assert weights is not None
    return Mixture(models, _checked_weights(weights, len(models)), union, cache, validation)


def _check_same_words(models: Sequence[LanguageModelPredictor]) -> None:
    first = models[0].vocabulary_
    for number, model in enumerate(models[1:], 2):
        other = model.vocabulary_
        only_first, only_other = _words_outside(first, other), _words_outside(other, first)
        if only_first.size or only_other.size:
            told = [
                f"{found.size:,} words are only in {where} (such as {words.word(int(found[0]))!r})"
                for found, words, where in ((only_first, first, "the first"), (only_other, other, f"model {number}"))
                if found.size
            ]
            raise IncompatibleError(
                f"the models have different vocabularies: {' and '.join(told)}; train them with one vocabulary "
                "(--vocab), or mix over all words (--union), where a word has probability zero in a model that lacks it"
            )


def _words_outside(words: WordVocabulary, known: WordVocabulary) -> np.ndarray:
    return np.flatnonzero(_numbers_in(known, words) < 0)


def _checked_weights(weights: Sequence[float], n: int) -> tuple[float, ...]:
    values = np.asarray(weights, dtype=np.float64)
    if values.shape != (n,):
        raise ValueError(f"{n} models need {n} weights, not {values.size}")
    if not (np.all(values >= 0) and abs(values.sum() - 1) < 1e-3):
        raise ValueError(f"the weights of a mixture are not negative and sum to one, unlike {values.tolist()}")
    return tuple((values / values.sum()).tolist())


def _token_log_probabilities(models: Sequence[LanguageModelPredictor], text: Text, union: bool) -> FloatArray:
    """Return log-probabilities, [n_models, n_tokens + n_sentences]."""
    found = np.stack([m.queries_.token_log_probabilities(text.numbered_for(m)) for m in models])
    if union:
        unknown = np.stack([text.numbers_in(m) < 0 for m in models])
        impossible = unknown & ~unknown.all(axis=0)
        found[impossible[:, text.words_and_ends()]] = -np.inf
    return found


def _paired(
    first: LanguageModelPredictor, second: LanguageModelPredictor, source: TextSource
) -> tuple[Text, list[Any]]:
    """Return a text and the scores of its tokens by two models; models with sources read its layers."""
    kind = first.document_kind or second.document_kind
    if not is_layered(source, kind):
        text = Text.read(source, first)
        return text, [m.queries_.token_scores(text.numbered_for(m)) for m in (first, second)]
    documents = list(iterate_documents(source, kind))
    text = Text.read([sentence.words for document in documents for sentence in document.sentences], first)
    composite = [isinstance(m.queries_, DocumentQueries) for m in (first, second)]
    return text, [
        m.queries_.token_scores(m.read(documents) if own else text.numbered_for(m))
        for m, own in zip((first, second), composite)
    ]


# ---- comparing ----------------------------------------------------------------------------------------------------
def compare(
    first: LanguageModelPredictor,
    second: LanguageModelPredictor,
    source: TextSource,
    *,
    n_samples: int = 1000,
    random_state: int = 0,
    most: int = 10,
) -> Comparison:
    """Compare two models on a text, with a significance test."""
    text, found = _paired(first, second, source)
    scores = PairedScores(
        first=found[0][0],
        second=found[1][0],
        words=text.words_and_ends(),
        sentence_ptr=text.sentences.sentence_ptr + np.arange(text.sentences.n_sentences + 1),
        unknown=np.logical_or(*(text.numbers_in(m) < 0 for m in (first, second))),
        orders=(found[0][1], found[1][1]),
    )
    return compare_scores(
        scores, text.vocabulary.word, text.sentence, n_samples=n_samples, random_state=random_state, most=most
    )
