"""Spans against a reading of the scorer's rules token by token; masks against enumeration of all label sequences."""

from __future__ import annotations

import itertools
import time

import numpy as np
import pytest

from loglinear.features.schemes import Detected, convert, detect, flatten, illegal, legal_transitions, schemes_of, spans

LABELS = {
    "bio": ["O", "B-a", "I-a", "B-b-c", "I-b-c"],
    "iob1": ["O", "B-a", "I-a", "B-b-c", "I-b-c"],
    "iobes": ["O", "B-a", "I-a", "E-a", "S-a", "B-b", "I-b", "E-b", "S-b"],
    "bilou": ["O", "B-a", "I-a", "L-a", "U-a", "B-b", "I-b", "L-b", "U-b"],
    "bmes": ["O", "B-a", "M-a", "E-a", "S-a", "B-b", "M-b", "E-b", "S-b"],
}
FIRST = {"bio": ["O", "B-x", "I-x", "I-x", "B-x", "B-y"], "iob1": ["O", "I-x", "I-x", "I-x", "B-x", "I-y"]}
FIRST["iobes"] = ["O", "B-x", "I-x", "E-x", "S-x", "S-y"]
FIRST["bilou"] = ["O", "B-x", "I-x", "L-x", "U-x", "U-y"]
FIRST["bmes"] = ["O", "B-x", "M-x", "E-x", "S-x", "S-y"]


def spans_one_by_one(labels: list[str]) -> list[tuple[int, int, str]]:
    """The rules as a loop over tokens that keeps the open span."""
    found: list[tuple[int, int, str]] = []
    start, before, kind_before = None, "O", ""
    for t, label in enumerate([*labels, "O"]):
        part, _, kind = label.replace("L-", "E-").replace("U-", "S-").replace("M-", "I-").partition("-")
        ends = before in "ES" or (before in "BI" and part in "BSO") or kind != kind_before
        if start is not None and ends:
            found.append((start, t, kind_before))
            start = None
        begins = part in "BS" or (part in "IE" and before in "OES") or (part != "O" and kind != kind_before)
        if begins:
            start = t
        before, kind_before = part, kind
    return found


@pytest.mark.parametrize("scheme", LABELS)
def test_spans_agree_with_the_rules_on_all_short_and_random_long_sequences(scheme: str) -> None:
    rng = np.random.default_rng(0)
    short = itertools.chain.from_iterable(itertools.product(LABELS[scheme], repeat=n) for n in range(4))
    long = (rng.choice(LABELS[scheme], size=n).tolist() for n in rng.integers(1, 40, size=200))
    for labels in itertools.chain(short, long):
        assert spans(list(labels), scheme) == spans_one_by_one(list(labels)), labels


def test_spans_by_hand() -> None:
    assert spans(["I-x", "I-x", "O", "I-y", "I-x", "B-x"]) == [(0, 2, "x"), (3, 4, "y"), (4, 5, "x"), (5, 6, "x")]
    assert spans(["E-x", "E-x", "I-x", "S-x", "B-x"], "iobes") == [
        (0, 1, "x"), (1, 2, "x"), (2, 3, "x"), (3, 4, "x"), (4, 5, "x"),
    ]  # fmt: skip
    assert spans(["B", "I", "O", "I"]) == [(0, 2, ""), (3, 4, "")]
    assert spans([]) == []


def segmentations(n: int) -> list[list[tuple[int, int, str]]]:
    """All ways to lay spans of two types over n tokens."""
    if n == 0:
        return [[]]
    found = segmentations(n - 1)  # the last token is outside
    for start in range(n):
        found += [[*before, (start, n, kind)] for before in segmentations(start) for kind in ("a", "b-c")]
    return found


def spell(segmentation: list[tuple[int, int, str]], n: int, scheme: str) -> list[str]:
    """The labels of spans by the definition of the scheme."""
    labels = ["O"] * n
    previous: tuple[int, int, str] | None = None
    for start, end, kind in segmentation:
        letters = ["M" if scheme == "bmes" else "I"] * (end - start)
        touches = previous is not None and previous[1] == start and previous[2] == kind
        if scheme != "iob1" or touches:
            letters[0] = "B"
        if scheme in ("iobes", "bilou", "bmes"):
            letters[-1] = "EL"[scheme == "bilou"] if end - start > 1 else "SU"[scheme == "bilou"]
        labels[start:end] = [f"{letter}-{kind}" for letter in letters]
        previous = start, end, kind
    return labels


@pytest.mark.parametrize("scheme", LABELS)
def test_spans_of_every_short_segmentation_are_read_by_the_rules_of_all_schemes(scheme: str) -> None:
    for n in range(6):
        for segmentation in segmentations(n):
            labels = spell(segmentation, n, scheme)
            assert spans(labels, scheme) == segmentation, labels
            assert illegal([labels], scheme) == (0, None), labels
            found = detect([labels])
            assert found.n_illegal == 0, labels
            if segmentation:  # no spans, no scheme
                assert found.scheme == ("iobes" if scheme == "bmes" and "M" not in "".join(labels) else scheme), labels


@pytest.mark.parametrize(
    ("corpus", "expected"),
    [
        ([["O", "I-x", "I-x"], ["I-y", "O"]], ("iob1", 0)),  # only I and O: no two spans touch
        ([["O", "I-x", "B-x"], ["I-y", "I-x"]], ("iob1", 0)),
        ([["O", "B-x", "B-x"], ["B-y", "B-x"]], ("bio", 0)),  # spans of one token
        ([["O", "B-x", "I-x"], ["B-y", "I-y"], ["I-x"]], ("bio", 1)),  # the fewest breaches
        ([["O", "I-x", "I-x"], ["I-y", "I-y"], ["O", "B-x"]], ("iob1", 1)),
        ([["B-x"], ["I-x"]], ("bio", 1)),  # of equal schemes the commoner
        ([["S-x", "B-x", "E-x"]], ("iobes", 0)),
        ([["U-x", "B-x", "L-x"]], ("bilou", 0)),
        ([["O", "S-x"]], ("iobes", 0)),
        ([["O", "U-x"]], ("bilou", 0)),
        ([["I-x", "E-x", "E-x"]], ("iobes", 2)),  # IOE2
        ([["B-x", "M-x", "E-x", "S-y"]], ("bmes", 0)),
        ([["B", "M", "M", "E", "S", "B", "E"]], ("bmes", 0)),  # words of Chinese
        ([["B-x", "M-x", "I-x", "E-x"]], (None, 0)),
        ([["B-x", "M-x", "L-x"]], (None, 0)),
        ([["B", "I", "O", "B"]], ("bio", 0)),
        ([["I", "B", "O", "I"]], ("iob1", 0)),
        ([["b-PER", "i-PER", "o", "B-PER"]], ("bio", 0)),
        ([["I-PER", "I-per"]], ("iob1", 0)),  # types differ by case
        ([["B-a-b", "I-a-b", "B--"]], ("bio", 0)),
        ([["O", "O"]], (None, 0)),
        ([], (None, 0)),
        ([["NN", "VB"]], (None, 0)),
        ([["NN", "I-x", "B-x"]], (None, 0)),  # one label of another kind
        ([["B-", "I-", "O"]], (None, 0)),  # a hyphen without a type
        ([["B-x", "O-x"]], (None, 0)),
        ([["B-x", "OTHER"]], (None, 0)),
        ([["B", "S"]], (None, 0)),
        ([["I", "O"]], (None, 0)),
        ([["B-x", "S-x", "U-x"]], (None, 0)),
        ([["definition-class", "O"]], (None, 0)),
    ],
)
def test_the_scheme_is_the_one_with_the_fewest_illegal_labels(corpus: list[list[str]], expected: tuple) -> None:
    assert detect(corpus) == Detected(*expected)


def test_names_tell_the_schemes_they_may_be_of() -> None:
    assert schemes_of(["O", "B-x", "I-x"]) == schemes_of(["I-x"]) == ("bio", "iob1", "iobes", "bilou")
    assert schemes_of(["O", "B-x", "S-x"]) == ("iobes", "bmes")
    assert schemes_of(["L-x"]) == ("bilou",)
    assert schemes_of(["O"]) == schemes_of([]) == schemes_of(["NN", "I-x"]) == ()


@pytest.mark.parametrize("scheme", LABELS)
def test_what_is_legal_is_what_conversion_writes(scheme: str) -> None:
    labels = LABELS[scheme]
    start, transitions, stop = legal_transitions(labels, scheme)
    assert start.dtype == transitions.dtype == stop.dtype == np.uint8
    for length in range(1, 5 if len(labels) < 6 else 4):
        for numbers in itertools.product(range(len(labels)), repeat=length):
            names = [labels[number] for number in numbers]
            steps = all(transitions[i, j] for i, j in itertools.pairwise(numbers))
            legal = start[numbers[0]] and stop[numbers[-1]] and steps
            assert bool(legal) == (convert([names], scheme, scheme) == [names]), names
            assert bool(legal) == (illegal([names], scheme) == (0, None)), names


@pytest.mark.parametrize("source", LABELS)
@pytest.mark.parametrize("target", LABELS)
def test_conversion_keeps_spans_and_mends_what_is_illegal(source: str, target: str) -> None:
    rng = np.random.default_rng(1)
    corpus = [rng.choice(LABELS[source], size=n).tolist() for n in rng.integers(0, 12, size=200)]
    converted = convert(corpus, source, target)
    assert [spans(labels, target) for labels in converted] == [spans(labels, source) for labels in corpus]
    assert illegal(converted, target) == (0, None)
    assert convert(convert(converted, target, source), source, target) == converted
    assert convert([FIRST[source]], source, target) == [FIRST[target]]


def test_the_first_illegal_token_is_named() -> None:
    assert illegal([["O"], [], ["B-x", "I-x", "I-y", "I-y"], ["I-x"]], "bio") == (2, (2, 2))
    assert illegal([["I-x", "B-x"], ["B-x"]], "iob1") == (1, (1, 0))
    assert illegal([["S-x", "B-x"], ["B-x", "E-x"]], "iobes") == (1, (0, 1))
    assert illegal([], "bio") == (0, None)


def test_refusals() -> None:
    with pytest.raises(ValueError, match=r"'S-x' is not of the scheme bio \(O, B-, I-\); the scheme iobes has it"):
        spans(["S-x"])
    for name in ("NN", "B-", "O-x", "Bx-y", ""):
        with pytest.raises(ValueError, match=f"label '{name}' is not of the scheme iobes"):
            legal_transitions([name], "iobes")
    with pytest.raises(ValueError, match="no label scheme 'x': there are bio, iob1, iobes, bilou, bmes"):
        convert([["O"]], "bio", "x")
    with pytest.raises(ValueError, match="no label scheme 'x'"):
        spans(["O"], "x")
    with pytest.raises(TypeError, match="sequence 1 is the string 'O'"):
        illegal([["O"], "O"], "bio")
    with pytest.raises(TypeError, match=r"label 3\.5 is float, not text or a whole number"):
        spans([3.5])  # type: ignore[list-item]
    with pytest.raises(ValueError, match="label 3 is not of the scheme bio"):
        spans([3])  # type: ignore[list-item]


def test_numbers_of_labels_are_flattened_without_their_strings() -> None:
    y = [["O", "B-x"], [], ["I-x", "O"]]
    flat = flatten(y)
    assert (flat.names, flat.numbers.tolist()) == (["B-x", "I-x", "O"], [2, 0, 1, 2])
    assert flat.counts() == {"B-x": 1, "I-x": 1, "O": 2}
    other = flatten(flat.renumbered(["never", "O", "I-x", "B-x"]))
    assert (other.names, other.numbers.tolist()) == (flat.names, flat.numbers.tolist())
    assert (flat == y, list(flat), flat[0], flat[-1]) == (True, y, y[0], y[-1])
    assert (flat[1:] == y[1:], flat[np.array([2, 0])] == [y[2], y[0]], flat != y[:2]) == (True, True, True)
    assert (len(flat), flat.shape, flat.n_tokens, flat.place(3)) == (3, (3,), 4, (2, 1))
    assert repr(flat) == "FlatLabels(3 sequences, 4 tokens, 3 labels)"


def test_a_million_tokens_are_quick() -> None:
    labels = np.random.default_rng(0).choice(LABELS["bio"], size=1_000_000).tolist()
    corpus = [labels[i : i + 20] for i in range(0, len(labels), 20)]
    begin = time.perf_counter()
    assert illegal(corpus, "bio")[0] > 0
    assert time.perf_counter() - begin < 5  # a tenth of a second, on a machine that is not busy
