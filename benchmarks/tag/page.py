"""Taggers against CRFsuite on CoNLL-2000 (19 templates, observed features, c2 = 1, that is strength 2), in one run.

    LOGLINEAR_DATA=... python -m benchmarks tag [--only training,text,evaluation,variants,labels] [--output FILE]

In training, both sides have the same attributes, in CRFsuite's own data format, and so the same objective; our time
runs until CRFsuite's last objective is reached. It needs the corpora conll2000/ and imst/ (labels). Nothing else should
run meanwhile.
"""

from __future__ import annotations

import gzip
import json
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from benchmarks.processes import Failed, Run
from benchmarks.processes import run as run_process
from benchmarks.report import Report, data_folder, parse, run_sections, section_parser, write_page

WORDS = ((-2,), (-1,), (0,), (1,), (2,), (-1, 0), (0, 1))
TAGS = (*WORDS[:5], (-2, -1), (-1, 0), (0, 1), (1, 2), (-2, -1, 0), (-1, 0, 1), (0, 1, 2))
LIMIT = 1500.0  # seconds for one contender
CRFSUITE = "CRFsuite"
NEAR = 1e-4  # of the optimum
RAW, DICTS = 3e6, 3e5  # targets: tokens per second of raw text, and of dicts


def attributes(rows: list[list[str]], i: int) -> list[str]:
    """Return the attributes of CRFsuite's example for chunking; positions outside the sentence give none."""
    found = []
    for column, name, windows in ((0, "w", WORDS), (1, "pos", TAGS)):
        for window in windows:
            if all(0 <= i + offset < len(rows) for offset in window):
                where = "|".join(f"{name}[{offset}]" for offset in window)
                found.append(f"{where}=" + "|".join(rows[i + offset][column] for offset in window))
    found += ["__BOS__"] * (i == 0) + ["__EOS__"] * (i == len(rows) - 1)
    return [a.replace("\\", "\\\\").replace(":", "\\:") for a in found]


def prepare(data: Path, folder: Path, every: int) -> None:
    """Write the corpora; of CoNLL-2000, training has every n-th sentence."""
    for name in ("train", "test"):
        text = gzip.decompress((data / "conll2000" / f"{name}.txt.gz").read_bytes()).decode()
        blocks = text.strip().split("\n\n")[:: every if name == "train" else 1]
        (folder / f"{name}.txt").write_text("\n\n".join(blocks) + "\n\n", encoding="utf-8")
        with (folder / f"{name}.crfsuite").open("w", encoding="utf-8") as out:
            for block in blocks:
                rows = [line.split(" ") for line in block.split("\n")]
                for i, row in enumerate(rows):
                    out.write("\t".join([row[2], *attributes(rows, i)]) + "\n")
                out.write("\n")


class Work:
    """The folder of texts and models, and what contenders found; each runs once, in a process of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._found: dict[str, dict] = {}

    def found(self, role: str) -> dict:
        if role not in self._found:
            done = run_process([sys.executable, "-m", "benchmarks.tag.contenders", role, self.folder], LIMIT)
            found = self._found[role] = json.loads(done.output.strip().splitlines()[-1])
            found["CPU seconds"] = done.cpu_seconds
            shown = {k: round(v, 3) if isinstance(v, float) else v for k, v in found.items() if not isinstance(v, list)}
            print(f"{role}: {shown}", file=sys.stderr, flush=True)
        return self._found[role]

    def command(self, *arguments: str | Path) -> Run:
        """Run ``loglinear``, start-up included."""
        return run_process([Path(sys.executable).with_name("loglinear"), *arguments], LIMIT)


def quality(found: dict) -> dict:
    return {name: found[name] for name in ("F1", "NP F1", "accuracy") if found.get(name) is not None}


def seconds_to(result: dict, objective: float) -> tuple[float, int] | None:
    """Return the seconds (preparation included) and evaluations to reach the objective; None if it was not reached."""
    for seconds, value, evaluations in zip(result["times"], result["objectives"], result["evaluations"]):
        if value <= objective:
            return result["preparation"] + seconds, evaluations
    return None


def training(work: Work) -> Report:
    """Train on the same attributes, to CRFsuite's last objective, and from text to a model file."""
    report = Report("Training: CoNLL-2000, 19 templates, observed features")
    to_theirs = report.job("CRF from encoded data to CRFsuite's objective", peer=CRFSUITE)
    near = report.job(f"CRF from encoded data to {NEAR:g} of the optimum", peer=CRFSUITE)
    whole = report.job("CRF from text to a model file, start-up included", peer=CRFSUITE)
    ours = work.found("same_attributes")
    best = min(ours["objectives"])
    hit, close = None, seconds_to(ours, best * (1 + NEAR))
    try:
        peer = work.found("crfsuite")
    except Failed as error:
        for job in report.jobs:
            job.misses(CRFSUITE, error)
    else:
        hit = seconds_to(ours, peer["objective"])
        to_theirs.took(CRFSUITE, peer["seconds"], peer["peak MB"], objective=peer["objective"], **quality(peer))
        near.misses(CRFSUITE, f"it stops at {peer['objective'] / best - 1:.1e} of the optimum, after 100 iterations")
        whole.took(CRFSUITE, peer["loading"] + peer["seconds"], peer["peak MB"], **quality(peer))
    for job, seconds in ((to_theirs, hit), (near, close)):
        if seconds is None:
            job.misses("loglinear", "not reached" if job.figures else "there is no objective to reach")
        else:
            job.took("loglinear", seconds[0], ours["peak MB"], objective=best, **quality(ours))
    arguments = ["--templates", "chunking", "--strength", "2", "--threads", "2"]
    model = work.folder / "command.ll"
    trained = work.command("tag", "train", work.folder / "train.txt", "--output", model, *arguments)
    tested = work.found("of_command")
    whole.took("loglinear", trained.seconds, trained.megabytes, **quality(tested))
    report.rows += [_row(role, found) for role, found in work._found.items() if role != "of_command"]
    report.remarks.append(
        "CRFsuite reads features that were extracted before, which is not counted; ours extracts them in the job from "
        f"text. Reading encoded data is not counted: ours takes {ours['reading']:.2f} s."
    )
    return report


def _row(role: str, found: dict) -> dict:
    facts = {key: value for key, value in found.items() if not isinstance(value, list) and key != "tuning"}
    return {"": role.replace("_", " "), **{k: float(v) if isinstance(v, float) else v for k, v in facts.items()}}


def text(work: Work) -> Report:
    """Tag raw text, encode dicts of attributes, and serve several threads."""
    report = Report("Text in: tokens per second")
    work.found("from_text")
    raw = work.found("text_to_tags")
    job = report.job("raw text to tags, templates included", "tokens/s", peer=f"{CRFSUITE}, features extracted before")
    job.took("loglinear", raw["tokens/s"], raw["peak MB"])
    dicts = report.job("dicts of attributes to rows", "tokens/s", peer=f"{CRFSUITE}'s ItemSequence")
    found = work.found("dicts")
    dicts.took("loglinear", found["tokens/s"])
    try:
        job.took(job.peer or "", work.found("crfsuite")["tokens/s"], work.found("crfsuite")["peak MB"])
        dicts.took(dicts.peer or "", work.found("crfsuite_dicts")["tokens/s"])
    except Failed as error:
        for one in (job, dicts):
            one.misses(one.peer or "", error)
    served = work.found("threads")
    job = report.job("requests of 50 sentences that share a model", "tokens/s", peer="loglinear, 1 Python thread")
    for n in (8, 1):
        job.took(f"loglinear, {n} Python thread{'s' * (n > 1)}", served[f"tokens/s, {n} thread{'s' * (n > 1)}"])
    report.at_least("raw text to tags", raw["tokens/s"] / 1e6, RAW / 1e6, "{:.2f}M tokens/s")
    report.at_least("dicts of attributes", found["tokens/s"] / 1e3, DICTS / 1e3, "{:.0f}k tokens/s")
    return report


def evaluation(work: Work) -> Report:
    """Time one evaluation, of first order against the least that its work takes, and of second order."""
    report, found = Report("One evaluation of a CRF and its gradient"), work.found("evaluation")
    limit_is = (
        f"{found['Mflop']:.0f} Mflop at BLAS's rate, {found['MB']:.0f} MB of weights and sums at a copy's rate within "
        "the cache, and exponentials, one after another"
    )
    job = report.job("one evaluation of the CRF", limit=found["ms at the limit of 2"] / 1e3, limit_is=limit_is)
    job.took("loglinear", found["ms on 2"] / 1e3)
    report.rows.append(_row("evaluation", found))
    second, peer = work.found("second_order_evaluation"), "loglinear, all pairs as states"
    job = report.job("one evaluation of second order, 22 labels, extended features", peer=peer)
    job.took("loglinear", second["pairs with weights: s"])
    job.took(peer, second["all pairs: s"])
    return report


def variants(work: Work) -> Report:
    """Train with other features and of second order."""
    report = Report("Variants")
    for role in ("from_text", "all_transitions", "all_features", "second_order"):
        found = work.found(role)
        job = report.job(f"train {role.replace('_', ' ')}")
        job.took("loglinear", found["seconds"], found["peak MB"], **quality(found))
        report.rows.append(_row(role, found))
    return report


def labels(work: Work) -> Report:
    """Train with 981 labels."""
    report = Report("Many labels: imst")
    for name in ("train", "test"):
        imst = gzip.decompress((data_folder("imst/") / "imst" / f"{name}.tsv.gz").read_bytes())
        (work.folder / f"imst.{name}.tsv").write_bytes(imst)
    for role, transitions in (("many_labels_sparse", "that occur"), ("many_labels_dense", "of all pairs")):
        found = work.found(role)
        job = report.job(f"an evaluation with 981 labels, transitions {transitions}")
        job.took("loglinear", found["s per evaluation"], found["peak MB"], accuracy=found["accuracy"])
        report.rows.append(_row(role, found))
    return report


def search(work: Work) -> Report:
    """Search over c1 and c2 as sklearn-crfsuite's tutorial does, its code with one import line changed."""
    report = Report("A search over c1 and c2, as in sklearn-crfsuite's tutorial: 13 trainings of 100 iterations")
    ours = work.found("search_by_loglinear")
    whole = report.job("search over c1 and c2, 100 iterations each", peer="sklearn-crfsuite")
    one = report.job("CRF with c1 = c2 = 0.1, 100 iterations", peer="sklearn-crfsuite")
    try:
        peer = work.found("search_by_crfsuite")
    except Failed as error:
        for job in report.jobs:
            job.misses("sklearn-crfsuite", error)
    else:
        whole.took("sklearn-crfsuite", peer["seconds"], peer["peak MB"], F1=peer["F1 of the best"])
        one.took("sklearn-crfsuite", peer["seconds at 0.1"], objective=peer["objective at 0.1"])
        ratio = ours["objective at 0.1"] / peer["objective at 0.1"]
        report.at_most("objective after as many iterations", ratio, 1.0, "{:.5f} x sklearn-crfsuite's")
    whole.took("loglinear", ours["seconds"], ours["peak MB"], F1=ours["F1 of the best"])
    one.took("loglinear", ours["seconds at 0.1"], objective=ours["objective at 0.1"])
    report.rows += [_row(role, found) for role, found in work._found.items() if role.startswith("search")]
    return report


SECTIONS: dict[str, Callable[[Work], Report]] = {
    f.__name__: f for f in (training, text, evaluation, variants, labels, search)
}  # fmt: skip


def main(arguments: list[str]) -> None:
    parser = section_parser("tag", __doc__, SECTIONS)
    parser.set_defaults(every=1)
    options = parse(parser, arguments, every=8, only=["training", "text", "evaluation"])
    with tempfile.TemporaryDirectory() as name:
        prepare(data_folder("conll2000/, imst/"), Path(name), options.every)
        reports = run_sections(SECTIONS, options, Work(Path(name)))
    write_page(options, "tag", "Taggers: against CRFsuite, and against the limits", reports)
