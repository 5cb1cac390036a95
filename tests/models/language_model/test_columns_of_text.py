"""Language models and word classes read columns of tables and records as they read plain text."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from commands import invoke

from loglinear import LanguageModel, WordClasses, load
from loglinear.errors import FormatError
from loglinear.models.language_model.files import compare, load_language_model, score_file

LINES = ["the dog sees a cat", "a cat sees the dog", "the dog barks", "a cat sleeps"] * 5


@pytest.fixture
def texts(tmp_path):
    """Return the same text as a plain file, JSON lines, a Parquet file and records; two lines make a row."""
    rows = ["\n".join(LINES[i : i + 2]) for i in range(0, len(LINES), 2)]
    (tmp_path / "d.txt").write_text("\n".join(LINES) + "\n")
    (tmp_path / "d.jsonl").write_text("\n".join(json.dumps({"id": i, "body": row}) for i, row in enumerate(rows)))
    pq.write_table(pa.table({"id": list(range(len(rows))), "body": rows}), tmp_path / "d.parquet")
    return [tmp_path / "d.txt", tmp_path / "d.jsonl", tmp_path / "d.parquet", [{"body": row} for row in rows]]


SETTINGS = [{"estimator": "witten-bell"}, {"penalty": "l2"}, {"classes": 2, "sources": "words:2"}]


@pytest.mark.parametrize("settings", SETTINGS)
def test_every_way_gives_the_same_model(texts, settings):
    models = [LanguageModel(2, text_column="body", verbose=0, **settings).fit(text, validation=text) for text in texts]
    scores = [model.perplexity(text) for model, text in zip(models, texts)]
    assert scores == [scores[0]] * 4
    assert len({model.validation_score_ for model in models}) == 1
    (found,) = {tuple(WordClasses(3, text_column="body", verbose=0).fit(text).labels_) for text in texts}
    assert len(found) == 7


def test_a_file_does_not_keep_the_column(texts, tmp_path):
    LanguageModel(2, "witten-bell", text_column="body").fit(texts[2]).save(tmp_path / "m.ll")
    model = load(tmp_path / "m.ll")
    assert model.text_column is None
    assert model.perplexity(texts[0]) < 10
    with pytest.raises(FormatError, match=r"d.parquet: there is no column 'text'; the columns are 'id', 'body'"):
        model.perplexity(texts[2])
    used = load_language_model(tmp_path / "m.ll")
    used.text_column = "body"
    plain, *others = (b"".join(score_file(used, text, block=30)) for text in texts[:3])
    assert plain.count(b"\n") == len(LINES)
    assert others == [plain, plain]
    assert [compare(used, used, text).n_tokens for text in texts[:3]] == [len(" ".join(LINES).split()) + len(LINES)] * 3


def test_commands(texts, tmp_path):
    figures = []
    for number, text in enumerate(texts[:3]):
        model, classes = str(tmp_path / f"{number}.ll"), tmp_path / f"{number}.tsv"
        settings = ("--order", "2", "--estimator", "witten-bell", "--text-column", "body")
        invoke("lm", "train", text, "-o", model, *settings)
        done = invoke("lm", "eval", model, str(text), "--text-column", "body", "--json")
        figures.append(json.loads(done.stdout)["perplexity"])
        invoke("cluster", str(text), "-o", str(classes), "-k", "3", "--text-column", "body")
    np.testing.assert_array_equal(figures, figures[0])
    assert len({(tmp_path / f"{number}.tsv").read_text() for number in range(3)}) == 1
