"""Brown's hierarchical merge, and the bits of classes by their tree.

Merging two classes costs the class bigram model some log-likelihood. Brown's algorithm merges where it costs the least:
words become classes by falling count, of which at most ``n_classes`` are left at any time; the tree in which these
merge to one gives each class a string of bits, whose first bits are those of its relatives (Brown et al. 1992; the
window is that of Liang 2005). Classes that an exchange found get their bits by such a tree, too.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from loglinear import _core, threads
from loglinear.clustering.exchange import (
    Clustering,
    Labels,
    Report,
    WordBigrams,
    check_n_classes,
    log_likelihood,
    numbered_by_count,
)
from loglinear.status import Status

_WORDS_PER_CALL = 500  # between looks for Ctrl-C


def brown(
    bigrams: WordBigrams, n_classes: int, *, n_threads: int | None = None, report: Report | None = None
) -> Clustering:
    """Cluster the words of a text by merges. After Ctrl-C the words that are still to come share one class."""
    check_n_classes(n_classes, bigrams.by_count.size)
    pool = threads.pool(n_threads)
    native = _core.Merger(pool, bigrams.native, n_classes)
    status, left = Status.CONVERGED, bigrams.by_count.size - n_classes
    try:
        while left > 0:
            left = native.insert(pool, _WORDS_PER_CALL)
            if report is not None:
                report(1, left, float("nan"))
    except KeyboardInterrupt:
        status = Status.INTERRUPTED
        native.put_rest(pool)
    labels = numbered_by_count(native.labels(), bigrams, n_classes)
    return Clustering(labels, n_classes, log_likelihood(bigrams, labels, n_classes), 1, status)


def class_bits(bigrams: WordBigrams, labels: Labels, n_classes: int, *, n_threads: int | None = None) -> list[str]:
    """Return a string of bits for each class, by the tree of the cheapest merges; a single class has the bit 0."""
    pool = threads.pool(n_threads)
    start = labels.copy()
    start[0] = 0  # the boundary; the kernel gives it a class of its own
    return bits_of_tree(_core.Merger(pool, bigrams.native, n_classes, start).tree(pool), n_classes)


def bits_of_tree(merges: NDArray[np.uint32], n_classes: int) -> list[str]:
    """Return the bits of each leaf: 0 for the first child of a node, 1 for the second."""
    children = merges.reshape(-1, 2).tolist()
    bits = [""] * (n_classes + len(children))
    for node in range(len(children) - 1, -1, -1):
        for bit, child in enumerate(children[node]):
            bits[child] = bits[n_classes + node] + str(bit)
    return bits[:n_classes] if children else ["0"]
