import gzip
import io
import itertools
import lzma
import os
import sys
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loglinear.data.corpus import iter_corpus, read_corpus
from loglinear.data.sentences import UnknownWords
from loglinear.errors import FormatError
from loglinear.features.word_vocabulary import WordVocabulary

TEXT = " the cat sat \n\nthe <unk> ran\r\n \t\n  the cat\vran\tfar"


def rows(sentences):
    return [sentences.words[a:b].tolist() for a, b in itertools.pairwise(sentences.sentence_ptr.tolist())]


def words_of(sentences, vocabulary):
    return [[vocabulary.word(number) for number in row] for row in rows(sentences)]


def twin(data, vocabulary=None, *, min_count=1, max_words=None, keep_empty=False):
    """Rows of numbers and the words in order, for words in an open vocabulary."""
    lines = data.split(b"\n")
    if lines[-1] == b"":
        lines.pop()
    sentences = [[word.decode() for word in line.split()] for line in lines]
    if vocabulary is None:
        counts = Counter(word for sentence in sentences for word in sentence if word != "<unk>")
        chosen = [word for word, count in counts.most_common() if count >= min_count][:max_words]
        vocabulary = ["</s>", "<unk>", *chosen]
    numbers = {word: i for i, word in enumerate(vocabulary)}
    return [[numbers.get(w, 1) for w in s] for s in sentences if s or keep_empty], vocabulary


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "corpus.txt"
    path.write_bytes(TEXT.encode())
    return path


def test_reads(file):
    sentences, vocabulary = read_corpus(file)
    assert list(vocabulary) == ["</s>", "<unk>", "the", "cat", "ran", "sat", "far"]
    assert rows(sentences) == [[2, 3, 5], [2, 1, 4], [2, 3, 4, 6]]
    assert sentences.n_words == vocabulary.n_words == 7
    assert sentences.words.dtype == np.uint32
    assert sentences.sentence_ptr.dtype == np.int64
    assert sentences.unknown == UnknownWords(0, 0, 1, ())


def random_text(seed, n_lines=3000):
    rng = np.random.default_rng(seed)
    words = [f"w{i}" for i in range(500)] + ["é", "<unk>", "日本"]
    draws = np.minimum(rng.zipf(1.3, size=n_lines * 12) - 1, len(words) - 1)
    blanks = [" ", "  ", "\t", "\n", "\n\n", " \r\n", "\f"]
    return "".join(words[w] + blanks[rng.integers(len(blanks))] for w in draws).encode()


@pytest.mark.parametrize("choice", [{}, {"min_count": 3}, {"max_words": 40}, {"min_count": 5, "max_words": 1}])
def test_equals_plain_python_on_any_number_of_threads(tmp_path, choice):
    data = random_text(1)
    path = tmp_path / "text"
    path.write_bytes(data)
    expected, words = twin(data, **choice)
    for n_threads in (1, 2, 5):
        sentences, vocabulary = read_corpus(path, n_threads=n_threads, **choice)
        assert list(vocabulary) == words
        assert rows(sentences) == expected
        assert sentences.unknown.n_tokens + sentences.unknown.n_literal == sum(row.count(1) for row in expected)


blobs = st.lists(st.sampled_from(["a", "b", "é", "<unk>", "<", " ", "\n", "\r", "\t", "\n\n", "\u2028", "\x1c"]))


@settings(deadline=None, max_examples=150)
@given(blobs, st.integers(1, 3), st.integers(1, 30), st.booleans())
def test_any_text(pieces, n_threads, block, keep_empty):
    data = "".join(pieces).encode()
    expected, words = twin(data)
    source = [line.decode() for line in data.split(b"\n")]
    if not any(expected):
        with pytest.raises(FormatError, match="there are no words"):
            read_corpus(iter(source), n_threads=n_threads)
        return
    sentences, vocabulary = read_corpus(iter(source), n_threads=n_threads)
    assert rows(sentences) == expected
    assert list(vocabulary) == words
    blocks = list(iter_corpus(iter(source), vocabulary, block, keep_empty=keep_empty))
    found = [row for b in blocks for row in rows(b.sentences)]
    assert [row for row in found if row] == expected
    if keep_empty:
        assert len(found) == sum(b.n_lines for b in blocks) == len(source)


def test_all_sources_are_equal(file, tmp_path, monkeypatch):
    expected, vocabulary = read_corpus(file)
    (tmp_path / "a.gz").write_bytes(gzip.compress(TEXT.encode()))
    (tmp_path / "a.xz").write_bytes(lzma.compress(TEXT.encode()))
    (tmp_path / "marked").write_bytes(b"\xef\xbb\xbf" + TEXT.encode())
    (tmp_path / "wide").write_bytes(TEXT.encode("utf-16"))
    lines = TEXT.split("\n")
    (tmp_path / "first").write_bytes("\n".join(lines[:2]).encode())
    (tmp_path / "second").write_bytes("\n".join(lines[2:]).encode())
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(TEXT.encode())))
    sources = [
        tmp_path / "a.gz", str(tmp_path / "a.xz"), tmp_path / "marked", "-", lines, tuple(lines), iter(lines),
        [line.split() for line in lines], (line.split() for line in lines), [lines[0], *[s.split() for s in lines[1:]]],
        [tmp_path / "first", tmp_path / "second"], [str(tmp_path / "first"), str(tmp_path / "second")],
    ]  # fmt: skip
    for source in sources:
        sentences, words = read_corpus(source)
        assert rows(sentences) == rows(expected)
        assert words == vocabulary
    assert read_corpus(tmp_path / "wide", encoding="utf-16")[1] == vocabulary


def test_a_given_vocabulary_and_what_it_lacks(file):
    vocabulary = WordVocabulary.from_words(["ran", "the"])
    sentences, same = read_corpus(file, vocabulary=vocabulary)
    assert same is vocabulary
    assert rows(sentences) == [[3, 1, 1], [3, 1, 2], [3, 1, 2, 1]]
    where = str(file)
    assert sentences.unknown == UnknownWords(4, 3, 1, (("cat", where, 1), ("sat", where, 1), ("far", where, 5)))


def test_a_vocabulary_file_is_numbered_by_frequency_in_the_text(file, tmp_path):
    (tmp_path / "words").write_text("never\nsat\n<s>\nran\n<unk>\nalso-never\nthe\n")
    sentences, vocabulary = read_corpus(file, vocabulary_file=tmp_path / "words")
    assert list(vocabulary) == ["</s>", "<unk>", "the", "ran", "sat", "never", "also-never"]
    assert rows(sentences)[0] == [2, 1, 4]
    (tmp_path / "words").write_text("far\nthe\ncat\n")
    closed = read_corpus(["the cat", "the far"], vocabulary_file=tmp_path / "words", unknown="error")[1]
    assert list(closed) == ["</s>", "the", "far", "cat"]


def test_a_closed_vocabulary_refuses_and_says_what_and_where(file):
    sentences, vocabulary = read_corpus(["a b", "b"], unknown="error")
    assert list(vocabulary) == ["</s>", "b", "a"]
    assert not vocabulary.is_open
    assert rows(sentences) == [[2, 1], [1]]
    with pytest.raises(FormatError, match=r"corpus.txt:1: the word 'the' is not in the vocabulary, which is closed"):
        read_corpus(file, vocabulary=vocabulary)
    with pytest.raises(FormatError, match=r"corpus.txt:3: the word '<unk>' is not .*\(unknown='token'\)"):
        read_corpus(file, unknown="error")
    with pytest.raises(FormatError, match=r"<sentences>:2: the word 'c' is not in the vocabulary"):
        read_corpus(["a a", "c"], unknown="error", min_count=2)
    with pytest.raises(FormatError, match=r"<sentences>:4: the word 'zebra'"):
        list(iter_corpus(["a", "", "b", "zebra"], vocabulary, 1))
    with pytest.raises(FormatError, match=r"<sentences>:1: the word 'cow'"):
        read_corpus(["cow"], vocabulary=WordVocabulary.from_words(["a"]), unknown="error")


def test_boundary_symbols_in_text(tmp_path):
    for symbol in ("<s>", "</s>"):
        (tmp_path / "f").write_text(f"a b\nc {symbol} d\n{symbol}\n")
        with pytest.raises(FormatError, match=rf"f:2: '{symbol}' is reserved .*reserved='skip'"):
            read_corpus(tmp_path / "f")
        sentences, vocabulary = read_corpus(tmp_path / "f", reserved="skip")
        assert words_of(sentences, vocabulary) == [["a", "b"], ["c", "d"]]
        (block,) = iter_corpus(tmp_path / "f", vocabulary, reserved="skip")
        assert words_of(block.sentences, vocabulary) == [["a", "b"], ["c", "d"], []]


def test_empty_corpora(tmp_path):
    (tmp_path / "empty").write_bytes(b"")
    (tmp_path / "blank").write_bytes(b" \n\n")
    with pytest.raises(FormatError, match="empty: there are no words; give text with at least one"):
        read_corpus(tmp_path / "empty")
    with pytest.raises(FormatError, match=r"empty, .*blank: there are no words"):
        read_corpus([tmp_path / "empty", tmp_path / "blank"])
    for sentences in ([], iter([]), [""], [[]]):
        with pytest.raises(FormatError, match="<sentences>: there are no words"):
            read_corpus(sentences)
    assert list(iter_corpus(tmp_path / "empty", WordVocabulary.from_words([]))) == []


def test_bytes_that_are_no_text(tmp_path):
    (tmp_path / "good").write_bytes(b"a b\n" * 10)
    (tmp_path / "nul").write_bytes(b"a\nb\n\0c\n")
    (tmp_path / "latin").write_bytes("a\nété\n".encode("latin-1"))
    vocabulary = WordVocabulary.from_words(["a"])
    for units in ("words", "characters"):
        with pytest.raises(FormatError, match="nul:3: a NUL byte"):
            read_corpus([tmp_path / "good", tmp_path / "nul"], units=units)
        with pytest.raises(FormatError, match=r"latin:2: .*'\\xe9.*is not valid utf-8; .*--encoding"):
            read_corpus([tmp_path / "good", tmp_path / "latin", tmp_path / "nul"], units=units)
        with pytest.raises(FormatError, match="nul:3: a NUL byte"):
            list(iter_corpus(tmp_path / "nul", vocabulary, 2, units=units))
    with pytest.raises(FormatError, match="<sentences>:2: a NUL byte"):
        read_corpus(["a", "b\0"])
    with pytest.raises(FormatError, match=r"<sentences>:2: .*half of a surrogate pair"):
        read_corpus(["a", "b\ud800"])
    assert "été" in read_corpus(tmp_path / "latin", encoding="latin-1")[1]
    for size in (1, 3, 100):
        blocks = list(iter_corpus(tmp_path / "latin", WordVocabulary.from_words(["été"]), size, encoding="latin-1"))
        assert [row for block in blocks for row in rows(block.sentences)] == [[1], [2]]
    with pytest.raises(FormatError, match=r"latin:2: .*not valid utf-7"):
        list(iter_corpus(tmp_path / "latin", vocabulary, 3, encoding="utf-7"))
    (tmp_path / "half").write_bytes(b"a\n+2AA-\n")
    for encoding, name, message in [
        ("utf-7", "half", r"half:2: the word '\\xed\\xa0\\x80' is not valid utf-8"),
        ("klingon", "latin", "latin: unknown encoding 'klingon'"),
        ("hex", "latin", "latin: unknown encoding 'hex'"),
    ]:
        with pytest.raises(FormatError, match=message):
            list(iter_corpus(tmp_path / name, vocabulary, 3, encoding=encoding))
        with pytest.raises(FormatError, match=message):
            read_corpus(tmp_path / name, encoding=encoding)


def test_wide_encodings_in_blocks(tmp_path):
    text = "ਊ ā\nb਀ c\n\nlast"
    (tmp_path / "wide").write_bytes(text.encode("utf-16"))
    expected, vocabulary = read_corpus(tmp_path / "wide", encoding="utf-16")
    for size in (1, 5, 1000):
        blocks = list(iter_corpus(tmp_path / "wide", vocabulary, size, encoding="utf-16", keep_empty=False))
        assert [row for block in blocks for row in rows(block.sentences)] == rows(expected)
        assert b"".join(block.text for block in blocks).decode() == text
    (tmp_path / "wide").write_bytes(text.encode("utf-16")[:-1])
    with pytest.raises(FormatError, match=r"wide:4: the file ends inside a character of utf-16"):
        list(iter_corpus(tmp_path / "wide", vocabulary, 7, encoding="utf-16"))


def test_characters_and_bytes(tmp_path):
    (tmp_path / "f").write_bytes("\ufeffaé a\r\n\n\tb".encode())
    sentences, vocabulary = read_corpus(tmp_path / "f", units="characters")
    assert words_of(sentences, vocabulary) == [["a", "é", "▁", "a"], ["▁", "b"]]
    (tmp_path / "f").write_bytes(b"a\xff \0\n\n\r~")
    sentences, vocabulary = read_corpus(tmp_path / "f", units="bytes")
    assert words_of(sentences, vocabulary) == [["a", "<0xFF>", "<0x20>", "<0x00>"], ["<0x0D>", "~"]]
    sentences, vocabulary = read_corpus([["New", "<unk>"], ["York"]], units="characters")
    assert words_of(sentences, vocabulary) == [["New", "<unk>"], ["York"]]  # words given as words
    with pytest.raises(TypeError, match="sentence 2 is list"):
        read_corpus(["ab", ["a", "b"]], units="characters")
    with pytest.raises(FormatError, match="<sentences>:1: a line end inside the sentence"):
        read_corpus(["a\nb"], units="characters")
    assert read_corpus(["a\nb"])[0].n_sentences == 1


def test_blocks_keep_lines(file, tmp_path):
    whole, vocabulary = read_corpus(file)
    lines = TEXT.split("\n")
    for size in (1, 10, 1 << 20):
        blocks = list(iter_corpus(file, vocabulary, size))
        assert [row for block in blocks for row in rows(block.sentences) if row] == rows(whole)
        assert [block.sentences.n_sentences for block in blocks] == [block.n_lines for block in blocks]
        assert b"".join(block.text for block in blocks).decode() == TEXT
        assert [block.first_line for block in blocks][-1] + blocks[-1].n_lines == len(lines) + 1
        assert {block.source for block in blocks} == {str(file)}
    (tmp_path / "a.gz").write_bytes(gzip.compress(TEXT.encode()))
    blocks = list(iter_corpus([file, tmp_path / "a.gz"], vocabulary, 8, keep_empty=False))
    assert [row for block in blocks for row in rows(block.sentences)] == 2 * rows(whole)
    unknown = [block.sentences.unknown for block in iter_corpus(file, WordVocabulary.from_words(["the"]), 1)]
    assert [word for u in unknown for word in u.examples][-1] == ("far", str(file), 5)
    with pytest.raises(ValueError, match="the size of a block must be positive"):
        next(iter_corpus(file, vocabulary, 0))


def test_standard_input_is_given_on_as_it_comes(monkeypatch):
    reader, writer = os.pipe()
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=os.fdopen(reader, "rb")))
    blocks = iter_corpus("-", WordVocabulary.from_words(["a", "b"]))
    with os.fdopen(writer, "wb", buffering=0) as pipe:
        pipe.write(b"a\nb")
        assert rows(next(blocks).sentences) == [[2]]
        pipe.write(b" a\n")
        assert rows(next(blocks).sentences) == [[3, 2]]
    assert list(blocks) == []


def test_a_very_long_line(tmp_path):
    (tmp_path / "long").write_bytes(b"a bc " * 4_000_000 + b"\nd")
    sentences, vocabulary = read_corpus(tmp_path / "long", n_threads=2)
    assert sentences.sentence_ptr.tolist() == [0, 8_000_000, 8_000_001]
    (first, second) = iter_corpus(tmp_path / "long", vocabulary, 1 << 16)
    assert first.sentences.n_tokens == 8_000_000
    assert rows(second.sentences) == [[4]]


def test_sentences_that_are_none(file, tmp_path):
    with pytest.raises(FormatError, match="<sentences>:2: the word 'New York' is empty or holds a blank"):
        read_corpus([["a"], ["b", "New York"]])
    for wrong in ("", "a\tb", "a\n", " "):
        with pytest.raises(FormatError, match=r"<sentences>:1: the word .* is empty or holds a blank"):
            read_corpus([[wrong]])
    for wrong in (b"bytes", 3, None, [1]):
        with pytest.raises(TypeError, match="sentence 1 must be a string or a list of strings"):
            read_corpus([wrong])
    with pytest.raises(TypeError, match="text is a file, a list of files or an iterable of sentences, not int"):
        read_corpus(3)
    with pytest.raises(FormatError, match="nowhere: no such file"):
        read_corpus(tmp_path / "nowhere")
    with pytest.raises(FormatError, match=r"nowhere: no such file, though '.*corpus.txt' is one"):
        read_corpus([str(file), "nowhere"])
    with pytest.raises(TypeError, match="another item is int, not a path"):
        read_corpus([file, 3])
    with pytest.raises(FormatError, match="it is a directory"):
        read_corpus(tmp_path)
    assert read_corpus(["x" * 5000, "."])[0].n_sentences == 2


def test_settings_are_checked(file):
    for settings_, message in [
        ({"min_count": 0}, "min_count must be at least 1"),
        ({"max_words": 0}, "max_words must be at least 1"),
        ({"units": "syllables"}, "units must be"),
        ({"unknown": "skip"}, "unknown must be"),
        ({"reserved": "keep"}, "reserved must be"),
        ({"vocabulary_file": file, "min_count": 2}, "choose words in one way"),
        ({"vocabulary_file": file, "vocabulary": WordVocabulary.from_words([])}, "choose words in one way"),
    ]:
        with pytest.raises(ValueError, match=message):
            read_corpus(file, **settings_)


@pytest.mark.skipif("LOGLINEAR_DATA" not in os.environ, reason="LOGLINEAR_DATA is not set")
def test_penn_treebank():
    folder = Path(os.environ["LOGLINEAR_DATA"]) / "ptb"
    sentences, vocabulary = read_corpus(folder / "ptb.train.txt.gz")
    assert (sentences.n_tokens, len(vocabulary)) == (887_521, 10_000)
    test, _ = read_corpus(folder / "ptb.test.txt.gz", vocabulary=vocabulary)
    assert (test.n_tokens, test.unknown.n_tokens) == (78_669, 0)
    assert test.unknown.n_literal > 0
