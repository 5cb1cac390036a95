"""Files through a reranker: lists in, the best texts or the lists in their new order out; and what training found."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from loglinear.data.candidates import RANK
from loglinear.errors import FormatError
from loglinear.formats.nbest import CandidateList, json_line, read_nbest
from loglinear.formats.text import Source, decode, name_of, read_bytes, split_lines
from loglinear.metrics.error_rate import RerankingScores
from loglinear.models import Reranker, load
from loglinear.models.language_model.predictor import LanguageModelPredictor
from loglinear.models.reranker.inputs import LANGUAGE_MODEL, base_names, with_language_model


class ListFiles:
    """How files of lists are read, and what commands say of lists that they cannot use.

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

    def read(self, source: Source, *, labelled: bool) -> list[CandidateList]:
        """The lists of a file; where they are to be learnt from or scored, each needs a reference or errors."""
        lists = read_nbest(
            source, self.format, references=self.references, costs=self.costs, encoding=self.encoding
        )
        if labelled:
            _check_labelled(lists, source)
        return lists if self.language_model is None else with_language_model(lists, self.language_model)

    def with_references(self, references: Source | None) -> ListFiles:
        """The same with other references, unless None."""
        language_model = self.language_model
        return ListFiles(self.format, references or self.references, self.costs, language_model, self.encoding)


def _check_labelled(lists: Sequence[CandidateList], source: Source) -> None:
    bare = [one.id for one in lists if one.reference is None and any(c.errors is None for c in one.candidates)]
    bare += [one.id for one in lists if one.reference is None and not one.candidates]
    if bare:
        message = (
            f"list {bare[0]!r} and {len(bare) - 1} others of {len(lists)} have neither a reference nor errors of all "
            "their candidates; name a file of right texts with --references, or leave those lists out"
        )
        raise FormatError(message, name_of(source))


def check_scores(lists: Sequence[CandidateList], names: Sequence[str], missing: str, source: Source) -> None:
    """Refuse a file whose candidates lack a base score, with the options that help."""
    for name in names:
        lacking = [
            (one.id, place)
            for one in lists
            for place, candidate in enumerate(one.candidates, start=1)
            if name not in candidate.scores
        ]
        n = sum(len(one.candidates) for one in lists)
        if not lacking or (name == RANK and len(lacking) == n) or (missing == "worst" and len(lacking) < n):
            continue
        known = sorted({key for one in lists for candidate in one.candidates for key in candidate.scores})
        remedy = "name the language model with --lm" if name == LANGUAGE_MODEL else "name other scores with --base"
        message = (
            f"{len(lacking)} of {n} candidates have no score {name!r}, the first in list {lacking[0][0]!r}, candidate "
            f"{lacking[0][1]} (scores there are: {', '.join(known) or 'none'}); {remedy}, or give those the lowest of "
            "their list with --missing worst"
        )
        raise FormatError(message, name_of(source))


def train_reranker(
    model: Reranker, sources: Sequence[Source], dev: Source | None = None, *, files: ListFiles | None = None,
    dev_references: Source | None = None,
) -> Reranker:  # fmt: skip
    """Fit a reranker on the lists of files, its point of the path chosen on those of another."""
    files = files or ListFiles()
    model.check_settings()
    read = [files.read(source, labelled=True) for source in sources]
    lists = [one for part in read for one in part]
    names = base_names(lists, model.base, files.language_model is not None)
    for part, source in zip(read, sources):
        check_scores(part, names, model.missing, source)
    held_out = None
    if dev is not None:
        held_out = files.with_references(dev_references).read(dev, labelled=True)
        check_scores(held_out, names, model.missing, dev)
    return model.fit(lists, dev=held_out, base_model=files.language_model)


def load_reranker(path: Source, n_threads: int | None = None) -> Reranker:
    """The reranker of a model file; other kinds are refused."""
    model = load(path, "reranker")
    model.n_threads = n_threads
    return model


def rerank_file(
    model: Reranker, source: Source, *, nbest: int | None = None, as_json: bool = False, ids: bool = False,
    files: ListFiles | None = None,
) -> Iterator[bytes]:  # fmt: skip
    """The best text of every list, a line each. ``ids``: the id and a tab before it.

    With ``nbest`` every list gives that many lines, text TAB score, and an empty one after them. ``as_json`` gives a
    list a line, as ``formats.read_nbest`` reads them, candidates in their new order with the score "reranker".
    """
    if nbest is not None and nbest < 1:
        raise ValueError(f"the number of candidates must be at least 1, not {nbest}")
    lists = (files or ListFiles()).read(source, labelled=False)
    check_scores(lists, model.base_names_, model.missing, source)
    for one in model.rerank(lists, with_scores=True):
        kept = one.candidates[:nbest]
        if as_json:
            yield json_line(replace(one, candidates=kept))
            continue
        key = f"{_line(one.id)}\t" if ids else ""
        if nbest is None:
            lines = key + (_line(kept[0].text) if kept else "")
        else:
            lines = "".join(f"{key}{_line(c.text)}\t{c.scores['reranker']:.6f}\n" for c in kept)
        yield f"{lines}\n".encode("utf-8", "surrogatepass")


def _line(text: str) -> str:
    """Words between single blanks: neither tabs nor line ends, which separate what is printed."""
    return " ".join(text.split())


def evaluate_file(
    model: Reranker, source: Source, *, files: ListFiles | None = None, n_samples: int = 1000
) -> RerankingScores:
    """Error rates of a file of lists with references."""
    lists = (files or ListFiles()).read(source, labelled=True)
    check_scores(lists, model.base_names_, model.missing, source)
    try:
        return model.evaluate(lists, n_samples=n_samples)
    except ValueError as error:
        raise FormatError(str(error), name_of(source)) from None


def read_function_words(path: Source, encoding: str = "utf-8") -> list[str]:
    """Words of a file, between blanks or line ends."""
    words = [word for line in split_lines(decode(read_bytes(path), name_of(path), encoding)) for word in line.split()]
    if not words:
        raise FormatError("there are no function words", name_of(path))
    return words


def training_summary(model: Reranker) -> dict[str, Any]:
    """What training found, as plain values."""
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
    if path.dev_errors is not None:
        summary["dev_errors"] = float(path.dev_errors[at])
        summary["dev_errors_no_change"] = float(path.dev_errors[0])
        summary["dev_errors_baseline"] = model.dev_baseline_errors_
    return summary
