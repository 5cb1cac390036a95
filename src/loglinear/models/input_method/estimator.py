"""InputMethod: an input method that learns its lexicon and its language model from text with readings."""

from __future__ import annotations

import os
import time
from typing import Any

import numpy as np

from loglinear.data.corpus import with_symbols
from loglinear.data.sentences import Sentences
from loglinear.features.lexicon import merge
from loglinear.formats.candidate_list import CandidateList
from loglinear.models.estimator import Estimator
from loglinear.models.input_method.adaptation import interpolate, numbered
from loglinear.models.input_method.conversions import SCORE, check_fits
from loglinear.models.input_method.predictor import InputMethodPredictor
from loglinear.models.language_model.estimator import LanguageModel
from loglinear.models.reranker.estimator import Reranker
from loglinear.models.trainer import training_method
from loglinear.models.validation import renamed
from loglinear.optimise.progress import Working


class InputMethod(InputMethodPredictor, Estimator):
    """Converts readings, which are typed, to words.

    Parameters
    ----------
    order, estimator : settings of the language model; see ``LanguageModel``
    readings : "given": text is ``surface|reading``, separated by blanks. "keypad": text is words, whose readings are
        the digits of a telephone's keypad
    spaces : whether words are written, and typed, with blanks between them, so that every piece of a reading is a word;
        if not, a blank in a reading only says that a word ends there. None: true with a keypad
    channel : add log p(reading | word) to the log-probability of the language model
    tune : None, or "validation": the strengths of estimator="maxent" are chosen on the ``validation`` text of ``fit``
    min_word_count : words that occur less often are left out of the lexicon, and are unknown to the language model
    encoding : encoding of text files
    verbose : "auto" (on a terminal, after two seconds, the present stage of training), 0 or 1
    log : path of a file for one JSON object per step of training, or None (default)
    n_threads : native threads; None: all cores

    A character that is no reading by itself (with ``spaces``: a piece that is none) can stand for itself, as an unknown
    word, so that every reading has a conversion.

    Attributes
    ----------
    lexicon_ : ``Lexicon``, words by reading
    language_model_ : ``LanguageModel``
    n_sentences_, n_tokens_ : int, the size of the text
    domain_weight_, validation_perplexities_ : of one made by ``adapt_language_model``
    validation_score_ : float, 1 - character error rate on the held-out text, where there was any
    fit_seconds_ : float
    """

    fitted_attribute = "lexicon_"
    language_model = LanguageModel

    def __init__(
        self,
        order: int = 3,
        estimator: str = "kneser-ney",
        *,
        readings: str = "given",
        spaces: bool | None = None,
        channel: bool = True,
        tune: str | None = None,
        min_word_count: int = 1,
        encoding: str = "utf-8",
        verbose: str | int = "auto",
        log: str | os.PathLike[str] | None = None,
        n_threads: int | None = None,
    ) -> None:
        self.order, self.estimator, self.readings, self.spaces = order, estimator, readings, spaces
        self.channel, self.tune, self.min_word_count, self.encoding = channel, tune, min_word_count, encoding
        self.verbose, self.log, self.n_threads = verbose, log, n_threads

    @training_method
    def fit(self, X: Any, y: Any = None, *, validation: Any = None, dictionary: Any = None) -> InputMethod:
        """Learn the lexicon and the language model of a text: a file, a list of files, or an iterable of sentences.

        ``validation`` is held-out text with readings: ``tune`` chooses on it, and ``validation_score_`` is 1 -
        character error rate on it. ``dictionary`` is more text, from which only the words and their readings are
        taken. A fit that fails leaves the model as it was.
        """
        began = time.perf_counter()
        self.check_settings()
        self.__dict__.pop("validation_score_", None)
        if self.tune is not None and validation is None:
            raise ValueError("tune chooses the strengths on held-out text: give fit(..., validation=text)")
        with Working(self.verbose) as stage:
            stage("reading the text")
            text, held_out = self.read(X), None if validation is None else self.read(validation)
            lexicon, surfaces = text.lexicon(self.min_word_count)
            if dictionary is not None:
                lexicon = merge(lexicon, self.read(dictionary).lexicon()[0])
            vocabulary = with_symbols(lexicon.surfaces, True)
            words = np.where(surfaces < 0, 1, surfaces + 2).astype(np.uint32)
            sentences = Sentences(vocabulary.n_words, words, text.text.sentence_ptr)
            del text, surfaces, words
            stage("estimating the language model")
            if self.estimator == "maxent":
                stage.stop()  # its training has a display of its own
            model = LanguageModel(
                self.order, self.estimator, tune=self.tune, vocabulary=vocabulary, n_threads=self.n_threads,
                verbose=self.verbose,
            )  # fmt: skip
            model.fit(sentences, validation=None if held_out is None else numbered(held_out, vocabulary))
            model.vocabulary = None  # its words are in vocabulary_
            stage("indexing the lexicon")
            self.take(lexicon, model)
            if held_out is not None:
                stage("converting the held-out text")
                self.validation_score_ = self.score(held_out)
        self.n_tokens_, self.n_sentences_ = sentences.n_tokens, sentences.n_sentences
        self.fit_seconds_ = time.perf_counter() - began
        return self

    @renamed("validation", "dev")
    def adapt_language_model(
        self, X: Any, validation: Any = None, *, weight: float | None = None, estimator: str = "kneser-ney"
    ) -> InputMethod:
        """Adapt to a domain by interpolation (MAP): mix the language model with one of the text ``X``.

        Returns a new input method with the same lexicon. The weight of the domain is given, or chosen to maximise the
        probability of ``validation``, held-out text of the domain. The new input method has it as ``domain_weight_``,
        and the ``validation_perplexities_`` of the background, the domain and the mixture. ``estimator`` is that of
        the domain's language model.
        """
        self.check_fitted()
        return interpolate(self, X, validation, weight=weight, estimator=estimator)

    @renamed("validation", "dev")
    def adapt(
        self, X: Any, validation: Any = None, method: str = "blasso", *, k: int = 20, **settings: Any
    ) -> Reranker:
        """Adapt to a domain by a reranker, trained on the k best candidates of a text ``X`` of the domain.

        ``validation`` is held-out text, on which the point of the path is chosen, "no change" being one of them. Both
        may also be candidates, as :meth:`candidate_lists` returns them. ``method`` and ``settings`` are those of
        ``Reranker``.
        The language model stays as it is. It should not have been trained on ``X``, where it would make fewer errors
        than elsewhere. (Gao, Suzuki and Yu 2006)
        """
        self.check_fitted()
        reranker = Reranker(method, **{"units": "characters", "base": SCORE, "n_threads": self.n_threads, **settings})
        reranker.check_settings()
        lists, held_out = (
            text if text is None or _are_lists(text) else self.candidate_lists(text, k) for text in (X, validation)
        )
        reranker.fit(lists, validation=held_out)
        check_fits(reranker)
        return reranker


def _are_lists(X: Any) -> bool:
    return isinstance(X, (list, tuple)) and len(X) > 0 and isinstance(X[0], CandidateList)
