"""What a composite model would cost: the plan of its normalisers and the relations of its features, before training."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from loglinear.data.memory import parse_memory
from loglinear.models.language_model.composite.estimator import read_training
from loglinear.models.language_model.composite.queries import partition_of
from loglinear.models.language_model.estimator import LanguageModel
from loglinear.sources import parse_disjoint, parse_sources
from loglinear.sources.extraction import extract, problem_of
from loglinear.sources.planner import Plan, make_plan, measured
from loglinear.sources.relations import Pattern, Relation, digraph_svg, digraph_text, patterns_of, relations_of


@dataclass(frozen=True)
class CorpusPlan:
    """Sizes of a problem, the plan of its methods, and how its patterns relate."""

    words: int
    tokens: int
    histories: int
    features: dict[str, int]  # by pattern
    plan: Plan
    patterns: list[Pattern]
    relations: list[Relation]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        return {
            "words": self.words, "tokens": self.tokens, "histories": self.histories, "features": self.features,
            "chosen": self.plan.chosen.method, "reason": self.plan.reason,
            "methods": [asdict(e) for e in self.plan.estimates], "relations": [asdict(r) for r in self.relations],
        }  # fmt: skip

    def graph(self, *, svg: bool = False) -> str:
        """Return the feature digraph as text or as an SVG drawing."""
        return digraph_svg(self.patterns, self.relations) if svg else digraph_text(self.patterns)


def plan_corpus(
    corpus: Any, sources: Any, *, measure: bool = False, limit: float = 60.0, memory: int | str | None = None,
    disjoint: Any = None, n_threads: int | None = None, **reading: Any,
) -> CorpusPlan:  # fmt: skip
    """Predict what each method needs for one iteration over a corpus; with ``measure``, run those below ``limit`` s."""
    model = LanguageModel(sources=sources, n_threads=n_threads, **reading)
    documents, numbering = read_training(model, corpus)
    parsed = parse_sources(sources)
    features = extract(parsed, documents, numbering, n_threads=n_threads)
    problem = problem_of(features, documents, numbering, training=True)
    names = [one.source.name for one in features]
    bytes_ = None if memory is None else parse_memory(memory)
    apart = parse_disjoint(disjoint, parsed)
    plan = make_plan(problem, partition=partition_of(features), memory=bytes_, names=names, apart=apart)
    if measure:
        plan = measured(problem, plan, limit=limit, n_threads=n_threads)
    patterns = patterns_of(features)
    sizes = {"unigram": problem.n_words}
    for p in patterns[1:]:
        part = features[p.table].table.entries_of_depth(p.depth)
        sizes[p.name] = part.stop - part.start
    return CorpusPlan(
        problem.n_words, documents.n_events, problem.n_histories, sizes, plan, patterns, relations_of(patterns, problem)
    )
