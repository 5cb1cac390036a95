"""InputMethod: from what is typed to what is meant, by a lexicon and an n-gram language model.

    words = argmax over strings W whose readings join to A  of  log p(W) + sum of log p(reading of w | w)

found exactly, with the k best beside it: GEN(A), the candidates that a reranker chooses from (Gao, Suzuki and Yu 2006).
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from loglinear import _core
from loglinear.data.corpus import with_symbols
from loglinear.data.sentences import Sentences
from loglinear.features.lexicon import Lexicon, ReadText, merge, read_readings
from loglinear.features.vocabulary import pack_strings
from loglinear.formats.candidate_list import CandidateList
from loglinear.metrics.error_rate import compare_errors
from loglinear.metrics.input_method import ConversionScore
from loglinear.models.estimator import restore_on_failure
from loglinear.models.input_method import file as input_method_file
from loglinear.models.input_method.adaptation import interpolate
from loglinear.models.input_method.conversions import SCORE, Conversion, Conversions, Coverage, check_fits
from loglinear.models.language_model.estimator import LanguageModel
from loglinear.models.reranker.estimator import Reranker
from loglinear.optimise.progress import Working
from loglinear.threads import pool

BATCH = 256  # readings between two reports of progress
_NO_WORD = 0xFFFFFFFF
Report = Callable[[int], object]


class InputMethod(BaseEstimator):
    """Converts readings to words.

    Parameters
    ----------
    order, estimator : of the language model; see ``LanguageModel``
    readings : "given": text is ``surface|reading`` between blanks. "keypad": text is words, typed on the keys of a
        telephone, as digits
    spaces : whether words are written, and typed, with blanks between them, so that every piece of a reading is a word;
        otherwise a blank in a reading only says that a word ends there. None: with a keypad
    channel : count log p(reading | word) beside the language model
    min_word_count : words that occur less often are left out of the lexicon, and are unknown to the language model
    encoding : of text files
    verbose : "auto" (on a terminal, after two seconds, what training is at), 0, or 1
    n_threads : native threads; None means all cores

    A character that is no reading by itself (with ``spaces``: a piece that is none) can stand for itself, as an unknown
    word, so that every reading has a conversion.
    """

    def __init__(
        self,
        order: int = 3,
        estimator: str = "kneser-ney",
        *,
        readings: str = "given",
        spaces: bool | None = None,
        channel: bool = True,
        min_word_count: int = 1,
        encoding: str = "utf-8",
        verbose: str | int = "auto",
        n_threads: int | None = None,
    ) -> None:
        self.order = order
        self.estimator = estimator
        self.readings = readings
        self.spaces = spaces
        self.channel = channel
        self.min_word_count = min_word_count
        self.encoding = encoding
        self.verbose = verbose
        self.n_threads = n_threads

    # ---- training ---------------------------------------------------------------------------------------------------
    def check_settings(self) -> None:
        """Refuse settings that make no sense, before anything is read."""
        if self.readings not in ("given", "keypad"):
            raise ValueError(f"readings must be 'given' or 'keypad', not {self.readings!r}")
        if self.spaces not in (None, True, False) or self.channel not in (True, False):
            raise ValueError(f"spaces and channel are true or false, not {self.spaces!r} and {self.channel!r}")
        if type(self.min_word_count) is not int or self.min_word_count < 1:
            raise ValueError(f"min_word_count must be at least 1, not {self.min_word_count!r}")

    @restore_on_failure
    def fit(self, X: Any, y: Any = None, *, dictionary: Any = None) -> InputMethod:
        """Learn the lexicon and the language model of a text: a file, a list of files, or an iterable of sentences.

        ``dictionary`` is more of the kind, of which only the words and their readings are taken. A fit that fails
        leaves the model as it was.
        """
        began = time.perf_counter()
        self.check_settings()
        with Working(self.verbose) as stage:
            stage("reading the text")
            text = self.read(X)
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
                self.order, self.estimator, vocabulary=vocabulary, n_threads=self.n_threads, verbose=self.verbose
            )
            model.fit(sentences)
            model.vocabulary = None  # its words are in vocabulary_
            stage("indexing the lexicon")
            self._take(lexicon, model)
        self.n_tokens_, self.n_sentences_ = sentences.n_tokens, sentences.n_sentences
        self.fit_seconds_ = time.perf_counter() - began
        return self

    def _take(self, lexicon: Lexicon, model: LanguageModel) -> None:
        numbers = np.empty(len(lexicon.surfaces), dtype=np.int32)
        model.vocabulary_.words.index().find(lexicon.surfaces.blob, lexicon.surfaces.offsets, numbers)
        unknown = model.vocabulary_.unknown
        channel = lexicon.log_channel() if self.channel else np.zeros(lexicon.n_lexemes, dtype=np.float32)
        self._converter = _core.Converter(
            pool(self.n_threads),
            model.queries_._native,
            lexicon.surfaces.blob,
            lexicon.surfaces.offsets,
            lexicon.readings.blob,
            lexicon.readings.offsets,
            lexicon.reading_ptr,
            lexicon.surface,
            channel,
            np.where(numbers < 0, _NO_WORD if unknown is None else unknown, numbers).astype(np.uint32),
        )
        self.lexicon_, self.language_model_ = lexicon, model

    def with_language_model(self, model: LanguageModel) -> InputMethod:
        """The same lexicon with another language model of words."""
        check_is_fitted(self, "lexicon_")
        check_is_fitted(model, "queries_")
        made = InputMethod(**self.get_params(deep=False))
        made._take(self.lexicon_, model)
        return made

    def adapt_language_model(
        self, X: Any, dev: Any = None, *, weight: float | None = None, estimator: str = "kneser-ney"
    ) -> InputMethod:
        """Adapt to a domain by interpolation (MAP): its language model is mixed with one of the text ``X``.

        Gives a new input method with the same lexicon. The weight of the domain is given, or chosen where ``dev``,
        held-out text of the domain, is likeliest; it is ``domain_weight_`` of what is made, beside
        ``dev_perplexities_`` of the background, the domain and the mixture. ``estimator`` is of the domain's model.
        """
        check_is_fitted(self, "lexicon_")
        return interpolate(self, X, dev, weight=weight, estimator=estimator)

    def adapt(
        self, X: Any, dev: Any = None, method: str = "blasso", *, k: int = 20, **settings: Any
    ) -> Reranker:
        """Adapt to a domain by a reranker, learnt from the k best candidates of a text of it (Gao, Suzuki and Yu 2006).

        ``dev`` is held-out text, on which the point of the path is chosen, "no change" being one. Either may be
        candidates already, as :meth:`candidate_lists` gives them. ``method`` and ``settings`` are of ``Reranker``. The
        language model stays as it is, and should not have been learnt from ``X``: it would make fewer errors there than
        elsewhere.
        """
        check_is_fitted(self, "lexicon_")
        reranker = Reranker(method, **{"units": "characters", "base": SCORE, "n_threads": self.n_threads, **settings})
        reranker.check_settings()
        lists, held_out = (
            text if text is None or _are_lists(text) else self.candidate_lists(text, k) for text in (X, dev)
        )
        reranker.fit(lists, dev=held_out)
        check_fits(reranker)
        return reranker

    @property
    def _words_are_pieces(self) -> bool:
        return self.readings == "keypad" if self.spaces is None else bool(self.spaces)

    @property
    def separator(self) -> str:
        """What stands between words, in what is written and in what is typed."""
        return " " if self._words_are_pieces else ""

    def read(self, X: Any) -> ReadText:
        """A text with readings, as this input method reads it."""
        readings: Any = self.readings
        return read_readings(X, readings=readings, encoding=self.encoding, n_threads=self.n_threads)

    def read_once(self, X: Any) -> ReadText:
        """As :meth:`read`; what is read already is taken as it is."""
        return X if isinstance(X, ReadText) else self.read(X)

    # ---- use --------------------------------------------------------------------------------------------------------
    def decode(
        self, readings: Sequence[str], k: int = 1, *, distinct: str = "words", reranker: Reranker | None = None,
        among: int = 20, report: Report | None = None,
    ) -> Conversions:  # fmt: skip
        """The k best candidates of each reading, as arrays.

        ``distinct``: "words": candidates differ in their words; "text": in what is written, words joined. A
        ``reranker`` puts the ``among`` most probable candidates (k, if that is more) in its own order. ``report`` is
        told how many readings are done.
        """
        if reranker is not None:
            check_fits(reranker)
            found = self.decode(readings, max(k, among), report=report).reranked(reranker)
            return found.first(k, self.text_of if distinct == "text" else str)
        check_is_fitted(self, "lexicon_")
        if isinstance(readings, str):
            raise TypeError("readings must be a list of strings, not one string")
        if distinct not in ("words", "text"):
            raise ValueError(f"distinct must be 'words' or 'text', not {distinct!r}")
        if not 1 <= k < 2**31:
            raise ValueError(f"the number of candidates must be at least 1, not {k!r}")
        texts: list[str] = []
        scores, sizes, unknown = [np.empty(0)], [np.empty(0, dtype=np.int64)], [np.empty(0, dtype=np.int64)]
        step = BATCH if report else max(len(readings), 1)
        for begin in range(0, len(readings), step):
            batch = pack_strings(readings[begin : begin + step])
            blob, offsets, score, ptr, n_unknown = self._converter.convert(
                pool(self.n_threads), *batch, k, self._words_are_pieces, distinct == "text"
            )
            spelt, ends = blob.tobytes(), offsets.tolist()
            texts += [spelt[a:b].decode("utf-8", "surrogatepass") for a, b in pairwise(ends)]
            scores.append(score)
            sizes.append(np.diff(ptr))
            unknown.append(n_unknown)
            if report:
                report(min(begin + step, len(readings)))
        reading_ptr = np.concatenate([[0], np.cumsum(np.concatenate(sizes))]).astype(np.int64)
        return Conversions(texts, np.concatenate(scores), reading_ptr, np.concatenate(unknown))

    def candidates(self, readings: Sequence[str], k: int = 20, *, distinct: str = "words") -> list[list[Conversion]]:
        """For every reading its k best strings of words with their log-probabilities, best first, or all there are."""
        return self.decode(readings, k, distinct=distinct).lists()

    def convert(
        self, readings: Sequence[str], nbest: int | None = None, *, reranker: Reranker | None = None, among: int = 20
    ) -> list[Any]:
        """What is meant by each reading, as text; with ``nbest``, that many different texts for each.

        A ``reranker`` chooses among so many candidates.
        """
        found = self.decode(readings, nbest or 1, distinct="text", reranker=reranker, among=among)
        texts = [self.text_of(text) for text in found.texts]
        if nbest is None:
            return texts
        ptr = found.reading_ptr.tolist()
        return [texts[a:b] for a, b in pairwise(ptr)]

    predict = convert

    def text_of(self, words: str) -> str:
        """Words between blanks as they are written."""
        return words if self._words_are_pieces else words.replace(" ", "")

    def candidate_lists(
        self, X: Any, k: int = 20, *, distinct: str = "words", report: Report | None = None
    ) -> list[CandidateList]:
        """The k best candidates of every sentence of a text with readings, for a reranker to learn from.

        A list has the right words as its reference; a candidate has its log-probability as the score "score", and as
        errors the edit distance in characters between what it writes and what is right. Ids are numbers of sentences.
        """
        written, typed = self.read_once(X).sentences(self.separator)
        return self.decode(typed, k, distinct=distinct, report=report).candidate_lists(written, self.n_threads)

    def coverage(self, X: Any) -> Coverage:
        """How many sentences of a text have words that the lexicon lacks, which no candidate can have right."""
        check_is_fitted(self, "lexicon_")
        wrong = ~self.lexicon_.knows(self.read_once(X))
        first = int(wrong.argmax()) + 1 if wrong.any() else None
        return Coverage(wrong.size, int(wrong.sum()), first)

    def evaluate(
        self, X: Any, k: int = 20, *, reranker: Reranker | None = None, report: Report | None = None
    ) -> ConversionScore:
        """Character errors of the best conversion, and of the best of k, over a text with readings.

        With a ``reranker``, of its choice among the k, compared with the most probable one.
        """
        text = self.read_once(X)
        written, typed = text.sentences(self.separator)
        began = time.perf_counter()
        found = self.decode(typed, k, report=report)
        most_probable = found.reading_ptr[:-1]
        chosen = most_probable if reranker is None else found.ranking(reranker)[0][most_probable]
        seconds = time.perf_counter() - began
        errors, lengths = found.errors(written, self.n_threads)
        return ConversionScore(
            n_sentences=len(written),
            n_characters=int(lengths.sum()),
            n_errors=int(errors[chosen].sum()),
            n_oracle_errors=int(np.minimum.reduceat(errors, most_probable).sum()),
            n_exact=int((errors[chosen] == 0).sum()),
            n_unknown=int(found.n_unknown.sum()),
            n_uncovered=int((~self.lexicon_.knows(text)).sum()),
            k=k,
            seconds=seconds,
            comparison=None if reranker is None else compare_errors(errors[most_probable], errors[chosen], lengths),
        )

    def score(self, X: Any, y: Any = None) -> float:
        """1 - character error rate of a text with readings (the greater the better, as scikit-learn wants)."""
        return 1.0 - self.evaluate(X, 1).cer

    # ---- files ------------------------------------------------------------------------------------------------------
    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to one file, atomically."""
        check_is_fitted(self, "lexicon_")
        input_method_file.save(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> InputMethod:
        """Read a model file; its arrays are memory-mapped."""
        from loglinear.models import open_archive

        return cls.from_archive(open_archive(path, input_method_file.KIND), path)

    @classmethod
    def from_archive(cls, archive: Any, source: Any) -> InputMethod:
        """The model of a file that is already open."""
        return input_method_file.load(cls, archive, source)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in super().__getstate__().items() if name != "_converter"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if "lexicon_" in state:
            self._take(self.lexicon_, self.language_model_)


def _are_lists(X: Any) -> bool:
    return isinstance(X, (list, tuple)) and len(X) > 0 and isinstance(X[0], CandidateList)
