"""Input methods to and from an archive: the arrays of the lexicon, and those of the language model."""

from __future__ import annotations

from typing import Any

from loglinear.errors import ModelFileError
from loglinear.features.lexicon import Lexicon
from loglinear.models import archive as files
from loglinear.models.archive import Archive, as_json, check_n_threads, parameters_of
from loglinear.models.language_model import file as language_model_file

KIND = "input-method"
_LEXICON, _MODEL = "lexicon.", "language_model."
_LEARNT = ("n_tokens", "n_sentences", "fit_seconds", "domain_weight", "validation_perplexities",
           "validation_score")  # fmt: skip


def save(model: Any, path: Any) -> None:
    """Write the model."""
    language = language_model_file.to_archive(model.language_model_)
    arrays = {_LEXICON + name: array for name, array in model.lexicon_.arrays().items()}
    arrays |= {_MODEL + name: array for name, array in language.arrays.items()}
    settings = {"parameters": as_json(model.parameters()), "language_model": language.settings}
    summary = {name: as_json(getattr(model, name + "_")) for name in _LEARNT if hasattr(model, name + "_")}
    files.save(path, Archive(KIND, settings, {**summary, "language_model": language.summary}, arrays))


def load(cls: Any, archive: Archive, source: Any) -> Any:
    """Make the model, an estimator or a predictor, after a check of everything that conversion relies on."""
    try:
        model = cls(**parameters_of(archive))
        model.check_settings()
        check_n_threads(model.n_threads)
        settings, summary = dict(archive.settings["language_model"]), dict(archive.summary["language_model"])
    except (KeyError, TypeError, ValueError) as error:
        raise ModelFileError(f"{source}: the model's settings are damaged ({error})") from None
    parts = Archive(language_model_file.KIND, settings, summary, archive.part(_MODEL))

    def read() -> None:
        language = language_model_file.load(cls.language_model, parts, source)
        try:
            model.take(Lexicon.from_arrays(archive.part(_LEXICON)), language)
        except ModelFileError as error:
            raise ModelFileError(f"{source}: {error}") from None
        except (TypeError, ValueError) as error:
            raise ModelFileError(f"{source}: the model's lexicon is damaged ({error})") from None

    model.read_when_used(archive, source, ("lexicon_", "language_model_", "_converter"), read)
    learnt = archive.summary
    if "dev_perplexities" in learnt:  # its name in version 0.1.0
        learnt = {**learnt, "validation_perplexities": learnt["dev_perplexities"]}
    for name in _LEARNT:
        if name in learnt:
            setattr(model, name + "_", learnt[name])
    return model
