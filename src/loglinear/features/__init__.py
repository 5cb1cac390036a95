"""Records to sparse rows. A new kind of feature is one new file and one line in FEATURISERS."""

from __future__ import annotations

from .dicts import DictFeatures
from .featuriser import Featuriser, Rows
from .tokens import TokenFeatures
from .vocabulary import Vocabulary
from .words import WordNgrams

__all__ = ["FEATURISERS", "DictFeatures", "Featuriser", "Rows", "TokenFeatures", "Vocabulary", "WordNgrams"]

FEATURISERS: dict[str, type[Featuriser]] = {
    featuriser.kind: featuriser for featuriser in (WordNgrams, DictFeatures, TokenFeatures)
}
