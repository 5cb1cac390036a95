"""Second part: models with several information sources (Wu 2002, sections 3.3 to 3.9; tables 3.5 and 3.9 to 3.13)."""

from __future__ import annotations

import copy
import gzip
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from experiments.record import Json, say
from loglinear.data.corpus import read_corpus
from loglinear.data.documents import Documents, Numbering, iterate_documents, number_documents, plain_documents
from loglinear.data.ngram import build_trie
from loglinear.losses.ngram_maxent import NgramMaxentLoss
from loglinear.models.language_model.composite.queries import partition_of
from loglinear.sources import parse_sources
from loglinear.sources.extraction import extract, problem_of
from loglinear.sources.kinds import InformationSource, Topic, Words
from loglinear.sources.normalisers import make_normaliser
from loglinear.sources.planner import make_plan, measured
from loglinear.sources.topics import cluster_documents

SYNTACTIC = "words:3,heads:3,headtags:3"
LINES_PER_DOCUMENT = 200  # of Gutenberg, whose books are not marked
TREES_PER_DOCUMENT = 40
TURNS = 9  # of timings in turn


# ---- corpora ---------------------------------------------------------------------------------------------------------
def brown_records(folder: Path) -> Iterator[tuple[str, Json]]:
    """Yield (document, sentence) of Brown: lower-case words, tags and the genre."""
    with gzip.open(folder / "brown/brown.tsv.gz", "rt", encoding="utf-8") as file:
        for line in file:
            document, genre, text = line.rstrip("\n").split("\t")
            pairs = [token.rpartition("/") for token in text.split()]
            words, tags = [word.lower() for word, _, _ in pairs], [tag for _, _, tag in pairs]
            yield document, {"words": words, "tags": tags, "topic": genre}


def brown_split(folder: Path, dev: int = 4, test: int = 9) -> list[list[Json]]:
    """Return the documents of Brown in three parts: of every ten of a genre, one to tune on and one to test on."""
    documents: dict[str, Json] = {}
    for name, sentence in brown_records(folder):
        topic = sentence.pop("topic")
        documents.setdefault(name, {"topic": topic, "sentences": []})["sentences"].append(sentence)
    parts: list[list[Json]] = [[], [], []]
    seen: dict[str, int] = {}
    for document in documents.values():
        place = seen[document["topic"]] = seen.get(document["topic"], -1) + 1
        parts[1 if place % 10 == dev else 2 if place % 10 == test else 0].append(document)
    return parts


def numbered(documents: Iterable[Any], **options: Any) -> tuple[Documents, Numbering]:
    return number_documents(iterate_documents(documents), **options)


def treebank(folder: Path) -> list[Json]:
    """Return the trees as sentences with their exposed heads, in documents of neighbours."""
    out: list[Json] = []
    (document,) = iterate_documents(str(folder / "treebank/wsj_sample.mrg.gz"))
    for number, s in enumerate(document.sentences):
        if number % TREES_PER_DOCUMENT == 0:
            out.append({"sentences": []})
        lower = {k: [w.lower() for w in v] if k in ("head1", "head2") else v for k, v in s.before.items()}
        out[-1]["sentences"].append({"words": [w.lower() for w in s.words], "tags": s.layers["tags"], "before": lower})
    return out


def gutenberg(folder: Path, n_topics: int, share: float = 1.0) -> tuple[Documents, Numbering]:
    """Return Gutenberg in blocks of lines, clustered to topics."""
    sentences, words = read_corpus(folder / "gutenberg/gutenberg13m.txt.gz")
    ptr = np.append(np.arange(0, sentences.n_sentences, LINES_PER_DOCUMENT), sentences.n_sentences)
    documents = plain_documents(sentences, ptr)
    if share < 1:
        documents = documents.subset(np.arange(int(documents.n_documents * share)))
    topics, assigner = cluster_documents(documents, n_topics)
    documents = documents.with_labels("topic", topics, assigner.names)
    return documents, Numbering.of(documents, words)


# ---- terms and times -------------------------------------------------------------------------------------------------
def problem_row(
    title: str, documents: Documents, numbering: Numbering, sources: list[InformationSource], *, limit: float
) -> Json:
    """Plan a problem, run the methods that the time allows, and time a plain model of the same n-grams."""
    say(title)
    began = time.perf_counter()
    features = extract(sources, documents, numbering)
    problem = problem_of(features, documents, numbering, training=True)
    built = time.perf_counter() - began
    began = time.perf_counter()
    plan = make_plan(problem, partition=partition_of(features))
    planned = time.perf_counter() - began
    plan = measured(problem, plan, limit=limit)
    alternating = _alternating(problem, plan, documents, sources)
    rows = {
        e.method: {
            "terms": e.terms, "seconds": e.seconds, "bytes": e.nbytes, "measured_terms": e.measured_terms,
            "measured_seconds": e.measured_seconds, "measured_bytes": e.measured_bytes,
        }
        for e in plan.estimates
    }  # fmt: skip
    for name, row in rows.items():
        taken = row["measured_seconds"]
        ran = "not run" if taken is None else f"{taken:.3f} s"
        terms = row["measured_terms"] or row["terms"]
        say(f"  {name}: {terms:.3g} terms, {ran} (predicted {row['seconds']:.3f} s)")
    return {
        "title": title, "sources": [s.spec() for s in sources], "words": problem.n_words,
        "tokens": documents.n_events, "features": [one.table.n_entries for one in features],
        "histories": problem.n_histories, "tuples": _tuples(features, documents, numbering), "methods": rows,
        "chosen": plan.chosen.method, "build_seconds": built, "plan_seconds": planned, **alternating,
    }  # fmt: skip


def _time(call: Any) -> float:
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


def _alternating(problem: Any, plan: Any, documents: Documents, sources: list[InformationSource]) -> Json:
    """Time an iteration of the chosen method, on one thread too, and of plain n-grams, each in turn.

    Whatever else runs on the machine meets all of them: the ratios are medians over the turns.
    """
    chosen = make_normaliser(problem, plan.chosen.method, partition=plan.partition)
    single = copy.copy(chosen)
    single.n_threads = 1  # type: ignore[attr-defined]
    w, g = np.zeros(problem.n_weights), np.empty(problem.n_weights)
    w[problem.n_words :] = 0.1
    calls = {"two": lambda: chosen.value_and_gradient(w, g), "one": lambda: single.value_and_gradient(w, g)}
    order = max((one.order for one in sources if isinstance(one, Words)), default=0)
    if order:
        loss = NgramMaxentLoss(build_trie(documents.sentences, order))
        plain_w, plain_g = np.full(loss.n_weights, 0.1), np.empty(loss.n_weights)
        calls["plain"] = lambda: loss.value_and_gradient(plain_w, plain_g)
    for call in calls.values():
        call()
    taken = {name: np.array([]) for name in calls}
    for _ in range(TURNS):
        for name, call in calls.items():
            taken[name] = np.append(taken[name], _time(call))
    out: Json = {"two_threads": float(np.median(taken["two"])), "one_thread": float(np.median(taken["one"])),
                 "one_over_two": float(np.median(taken["one"] / taken["two"])), "plain": None,
                 "times_plain": None}  # fmt: skip
    if order:
        out["plain"] = float(np.median(taken["plain"]))
        out["times_plain"] = float(np.median(taken["two"] / taken["plain"]))
        say(f"  in turn: {plan.chosen.method} {out['two_threads']:.4f} s, plain {out['plain']:.4f} s, "
            f"ratio {out['times_plain']:.2f}")  # fmt: skip
    say(f"  on one thread {out['one_thread']:.4f} s, ratio to two {out['one_over_two']:.2f}")
    return out


def _tuples(features: Any, documents: Documents, numbering: Numbering) -> int:
    """Count the distinct (history, word) pairs."""
    group = documents.words.astype(np.uint64)
    for one in features:
        leaf = one.leaves(documents, numbering)
        group = np.unique((group << np.uint64(32)) | leaf, return_inverse=True)[1].astype(np.uint64)
    return int(group.max()) + 1


def terms_and_times(folder: Path, limit: float, names: list[str]) -> list[Json]:
    """Measure all problems of the tables."""
    out = []
    if "treebank" in names:
        trees = treebank(folder)
        for share in (0.25, 0.5, 1.0):
            part, numbering = numbered(trees[: int(len(trees) * share)])
            out.append(problem_row(f"Treebank, syntactic, {share:.0%}", part, numbering, parse_sources(SYNTACTIC),
                                   limit=limit))  # fmt: skip
        topics, assigner = cluster_documents(part, 10)
        labelled = part.with_labels("topic", topics, assigner.names)
        both = parse_sources(f"{SYNTACTIC},topic:select=5000")
        out.append(problem_row("Treebank, syntactic and topics", labelled, Numbering.of(labelled, numbering.vocabulary),
                               both, limit=limit))  # fmt: skip
    if "brown" in names:
        documents, numbering = numbered([d for part in brown_split(folder) for d in part], min_count=2)
        for title, spec in (
            ("Brown, 15 genres", "words:3,topic:select=15000"), ("Brown, 15 genres, four-grams",
             "words:4,topic:select=15000"), ("Brown, tag of the last word", "words:3,tags:2"),
        ):  # fmt: skip
            out.append(problem_row(title, documents, numbering, parse_sources(spec), limit=limit))
    if "gutenberg" in names:
        for n_topics, select in ((70, 15_000), (100, 65_000)):
            documents, numbering = gutenberg(folder, n_topics)
            sources = [Words(3), Topic(select=select)]
            out.append(problem_row(f"Gutenberg, {n_topics} topics", documents, numbering, sources, limit=limit))
    return out
