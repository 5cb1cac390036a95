import copy
import pickle

import numpy as np
import pytest
from hmm_problems import SIZES, all_sequences, label_paths, random_hmm

from loglinear.errors import ModelFileError
from loglinear.hmm.locally_uniform import locally_uniform
from loglinear.hmm.model import HMM, previous_labels

# Three sequences over labels 0 = B, 1 = I, 2 = O.
PTR = np.array([0, 3, 4, 8], dtype=np.int64)
LABELS = np.array([0, 1, 2, 2, 0, 0, 1, 2], dtype=np.int32)
IDS = [np.array([0, 1, 2, 2, 0, 1, 1, 0], dtype=np.int32), np.array([0, 0, 1, 1, 0, 0, 1, 1], dtype=np.int32)]


def fit(order=2, smoothing=1.0):
    return HMM.fit(IDS, SIZES, PTR, LABELS, 3, order, smoothing)


def product(hmm, ids, labels):
    """Probability of one labelled sequence, factor by factor (equation 8)."""
    L = hmm.n_labels
    if len(labels) == 0:
        return 1.0 - hmm.start.sum()
    p = hmm.start[labels[0]]
    for i, y in enumerate(labels):
        for table, column in zip(hmm.emissions, ids):
            p *= table[y, column[i]]
        if i > 0:
            first = labels[i - 2] if i > 1 else L
            p *= hmm.transitions[labels[i - 1], y] if hmm.order == 1 else hmm.trigrams[first, labels[i - 1], y]
    before = labels[-2] if len(labels) > 1 else L
    return p * (hmm.stop[labels[-1]] if hmm.order == 1 else hmm.stop[before, labels[-1]])


def test_first_order_frequencies():
    hmm = fit(1)
    np.testing.assert_allclose(hmm.start, [2 / 3, 0, 1 / 3])
    np.testing.assert_allclose(hmm.transitions, [[1 / 3, 2 / 3, 0], [0, 0, 1], [0, 0, 0]])
    np.testing.assert_allclose(hmm.stop, [0, 0, 1])
    np.testing.assert_allclose(hmm.emissions[0][0], np.array([2 + 1, 1 + 1, 0 + 1]) / 6)
    np.testing.assert_allclose(hmm.emissions[1][2], np.array([0 + 1, 3 + 1]) / 5)
    assert hmm.n_parameters == 3 * 3 + 3 * 2 + 2 + 3 + 1


def test_second_order_frequencies():
    hmm = fit(2)
    L = 3
    np.testing.assert_allclose(hmm.trigrams[L, 0], [0.5, 0.5, 0])
    np.testing.assert_allclose(hmm.trigrams[0, 0], [0, 1, 0])
    np.testing.assert_allclose(hmm.trigrams[0, 1], [0, 0, 1])
    assert hmm.stop[L, 2] == 1
    assert hmm.stop[1, 2] == 1
    assert hmm.stop.sum() == 2
    assert hmm.states.n_states == 5  # start-B, start-O, BB, BI, IO
    assert hmm.n_parameters == 3 * 5 + 2 + 4 + 2


def test_empty_sequences_are_counted():
    hmm = HMM.fit(IDS, SIZES, np.array([0, 3, 3, 4, 8]), LABELS, 3, 1)
    np.testing.assert_allclose(hmm.start, [2 / 4, 0, 1 / 4])
    none = np.array([0, 0], dtype=np.int64)
    empty = [np.zeros(0, dtype=np.int32)] * 2
    assert hmm.log_probability(empty, empty[0], none) == pytest.approx(np.log(0.25))
    assert hmm.input_log_probability(empty, none) == pytest.approx(np.log(0.25))
    assert fit(1).input_log_probability(empty, none)[0] == -np.inf


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("empty", [0.0, 0.25])
def test_probabilities_sum_to_one(order, empty):
    hmm = random_hmm(order, 3, SIZES, seed=1, acyclic=True, empty=empty)
    ids, labels, ptr = all_sequences(hmm, 3)
    logs = hmm.log_probability(ids, labels, ptr)
    assert np.exp(logs).sum() == pytest.approx(1.0)
    for k in (0, 5, 100, len(logs) - 1):
        part = slice(ptr[k], ptr[k + 1])
        p = product(hmm, [column[part] for column in ids], labels[part])
        assert np.exp(logs[k]) == pytest.approx(p, abs=1e-15)


@pytest.mark.parametrize("order", [1, 2])
def test_inputs_are_summed_over_labels(order):
    hmm = random_hmm(order, 3, SIZES, seed=6)
    rng = np.random.default_rng(0)
    ptr = np.array([0, 1, 4, 4, 9])
    ids = [rng.integers(0, V, size=9).astype(np.int32) for V in SIZES]
    out = hmm.input_log_probability(ids, ptr, n_threads=2)
    for k in (0, 1, 3):
        part = slice(ptr[k], ptr[k + 1])
        paths = [path for path in label_paths(hmm, ptr[k + 1] - ptr[k]) if len(path) == ptr[k + 1] - ptr[k]]
        total = sum(product(hmm, [column[part] for column in ids], path) for path in paths)
        assert out[k] == pytest.approx(np.log(total))
    assert out[2] == -np.inf


def test_impossible_inputs():
    hmm = fit(1, smoothing=0.0)  # no label emits value 2 of column 0 with value 0 of column 1
    ids = [np.array([0, 2], dtype=np.int32), np.array([0, 0], dtype=np.int32)]
    assert hmm.input_log_probability(ids, np.array([0, 2]))[0] == -np.inf
    assert hmm.log_probability(ids, np.array([0, 2], dtype=np.int32), np.array([0, 2]))[0] == -np.inf


@pytest.mark.parametrize("order", [1, 2])
def test_scores(order):
    hmm = fit(order)
    scores = hmm.emission_scores(IDS)
    assert scores.shape == (8, 3)
    assert scores[5, 2] == pytest.approx(np.log(hmm.emissions[0][2, 1] * hmm.emissions[1][2, 0]))
    assert hmm.log_start[1] == -np.inf
    assert (hmm.log_transitions is None) == (order == 2)
    assert (hmm.log_trigrams is None) == (order == 1)
    assert hmm.log_stop.shape == hmm.stop.shape


@pytest.mark.parametrize("order", [1, 2])
def test_samples(order):
    hmm = random_hmm(order, 3, SIZES, seed=8, empty=0.1)
    samples = [hmm.sample(5000, np.random.default_rng(3), n_threads=k) for k in (1, 2, 3)]
    ids, labels, ptr = samples[0]
    for other in samples[1:]:
        np.testing.assert_array_equal(labels, other[1])
        np.testing.assert_array_equal(ptr, other[2])
        for a, b in zip(ids, other[0]):
            np.testing.assert_array_equal(a, b)
    short = hmm.sample(100, np.random.default_rng(3))
    np.testing.assert_array_equal(short[1], labels[: ptr[100]])
    assert not np.array_equal(hmm.sample(100, np.random.default_rng(4))[1], short[1])
    # Fitting the sample gives back the model.
    again = HMM.fit(ids, SIZES, ptr, labels, 3, order)
    np.testing.assert_allclose(again.start, hmm.start, atol=0.03)
    np.testing.assert_allclose(again._steps, hmm._steps, atol=0.12)
    np.testing.assert_allclose(again.stop, hmm.stop, atol=0.12)
    for a, b in zip(again.emissions, hmm.emissions):
        np.testing.assert_allclose(a, b, atol=0.03)


def test_sampled_zeros_stay_zero():
    hmm = fit(2, smoothing=0.0)
    ids, labels, ptr = hmm.sample(2000, np.random.default_rng(0))
    assert np.all(np.isfinite(hmm.log_probability(ids, labels, ptr)))


def test_a_sample_that_never_ends_is_refused():
    hmm = HMM(np.ones(1), np.zeros(1), (np.ones((1, 1)),), transitions=np.ones((1, 1)))
    with pytest.raises(ValueError, match="exceeds max_length = 50 tokens"):
        hmm.sample(3, np.random.default_rng(0), max_length=50)


def test_locally_uniform_counts_as_the_paper_does():
    """3 for O and the start, 4 for B and I, where I may follow neither O nor the start."""
    labels = np.array([0, 1, 1, 0, 0, 2, 2, 0, 1, 2, 2, 0, 1, 0, 2], dtype=np.int32)
    ptr = np.array([0, 7, 10, 15])
    ids = [np.arange(15, dtype=np.int32) % 4]
    hmm = locally_uniform(ids, [5], ptr, labels, 3)
    np.testing.assert_allclose(hmm.start, [1 / 3, 0, 1 / 3])
    np.testing.assert_allclose(hmm.stop, [1 / 4, 1 / 4, 1 / 3])
    np.testing.assert_allclose(hmm.transitions, [[1 / 4] * 3, [1 / 4] * 3, [1 / 3, 0, 1 / 3]])
    np.testing.assert_allclose(hmm.emissions[0], [np.array([5, 5, 5, 4, 1]) / 20] * 3)
    assert hmm.states.path_sums[0].sum() > 1


def test_saved_and_read_back():
    for order in (1, 2):
        hmm = fit(order)
        again = HMM.from_arrays(hmm.to_arrays())
        assert again.order == order
        np.testing.assert_array_equal(again._steps, hmm._steps)
        np.testing.assert_array_equal(again.emission_scores(IDS), hmm.emission_scores(IDS))
    arrays = hmm.to_arrays()
    for bad in (
        {k: v for k, v in arrays.items() if k != "start"},
        {**arrays, "extra": np.zeros(1)},
        {**arrays, "stop": arrays["stop"] * np.nan},
        {**arrays, "steps": arrays["steps"][0]},
        {**arrays, "start": np.array(["a", "b", "c"])},
        {**arrays, "emissions.1": arrays["emissions.1"][:2]},
        {},
    ):
        with pytest.raises(ModelFileError, match="HMM"):
            HMM.from_arrays(bad)


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda hmm: pickle.loads(pickle.dumps(hmm))])
def test_copies(copied):
    hmm = fit(2)
    before = hmm.input_log_probability(IDS, PTR)  # fills the caches
    again = copied(hmm)
    np.testing.assert_array_equal(again.input_log_probability(IDS, PTR), before)


def test_previous_labels():
    before, second = previous_labels(np.array([0, 0, 1, 4]), np.array([5, 6, 7, 8], dtype=np.int32), 9)
    np.testing.assert_array_equal(before, [9, 9, 6, 7])
    np.testing.assert_array_equal(second, [9, 9, 9, 6])
    assert previous_labels(np.array([0, 0]), np.zeros(0, dtype=np.int32), 2)[0].size == 0


class TestHmmRefusals:
    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({"labels": np.array([0, 1, 2, 2, 0, 0, 1, -1], dtype=np.int32)}, "labels must be known"),
            ({"vocabulary_sizes": (2, 2)}, r"column 0 has values outside \[0, 2\)"),
            ({"vocabulary_sizes": (3,)}, "2 columns for an HMM of 1"),
            ({"vocabulary_sizes": (3, 0)}, "column 1 has an empty vocabulary"),
            ({"sequence_ptr": np.array([0, 3, 2, 8])}, "never decrease"),
            ({"sequence_ptr": np.array([0, 3, 4, 7])}, "sequences of 7 tokens, but labels of 8"),
            ({"order": 3}, "must be 1 or 2, not 3"),
            ({"smoothing": -1.0}, "smoothing must not be negative"),
            ({"ids": [IDS[0], IDS[1][:5]]}, "column 1 has 5 tokens where column 0 has 8"),
        ],
    )
    def test_fit(self, change, message):
        arguments = {
            "ids": IDS, "vocabulary_sizes": SIZES, "sequence_ptr": PTR, "labels": LABELS, "n_labels": 3,
        }  # fmt: skip
        with pytest.raises(ValueError, match=message):
            HMM.fit(**(arguments | change))

    def test_arrays(self):
        hmm = fit(1)
        with pytest.raises(ValueError, match="emissions of column 0 must be probabilities that sum to one"):
            HMM(hmm.start, hmm.stop, (hmm.emissions[0] * 2,), transitions=hmm.transitions)
        with pytest.raises(ValueError, match=r"transitions must be probabilities .* \(row \(0,\) sums to 0.5\)"):
            HMM(np.ones(1), np.zeros(1), (np.ones((1, 1)),), transitions=np.full((1, 1), 0.5))
        with pytest.raises(ValueError, match="either transitions"):
            HMM(hmm.start, hmm.stop, hmm.emissions)
        with pytest.raises(ValueError, match="do not fit 3 labels at order 2"):
            HMM(hmm.start, hmm.stop, hmm.emissions, trigrams=np.zeros((3, 3, 3)))
        with pytest.raises(ValueError, match="start and stop must be probabilities"):
            HMM(hmm.start * 2, hmm.stop, hmm.emissions, transitions=hmm.transitions)
