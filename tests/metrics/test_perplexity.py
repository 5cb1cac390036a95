import math

import pytest

from loglinear.metrics.perplexity import TextScore, perplexity


def test_perplexity_of_a_text():
    score = TextScore(2, 6, 1, 8 * math.log(1 / 50) + math.log(2), math.log(1 / 500), [3, 5])
    assert score.n_tokens == 8
    assert score.perplexity == pytest.approx(50 / 2 ** (1 / 8))
    assert score.perplexity_without_unknown == pytest.approx(math.exp(-(score.log_probability + math.log(500)) / 7))
    assert score.as_dict()["perplexity"] == score.perplexity


def test_the_ends_of_the_scale():
    assert perplexity(-math.inf, 3) == math.inf
    assert math.isnan(perplexity(0.0, 0))
    assert perplexity(0.0, 5) == 1.0
