"""Training of composite models: from documents to features, a planned normaliser, strengths and weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from loglinear.arrays import FloatArray
from loglinear.backoff.interpolation import loglinear_weights
from loglinear.backoff.kneser_ney import kneser_ney
from loglinear.data.documents import Documents, Numbering
from loglinear.data.ngram import build_trie
from loglinear.losses.composite import CompositeLoss
from loglinear.losses.nearly_disjoint import NearlyDisjointLoss
from loglinear.models.language_model.composite.penalty import OwnPenalty, SourcePenalties, own_penalty
from loglinear.models.language_model.composite.queries import (
    CompositeQueries,
    check_sources,
    partition_of,
    without_zeros,
)
from loglinear.models.language_model.training import centred, or_least
from loglinear.optimise.objective import Objective
from loglinear.optimise.progress import Trials
from loglinear.optimise.training import Settings, Solution, train
from loglinear.optimise.tuning_by_gradient import Tuned, tune_strengths
from loglinear.optimise.tuning_by_search import tune_path
from loglinear.penalties import ByClass
from loglinear.protocols import Penalty
from loglinear.sources.extraction import SourceFeatures, extract, problem_of
from loglinear.sources.kinds import InformationSource, Topic, Words
from loglinear.sources.normalisers import DisjointnessError, Normaliser, disjointness_error, make_normaliser
from loglinear.sources.planner import Plan, make_plan
from loglinear.sources.problem import CompositeProblem
from loglinear.sources.topics import TopicAssigner, naive_bayes_assigner
from loglinear.status import Status


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
    error: DisjointnessError | None = None  # where sources were taken for disjoint


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
    penalty: OwnPenalty,
    settings: Settings,
    *,
    method: str | None = None,
    memory: int | None = None,
    validation: Documents | None = None,
    tuned_names: Sequence[str] = ("strength",),
    disjoint: Sequence[tuple[int, ...]] = (),
    assigner: TopicAssigner | None = None,
) -> CompositeFit:
    """Train a composite model; with ``validation`` documents, choose the strengths by source and order first.

    ``method`` names the normaliser; None: the planner chooses the fastest within ``memory`` bytes. ``tuned_names`` are
    chosen under tree norms (strength, depth_growth, l2). ``disjoint``: sets of sources whose features are taken for
    disjoint in training; the error that this makes is measured at the end.
    """
    check_sources(sources, documents)
    if disjoint and validation is not None:
        raise ValueError("tune needs exact losses: tune without disjoint, and give the strengths that it chose")
    threads = settings.n_threads
    features = extract(sources, documents, numbering, n_threads=threads)
    problem = problem_of(features, documents, numbering, training=True)
    start = start_weights(features, documents, numbering, problem, threads)
    problem = with_unknown_history(problem)
    own = SourcePenalties(features, problem, [own_penalty(source, penalty) for source in sources], threads)
    names = [one.source.name for one in features]
    partition = partition_of(features)

    def loss_on(on: CompositeProblem) -> CompositeLoss:
        plan = make_plan(on, partition=partition, memory=memory, names=names, only=method)
        return CompositeLoss(on, _normaliser(on, plan, threads))

    plan = make_plan(problem, partition=partition, memory=memory, names=names, only=method, apart=disjoint)
    normaliser = _normaliser(problem, plan, threads)
    loss: CompositeLoss | NearlyDisjointLoss = CompositeLoss(problem, normaliser)
    if disjoint:
        leaves = [one.leaves(documents, numbering) for one in features]
        loss = NearlyDisjointLoss(problem, normaliser, disjoint, leaves, documents.words)
    if isinstance(loss, NearlyDisjointLoss) or validation is None:
        made = own.make()
        found = Trained(train(Objective(loss, made, threads), settings, start), made, own.rows())
    else:
        held_out = loss_on(problem_of(features, validation, numbering))
        found = _tuned(loss, own, held_out, start, settings, tuned_names)
    solution, error = found.solution, None
    if disjoint:
        error = disjointness_error(problem, disjoint, solution.weights, n_threads=threads)
        solution = _judged(solution, Objective(loss_on(problem), found.penalty, threads), settings)
    kept, weights = without_zeros(features, solution.weights, problem.n_words)
    topic = next((s for s in sources if isinstance(s, Topic) and s.label in documents.labels), None)
    infers = assigner is not None
    if topic is not None and assigner is None:
        assigner = naive_bayes_assigner(documents, topic.label)
    return CompositeFit(
        CompositeQueries(numbering, kept, weights, assigner=assigner, infers=infers, n_threads=threads), features,
        int(np.count_nonzero(weights[problem.n_words :])) + problem.n_words, solution, found.tuned, found.strengths,
        plan, found.chosen, error,
    )  # fmt: skip


class Trained(NamedTuple):
    """Weights, the strengths they were trained with, and how these were chosen."""

    solution: Solution
    penalty: Penalty
    strengths: list[dict[str, Any]]
    tuned: Tuned | None = None
    chosen: int | None = None


def _tuned(
    loss: CompositeLoss, own: SourcePenalties, held_out: CompositeLoss, start: FloatArray, settings: Settings,
    names: Sequence[str],
) -> Trained:  # fmt: skip
    """Choose strengths on held-out documents, by hypergradients or, under tree norms, by search; then train."""
    if own.n_trees not in (0, len(own.own)):
        raise ValueError("tune chooses strengths by order or those of tree norms: give all sources one kind of penalty")
    gradient = np.empty(loss.n_weights)

    def validation(w: FloatArray) -> float:
        return held_out.value_and_gradient(w, gradient)

    solver: dict[str, Any] = {"solver": settings.solver, "solver_options": settings.solver_options}
    by_class = None if own.n_trees else own.by_class()
    with Trials(settings.verbose) as shown:
        if by_class is None:
            tuned = tune_path(
                lambda values: Objective(loss, own.with_values(values).make(), settings.n_threads), validation,
                own.settings(names), start, callback=shown.tell, **solver,
            )  # fmt: skip
        else:
            tuned = tune_strengths(
                loss, by_class, held_out, start, fixed=[0, by_class.n_classes], n_threads=settings.n_threads,
                callback=shown.tell, **solver,
            ).without_state()  # fmt: skip
    if tuned.status == Status.INTERRUPTED:
        settings = replace(settings, max_iterations=0)
    solution = train(Objective(loss, tuned.penalty, settings.n_threads), settings, tuned.weights)
    solution, chosen = or_least(solution, tuned, validation, settings)
    best = tuned.penalty if chosen == tuned.best_number else tuned.least.objective.penalty
    if isinstance(best, ByClass):
        return Trained(solution, best, own.rows(best), tuned, chosen)
    return Trained(solution, best, own.with_values(tuned.history[chosen].strengths).rows(), tuned, chosen)


def _judged(solution: Solution, exact: Objective, settings: Settings) -> Solution:
    """Return weights that were trained by an approximation with the value and the gap of the exact objective."""
    there = train(exact, replace(settings, max_iterations=0, verbose=0), solution.weights).result
    result = replace(solution.result, value=there.value, gap=there.gap, gap_is_bound=there.gap_is_bound)
    return replace(solution, result=result)


def _normaliser(problem: CompositeProblem, plan: Plan, n_threads: int | None) -> Normaliser:
    return make_normaliser(
        problem, plan.chosen.method, partition=plan.partition, apart=plan.apart, max_bytes=plan.memory,
        n_threads=n_threads,
    )  # fmt: skip
