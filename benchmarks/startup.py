"""Time from start to first prediction, and time to open models of several sizes.

Start-up: each predicting command on one sentence with a small model, and --help, in whole processes: the fastest of
several runs, and their ratios to ``python -c "import numpy"``. Opening: the time of ``loglinear.load`` or
``kenlm.Model`` alone, in fresh processes that have opened a small model of the kind before, so that modules are not
counted, and that of the first use of the model after it.
"""

from __future__ import annotations

import json
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

from benchmarks.processes import run
from benchmarks.report import Report, parse, run_sections, section_parser, write_page

LIMITS = {"--help": 1.67}  # 0.25 s where numpy takes 0.15
LIMIT = 3.5  # of every other command
COMMAND = [sys.executable, "-c", "from loglinear.cli import main; main()"]


def make_models(folder: Path) -> dict[str, list[str]]:
    """Train one small model per kind; return the arguments of each command, all of which read one sentence."""
    from loglinear import InputMethod, LanguageModel, MaxentClassifier, Reranker, Tagger
    from loglinear.formats import Candidate, CandidateList

    texts = ["the cat sat on the mat", "a dog ran in the park", "the dog sat", "a cat ran"] * 5
    words = [[[word] for word in text.split()] for text in texts]
    labels = [["N" if word in ("cat", "dog", "mat", "park") else "O" for word in text.split()] for text in texts]
    wrong = [Candidate(text.upper(), {"s": -0.1 if i % 4 else 0.1}) for i, text in enumerate(texts)]
    pairs = [[other, Candidate(text, {"s": 0.0})] for other, text in zip(wrong, texts)]
    lists = [CandidateList(str(i), pair, text) for i, (pair, text) in enumerate(zip(pairs, texts))]
    models = {
        "classify": MaxentClassifier(verbose=0).fit(texts, ["cat" if "cat" in text else "dog" for text in texts]),
        "tag": Tagger(templates="U00:%x[0,0]\nU01:%x[-1,0]\nB\n", verbose=0).fit(words, labels),
        "lm": LanguageModel(3, estimator="kneser-ney", verbose=0).fit(texts),
        "rerank": Reranker("boosting", verbose=0).fit(lists),
        "ime": InputMethod(2, readings="keypad", verbose=0).fit(texts),
    }
    candidates = [{"text": t, "scores": {"s": 0.0}} for t in ("The Dog", "the dog")]
    inputs = {
        "classify predict": "the cat ran\n",
        "tag predict": "the\ncat\nran\n",
        "lm score": "the cat ran\n",
        "rerank apply": json.dumps({"hypotheses": candidates}) + "\n",
        "ime convert": "843 228\n",
    }
    commands = {"--help": ["--help"]}
    for name, text in inputs.items():
        kind = name.split()[0]
        model, file = folder / f"{kind}.ll", folder / f"{kind}.txt"
        models[kind].save(model)
        file.write_text(text, encoding="utf-8")
        commands[name] = [*name.split(), str(model), str(file)]
    commands["classify predict"] += ["--format", "tsv"]
    return commands


def measure(n_runs: int) -> Report:
    def best(command: list[str]) -> float:
        return min(run(command, 60).seconds for _ in range(n_runs))

    report = Report("Start-up")
    with tempfile.TemporaryDirectory() as folder:
        commands = make_models(Path(folder))
        numpy = best([sys.executable, "-c", "import numpy"])
        for name, arguments in commands.items():
            seconds = best([*COMMAND, *arguments])
            job = report.job(f"start: loglinear {name}")
            job.took("loglinear", seconds)
            if name == "--help":  # the only one that does without numpy
                job.peer = "import numpy"
                job.took("import numpy", numpy)
            else:
                job.limit, job.limit_is = numpy, "import numpy"
            report.at_most(f"loglinear {name}", seconds / numpy, LIMITS.get(name, LIMIT), "{:.2f} x import numpy")
    return report


LARGE = 0.05  # seconds to open any model
OPENING = """
import sys, time
from loglinear import kenlm, load
small, path, text = sys.argv[1:]
opened = kenlm.Model if path.endswith(".bin") else load
opened(small)
start = time.perf_counter()
model = opened(path)
middle = time.perf_counter()
model.score(text) if path.endswith(".bin") else model.perplexity([text]) if model.kind == "language-model" else (
    model.predict([text] if model.kind == "maxent-classifier" else [[[text]]]))
print(middle - start, time.perf_counter() - middle)
"""


def make_large_models(folder: Path, scale: int) -> dict[str, tuple[Path, Path]]:
    """Write models of random numbers; return (small one of the kind, large one) by what they are."""
    import numpy as np

    from loglinear import LanguageModel, MaxentClassifier, Tagger

    rng, found = np.random.default_rng(0), {}
    texts = [" ".join(f"w{n}" for n in rng.zipf(1.2, 12) % 1000) for _ in range(200)]
    classes = [f"c{i % 20}" for i in range(200)]

    def add(what: str, small: Any, large: Any, suffix: str = "ll") -> None:
        paths = folder / f"small.{len(found)}.{suffix}", folder / f"large.{len(found)}.{suffix}"
        for path, model in zip(paths, (small, large)):
            model.to_binary(path) if suffix == "bin" else model.save(path)
        found[what] = paths

    few = LanguageModel(3, "kneser-ney", verbose=0).fit(texts)
    words = LanguageModel(2, "kneser-ney", verbose=0).fit(
        [" ".join(f"w{n}" for n in range(i, i + 20)) for i in range(0, 1_000_000 // scale, 20)]
    )
    add(f"n-grams, {len(words.vocabulary_):,} words", few, words)
    grams = LanguageModel(4, "kneser-ney", verbose=0).fit(
        " ".join(f"w{n}" for n in row) for row in rng.integers(0, 50_000, (400_000 // scale, 20))
    )
    add(f"n-grams, {sum(grams.n_ngrams_):,} of them", few, grams)
    add(f"binary of KenLM (trie), {sum(grams.n_ngrams_):,} n-grams", few, grams, "bin")
    few_classes = MaxentClassifier(hash_size=1 << 10, max_iterations=2, verbose=0)
    many = MaxentClassifier(hash_size=(1 << 22) // scale, max_iterations=2, verbose=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        few_classes.fit(texts, classes)
        many.fit(texts, classes)
        many.coef_ = rng.standard_normal(many.coef_.shape)
        add(f"classifier, {many.coef_.size:,} weights of hashed n-grams", few_classes, many)
        names = [[[f"a{n}" for n in row]] for row in rng.integers(0, 700_000 // scale, (20_000, 50))]
        tags = [[f"t{i % 10}"] for i in range(20_000)]
        tagger = Tagger(features="all", max_iterations=1, verbose=0)
        small = Tagger(max_iterations=1, verbose=0).fit(names[:20], tags[:20])
        tagger.fit(names, tags)
        tagger.weights_ = rng.standard_normal(tagger.weights_.size)
        add(f"tagger, {tagger.weights_.size:,} weights", small, tagger)
    return found


def opening(n_runs: int, scale: int) -> Report:
    """Open a small and a large model of each kind in fresh processes."""
    report = Report("Opening large models")
    with tempfile.TemporaryDirectory() as folder:
        for what, (small, large) in make_large_models(Path(folder), scale).items():
            command = [sys.executable, "-c", OPENING, small, large, "w1 w2 w3"]
            seconds, use = min(tuple(map(float, run(command, 60).output.split())) for _ in range(n_runs))
            figures = {"MB": large.stat().st_size / 1e6, "opening, ms": 1e3 * seconds, "first use, ms": 1e3 * use}
            report.rows.append({"model": what, **figures})
            report.at_most(f"opening: {what}", 1e3 * seconds, 1e3 * LARGE, "{:.1f} ms")
    return report


def main(arguments: list[str]) -> None:
    sections = {
        "startup": lambda options: measure(options.runs),
        "opening": lambda options: opening(options.runs, options.scale),
    }
    parser = section_parser("startup", __doc__, sections)
    parser.add_argument("--runs", type=int, default=10, help="runs of which the best counts")
    parser.add_argument("--scale", type=int, default=1, help="divides the sizes of the large models")
    options = parse(parser, arguments, runs=3, scale=20)
    write_page(options, "startup", "Start-up", run_sections(sections, options, options))
