"""The score of an input method: character errors of its best conversions and of the best among k."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from loglinear.metrics.error_rate import ErrorComparison
from loglinear.metrics.figures import Figures


@dataclass(frozen=True)
class ConversionScore:
    """Counts over all sentences. Errors are insertions, deletions and substitutions of characters, without blanks."""

    n_sentences: int
    n_characters: int  # of the references
    n_errors: int  # of the best conversions
    n_oracle_errors: int  # of the candidates with the least errors
    n_exact: int  # sentences without an error
    n_unknown: int  # words of the most probable conversions that are left as typed
    n_uncovered: int  # sentences with a word or a reading that the lexicon lacks, so that no candidate is right
    k: int  # candidates for each sentence
    seconds: float  # for the conversion
    comparison: ErrorComparison | None = None  # of the most probable candidates with a reranker's choices

    @property
    def cer(self) -> float:
        """Return the character error rate of the best conversions."""
        return self.n_errors / max(self.n_characters, 1)

    @property
    def oracle_cer(self) -> float:
        """Return the character error rate of the best of k candidates, a lower bound for every reranker."""
        return self.n_oracle_errors / max(self.n_characters, 1)

    @property
    def sentences_per_second(self) -> float:
        """Return the speed of conversion to k candidates."""
        return self.n_sentences / max(self.seconds, 1e-9)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        rates = {"cer": self.cer, "oracle_cer": self.oracle_cer, "sentence_accuracy": self.n_exact / self.n_sentences}
        found = Figures(rates | asdict(self, dict_factory=Figures))
        found["sentences_per_second"] = self.sentences_per_second
        if self.comparison is None:
            del found["comparison"]
        else:
            found |= {"baseline_cer": self.comparison.rate_first, "reduction": self.comparison.reduction}
        return found
