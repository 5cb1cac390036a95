"""N-grams counted under a limit of memory are those counted in memory, also by several workers."""

import io
import subprocess
import sys

import numpy as np
import pytest

from loglinear import _core
from loglinear.data import ngram
from loglinear.data.corpus import read_corpus, spool_corpus
from loglinear.data.memory import readable
from loglinear.data.ngram import build_trie, mapped_trie
from loglinear.data.runs import context_ranges, count_files, count_runs, count_spooled
from loglinear.errors import FormatError
from loglinear.threads import pool


def write_text(path, n_lines=4000, n_words=300, seed=0):
    rng = np.random.default_rng(seed)
    lengths = rng.integers(0, 12, n_lines)
    lines = [" ".join(f"w{w}" for w in np.minimum(rng.zipf(1.4, n), n_words)) for n in lengths]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def assert_same(found, expected):
    for name, value in vars(expected).items():
        assert np.array_equal(getattr(found, name), value), name
        if isinstance(value, np.ndarray):
            assert getattr(found, name).dtype == value.dtype


@pytest.mark.parametrize("reading", [{}, {"max_words": 50}, {"min_count": 3, "unknown": "token"}, {"units": "bytes"}])
def test_counts_are_those_in_memory(tmp_path, reading):
    files = [write_text(tmp_path / f"{i}.txt", seed=i) for i in range(3)]
    sentences, words = read_corpus(files, **reading)
    found, vocabulary = count_files(files, 4, memory="16M", folder=tmp_path, **reading)
    assert_same(found, build_trie(sentences, 4))
    assert vocabulary.words == words.words
    assert sorted(path.name for path in tmp_path.iterdir()) == ["0.txt", "1.txt", "2.txt"]  # no others


def test_parts_of_a_text_and_what_is_unknown(tmp_path):
    """Many parts, each numbered by itself, give the numbers and the report of one."""
    files = [write_text(tmp_path / f"{i}.txt", n_lines=30_000, n_words=20_000, seed=i) for i in range(2)]
    expected, words = read_corpus(files, max_words=1000)
    spooled, vocabulary = spool_corpus(files, limit=1 << 24, folder=str(tmp_path), max_words=1000)
    assert vocabulary.words == words.words
    assert (spooled.n_tokens, spooled.n_sentences) == (expected.n_tokens, expected.n_sentences)
    assert spooled.unknown == expected.unknown
    assert spooled.spool.longest == np.diff(expected.sentence_ptr).max()
    trie = count_spooled(spooled, 3, limit=1 << 23, folder=str(tmp_path))
    assert_same(mapped_trie(trie), build_trie(expected, 3))


def test_sentences_in_memory_and_standard_input(tmp_path, monkeypatch):
    texts = ["a b a", "b", "", "c a b"]
    sentences, _ = read_corpus(texts)
    assert_same(count_files(iter(texts), 3, memory="8M")[0], build_trie(sentences, 3))
    data = io.BytesIO("\n".join(texts).encode())
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(data))
    assert_same(count_files("-", 3, memory="8M")[0], build_trie(sentences, 3))


def test_workers_exchange_records_by_context(tmp_path):
    """Each of two counts half of the tokens; each of three owns a range of contexts."""
    file, place = write_text(tmp_path / "text.txt"), str(tmp_path)
    sentences, words = read_corpus(file)
    whole = build_trie(sentences, 4)
    spooled, _ = spool_corpus(file, limit=1 << 24, folder=place)
    half = (spooled.n_tokens + spooled.n_sentences) // 2  # inside a sentence
    parts = [
        count_runs(spooled, 4, limit=1 << 23, folder=place, end=half),
        count_runs(spooled, 4, limit=1 << 23, folder=place, begin=half),
    ]
    ranges = context_ranges(sum(part.sizes() for part in parts), 3)
    assert (ranges[0][0], ranges[-1][1]) == (0, words.n_words + 1)
    found = []
    for begin, end in ranges:
        own = _core.TrieRuns(place, words.n_words, 4)
        for part in parts:
            own.add_words(part.word_counts())
            own.add_records(part.records(begin, end))
        found.append(mapped_trie(own.merge(pool(2), begin, end, 1 << 20, True, None)))
    for n in range(1, 4):  # entries of one order, range after range
        own = [slice(int(trie.entry_start[n]), int(trie.entry_start[n + 1])) for trie in found]
        expected = slice(int(whole.entry_start[n]), int(whole.entry_start[n + 1]))
        for name in ("entry_word", "entry_count"):
            joined = np.concatenate([getattr(trie, name)[part] for trie, part in zip(found, own)])
            assert np.array_equal(joined, getattr(whole, name)[expected])
    assert all(np.array_equal(trie.entry_count[: words.n_words], whole.entry_count[: words.n_words]) for trie in found)


def test_ranges_of_contexts():
    assert context_ranges(np.array([5, 0, 5, 10]), 2) == [(0, 3), (3, 4)]
    assert context_ranges(np.array([0, 9, 0]), 3) == [(0, 1), (1, 2), (2, 3)]
    assert context_ranges(np.array([1]), 1) == [(0, 1)]


def test_refuses_too_little_memory(tmp_path):
    rare = tmp_path / "rare.txt"
    rare.write_text(" ".join(f"w{i}" for i in range(60_000)), encoding="utf-8")
    with pytest.raises(ValueError, match=r"too little to number the 60,000 distinct words .* at least 22.9M"):
        count_files(rare, 2, memory="8M")
    with pytest.raises(ValueError, match=r"memory=64K is too little to count n-grams of 4 words: give at least 3.1M"):
        count_files(["a b"], 2, memory="64K")
    with pytest.raises(FormatError, match="there are no words"):
        count_files([""], 2, memory="8M")


def test_more_ngrams_than_can_be_numbered_are_refused_with_the_order_that_fits(monkeypatch):
    from loglinear import LanguageModel

    text = ["a b c d", "b c d a", "d c b a"] * 3
    counts = LanguageModel(3, "kneser-ney").fit(text).counts_
    monkeypatch.setattr(ngram, "MOST_NGRAMS", sum(counts) - 1)
    told = rf"there are {sum(counts)} n-grams \({', '.join(map(str, counts))} of orders 1 to 3\), more than the "
    told += rf"{sum(counts) - 1} that a model can number: order=2 fits, with {sum(counts[:2])}; or "
    for estimator, remedy in (("maxent", "train a counted model"), ("kneser-ney", r"leave out rare n-grams \(prune\)")):
        with pytest.raises(ValueError, match=told + remedy):
            LanguageModel(3, estimator, memory="8M").fit(text)
    pruned = LanguageModel(3, "kneser-ney", memory="8M", prune=(0, 0, 20)).fit(text)
    assert sum(pruned.n_ngrams_) < sum(counts)


def test_refuses_a_folder(tmp_path):
    with pytest.raises(OSError, match="no/such") as caught:
        count_files(["a b"], 2, memory="8M", folder=tmp_path / "no" / "such")
    assert caught.value.filename == str(tmp_path / "no" / "such")


@pytest.mark.skipif(sys.platform != "linux", reason="uses RLIMIT_FSIZE as a full disk")
def test_a_full_disk_is_told_and_leaves_nothing(tmp_path):
    file = write_text(tmp_path / "text.txt")
    code = (
        "import resource, signal, sys\n"
        "from loglinear.data.runs import count_files\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))\n"
        "try:\n    count_files(sys.argv[1], 4, memory='8M', folder=sys.argv[2])\n"
        "except OSError as error:\n    print(error.filename, error.strerror)\n"
    )
    (tmp_path / "tmp").mkdir()
    done = subprocess.run([sys.executable, "-c", code, file, tmp_path / "tmp"], capture_output=True, text=True)
    assert done.stdout == f"{tmp_path / 'tmp'} File too large\n"
    assert list((tmp_path / "tmp").iterdir()) == []


@pytest.mark.parametrize(("n_bytes", "text"), [(1, "1"), (1536, "1.5K"), (1 << 30, "1G"), ((1 << 30) + 1, "1.1G")])
def test_readable_amounts(n_bytes, text):
    assert readable(n_bytes) == text
