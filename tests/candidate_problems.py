"""Small n-best lists, made up, and their encoding the slow way."""

import itertools
from collections import Counter
from dataclasses import replace

import numpy as np

from loglinear.data.candidates import encode_lists
from loglinear.features.candidate_features import CandidateFeatures
from loglinear.formats.nbest import Candidate, CandidateList

WORDS = ["the", "cat", "sat", "on", "a", "mat", "dog", "ran"]


def with_score(lists, name, value):
    """The lists with one more score, the same for all candidates."""
    return [replace(one, candidates=[replace(c, scores={**c.scores, name: value}) for c in one.candidates])
            for one in lists]


def random_lists(n_lists=30, seed=0, n_words=8, scores=("score",), most=6):
    """Lists of candidates that differ from a text in a few words; some are empty or hold one candidate."""
    rng = np.random.default_rng(seed)
    lists = []
    for i in range(n_lists):
        right = rng.choice(WORDS[:n_words], size=rng.integers(1, 7)).tolist()
        texts = {}
        for _ in range(rng.integers(0, most)):
            words = [w if rng.random() < 0.7 else str(rng.choice(WORDS[:n_words])) for w in right]
            if rng.random() < 0.3:
                words.insert(int(rng.integers(len(words) + 1)), str(rng.choice(WORDS[:n_words])))
            texts[" ".join(words)] = None
        candidates = [Candidate(t, {name: float(rng.normal()) for name in scores}) for t in texts]
        lists.append(CandidateList(f"list{i}", candidates, " ".join(right)))
    return lists


def random_data(n_lists=30, seed=0, scores=("score",), min_count=1, n_threads=None, **settings):
    """The same, encoded."""
    features = CandidateFeatures(min_count=min_count, **settings)
    return encode_lists(random_lists(n_lists, seed, scores=scores), features, base=scores, n_threads=n_threads)


def grams(text, words=(1, 2), skips=0, heads=None, characters=(), boundaries=True, classes=None):
    """Counts of the features of one text."""
    tokens = text.split()
    padded = ["<s>", *tokens, "</s>"] if boundaries else tokens
    counts = Counter()
    for n in words:
        source = tokens if n == 1 else padded
        counts.update("word: " + " ".join(source[i : i + n]) for i in range(len(source) - n + 1))
    counts.update(
        f"skip: {tokens[i]} {tokens[j]}"
        for i in range(len(tokens))
        for j in range(i + 2, min(len(tokens), i + 2 + skips))
    )
    if heads is not None:
        found = [t for t in tokens if heads(t)]
        counts.update(f"head: {a} {b}" for a, b in itertools.pairwise(found))
    if classes is not None:
        kinds = [classes.get(t, classes.get(t.lower(), "?")) for t in tokens]
        counts.update({name.replace("word: ", "class: "): n
                       for name, n in grams(" ".join(kinds), words, boundaries=boundaries).items()})  # fmt: skip
    letters = "".join(tokens)
    for n in characters:
        counts.update("char: " + letters[i : i + n] for i in range(len(letters) - n + 1))
    return counts


def dense_differences(data):
    """[n_pairs, n_weights] of encoded lists."""
    X = np.zeros((data.n_pairs, data.n_features))
    for p in range(data.n_pairs):
        part = slice(data.rows.indptr[p], data.rows.indptr[p + 1])
        X[p, data.rows.indices[part]] = data.rows.values[part]
    return np.hstack([data.base, X])
