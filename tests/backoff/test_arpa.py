"""ARPA files: round trips, other writers' habits, refusals by message and line, and the real kenlm."""

import gzip
import lzma
import math
import re

import numpy as np
import pytest
from backoff_models import all_log_p, arrange, dictionaries, random_model
from hypothesis import given, settings
from hypothesis import strategies as st

from loglinear.backoff.arpa import read_arpa, write_arpa
from loglinear.errors import FormatError
from loglinear.features.word_vocabulary import WordVocabulary
from tests.packing import zstd

LN10 = math.log(10)
SMALL = """\\data\\
ngram 1=5
ngram 2=3
ngram 3=1

\\1-grams:
-1\t<unk>
-99\t<s>\t-0.5
-0.7\t</s>
-0.3\ta\t-0.25
-0.9\tb\t-0.125

\\2-grams:
-0.2\t<s> a\t-0.1
-0.4\ta b
-0.6\tb </s>

\\3-grams:
-0.1\t<s> a b

\\end\\
"""


def read(tmp_path, text):
    path = tmp_path / "model.arpa"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_arpa(path)


def round_trip(model, tmp_path, full_precision=True, **options):
    write_arpa(model, tmp_path / "again.arpa", full_precision, **options)
    return read_arpa(tmp_path / "again.arpa", **options)


def numbered(model, words):
    """A history and a word of the text as numbers."""
    *history, word = words.split()
    ids = {word: i for i, word in enumerate(model.vocabulary)} | {"<s>": model.vocabulary.begin}
    return tuple(ids[w] for w in reversed(history)), ids[word]


def test_a_file_by_hand(tmp_path):
    model = read(tmp_path, SMALL)
    assert list(model.vocabulary) == ["</s>", "<unk>", "a", "b"]
    assert model.order == 3
    entries, backoffs = dictionaries(model)
    assert entries[numbered(model, "<s> a b")] == pytest.approx(-0.1 * LN10, rel=1e-15)
    assert entries[numbered(model, "b </s>")] == pytest.approx(-0.6 * LN10, rel=1e-15)
    assert entries[numbered(model, "</s>")] == pytest.approx(-0.7 * LN10, rel=1e-15)
    begin, a, b = 4, 2, 3
    expected = {(): 0, (begin,): -0.5, (a,): -0.25, (b,): -0.125, (a, begin): -0.1}
    assert {h: v / LN10 for h, v in backoffs.items()} == pytest.approx(expected)


@pytest.mark.parametrize("change", [
    lambda t: t.replace("\t", " "),
    lambda t: t.replace("\t", " \t  "),
    lambda t: t.replace("\n", "\r\n"),
    lambda t: t.replace("\n", " \t\n"),
    lambda t: t.replace("\n-", "\n\n-"),
    lambda t: "# made by hand\n\\a line with a backslash\n\n" + t,
    lambda t: "\ufeff" + t,
    lambda t: t + "and more\n\\1-grams:\n",
    lambda t: t.removesuffix("\n"),
    lambda t: t.replace("<unk>", "<UNK>"),
    lambda t: t.replace("-99\t<s>", "0\t<s>"),  # as KenLM writes it
    lambda t: t.replace("<s> a b", "<s> a b\t0"),
    lambda t: t.replace("-0.5", "-5.0E-1").replace("-0.3\t", "-.3\t"),
    lambda t: t.replace("ngram 2=3", "ngram 2 = 3"),
    lambda t: t.replace("ngram 2=3", "ngram 2=4").replace("-0.4\ta b", "-2\ta <s>\t-3\n-0.4\ta b"),
], ids=["blanks", "more blanks", "crlf", "blanks at ends", "blank lines", "comments", "mark", "after the end",
        "no last line end", "UNK", "begin is 0", "backoff 0", "numbers", "header", "begin inside"])  # fmt: skip
def test_habits_of_other_writers(tmp_path, change):
    model, other = read(tmp_path, SMALL), read(tmp_path, change(SMALL))
    assert other.vocabulary == model.vocabulary
    for name, array in vars(model).items():
        if isinstance(array, np.ndarray):
            np.testing.assert_array_equal(getattr(other, name), array)


def test_a_closed_vocabulary_and_zero_probabilities(tmp_path):
    text = SMALL.replace("-1\t<unk>\n", "").replace("1=5", "1=4").replace("-0.4\ta b", "-inf\ta b")
    model = read(tmp_path, text)
    assert not model.vocabulary.is_open
    assert dictionaries(model)[0][numbered(model, "a b")] == -math.inf
    write_arpa(model, tmp_path / "again.arpa")
    assert "-99\ta b" in (tmp_path / "again.arpa").read_text()


def test_tiny_positive_logarithms_are_rounding(tmp_path):
    model = read(tmp_path, SMALL.replace("-0.4\ta b", "2e-05\ta b"))
    assert dictionaries(model)[0][numbered(model, "a b")] == 0.0


def test_a_pruned_file_is_completed(tmp_path):
    """The end (b a) of (b a b) has no line, nor has its beginning: contexts are made, with a back-off of 1."""
    model = read(tmp_path, SMALL.replace("3=1", "3=2").replace("<s> a b", "<s> a b\n-0.3\tb a </s>"))
    entries, backoffs = dictionaries(model)
    history, word = numbered(model, "b a </s>")
    assert entries[history, word] == pytest.approx(-0.3 * LN10)
    assert backoffs[history] == 0.0
    again = round_trip(model, tmp_path)
    for key, value in all_log_p(model).items():
        assert all_log_p(again)[key] == pytest.approx(value, abs=1e-13)
    assert re.search(r"\tb a\n", (tmp_path / "again.arpa").read_text())


@pytest.mark.parametrize(("old", "new", "line", "message"), [
    ("\\data\\", "\\dato\\", 1, r"no line \\data\\"),
    ("ngram 1=5\nngram 2=3\nngram 3=1\n", "", 2, "lists no n-grams"),
    ("ngram 2=3", "ngram 3=3", 3, "expected 2 and found 3"),
    ("ngram 2=3", "ngrams 2=3", 3, "ORDER=COUNT"),
    ("ngram 2=3", "ngram 2", 3, "no '='"),
    ("ngram 2=3", "ngram 2=x", 3, "number is missing"),
    ("ngram 2=3", "ngram 2=3 3", 3, "found more"),
    ("ngram 2=3", "ngram 2=99999999999999999999999", 3, "too large"),
    ("ngram 2=3", "ngram 2=4", 13, "header says 4 n-grams of order 2 and the section has 3"),
    ("ngram 2=3", "ngram 2=1000000000000000000", 13, "the section has 3"),
    ("\\2-grams:", "\\3-grams:", 13, r"expected \\2-grams: and found '\\3-grams:'"),
    ("\\end\\", "", 21, r"ends before its \\end\\; it is truncated"),
    ("\\3-grams:\n-0.1\t<s> a b\n\n\\end\\\n", "", 17, r"ends before its \\3-grams:"),
    ("a b\n-0.6", "a c\n-0.6", 15, "'c' is not among the unigrams"),
    ("b </s>", "a b", 16, "'a b' is there twice"),
    ("-0.9\tb", "-0.9\ta", 11, "'a' is there twice"),
    ("-0.4\ta b", "0.4\ta b", 15, "above one"),
    ("-0.3\ta\t", "0.3\ta\t", 10, "above one"),
    ("-0.4\ta b", "nan\ta b", 15, "'nan' is not a number"),
    ("-0.4\ta b", "inf\ta b", 15, "'inf' is not a number"),
    ("-0.4\ta b", "-0.4x\ta b", 15, "'-0.4x' is not a number"),
    ("-0.25", "NaN", 10, "'NaN' is not a number"),
    ("-0.25", "1e400", 10, "'1e400' is not a number"),
    ("-0.4\ta b", "-0.4\ta", 15, "2 fields among the n-grams of order 2"),
    ("-0.4\ta b", "-0.4\ta b a -1", 15, "5 fields among the n-grams of order 2"),
    ("<s> a b", "<s> a b\t-0.5", 19, "back-off at the highest order"),
    ("</s>", "</S>", 6, "no </s>"),
    ("-1\t<unk>", "-1\t\xff", 7, "not valid utf-8"),
    ("-1\t<unk>", "-1\ta\x00b", 7, "NUL"),
    ("-1\t<unk>", "-1\ta\rb", 7, "carriage return"),
], ids=str)  # fmt: skip
def test_refusals_name_the_line(tmp_path, old, new, line, message):
    assert old in SMALL
    with pytest.raises(FormatError, match=message) as error:
        read(tmp_path, SMALL.replace(old, new).encode("latin-1"))
    assert error.value.line == line
    assert str(error.value).startswith(f"{tmp_path / 'model.arpa'}:{line}: ")


def test_refusals_without_a_line(tmp_path):
    with pytest.raises(FormatError, match="not an ARPA file"):
        read(tmp_path, b"")
    with pytest.raises(FormatError, match="no such file"):
        read_arpa(tmp_path / "absent")
    (tmp_path / "cut.gz").write_bytes(gzip.compress(SMALL.encode())[:-9])
    with pytest.raises(FormatError, match="truncated"):
        read_arpa(tmp_path / "cut.gz")


@settings(deadline=None, max_examples=60)
@given(st.binary(max_size=20), st.integers(0, len(SMALL)), st.integers(0, 12))
def test_damage_is_refused_or_read(tmp_path_factory, inserted, at, removed):
    data = SMALL.encode()
    try:
        model = read(tmp_path_factory.getbasetemp(), data[:at] + inserted + data[at + removed :])
    except FormatError:
        return
    assert not np.isnan(model.log_probability).any()


def test_every_truncation_is_refused(tmp_path):
    whole = SMALL.encode().removesuffix(b"\\\n")
    for size in range(len(whole)):
        with pytest.raises(FormatError):
            read(tmp_path, whole[:size])


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 10**6), st.integers(1, 4), st.integers(0, 12), st.booleans())
def test_full_precision_reads_back_as_the_same_doubles(tmp_path_factory, seed, order, n_contexts, is_open):
    folder = tmp_path_factory.getbasetemp()
    model = random_model(seed, 4, order, n_contexts, is_open)
    again = round_trip(model, folder)
    assert again.vocabulary == model.vocabulary
    entries, backoffs = dictionaries(model)
    written, written_backoffs = dictionaries(again)
    assert {e: p for e, p in written.items() if e in entries} == entries
    assert {h: b for h, b in written_backoffs.items() if b} == {h: b for h, b in backoffs.items() if b}
    expected = all_log_p(model)
    for key, value in all_log_p(again).items():
        assert value == pytest.approx(expected[key], abs=1e-12)
    lines = re.findall(r"^-\S+\t([^\t\n]+)", (folder / "again.arpa").read_text(), re.MULTILINE)
    assert len(lines) == len(set(lines))
    for words in (line.split() for line in lines):  # every beginning and every end is a line
        assert len(words) == 1 or {" ".join(words[1:]), " ".join(words[:-1])} <= set(lines)
    assert (round_trip(again, folder).log_probability == again.log_probability).all()


@pytest.mark.parametrize("seed", range(5))
def test_seven_digits_keep_sums_of_one(tmp_path, seed):
    again = round_trip(random_model(seed, 5, 3, 10), tmp_path, full_precision=False)
    p = all_log_p(again)
    for history in {h for h, _ in p}:
        assert sum(math.exp(v) for (h, _), v in p.items() if h == history) == pytest.approx(1, abs=1e-5)
    numbers = re.findall(r"-?\d+\.?\d*(?=\t|\n)", (tmp_path / "again.arpa").read_text())
    assert max(len(n.strip("-0.").replace(".", "")) for n in numbers) == 7


def test_threads_and_compression_change_nothing(tmp_path):
    model = random_model(3, 6, 3, 40)
    texts = []
    for n_threads in (1, 2, 3):
        write_arpa(model, tmp_path / "plain.arpa", n_threads=n_threads)
        texts.append((tmp_path / "plain.arpa").read_bytes())
    write_arpa(model, tmp_path / "model.arpa.gz")
    write_arpa(model, tmp_path / "model.arpa.xz")
    write_arpa(model, tmp_path / "model.arpa.zst")
    texts.append(gzip.decompress((tmp_path / "model.arpa.gz").read_bytes()))
    texts.append(lzma.decompress((tmp_path / "model.arpa.xz").read_bytes()))
    texts.append(zstd.decompress((tmp_path / "model.arpa.zst").read_bytes()))
    assert all(text == texts[0] for text in texts)
    np.testing.assert_array_equal(
        read_arpa(tmp_path / "model.arpa.gz", n_threads=1).log_probability,
        read_arpa(tmp_path / "plain.arpa", n_threads=3).log_probability,
    )


def test_shuffled_lines_give_the_same_probabilities(tmp_path):
    model = random_model(5, 6, 4, 60)
    write_arpa(model, tmp_path / "model.arpa", True)
    head, *sections = re.split(r"(?m)^(?=\\)", (tmp_path / "model.arpa").read_text())
    rng = np.random.default_rng(0)
    for i, section in enumerate(sections):
        title, *lines = section.strip().split("\n")
        if "grams" in title:
            sections[i] = "\n".join([title, *rng.permutation(lines), "", ""])
    shuffled = read(tmp_path, head + "".join(sections))

    def by_words(model):
        names = [model.vocabulary.word(i) for i in range(model.vocabulary.n_words + 1)]
        entries, backoffs = dictionaries(model)
        return {(tuple(names[w] for w in h), names[x]): p for (h, x), p in entries.items()}, {
            tuple(names[w] for w in h): b for h, b in backoffs.items()
        }

    assert by_words(shuffled) == by_words(read_arpa(tmp_path / "model.arpa"))


@pytest.mark.parametrize("word", ["a b", "", "a\tb", "a\n"])
def test_words_that_no_line_can_hold(tmp_path, word):
    vocabulary = WordVocabulary.from_words([word])
    entries = {((), w): -math.log(3) for w in range(3)}
    with pytest.raises(FormatError, match="cannot write the word"):
        write_arpa(arrange(vocabulary, 1, entries, {}), tmp_path / "model.arpa")
    assert not (tmp_path / "model.arpa").exists()


@pytest.mark.parametrize("full_precision", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_kenlm_reads_the_same_scores(tmp_path, seed, full_precision):
    kenlm = pytest.importorskip("kenlm")
    model = random_model(seed, 6, 2 + seed % 3, 25)
    write_arpa(model, tmp_path / "model.arpa", full_precision)
    theirs = kenlm.Model(str(tmp_path / "model.arpa"))
    p = all_log_p(model)
    rng = np.random.default_rng(seed)
    for _ in range(50):
        sentence = rng.integers(1, 6, size=rng.integers(0, 7)).tolist()
        history, total = (model.vocabulary.begin,), 0.0
        for word in [*sentence, 0]:
            total += p[history[: model.order - 1], word]
            history = (word, *history)
        text = " ".join(model.vocabulary.word(w) if w > 1 else "unheard-of" for w in sentence)
        assert theirs.score(text) == pytest.approx(total / LN10, abs=1e-4)


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("-0.9\tb", "-0.1\tb", r":6: the probabilities of the words sum to 1\.595;"),
        ("-0.4\ta b", "-0.4\ta b\n-0.1\ta a", r":15: the probabilities of the words after 'a' sum to 1\.192;"),
        ("-0.1\t<s> a b", "-0.1\t<s> a b\n-0.2\t<s> a a", r":19: .* after '<s> a' sum to 1\.425;"),
    ],
)
@pytest.mark.parametrize("entries", [1, 1 << 20])
def test_a_model_that_is_no_distribution_is_told_with_the_line(tmp_path, monkeypatch, old, new, told, entries):
    monkeypatch.setattr("loglinear.backoff.arpa._ENTRIES", entries)
    text = SMALL.replace(old, new)
    for n in (2, 3):
        section = text.partition(f"\\{n}-grams:\n")[2].partition("\n\n")[0].splitlines()
        text = re.sub(f"ngram {n}=.*", f"ngram {n}={len(section)}", text)
    path = tmp_path / "m.arpa"
    path.write_text(text)
    with pytest.warns(UserWarning, match=r"m\.arpa" + told):
        read_arpa(path)


def test_a_distribution_gives_no_warning(tmp_path, recwarn):
    path = tmp_path / "m.arpa"
    path.write_text(SMALL.replace("-0.3\ta", "-0.35\ta"))  # all in all 0.1 + 0.2 + 0.447 + 0.126
    read_arpa(path)
    assert not recwarn.list
