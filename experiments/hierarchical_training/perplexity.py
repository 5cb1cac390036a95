"""Perplexities of models with several sources: on Brown with documents split, and on the treebank sample.

Of every ten documents of a genre in Brown, one (number ``DEV``) is for choices. Strengths are chosen on it, with models
trained on all others but the first of ``TESTS``; then every model is trained for each number of ``TESTS``, without
those documents and those of ``DEV``, and its perplexity on them is computed once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path

import numpy as np

from experiments.hierarchical_training.composite import SYNTACTIC, brown_split, numbered, treebank
from experiments.record import Json, say
from loglinear.data.documents import Documents, Layer, Numbering, iterate_documents, number_documents
from loglinear.models import LanguageModel, MaxentClassifier
from loglinear.sources import InformationSource, Tags, Topic, parse_sources
from loglinear.sources.topics import TopicAssigner, cluster_documents, naive_bayes_assigner

DEV, TESTS = 1, (6, 7, 8)
N_TOPICS = 30
CHUNK = 100  # words of the examples that a classifier of genres is trained on
GROUPS = {
    "press": ("news", "editorial", "reviews"),
    "prose": ("religion", "hobbies", "lore", "belles_lettres", "government", "learned"),
    "fiction": ("fiction", "mystery", "science_fiction", "adventure", "romance", "humor"),
}  # the headings of the corpus's manual
PLAIN = {
    "modified Kneser-Ney trigram": (3, "kneser-ney"), "modified Kneser-Ney four-gram": (4, "kneser-ney"),
    "trigram": (3, "maxent"), "four-gram": (4, "maxent"),
}  # fmt: skip
OPTIONS: Json = {"min_word_count": 2, "verbose": 0}
ALL = "min_count=0:l1_ratio=0"  # features also of words that a topic lacks, and a ridge
# Sources besides the trigrams, with strengths to choose from on the dev documents.
GENRE = (f"topic:topic:{ALL}:strength=2", f"topic:topic:{ALL}:strength=4")
GROUP = (f"topic:topic:{ALL}:strength=3,topic:group:order=3:l1_ratio=0:strength=3+5",)
CLUSTER = (f"topic:topic:{ALL}:strength=3,topic:cluster:l1_ratio=0:strength=4",)


@dataclass(frozen=True, eq=False)
class Fold:
    """Documents of Brown with the genre, its group, and a topic that is assigned from the history."""

    records: list[list[Json]]
    documents: list[Documents]  # to train on, to choose on, to test on
    numbering: Numbering
    assigner: TopicAssigner  # of genres

    @classmethod
    def make(cls, folder: Path, test: int) -> Fold:
        """Split the documents, number them as those to train on, and assign topics."""
        records = brown_split(folder, DEV, test)
        first, numbering = numbered(records[0], min_count=2)
        parts = [first, *(number_documents(iterate_documents(part), like=numbering)[0] for part in records[1:])]
        genres = numbering.labels["topic"]
        group = np.array([next(k for k, names in enumerate(GROUPS.values()) if g in names) for g in genres], np.int32)
        parts = [part.with_labels("group", group[part.labels["topic"].numbers], tuple(GROUPS)) for part in parts]
        clusters = cluster_documents(parts[0], N_TOPICS)[1]
        parts = [clusters.assign(part, "cluster") for part in parts]
        numbering = Numbering.of(parts[0], numbering.vocabulary)
        return cls(records, parts, numbering, naive_bayes_assigner(parts[0], "topic"))

    def text(self, part: int) -> list[list[str]]:
        """Return the words of a part, sentence by sentence."""
        return [sentence["words"] for document in self.records[part] for sentence in document["sentences"]]

    def inferred(self, part: int) -> Documents:
        """Return a part with genres, and so their groups, assigned from the earlier sentences of each document."""
        given = self.assigner.assign(self.documents[part], "topic")
        names = given.before["topic"].names
        group = np.array([next(k for k, genres in enumerate(GROUPS.values()) if g in genres) for g in names] + [-1])
        before = {**given.before, "group": Layer(group[given.before["topic"].numbers].astype(np.int32), tuple(GROUPS))}
        return Documents(given.sentences, given.document_ptr, given.layers, before, given.labels, given.places)

    def fit(self, sources: list[InformationSource]) -> LanguageModel:
        """Train a model of these sources."""
        words = self.numbering.vocabulary
        model = LanguageModel(sources=sources, vocabulary=words, method="sharing", verbose=0, tolerance=1e-3)
        return model.fit(self.documents[0])


Candidate = Callable[[Fold], list[InformationSource]]
TAGS = "trigram and tag of the last word"
REAL = "trigram and genre, real-valued features"
ONCE = (TAGS, REAL)  # tested on the first fold only


def brown(folder: Path) -> Json:
    """Choose on the dev documents, then test every chosen model on each fold."""
    fold = Fold.make(folder, TESTS[0])
    tuned = LanguageModel(3, tune="validation", **OPTIONS).fit(fold.text(0), validation=fold.text(1))
    words = _words(tuned)
    plain: Json = {name: {"dev": None, "test": []} for name in PLAIN}
    plain["trigram"]["dev"] = tuned.perplexity(fold.text(1))
    say(f"trigram: {plain['trigram']['dev']:.2f} on dev, {words}")
    rows, chosen = {}, {}
    for name, candidates in _models(words).items():
        rows[name], chosen[name], model = _choose(name, candidates, fold)
        _test(rows[name], name, model, fold)
        del model
    for test in TESTS:
        fold = fold if test == TESTS[0] else Fold.make(folder, test)
        _test_plain(fold, plain, words)
        for name, candidate in chosen.items():
            if test != TESTS[0] and name not in ONCE:
                _test(rows[name], name, fold.fit(candidate(fold)), fold)
        say(f"  test {test}: trigram {plain['trigram']['test'][-1]:.2f}")
    return {**plain, **rows}


def _choose(name: str, candidates: list[Candidate], fold: Fold) -> tuple[Json, Candidate, LanguageModel]:
    """Return a row, the candidate with the least perplexity of the dev documents, and its model."""
    best: tuple[float, Candidate, LanguageModel] | None = None
    for candidate in candidates:
        model = fold.fit(candidate(fold))
        found = model.perplexity(fold.documents[1])
        say(f"  {name}: {found:.2f} on dev, {model.fit_seconds_:.0f} s")
        if best is None or found < best[0]:
            best = found, candidate, model
    assert best is not None
    spec = ", ".join(source.spec() for source in best[1](fold))
    row: Json = {"dev": best[0], "sources": spec, "seconds": best[2].fit_seconds_, "test": [], "inferred": []}
    return row, best[1], best[2]


def _test(row: Json, name: str, model: LanguageModel, fold: Fold) -> None:
    """Add the perplexity of the test documents, and that with the genre assigned from the history."""
    row["test"].append(model.perplexity(fold.documents[2]))
    if name != TAGS:
        row["inferred"].append(model.perplexity(fold.inferred(2)))
    say(f"  {name}: {row['test'][-1]:.2f} on test, assigned {(row['inferred'] or [0.0])[-1]:.2f}")


def _words(tuned: LanguageModel) -> str:
    """Return the source of words with the strengths that tuning chose."""
    l1, l2 = (np.array([row[kind] for row in tuned.strengths_[1:]]) for kind in ("l1", "l2"))
    strength, ratio = l1 + l2, l1 / (l1 + l2)
    return f"words:3:strength={'+'.join(f'{s:.4f}' for s in strength)}:l1_ratio={'+'.join(f'{r:.4f}' for r in ratio)}"


def _models(words: str) -> dict[str, list[Candidate]]:
    """Return the candidates of every model."""
    def spec(more: str) -> Candidate:
        return lambda fold: parse_sources(f"{words},{more}")

    return {
        "trigram and genre": [spec(more) for more in GENRE],
        "trigram, genre, and group of genres with the last word": [spec(more) for more in GROUP],
        "trigram, genre, and one of 30 topics assigned from the history": [spec(more) for more in CLUSTER],
        REAL: [partial(_real_valued, words, 3.0)],  # a weaker ridge converges slowly: most values are near zero
        TAGS: [lambda fold: [*parse_sources(words), Tags(2, strength=1.0, l1_ratio=0.1, nonnegative=False)]],
    }


def _real_valued(words: str, strength: float, fold: Fold) -> list[InformationSource]:
    """Return genre features whose values are logarithms of smoothed ratios of frequencies, in the genre and in all."""
    documents, genres = fold.documents[0], fold.numbering.labels["topic"]
    V = fold.numbering.vocabulary.n_words
    genre = documents.labels["topic"].numbers[documents.document_of_events].astype(np.int64)
    counts = np.bincount(genre * V + documents.words, minlength=len(genres) * V).reshape(len(genres), V)
    overall = (counts.sum(axis=0) + 1) / (counts.sum() + V)
    smoothed = (counts + 1000 * overall) / (counts.sum(axis=1, keepdims=True) + 1000)
    ratio = np.log(smoothed / overall)
    number = {fold.numbering.vocabulary.word(w): w for w in range(V)}

    def value(context: tuple[str, ...], word: str) -> float:
        return float(ratio[genres.index(context[0]), number[word]])

    topic = Topic(min_count=0, strength=strength, l1_ratio=0.0, values=value)
    return [*parse_sources(words), topic]


def _test_plain(fold: Fold, plain: Json, words: str) -> None:
    """Test n-gram models, maximum entropy with the strengths that were chosen for trigrams."""
    source = parse_sources(words)[0]
    for name, (order, estimator) in PLAIN.items():
        given: Json = dict(OPTIONS)
        if estimator == "maxent":
            given |= {"strength": source.strength, "l1_ratio": source.l1_ratio, "tolerance": 1e-3}
        model = LanguageModel(order, estimator, **given).fit(fold.text(0))
        plain[name]["test"].append(model.perplexity(fold.text(2)))


# ---- topics of text without labels -----------------------------------------------------------------------------------
def assigners(folder: Path) -> Json:
    """Return the share of dev tokens whose genre is assigned rightly from earlier sentences, by either classifier."""
    fold = Fold.make(folder, TESTS[0])
    out: Json = {}
    for smoothing in (0.03, 0.1, 0.3):
        counted = naive_bayes_assigner(fold.documents[0], "topic", smoothing)
        out[f"naive Bayes, smoothing {smoothing:g}"] = _right(fold, counted)
    for strength in (0.1, 0.3, 1.0, 3.0):
        out[f"maximum entropy, strength {strength:g}"] = _right(fold, _maxent(fold, strength))
    for name, share in out.items():
        say(f"  {name}: {share:.3f}")
    return out


def _right(fold: Fold, assigner: TopicAssigner) -> float:
    dev = fold.documents[1]
    given = dev.labels["topic"].numbers[dev.document_of_events]
    return float(np.mean(assigner.assign(dev, "topic").before["topic"].numbers == given))


def _maxent(fold: Fold, strength: float) -> TopicAssigner:
    """Train a classifier of the genre on the word counts of chunks; it is linear in the counts, as assigners are."""
    from scipy.sparse import csr_matrix

    documents = fold.documents[0]
    words = documents.sentences.words
    ends = documents.sentences.sentence_ptr[documents.document_ptr]
    starts = np.concatenate([np.arange(a, b, CHUNK) for a, b in pairwise(ends)])
    ptr = np.append(starts, words.size)
    rows = csr_matrix((np.ones(words.size), words.astype(np.int64), ptr), (starts.size, documents.sentences.n_words))
    genre = documents.labels["topic"].numbers[np.searchsorted(ends, starts, side="right") - 1]
    model = MaxentClassifier(penalty="l2", strength=strength, tolerance=1e-3, verbose=0).fit(rows, genre)
    weights, bias = model.coef_.T.astype(np.float32), (model.intercept_ / CHUNK).astype(np.float32)
    return TopicAssigner(weights, bias, documents.labels["topic"].names)


# ---- treebank --------------------------------------------------------------------------------------------------------
def syntactic(folder: Path) -> Json:
    """Return perplexities on the treebank sample, strengths tuned on dev trees."""
    trees = treebank(folder)
    train, dev, test = [d for k, d in enumerate(trees) if k % 10 not in (4, 9)], trees[4::10], trees[9::10]
    text = [[s["words"] for d in part for s in d["sentences"]] for part in (train, dev, test)]
    rows: Json = {}
    counted = LanguageModel(3, "kneser-ney", **OPTIONS).fit(text[0])
    rows["modified Kneser-Ney trigram"] = {"perplexity": counted.perplexity(text[2])}
    plain = LanguageModel(3, tune="validation", **OPTIONS).fit(text[0], validation=text[1])
    rows["trigram"] = {"perplexity": plain.perplexity(text[2]), "seconds": plain.fit_seconds_}
    model = LanguageModel(sources=SYNTACTIC, tune="validation", **OPTIONS).fit(train, validation=dev)
    rows["trigram, heads and their labels (oracle)"] = {
        "perplexity": model.perplexity(test), "seconds": model.fit_seconds_, "method": model.plan_["method"],
    }  # fmt: skip
    say(f"  treebank: {rows}")
    return rows
