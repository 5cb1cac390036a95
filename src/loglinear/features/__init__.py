"""Records to sparse rows. A new kind of feature is one new file and one line in FEATURISERS or TOKEN_FEATURISERS."""

from __future__ import annotations

from typing import TYPE_CHECKING

from loglinear.registry import Registry

if TYPE_CHECKING:
    from loglinear.features.featuriser import Featuriser
    from loglinear.features.token_featuriser import TokenFeaturiser

# Of classifiers: the kind that a model file names -> its class, imported on first use.
FEATURISERS: Registry[type[Featuriser]] = Registry(
    "featuriser",
    {
        "words": "loglinear.features.text.words:WordNgrams",
        "hashed": "loglinear.features.text.hashed:HashedNgrams",
        "dicts": "loglinear.features.dicts:DictFeatures",
        "tokens": "loglinear.features.tokens:TokenFeatures",
    },
)
# The same of taggers.
TOKEN_FEATURISERS: Registry[type[TokenFeaturiser]] = Registry(
    "featuriser of sequences",
    {
        "templates": "loglinear.features.templates:TemplateFeatures",
        "attributes": "loglinear.features.attributes:AttributeFeatures",
    },
)
