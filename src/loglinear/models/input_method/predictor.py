"""InputMethodPredictor: a trained input method in use, which converts readings to words by a lexicon and n-grams.

    words = argmax over strings W whose readings join to A  of  log p(W) + sum of log p(reading of w | w)

found exactly, together with the k best strings: GEN(A), the candidates among which a reranker chooses (Gao, Suzuki and
Yu 2006). It needs numpy and the extension only.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from loglinear import _core
from loglinear.features.lexicon import Lexicon, ReadText, read_readings
from loglinear.features.vocabulary import pack_strings
from loglinear.formats.candidate_list import CandidateList
from loglinear.formats.running_text import check_text
from loglinear.metrics.error_rate import compare_errors
from loglinear.metrics.input_method import ConversionScore
from loglinear.models.archive import Archive
from loglinear.models.input_method import file
from loglinear.models.input_method.conversions import Conversion, Conversions, Coverage, check_fits
from loglinear.models.input_method.explain import ConversionExplanation, explain
from loglinear.models.language_model.predictor import LanguageModelPredictor
from loglinear.models.predictor import Predictor
from loglinear.models.validation import old_name
from loglinear.threads import pool

if TYPE_CHECKING:
    from typing_extensions import Self

    from loglinear.models.reranker.predictor import RerankerPredictor

BATCH = 256  # readings between two reports of progress
_NO_WORD = 0xFFFFFFFF  # the number of words that a closed vocabulary lacks
Report = Callable[[int], object]  # is told how many readings are done


class InputMethodPredictor(Predictor):
    """A trained input method, as ``InputMethod`` makes and saves it."""

    kind = file.KIND
    language_model: ClassVar[type[LanguageModelPredictor]] = LanguageModelPredictor  # the class that files are read as
    # Settings that the use of a model depends on; InputMethod documents them.
    readings: Any = "given"
    spaces: bool | None = None
    channel: bool = True
    min_word_count: int = 1
    encoding: str = "utf-8"
    # What training leaves.
    lexicon_: Lexicon
    language_model_: LanguageModelPredictor
    domain_weight_: float  # after adaptation by interpolation
    validation_perplexities_: dict[str, float]
    dev_perplexities_ = old_name("dev_perplexities_", "validation_perplexities_")
    validation_score_: float  # where training had held-out text

    def check_settings(self) -> None:
        """Raise ValueError for settings that cannot be used."""
        if self.readings not in ("given", "keypad"):
            raise ValueError(f"readings must be 'given' or 'keypad', not {self.readings!r}")
        if self.spaces not in (None, True, False) or self.channel not in (True, False):
            raise ValueError(f"spaces and channel are true or false, not {self.spaces!r} and {self.channel!r}")
        if type(self.min_word_count) is not int or self.min_word_count < 1:
            raise ValueError(f"min_word_count must be at least 1, not {self.min_word_count!r}")

    def take(self, lexicon: Lexicon, model: LanguageModelPredictor) -> None:
        """Convert by this lexicon and this language model from now on."""
        numbers = np.empty(len(lexicon.surfaces), dtype=np.int32)
        model.vocabulary_.words.index().find(lexicon.surfaces.blob, lexicon.surfaces.offsets, numbers)
        words = numbers.astype(np.uint32)
        words[numbers < 0] = _NO_WORD if model.vocabulary_.unknown is None else model.vocabulary_.unknown
        channel = lexicon.log_channel() if self.channel else np.zeros(lexicon.n_lexemes, dtype=np.float32)
        self._converter = _core.Converter(
            pool(self.n_threads), model.queries_._native, lexicon.surfaces.blob, lexicon.surfaces.offsets,
            lexicon.readings.blob, lexicon.readings.offsets, lexicon.reading_ptr, lexicon.surface, channel, words,
        )
        self.lexicon_, self.language_model_ = lexicon, model

    def with_language_model(self, model: LanguageModelPredictor) -> Self:
        """Return an input method with the same lexicon and another language model of words."""
        self.check_fitted()
        model.check_fitted()
        made = type(self)(**self.parameters())
        made.take(self.lexicon_, model)
        return made

    # ---- text -------------------------------------------------------------------------------------------------------
    @property
    def words_are_pieces(self) -> bool:
        """Whether words are written and typed with blanks between them; None in ``spaces`` means: with a keypad."""
        return self.readings == "keypad" if self.spaces is None else bool(self.spaces)

    @property
    def separator(self) -> str:
        """What stands between two words, written or typed."""
        return " " if self.words_are_pieces else ""

    def text_of(self, words: str) -> str:
        """Return words that are separated by blanks as they are written."""
        return words if self.words_are_pieces else words.replace(" ", "")

    def read(self, X: Any) -> ReadText:
        """Read a text with readings."""
        check_text(X)
        return read_readings(X, readings=self.readings, encoding=self.encoding, n_threads=self.n_threads)

    def read_once(self, X: Any) -> ReadText:
        """Read a text with readings; what is read already is returned as it is."""
        return X if isinstance(X, ReadText) else self.read(X)

    # ---- conversion -------------------------------------------------------------------------------------------------
    def decode(
        self, readings: Sequence[str], k: int = 1, *, distinct: str = "words",
        reranker: RerankerPredictor | None = None, among: int = 20, report: Report | None = None,
    ) -> Conversions:  # fmt: skip
        """Return the k best candidates of each reading, as arrays.

        ``distinct``: candidates differ in their "words", or in their "text", the words as they are written. A
        ``reranker`` reorders the ``among`` (at least k) most probable candidates. ``report`` is called with the number
        of readings converted so far.
        """
        if reranker is not None:
            check_fits(reranker)
            found = self.decode(readings, max(k, among), report=report).reranked(reranker)
            return found.first(k, self.text_of if distinct == "text" else str)
        self.check_fitted()
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
                pool(self.n_threads), *batch, k, self.words_are_pieces, distinct == "text"
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
        """Return the k best strings of words of each reading (or all there are), best first."""
        return self.decode(readings, k, distinct=distinct).lists()

    def convert(
        self, readings: Sequence[str], nbest: int | None = None, *, reranker: RerankerPredictor | None = None,
        among: int = 20,
    ) -> list[Any]:  # fmt: skip
        """Return the best text for each reading; with ``nbest``, a list of that many different texts for each.

        A ``reranker`` chooses among the ``among`` most probable candidates.
        """
        found = self.decode(readings, nbest or 1, distinct="text", reranker=reranker, among=among)
        texts = [self.text_of(text) for text in found.texts]
        if nbest is None:
            return texts
        ptr = found.reading_ptr.tolist()
        return [texts[a:b] for a, b in pairwise(ptr)]

    predict = convert

    def explain(self, reading: str, words: Sequence[str] | None = None) -> ConversionExplanation:
        """Return which words, readings and n-grams gave a conversion of one reading its score, and by how much.

        ``words`` are those of a candidate; None: of the most probable one.
        """
        self.check_fitted()
        return explain(self, reading, words)

    def candidate_lists(
        self, X: Any, k: int = 20, *, distinct: str = "words", report: Report | None = None
    ) -> list[CandidateList]:
        """Return the k best candidates of every sentence of a text with readings, for a reranker to learn from.

        A list has the right words as its reference. A candidate has its log-probability as the score "score", and as
        its errors the edit distance in characters from the reference. Lists are numbered from 1.
        """
        written, typed = self.read_once(X).sentences(self.separator)
        return self.decode(typed, k, distinct=distinct, report=report).candidate_lists(written, self.n_threads)

    # ---- evaluation -------------------------------------------------------------------------------------------------
    def coverage(self, X: Any) -> Coverage:
        """Count the sentences of a text that have words, or readings of words, which the lexicon lacks."""
        self.check_fitted()
        wrong = ~self.lexicon_.knows(self.read_once(X))
        first = int(wrong.argmax()) + 1 if wrong.any() else None
        return Coverage(wrong.size, int(wrong.sum()), first)

    def evaluate(
        self, X: Any, k: int = 20, *, reranker: RerankerPredictor | None = None, report: Report | None = None
    ) -> dict[str, Any]:
        """Return the figures of ``ime eval``: character errors of the best conversion and of the best of k, speed.

        ``X`` is text with readings. With a ``reranker``, its choice among the k is scored, and compared with the most
        probable candidate.
        """
        self.check_fitted()
        text = self.read_once(X)
        written, typed = text.sentences(self.separator)
        began = time.perf_counter()
        found = self.decode(typed, k, report=report)
        most_probable = found.reading_ptr[:-1]
        chosen = most_probable if reranker is None else found.ranking(reranker)[0][most_probable]
        seconds = time.perf_counter() - began
        errors, lengths = found.errors(written, self.n_threads)
        return ConversionScore(
            n_sentences=len(written), n_characters=int(lengths.sum()), n_errors=int(errors[chosen].sum()),
            n_oracle_errors=int(np.minimum.reduceat(errors, most_probable).sum()),
            n_exact=int((errors[chosen] == 0).sum()), n_unknown=int(found.n_unknown.sum()),
            n_uncovered=int((~self.lexicon_.knows(text)).sum()), k=k, seconds=seconds,
            comparison=None if reranker is None else compare_errors(errors[most_probable], errors[chosen], lengths),
        ).to_dict()

    def score(self, X: Any, y: Any = None) -> float:
        """Return 1 - character error rate on a text with readings (greater is better, as scikit-learn expects)."""
        return float(1.0 - self.evaluate(X, 1)["cer"])

    # ---- files ------------------------------------------------------------------------------------------------------
    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to one file, atomically."""
        self.check_fitted()
        file.save(self, path)

    @classmethod
    def from_archive(cls, archive: Archive, source: Any) -> Self:
        """Make the model of an opened file; ``source`` is the name of the file in messages."""
        return file.load(cls, archive, source)

    def __getstate__(self) -> dict[str, Any]:
        """Return the state without the converter, which is made again."""
        return {name: value for name, value in super().__getstate__().items() if name != "_converter"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        if "lexicon_" in state:
            self.take(self.lexicon_, self.language_model_)
