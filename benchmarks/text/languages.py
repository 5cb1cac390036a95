"""Language identification with many labels: made-up languages of six words each, texts of four words.

    python -m benchmarks.text.languages LABELS

Each label against all others under l1, on hashed character trigrams; prints JSON. Memory is that of training and of the
predictions, beyond what the process held before; an array of all weights would have 8 * LABELS * HASHED bytes.
"""

from __future__ import annotations

import json
import sys
import time
import warnings

from benchmarks.processes import megabytes

HASHED = 100_000


def main(n_labels: int) -> dict:
    import numpy as np

    from loglinear import MaxentClassifier

    warnings.simplefilter("ignore")
    rng, letters = np.random.default_rng(0), np.array(list("abcdefghijklmnopqrstuvwxyz"))
    languages = [["".join(word) for word in letters[rng.integers(26, size=(6, 6))]] for _ in range(n_labels)]

    def texts(n: int) -> list[str]:
        return [" ".join(rng.choice(words, 4)) for _ in range(n) for words in languages]

    train, labels = texts(3), [f"l{c}" for c in range(n_labels)]
    model = MaxentClassifier(
        "l1", 0.3, one_vs_rest=True, char_ngrams=(3,), ngrams=(), hash_size=HASHED, tolerance=1e-2, n_threads=2,
        verbose=0,
    )  # fmt: skip
    before, start = megabytes(), time.perf_counter()
    model.fit(train, labels * 3)
    seconds = time.perf_counter() - start
    right = np.mean(model.predict(texts(1)) == np.array(labels))
    return {
        "labels": n_labels, "texts": len(train), "seconds": seconds, "CPU seconds": time.process_time(),
        "accuracy on new texts": f"{right:.3f}", "weights that are not zero": int((model.coef_ != 0).sum()),
        "MB": megabytes() - before, "MB of all weights": 8 * n_labels * HASHED / 1e6,
    }  # fmt: skip


if __name__ == "__main__":
    print(json.dumps(main(int(sys.argv[1]))))
