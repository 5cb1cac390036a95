"""Small files of docstrings from the standard library."""

from __future__ import annotations

from pathlib import Path

import pytest
from commands import invoke

from loglinear.demo.docstrings import Corpus, stdlib_docstrings
from loglinear.formats.tsv import write_tsv


@pytest.fixture(scope="session")
def corpus() -> Corpus:
    return stdlib_docstrings(quick=True)


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory, corpus: Corpus) -> Path:
    """train.tsv and test.tsv, train.svm and test.svm, and models text.ll and numbers.ll trained on them."""
    root = tmp_path_factory.mktemp("cli")
    write_tsv(root / "train.tsv", corpus.train_labels, corpus.train_texts)
    write_tsv(root / "test.tsv", corpus.test_labels, corpus.test_texts)
    (root / "train.svm").write_text("+1 1:1 3:0.5\n-1 2:1\n+1 1:2\n-1 2:1 3:0.5\n")
    (root / "test.svm").write_text("1 1:1 9:4\n-1 2:1\n")
    for data, model in (("train.tsv", "text.ll"), ("train.svm", "numbers.ll")):
        assert invoke("classify", "train", root / data, "-o", root / model).exit_code == 0
    return root
