import contextlib
import copy
import itertools
import json
import os
import pickle
import re
import threading
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from loglinear import _core
from loglinear.errors import FormatError, IncompatibleError, LoglinearError, ModelFileError
from loglinear.features.columns import Columns
from loglinear.features.template_sets import TEMPLATE_SETS
from loglinear.features.template_syntax import ANY_AFTER, ANY_BEFORE, View, dialect_of, parse_templates
from loglinear.features.templates import TemplateFeatures, boundary_name, load_templates
from loglinear.features.vocabulary import Vocabulary
from loglinear.formats.conll import read_conll
from loglinear.models.tagger.inputs import TokenReader

SENTENCES = [
    [("The", "DT"), ("dog", "NN"), ("ran", "VB")],
    [],
    [("Émile", "NNP"), ("ran", "VB"), ("42", "CD"), ("x-Y", "NN")],
    [("The", "DT")],
]


# Expressions


def backtrack(items, text, at_end):
    """End of the preferred match of the items at the start of the text, or None: what Wapiti does, by recursion."""
    if not items:
        return 0 if not at_end or not text else None
    (test, repeat), rest = items[0], items[1:]
    if repeat == "*":
        for n in range(len(text) + 1):
            end = backtrack(rest, text[n:], at_end)
            if end is not None:
                return n + end
            if n == len(text) or not test(text[n]):
                return None
    if repeat == "?" and not (text and test(text[0])):
        return backtrack(rest, text, at_end)
    end = backtrack(rest, text[1:], at_end) if text and test(text[0]) else None
    if end is not None:
        return 1 + end
    return backtrack(rest, text, at_end) if repeat == "?" else None


CLASSES = {
    "d": str.isdecimal, "l": str.islower, "u": str.isupper, "a": str.isalpha, "s": str.isspace,
    "w": lambda c: c.isalpha() or c.isdecimal(),
    "p": lambda c: (32 < ord(c) < 127 and not c.isalnum()) or c == "«",
}  # fmt: skip


def twin_match(pattern, text):
    """What a pattern matches, or None; the pattern is known to be well formed."""
    at_start = pattern.startswith("^")
    pattern = pattern[1:] if at_start else pattern
    items, at_end = [], False
    while pattern:
        if pattern == "$":
            at_end = True
            break
        atom = re.match(r"(?s)\\.|.", pattern)[0]
        pattern = pattern[len(atom) :]
        repeat = ""
        if pattern[:1] in ("*", "?"):
            repeat, pattern = pattern[0], pattern[1:]
        if atom == ".":
            test = lambda c: True  # noqa: E731
        elif atom[0] == "\\" and atom[1].lower() in CLASSES:
            known = CLASSES[atom[1].lower()]
            test = (lambda c, f=known: not f(c)) if atom[1].isupper() else known
        else:
            test = lambda c, x=atom[-1]: c == x  # noqa: E731
        items.append((test, repeat))
    for start in range(1 if at_start else len(text) + 1):
        end = backtrack(items, text[start:], at_end)
        if end is not None:
            return text[start : start + end]
    return None


characters = st.sampled_from([*"ab.É$^«", *(f"\\{c}" for c in "dluawspDLUAWSP.*?$q")])
atoms = st.tuples(characters, st.sampled_from(["", "*", "?"]))
patterns = st.builds(
    lambda start, items, end: start + "".join(a + r for a, r in items) + end,
    st.sampled_from(["", "^"]), st.lists(atoms, max_size=6), st.sampled_from(["", "$"]),
).filter(lambda pattern: not re.match(r"\^[*?]", pattern))  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(patterns, st.text("abAÉ1.$«* ", max_size=8))
@example("a*b?$", "aab")
def test_expressions_against_backtracking(pattern, text):
    featuriser = TemplateFeatures(f'U:%m[0,0,"{pattern}"]\nU:%t[0,0,"{pattern}"]')
    featuriser.fit_transform(Columns.from_lists([[text]]))
    expected = twin_match(pattern, text)
    assert featuriser.names() == ["U:" + (expected or ""), "U:" + ("false" if expected is None else "true")]


def test_no_expression_takes_long():
    regex = _core.WapitiRegex("a*" * 100 + "b")
    blob = np.frombuffer(b"a" * 20_000, np.uint8)
    none = np.zeros(0, np.uint32), np.zeros(0, np.uint8)
    assert regex.test(blob, np.array([0, blob.size]), *none).tolist() == [0]


# Syntax


def test_parse():
    text = """
# a comment
U00:%x[-1,0]/%X[ +1 , 2 ]   # another
  b1#2:%x[@1,0]%x[@-2,0]
*:%t[0,0,"a\\"]#"] %M[0,0,"^.."]\t
U bias
B
"""
    file = parse_templates(text)
    assert file.has_transitions
    assert file.views == [
        View(0, "same"), View(2, "lower"), View(0, "test", 'a\\"]#'), View(0, "match_lower", "^.."),
    ]  # fmt: skip
    assert [t.scope for t in file.templates] == [1, 2, 3, 1]
    assert [t.line for t in file.templates] == [3, 4, 5, 6]
    assert file.templates[0].macros == ((-1, 0, False), (1, 1, False))
    assert file.templates[1].macros == ((1, 0, True), (-2, 0, True))
    assert file.templates[1].pieces == ("b1#2:", "", "")
    assert file.templates[2].pieces == ("*:", " ", "")
    assert not parse_templates("U%x[0,0]").has_transitions
    both = parse_templates("*")
    assert both.has_transitions
    assert [(t.scope, t.pieces) for t in both.templates] == [(1, ("*",))]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("X:%x[0,0]", r"a template begins with U, B or \*, not 'X'; start a comment with #"),
        ("U:%x[0,0", "missing bracket after '%x\\[0,0'; expected %x\\[row,column\\]"),
        ("U:%x", "expected %x\\[row,column\\] at '%x'; a percent sign always begins a macro"),
        ("U:100%", "expected %x"),
        ("U:%%x[0,0]", "expected %x"),
        ("U:%z[0,0]", "unknown command %z at '%z\\[0,0\\]'; the commands are %x, %t, %m, %s, %c and %l"),
        ("U:%y[-2]", "the template 'U:%y.-2.' asks for the label of another token; begin it with B"),
        ("U:%y[<]/%x[0,0]", "asks for a label any number of rows away, which no chain can decode .* %x\\[<,0\\]"),
        ("U:%x[@<,0]", "a gap at .* leave out the @"),
        ("U:%x[<,0]/%x[>,1]", "any row before .<. or at any row after .>., not at both; split it in two"),
        ("U:%x[<1,0]", "bad numbers"),
        ("U:%x[a,0]", "bad numbers at '%x\\[a,0\\]'"),
        ("U:%x[0]", "bad numbers"),
        ("U:%x[0,-1]", "bad numbers"),
        ("U:%x[99999999999999,0]", "bad numbers"),
        ("U:%x[1001,0]", "row 1001 at .* is too far; rows go up to 1000"),
        ("U:%x[0,1024]", "column 1024 at .* is too large"),
        ("U:%x[@0,0]", "row @0"),
        ("U:%x[*0,1]", "indirect rows .* are not supported"),
        ("U:%t[0,0]", "missing expression in quotes .*; expected %t\\[row,column,\"expression\"\\]"),
        ('U:%t[0,0,"a]', "missing expression in quotes"),
        ('U:%t[0,0,"a"', "missing bracket"),
        ('U:%t[0,0,"a**"]', "bad expression at .*'\\*' follows nothing that can be repeated"),
        ('U:%t[0,0,"\\', "missing expression"),
        ("U:" + "%x[0,0]" * 65, "65 macros, and at most 64 are allowed"),
    ],
)
def test_refusals_name_the_line(line, message):
    with pytest.raises(FormatError, match=f"^f:2: .*{message}"):
        parse_templates("B\n" + line + "\nX", "f")
    with pytest.raises(FormatError, match="<templates>:2: "):
        TemplateFeatures("B\n" + line)


def test_other_refusals():
    for text in ("\n", "# nothing\n"):
        with pytest.raises(FormatError, match="there are no templates; expected lines such as"):
            TemplateFeatures(text)
    with pytest.raises(FormatError, match="surrogate"):
        TemplateFeatures("U\ud800:%x[0,0]")
    with pytest.raises(ValueError, match=r"unknown templates 'basic'; the built-in sets are .*load_templates"):
        TemplateFeatures("basic")
    with pytest.raises(TypeError, match=r"a name or template text, not [A-Za-z]*Path"):
        TemplateFeatures(Path("f"))
    with pytest.raises(FormatError, match="more than 10000 templates"):
        TemplateFeatures("U:%x[0,0]\n" * 10_001)


pieces = st.sampled_from([*"UB*%xtm[]0-1,", '"', "\\", *"^$*?# \n@é"])


@settings(max_examples=300, deadline=None)
@given(st.one_of(st.text(max_size=40), st.lists(pieces, max_size=40).map("".join)))
def test_any_text_is_parsed_or_refused(text):
    with contextlib.suppress(FormatError):
        parse_templates(text)


def test_load(tmp_path):
    assert load_templates("chunking") == TEMPLATE_SETS["chunking"]
    (tmp_path / "t").write_text("U:%x[0,0]\n")
    assert load_templates(tmp_path / "t") == "U:%x[0,0]\n"
    (tmp_path / "t").write_text("U:%x[0,0]\nU:%x[\n")
    with pytest.raises(FormatError, match="t:2: bad numbers"):
        load_templates(tmp_path / "t")
    (tmp_path / "t").write_bytes(b"U\xff")
    with pytest.raises(FormatError, match="t:1: byte 0xff"):
        load_templates(tmp_path / "t")
    with pytest.raises(FormatError, match=r"nowhere: no such file, and no built-in set of templates \(chunking"):
        load_templates("nowhere")


# Attributes


def twin(sentences, text, min_count=1):
    """Names and rows by strings and dicts; attributes of templates with gaps come last."""
    file, begin = parse_templates(text), int(text in TEMPLATE_SETS.values())
    gaps = (ANY_BEFORE, ANY_AFTER)

    def value(sentence, at, macro, row):
        n = len(sentence)
        place = at + macro.row if not macro.absolute else macro.row - 1 if macro.row > 0 else n + macro.row
        place = row if macro.row in gaps else place
        if place < 0:
            return f"_B-{-place}"
        if place >= n:
            return f"_E+{place - n + 1}"
        view = file.views[macro.view]
        string = sentence[place][view.column]
        if view.function == "test":
            return "false" if twin_match(view.pattern, string) is None else "true"
        if view.function.startswith("match"):
            string = twin_match(view.pattern, string) or ""
        if view.function == "shape":
            kinds = ["d" if c.isdecimal() else "X" if c.isupper() else "x" if c.isalpha() else c for c in string]
            short = [c for k, c in enumerate(kinds) if c not in "Xxd" or k < 2 or kinds[k - 2 : k] != [c, c]]
            return "".join(short)
        return string.lower() if view.function in ("lower", "match_lower") else string

    def rows_of(template, at, n):
        rows = {macro.row for macro in template.macros if not macro.absolute}
        near = [0, *(rows - {*gaps})]
        return range(at + min(near)) if ANY_BEFORE in rows else range(at + max(near) + 1, n) if rows & {*gaps} else None

    plain, more = [], []
    for sentence in sentences:
        for at in range(len(sentence)):
            plain.append([])
            more.append([])
            for t, template in enumerate(file.templates):
                rows = rows_of(template, at, len(sentence))
                for row in [None] if rows is None else rows:
                    key = (t, tuple(value(sentence, at, macro, row) for macro in template.macros))
                    (plain if rows is None else more)[-1].append(key)
    tokens = [a + b for a, b in zip(plain, more)]
    counts = Counter(key for keys in tokens for key in keys)
    numbers = {}
    for keys in [*plain, *more]:
        for key in keys:
            if counts[key] >= min_count:
                numbers.setdefault(key, len(numbers))

    def name(key):
        literals = file.templates[key[0]].pieces
        return literals[0][begin:] + "".join(v + p for v, p in zip(key[1], literals[1:]))

    return [name(key) for key in numbers], [[numbers[k] for k in keys if k in numbers] for keys in tokens]


def as_rows(rows):
    assert (rows.indptr.dtype, rows.indices.dtype, rows.values) == (np.int64, np.int32, None)
    return [rows.indices[a:b].tolist() for a, b in zip(rows.indptr[:-1], rows.indptr[1:])]


MIXED = """
U00:%x[-1,0]/%x[0,1]
U01:%X[0,0]
u:%t[0,0,"^\\u"] %m[1,0,".?.?$"]
b:%x[@1,1]/%x[@-1,0]
*:%M[0,0,"^..?"]
U bias
B
"""


GAPS = """
U:%x[0,0]
Ubefore=%x[<,0]
*after=%X[>,0]/%t[>,0,"^\\u"] %x[0,1]
b:%x[-1,1]/%x[<,1]
Ufar=%x[1,0]/%x[@1,0]/%x[>,0]
B
"""


@pytest.mark.parametrize("name", [*TEMPLATE_SETS, MIXED, GAPS])
@pytest.mark.parametrize("min_count", [1, 2])
def test_against_the_twin(name, min_count):
    data = [[(*token, f"I-{token[1]}") for token in sentence] for sentence in SENTENCES]  # three columns
    columns = Columns.from_lists(data)
    featuriser = TemplateFeatures(name, min_count=min_count)
    rows = as_rows(featuriser.fit_transform(columns))
    assert (featuriser.names(), rows) == twin(data, featuriser.text, min_count)
    assert as_rows(featuriser.transform(columns)) == rows
    assert as_rows(featuriser.transform(columns[2:], 2)) == rows[3:]


def test_attributes_of_built_in_sets_have_readable_names():
    names = {}
    for name in TEMPLATE_SETS:
        featuriser = TemplateFeatures(name)
        tokens = [("The", "DT", "B-NP"), ("Bohemian", "JJ", "I-NP"), ("girl", "NN", "I-NP")]
        featuriser.fit_transform(Columns.from_lists([tokens]))
        names[name] = featuriser.names()
        assert len(set(names[name])) == len(names[name])
    chunking = {"previous.word/word=The/Bohemian", "tag/next.tag/next2.tag=DT/JJ/NN", "next2.word=_E+1"}
    assert chunking <= {*names["chunking"]}
    assert names["sha-pereira"] == names["chunking"]
    assert {"word=The", "tag=NN"} <= {*names["hmm"]}
    assert {"suffix3=ian", "previous.suffix3=The", "capital/suffix3=false/irl", "lower=bohemian"} <= {*names["pos"]}
    assert {"prefix2=Bo", "capital.then.small=true", "no.letter=false", "digits.only=false"} <= {*names["ner"]}


def test_templates_of_ones_own_keep_their_names():
    featuriser = TemplateFeatures(TEMPLATE_SETS["hmm"] + "U16:%x[0,0]\n")
    featuriser.fit_transform(Columns.from_lists([[("a", "DT")]]))
    assert featuriser.names() == ["Uword=a", "Utag=DT", "U16:a"]


words = st.sampled_from(["a", "b", "A", "é", "1-2"])
sentences = st.lists(st.lists(st.tuples(words, words), max_size=6), max_size=8)


@settings(max_examples=60, deadline=None)
@given(sentences, sentences, st.sampled_from(["chunking", "ner", MIXED, GAPS]), st.integers(1, 3), st.integers(1, 3))
def test_random_sentences(train, test, name, min_count, n_threads):
    if not any(train):
        train = [[("a", "b")]]
    columns = Columns.from_lists(train)
    featuriser = TemplateFeatures(name, min_count=min_count)
    rows = as_rows(featuriser.fit_transform(columns, n_threads))
    names, expected = twin(train, featuriser.text, min_count)
    assert (featuriser.names(), rows) == (names, expected)
    if any(test):
        _, all_rows = twin(train + test, featuriser.text)
        known = {name: i for i, name in enumerate(twin(train + test, featuriser.text)[0])}
        back = {known[name]: i for i, name in enumerate(names)} if len(set(names)) == len(names) else None
        found = as_rows(featuriser.transform(Columns.from_lists(test), n_threads))
        if back is not None and len(known) == len(twin(train + test, featuriser.text)[0]):
            assert found == [[back[i] for i in row if i in back] for row in all_rows[len(rows) :]]


def test_scopes_and_codes():
    featuriser = TemplateFeatures(MIXED)
    featuriser.fit_transform(Columns.from_lists(SENTENCES))
    assert featuriser.has_transitions
    assert featuriser.n_columns_needed == 2
    assert featuriser.scopes.dtype == np.uint8
    expected = [{"U": 1, "u": 1, "b": 2, "*": 3}[name[0]] for name in featuriser.names()]
    assert featuriser.scopes.tolist() == expected
    assert featuriser.attribute_values.shape == (featuriser.n_attributes, 2)
    first = featuriser.attribute_values[0]
    assert first.tolist() == [-2, featuriser.view_vocabularies[1].ids(["DT"])[0]]
    bias = featuriser.names().index("U bias")
    assert featuriser.attribute_values[bias].tolist() == [-(2**31), -(2**31)]
    assert featuriser.attribute_template[bias] == 5
    assert [boundary_name(c) for c in (-2, -3, -4, -5)] == ["_B-1", "_E+1", "_B-2", "_E+2"]


def test_view_ids():
    featuriser = TemplateFeatures("U:%x[0,0]\nU:%X[0,0]")
    columns = Columns.from_lists([["A", "a", "B"]])
    featuriser.fit_transform(columns)
    assert featuriser.view_ids(columns, 0).tolist() == [0, 1, 2]
    assert featuriser.view_ids(columns, 1).tolist() == [0, 0, 1]
    new = Columns.from_lists([["b", "B", "c"]])
    assert featuriser.view_ids(new, 0).tolist() == [-1, 2, -1]
    assert featuriser.view_ids(new, 1).tolist() == [1, 1, -1]


@pytest.mark.parametrize("text", [MIXED, GAPS])
@pytest.mark.parametrize("min_count", [1, 2])
def test_extend(min_count, text):
    first, second = SENTENCES[:2], SENTENCES[2:] * 2
    featuriser = TemplateFeatures(text, min_count=min_count)
    featuriser.fit_transform(Columns.from_lists(first))
    before = featuriser.names()
    rows = as_rows(featuriser.extend(Columns.from_lists(second), 2))
    after = featuriser.names()
    assert after[: len(before)] == before
    assert len(set(after)) == len(after) > len(before)
    names, expected = twin(second, featuriser.text)
    counts = Counter(names[i] for row in expected for i in row)
    kept = [[names[i] for i in row if names[i] in before or counts[names[i]] >= min_count] for row in expected]
    assert [[after[i] for i in row] for row in rows] == kept
    assert as_rows(featuriser.transform(Columns.from_lists(second))) == rows
    fresh = TemplateFeatures(text, min_count=min_count)
    assert as_rows(fresh.extend(Columns.from_lists(first))) == twin(first, text, min_count)[1]


def test_take():
    columns = Columns.from_lists(SENTENCES)
    featuriser = TemplateFeatures(MIXED)
    rows = as_rows(featuriser.fit_transform(columns))
    kept = [7, 0, 12]
    smaller = featuriser.take(kept)
    assert smaller.names() == [featuriser.names()[i] for i in kept]
    assert as_rows(smaller.transform(columns)) == [[kept.index(i) for i in row if i in kept] for row in rows]
    assert sum(len(v) for v in smaller.view_vocabularies) <= 6  # others are not kept
    assert as_rows(featuriser.transform(columns)) == rows
    for bad, error in (([99999], IndexError), ([-1], IndexError), ([1, 1], ValueError)):
        with pytest.raises(error):
            featuriser.take(bad)
    nothing = featuriser.take([])
    assert nothing.n_attributes == 0
    assert as_rows(nothing.transform(columns)) == [[]] * columns.n_tokens


def same_featuriser(a, b, columns):
    assert a.settings() == b.settings()
    assert a.names() == b.names()
    assert as_rows(a.transform(columns)) == as_rows(b.transform(columns))


@pytest.mark.parametrize("hash_bits", [None, 6])
def test_save_copy_pickle(hash_bits):
    columns = Columns.from_lists(SENTENCES)
    featuriser = TemplateFeatures(MIXED, hash_bits=hash_bits)
    featuriser.fit_transform(columns)
    for one in (featuriser, featuriser.take([3, 1])):
        settings_, arrays = one.to_arrays()
        again = TemplateFeatures.from_arrays(json.loads(json.dumps(settings_)), arrays)
        for other in (again, copy.deepcopy(one), copy.copy(one), pickle.loads(pickle.dumps(one))):
            same_featuriser(one, other, columns)
    unfitted = pickle.loads(pickle.dumps(TemplateFeatures("hmm")))
    assert unfitted.fit_transform(columns).n_tokens == columns.n_tokens


def damaged(name, value):
    def change(arrays):
        arrays[name] = value(arrays[name]) if callable(value) else value

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda a: a.pop("attribute_template"), "array 'attribute_template' is missing"),
        (lambda a: a.pop("view_1_offsets"), "array 'view_1_offsets' is missing"),
        (damaged("attribute_values", lambda x: x[:, :1]), "attribute_values must have 2 columns"),
        (damaged("attribute_values", lambda x: x[:-1]), "a row for each attribute"),
        (damaged("attribute_values", lambda x: x + 1000), "has a code, .*, that its template cannot give"),
        (damaged("attribute_values", lambda x: x.astype(np.int64)), "must be a 2-dimensional array of int32"),
        (damaged("attribute_values", lambda x: x[:, 0].copy()), "must be a 2-dimensional array of int32"),
        (damaged("attribute_values", lambda x: np.full_like(x, -1)), "has a code, -1"),
        (damaged("attribute_template", lambda x: x + 99), "there is no template"),
        (damaged("attribute_template", lambda x: x - 99), "there is no template"),
        (damaged("view_0_offsets", lambda x: x[::-1].copy()), "must start at 0"),
        (damaged("view_0_blob", lambda x: np.zeros_like(x)), "are the same"),
    ],
)
def test_damaged_models_are_refused(change, message):
    featuriser = TemplateFeatures(MIXED)
    featuriser.fit_transform(Columns.from_lists([[("a", "b"), ("c", "d"), ("e", "f")]]))
    settings_, arrays = featuriser.to_arrays()
    arrays = dict(arrays)
    change(arrays)
    with pytest.raises(ModelFileError, match=message):
        TemplateFeatures.from_arrays(settings_, arrays)


@pytest.mark.parametrize("settings_", [{}, {"templates": "U:%x["}, {"templates": "B", "colour": 1}, {"templates": 3}])
def test_damaged_settings_are_refused(settings_):
    with pytest.raises(ModelFileError, match="featuriser 'templates': bad settings"):
        TemplateFeatures.from_arrays(settings_, {})
    with pytest.raises(ModelFileError, match="'kept' must be distinct numbers below 16"):
        TemplateFeatures.from_arrays({"templates": "U:%x[0,0]", "hash_bits": 4}, {"kept": np.array([3, 3], np.int32)})


def test_too_few_columns():
    featuriser = TemplateFeatures("U:%x[0,0]\nU:%x[0,2]\n")
    message = r"template line 2, 'U:%x\[0,2\]', looks at column 2, but the data have 1 \(numbered from 0\)"
    with pytest.raises(IncompatibleError, match=message):
        featuriser.fit_transform(Columns.from_lists([["a"]]))
    with pytest.raises(TypeError, match=r"expected Columns, not list; use Columns\.from_lists"):
        featuriser.fit_transform([["a"]])


def test_only_transitions():
    featuriser = TemplateFeatures("B")
    columns = Columns.from_lists(SENTENCES)
    assert as_rows(featuriser.fit_transform(columns, 2)) == [[]] * 8
    assert as_rows(featuriser.transform(columns, 2)) == [[]] * 8
    assert (featuriser.n_attributes, featuriser.names(), featuriser.has_transitions) == (0, [], True)
    again = TemplateFeatures.from_arrays(*featuriser.to_arrays())
    assert again.n_attributes == 0


def test_not_fitted():
    featuriser = TemplateFeatures("chunking")
    for use in (lambda: featuriser.n_attributes, featuriser.names, featuriser.to_arrays, lambda: featuriser.take([0]),
                lambda: featuriser.transform(Columns.from_lists(SENTENCES)), lambda: featuriser.scopes):  # fmt: skip
        with pytest.raises(LoglinearError, match="call fit_transform first"):
            use()


# Hashing


@pytest.mark.parametrize("text", [MIXED, GAPS])
def test_hashing(text):
    columns = Columns.from_lists(SENTENCES)
    featuriser = TemplateFeatures(text, hash_bits=20)
    rows = as_rows(featuriser.fit_transform(columns, 2))
    assert featuriser.n_attributes == 2**20
    names, expected = twin(SENTENCES, text)
    numbers = {}
    for row, keys in zip(rows, expected):
        assert len(row) == len(keys)
        for number, key in zip(row, keys):
            assert numbers.setdefault(key, number) == number
    assert len(set(numbers.values())) == len(numbers)  # 2^18 places are plenty for a few dozen
    scopes = featuriser.scopes
    assert [scopes[numbers[key]] for key in numbers] == [{"U": 1, "u": 1, "b": 2, "*": 3}[names[k][0]] for k in numbers]
    reordered = as_rows(featuriser.transform(Columns.from_lists(SENTENCES[::-1])))
    assert reordered == rows[7:] + rows[3:7] + rows[:3]  # numbers depend on strings alone
    kept = sorted(numbers.values())[:5]
    smaller = featuriser.take(kept)
    assert smaller.names() == [f"#{k}" for k in kept]
    assert as_rows(smaller.transform(columns)) == [[kept.index(i) for i in row if i in kept] for row in rows]
    assert as_rows(featuriser.extend(columns)) == rows


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"min_count": 0}, "min_count must be"),
        ({"min_count": 2.0}, "min_count must be"),
        ({"hash_bits": 1}, "hash_bits must be"),
        ({"hash_bits": 31}, "hash_bits must be"),
        ({"hash_bits": 20, "min_count": 2}, "exclude each other"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(ValueError, match=message):
        TemplateFeatures("chunking", **options)


def test_hashed_attributes_have_no_values():
    featuriser = TemplateFeatures("hmm", hash_bits=8)
    featuriser.fit_transform(Columns.from_lists(SENTENCES))
    with pytest.raises(LoglinearError, match="hashed attributes have no templates and values"):
        featuriser.attribute_values  # noqa: B018
    assert set(featuriser.scopes.tolist()) == {1}


# Threads


@pytest.fixture(scope="module")
def corpus():
    rng = np.random.default_rng(0)
    vocabularies = [Vocabulary.from_strings([f"{c}{i}" for i in range(n)]) for c, n in (("w", 2000), ("t", 20))]
    ptr = np.sort(rng.integers(0, 20_000, 900))
    ptr[0], ptr[-1] = 0, 20_000
    ids = [(len(v) * rng.random(20_000) ** 4).astype(np.int32) for v in vocabularies]
    return Columns(ptr, ids, vocabularies)


@pytest.mark.parametrize("min_count", [1, 3])
def test_threads_do_not_matter(corpus, min_count):
    one = TemplateFeatures("chunking", min_count=min_count)
    rows = one.fit_transform(corpus)
    assert (one.names(), as_rows(rows)) == twin(corpus, one.text, min_count)
    for n_threads in (2, 5):
        many = TemplateFeatures("chunking", min_count=min_count)
        for found in (many.fit_transform(corpus, n_threads), one.transform(corpus, n_threads)):
            assert np.array_equal(found.indptr, rows.indptr)
            assert np.array_equal(found.indices, rows.indices)
        assert np.array_equal(many.attribute_values, one.attribute_values)


def test_transform_in_many_threads(corpus):
    featuriser = TemplateFeatures("chunking")
    rows = featuriser.fit_transform(corpus)
    featuriser = pickle.loads(pickle.dumps(featuriser))  # with no table yet: all threads want it at once
    results = [None] * 6

    def work(i):
        results[i] = featuriser.transform(corpus)

    workers = [threading.Thread(target=work, args=(i,)) for i in range(6)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert all(np.array_equal(found.indices, rows.indices) for found in results)


@pytest.mark.skipif("LOGLINEAR_DATA" not in os.environ, reason="LOGLINEAR_DATA is not set")
def test_chunking_on_real_text():
    columns = Columns.from_conll(read_conll(Path(os.environ["LOGLINEAR_DATA"]) / "conll2000" / "train.txt.gz"))
    featuriser = TemplateFeatures("chunking")
    rows = featuriser.fit_transform(columns.without(-1), n_threads=2)
    assert (rows.n_tokens, rows.indices.size) == (211_727, 211_727 * 19)
    assert featuriser.n_attributes == 338_551


# ---- marks of rows outside the sequence ------------------------------------------------------------------------------
MARKED = """
U0:%x[-1,0]/%x[1,0]
U1:%x[-6,0]
U2:%t[-1,0,"^\\u"]
U3:%m[1,0,".$"]
U4:%X[2,0]
U5:%x[@2,0]
"""


def wapiti_names(words, at):
    """Return the names of MARKED as Wapiti writes them, by its rules."""

    def value(row):
        if row < 0:
            return ["_x-1", "_x-2", "_x-3", "_x-4", "_x-#"][min(-row - 1, 4)]
        return words[row] if row < len(words) else ["_x+1", "_x+2", "_x+3", "_x+4", "_x+#"][min(row - len(words), 4)]

    test = "true" if value(at - 1)[0].isupper() else "false"
    return [
        f"U0:{value(at - 1)}/{value(at + 1)}", f"U1:{value(at - 6)}", f"U2:{test}", f"U3:{value(at + 1)[-1]}",
        f"U4:{value(at + 2).lower()}", f"U5:{value(1)}",
    ]  # fmt: skip


@pytest.mark.parametrize("dialect", ["wapiti", "auto"])
@pytest.mark.parametrize("hash_bits", [None, 12])
def test_marks_of_wapiti_are_values_that_commands_see(dialect, hash_bits):
    sentences = [["The", "dog", "barks", "at", "Bo", "_x-1", "now"], ["Yes"], ["a", "B"]]
    reader = TokenReader.make(
        MARKED, columns=True, oov=False, features=True, min_count=1, hash_bits=hash_bits, dialect=dialect
    )
    X = [[(word,) for word in words] for words in sentences]
    rows = reader.read(X, 1, "fit_transform").rows
    names = reader.featuriser.names()
    found = [[names[k] for k in rows.indices[a:b]] for a, b in itertools.pairwise(rows.indptr)]
    expected = [wapiti_names(words, at) for words in sentences for at in range(len(words))]
    if hash_bits is None:
        assert found == expected
        assert len(set(names)) == len(names)  # a mark and a word of the same text are one attribute, as in Wapiti
    else:  # equal names, equal numbers
        flat = dict(zip(itertools.chain(*expected), itertools.chain(*found)))
        assert [[flat[name] for name in one] for one in expected] == found
    again = reader.read(X, 2)
    np.testing.assert_array_equal(again.rows.indices, rows.indices)


def test_marks_of_crfpp():
    text = "U0:%x[-2,0]\nU1:%x[1,0]\nB\n"
    assert dialect_of(text) == "crf++"
    features = TemplateFeatures(text, dialect="crf++")
    features.fit_transform(Columns.from_lists([[("a",), ("b",)]]))
    assert set(features.names()) == {"U0:_B-2", "U0:_B-1", "U1:b", "U1:_B+1"}
    saved = TemplateFeatures.from_arrays(*features.to_arrays())
    assert saved.names() == features.names()
    assert saved.dialect == "crf++"
    with pytest.raises(FormatError, match=r":2: row 9: CRF\+\+ knows rows up to 8 away; use the dialect 'wapiti'"):
        TemplateFeatures("U0:%x[0,0]\nU1:%x[9,0]", dialect="crf++")
    with pytest.raises(ValueError, match=r"dialect must be one of loglinear, crf\+\+, wapiti, or 'auto', not 'x'"):
        TemplateFeatures("U0:%x[0,0]", dialect="x")


@pytest.mark.parametrize(
    ("text", "dialect"),
    [
        ("U0:%x[0,0]\nB", "crf++"),
        ("U0:%X[0,0]", "wapiti"),
        ("u:%x[0,0]", "wapiti"),
        ("*:%x[0,0]", "wapiti"),
        ("U0:%x[@1,0]", "wapiti"),
        ("U0:%x[-12,0]", "wapiti"),
        ('U0:%t[0,0,"x"]', "wapiti"),
        ("U0:%x[<,0]", "loglinear"),
        ("U0:%c[0,0]", "loglinear"),
    ],
)
def test_the_dialect_is_told_by_the_text(text, dialect):
    assert dialect_of(text) == dialect


def test_older_files_keep_their_marks():
    features = TemplateFeatures("U1:%x[1,0]")
    features.fit_transform(Columns.from_lists([[("a",)]]))
    settings, arrays = features.to_arrays()
    assert "dialect" not in settings  # as files that were written before there was one
    assert TemplateFeatures.from_arrays(settings, arrays).names() == ["U1:_E+1"]


def test_shapes_of_words():
    features = TemplateFeatures("U:%s[0,0]\nU:%s[1,0]")
    columns = Columns.from_lists([[("McDonald-12's",), ("ÉTÉ",), ("élan",), ("1999",), ("",), ("+1",)]])
    features.fit_transform(columns)
    assert {"U:XxXxx-dd'x", "U:XX", "U:xx", "U:dd", "U:", "U:+d", "U:_E+1"} == set(features.names())
    assert dialect_of("U:%s[0,0]") == "loglinear"


def test_sets_for_names_look_at_the_columns_they_name():
    columns = Columns.from_lists([[("Bo", "NNP", "B-NP"), ("ran", "VBD", "B-VP")]])
    names = {}
    for name in ("ner", "ner-tags", "ner-phrases"):
        features = TemplateFeatures(name)
        features.fit_transform(columns)
        names[name] = set(features.names())
    assert names["ner"] < names["ner-tags"] < names["ner-phrases"]
    assert "shape=Xx" in names["ner"]
    assert names["ner-tags"] - names["ner"] >= {"tag=NNP", "tag/next.tag=NNP/VBD", "tag/lower=VBD/ran"}
    assert "previous.phrase/phrase=B-NP/B-VP" in names["ner-phrases"]
