"""``LanguageModel.partial_fit``: which settings training on a stream takes, and when results are made anew."""

from __future__ import annotations

import math
import time
import warnings
from typing import Any

import numpy as np

from loglinear.data.ngram import MAX_ORDER
from loglinear.data.sentences import Sentences
from loglinear.errors import InterruptedWarning
from loglinear.models.language_model import settings as ngram_settings
from loglinear.models.language_model.online import OnlineNgrams
from loglinear.models.language_model.tree_training import model_of_packed
from loglinear.optimise.minimise import CtrlC, History
from loglinear.optimise.progress import TrainingProgress
from loglinear.solvers.solver import State
from loglinear.status import Status

# Attributes that more text makes stale; they are made anew when they are asked for.
MADE_ANEW = ("queries_", "order_", "n_ngrams_", "n_weights_", "collapsed_")
_EVERY = 1.0  # seconds between two lines of progress


def check(model: Any) -> None:
    """Refuse settings that a stream cannot follow, and models that were made otherwise."""
    ngram_settings.check(model)
    if model.estimator != "maxent":
        raise ValueError(f"partial_fit trains estimator='maxent', not {model.estimator!r}: use fit")
    if model.base is not None or model.strength == "auto" or model.prune_entropy is not None:
        raise ValueError("base, strength='auto' and prune_entropy are of fit: partial_fit sees no text twice")
    if max(np.atleast_1d(np.asarray(model.min_count)).tolist()) > 1:
        raise ValueError("min_count is of fit: in a stream every n-gram is rare at first; the penalty leaves them out")
    if "online_" not in model.__dict__ and "queries_" in model.__dict__:
        raise ValueError(
            "this model was fitted or loaded, and keeps no counts to go on from: use fit with warm_start=True, or "
            "begin a new model with partial_fit"
        )


def start(model: Any, n_words: int) -> OnlineNgrams:
    """A model that has seen nothing; ``solver_options`` may hold batch_tokens, gain and mu."""
    options = dict(model.solver_options or {})
    unknown = sorted(set(options) - {"batch_tokens", "gain", "mu"})
    if unknown:
        raise ValueError(f"solver_options of partial_fit are batch_tokens, gain and mu, not {', '.join(unknown)}")
    order = MAX_ORDER if model.order is None else model.order
    return OnlineNgrams(n_words, order, ngram_settings.penalty_of(model), n_threads=model.n_threads, **options)


def learn(model: Any, sentences: Sentences) -> None:
    """One pass over the sentences, with progress; Ctrl-C ends it between two batches."""
    for name in MADE_ANEW:
        model.__dict__.pop(name, None)
    online, history, began, shown = model.online_, History(), time.perf_counter(), 0.0
    with CtrlC() as ctrl_c, TrainingProgress(model.verbose, 0, "online") as progress:

        def between(n_tokens: int, mean_loss: float) -> bool:
            nonlocal shown
            seconds = time.perf_counter() - began
            if seconds - shown >= _EVERY:
                shown = seconds
                state = State(np.empty(0), mean_loss * n_tokens, math.nan)
                before = math.exp(min(mean_loss, 700.0))
                state.note = f"{n_tokens} tokens, perplexity before they were learnt {before:.1f}"
                history.record(seconds, state)
                progress(online.n_steps, state, history)
            return ctrl_c.pressed

        model.online_loss_ = online.learn(sentences, callback=between)
    model.n_tokens_, model.n_iter_, model.fit_seconds_ = online.n_tokens, online.n_steps, time.perf_counter() - began
    model.status_, model.converged_ = Status.INTERRUPTED if ctrl_c.pressed else Status.ONLINE, False
    if ctrl_c.pressed:
        warnings.warn("learning was interrupted; the text after that was not learnt", InterruptedWarning, stacklevel=3)


def refresh(model: Any) -> None:
    """The model of the weights as they are now."""
    online = model.online_
    packed = online.pack(model.vocabulary_)
    if packed is None:
        backoff = online.to_backoff(model.vocabulary_)
    else:  # by way of what a file would hold, so that a model that is read answers to the bit as before
        backoff = model_of_packed(packed, model.vocabulary_, n_threads=model.n_threads)
    model.collapsed_ = packed
    model.n_weights_ = online.n_words + int(np.count_nonzero(online.weights[online.n_words :]))
    model._take(backoff)
