"""The candidate lists: conversions by a background model, and lists of speech recognisers.

The background's trigram model (modified Kneser-Ney) is trained on the background alone; the lexicon also has the words
of the domain's whole training text, whatever the training size. The lists of training sentences therefore come from a
model that has not seen them. Lists are kept as JSON lines in a work folder.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from pathlib import Path

import numpy as np

from experiments.record import Json, say
from loglinear.arrays import FloatArray
from loglinear.data.candidates import CandidateLists, encode_lists
from loglinear.data.edit_distance import edit_distances
from loglinear.features.candidate_features import CandidateFeatures
from loglinear.formats.nbest import Candidate, CandidateList, read_nbest, write_nbest
from loglinear.models import InputMethod, LanguageModel
from loglinear.models.language_model.files import Text, mix

DOMAINS = {"science": "Science", "cooking": "Cooking"}
SPEECH = {"atis": ("score",), "chime4": ("rank",), "lrs2": ("rank",)}  # base scores; only ATIS has scores of its own
K = 20
PARTS = ("train", "dev", "test")
FEATURES = {"words": None, "headwords": "cjk"}  # rule of headwords; uni- and bigrams of words are always there


@dataclass(frozen=True, eq=False)
class Problem:
    """Training, dev and test lists, encoded with the same features."""

    name: str
    train: CandidateLists
    dev: CandidateLists
    test: CandidateLists
    seconds: float  # of encoding the training lists

    @cached_property
    def baseline(self) -> FloatArray:
        """Return the errors of the first base score's choices on the test lists: [n_lists]."""
        first = np.zeros(self.test.n_weights)
        first[0] = 1.0
        return self.test.chosen_errors(first)


def encoded(
    name: str, lists: dict[str, list[CandidateList]], features: CandidateFeatures, base: tuple[str, ...], units: str,
    n_threads: int | None,
) -> Problem:  # fmt: skip
    """Encode all lists with the features of the training lists."""
    began = time.perf_counter()
    options: Json = {"base": base, "units": units, "n_threads": n_threads}
    train = encode_lists(lists["train"], features, **options)
    seconds = time.perf_counter() - began
    dev, test = (encode_lists(lists[part], features, fit=False, **options) for part in PARTS[1:])
    return Problem(name, train, dev, test, seconds)


def size_of(sample: str) -> int:
    """Return the number of sentences of a sample, which is called "first-800" or "800"."""
    return int(sample.removeprefix("first-"))


def numbers_of(sample: str, n: int) -> list[int]:
    """Return the numbers of the first sentences of a text of n, or of as many that are evenly spread over it.

    A text is a sequence of documents: its first sentences belong to a few of them, evenly spread ones to all.
    """
    size = min(size_of(sample), n)
    return list(range(size)) if sample.startswith("first-") else [i * n // size for i in range(size)]


class Conversions:
    """A domain: its sentences as candidate lists, and the errors of language models adapted to it."""

    def __init__(
        self, folder: Path, work: Path, domain: str, limit: int | None = None, n_threads: int | None = None
    ) -> None:
        self.folder, self.work, self.domain = folder / "ime", work, domain
        self.limit, self.n_threads = limit, n_threads  # at most this many sentences of a part
        self._lists: dict[str, list[CandidateList]] = {}

    def _file(self, part: str) -> Path:
        return self.folder / f"{self.domain}.{part}.txt.gz"

    @cached_property
    def model(self) -> InputMethod:
        """Return the background's language model with the words of the domain in its lexicon."""
        say(f"{self.domain}: background model")
        return InputMethod(3, n_threads=self.n_threads).fit(
            self.folder / "background.txt.gz", dictionary=self._file("train")
        )

    def sentences(self, part: str) -> tuple[list[str], list[str]]:
        """Return (sentences as written, with blanks between words; sentences as typed)."""
        written, typed = self.model.read(self._file(part)).sentences(self.model.separator)
        return written[: self.limit], typed[: self.limit]

    def lists(self, part: str) -> list[CandidateList]:
        """Return the K best conversions of every sentence."""
        if part not in self._lists:
            path = self.work / f"{self.domain}.{part}.{K}best.{self.limit or 'all'}.jsonl"
            if not path.exists():
                self.work.mkdir(parents=True, exist_ok=True)
                write_nbest(path, self._decoded(part))
            self._lists[part] = read_nbest(path)
        return self._lists[part]

    def _decoded(self, part: str) -> list[CandidateList]:
        written, typed = self.sentences(part)
        began = time.perf_counter()
        found = self.model.decode(typed, K)
        say(f"{self.domain} {part}: {len(typed):,} sentences to {K}-best in {time.perf_counter() - began:.1f} s")
        return found.candidate_lists(written, self.n_threads)

    def problem(self, sample: str, features: str = "words") -> Problem:
        """Return the problem whose training lists are a sample of the training sentences."""
        train = self.lists("train")
        lists = {part: self.lists(part) for part in PARTS[1:]}
        lists["train"] = [train[i] for i in numbers_of(sample, len(train))]
        counted = CandidateFeatures((1, 2), headwords=FEATURES[features])
        return encoded(self.domain, lists, counted, ("score",), "characters", self.n_threads)

    # ---- about the text ---------------------------------------------------------------------------------------------
    def facts(self) -> Json:
        """Return sizes, and the bits per word of the test text under the background model."""
        background = self.model.language_model_
        score = background.evaluate(self.sentences("test")[0])
        known = score["n_words"] - score["n_unknown"]
        return {
            "sentences": {part: len(self.lists(part)) for part in PARTS},
            "bits": -score["log_probability"] / math.log(2) / score["n_tokens"],
            "bits_known": math.log2(score["perplexity_without_unknown"]),
            "n_words": score["n_words"],
            "share_unknown": 1 - known / score["n_words"],
            "background": {"sentences": self.model.n_sentences_, "tokens": self.model.n_tokens_},
            "lexicon": len(self.model.lexicon_.surfaces),
        }

    def overlap(self, sample: str) -> Json:
        """Return how many headword bigrams of the training text are always, never or sometimes word bigrams too.

        An occurrence counts as both if the two headwords are adjacent; otherwise other words stand between them.
        """
        counted = CandidateFeatures((2,), min_count=2, boundaries=False, headwords="cjk")
        train = [self.lists("train")[i] for i in numbers_of(sample, len(self.lists("train")))]
        alone = [CandidateList(one.id, [Candidate(one.reference or ""), Candidate("")]) for one in train]
        _, indices, values = counted.fit_transform(alone, self.n_threads)
        totals = np.bincount(indices, weights=values, minlength=len(counted.vocabulary))
        by_kind: dict[str, dict[str, float]] = {"word": {}, "head": {}}
        for name, total in zip(counted.vocabulary, totals.tolist()):
            kind, pair = name.split(": ", 1)
            by_kind[kind][pair] = total
        kinds = Counter(_overlap(n, by_kind["word"].get(pair, 0.0)) for pair, n in by_kind["head"].items())
        return {"n": kinds.total(), **{kind: kinds[kind] for kind in ("complete", "none", "variable")}}

    def adapted(self, sample: str) -> Json:
        """Mix the background's model with one of the domain (MAP), and return its errors on the test text."""
        began = time.perf_counter()
        background = self.model.language_model_
        written = self.sentences("train")[0]
        written = [written[i] for i in numbers_of(sample, len(written))]
        domain = LanguageModel(
            background.order, "kneser-ney", vocabulary=background.vocabulary_, n_threads=self.n_threads
        ).fit(written)
        mixture = mix([background, domain], validation=Text.read(self.sentences("dev")[0], domain))
        model = self.model.with_language_model(mixture.merged())
        seconds = time.perf_counter() - began
        transcripts, typed = self.sentences("test")
        found = model.decode(typed, 1)
        errors, _ = edit_distances(transcripts, found.texts, units="characters", n_threads=self.n_threads)
        return {"weight": mixture.weights[1], "seconds": seconds, "errors": errors}


def _overlap(n_head: float, n_word: float) -> str:
    return "none" if n_word == 0 else "complete" if n_word == n_head else "variable"


class Speech:
    """Lists of a speech recogniser, split by a hash of their ids."""

    def __init__(self, folder: Path, name: str, limit: int | None = None, n_threads: int | None = None) -> None:
        self.name, self.limit, self.n_threads = name, limit, n_threads
        stem = f"{name}.train" if name == "atis" else name
        self.path = folder / "nbest" / f"{stem}.jsonl.gz"

    def problem(self) -> Problem:
        dealt: dict[str, list[CandidateList]] = {part: [] for part in PARTS}
        for one in read_nbest(self.path)[: self.limit]:
            dealt[part_of(one.id)].append(one)
        return encoded(self.name, dealt, CandidateFeatures((1, 2)), SPEECH[self.name], "words", self.n_threads)


def part_of(identifier: str) -> str:
    """Return the part of a list: 60% go to train, 20% each to dev and test."""
    fifth = blake2b(identifier.encode(), digest_size=4).digest()[0] % 5
    return ("train", "train", "train", "dev", "test")[fifth]
