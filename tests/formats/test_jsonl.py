import pytest

from loglinear.errors import FormatError
from loglinear.formats.jsonl import read_jsonl


@pytest.fixture
def read(tmp_path):
    def write_and_read(text: str, **options):
        (tmp_path / "f").write_text(text, encoding="utf-8")
        return read_jsonl(tmp_path / "f", **options)

    return write_and_read


def test_kinds(read):
    texts = '{"label": "a", "text": "é\\n"}\n\n{"label": 3, "text": "", "id": 7}\r\n'
    assert read(texts) == (["a", "3"], ["é\n", ""], "text")
    features = '{"label": true, "features": {"a": 1, "b": "x", "c": false, "d": -0.5}}'
    assert read(features) == (["true"], [{"a": 1, "b": "x", "c": False, "d": -0.5}], "features")
    assert read('{"label": "a", "tokens": ["x", "y"]}') == (["a"], [["x", "y"]], "tokens")
    assert read('{"text": "x"}', labelled=False) == ([], ["x"], "text")


OK = '{"label": "a", "text": "x"}\n'


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"label" "a"}', "bad JSON at column 10: "),
        ("[1]", "expected a JSON object, found an array"),
        ('{"label": "a", "tokens": []}', "the kind of example changes from 'text' to 'tokens'"),
        ('{"label": "a"}', "one of the keys 'text', 'features' and 'tokens', and has none"),
        ('{"label": "a", "text": "", "tokens": []}', "and has 'text' and 'tokens'"),
        ('{"text": "x"}', "the object has no 'label'"),
        ('{"label": null, "text": "x"}', "the label must be a string, an integer or a boolean, not null"),
        ('{"label": 1.5, "text": "x"}', "not a number"),
        ('{"label": "", "text": "x"}', "the label is empty"),
        ('{"label": "a", "text": 3}', "'text' must be a string, not a number"),
        ('{"label": "a", "label": "b", "text": "x"}', "bad JSON: key 'label' occurs twice"),
        ('{"label": "a", "text": NaN}', "bad JSON: NaN is not a finite number"),
        ('{"label": "a", "text": ' + "[" * 100_000, "bad JSON: nested too deeply"),
        ('{"label": ' + "9" * 5000 + ', "text": "x"}', "bad JSON: "),
    ],
)
def test_refusals(read, line, message):
    with pytest.raises(FormatError, match=f"f:3: .*{message}"):
        read(OK + OK + line + "\n" + OK)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"label": "a", "features": {"k": null}}', "feature 'k' must be a number, a string or a boolean, not null"),
        ('{"label": "a", "features": {"k": [1]}}', "feature 'k' must be .* not an array"),
        ('{"label": "a", "features": {"k": 1e999}}', "feature 'k' is not a finite number"),
        ('{"label": "a", "features": {"k": 1, "k": 2}}', "key 'k' occurs twice"),
        ('{"label": "a", "features": []}', "'features' must be an object"),
        ('{"label": "a", "tokens": "x"}', "'tokens' must be an array, not a string"),
        ('{"label": "a", "tokens": ["x", 2]}', "token 1 must be a string, not a number"),
    ],
)
def test_refusals_within_examples(read, line, message):
    with pytest.raises(FormatError, match=f"f:1: .*{message}"):
        read(line)


def test_nothing(read):
    with pytest.raises(FormatError, match="holds no examples"):
        read("\n\n")
