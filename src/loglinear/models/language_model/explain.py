"""Why a language model gives a sentence its probability: what each n-gram adds to the log-probability of each word.

A maximum-entropy model is explained by its weights. With h' running over the ends of the history h,

    log p(w | h) = log p(w) + sum of theta(h', w) - log Z(h),        log Z(h) = - sum of log backoff(h')

(backoff/model.py has the identity; Z is relative to the unigrams). Any other model is explained by its back-off form:
with c the longest end of h that has an entry for w,

    log p(w | h) = log p(w | c) + sum of log backoff(h') over the ends h' of h that are longer than c
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from loglinear.backoff.automaton import ContextLookup
from loglinear.data.corpus import iter_corpus
from loglinear.features.word_vocabulary import BEGIN, END
from loglinear.formats.units import Units, join_units, split_units
from loglinear.metrics.perplexity import perplexity
from loglinear.models.language_model.document_queries import DocumentQueries
from loglinear.models.notebook import Shown
from loglinear.models.push import Push, push_dicts

if TYPE_CHECKING:
    from loglinear.models.language_model.predictor import LanguageModelPredictor

_ROUNDING = 1e-5  # of log-probabilities in single precision; a smaller weight is that of an n-gram without one


@dataclass(frozen=True)
class WordExplanation:
    """One word, or the end of the sentence; its log-probability (natural) is the sum of the contributions."""

    word: str
    log_probability: float
    order: int  # length of the longest n-gram found
    unknown: bool
    pushes: list[Push]  # the unigram first; last back-offs, or log Z


@dataclass(frozen=True)
class SentenceExplanation(Shown):
    """The words of a sentence and its end, each with what its n-grams contribute."""

    tokens: list[WordExplanation]

    @property
    def log_probability(self) -> float:
        """Natural logarithm of the probability of the sentence, its end included."""
        return sum(token.log_probability for token in self.tokens)

    @property
    def perplexity(self) -> float:
        """The perplexity of the sentence, its end included."""
        return perplexity(self.log_probability, len(self.tokens))

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        tokens = [{**vars(token), "pushes": push_dicts(token.pushes)} for token in self.tokens]
        return {"log_probability": self.log_probability, "perplexity": self.perplexity, "tokens": tokens}

    def __str__(self) -> str:
        lines = []
        for token in self.tokens:
            unknown = " (unknown)" if token.unknown else ""
            lines.append(f"{token.word}{unknown}: log-probability {token.log_probability:.4f}")
            lines += [f"    {push.contribution:+9.4f}  {push.feature}" for push in token.pushes]
        total = f"log-probability {self.log_probability:.4f} of {len(self.tokens)} tokens"
        return "\n".join([*lines, f"{total}, perplexity {self.perplexity:.4f}"])


def explain(model: LanguageModelPredictor, sentence: str | Sequence[str]) -> SentenceExplanation:
    """Explain the log-probability of one sentence."""
    return explain_numbers(model, _words(model, sentence), _numbers(model, sentence))


def explain_next(
    model: LanguageModelPredictor, context: str | Sequence[str], words: Sequence[str]
) -> list[WordExplanation]:
    """Explain the log-probability of each of these words as the next one after a context."""
    if isinstance(model.queries_, DocumentQueries):
        before = list(model.split(context))
        sentences = [before if word == END else [*before, word] for word in words]
        return [explain_documents(model.queries_, sentence).tokens[len(before)] for sentence in sentences]
    _words(model, context)  # refuses what is no context
    state, history, vocabulary = None, [BEGIN], model.vocabulary_
    for number in _numbers(model, context):
        _, state = model.queries_.look_up(state, number)
        history.append(vocabulary.word(number))
    numbers = vocabulary.ids(list(words))
    if vocabulary.unknown is None and (numbers < 0).any():
        raise ValueError(f"{words[int(np.argmin(numbers))]!r} is not in the model's vocabulary, which is closed")
    numbers[numbers < 0] = vocabulary.unknown or 0
    return [_explain_word(model, state, history, word, number)[0] for word, number in zip(words, numbers.tolist())]


def explain_documents(queries: DocumentQueries, sentence: Any) -> SentenceExplanation:
    """Explain one sentence under a composite model: what each feature of each source adds."""
    record = sentence if isinstance(sentence, Mapping) else {
        "words": split_units(sentence) if isinstance(sentence, str) else list(sentence)}  # fmt: skip
    documents = queries.read([record])
    words = [*record["words"], END]
    depths = queries.score_events(documents).depth.tolist()
    unknown = queries.vocabulary.unknown
    return SentenceExplanation(
        [
            WordExplanation(word, log_p, depth, number == unknown, pushes)
            for word, depth, (number, log_p, pushes) in zip(words, depths, queries.pushes(documents))
        ]
    )


def explain_numbers(
    model: LanguageModelPredictor, words: Sequence[str], numbers: Sequence[int]
) -> SentenceExplanation:
    """Explain a sentence of word numbers; ``words`` are their names in the explanation."""
    tokens, history, context = [], [BEGIN], None
    for word, number in zip([*words, END], [*numbers, model.vocabulary_.end]):
        token, context = _explain_word(model, context, history, word, number)
        tokens.append(token)
        history.append(model.vocabulary_.word(number))
    return SentenceExplanation(tokens)


def _explain_word(
    model: LanguageModelPredictor, context: int | None, history: Sequence[str], word: str, number: int
) -> tuple[WordExplanation, int]:
    """Explain one word, and return the context after it."""
    found, following = model.queries_.look_up(context, number)
    log_p, order = _log_probability(found)
    finite = math.isfinite(log_p) and found[-1].log_probability != -math.inf  # else weights would be infinite
    parts = _weights if model.estimator == "maxent" and finite else _back_offs
    pushes = parts(found, history, model.vocabulary_.word(number), model.units)
    total = sum(push.contribution for push in pushes)
    return WordExplanation(word, total, order, number == model.vocabulary_.unknown, pushes), following


def _numbers(model: LanguageModelPredictor, sentence: str | Sequence[str]) -> list[int]:
    options: dict[str, Any] = model.reading_options
    blocks = iter_corpus(iter([sentence]), model.vocabulary_, **options)
    return [int(word) for block in blocks for word in block.sentences.words]


def _words(model: LanguageModelPredictor, sentence: Any) -> list[str]:
    """Return the units of the sentence that are scored."""
    one = isinstance(sentence, str)
    if not one and not (isinstance(sentence, (list, tuple)) and all(isinstance(word, str) for word in sentence)):
        kind = type(sentence).__name__
        raise TypeError(f"explain takes one sentence: a string or a list of words, not {kind}")
    skipped = (BEGIN, END) if model.reserved == "skip" else ()
    return [word for word in model.split(sentence) if word not in skipped]


def _log_probability(found: Sequence[ContextLookup]) -> tuple[float, int]:
    """Return the log-probability of the word, and the length of the n-gram found."""
    backoff = 0.0
    for context in found:
        if context.log_probability is not None:
            return backoff + context.log_probability, context.length + 1
        backoff += context.log_backoff
    raise AssertionError("the empty context has an entry for every word")


def _back_offs(found: Sequence[ContextLookup], history: Sequence[str], word: str, units: Units) -> list[Push]:
    """Return the n-gram found, and the back-offs from longer contexts."""
    pushes = []
    for context in found:
        before = _last(history, context.length)
        if context.log_probability is not None:
            pushes.append(_push(join_units([*before, word], units), context.log_probability))
            break
        if context.log_backoff:
            pushes.append(_push(f"back-off from {join_units(before, units)}", context.log_backoff))
    return pushes[::-1]


def _weights(found: Sequence[ContextLookup], history: Sequence[str], word: str, units: Units) -> list[Push]:
    """Return the weights of all n-grams that the history has with the word, and the normaliser."""
    pushes, shorter = [], 0.0  # log p(word | the context before)
    for context in reversed(found):
        by_backoff = shorter + context.log_backoff * (context.length > 0)
        log_own = context.log_probability
        if log_own is not None and (context.length == 0 or abs(log_own - by_backoff) > _ROUNDING):
            name = join_units([*_last(history, context.length), word], units)
            pushes.append(_push(name, log_own - by_backoff))
        shorter = by_backoff if log_own is None else log_own
    if len(found) > 1:
        log_z = sum(push.contribution for push in pushes) - shorter
        after = join_units(_last(history, found[0].length), units)
        pushes.append(Push(f"log Z after {after}", -1.0, log_z, -log_z))
    return pushes


def _last(history: Sequence[str], n: int) -> Sequence[str]:
    return history[len(history) - n :]


def _push(feature: str, weight: float) -> Push:
    return Push(feature, 1.0, weight, weight)
