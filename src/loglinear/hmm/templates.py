"""Template features as an HMM sees them: what their attributes look at, and the attributes of sampled sequences."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from loglinear.errors import IncompatibleError
from loglinear.features.columns import Columns
from loglinear.features.sequences import TokenRows
from loglinear.features.templates import TemplateFeatures
from loglinear.features.token_featuriser import TokenFeaturiser
from loglinear.features.vocabulary import Vocabulary
from loglinear.hmm.expectations import ColumnView, Observations
from loglinear.hmm.sampled import Attributes


def template_observations(featuriser: TemplateFeatures, columns: Columns) -> Observations:
    """Return what each attribute looks at, for exact expectations under an HMM of these columns.

    Hashed attributes and rows counted from the ends of a sequence are refused: sample their expectations instead.
    """
    if featuriser.hash_bits is not None:
        raise IncompatibleError("hashed attributes have no exact expectations; fit without hash_bits, or sample them")
    for template in featuriser.templates:
        if any(macro.absolute for macro in template.macros):
            raise IncompatibleError(
                f"template line {template.line} has a row counted from an end of the sequence, which has no exact "
                "expectation here; use sampled expectations"
            )
    views = [
        ColumnView(view.column, featuriser.view_ids(columns, v), len(featuriser.view_vocabularies[v]))
        for v, view in enumerate(featuriser.views)
    ]
    macros = [[(macro.row, macro.view) for macro in template.macros] for template in featuriser.templates]
    return Observations(macros, views, featuriser.attribute_template, featuriser.attribute_values)


def column_attributes(
    featuriser: TokenFeaturiser, vocabularies: Sequence[Vocabulary], n_threads: int = 1
) -> Attributes:
    """Return a function that featurises sequences of numbers in these vocabularies, for sampled expectations."""

    def attributes(ids: list[NDArray[np.int32]], sequence_ptr: NDArray[np.int64]) -> TokenRows:
        return featuriser.transform(Columns(sequence_ptr, ids, vocabularies), n_threads)

    return attributes
