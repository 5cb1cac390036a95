"""Files through a reranker: lists in; the best texts, or the lists in their new order, or error rates out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from loglinear.errors import FormatError
from loglinear.formats.candidate_list import BadList, CandidateList
from loglinear.formats.nbest import json_line, read_nbest
from loglinear.formats.nbest_stream import iterate_nbest
from loglinear.formats.text import Source, decode, name_of, read_bytes, split_lines
from loglinear.models.reranker.inputs import with_language_model
from loglinear.models.reranker.predictor import RerankerPredictor

if TYPE_CHECKING:
    from loglinear.models.language_model.predictor import LanguageModelPredictor
    from loglinear.models.reranker.estimator import Reranker


class ListFiles:
    """How files of lists are read.

    ``format``, ``references`` and ``costs`` are those of ``formats.read_nbest``; ``language_model`` gives the score
    "lm" to candidates that have none.
    """

    def __init__(
        self,
        format: str | None = None,
        references: Source | None = None,
        costs: Mapping[str, Source] | None = None,
        language_model: LanguageModelPredictor | None = None,
        encoding: str = "utf-8",
    ) -> None:
        self.format, self.references, self.costs, self.encoding = format, references, costs, encoding
        self.language_model = language_model
        self._read: list[tuple[Source, list[CandidateList]]] = []

    def read(self, source: Source, references: Source | None = None) -> list[CandidateList]:
        """Return the lists of a file; ``references`` take the place of the usual ones."""
        references = references or self.references
        lists = read_nbest(source, self.format, references=references, costs=self.costs, encoding=self.encoding)
        lists = self._scored(lists)
        self._read.append((source, lists))
        return lists

    def blocks(self, source: Source) -> Iterator[list[CandidateList]]:
        """Yield the lists of a file some at a time; those of a pipe as soon as they are whole."""
        for lists in iterate_nbest(source, self.format, costs=self.costs, encoding=self.encoding):
            lists = self._scored(lists)
            self._read = [(source, lists)]
            yield lists

    def _scored(self, lists: list[CandidateList]) -> list[CandidateList]:
        return lists if self.language_model is None else with_language_model(lists, self.language_model)

    @contextmanager
    def naming(self) -> Iterator[None]:
        """Add the name of the file to errors about a list that was read here."""
        try:
            yield
        except BadList as error:
            for source, lists in self._read:
                if any(one is error.one for one in lists):
                    raise FormatError(str(error), name_of(source)) from None
            raise


def train_reranker(
    model: Reranker, sources: Sequence[Source], validation: Source | None = None, *, files: ListFiles | None = None,
    validation_references: Source | None = None,
) -> Reranker:  # fmt: skip
    """Fit a reranker to the lists of files; the lists of ``validation`` choose the point of its path."""
    files = files or ListFiles()
    model.check_settings()
    lists = [one for source in sources for one in files.read(source)]
    held_out = None if validation is None else files.read(validation, validation_references)
    with files.naming():
        return model.fit(lists, validation=held_out, base_model=files.language_model)


def rerank_file(
    model: RerankerPredictor, source: Source, *, nbest: int | None = None, as_json: bool = False, ids: bool = False,
    files: ListFiles | None = None,
) -> Iterator[bytes]:  # fmt: skip
    """Yield the best text of every list as lines, block by block; ``ids`` puts the id of the list and a tab before it.

    With ``nbest`` every list gives that many lines, text TAB score, and an empty line after them. ``as_json`` gives one
    line per list, as ``formats.read_nbest`` reads them, candidates in their new order with the score "reranker".
    """
    if nbest is not None and nbest < 1:
        raise ValueError(f"the number of candidates must be at least 1, not {nbest}")
    files = files or ListFiles()
    for lists in files.blocks(source):
        with files.naming():
            ranked = model.rerank(lists, with_scores=True)
        yield b"".join(_list_text(one, nbest, as_json, ids) for one in ranked)


def _list_text(one: CandidateList, nbest: int | None, as_json: bool, ids: bool) -> bytes:
    kept = one.candidates[:nbest]
    if as_json:
        return json_line(replace(one, candidates=kept))
    key = f"{_line(one.id)}\t" if ids else ""
    if nbest is None:
        lines = key + (_line(kept[0].text) if kept else "")
    else:
        lines = "".join(f"{key}{_line(c.text)}\t{c.scores['reranker']:.6f}\n" for c in kept)
    return f"{lines}\n".encode("utf-8", "surrogatepass")


def _line(text: str) -> str:
    """Join the words by single blanks: tabs and line ends would break the lines of the output."""
    return " ".join(text.split())


def evaluate_file(
    model: RerankerPredictor, source: Source, *, files: ListFiles | None = None, n_samples: int = 1000
) -> dict[str, Any]:
    """Return the error rates of a file of lists with references."""
    files = files or ListFiles()
    lists = files.read(source)
    with files.naming():
        return model.evaluate(lists, n_samples=n_samples)


def read_function_words(path: Source, encoding: str = "utf-8") -> list[str]:
    """Return the words of a file, separated by blanks or line ends."""
    words = [word for line in split_lines(decode(read_bytes(path), name_of(path), encoding)) for word in line.split()]
    if not words:
        raise FormatError("there are no function words", name_of(path))
    return words


def training_summary(model: Reranker) -> dict[str, Any]:
    """Return what training found, as plain values."""
    path = model.path_
    at = path.index(model.chosen_)
    summary: dict[str, Any] = {
        "method": model.method,
        "lists": model.n_lists_,
        "features": model.n_features_,
        "base_weights": model.base_weights(),
        "points": path.n_points,
        "stopped": path.stopped,
        "chosen": model.chosen_,
        "no_change": model.no_change_,
        "loss": float(path.loss[at]),
        "l1": float(path.l1[at]),
        "nonzero_features": int(path.n_nonzeros[at]),
        "seconds": model.fit_seconds_,
    }
    if path.strength is not None and model.chosen_:
        summary["strength"] = float(path.strength[at])
    if hasattr(model, "gap_"):  # methods that minimise a loss with a penalty
        summary |= {"gap": model.gap_, "gap_is_bound": bool(model.gap_is_bound_), "converged": bool(model.converged_)}
    if hasattr(model, "validation_score_"):
        summary["dev_score"] = model.validation_score_
    if path.validation_errors is not None:
        summary["dev_errors"] = float(path.validation_errors[at])
        summary["dev_errors_no_change"] = float(path.validation_errors[0])
        summary["dev_errors_baseline"] = model.validation_baseline_errors_
    return summary
