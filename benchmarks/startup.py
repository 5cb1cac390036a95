"""Time from start to first prediction: each predicting command on one sentence with a small model, and --help.

Times are those of whole processes, the fastest of several runs, and their ratios to ``python -c "import numpy"``.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

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


def main(arguments: list[str]) -> None:
    sections = {"startup": lambda options: measure(options.runs)}
    parser = section_parser("startup", __doc__, sections)
    parser.add_argument("--runs", type=int, default=10, help="runs of which the best counts")
    options = parse(parser, arguments, runs=3)
    write_page(options, "startup", "Start-up", run_sections(sections, options, options))
