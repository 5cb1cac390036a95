"""Mixtures of n-gram models, and back-off models as log-linear ones.

    p(w | h) = sum_i weight_i p_i(w | h)

The weights are fitted on held-out text (``interpolation_weights``). With two models, one of much general text and one
of little text of a domain, this is MAP adaptation: P = lambda P_background + (1 - lambda) P_adapt.

``merge`` makes one back-off model of several. Every n-gram that any of them lists has exactly the probability of the
mixture; the others back off, with weights that make every context sum to one, which only approximates the mixture
(static interpolation: Stolcke, "SRILM - an extensible language modeling toolkit", 2002).

Maximum-entropy training starts from the ``loglinear_weights`` of a model, or takes a model as a feature
(``log_probability_of``); backoff/model.py has the identity.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from loglinear import _core
from loglinear.arrays import FloatArray, new
from loglinear.backoff.model import BackoffModel, IndexArray
from loglinear.backoff.native import backoff_model, native_model, shape_arrays, shape_of
from loglinear.data.ngram import NgramTrie
from loglinear.errors import IncompatibleError
from loglinear.features.word_vocabulary import WordVocabulary
from loglinear.threads import pool

_ENTRY, _CONTEXT = 1, 2  # kinds of lines, as place_ngrams takes them


# ---- weights of a mixture ----------------------------------------------------------------------------------------
def interpolation_weights(
    log_probs: Sequence[FloatArray], iterations: int = 200, tolerance: float = 1e-6
) -> FloatArray:
    """Return the weights that maximise the probability of held-out tokens; ``log_probs[i][t]`` is log p_i of token t.

    The problem is concave. It is solved by Newton steps on the simplex, with a step of EM (Dempster, Laird and Rubin,
    1977) whenever a Newton step does not help, until other weights could gain at most ``tolerance`` nats per token.
    """
    p = _scaled_probabilities(log_probs)
    weights = np.full(p.shape[1], 1 / p.shape[1])
    for _ in range(iterations):
        mixture = p @ weights
        ratio = p / mixture[:, None]
        gain = ratio.mean(axis=0)  # of moving all weight to a model, per token: EM multiplies by it
        if gain.max() - 1 <= tolerance:
            break
        step = _newton_step(weights, ratio, gain)
        better = np.mean(np.log(p @ step)) >= np.mean(np.log(mixture))
        weights = step if better else weights * gain
        weights /= weights.sum()
    return weights


def _scaled_probabilities(log_probs: Sequence[FloatArray]) -> FloatArray:
    """Return probabilities [n_tokens, n_models], scaled so that the largest of each token is 1."""
    if len(log_probs) == 0:
        raise ValueError("interpolation needs at least one model")
    columns = [np.asarray(column, dtype=np.float64).ravel() for column in log_probs]
    if len({column.size for column in columns}) != 1 or columns[0].size == 0:
        sizes = ", ".join(str(column.size) for column in columns)
        raise IncompatibleError(f"models must have probabilities of the same tokens, at least one; got {sizes} of them")
    values = np.stack(columns, axis=1)
    if np.isnan(values).any() or (values > 1e-6).any():
        raise ValueError("log-probabilities must not be NaN or positive")
    best = values.max(axis=1)
    if np.isneginf(best).any():
        raise ValueError(f"token {int(np.argmin(best))} has probability zero in every model; drop it or add a model")
    return np.exp(values - best[:, None])


def _newton_step(weights: FloatArray, ratio: FloatArray, gain: FloatArray) -> FloatArray:
    """Return the maximum of the quadratic model on the simplex, or the nearest point with positive weights."""
    n = weights.size
    system = np.zeros((n + 1, n + 1))
    system[:n, :n] = ratio.T @ ratio / len(ratio) + 1e-10 * np.eye(n)
    system[:n, n] = system[n, :n] = 1
    direction = np.linalg.solve(system, np.append(gain, 0))[:n]
    falling = direction < 0
    limit = np.min(-weights[falling] / direction[falling], initial=np.inf)
    return weights + min(1.0, 0.99 * limit) * direction


def _checked_weights(weights: Sequence[float] | FloatArray, n_models: int) -> FloatArray:
    result = np.asarray(weights, dtype=np.float64)
    if result.shape != (n_models,):
        raise ValueError(f"there must be one weight for each of {n_models} models, not {result.size}")
    if not np.all(np.isfinite(result)) or np.any(result < 0) or abs(result.sum() - 1) > 1e-6:
        raise ValueError(f"weights must not be negative and must sum to one, not {result.tolist()}")
    return result / result.sum()


# ---- one model of several ----------------------------------------------------------------------------------------
def merge(
    models: Sequence[BackoffModel], weights: Sequence[float] | FloatArray, *, n_threads: int | None = None
) -> BackoffModel:
    """Merge models into one back-off model over the n-grams and the words of all; a model of weight zero adds none.

    A word that a model lacks has probability zero there.
    """
    shares = _checked_weights(weights, len(models))
    words = models[0].vocabulary
    if any(model.vocabulary != words for model in models):
        every = dict.fromkeys(word for model in models for word in model.vocabulary)
        words = WordVocabulary.from_words(every, is_open=any(model.vocabulary.is_open for model in models))
    threads = pool(n_threads)
    mixed = [(m if m.vocabulary == words else renumber(m, words, n_threads=n_threads), s)
             for m, s in zip(models, shares) if s > 0]  # fmt: skip
    natives = [native_model(model, threads) for model, _ in mixed]
    shape = shape_of(mixed[0][0], threads)
    arrays: Sequence[NDArray] = shape_arrays(mixed[0][0])
    for model, _ in mixed[1:]:
        arrays = _core.unite_shapes(shape, shape_of(model, threads))
        shape = _core.NgramShape(threads, words.n_words, *arrays)
    total = np.full(arrays[5].size, -np.inf)
    one = np.empty_like(total)
    for native, (_, share) in zip(natives, mixed):
        _core.log_probabilities_of(threads, native, shape, one)
        one += np.log(share)
        np.logaddexp(total, one, out=total)
    backoffs = np.empty(arrays[2].size)
    _core.normalising_backoffs(threads, shape, total, backoffs)
    return backoff_model(words, arrays, backoffs, total)


def renumber(model: BackoffModel, vocabulary: WordVocabulary, *, n_threads: int | None = None) -> BackoffModel:
    """Return the model over a larger vocabulary, in any order; new words have probability zero."""
    numbers = vocabulary.ids(list(model.vocabulary)).astype(np.int64)
    if np.any(numbers < 0):
        lost = model.vocabulary.word(int(np.argmin(numbers)))
        raise IncompatibleError(f"the vocabulary lacks the word {lost!r} of the model; it must have them all")
    new_number = np.append(numbers, vocabulary.begin).astype(np.uint32)
    words, kinds = _lines(model, new_number)
    shape, places = _core.place_ngrams(pool(n_threads), vocabulary.n_words, words, kinds)
    log_probability = np.full(shape[5].size, -np.inf)
    log_backoff = np.zeros(shape[2].size)
    for n, (entry, context) in enumerate(places, 1):
        n_own = int(model.entry_start[n] - model.entry_start[n - 1])
        log_probability[entry[:n_own]] = model.log_probability[model.entry_start[n - 1] : model.entry_start[n]]
        if n < model.order:
            log_backoff[context[n_own:]] = model.log_backoff[model.context_start[n] : model.context_start[n + 1]]
    return backoff_model(vocabulary, shape, log_backoff, log_probability)


def _lines(model: BackoffModel, new_number: IndexArray) -> tuple[list[IndexArray], list[NDArray[np.uint8]]]:
    """Return the words of each order n, those of entries, then those of contexts of length n; and their kinds."""
    histories = np.zeros((1, 0), dtype=np.uint32)  # [n_contexts of a length, length], oldest word first
    words, kinds = [], []
    for n in range(1, model.order + 1):
        first, last = model.context_start[n - 1], model.context_start[n]
        own = histories.repeat(np.diff(model.context_entry[first : last + 1]), axis=0)
        final = new_number[model.entry_word[model.entry_start[n - 1] : model.entry_start[n]]]
        entries = np.column_stack([own, final]).astype(np.uint32)
        if n < model.order:
            parents = histories.repeat(np.diff(model.context_child[first : last + 1]), axis=0)
            oldest = new_number[model.context_word[last : model.context_start[n + 1]]]
            histories = np.column_stack([oldest, parents]).astype(np.uint32)
        else:
            histories = np.zeros((0, n), dtype=np.uint32)
        words.append(np.ascontiguousarray(np.concatenate([entries, histories])).ravel())
        kinds.append(np.repeat([_ENTRY, _CONTEXT], [len(entries), len(histories)]).astype(np.uint8))
    return words, kinds


# ---- back-off models as log-linear ones --------------------------------------------------------------------------
def loglinear_weights(model: BackoffModel, *, n_threads: int | None = None) -> FloatArray:
    """Return theta(h, w) = log p(w | h) - log p(w | parent h) - log backoff(h) of entries; log p(w) of unigrams."""
    threads = pool(n_threads)
    out = new(model.n_entries)
    _core.loglinear_weights(threads, native_model(model, threads), out)
    return out


def log_probability_of(
    model: BackoffModel, ngrams: NgramTrie | BackoffModel, *, n_threads: int | None = None
) -> FloatArray:
    """Return log p(w | h) under the model of every entry of a trie or another model that numbers words alike."""
    n_words = ngrams.n_words if isinstance(ngrams, NgramTrie) else ngrams.vocabulary.n_words
    if n_words != model.vocabulary.n_words:
        raise IncompatibleError(
            f"the n-grams are over {n_words} words and the model over {model.vocabulary.n_words}; read the text with"
            " the vocabulary of the model"
        )
    threads = pool(n_threads)
    out = np.empty(ngrams.n_entries)
    _core.log_probabilities_of(threads, native_model(model, threads), shape_of(ngrams, threads), out)
    return out


def loglinear_weights_on(model: BackoffModel, trie: NgramTrie, *, n_threads: int | None = None) -> FloatArray:
    """Return the weights of a trie, which must include the model's n-grams, that give the model's distribution."""
    log_p = log_probability_of(model, trie, n_threads=n_threads)
    on_trie = backoff_model(model.vocabulary, shape_arrays(trie), np.zeros(trie.n_contexts), log_p)
    threads = pool(n_threads)
    _core.normalising_backoffs(threads, shape_of(on_trie, threads), log_p, on_trie.log_backoff)
    return loglinear_weights(on_trie, n_threads=n_threads)
