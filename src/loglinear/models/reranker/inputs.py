"""The input of a reranker: lists in memory or in files, the names of their base scores, scores of a language model."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from loglinear.data.candidates import LANGUAGE_MODEL, RANK, CandidateLists, check_base_names
from loglinear.errors import IncompatibleError
from loglinear.formats.candidate_list import CandidateList
from loglinear.formats.nbest import list_of_record, merged, read_nbest

if TYPE_CHECKING:
    from loglinear.models.language_model.predictor import LanguageModelPredictor


def read_lists(X: Any, base_model: LanguageModelPredictor | None = None) -> list[CandidateList]:
    """Return lists as given, also as dicts, or those of files, scored by the language model if there is one."""
    if isinstance(X, (str, os.PathLike)):
        lists = read_nbest(X)
    elif isinstance(X, CandidateList):
        raise TypeError("one list was given where a sequence of lists is needed: put it in brackets")
    else:
        lists = []
        for number, item in enumerate(X):
            if isinstance(item, CandidateList):
                lists.append(item)
            elif isinstance(item, Mapping):
                lists += merged([list_of_record(item, number, f"item {number}")], f"item {number}")
            elif isinstance(item, (str, os.PathLike)):
                lists += read_nbest(item)
            else:
                raise TypeError(f"item {number} is {type(item).__name__}, neither a CandidateList, a dict nor a path")
    return lists if base_model is None else with_language_model(lists, base_model)


def with_language_model(lists: list[CandidateList], model: LanguageModelPredictor) -> list[CandidateList]:
    """Give every candidate without a score "lm" its log-probability under the model as that score."""
    from loglinear.models.language_model.predictor import LanguageModelPredictor

    if not isinstance(model, LanguageModelPredictor):
        raise TypeError(f"base_model must be a LanguageModel, not {type(model).__name__}")
    model.check_fitted()
    if model.units != "words":
        raise IncompatibleError(
            f"base_model is a model of {model.units}, but candidates are words; train one with units='words', or put "
            f"its scores into the lists (scores={{{LANGUAGE_MODEL!r}: ...}})"
        )
    texts = [c.text for one in lists for c in one.candidates if LANGUAGE_MODEL not in c.scores]
    scores = iter(model.queries_.score_texts(texts).log_probability.tolist() if texts else [])
    return [
        one if all(LANGUAGE_MODEL in c.scores for c in one.candidates) else replace(one, candidates=[
            c if LANGUAGE_MODEL in c.scores else replace(c, scores={**c.scores, LANGUAGE_MODEL: next(scores)})
            for c in one.candidates
        ])
        for one in lists
    ]  # fmt: skip


def score_names(lists: Sequence[CandidateList]) -> set[str]:
    """Return the names of all scores of the candidates."""
    return {name for one in lists for candidate in one.candidates for name in candidate.scores}


def choose_base(found: set[str], given: Sequence[str] | str | None, language_model: bool) -> tuple[str, ...]:
    """Return the names of the base scores: those given, or "score" if it is found, else all, else "rank"."""
    if given is not None:
        names = check_base_names((given,) if isinstance(given, str) else tuple(given))
    else:
        found = found - {LANGUAGE_MODEL} if language_model else found
        names = ("score",) if "score" in found else tuple(sorted(found)) or (RANK,)
    return (*names, LANGUAGE_MODEL) if language_model and LANGUAGE_MODEL not in names else names


def check_comparable(train: Any, dev: CandidateLists) -> None:
    """Raise IncompatibleError for held-out lists that tell nothing about the features."""
    train.check_same_space(dev, "the validation lists")
    if train.n_features and dev.n_pairs and not dev.rows.indices.size:
        raise IncompatibleError(
            "the validation lists have none of the features of the training lists: their words are others. Give lists "
            "of the same kind, divided into words in the same way"
        )


def ranked_places(scores: np.ndarray, candidate_ptr: np.ndarray) -> list[np.ndarray]:
    """Return the places of the candidates of every list, highest score first; ties stay in the order given."""
    return [np.argsort(-scores[a:b], kind="stable") for a, b in pairwise(candidate_ptr)]
