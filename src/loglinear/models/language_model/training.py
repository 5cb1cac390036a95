"""Maximum-entropy training on a trie, one weight per n-gram: from counted n-grams to a back-off model.

Training starts from Kneser-Ney. An interpolated Kneser-Ney model is of the form p(w | h) ~ exp(sum of theta) with
theta(h, w) = log p(w | h) - log p(w | parent h) - log backoff(h) >= 0: it satisfies the constraint of nonnegative
weights, and is a few steps from the optimum.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from loglinear.arrays import FloatArray, new_copy
from loglinear.backoff.interpolation import loglinear_weights
from loglinear.backoff.kneser_ney import choose_discounts, kneser_ney
from loglinear.backoff.model import BackoffModel
from loglinear.backoff.trie_model import TrieModel
from loglinear.data.ngram import NgramTrie, cut
from loglinear.data.ngram_classes import ngram_classes
from loglinear.data.sentences import Sentences
from loglinear.features.word_vocabulary import WordVocabulary
from loglinear.losses.ngram_maxent import NgramMaxentLoss, n_continued
from loglinear.metrics.perplexity import perplexity
from loglinear.models.language_model.backoff_form import kept_entries, trie_model_of
from loglinear.models.language_model.penalty import NgramPenalty, TreePenalty
from loglinear.optimise.checkpoint import Checkpoint
from loglinear.optimise.objective import Objective
from loglinear.optimise.progress import Trials
from loglinear.optimise.training import Settings, Solution, train
from loglinear.optimise.tuning_by_gradient import Tuned, tune_strengths
from loglinear.penalties import ByClass
from loglinear.status import Status


@dataclass(frozen=True)
class MaxentFit:
    """A trained model and how it was trained."""

    model: BackoffModel | TrieModel
    n_weights: int  # n-grams that the model keeps
    n_parameters: int  # constant-value non-branching paths whose value is not zero
    solution: Solution
    tuned: Tuned | None
    strengths: list[dict[str, Any]]  # one row per class of n-grams
    penalty: NgramPenalty | TreePenalty  # with the strength, depth growth and l2 that were chosen, where it is a tree's
    packed: dict[str, NDArray[Any]] | None = None  # the collapsed tree, for models trained on it
    chosen: int | None = None  # the number of the trial of tuning whose strengths the model has


def without_rare(trie: NgramTrie, limits: Sequence[int]) -> NgramTrie:
    """Leave out n-grams that occur less often than the limit of their order."""
    if max(limits) <= 1:
        return trie
    return cut(trie, [1, *limits] if len(limits) < trie.order else limits)


def with_unknown(trie: NgramTrie, unknown: int | None) -> NgramTrie:
    """Return the trie with tokens of ``<unk>``, as many as Kneser-Ney expects, if an open vocabulary has met none.

    ``unknown`` is its number, None in a closed vocabulary.

    A text tells nothing of words it lacks. Without a count, ``<unk>`` would have next to no probability, that which the
    ridge leaves it; the Kneser-Ney model of order 1 gives it the share of a word seen zero times. It is the same for
    every order, so that a model whose n-grams are all zero is the model of order 1. The counts are changed in place if
    they are writeable.
    """
    if unknown is None or trie.entry_count[unknown] > 0:
        return trie
    counts = trie.entry_count[: trie.n_words]
    seen = np.bincount(np.minimum(counts, 5), minlength=6)[1:].tolist()  # words that occur 1, 2, 3, 4 times, and more
    first, second, third = choose_discounts(seen[:4]).values
    left = first * seen[0] + second * seen[1] + third * sum(seen[2:])
    expected = round(left / (trie.n_words - 1))  # all words but <s>
    if not (trie.entry_count.flags.writeable and trie.context_count.flags.writeable):  # mapped from files
        trie = replace(trie, entry_count=new_copy(trie.entry_count), context_count=new_copy(trie.context_count))
    trie.entry_count[unknown] = max(expected, 1)
    trie.context_count[0] += trie.entry_count[unknown]
    return trie


def centred(start: FloatArray, n_words: int) -> FloatArray:
    """Shift the unigram weights, in place, to a sum of zero, and return all weights.

    A constant added to all unigram weights changes no probability, and their ridge is least where they sum to zero.
    Solvers would find that direction slowly: it is flat but for the ridge.
    """
    start[:n_words] -= start[:n_words].mean()
    return start


def n_paths(trie: NgramTrie, w: FloatArray) -> int:
    """Count the weights that are not zero, those of a constant-value non-branching path once (Nelakanti et al. 2013).

    An n-gram continues the path of its parent if it is the only one to extend it and their weights are equal to a
    millionth: solvers compute equal weights by sums in different orders. Unigrams are paths by themselves.
    """
    return int(np.count_nonzero(w)) - n_continued(trie, w)


def train_maxent(
    trie: NgramTrie,
    vocabulary: WordVocabulary,
    penalty: NgramPenalty,
    settings: Settings,
    *,
    scheme: str = "order",
    validation: Sentences | None = None,
    scored: Sentences | None = None,
    start: FloatArray | None = None,
    offset: FloatArray | None = None,
    checkpoint: Checkpoint | None = None,
) -> MaxentFit:
    """Train the weights of a trie; with ``validation`` sentences, choose the strengths by class first.

    ``scored``: sentences whose mean log-probability per token progress shows, where nothing is chosen.

    ``scheme`` names the classes of n-grams that share a strength (data/ngram_classes.py). ``start``: weights to begin
    from, by default those of Kneser-Ney. ``offset``: weights of a base model; only the difference from them is learnt
    and penalised, and it may have either sign. ``checkpoint``: of training at given strengths, from which it goes on.
    """
    classes = ngram_classes(trie, scheme)
    if offset is not None:
        penalty = replace(penalty, nonnegative=False)
    by_class = penalty.on(classes, settings.n_threads)
    if offset is None:
        counted = kneser_ney(trie, vocabulary, n_threads=settings.n_threads)
        trie = with_unknown(trie, vocabulary.unknown)
        if start is None and penalty.penalty != "none":
            start = centred(loglinear_weights(counted, n_threads=settings.n_threads), trie.n_words)
        del counted
    loss = NgramMaxentLoss(trie, offset=offset, n_threads=settings.n_threads)
    tuned, chosen = None, None
    if validation is not None:
        held_out = loss.on(validation)
        with Trials(settings.verbose) as shown:
            tuned = tune_strengths(
                loss,
                by_class,
                held_out,
                start,
                fixed=[0, len(classes.orders)],  # the unigrams' ridge would learn what the validation text is about
                solver=settings.solver,
                solver_options=settings.solver_options,
                n_threads=settings.n_threads,
                callback=shown.tell,
            )
        by_class, start = tuned.penalty, tuned.weights
        if tuned.status == Status.INTERRUPTED:
            settings = replace(settings, max_iterations=0)
    if tuned is None:
        score = None if scored is None else mean_log_probability(loss, scored)
        objective = Objective(loss, by_class, settings.n_threads)
        solution = train(objective, settings, start, checkpoint=checkpoint, score=score)
    else:
        solution = train(tuned.objective, settings, start, go_on=tuned.result if tuned.result.state else None)
        tuned = tuned.without_state()
        gradient = np.empty(loss.n_weights)
        solution, chosen = or_least(solution, tuned, lambda w: held_out.value_and_gradient(w, gradient), settings)
        by_class = tuned.penalty if chosen == tuned.best_number else cast(ByClass, tuned.least.objective.penalty)
    total = loss.total_weights(solution.weights)
    strengths = [
        {"ngrams": name, "order": n, "l1": float(a), "l2": float(b)}
        for name, n, a, b in zip(classes.names, classes.orders, by_class.l1, by_class.l2)
    ]
    return MaxentFit(
        trie_model_of(loss, vocabulary, solution.weights),
        n_weights=int(np.count_nonzero(kept_entries(total, trie.n_words))), n_parameters=n_paths(trie, total),
        solution=solution, tuned=tuned, strengths=strengths, penalty=penalty, chosen=chosen,
    )


def trials_of(tuned: Tuned, chosen: int | None, n_tokens: int) -> list[dict[str, Any]]:
    """Return the trials of tuning as plain values; ``n_tokens`` are those of the validation text."""
    return [
        {
            "strengths": trial.strengths.tolist(),
            "perplexity": perplexity(-trial.validation, n_tokens),
            "nonzero_weights": trial.n_active,
            "accepted": trial.accepted,
            "seconds": trial.seconds,
            "chosen": number == chosen,
        }
        for number, trial in enumerate(tuned.history)
    ]


def mean_log_probability(loss: NgramMaxentLoss, sentences: Sentences) -> Callable[[FloatArray], float]:
    """Return the function from the weights of a loss to the mean log-probability of a token of other sentences."""
    n_tokens = sentences.n_tokens + sentences.n_sentences
    held_out: list[Any] = []  # counted when they are first asked for

    def score(w: FloatArray) -> float:
        if not held_out:
            held_out.extend((loss.on(sentences), np.empty(loss.n_weights)))
        of_text, gradient = held_out
        return -float(of_text.value_and_gradient(w, gradient)) / n_tokens

    return score


def or_least(
    solution: Solution, tuned: Tuned, validation: Callable[[FloatArray], float], settings: Settings
) -> tuple[Solution, int]:
    """Return training that went on from the best trial, or the trial with the least validation loss if that is less.

    Training on lowers the objective, which may raise the validation loss. The number of the trial comes second.
    """
    if validation(solution.weights) <= tuned.least.validation:
        return solution, tuned.best_number
    found, least = tuned.least.result, tuned.least
    judged = train(least.objective, replace(settings, max_iterations=0, verbose=0), found.weights)  # its gap
    result = replace(found, gap=judged.result.gap, gap_is_bound=judged.result.gap_is_bound)
    return replace(judged, result=replace(result, converged=judged.result.converged)), least.number
