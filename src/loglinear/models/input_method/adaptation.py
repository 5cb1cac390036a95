"""Adaptation of an input method to a domain by linear interpolation of language models (MAP):

    p(w | h) = (1 - lambda) p_background(w | h) + lambda p_domain(w | h)

The lexicon stays; words of the domain that it lacks are unknown to both models. lambda maximises the probability of
held-out text of the domain. The discriminative alternative is ``InputMethod.adapt``: it leaves the language model as it
is and trains a reranker of its candidates.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from loglinear.backoff.interpolation import interpolation_weights, merge
from loglinear.data.sentences import Sentences
from loglinear.errors import IncompatibleError
from loglinear.features.lexicon import ReadText
from loglinear.features.word_vocabulary import WordVocabulary
from loglinear.metrics.perplexity import perplexity
from loglinear.models.language_model.estimator import LanguageModel

if TYPE_CHECKING:
    from loglinear.models.input_method.estimator import InputMethod


def interpolate(
    model: InputMethod, text: Any, validation: Any = None, *, weight: float | None = None, estimator: str = "kneser-ney"
) -> InputMethod:
    """Return the input method with its language model mixed with one of ``text``; see adapt_language_model."""
    if (weight is None) == (validation is None):
        raise ValueError(
            "the weight of the domain is either given or chosen on held-out text: give weight, or validation (--dev)"
        )
    if weight is not None and not 0 <= weight <= 1:
        raise ValueError(f"the weight of the domain must be between 0 and 1, not {weight!r}")
    background = model.language_model_
    order, words = background.order_, background.vocabulary_
    domain = LanguageModel(order, estimator, vocabulary=words, n_threads=model.n_threads)
    domain.fit(numbered(model.read_once(text), words))
    perplexities: dict[str, float] = {}
    if weight is None:
        held_out = numbered(model.read_once(validation), words)
        each = [m.queries_.token_log_probabilities(held_out) for m in (background, domain)]
        weight = float(interpolation_weights(each)[1])
        with np.errstate(divide="ignore"):
            mixed = np.logaddexp(each[0] + np.log1p(-weight), each[1] + np.log(weight))
        named = zip(("background", "domain", "mixture"), (*each, mixed))
        perplexities = {name: perplexity(float(found.sum()), found.size) for name, found in named}
    parts = [m.queries_.to_backoff() for m in (background, domain)]
    mixture = LanguageModel.from_backoff(
        merge(parts, (1 - weight, weight), n_threads=model.n_threads), n_threads=model.n_threads
    )
    made = model.with_language_model(mixture)
    made.domain_weight_, made.validation_perplexities_ = weight, perplexities
    return made


def numbered(text: ReadText, vocabulary: WordVocabulary) -> Sentences:
    """Return the words of a text in the numbers of a vocabulary."""
    numbers = np.empty(len(text.surfaces), dtype=np.int32)
    vocabulary.words.index().find(text.surfaces.blob, text.surfaces.offsets, numbers)
    words = numbers[text.unit_surface[text.text.tokens]]
    if np.any(words < 0):
        if vocabulary.unknown is None:
            first = text.surfaces[int(np.flatnonzero(numbers < 0)[0])]
            raise IncompatibleError(
                f"the language model has a closed vocabulary, which lacks {first!r}; adapt an input method whose "
                "language model knows <unk>"
            )
        words = np.where(words < 0, vocabulary.unknown, words)
    return Sentences(vocabulary.n_words, words.astype(np.uint32), text.text.sentence_ptr)
