import numpy as np
import pytest

from loglinear.errors import LoglinearError, ModelFileError
from loglinear.features.columns import Columns
from loglinear.hmm.oov import OovMap

TRAIN = [[("the", "D"), ("dog", "N"), ("saw", "V")], [("the", "D"), ("cat", "N")], [("dog", "N"), ("the", "X")]]


def test_first_occurrences_are_unknown():
    oov = OovMap("?")
    columns = oov.fit_transform(Columns.from_lists(TRAIN))
    assert list(columns) == [
        [("?", "?"), ("?", "?"), ("?", "?")],
        [("the", "D"), ("?", "N")],
        [("dog", "N"), ("the", "?")],
    ]
    assert [list(v) for v in oov.vocabularies] == [["?", "the", "dog"], ["?", "D", "N"]]
    assert oov.sizes == [3, 3]


def test_unknown_values_are_replaced():
    oov = OovMap()
    trained = oov.fit_transform(Columns.from_lists(TRAIN))
    columns = oov.transform(Columns.from_lists([[("cat", "N"), ("the", "Z")], [("dog", "D"), ("<oov>", "N")]]))
    assert list(columns) == [[("<oov>", "N"), ("the", "<oov>")], [("dog", "D"), ("<oov>", "N")]]
    assert columns.vocabularies[0] is trained.vocabularies[0]


def test_against_plain_python():
    rng = np.random.default_rng(0)
    X = [[(f"w{rng.zipf(1.3) % 50}", f"t{rng.integers(4)}") for _ in range(rng.integers(0, 9))] for _ in range(80)]
    seen, expected = set(), []
    counts = {}
    for sequence in X:
        for token in sequence:
            for c, value in enumerate(token):
                counts[c, value] = counts.get((c, value), 0) + 1
    for sequence in X:
        out = []
        for token in sequence:
            out.append(tuple(v if (c, v) in seen else "<oov>" for c, v in enumerate(token)))
            seen |= set(enumerate(token))
        expected.append(out)
    oov = OovMap()
    assert list(oov.fit_transform(Columns.from_lists(X))) == expected
    for c in (0, 1):
        assert set(oov.vocabularies[c]) == {"<oov>"} | {v for (k, v), n in counts.items() if k == c and n > 1}


def test_saved_and_read_back():
    oov = OovMap("??")
    oov.fit_transform(Columns.from_lists(TRAIN))
    settings, arrays = oov.to_arrays()
    again = OovMap.from_arrays(settings, arrays)
    columns = Columns.from_lists(TRAIN)
    assert list(again.transform(columns)) == list(oov.transform(columns))
    for bad_settings, bad_arrays in (
        ({"symbol": "??"}, arrays),
        ({**settings, "n_columns": 3}, arrays),
        ({**settings, "symbol": "!"}, arrays),
        (settings, {k: v for k, v in arrays.items() if k != "column_1_blob"}),
        (settings, {**arrays, "column_0_offsets": arrays["column_0_offsets"] * 2}),
    ):
        with pytest.raises(ModelFileError):
            OovMap.from_arrays(bad_settings, bad_arrays)


def test_oov_refusals():
    with pytest.raises(ValueError, match="column 0 has the value 'dog': choose another symbol"):
        OovMap("dog").fit_transform(Columns.from_lists(TRAIN))
    with pytest.raises(ValueError, match="symbol must be a string"):
        OovMap("")
    with pytest.raises(LoglinearError, match="call fit_transform first"):
        OovMap().transform(Columns.from_lists(TRAIN))
    oov = OovMap()
    oov.fit_transform(Columns.from_lists(TRAIN))
    with pytest.raises(ValueError, match="1 columns where there were 2"):
        oov.transform(Columns.from_lists([["the"]]))
