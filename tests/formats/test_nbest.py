import gzip
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loglinear.errors import FormatError, IncompatibleError
from loglinear.formats.nbest import Candidate, CandidateList, merge_duplicates, read_nbest, write_nbest
from loglinear.formats.nbest_stream import iterate_nbest


def write(path, text):
    path.write_text(text, encoding="utf-8")
    return path


def texts(one):
    return [candidate.text for candidate in one.candidates]


# ---- JSON lines -----------------------------------------------------------------------------------------------------
def test_json_lines(tmp_path):
    path = write(
        tmp_path / "a.jsonl",
        '{"id": "u1", "reference": "a b", "hypotheses": [{"text": "a c", "score": -1}, {"text": "a b"}]}\n'
        "\n"
        '{"id": 7, "hypotheses": [{"text": "x", "scores": {"lm": -2.5, "am": null}, "errors": 1,'
        ' "features": {"odd": 1}}, "y"]}\n'
        '{"hypotheses": []}\n',
    )
    lists = read_nbest(path)
    assert [one.id for one in lists] == ["u1", "7", "2"]
    assert lists[0] == CandidateList("u1", [Candidate("a c", {"score": -1.0}), Candidate("a b")], "a b")
    assert lists[1].candidates[0] == Candidate("x", {"lm": -2.5}, 1.0, {"odd": 1.0})
    assert lists[1].reference is None
    assert lists[2].candidates == []


@settings(deadline=None)
@given(
    st.lists(
        st.builds(
            CandidateList,
            st.text(max_size=4),
            st.lists(
                st.builds(
                    Candidate,
                    st.text(),
                    st.dictionaries(st.text(max_size=3), st.floats(allow_nan=False, allow_infinity=False), max_size=2),
                    st.none() | st.floats(0, 1e9),
                    st.dictionaries(st.text(max_size=3), st.floats(-1e9, 1e9), max_size=2),
                ),
                max_size=3,
            ),
            st.none() | st.text(),
        ),
        min_size=1,
        max_size=4,
    )
)
def test_what_is_written_reads_back(tmp_path_factory, lists):
    path = tmp_path_factory.mktemp("nbest") / "a.jsonl"
    write_nbest(path, lists)
    assert read_nbest(path, "jsonl", merge=False) == lists


def test_a_score_that_is_no_number_is_not_written(tmp_path):
    with pytest.raises(FormatError, match="not a finite number"):
        write_nbest(tmp_path / "a", [CandidateList("u", [Candidate("a", {"score": float("nan")})])])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("[1]", "expected a JSON object"),
        ('{"hypotheses": {}}', "needs 'hypotheses', an array"),
        ('{"hypotheses": [{"score": 1}]}', "hypothesis 1 must be an object with a string 'text'"),
        ('{"hypotheses": [{"text": "a", "score": NaN}]}', "NaN is not a finite number; leave the score out"),
        ('{"hypotheses": [{"text": "a", "score": 1e999}]}', "'score' is not a finite number"),
        ('{"hypotheses": [{"text": "a", "score": "high"}]}', "'score' must be a number"),
        ('{"hypotheses": [], "reference": 3}', "'reference' must be a string"),
        ('{"hypotheses": [], "id": [1]}', "'id' must be"),
        ('{"hypotheses": ', "bad JSON at column"),
        ("[" * 100000, "bad JSON"),
    ],
)
def test_bad_json(tmp_path, line, message):
    path = write(tmp_path / "a.jsonl", '{"hypotheses": []}\n' + line + "\n")
    with pytest.raises(FormatError, match=message) as caught:
        read_nbest(path, "jsonl")
    assert str(caught.value).startswith(f"{path}:2: ")


# ---- the forms of others --------------------------------------------------------------------------------------------
def test_srilm_with_one_score(tmp_path):
    path = write(tmp_path / "utt7.nbest", "NBestList1.0\n(-1405) show flights\n( -1500.5 ) show (the) flights\n")
    (one,) = read_nbest(path)
    assert one.id == "utt7"
    assert texts(one) == ["show flights", "show (the) flights"]
    assert [c.scores for c in one.candidates] == [{"score": -1405.0}, {"score": -1500.5}]


def test_srilm_with_times(tmp_path):
    words = "a ( st: 0 et: 0.2 g: -3 a: -10 ) ( b ( st: 0.2 et: 0.4 g: -1.5 a: -20 )"
    path = write(tmp_path / "u.gz.nbest", f"NBestList2.0\n(-55) {words}\n")
    (one,) = read_nbest(path)
    assert one.candidates == [Candidate("a ( b", {"score": -55.0, "acoustic": -30.0, "lm": -4.5})]


def test_srilm_without_a_header(tmp_path):
    path = write(tmp_path / "u", "-1200.5 -13.2 2 show flights\n-1300 -10 0\n")
    (one,) = read_nbest(path)
    assert one.candidates[0] == Candidate("show flights", {"acoustic": -1200.5, "lm": -13.2, "words": 2.0})
    assert one.candidates[1].text == ""


def test_a_folder_of_srilm_lists(tmp_path):
    folder = tmp_path / "lists"
    folder.mkdir()
    write(folder / "u2", "-1 -2 1 b\n")
    write(folder / "u1", "NBestList1.0\n(-3) a\n")
    lists = read_nbest(folder, references=write(tmp_path / "refs", "u1 a\nu2 c\n"))
    assert [(one.id, texts(one), one.reference) for one in lists] == [("u1", ["a"], "a"), ("u2", ["b"], "c")]


def test_moses_and_joshua(tmp_path):
    path = write(
        tmp_path / "a.nbest",
        "0 ||| a b ||| lm= -3.5 tm= -1 -2 d: -4 ||| -9\n"
        "0 ||| a c ||| lm=-3 tm_0=-1 ||| -8 ||| 0-0 1-1\n"
        "1 ||| ||| -1 -2 ||| -3\n"
        "1 ||| x ||| -7\n",
    )
    first, second = read_nbest(path)
    assert first.candidates[0] == Candidate(
        "a b", {"lm": -3.5, "tm_0": -1.0, "tm_1": -2.0, "d": -4.0, "score": -9.0}
    )
    assert first.candidates[1] == Candidate("a c", {"lm": -3.0, "tm_0": -1.0, "score": -8.0})
    assert second.candidates[0] == Candidate("", {"feature_0": -1.0, "feature_1": -2.0, "score": -3.0})
    assert second.candidates[1] == Candidate("x", {"score": -7.0})


def test_a_hypothesis_may_hold_the_separator(tmp_path):
    path = write(tmp_path / "a", "0 ||| a ||| 5 ||| b||| c ||| lm= -1 ||| -3\n")
    assert read_nbest(path)[0].candidates == [Candidate("a ||| 5 ||| b||| c", {"lm": -1.0, "score": -3.0})]


def test_kaldi_with_costs(tmp_path):
    path = write(tmp_path / "text", "utt-1-2 a c\nutt-1-1 a b\nutt-2-1\n")
    costs = write(tmp_path / "lm_cost", "utt-1-1 3.5\nutt-1-2 4\nutt-2-1 1\n")
    lists = read_nbest(path, costs={"lm": costs})
    assert [one.id for one in lists] == ["utt-1", "utt-2"]
    assert lists[0].candidates == [Candidate("a b", {"lm": -3.5}), Candidate("a c", {"lm": -4.0})]
    assert texts(lists[1]) == [""]
    with pytest.raises(FormatError, match="1 costs for the 2 candidates of 'utt-1'"):
        read_nbest(path, costs={"lm": write(tmp_path / "few", "utt-1-1 3.5\n")})


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("NBestList3.0\n(1) a\n", 1, "versions 1.0 and 2.0"),
        ("NBestList1.0\n1 a\n", 2, r"expected '\(score\) word"),
        ("NBestList1.0\n(nan) a\n", 2, "the score is nan; leave the candidate out"),
        ("NBestList2.0\n(1) a ( st: 0\n", 2, "not closed"),
        ("-1 -2 1 a\n-1 inf 1 a\n", 2, "the language model score is inf"),
        ("-1 -2 1 a\n-1\n", 2, "expected 'acoustic-score"),
        ("0 ||| a ||| lm= -1 ||| -1\n0 ||| a\n", 2, "fewer than three fields"),
        ("0 ||| a ||| lm= x ||| -1\n", 1, "no field of scores"),
        ("0 ||| a ||| lm= -1 ||| nan\n", 1, "the total score is nan"),
        ("0 1 ||| a ||| lm= -1 ||| 1\n", 1, "must be one word"),
        ("u-1 a\nu-1 b\n", 2, "'u-1' is there twice"),
        ("u-1 a\nu b\n", 2, "does not end in '-'"),
        ("u-1 a\nu-" + "9" * 5000 + " b\n", 2, "does not end in '-'"),
    ],
)
def test_bad_lines_are_refused_with_their_place(tmp_path, text, line, message):
    path = write(tmp_path / "a", text)
    with pytest.raises(FormatError, match=message) as caught:
        read_nbest(path)
    assert str(caught.value).startswith(f"{path}:{line}: ")


def test_the_format(tmp_path):
    path = write(tmp_path / "a", "what is this\n")
    with pytest.raises(FormatError, match="cannot be guessed"):
        read_nbest(path)
    with pytest.raises(IncompatibleError, match="unknown n-best format 'xml'"):
        read_nbest(path, "xml")
    with pytest.raises(FormatError, match="there are no lists"):
        read_nbest(write(tmp_path / "b", "\n"), "jsonl")
    packed = tmp_path / "c.gz"
    packed.write_bytes(gzip.compress(b'{"hypotheses": ["a"]}\n'))
    assert texts(read_nbest(packed)[0]) == ["a"]


def test_references(tmp_path):
    path = write(tmp_path / "a", "u-1 a\nu-2 b\nv-1 c\n")
    by_id = read_nbest(path, references=write(tmp_path / "r", "v\tc d\nu a b\n"))
    assert [one.reference for one in by_id] == ["a b", "c d"]
    in_order = read_nbest(path, references=write(tmp_path / "s", "one text\nanother\n"))
    assert [one.reference for one in in_order] == ["one text", "another"]
    with pytest.raises(FormatError, match="no reference for list 'v'"):
        read_nbest(path, references=write(tmp_path / "t", "u a b\nw c\n"))


# ---- in memory ------------------------------------------------------------------------------------------------------
def test_duplicates_are_merged():
    one = CandidateList(
        "u",
        [
            Candidate("a  b", {"am": -2.0, "lm": -5.0}),
            Candidate("c", {"am": -1.0}),
            Candidate(" a b ", {"am": -1.5, "lm": -6.0, "x": 1.0}, 2.0),
        ],
        "a b",
    )
    (merged,) = merge_duplicates([one])
    assert texts(merged) == ["a  b", "c"]
    assert merged.candidates[0].scores == {"am": -1.5, "lm": -5.0, "x": 1.0}
    assert merged.candidates[0].errors == 2.0
    assert merge_duplicates([merged])[0] is merged
    with pytest.raises(ValueError, match="with 1 and with 2 errors"):
        merge_duplicates([CandidateList("u", [Candidate("a", {}, 1.0), Candidate("a", {}, 2.0)])])


def test_lists_of_a_file_some_at_a_time(tmp_path):
    files = {
        "jsonl": '{"hypotheses": ["a", "b"]}\n\n{"id": "x", "hypotheses": ["c"]}\n{"hypotheses": ["d"]}',
        "moses": "0 ||| a ||| -1\n0 ||| b ||| -2\n\n1 ||| c ||| -3\n2 ||| d ||| -4\n2 ||| e ||| -4",
        "kaldi": "u-1 a\nu-2 b\nv-1 c\n",
        "srilm": "NBestList1.0\n(-1) a\n\n(-2) b\n",
    }
    for text in files.values():
        path = write(tmp_path / "lists", text)
        whole = read_nbest(path)
        for size in (1, 20, 1 << 20):
            some = list(iterate_nbest(path, size=size))
            assert [one for lists in some for one in lists] == whole
            assert size > 1 or len(some) == len(whole)
    path = write(tmp_path / "lists", files["kaldi"])
    costs = {"lm": write(tmp_path / "costs", "u-1 1\nu-2 2\nv-1 3\n")}
    assert [one for lists in iterate_nbest(path, costs=costs, size=1) for one in lists] == read_nbest(path, costs=costs)


def test_lists_some_at_a_time_refuse(tmp_path):
    path = write(tmp_path / "scattered", "0 ||| a ||| -1\n1 ||| b ||| -2\n0 ||| c ||| -3\n")
    with pytest.raises(FormatError, match=r"scattered: the lines of list '0' are not together; sort the file by its"):
        list(iterate_nbest(path, size=1))
    path = write(tmp_path / "bad", '{"hypotheses": ["a"]}\n{"hypotheses": 3}\n')
    with pytest.raises(FormatError, match=r"bad:2: the object needs 'hypotheses'"):
        list(iterate_nbest(path, size=1))
    with pytest.raises(FormatError, match=r"empty: there are no lists"):
        list(iterate_nbest(write(tmp_path / "empty", "\n\n")))


# ---- lists as others write them --------------------------------------------------------------------------------------
def timed(token, start, end, lm, acoustic):
    return f"{token} ( st: {start} et: {end} g: {lm} a: {acoustic} )"


def test_phones_and_states_of_srilm_are_no_words(tmp_path):
    """Seen: 64 of 64 real lists became phones with doubled scores."""
    tokens = [
        timed("show", 0.00, 0.30, -20, -100), timed("[sh]ow", 0.00, 0.10, 0, -60), timed("sh-1", 0.00, 0.05, 0, -30),
        timed("sh-2", 0.31, 0.32, 0, -30),  # a state with a wrong time
        timed("sh[ow]", 0.11, 0.30, 0, -40),
        timed("me", 0.31, 0.50, -10, -50), timed("m", 0.31, 0.40, 0, -25), timed("iy", 0.41, 0.50, 0, -25),
    ]  # fmt: skip
    path = write(tmp_path / "u.nbest", f"NBestList2.0\n(-180) {' '.join(tokens)}\n")
    (one,) = read_nbest(path)
    assert one.candidates == [Candidate("show me", {"score": -180.0, "acoustic": -150.0, "lm": -30.0})]


def test_segment_marks_of_moses_are_no_words(tmp_path):
    lines = "0 ||| this |0-0| is a |1-2,wa=0-0| house |3-3| ||| lm= -3 ||| -4\n0 ||| a |b| c ||| lm= -5 ||| -6\n"
    (one,) = read_nbest(write(tmp_path / "moses.txt", lines))
    assert [c.text for c in one.candidates] == ["this is a house", "a |b| c"]


@pytest.mark.parametrize("indent", [None, 2])
def test_json_arrays_and_other_names_of_fields(tmp_path, indent):
    records = [
        {"input": ["a b", "a c"], "output": "a b"},
        {"utt_id": 7, "nbest": [{"hyp": "x", "log_prob": -1.5}], "ref": "x"},
    ]
    path = write(tmp_path / "lists.json", json.dumps(records, indent=indent))
    first, second = read_nbest(path)
    assert (first.id, first.reference, [c.text for c in first.candidates]) == ("0", "a b", ["a b", "a c"])
    assert (second.id, second.reference) == ("7", "x")
    assert second.candidates == [Candidate("x", {"score": -1.5})]
    assert list(iterate_nbest(path)) == [[first, second]]
    lines = write(tmp_path / "lists.jsonl", "".join(json.dumps(record) + "\n" for record in records))
    assert read_nbest(lines) == [first, second]
    with pytest.raises(FormatError, match=r"lists\.json, list 2: the object needs 'hypotheses'"):
        read_nbest(write(tmp_path / "lists.json", json.dumps([records[0], {"output": "x"}])))
    with pytest.raises(FormatError, match=r"lists\.json:1: bad JSON"):
        read_nbest(write(tmp_path / "lists.json", "[{]"))
