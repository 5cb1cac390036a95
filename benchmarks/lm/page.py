"""Language models against KenLM and against the limits of the machine, in one run: building, quality, ARPA, queries.

    LOGLINEAR_DATA=... LMPLZ=.../bin/lmplz python -m benchmarks lm [--only build,sweep,quality,arpa,queries]

It needs the corpora ptb/, brown/lm/ and gutenberg/ and the kenlm package. KenLM's programs have no package: LMPLZ names
its builder, QUERY its query program and BUILD_BINARY the maker of its binary files (both are looked for beside the
builder). Sections skip missing programs and say so. Nothing else should run meanwhile.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

from benchmarks.lm.workspace import ORDER, Workspace
from benchmarks.processes import Failed
from benchmarks.report import Report, data_folder, parse, run_sections, section_parser, write_page

NO_BUILDER = "it is not known where it is: LMPLZ is not set"
NO_QUERY = "neither QUERY nor LMPLZ leads to it"
BUILDER, PACKAGE, QUERY = "KenLM's lmplz", "kenlm package", "KenLM's query"
TUNING_SECONDS = 180.0
PERPLEXITY = {  # largest allowed on the test text at order 5, by the classes whose strengths are tuned
    ("ptb", "order"): 138.2,
    ("ptb", "fine"): 137.4,
    ("brown", "order"): 200.0,
}


def build(work: Workspace) -> Report:
    """Time and memory from text to a saved model: Gutenberg, 5-gram."""
    report = Report("Building: Gutenberg, 5-gram, from text to a saved model")
    text = work.text("gutenberg", "train")
    empty = work.ours("baseline").run.megabytes
    plain = work.ours("count", text=text, order=ORDER)
    unit, n_ngrams = plain.found["reading"] + plain.found["sorting"], plain.found["n-grams"]

    peer = None if work.lmplz is None else work.kenlm_build("gutenberg", ORDER)
    limits = {"kneser-ney": 20.0, "maxent": 60.0}
    for estimator, limit in limits.items():
        made = work.train("gutenberg", estimator, fresh=True)
        seconds, peak = made.run.seconds, made.run.megabytes
        limit_is = f"reading and sorting {plain.found['tokens']:,} tokens"
        job = report.job(f"{estimator} 5-grams, text to model", peer=BUILDER, limit=unit, limit_is=limit_is)
        job.took("loglinear", seconds, peak)
        if peer is None:
            job.misses(BUILDER, NO_BUILDER)
        else:
            job.took(BUILDER, peer.seconds, peer.megabytes)
        shown = {key: made.found[key] for key in ("fit", "saving", "kept", "file MB", "steps")}
        per_ngram = peak * 1e6 / n_ngrams
        report.rows.append({"": estimator, "passes": seconds / unit, "bytes per n-gram": per_ngram, **shown})
        report.at_most(f"{estimator}, text to saved model", seconds, limit, "{:.1f} s")
        if estimator == "kneser-ney":
            report.at_most("its peak memory", peak, 1800.0, "{:.0f} MB")
        else:
            above = (peak - empty) * 1e6 / n_ngrams
            report.at_most("its peak above the interpreter's, per distinct n-gram", above, 160.0, "{:.0f} bytes")
    report.remarks.append(
        f"{plain.found['tokens']:,} tokens, {n_ngrams:,} distinct n-grams, {plain.found['contexts']:,} contexts. One "
        f"pass: reading {plain.found['reading']:.2f} s, sorting {plain.found['sorting']:.2f} s. The others are whole "
        f"processes from start to end, fit and saving seconds of them. Python with its imports holds {empty:.0f} MB."
    )
    return report


def sweep(work: Workspace) -> Report:
    """Time one value and gradient: Gutenberg, 5-gram."""
    report = Report("One value and gradient: Gutenberg, 5-gram")
    found = work.ours("sweep", text=work.text("gutenberg", "train"), order=ORDER).found
    job = report.job("value and gradient of 5-gram maximum entropy", limit_is="bytes moved at a copy's rate")
    job.took("loglinear", found["seconds on 2"])
    job.limit = found["seconds on 2"] * found["of bandwidth"]
    report.rows.append({"": "at Kneser-Ney's weights", **found})
    report.at_most("one value and gradient on 2 threads", found["seconds on 2"], 0.5, "{:.2f} s")
    report.remarks.append(
        "Bytes moved: weight 8, parent 4, count 4, gradient 8 and 8 more since a line is read before it is written, 12 "
        "per context. A copy of an array as long as the weights is counted likewise: 24 bytes per number."
    )
    return report


def quality(work: Workspace) -> Report:
    """Compare test perplexities on PTB and Brown."""
    report = Report("Quality: test perplexity")
    for problem in ("ptb", "brown")[: 1 if work.quick else None]:
        job = report.job(f"{problem}: train a model", peer=f"{BUILDER} {ORDER}")
        if work.lmplz is None:
            job.misses(f"{BUILDER} {ORDER}", NO_BUILDER)
        else:
            built = work.kenlm_build(problem, ORDER)
            job.took(f"{BUILDER} {ORDER}", built.seconds, built.megabytes, perplexity=work.kenlm_perplexity(problem))
        for name, settings in contenders(problem)[: 3 if work.quick else None]:
            try:
                found = work.train(problem, name, settings=settings, evaluate=True, fresh=True).found
            except Failed as error:
                job.misses(f"loglinear {name}", error)
                continue
            job.took(f"loglinear {name}", found["fit"], found["peak MB"], perplexity=found["perplexity"])
            more = {"n-grams kept": found["kept"], "rounds": found.get("rounds")}
            report.rows.append({"text": problem, "": name, **more})
            limit = PERPLEXITY.get((problem, settings.get("strength_classes", "order")))
            if settings.get("tune") == "validation" and settings["order"] == ORDER and limit is not None:
                report.at_most(f"{problem}, {name}", found["perplexity"], limit, "{:.2f}")
                if problem == "ptb":
                    report.at_most("its time", found["fit"], TUNING_SECONDS, "{:.0f} s")
    report.remarks.append("Per token, ends of sentences and unknown words included. Seconds of fit, tuning included.")
    return report


def contenders(problem: str) -> list[tuple[str, dict]]:
    """Return the names and settings of our models."""
    auto = {"estimator": "maxent", "order": ORDER, "tune": "validation"}
    found: list[tuple[str, dict]] = [
        (f"kneser-ney {ORDER}", {"estimator": "kneser-ney", "order": ORDER}),
        (f"maxent {ORDER}, default strengths", {"estimator": "maxent", "order": ORDER}),
        (f"maxent {ORDER}, tuned by order", auto),
        (f"maxent {ORDER}, tuned by fine classes", {**auto, "strength_classes": "fine"}),
    ]
    if problem == "ptb":
        found.append(("maxent 7, tuned by fine classes", {**auto, "order": 7, "strength_classes": "fine"}))
    return found


def arpa(work: Workspace) -> Report:
    """Compare our scores with those of the kenlm package on our ARPA files."""
    report = Report("ARPA: log10 of the sentences of the test text, ours against the kenlm package on our ARPA file")
    for problem in ("ptb", "brown"):
        test = work.text(problem, "test")
        for estimator in ("kneser-ney", "maxent"):
            model = work.train(problem, estimator).path
            found = work.ours("arpa", model=model, arpa=model.with_suffix(".arpa"), test=test).found
            report.rows.append({"text": problem, "estimator": estimator, **found})
            report.at_most(f"{problem}, {estimator}", found["largest difference"], 1e-4, "{:.1e}")
    return report


def queries(work: Workspace) -> Report:
    """Time scoring from Python in batch, and from the command line on one thread."""
    report = Report("Queries: Kneser-Ney 5-gram models, tokens per second")
    for problem in ("ptb", "gutenberg"):
        model, peer = work.train(problem, "kneser-ney").path, work.kenlm_model(problem)
        text = work.sample("gutenberg", 10) if problem == "gutenberg" else work.kenlm_text(problem, "test")
        found = work.ours("batch", model=model, peer=peer, text=text).found
        job = report.job(f"{problem}: score sentences from Python", "tokens/s", peer=PACKAGE)
        job.took(PACKAGE, found["kenlm"])
        for n in (1, 2):
            job.took(f"loglinear, {n} thread{'s' * (n > 1)}", found[f"ours on {n}"])
        report.rows.append({"": f"{problem}, from Python", "sentences": found["sentences"], "tokens": found["tokens"]})
        report.at_least(f"{problem}, batch on 2 threads over kenlm's loop", found["ratio"], 3.0, "{:.1f}x")
    model = work.train("ptb", "kneser-ney").path
    found = work.ours("base_score", model=model, text=work.kenlm_text("ptb", "test")).found
    job = report.job("ptb: BaseScore, word by word", "calls/s", peer="kenlm, trie")
    for name in ("kenlm, trie", "loglinear, trie", "loglinear, model file"):
        job.took(name, found[name])
    for name in ("loglinear, trie", "loglinear, model file"):
        report.at_least(f"BaseScore, {name}, over kenlm's", found[name] / found["kenlm, trie"], 1.0, "{:.2f}x")
    lines = work.command_line("gutenberg")
    job = report.job("gutenberg: score a file on the command line, one thread", "tokens/s", peer=QUERY)
    rates = {"loglinear": lines.pop("ours on 1", None), QUERY: lines.pop("kenlm", None)}
    for name, rate in rates.items():
        if rate is None:
            absent = name == QUERY and work.query is None
            job.misses(name, NO_QUERY if absent else "its times cannot be told from loading")
        else:
            job.took(name, rate)
    report.rows.append({"": "gutenberg, command line", **lines})
    if rates["loglinear"]:
        report.at_least("`lm score` on 1 thread", rates["loglinear"] / 1e6, 3.0, "{:.2f}M tokens/s")
    source = "its own builder's ARPA" if work.build_binary else "our ARPA, read by the package"
    report.remarks.append(
        f"Tokens include ends of sentences. KenLM's model: probing, of {source}. From Python: a list of strings, all "
        "in one call of ours, one call of kenlm's each. The command line reads text and writes a line per sentence; "
        "the seconds of loading, measured on a text of one line, are taken off."
    )
    return report


SECTIONS: dict[str, Callable[[Workspace], Report]] = {
    f.__name__: f for f in (build, sweep, quality, arpa, queries)
}  # fmt: skip


def main(arguments: list[str]) -> None:
    parser = section_parser("lm", __doc__, SECTIONS)
    parser.add_argument("--folder", type=Path, help="where texts and models are kept for another run (several GB)")
    parser.set_defaults(words=None)
    options = parse(parser, arguments, only=["build", "sweep", "quality", "queries"], words=1_000_000)
    with tempfile.TemporaryDirectory() as name:
        work = Workspace(data_folder("ptb/, brown/lm/, gutenberg/"), options.folder or Path(name), words=options.words)
        about = f"; KenLM's programs: {work.programs()}"
        reports = run_sections(SECTIONS, options, work, about)
    write_page(options, "lm", "Language models: against KenLM, and against the limits", reports, about)
