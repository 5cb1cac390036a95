"""Classifiers read texts and labels from columns of JSON lines and tables, and from records in memory."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from commands import invoke

from loglinear import MaxentClassifier, load
from loglinear.errors import FormatError
from loglinear.models.classifier.files import Columns, PredictedFile, read_examples, train_on_file

TEXTS = ["cheap pills", "see you\nat noon", "buy pills", "lunch at noon"] * 3
LABELS = [1, 0, 1, 0] * 3
RECORDS = [{"body": text, "y": label, "id": n} for n, (text, label) in enumerate(zip(TEXTS, LABELS))]


def write(path, records):
    if path.suffix == ".jsonl":
        path.write_text("\n".join(map(json.dumps, records)))
    else:
        pq.write_table(pa.Table.from_pylist(records), path, row_group_size=5)
    return path


@pytest.mark.parametrize("name", ["d.jsonl", "d.parquet"])
def test_files(tmp_path, name):
    path = write(tmp_path / name, RECORDS)
    model = MaxentClassifier(text_column="body", label_column="y")
    assert len(train_on_file(model, path, validation=path)) == 12
    assert model.validation_score_ == 1.0
    assert model.coef_.tolist() == MaxentClassifier().fit(TEXTS, [str(label) for label in LABELS]).coef_.tolist()
    lines = b"".join(PredictedFile(model, path, columns=Columns("body"), block=30)).decode().split()
    assert lines == [str(label) for label in LABELS]
    with pytest.raises(FormatError, match=rf"{name}.* no (column|key) 'text'.*'body'"):
        read_examples(path, columns=Columns("text", "y"))
    with pytest.raises(FormatError, match=rf"{name}.* no .*'label'"):
        read_examples(path, columns=Columns("body"))


def test_labels_of_tables(tmp_path):
    rows = [{"text": "a", "label": label} for label in ("x", "y")]
    assert read_examples(write(tmp_path / "d", rows)).labels[:] == ["x", "y"]
    assert read_examples(write(tmp_path / "d", [{**row, "label": True} for row in rows])).labels[:] == ["true"] * 2
    with pytest.raises(FormatError, match=r"d:2: the label in column 'label' is null; leave such rows out"):
        read_examples(write(tmp_path / "d", [{"text": "a", "label": 1}, {"text": "b", "label": None}]))
    with pytest.raises(FormatError, match=r"d:2: the column 'text' is null here"):
        read_examples(write(tmp_path / "d", [{"text": "a", "label": 1}, {"text": None, "label": 2}]))
    with pytest.raises(FormatError, match=r"d: the column 'label' holds double, not strings"):
        read_examples(write(tmp_path / "d", [{"text": "a", "label": 1.5}]))
    with pytest.raises(FormatError, match="d: the input holds no examples"):
        read_examples(empty(tmp_path))
    with pytest.raises(ValueError, match="those of tsv have none"):
        read_examples(write(tmp_path / "d.jsonl", rows), "tsv", columns=Columns("body"))


def empty(folder):
    pq.write_table(pa.table({"text": pa.array([], pa.string()), "label": pa.array([], pa.string())}), folder / "d")
    return folder / "d"


class Frame:
    """What pandas and polars have in common."""

    def __init__(self, records):
        self.columns, self.dtypes = list(records[0]), {}
        self.table = {name: [record[name] for record in records] for name in self.columns}

    def __getitem__(self, name):
        return self.table[name]


WAYS = [lambda: RECORDS, lambda: (record for record in RECORDS), lambda: Frame(RECORDS)]


@pytest.mark.parametrize("make", WAYS)
def test_records(tmp_path, make):
    want = MaxentClassifier().fit(TEXTS, LABELS)
    model = MaxentClassifier(text_column="body", label_column="y").fit(make(), validation=make())
    assert model.coef_.tolist() == want.coef_.tolist()
    assert model.validation_score_ == 1.0
    assert model.predict(make()).tolist() == model.predict(TEXTS).tolist() == LABELS
    assert model.evaluate(make())["accuracy"] == model.score(make(), LABELS) == 1.0
    assert model.explain(RECORDS[0]).to_dict() == model.explain(TEXTS[0]).to_dict()
    model.partial_fit(make())
    model.save(tmp_path / "m.ll")
    assert load(tmp_path / "m.ll").text_column is None
    assert MaxentClassifier(text_column="body").fit(make(), LABELS).coef_.tolist() == want.coef_.tolist()


def test_faults_of_records():
    model = MaxentClassifier(text_column="body")
    with pytest.raises(FormatError, match=r"<records>:1: the record has no label 'label'; name the key"):
        model.fit(RECORDS)
    with pytest.raises(FormatError, match=r"<records>:2: the record has no key 'body'; its keys are 'text'"):
        model.fit([{"body": "a", "label": 1}, {"text": "b", "label": 2}])
    with pytest.raises(TypeError, match="record 1 must be a dict with a text, not list"):
        model.fit([["a"]], [1])
    with pytest.raises(ValueError, match="texts have no labels of their own"):
        model.fit(["a", "b"])


def test_commands(tmp_path):
    path, model = write(tmp_path / "d.parquet", RECORDS), tmp_path / "m.ll"
    named = ("--text-column", "body", "--label-column", "y")
    assert invoke("classify", "train", path, "-o", model, *named).exit_code == 0
    assert json.loads(invoke("classify", "eval", model, path, *named, "--json").stdout)["accuracy"] == 1.0
    assert invoke("classify", "predict", model, path, *named[:2]).stdout.split() == [str(label) for label in LABELS]
    done = invoke("classify", "eval", model, path)
    assert done.exit_code == 2
    assert "d.parquet: there is no column 'text'; the columns are 'body', 'y', 'id'" in done.stderr
