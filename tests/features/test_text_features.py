"""Weightings, character n-grams, stop words and hashing of texts, against scikit-learn's vectorisers."""

import pickle
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer

from loglinear.errors import FormatError, LoglinearError, ModelFileError
from loglinear.features.text.hashed import HashedNgrams
from loglinear.features.text.stop_words import stop_words_of
from loglinear.features.text.words import WordNgrams
from loglinear.features.tokens import TokenFeatures

WORDS = r"(?u)\b\w+\b"
TEXTS = ["the cat sat on the mat", "the dog sat", "a cat and a dog and a cat", "", "Über  naïve mats 数据", "x"]


def table(names, rows):
    """Return the values of each row by name."""
    indptr, indices, values = rows
    return [
        {names[j]: v for j, v in zip(indices[a:b].tolist(), values[a:b].tolist())}
        for a, b in pairwise(indptr)
    ]


def theirs(vectoriser, texts, new, mark=""):
    fitted = vectoriser.fit_transform(texts).tocsr()
    names = [f"{mark}{name}{mark}" for name in vectoriser.get_feature_names_out()]
    return [table(names, (m.indptr, m.indices, m.data)) for m in (fitted, vectoriser.transform(new).tocsr())]


def ours(featuriser, texts, new, n_threads=1):
    fitted = featuriser.fit_transform(texts, n_threads)
    names = featuriser.names()
    return [table(names, fitted), table(names, featuriser.transform(new, n_threads))]


def assert_equal(found, expected):
    for mine, other in zip(found, expected, strict=True):
        assert len(mine) == len(other)
        for one, two in zip(mine, other):
            assert one.keys() == two.keys()
            assert [one[name] for name in sorted(one)] == pytest.approx([two[name] for name in sorted(one)], rel=1e-13)


@pytest.mark.parametrize("orders", [(1,), (1, 2)])
@pytest.mark.parametrize(("weighting", "vectoriser"), [
    ("count", lambda **s: CountVectorizer(**s)),
    ("binary", lambda **s: CountVectorizer(binary=True, **s)),
    ("log", lambda **s: TfidfVectorizer(sublinear_tf=True, use_idf=False, norm=None, **s)),
    ("tfidf", lambda **s: TfidfVectorizer(**s)),
    ("log_tfidf", lambda **s: TfidfVectorizer(sublinear_tf=True, **s)),
])  # fmt: skip
def test_weightings_are_those_of_scikit_learn(weighting, vectoriser, orders):
    new = ["the the the cat and unseen words", "nothing known", "dog"]
    found = ours(WordNgrams(orders, weighting=weighting), TEXTS, new, 2)
    assert_equal(found, theirs(vectoriser(token_pattern=WORDS, ngram_range=(1, orders[-1])), TEXTS, new))


texts = st.lists(st.text(st.sampled_from("abc dé数\u3000\u00a0"), max_size=30), min_size=1, max_size=6)


@settings(max_examples=100, deadline=None)
@given(texts, st.integers(1, 4), st.integers(0, 2), st.booleans())
def test_character_ngrams_are_those_of_scikit_learn(texts, least, more, across):
    texts = [*texts, "abc"]
    if across:  # scikit-learn keeps a blank of another kind that stands alone
        texts = [" ".join(text.replace("\u3000", " ").replace("\u00a0", " ").split(" ")) for text in texts]
    vectoriser = CountVectorizer(analyzer="char" if across else "char_wb", ngram_range=(least, least + more))
    orders = range(least, least + more + 1)
    try:
        expected = theirs(vectoriser, texts, texts, '"')
    except ValueError:  # their vocabulary is empty
        return
    featuriser = WordNgrams((), char_ngrams=orders, across_words=across)
    assert_equal(ours(featuriser, texts, texts), expected)
    threaded = WordNgrams((), char_ngrams=orders, across_words=across)
    ours(threaded, texts, texts, 3)
    assert threaded.vocabulary == featuriser.vocabulary


def test_words_and_characters_go_together_and_are_counted_from_min_count():
    featuriser = WordNgrams((1,), char_ngrams=(2,), min_count=2)
    rows = featuriser.fit_transform(["ab ab", "xb"])
    assert featuriser.names() == ["ab", '" a"', '"ab"', '"b "']
    assert table(featuriser.names(), rows) == [{"ab": 2, '" a"': 2, '"ab"': 2, '"b "': 2}, {'"b "': 1}]
    assert table(featuriser.names(), featuriser.transform(["xb"])) == [{'"b "': 1}]


def test_stop_words_are_left_out_before_ngrams_are_made():
    found = ours(WordNgrams((1, 2), stop_words=["THE", "on", "e-mail"]), TEXTS, TEXTS)
    assert_equal(found, theirs(CountVectorizer(token_pattern=WORDS, ngram_range=(1, 2), stop_words=["the", "on"]),
                               TEXTS, TEXTS))  # fmt: skip
    assert {"the", "don't", "which"} < set(stop_words_of("english"))
    again = pickle.loads(pickle.dumps(WordNgrams((1,), stop_words=["the"])))
    assert ours(again, ["the cat"], ["the cat"]) == [[{"cat": 1.0}], [{"cat": 1.0}]]


def test_stop_words_of_a_file(tmp_path):
    path = tmp_path / "stop.txt"
    path.write_text("the\n\n on \n", encoding="utf-8")
    assert stop_words_of(path) == ("the", "on")
    path.write_text("the\nof course\n", encoding="utf-8")
    with pytest.raises(FormatError, match=r"stop\.txt.*2.*'of course' is more than one word"):
        stop_words_of(path)
    path.write_text("\n", encoding="utf-8")
    with pytest.raises(FormatError, match="there are no stop words"):
        stop_words_of(path)
    with pytest.raises(FormatError, match=r"missing\.txt: no such file"):
        stop_words_of(tmp_path / "missing.txt")
    with pytest.raises(TypeError, match="item 1 is 3, not a word"):
        stop_words_of(["a", 3])
    with pytest.raises(TypeError, match="not int"):
        stop_words_of(3)


def test_hashed_ngrams_are_the_named_ones_in_buckets():
    kinds = {"ngrams": (1, 2), "char_ngrams": (3,), "stop_words": ["on"]}
    named, hashed = WordNgrams(**kinds), HashedNgrams(50, **kinds)
    by_name, by_bucket = ours(named, TEXTS, TEXTS)[0], ours(hashed, TEXTS, TEXTS)[0]
    bucket = {name: next(iter(HashedNgrams(50, ngrams=(1,)).fit_transform([name])[1].tolist()))
              for name in by_name[1] if " " not in name and '"' not in name}  # fmt: skip
    assert bucket == {"the": bucket["the"], "dog": bucket["dog"], "sat": bucket["sat"]}
    for one, two in zip(by_name, by_bucket):
        assert sum(one.values()) == sum(two.values())
    for name, number in bucket.items():
        assert by_bucket[1][f"#{number}"] >= by_name[1][name]
    assert ours(HashedNgrams(50, **kinds), TEXTS, TEXTS, 3)[0] == by_bucket


def test_buckets_never_change_since_model_files_rely_on_them():
    rows = HashedNgrams(2**20, ngrams=(1, 2), char_ngrams=(2,)).fit_transform(["the cat 数据"])
    assert rows[1].tolist() == [
        26782, 64022, 163387, 189422, 228477, 260275, 304382, 376577,
        487718, 531749, 646136, 797022, 846666, 856325, 955982, 989056,
    ]  # fmt: skip


def test_hashed_ngrams_are_cut_and_saved():
    whole = HashedNgrams(30, weighting="log_tfidf")
    rows = whole.fit_transform(TEXTS)
    again = HashedNgrams.from_arrays(*whole.to_arrays())
    assert again.n_features == 30
    assert all(np.array_equal(a, b) for a, b in zip(again.transform(TEXTS), rows))
    plain = HashedNgrams(30)
    kept = np.unique(plain.fit_transform(TEXTS)[1])[::2]
    cut = HashedNgrams.from_arrays(*plain.take(kept).to_arrays())
    chosen = {f"#{bucket}" for bucket in kept}
    expected = [{n: v for n, v in row.items() if n in chosen} for row in table(plain.names(), plain.transform(TEXTS))]
    assert table(cut.names(), cut.transform(TEXTS)) == expected
    settings, arrays = plain.take(kept).to_arrays()
    with pytest.raises(ModelFileError, match="'buckets' is damaged"):
        HashedNgrams.from_arrays(settings, {"buckets": arrays["buckets"][::-1].copy()})
    with pytest.raises(ModelFileError, match="'idf' is missing"):
        HashedNgrams.from_arrays(whole.settings(), {})
    with pytest.raises(LoglinearError, match="no vocabulary"):
        print(whole.vocabulary)


def test_tokens_are_weighted_too():
    tokens = [["a", "a", "b"], ["b"], []]
    rows = TokenFeatures("log_tfidf").fit_transform(tokens)
    vectoriser = TfidfVectorizer(sublinear_tf=True, analyzer=lambda row: row)
    assert_equal([table(["a", "b"], rows)], theirs(vectoriser, tokens, tokens)[:1])


@pytest.mark.parametrize(("settings", "message"), [
    ({"ngrams": ()}, "ngrams must be one or more orders between 1 and 32 where char_ngrams has none"),
    ({"char_ngrams": (0,)}, "char_ngrams must be one or more orders between 1 and 32"),
    ({"char_ngrams": 3}, "char_ngrams must be a list of whole numbers"),
    ({"across_words": "yes"}, "across_words must be true or false"),
    ({"weighting": "idf"}, "weighting must be one of count, binary, log, tfidf, log_tfidf, not 'idf'"),
    ({"stop_words": [3]}, "stop words must be strings"),
])  # fmt: skip
def test_bad_settings_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        WordNgrams(**settings)


@pytest.mark.parametrize(("settings", "message"), [
    ({"hash_size": 1}, "hash_size must be a whole number between 2 and"),
    ({"hash_size": 2.0}, "hash_size must be a whole number between 2 and"),
    ({"hash_size": 64, "min_count": 2}, "leave min_count or hash_size out"),
])  # fmt: skip
def test_bad_settings_of_hashing_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        HashedNgrams(**settings)
