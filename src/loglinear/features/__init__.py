"""Records to sparse rows. A new kind of feature is one new file and one line in FEATURISERS or TOKEN_FEATURISERS."""

from __future__ import annotations

from .attributes import AttributeFeatures, AttributeSequences
from .candidate_features import CandidateFeatures
from .columns import Columns
from .dicts import DictFeatures
from .featuriser import Featuriser, Rows
from .template_sets import TEMPLATE_SETS
from .templates import TemplateFeatures, load_templates
from .token_featuriser import TokenFeaturiser
from .token_rows import TokenRows
from .tokens import TokenFeatures
from .vocabulary import Vocabulary
from .words import WordNgrams

__all__ = [
    "FEATURISERS",
    "TEMPLATE_SETS",
    "TOKEN_FEATURISERS",
    "AttributeFeatures",
    "AttributeSequences",
    "CandidateFeatures",
    "Columns",
    "DictFeatures",
    "Featuriser",
    "Rows",
    "TemplateFeatures",
    "TokenFeatures",
    "TokenFeaturiser",
    "TokenRows",
    "Vocabulary",
    "WordNgrams",
    "load_templates",
]

FEATURISERS: dict[str, type[Featuriser]] = {
    featuriser.kind: featuriser for featuriser in (WordNgrams, DictFeatures, TokenFeatures)
}
TOKEN_FEATURISERS: dict[str, type[TokenFeaturiser]] = {
    featuriser.kind: featuriser for featuriser in (TemplateFeatures, AttributeFeatures)
}
