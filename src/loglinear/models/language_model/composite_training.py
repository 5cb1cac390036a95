"""Training of composite models: from documents to features, a planned normaliser, strengths and weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from loglinear.arrays import FloatArray
from loglinear.backoff.interpolation import loglinear_weights
from loglinear.backoff.kneser_ney import kneser_ney
from loglinear.data.documents import Documents, Numbering
from loglinear.data.ngram import build_trie
from loglinear.losses.composite import CompositeLoss
from loglinear.models.language_model.composite import CompositeQueries, check_sources, partition_of, without_zeros
from loglinear.models.language_model.penalty import NgramPenalty
from loglinear.models.language_model.training import centred, or_least
from loglinear.optimise.objective import Objective
from loglinear.optimise.training import Settings, Solution, train
from loglinear.optimise.tuning_by_gradient import Tuned, tune_strengths
from loglinear.penalties import ByClass
from loglinear.sources.extraction import SourceFeatures, extract, problem_of
from loglinear.sources.kinds import InformationSource, Topic, Words
from loglinear.sources.normalisers import make_normaliser
from loglinear.sources.planner import Plan, make_plan
from loglinear.sources.problem import CompositeProblem
from loglinear.sources.topics import TopicAssigner, naive_bayes_assigner
from loglinear.status import Status

# Of topic features, which are few, signed and well observed: a ridge of this strength.
TOPIC_STRENGTH, TOPIC_L1_RATIO = 1.0, 0.1


@dataclass(frozen=True)
class CompositeFit:
    """A trained composite model and how it was trained."""

    queries: CompositeQueries
    features: list[SourceFeatures]  # before features without weight were left out
    n_weights: int
    solution: Solution
    tuned: Tuned | None
    strengths: list[dict[str, Any]]
    plan: Plan
    chosen: int | None = None


def penalty_of(
    features: Sequence[SourceFeatures], n_words: int, penalty: NgramPenalty, n_threads: int | None
) -> tuple[ByClass, list[str]]:
    """Return the penalty, with classes by source and order, and the names of the classes."""
    classes, names = [np.zeros(n_words, np.uint8)], ["unigrams"]
    l1, l2, signs = [0.0], [penalty.unigram_strength], [False]
    for one in features:
        own = _own(one.source, penalty)
        first = len(names)
        for d in range(1, one.table.depth + 1):
            a, b = own.of_order(d + 1)
            l1.append(a)
            l2.append(b)
            signs.append(own.nonnegative)
            names.append(f"{one.source.name}, order {d + 1}")
        classes.append((one.table.depth_of_entries() + (first - 1)).astype(np.uint8))
    return ByClass(np.concatenate(classes), np.array(l1), np.array(l2), np.array(signs), n_threads=n_threads), names


def _own(source: InformationSource, penalty: NgramPenalty) -> NgramPenalty:
    topic = isinstance(source, Topic)
    usual = {"strength": (TOPIC_STRENGTH,), "l1_ratio": (TOPIC_L1_RATIO,), "nonnegative": False} if topic else {}
    given: dict[str, Any] = {}
    for name in ("strength", "l1_ratio"):
        value = getattr(source, name)
        if value is not None:
            given[name] = tuple(np.atleast_1d(np.asarray(value, np.float64)).tolist())
    if source.nonnegative is not None:
        given["nonnegative"] = source.nonnegative
    if source.values is not None and source.nonnegative is None:
        given["nonnegative"] = False
    return replace(penalty, **{**usual, **given})


def start_weights(
    features: Sequence[SourceFeatures], documents: Documents, numbering: Numbering, problem: CompositeProblem,
    n_threads: int | None,
) -> FloatArray:  # fmt: skip
    """Return the weights of Kneser-Ney for the unigrams and for a source of all n-grams, zero for the others.

    An open vocabulary that has met no unknown word gets as many tokens of it as Kneser-Ney expects, in ``problem``.
    """
    words = next((one for one in features if isinstance(one.source, Words) and one.source.select is None), None)
    order = words.source.order if words is not None else 2
    trie = build_trie(documents.sentences, order, n_threads=n_threads)
    counted = kneser_ney(trie, numbering.vocabulary, n_threads=n_threads)
    unknown = numbering.vocabulary.unknown
    out = np.zeros(problem.n_weights)
    found = centred(loglinear_weights(counted, n_threads=n_threads), trie.n_words)
    out[: trie.n_words] = found[: trie.n_words]
    if unknown is not None and problem.observed[unknown] == 0:
        tokens = problem.count.sum()
        problem.observed[unknown] = max(round(float(tokens * np.exp(counted.log_probability[unknown]))), 1)
    for one, offset in zip(features, problem.offsets):
        if one is words and one.table.n_entries == trie.n_entries - trie.n_words:
            out[offset : offset + one.table.n_entries] = found[trie.n_words :]
    return out


def with_unknown_history(problem: CompositeProblem) -> CompositeProblem:
    """Return the problem with a history without contexts for tokens that were added to what was observed."""
    extra = float(problem.observed[: problem.n_words].sum() - problem.count.sum())
    if extra <= 0:
        return problem
    leaves = tuple(np.concatenate([np.zeros(1, np.uint32), leaf]) for leaf in problem.leaves)
    return replace(problem, leaves=leaves, count=np.concatenate([[extra], problem.count]))


def train_composite(
    documents: Documents,
    numbering: Numbering,
    sources: Sequence[InformationSource],
    penalty: NgramPenalty,
    settings: Settings,
    *,
    method: str | None = None,
    memory: int | None = None,
    validation: Documents | None = None,
    assigner: TopicAssigner | None = None,
) -> CompositeFit:
    """Train a composite model; with ``validation`` documents, choose the strengths by source and order first.

    ``method`` names the normaliser; None: the planner chooses the fastest within ``memory`` bytes.
    """
    check_sources(sources, documents)
    threads = settings.n_threads
    features = extract(sources, documents, numbering, n_threads=threads)
    problem = problem_of(features, documents, numbering, training=True)
    start = start_weights(features, documents, numbering, problem, threads)
    problem = with_unknown_history(problem)
    names = [one.source.name for one in features]
    partition = partition_of(features)
    plan = make_plan(problem, partition=partition, memory=memory, names=names, only=method)
    loss = _loss(problem, plan, threads)
    by_class, classes = penalty_of(features, problem.n_words, penalty, threads)
    tuned, chosen, held_out = None, None, None
    if validation is not None:
        other = problem_of(features, validation, numbering)
        held_out = _loss(other, make_plan(other, partition=partition, memory=memory, names=names, only=method), threads)
        tuned = tune_strengths(
            loss, by_class, held_out, start, fixed=[0, len(classes)], solver=settings.solver,
            solver_options=settings.solver_options, n_threads=threads,
        )  # fmt: skip
        by_class, start = tuned.penalty, tuned.weights
        if tuned.status == Status.INTERRUPTED:
            settings = replace(settings, max_iterations=0)
    solution = train(Objective(loss, by_class, threads), settings, start)
    if tuned is not None and held_out is not None:
        gradient = np.empty(loss.n_weights)
        value = held_out.value_and_gradient
        solution, chosen = or_least(solution, tuned, lambda w: value(w, gradient), settings)
        by_class = tuned.penalty if chosen == tuned.best_number else cast(ByClass, tuned.least.objective.penalty)
    kept, weights = without_zeros(features, solution.weights, problem.n_words)
    topic = next((s for s in sources if isinstance(s, Topic) and s.label in documents.labels), None)
    infers = assigner is not None
    if topic is not None and assigner is None:
        assigner = naive_bayes_assigner(documents, topic.label)
    strengths = [
        {"ngrams": name, "order": int(name.rsplit(" ", 1)[1]) if "order" in name else 1, "l1": float(a), "l2": float(b)}
        for name, a, b in zip(classes, by_class.l1, by_class.l2)
    ]
    return CompositeFit(
        CompositeQueries(numbering, kept, weights, assigner=assigner, infers=infers, n_threads=threads), features,
        int(np.count_nonzero(weights[problem.n_words :])) + problem.n_words, solution, tuned, strengths, plan, chosen,
    )  # fmt: skip


def _loss(problem: CompositeProblem, plan: Plan, n_threads: int | None) -> CompositeLoss:
    normaliser = make_normaliser(
        problem, plan.chosen.method, partition=plan.partition, max_bytes=plan.memory, n_threads=n_threads
    )
    return CompositeLoss(problem, normaliser)
