"""Input methods: exact against enumeration, for every kind of language model; files, threads, refusals."""

import itertools
import math
import pickle
import random

import numpy as np
import pytest
from candidate_problems import with_score
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import loglinear
from loglinear import IncompatibleError, InputMethod, LanguageModel, ModelFileError, Reranker

LOG10 = math.log(10)
WORDS = {"A": ["a", "ab"], "B": ["a", "b"], "C": ["ab", "ba"], "D": ["b"], "E": ["bab", "a"], "F": ["aa"]}


def text(n, seed):
    rng = random.Random(seed)
    words = list(WORDS)

    def sentence():
        chosen = [rng.choice(words[:3] if rng.random() < 0.5 else words) for _ in range(rng.randrange(1, 6))]
        return " ".join(f"{w}|{rng.choice(WORDS[w])}" for w in chosen)

    return [sentence() for _ in range(n)]


def splits(reading, lexicon, n_words):
    """All strings of words for a reading, with the channel's weight; characters that are no reading stand as typed."""
    if not reading:
        yield (), 0.0
        return
    for length in range(1, len(reading) + 1):
        found = lexicon.get(reading[:length], [])
        if length == 1 and not found:
            found = [(reading[0], 0.0)]
        for word, weight in found:
            for rest, more in splits(reading[length:], lexicon, n_words):
                yield (word, *rest), weight + more


def enumerate_candidates(model, reading):
    totals = {}
    for surface, _, count in model.lexicon_:
        totals[surface] = totals.get(surface, 0) + count
    lexicon = {}
    for surface, spelt, count in model.lexicon_:
        weight = math.log(count / totals[surface]) if model.channel else 0.0
        lexicon.setdefault(spelt, []).append((surface, weight))
    best = {}
    for words, weight in splits(reading, lexicon, 0):
        score = model.language_model_.queries_.score(" ".join(words)) * LOG10 + weight
        best[words] = max(score, best.get(words, -math.inf))
    return sorted(best.items(), key=lambda pair: -pair[1])


MODELS = {
    "unigrams": {"order": 1},
    "trigrams": {"order": 3},
    "no channel": {"order": 3, "channel": False},
    "four": {"order": 4, "estimator": "witten-bell"},
    "rare words out": {"order": 2, "min_word_count": 18},
    "additive": {"order": 3, "estimator": "add-k"},
}


@pytest.fixture(scope="module", params=MODELS, ids=list(MODELS))
def model(request):
    return InputMethod(**MODELS[request.param], n_threads=2).fit(text(60, 3))


@pytest.mark.parametrize("reading", ["", "a", "ab", "abab", "aaab", "babba", "ac", "?ab", "aaaaaaa"])
def test_candidates_are_all_strings_by_score(model, reading):
    expected = enumerate_candidates(model, reading)
    for k in (1, 5, len(expected) + 10):
        (found,) = model.candidates([reading], k)
        assert len(found) == min(k, len(expected))
        assert len({tuple(words) for words, _ in found}) == len(found)
        np.testing.assert_allclose([s for _, s in found], [s for _, s in expected[: len(found)]], rtol=0, atol=2e-5)
        scores = dict(expected)
        np.testing.assert_allclose([s for _, s in found], [scores[tuple(w)] for w, _ in found], rtol=0, atol=2e-5)
        assert all(a[1] >= b[1] for a, b in itertools.pairwise(found))


def test_texts_are_distinct_and_the_best_of_their_strings(model):
    reading = "abaab"
    expected = {}
    for words, score in enumerate_candidates(model, reading):
        expected.setdefault("".join(words), score)
    found = model.decode([reading], 10**6, distinct="text")
    assert ["".join(t.split()) for t in found.texts] == model.convert([reading], 10**6)[0]
    assert {"".join(t.split()) for t in found.texts} == set(expected)
    assert len(found.texts) == len(expected)
    np.testing.assert_allclose(found.log_probability, sorted(expected.values(), reverse=True), rtol=0, atol=2e-5)


def test_equal_scores_come_in_the_order_of_words():
    made = InputMethod(1, channel=False).fit(["P|x Q|x R|x"])
    (found,) = made.candidates(["xx"], 9)
    assert ["".join(words) for words, _ in found] == [a + b for a in "PQR" for b in "PQR"]
    assert len({score for _, score in found}) == 1
    assert [w for w, _ in made.candidates(["xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"], 2)[0]] == [
        ["P"] * 38,
        [*["P"] * 37, "Q"],
    ]


def test_a_word_with_many_ways_to_be_read_is_one_candidate():
    made = InputMethod(2).fit(["A|x", "A|xx A|x", "B|x A|x"])
    reading = "x" * 40  # with millions of splits
    (found,) = made.candidates([reading], 30)
    assert len({tuple(words) for words, _ in found}) == 30


def test_threads_and_neighbours_change_nothing(model):
    readings = ["".join(random.Random(i).choices("ab", k=i % 19)) for i in range(150)]
    expected = [model.candidates([r], 4)[0] for r in readings]
    for n in (1, 2, 5):
        model.n_threads = n
        assert model.candidates(readings, 4) == expected
    model.n_threads = 2
    seen = []
    assert model.decode(readings * 3, 4, report=seen.append).lists() == expected * 3
    assert seen == [256, 450]


def test_unknown_readings_stand_as_typed_and_are_counted():
    made = InputMethod().fit(["里|さと へ|へ", "里|さと と|と"])
    assert made.convert(["さとへ", "さ", "?さと!", "", " さと へ "]) == ["里へ", "さ", "?里!", "", "里へ"]
    assert made.decode(["さとへ", "さ", "?さと!"]).n_unknown.tolist() == [0, 1, 2]


def test_blanks_part_words():
    made = InputMethod().fit(["A|ab", "B|a C|b"] + ["A|ab"] * 5)
    assert made.convert(["ab", "a b"]) == ["A", "BC"]


def test_keypad():
    made = InputMethod(readings="keypad").fit(["the good home", "a good home is a home", "good is good"])
    assert made.separator == " "
    assert made.convert(["843 4663 4663"]) == ["the good home"]
    assert made.convert(["4663 99999 47", "  4663  "]) == ["good 99999 is", made.convert(["4663"])[0]]
    assert set(made.convert(["4663"], 5)[0]) == {"good", "home"}
    assert made.score(["a good home"]) == 1.0


def test_a_dictionary_adds_words_but_no_sentences():
    made = InputMethod(2).fit(["A|x"] * 3, dictionary=["B|y A|z", "B|x"])
    assert made.convert(["x", "y", "xz"]) == ["A", "B", "AA"]
    assert made.n_tokens_ == 3
    assert made.language_model_.vocabulary_.n_words == 4


def test_evaluation_counts_characters():
    made = InputMethod().fit(["AA|x"] * 3 + ["BC|x"] * 2 + ["D|y"])
    score = made.evaluate(["BC|x D|y", "", "AA|x"], k=3)
    assert (score["n_sentences"], score["n_characters"], score["n_errors"], score["n_oracle_errors"]) == (2, 5, 2, 0)
    assert score["cer"] == 0.4
    assert score["oracle_cer"] == 0.0
    assert score["n_exact"] == 1
    assert score["sentences_per_second"] > 0
    assert made.score(["BC|x D|y", "AA|x"]) == pytest.approx(0.6)


def test_saved_loaded_pickled_and_cloned(model, tmp_path):
    path = tmp_path / "m.ll"
    model.save(path)
    readings = ["abab", "baac", ""]
    expected = model.candidates(readings, 5)
    for again in (InputMethod.load(path), loglinear.load(path, verify=True), pickle.loads(pickle.dumps(model))):
        assert again.candidates(readings, 5) == expected
        assert again.get_params() == model.get_params()
        assert again.language_model_.queries_.score("A B") == model.language_model_.queries_.score("A B")
    with pytest.raises(NotFittedError):
        clone(model).convert(["a"])


def test_files_of_other_kinds_and_damaged_ones_are_refused(tmp_path):
    path = tmp_path / "m.ll"
    LanguageModel(2, "kneser-ney").fit(["a b", "b a"]).save(path)
    with pytest.raises(ModelFileError, match="not an input method"):
        InputMethod.load(path)
    InputMethod(2).fit(text(9, 1)).save(path)
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])
    with pytest.raises(ModelFileError, match=str(path)):
        InputMethod.load(path)


def test_another_language_model_for_the_same_lexicon():
    background = InputMethod(2).fit(["A|x"] * 3 + ["B|x"])
    domain = LanguageModel(2, "kneser-ney", vocabulary=["A", "B"]).fit(["B", "B", "A"])
    assert background.convert(["x"]) == ["A"]
    adapted = background.with_language_model(domain)
    assert adapted.convert(["x"]) == ["B"]
    assert background.convert(["x"]) == ["A"]
    closed = LanguageModel(1, "witten-bell", unknown="error").fit(["B B"])
    assert background.with_language_model(closed).convert(["x", "?"]) == ["B", "?"]


def test_candidate_lists_have_references_scores_and_errors_of_characters():
    made = InputMethod().fit(["AA|x"] * 3 + ["BC|x"] * 2 + ["D|y"])
    sentences = ["BC|x D|y", "", "AA|x", "Q|q D|y"]
    lists = made.candidate_lists(sentences, 2)
    assert [one.id for one in lists] == ["1", "2", "3"]
    assert [one.reference for one in lists] == ["BC D", "AA", "Q D"]
    assert [(c.text, c.errors) for c in lists[0].candidates] == [("AA D", 2.0), ("BC D", 0.0)]
    assert [(c.text, c.errors) for c in lists[2].candidates] == [("q D", 1.0)]
    found = made.candidates(["xy", "x", "qy"], 2)
    assert [[c.scores for c in one.candidates] for one in lists] == [[{"score": s} for _, s in one] for one in found]
    assert made.candidate_lists(made.read(sentences), 2) == lists
    seen = []
    assert len(made.candidate_lists(sentences, 1, report=seen.append)[0].candidates) == 1
    assert seen == [3]


def test_blanks_are_no_errors_of_characters():
    made = InputMethod(readings="keypad").fit(["a good home", "in me"])
    assert [c.errors for c in made.candidate_lists(["in home"], 5)[0].candidates if c.text == "in good"] == [3.0]


def test_coverage_counts_sentences_with_words_or_readings_that_the_lexicon_lacks():
    made = InputMethod(1).fit(["A|x B|y", "A|z"])
    assert made.coverage(["A|x", "B|y A|z"]) == (2, 0, None)
    assert made.coverage(["A|x", "A|y", "C|x B|y", "A|q", "B|y"]) == (5, 3, 2)


def test_adaptation_by_interpolation_is_the_tuned_mixture():
    background, train, dev = text(60, 3), text(30, 8), text(20, 9)
    model = InputMethod(2).fit(background)
    adapted = model.adapt_language_model(train, dev)
    assert 0 < adapted.domain_weight_ < 1
    perplexity = adapted.validation_perplexities_
    assert perplexity["mixture"] <= min(perplexity["background"], perplexity["domain"]) + 1e-9
    words = [" ".join(token.split("|")[0] for token in line.split()) for line in train]
    vocabulary = list(model.language_model_.vocabulary_)
    domain = LanguageModel(2, "kneser-ney", vocabulary=vocabulary[2:]).fit(words)
    one, other, mixed = (m.queries_.next_distribution("A") for m in (model.language_model_, domain,
                                                                      adapted.language_model_))  # fmt: skip
    assert list(domain.vocabulary_) == vocabulary
    listed = [vocabulary.index(w) for w in "BC"]  # after A in either text; others back off
    expected = (1 - adapted.domain_weight_) * one + adapted.domain_weight_ * other
    np.testing.assert_allclose(mixed[listed], expected[listed], rtol=1e-5)
    for weight, same in ((0.0, model.language_model_), (1.0, domain)):
        made = model.adapt_language_model(train, weight=weight)
        assert made.language_model_.queries_.score("A B C") == pytest.approx(same.queries_.score("A B C"), rel=1e-5)
        assert made.validation_perplexities_ == {}


def test_an_adapted_input_method_is_saved_with_its_weight(tmp_path):
    adapted = InputMethod(2).fit(text(60, 3)).adapt_language_model(text(30, 8), text(20, 9))
    adapted.save(tmp_path / "m.ll")
    again = InputMethod.load(tmp_path / "m.ll")
    assert again.domain_weight_ == adapted.domain_weight_
    assert again.candidates(["abab"], 5) == adapted.candidates(["abab"], 5)


def test_adaptation_that_makes_no_sense():
    model = InputMethod(2).fit(["A|x", "B|x A|y"])
    with pytest.raises(ValueError, match="give weight, or validation"):
        model.adapt_language_model(["A|x"])
    with pytest.raises(ValueError, match="give weight, or validation"):
        model.adapt_language_model(["A|x"], ["B|x"], weight=0.5)
    with pytest.raises(ValueError, match="between 0 and 1"):
        model.adapt_language_model(["A|x"], weight=1.5)
    assert model.adapt_language_model(["Q|q"], ["A|x"]).domain_weight_ < 0.5  # a word it lacks is unknown
    closed = model.with_language_model(LanguageModel(1, "witten-bell", unknown="error").fit(["A B"]))
    with pytest.raises(ValueError, match="closed vocabulary, which lacks 'Q'"):
        closed.adapt_language_model(["Q|q"], weight=0.5)


# ---- with a reranker ----
@pytest.fixture(scope="module")
def adapted():
    """(input method, text of a domain that writes B where the background writes A, reranker)."""
    rng = random.Random(5)
    model = InputMethod(2).fit(["A|x", "P|p A|x", "Q|q A|x", "B|x", "P|p Q|q"] * 4)
    domain = [" ".join(rng.choice(["P|p B|x", "Q|q A|x"]) for _ in range(rng.randrange(1, 5))) for _ in range(40)]
    return model, domain, model.adapt(domain, domain, step=0.1, max_iterations=300)


def test_a_reranker_learns_the_domain(adapted):
    model, domain, reranker = adapted
    assert model.convert(["px", "qx", "pxqxpx"]) == ["PA", "QA", "PAQAPA"]
    assert model.convert(["px", "qx", "pxqxpx"], reranker=reranker) == ["PB", "QA", "PBQAPB"]
    assert model.convert(["px", ""], 2, reranker=reranker) == [["PB", "PA"], [""]]
    assert model.convert(["px"], reranker=reranker, among=1) == ["PA"]
    before, after = model.evaluate(domain, 20), model.evaluate(domain, 20, reranker=reranker)
    assert ("comparison" in before, before["cer"] > 0, after["cer"]) == (False, True, 0.0)
    assert after["comparison"]["rate_first"] == before["cer"]
    assert after["oracle_cer"] == before["oracle_cer"] == 0.0
    assert after["reduction"] == 1.0
    assert model.evaluate(["P|p A|x", "Z|z"], reranker=reranker)["n_uncovered"] == 1
    assert any(name == "word: P B" and weight > 0 for name, weight in reranker.feature_weights())


def test_candidates_keep_their_probabilities_under_a_reranker(adapted):
    model, _, reranker = adapted
    alone = model.decode(["pxqx"], 20)
    plain = dict(zip(alone.texts, alone.log_probability))
    found = model.decode(["pxqx", "x"], 20, reranker=reranker)
    first = found.reading_ptr[1]
    assert dict(zip(found.texts[:first], found.log_probability[:first])) == plain
    assert np.all(np.diff(found.reranker_score[:first]) <= 0)
    few = model.decode(["pxqx", "x"], 1, reranker=reranker)
    assert few.texts == [found.texts[0], found.texts[first]]
    assert model.decode([], 3, reranker=reranker).texts == []
    scores = reranker.candidate_scores(alone.candidate_lists())[0]
    np.testing.assert_allclose(found.reranker_score[:first], np.sort(scores)[::-1])


def test_no_change_leaves_the_order_as_it_is(adapted):
    model, domain, _ = adapted
    none = model.adapt(domain, domain, "none")
    readings = ["pxqx", "xx", "q"]
    assert none.no_change_
    assert model.decode(readings, 20, reranker=none).texts == model.decode(readings, 20).texts


def test_adapting_from_candidates_is_adapting_from_their_text(adapted):
    model, domain, reranker = adapted
    lists = model.candidate_lists(domain)
    again = model.adapt(lists, lists, step=0.1, max_iterations=300)
    assert again.feature_weights() == reranker.feature_weights()
    alone = model.adapt(lists, method="boosting", max_iterations=50)  # without dev: the end of the path
    assert alone.chosen_ == alone.path_.n_points - 1
    assert model.evaluate(domain, reranker=alone)["cer"] < model.evaluate(domain)["cer"]


def test_rerankers_that_do_not_fit_are_refused(adapted):
    model, domain, _ = adapted
    lists = model.candidate_lists(domain)
    with pytest.raises(IncompatibleError, match=r"errors of words, but an input method counts characters; train one"):
        model.convert(["x"], reranker=Reranker("none").fit(lists))
    other = with_score(lists, "acoustic", 0.0)
    with pytest.raises(IncompatibleError, match="uses the base scores acoustic"):
        model.evaluate(domain, reranker=Reranker("none", units="characters", base="acoustic").fit(other))
    with pytest.raises(NotFittedError):
        model.convert(["x"], reranker=Reranker())
    with pytest.raises(TypeError, match="a Reranker is needed, not InputMethod"):
        model.convert(["x"], reranker=model)
    with pytest.raises(ValueError, match="unknown method"):
        model.adapt(domain, method="x")


def test_a_failed_fit_leaves_the_model_as_it_was():
    made = InputMethod(2).fit(text(9, 1))
    expected = made.candidates(["ab"], 3)
    with pytest.raises(ValueError, match="not a word with its reading"):
        made.fit(["A|a", "A"])
    assert made.candidates(["ab"], 3) == expected


@pytest.mark.parametrize(
    ("settings", "message"),
    [({"readings": "x"}, "'given' or 'keypad'"), ({"spaces": "x"}, "true or false"), ({"min_word_count": 0}, "least 1"),
     ({"estimator": "x"}, "unknown estimator")],
)  # fmt: skip
def test_settings_that_make_no_sense(settings, message):
    with pytest.raises(ValueError, match=message):
        InputMethod(**settings).fit(["A|a"])


def test_questions_that_make_no_sense():
    made = InputMethod(1).fit(["A|a"])
    with pytest.raises(TypeError, match="not one string"):
        made.convert("a")
    with pytest.raises(ValueError, match="at least 1"):
        made.candidates(["a"], 0)
    with pytest.raises(ValueError, match="'words' or 'text'"):
        made.candidates(["a"], distinct="x")
    with pytest.raises(ValueError, match=r"reading 2: .* more than 65536 characters"):
        made.convert(["a", "a" * 70000])
    with pytest.raises(TypeError, match="item 1 is int"):
        made.convert(["a", 3])
