import numpy as np
import pytest
import scipy.sparse as sp
from problems import dense_data, sparse_data, text_matrix
from scipy.special import log_softmax, softmax

from loglinear import _core
from loglinear.data.matrix import DenseRows, SparseRows
from loglinear.data.multiclass import MulticlassData
from loglinear.losses.multinomial import MultinomialLoss
from loglinear.structure.tying import Tying
from loglinear.testing import check_loss

PROBLEMS = {
    "sparse": lambda: sparse_data(4),
    "sparse weighted": lambda: sparse_data(3, weights=True),
    "sparse binary": lambda: sparse_data(2),
    "dense": lambda: dense_data(),
    "dense weighted": lambda: dense_data(weights=True, n_classes=5),
    "dense binary": lambda: dense_data(n_classes=2),
}


def twin(data, w, intercept=True):
    """The loss and its gradient in NumPy."""
    X = data.rows.X if isinstance(data.rows, DenseRows) else sp.csr_matrix(
        (data.rows.values, data.rows.indices, data.rows.indptr), shape=(data.n_examples, data.n_features)
    ).toarray()
    K = 1 if data.n_classes <= 2 else data.n_classes
    W = w[: X.shape[1] * K].reshape(-1, K)
    M = X @ W + (w[X.shape[1] * K :] if intercept else 0)
    if K == 1:
        M = np.hstack([np.zeros_like(M), M])
    s = np.ones(len(X)) if data.sample_weight is None else data.sample_weight
    value = -np.sum(s * log_softmax(M, axis=1)[np.arange(len(X)), data.labels])
    R = s[:, None] * (softmax(M, axis=1) - np.eye(M.shape[1])[data.labels])
    R = R[:, 1:] if K == 1 else R
    return value, np.concatenate([(X.T @ R).ravel(), R.sum(axis=0)] if intercept else [(X.T @ R).ravel()])


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("intercept", [True, False])
def test_against_twin(name, intercept):
    data = PROBLEMS[name]()
    loss = MultinomialLoss(data, intercept=intercept)
    w = np.random.default_rng(0).normal(size=loss.n_weights)
    g = np.empty_like(w)
    value, gradient = twin(data, w, intercept)
    assert loss.value_and_gradient(w, g) == pytest.approx(value, rel=1e-12)
    np.testing.assert_allclose(g, gradient, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", PROBLEMS)
def test_checks(name):
    check_loss(MultinomialLoss(PROBLEMS[name]()), scale=0.3)


@pytest.mark.parametrize("n_classes", range(2, 27))
def test_every_number_of_classes(n_classes):
    """The loops take classes in blocks of 16, 8 and a rest of 1 to 7."""
    rng = np.random.default_rng(n_classes)
    X = sp.random(40, 30, 0.2, format="csr", random_state=1)
    y = rng.integers(0, n_classes, size=40)
    for rows in (SparseRows.from_scipy(X), DenseRows(X.toarray())):
        data = MulticlassData(rows, y, n_classes)
        loss = MultinomialLoss(data)
        w = rng.normal(size=loss.n_weights)
        g = np.empty_like(w)
        value, gradient = twin(data, w)
        assert loss.value_and_gradient(w, g) == pytest.approx(value, rel=1e-12)
        np.testing.assert_allclose(g, gradient, atol=1e-10)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_extreme_scores_stay_finite(n_classes):
    data = sparse_data(n_classes)
    loss = MultinomialLoss(data)
    for scale in (700.0, 1e5):
        w = np.random.default_rng(0).choice([-scale, scale], size=loss.n_weights)
        g = np.empty_like(w)
        assert np.isfinite(loss.value_and_gradient(w, g))
        assert np.all(np.isfinite(g))


@pytest.mark.parametrize("name", ["sparse", "dense", "sparse binary"])
def test_threads_and_instruction_sets_agree(name):
    data = PROBLEMS[name]()
    w = np.random.default_rng(0).normal(size=MultinomialLoss(data).n_weights)
    reference = twin(data, w)
    for simd in ("baseline", "avx2", "avx512"):
        if not _core.simd_select(simd):
            continue
        results = []
        for n_threads in (1, 2, 3):
            g = np.empty_like(w)
            results.append((MultinomialLoss(data, n_threads=n_threads).value_and_gradient(w, g), g))
            assert results[-1][0] == pytest.approx(reference[0], rel=1e-12)
        if not name.startswith("dense"):  # sparse sums do not depend on the number of threads at all
            assert results[0][0] == results[1][0] == results[2][0]
            np.testing.assert_array_equal(results[0][1], results[2][1])
        again = np.empty_like(w)
        MultinomialLoss(data, n_threads=2).value_and_gradient(w, again)
        np.testing.assert_array_equal(results[1][1], again)
    _core.simd_select("auto")


def test_64_bit_indices():
    X, y = text_matrix(3)
    narrow = SparseRows.from_scipy(X)
    wide = SparseRows(X.indptr, X.indices.astype(np.int64), X.data, X.shape[1])
    assert narrow.indices.dtype == np.int32
    assert wide.indices.dtype == np.int64
    out = []
    for rows in (narrow, wide):
        loss = MultinomialLoss(MulticlassData(rows, y, 3))
        w = np.random.default_rng(0).normal(size=loss.n_weights)
        g = np.empty_like(w)
        out.append((loss.value_and_gradient(w, g), g))
    assert out[0][0] == out[1][0]
    np.testing.assert_array_equal(out[0][1], out[1][1])


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("kind", ["sparse", "dense"])
def test_tied_loss_is_the_loss_of_expanded_weights(n_classes, kind):
    data = sparse_data(n_classes) if kind == "sparse" else dense_data(n_classes=n_classes)
    if kind == "dense" and n_classes > 2:
        n = MultinomialLoss(data).n_weights
        with pytest.raises(ValueError, match="sparse matrix"):
            MultinomialLoss(data).tied(Tying(np.arange(n), n))
        return
    loss = MultinomialLoss(data)
    rng = np.random.default_rng(0)
    n, K, n_groups = data.n_features * loss.n_columns, loss.n_columns, 5
    groups = np.concatenate([rng.integers(0, n_groups, size=n), n_groups + np.arange(K)])
    tying = Tying(groups, n_groups + K)
    u = rng.normal(size=n_groups + K)
    full, tied = np.empty(loss.n_weights), np.empty(u.size)
    value = loss.value_and_gradient(tying.up(u), full)
    assert loss.tied(tying).value_and_gradient(u, tied) == pytest.approx(value, rel=1e-12)
    np.testing.assert_allclose(tied, tying.down(full), rtol=1e-8, atol=1e-9)
    with pytest.raises(ValueError, match="intercepts must stay untied"):
        loss.tied(Tying(np.zeros(loss.n_weights, dtype=int), 1))


def test_merging_identical_features_is_an_isometry():
    X, y = text_matrix(4)
    X = sp.hstack([X, X[:, :40], X[:, :10]]).tocsr()
    data = MulticlassData(SparseRows.from_scipy(X), y, 4)
    merged, features = data.merge_identical_features()
    assert merged.n_features < data.n_features
    dense = X.toarray()
    distinct = np.unique(dense, axis=1).shape[1]
    assert merged.n_features == distinct
    loss, small = MultinomialLoss(data), MultinomialLoss(merged)
    tying = features.per_class(4, True)
    u = np.random.default_rng(0).normal(size=small.n_weights)
    g, gu = np.empty(loss.n_weights), np.empty(u.size)
    assert small.value_and_gradient(u, gu) == pytest.approx(loss.value_and_gradient(tying.up(u), g), rel=1e-12)
    np.testing.assert_allclose(gu, tying.down(g), atol=1e-9)
    assert np.linalg.norm(tying.up(u)) == pytest.approx(np.linalg.norm(u))


class TestRefusals:
    def make(self, indptr=(0, 1, 2), indices=(0, 1), values=(1.0, 1.0), n_columns=2):
        return SparseRows(np.array(indptr), np.array(indices), np.array(values), n_columns)

    def test_index_too_large(self):
        with pytest.raises(ValueError, match=r"row 1 has column index 7, outside \[0, 2\)"):
            self.make(indices=(0, 7))

    def test_negative_index(self):
        with pytest.raises(ValueError, match=r"column index -1, outside"):
            self.make(indices=(-1, 0))

    def test_nan(self):
        with pytest.raises(ValueError, match="row 1, column 1 is NaN or infinity"):
            self.make(values=(1.0, np.nan))

    def test_dense_infinity(self):
        with pytest.raises(ValueError, match="row 0, column 1 is NaN or infinity"):
            DenseRows([[1.0, np.inf]])

    def test_decreasing_indptr(self):
        with pytest.raises(ValueError, match="indptr decreases at row 1"):
            self.make(indptr=(0, 2, 1, 2))

    def test_indptr_end(self):
        with pytest.raises(ValueError, match="must start at 0 and end at"):
            self.make(indptr=(0, 1, 3))

    def test_float_indices(self):
        with pytest.raises(ValueError, match="must be integers"):
            self.make(indices=(0.0, 1.0))

    def test_labels(self):
        with pytest.raises(ValueError, match="label 5 of row 1 is outside"):
            MulticlassData(self.make(), np.array([0, 5]), 3)
        with pytest.raises(ValueError, match="1 labels for 2 examples"):
            MulticlassData(self.make(), np.array([0]), 3)

    def test_sample_weight(self):
        with pytest.raises(ValueError, match="finite and not negative"):
            MulticlassData(self.make(), np.array([0, 1]), 2, np.array([1.0, -1.0]))

    def test_weights_of_wrong_length(self):
        loss = MultinomialLoss(MulticlassData(self.make(), np.array([0, 1]), 2))
        with pytest.raises(ValueError, match="7 weights for a loss of 3"):
            loss.value_and_gradient(np.zeros(7), np.zeros(7))
