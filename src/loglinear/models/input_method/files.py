"""Input methods at work on files: one line of text per line of readings; evaluation and adaptation on texts."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from loglinear.errors import IncompatibleError
from loglinear.features.lexicon import ReadText
from loglinear.formats.blocks import iterate_lines
from loglinear.formats.text import Source, split_lines
from loglinear.models import load_predictor
from loglinear.models.input_method.conversions import Conversions, Coverage, check_fits
from loglinear.models.input_method.predictor import InputMethodPredictor, Report
from loglinear.optimise.progress import Counting

if TYPE_CHECKING:
    from loglinear.models.input_method.estimator import InputMethod
    from loglinear.models.reranker.estimator import Reranker
    from loglinear.models.reranker.predictor import RerankerPredictor

MAP = "map"  # the method of adaptation that interpolates language models; the others are methods of Reranker
BLOCK = 1 << 18  # bytes of readings converted at a time


def load_input_method(path: Source, n_threads: int | None = None) -> InputMethodPredictor:
    """Load an input method for use."""
    model: InputMethodPredictor = load_predictor(path, "input-method")
    model.n_threads = n_threads
    return model


def load_reranker(path: Source, n_threads: int | None = None) -> RerankerPredictor:
    """Load a reranker for use, if it was trained on an input method's candidates."""
    reranker: RerankerPredictor = load_predictor(path, "reranker")
    try:
        check_fits(reranker)
    except IncompatibleError as error:
        raise IncompatibleError(f"{path}: {error}") from None
    reranker.n_threads = n_threads
    return reranker


class ConvertedFile:
    """The conversion of a file of readings, block by block; it counts the lines and the unknown words on the way.

    A reading gives one line of text. With ``nbest`` it gives that many lines, text TAB log-probability, and an empty
    line after them. With ``as_json`` it gives an object per line, {"id", "reading", "hypotheses": [{"text", "score"}]},
    with words separated by blanks, which rerankers read; ids are the numbers of lines. A ``reranker`` chooses among
    the ``among`` most probable candidates; its scores replace the log-probabilities, or stand beside them in objects
    ("reranker").
    """

    def __init__(
        self, model: InputMethodPredictor, source: Source, *, nbest: int | None = None, as_json: bool = False,
        reranker: RerankerPredictor | None = None, among: int = 20, block: int = BLOCK,
    ) -> None:  # fmt: skip
        self.model, self.source, self.nbest, self.as_json, self.block = model, source, nbest, as_json, block
        self.reranker, self.among = reranker, among
        self.n_lines = 0
        self.n_unknown = 0  # words of the best conversions that are left as they were typed
        self.first_unknown: int | None = None  # the line of the first of them

    def __iter__(self) -> Iterator[bytes]:
        with Counting("readings converted") as progress:
            for text in iterate_lines(self.source, self.block, self.model.encoding):
                readings = split_lines(text)
                yield self._converted(readings, progress.after(self.n_lines)).encode("utf-8", "surrogatepass")
                self.n_lines += len(readings)

    def _converted(self, readings: list[str], report: Report) -> str:
        distinct = "words" if self.as_json else "text"
        found = self.model.decode(
            readings, self.nbest or 1, distinct=distinct, reranker=self.reranker, among=self.among, report=report
        )
        for line, n in enumerate(found.n_unknown.tolist(), self.n_lines + 1):
            if n and self.first_unknown is None:
                self.first_unknown = line
            self.n_unknown += n
        if self.as_json:
            return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in self._records(readings, found))
        if self.nbest is None:
            return "".join(f"{self.model.text_of(text)}\n" for text in found.texts)
        scores = found.log_probability if found.reranker_score is None else found.reranker_score
        lines = [f"{self.model.text_of(text)}\t{score:.6f}\n" for text, score in zip(found.texts, scores.tolist())]
        ptr = found.reading_ptr.tolist()
        return "".join("".join(lines[a:b]) + "\n" for a, b in pairwise(ptr))

    def _records(self, readings: list[str], found: Conversions) -> Iterator[dict[str, Any]]:
        columns = [found.texts, found.log_probability.tolist()]
        names = ["text", "score"]
        if found.reranker_score is not None:
            columns, names = [*columns, found.reranker_score.tolist()], [*names, "reranker"]
        hypotheses = [dict(zip(names, values)) for values in zip(*columns)]
        bounds = pairwise(found.reading_ptr.tolist())
        for number, (reading, (a, b)) in enumerate(zip(readings, bounds), self.n_lines + 1):
            yield {"id": str(number), "reading": reading, "hypotheses": hypotheses[a:b]}


def evaluate_text(
    model: InputMethodPredictor, source: Any, k: int = 20, *, reranker: RerankerPredictor | None = None
) -> dict[str, Any]:
    """Score the conversions of a text, with a progress bar on a terminal."""
    text = model.read(source)
    with Counting("sentences converted", text.n_sentences) as progress:
        return model.evaluate(text, k, reranker=reranker, report=progress)


# ---- adaptation -----------------------------------------------------------------------------------------------------
@dataclass(frozen=True, eq=False)
class Adaptation:
    """The result of an adaptation to a domain."""

    made: InputMethod | Reranker  # an input method by interpolation, a reranker by the other methods
    method: str
    coverage: Coverage  # of the training text
    k: int  # candidates of each sentence
    validation: ValidationRates | None  # on the held-out text
    seconds: float


class ValidationRates(NamedTuple):
    """Character error rates on held-out text: before, after, and of the best of the candidates before."""

    baseline_cer: float
    cer: float
    oracle_cer: float

    @property
    def reduction(self) -> float:
        """Return the share of the errors that is avoided; NaN if there were none."""
        return (self.baseline_cer - self.cer) / self.baseline_cer if self.baseline_cer else math.nan


def adapt_to_text(
    model: InputMethod, source: Any, validation: Any = None, *, method: str = "blasso", k: int = 20, **settings: Any
) -> Adaptation:
    """Adapt an input method to the domain of a text: by a reranker of k candidates, or by interpolation ("map").

    ``settings`` are those of ``Reranker``, or of ``InputMethod.adapt_language_model``.
    """
    began = time.perf_counter()
    text, held_out = model.read(source), None if validation is None else model.read(validation)
    adapt = _interpolated if method == MAP else _with_reranker
    made, rates = adapt(model, text, held_out, method, k, settings)
    return Adaptation(made, method, model.coverage(text), k, rates, time.perf_counter() - began)


def _interpolated(
    model: InputMethod, text: ReadText, held_out: ReadText | None, method: str, k: int, settings: dict[str, Any]
) -> tuple[InputMethod | Reranker, ValidationRates | None]:
    made = model.adapt_language_model(text, held_out, **settings)
    if held_out is None:
        return made, None
    with Counting("sentences converted", 2 * held_out.n_sentences) as progress:
        before = model.evaluate(held_out, k, report=progress)
        after = made.evaluate(held_out, 1, report=progress.after(held_out.n_sentences))
    return made, ValidationRates(before["cer"], after["cer"], before["oracle_cer"])


def _with_reranker(
    model: InputMethod, text: ReadText, held_out: ReadText | None, method: str, k: int, settings: dict[str, Any]
) -> tuple[InputMethod | Reranker, ValidationRates | None]:
    from loglinear.models.reranker.estimator import Reranker

    Reranker(method, **settings).check_settings()  # before minutes of conversion, not after
    n_sentences = text.n_sentences + (0 if held_out is None else held_out.n_sentences)
    with Counting("sentences converted", n_sentences) as progress:
        lists = model.candidate_lists(text, k, report=progress)
        more = progress.after(len(lists))
        chosen_on = None if held_out is None else model.candidate_lists(held_out, k, report=more)
    made = model.adapt(lists, chosen_on, method, **settings)  # after the bar: training has one of its own
    if chosen_on is None:
        return made, None
    found = made.evaluate(chosen_on)
    return made, ValidationRates(*(found[name]["rate"] for name in ("baseline", "reranked", "oracle")))
