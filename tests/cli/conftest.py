"""Small files of docstrings from the standard library."""

from __future__ import annotations

from pathlib import Path

import pytest
from commands import invoke

from loglinear.demo.docstrings import Corpus, stdlib_docstrings


@pytest.fixture(scope="session")
def corpus() -> Corpus:
    return stdlib_docstrings(quick=True)


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory, corpus: Corpus) -> Path:
    """train.tsv and test.tsv, train.svm and test.svm, and models text.ll and numbers.ll trained on them."""
    root = tmp_path_factory.mktemp("cli")
    for name, labels, texts in (("train.tsv", corpus.train_labels, corpus.train_texts),
                                ("test.tsv", corpus.test_labels, corpus.test_texts)):
        (root / name).write_text("".join(f"{label}\t{text}\n" for label, text in zip(labels, texts)), "utf-8")
    (root / "train.svm").write_text("+1 1:1 3:0.5\n-1 2:1\n+1 1:2\n-1 2:1 3:0.5\n")
    (root / "test.svm").write_text("1 1:1 9:4\n-1 2:1\n")
    for data, model in (("train.tsv", "text.ll"), ("train.svm", "numbers.ll")):
        assert invoke("classify", "train", root / data, "-o", root / model).exit_code == 0
    return root
