"""Jobs of the benchmark of scale, each a way to train one model. Each runs in a process of its own:

    python -m benchmarks.scale.jobs JOB WAY FOLDER        (prints JSON)

A job makes its data in FOLDER once, and is trained from files to a model: reading, counting and encoding count, and so
do the messages; the start of processes and their imports do not. A new job is a class here and a line in JOBS.
"""

from __future__ import annotations

import gzip
import json
import lzma
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.processes import megabytes

N_PARTS = 2  # files of a job, and parts of the n-grams: one for each of two workers
WAYS = {"one worker": 1, "two workers": 2, "two threads": None}  # single-threaded workers; None: this process


class Classifier:
    """A classifier of made-up texts of twelve words, from a vocabulary with the frequencies of a language."""

    title = "Classifier"
    tolerance = 1e-5

    @staticmethod
    def prepare(folder: Path, size: int, data: Path | None) -> str:
        """Write the files; return what they hold."""
        import numpy as np

        rng, n_words = np.random.default_rng(0), 200_000
        chance = 1.0 / np.arange(1, n_words + 1)
        chance /= chance.sum()
        names = [f"w{i}" for i in range(n_words)]
        weights = rng.normal(size=(n_words, 4)) * (rng.random((n_words, 1)) < 0.3)
        for part in range(N_PARTS):
            with (folder / f"part{part}.tsv").open("w", encoding="utf-8") as file:
                for begin in range(0, size // N_PARTS, 100_000):
                    n = min(100_000, size // N_PARTS - begin)
                    words = rng.choice(n_words, size=(n, 12), p=chance)
                    scores = weights[words].sum(axis=1) + rng.gumbel(size=(n, 4))
                    rows, labels = words.tolist(), scores.argmax(axis=1).tolist()
                    for label, row in zip(labels, rows):
                        file.write(f"c{label}\t" + " ".join([names[i] for i in row]) + "\n")
        return f"{size:,} made-up texts of 12 words, 4 classes"

    @classmethod
    def train(cls, folder: Path, client: Any, n_threads: int) -> Any:
        """Train on a cluster, or in this process where the client is None."""
        from loglinear import MaxentClassifier

        settings = {"tolerance": cls.tolerance, "n_threads": n_threads, "verbose": 0}
        if client is not None:
            from loglinear.dask import DaskMaxentClassifier

            return DaskMaxentClassifier(client=client, **settings).fit(str(folder / "part*.tsv"))
        from loglinear.models.classifier.files import train_on_file

        model = MaxentClassifier(**settings)
        train_on_file(model, folder / "all.tsv")
        return model


class Crf:
    """A CRF of chunks: CoNLL-2000 eight times over, 19 templates, observed features."""

    title = "CRF"
    tolerance = 1e-5

    @staticmethod
    def prepare(folder: Path, size: int, data: Path | None) -> str:
        """Write the files; return what they hold."""
        assert data is not None
        text = gzip.decompress((data / "conll2000" / "train.txt.gz").read_bytes()).strip() + b"\n\n"
        for part in range(N_PARTS):
            (folder / f"part{part}.conll").write_bytes(text * (size // N_PARTS))
        return f"CoNLL-2000, {size} times over"

    @classmethod
    def train(cls, folder: Path, client: Any, n_threads: int) -> Any:
        """Train on a cluster, or in this process where the client is None."""
        settings = {"templates": "chunking", "strength": 2.0, "tolerance": cls.tolerance, "n_threads": n_threads,
                    "verbose": 0}  # fmt: skip
        if client is not None:
            from loglinear.dask import DaskTagger

            return DaskTagger(client=client, **settings).fit(str(folder / "part*.conll"))
        from loglinear.models.tagger.files import train_on_file

        return train_on_file(str(folder / "all.conll"), settings)[0]


class LanguageModel:
    """A maximum-entropy 5-gram model of 50 million words, or of the first so many million."""

    title = "Language model"
    tolerance = 1e-4

    @staticmethod
    def prepare(folder: Path, size: int, data: Path | None) -> str:
        """Write the files; return what they hold."""
        assert data is not None
        text = lzma.decompress((data / "gutenberg" / "gutenberg50m.txt.xz").read_bytes())
        end = text.index(b"\n", min(len(text) * size // 50, len(text)) - 1) + 1
        middle = text.index(b"\n", end // 2) + 1
        (folder / "part0.txt").write_bytes(text[:middle])
        (folder / "part1.txt").write_bytes(text[middle:end])
        return f"maximum-entropy 5-grams of {size} million words"

    @classmethod
    def train(cls, folder: Path, client: Any, n_threads: int) -> Any:
        """Train on a cluster, or in this process where the client is None."""
        settings = {"tolerance": cls.tolerance, "n_threads": n_threads, "verbose": 0}
        if client is not None:
            from loglinear.dask import DaskLanguageModel

            # As many parts however many workers: both then take the same steps.
            return DaskLanguageModel(client=client, n_parts=N_PARTS, **settings).fit(str(folder / "part*.txt"))
        import loglinear

        return loglinear.LanguageModel(**settings).fit(folder / "all.txt")


JOBS = {"classifier": Classifier, "crf": Crf, "lm": LanguageModel}


def join_parts(folder: Path) -> None:
    """Write the parts into one file, for one process."""
    for first in folder.glob("part0.*"):
        with (folder / f"all{first.suffix}").open("wb") as whole:
            for part in range(N_PARTS):
                whole.write((folder / f"part{part}{first.suffix}").read_bytes())


def run(job: Any, way: str, folder: Path) -> dict:
    """Train in one way; return how long it took and what it found."""
    n_workers = WAYS[way]
    if n_workers is None:
        import loglinear.models  # noqa: F401  imported before the clock runs

        return _timed(lambda: job.train(folder, None, 2))
    from loglinear.dask import cluster

    with cluster(n_workers=n_workers, n_threads=1) as client:
        client.run(_import)
        before = client.run(time.process_time)
        found = _timed(lambda: job.train(folder, client, n_workers))
        after = client.run(time.process_time)
    return {**found, "CPU of workers": [after[worker] - before[worker] for worker in sorted(before)]}


def _import() -> None:
    import loglinear.dask
    import loglinear.models  # noqa: F401


def _timed(train: Callable[[], Any]) -> dict:
    start, used = time.perf_counter(), time.process_time()
    model = train()
    return {
        "seconds": time.perf_counter() - start, "CPU": time.process_time() - used, "objective": model.objective_,
        "passes": model.n_iter_, "training": model.history_.time[-1], "peak MB": megabytes(), "solver": model.solver_,
        **_text(model),
    }  # fmt: skip


def _text(model: Any) -> dict:
    """Return what is known of the text of a language model."""
    if not hasattr(model, "counts_"):
        return {}
    return {
        "tokens": model.n_tokens_, "words": model.vocabulary_.n_words, "n-grams": sum(model.counts_),
        "counting": model.stage_seconds_["counting"] + model.stage_seconds_.get("reading", 0.0),
        "largest": getattr(model, "largest_part_", None),
    }  # fmt: skip


if __name__ == "__main__":
    print(json.dumps(run(JOBS[sys.argv[1]], sys.argv[2], Path(sys.argv[3]))))
