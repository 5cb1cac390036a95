"""The averaged perceptron against the same in NumPy."""

import numpy as np
import pytest
from candidate_problems import dense_differences, random_data

from loglinear.errors import IncompatibleError
from loglinear.stagewise import AveragedPerceptron


def slow_perceptron(data, base, orders):
    X = dense_differences(data)
    offset, X = X[:, : data.n_base] @ base, X[:, data.n_base :]
    w = np.zeros(data.n_features)
    total = np.zeros_like(w)
    n, averages = 0, []
    for order in orders:
        for i in order:
            pairs = np.arange(data.list_ptr[i], data.list_ptr[i + 1])
            margins = offset[pairs] + X[pairs] @ w
            scored = [(-0.0, data.reference[i], -1), *zip(margins, data.place[pairs], pairs, strict=True)]
            _, _, chosen = min(scored)
            if chosen >= 0 and data.errors[chosen] > 0:
                w = w + X[chosen]
            n += 1
            total += w
        averages.append(total / n)
    return averages


@pytest.mark.parametrize("seed", range(5))
def test_passes_are_those_of_the_definition(seed):
    data = random_data(40, seed=seed)
    path = AveragedPerceptron(max_iterations=4, random_state=seed).follow(data, data)
    rng = np.random.default_rng(seed)
    orders = [rng.permutation(data.n_lists) for _ in range(path.n_steps)]
    expected = slow_perceptron(data, path.base, orders)
    for t, weights in enumerate(expected, 1):
        np.testing.assert_allclose(path.weights(t)[data.n_base :], weights, atol=1e-9)
        assert path.dev_errors[t] == data.chosen_errors(path.weights(t)).sum() == path.train_errors[t]
    assert not path.weights(0)[data.n_base :].any()
    assert path.best == int(np.argmin(path.dev_errors))


def test_lists_that_need_no_update_end_it():
    data = random_data(40, seed=1)
    easy = data.take(np.flatnonzero(np.diff(data.list_ptr) == 0))
    path = AveragedPerceptron(max_iterations=5).follow(easy)
    assert path.n_steps == 1
    assert path.stopped == "no list needs an update"


def test_patience_and_bad_settings():
    data = random_data(60, seed=2)
    train, dev = data.take(np.arange(30)), data.take(np.arange(30, 60))
    path = AveragedPerceptron(max_iterations=50, patience=2).follow(train, dev)
    assert path.n_steps - path.best <= 2
    with pytest.raises(IncompatibleError, match="held-out lists"):
        AveragedPerceptron().follow(data, random_data(10, seed=9))
    with pytest.raises(ValueError, match="patience"):
        AveragedPerceptron(patience=0)
    with pytest.raises(ValueError, match="max_iterations"):
        AveragedPerceptron(max_iterations=-1)
    with pytest.raises(IndexError, match="points 0 to"):
        path.weights(99)
