"""Files through an input method: readings in, text out, a line for a line; and the model that a command names."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from loglinear.errors import ModelFileError
from loglinear.formats.running_text import iterate_lines
from loglinear.formats.text import Source, split_lines
from loglinear.metrics.conversion import ConversionScore
from loglinear.models import InputMethod, load
from loglinear.models.conversions import Conversions
from loglinear.models.input_method import Report
from loglinear.progress import Counting

BLOCK = 1 << 18  # bytes of readings converted at a time


def load_input_method(path: Source, n_threads: int | None = None) -> InputMethod:
    """The input method of a model file; other kinds are refused."""
    model = load(path)
    if not isinstance(model, InputMethod):
        raise ModelFileError(f"{path}: a {type(model).__name__}, not an input method; ime build makes one")
    model.n_threads = n_threads
    return model


class ConvertedFile:
    """The conversion of a file, a line of readings at a time; afterwards what was met on the way.

    A reading gives a line of text. With ``nbest`` it gives that many lines, text TAB log-probability, and an empty one
    after them. ``as_json`` gives an object a line instead: {"id", "reading", "hypotheses": [{"text", "score"}]}, words
    separated by blanks, which rerankers read; ids are the numbers of lines.
    """

    def __init__(
        self, model: InputMethod, source: Source, *, nbest: int | None = None, as_json: bool = False, block: int = BLOCK
    ) -> None:
        self.model, self.source, self.nbest, self.as_json, self.block = model, source, nbest, as_json, block
        self.n_lines = 0
        self.n_unknown = 0  # words of the best conversions that stand as they were typed
        self.first_unknown: int | None = None  # the line of the first

    def __iter__(self) -> Iterator[bytes]:
        with Counting("readings converted") as progress:
            for text in iterate_lines(self.source, self.block, self.model.encoding):
                readings = split_lines(text)
                yield self._converted(readings, progress.after(self.n_lines)).encode("utf-8", "surrogatepass")
                self.n_lines += len(readings)

    def _converted(self, readings: list[str], report: Report) -> str:
        distinct = "words" if self.as_json else "text"
        found = self.model.decode(readings, self.nbest or 1, distinct=distinct, report=report)
        for line, n in enumerate(found.n_unknown.tolist(), self.n_lines + 1):
            if n and self.first_unknown is None:
                self.first_unknown = line
            self.n_unknown += n
        if self.as_json:
            return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in self._records(readings, found))
        if self.nbest is None:
            return "".join(f"{self.model.text_of(text)}\n" for text in found.texts)
        lines = [f"{self.model.text_of(t)}\t{s:.6f}\n" for t, s in zip(found.texts, found.log_probability.tolist())]
        ptr = found.reading_ptr.tolist()
        return "".join("".join(lines[a:b]) + "\n" for a, b in pairwise(ptr))

    def _records(self, readings: list[str], found: Conversions) -> Iterator[dict[str, Any]]:
        for number, (reading, candidates) in enumerate(zip(readings, found.lists()), self.n_lines + 1):
            hypotheses = [{"text": " ".join(words), "score": score} for words, score in candidates]
            yield {"id": str(number), "reading": reading, "hypotheses": hypotheses}


def evaluate_text(model: InputMethod, source: Any, k: int = 20) -> ConversionScore:
    """Errors of the conversions of a text, with a bar where it takes long."""
    text = model.read(source)
    with Counting("sentences converted", text.n_sentences) as progress:
        return model.evaluate(text, k, report=progress)
