"""Files to examples."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from loglinear import MaxentClassifier
from loglinear.data.matrix import SparseRows
from loglinear.errors import IncompatibleError
from loglinear.formats.text import plain_label
from loglinear.models.classifier.files import match, read_examples, read_for


def test_labels_of_numbers_have_one_spelling() -> None:
    labels = ("+1", "1", "1.0", "1e0", "-1", "0.5", "a", "nan", "inf", "1e300")
    assert [plain_label(label) for label in labels] == ["1", "1", "1", "1", "-1", "0.5", "a", "nan", "inf", "1e300"]


def dense(rows: SparseRows) -> np.ndarray:
    out = np.zeros((rows.n_rows, rows.n_columns))
    out[np.repeat(np.arange(rows.n_rows), np.diff(rows.indptr)), rows.indices] = rows.values
    return out


def test_columns_are_the_indices_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "d.svm"
    path.write_text("1 1:1 3:2\n0 2:4\n")
    examples = read_examples(path)
    np.testing.assert_array_equal(dense(examples.X), [[0, 1, 0, 2], [0, 0, 4, 0]])
    assert (len(examples), examples.n_features, examples.labels) == (2, 3, ["1", "0"])
    wider, left_out = match(examples, "matrix", 6)
    assert (dense(wider.X).shape, left_out) == ((2, 6), 0)
    narrower, left_out = match(examples, "matrix", 2)
    assert left_out == 2
    np.testing.assert_array_equal(dense(narrower.X), [[0, 1], [0, 0]])


@pytest.mark.parametrize("line", ['"text": "x y"', '"tokens": ["x"]', '"features": {"x": 1}'])
def test_examples_for_a_model_are_of_its_kind(tmp_path: Path, line: str) -> None:
    path, table = tmp_path / "d.jsonl", tmp_path / "d.svm"
    path.write_text(f'{{"label": "a", {line}}}\n{{"label": "b", {line}}}\n')
    table.write_text("1 1:1\n")
    examples = read_examples(path)
    model = MaxentClassifier().fit(examples.X, examples.labels)
    assert read_for(model, path)[0].labels == ["a", "b"]
    assert read_for(model, path, labelled=False)[0].labels is None
    with pytest.raises(IncompatibleError, match="but this is numbered features"):
        read_for(model, table)
