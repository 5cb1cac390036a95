from loglinear.metrics.input_method import ConversionScore


def test_rates():
    score = ConversionScore(4, 50, 10, 5, 1, 2, 1, 20, 0.5)
    assert (score.cer, score.oracle_cer, score.sentences_per_second) == (0.2, 0.1, 8.0)
    assert score.to_dict()["sentence_accuracy"] == 0.25
    assert ConversionScore(1, 0, 0, 0, 1, 0, 0, 1, 0.0).cer == 0.0
