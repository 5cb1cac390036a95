"""Records to sparse rows. A new kind of feature is one new file and one line in FEATURISERS or TOKEN_FEATURISERS."""

from __future__ import annotations

from loglinear.features.attributes import AttributeFeatures, AttributeSequences
from loglinear.features.candidate_features import CandidateFeatures
from loglinear.features.columns import Columns
from loglinear.features.dicts import DictFeatures
from loglinear.features.featuriser import Featuriser, Rows
from loglinear.features.sequences import TokenRows
from loglinear.features.template_sets import TEMPLATE_SETS
from loglinear.features.templates import TemplateFeatures, load_templates
from loglinear.features.token_featuriser import TokenFeaturiser
from loglinear.features.tokens import TokenFeatures
from loglinear.features.vocabulary import Vocabulary
from loglinear.features.words import WordNgrams

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
