"""How well an input method converts: errors of characters, of its best conversion and of the best among k."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from loglinear.metrics.error_rate import ErrorComparison


@dataclass(frozen=True)
class ConversionScore:
    """Counts over all sentences. Errors are insertions, deletions and substitutions of characters, without blanks."""

    n_sentences: int
    n_characters: int  # of what should have been written
    n_errors: int  # of the best conversions
    n_oracle_errors: int  # of the candidates with the least errors
    n_exact: int  # sentences without an error
    n_unknown: int  # words of the most probable conversions that stand as they were typed
    n_uncovered: int  # sentences with a word or a reading that the lexicon lacks, so that no candidate is right
    k: int  # candidates for each sentence
    seconds: float  # of the conversion
    comparison: ErrorComparison | None = None  # of a reranker's choice with the most probable candidate

    @property
    def cer(self) -> float:
        """Character error rate."""
        return self.n_errors / max(self.n_characters, 1)

    @property
    def oracle_cer(self) -> float:
        """Character error rate of the best of k: what no reranker can fall below."""
        return self.n_oracle_errors / max(self.n_characters, 1)

    @property
    def sentences_per_second(self) -> float:
        """Speed of the conversion to k candidates."""
        return self.n_sentences / max(self.seconds, 1e-9)

    def to_dict(self) -> dict[str, Any]:
        """As plain values, for JSON."""
        rates = {"cer": self.cer, "oracle_cer": self.oracle_cer, "sentence_accuracy": self.n_exact / self.n_sentences}
        found = {**rates, **asdict(self), "sentences_per_second": self.sentences_per_second}
        if self.comparison is None:
            del found["comparison"]
            return found
        return {**found, "baseline_cer": self.comparison.rate_first, "reduction": self.comparison.reduction}
