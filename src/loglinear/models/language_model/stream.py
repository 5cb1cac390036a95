"""``LanguageModel.partial_fit``: training on text as it comes, one pass at a time."""

from __future__ import annotations

import math
import time
from typing import NamedTuple

import numpy as np

from loglinear.data.ngram import MAX_ORDER
from loglinear.data.sentences import Sentences
from loglinear.interrupts import CtrlC
from loglinear.models.language_model.online import OnlineNgrams
from loglinear.models.language_model.settings import Settings
from loglinear.optimise.minimise import History
from loglinear.optimise.progress import TrainingProgress
from loglinear.solvers.solver import State

_OPTIONS = ("batch_tokens", "gain", "mu")  # of OnlineNgrams, given as solver_options
_EVERY = 1.0  # seconds between two lines of progress


class Pass(NamedTuple):
    """What one pass over new text reports."""

    mean_loss: float  # per token, each batch scored before it was learnt
    seconds: float
    interrupted: bool  # by Ctrl-C, between two batches


def start(settings: Settings, n_words: int) -> OnlineNgrams:
    """Return a model that has seen no text, after a check of the settings."""
    settings.check_stream()
    options = dict(settings.solver_options or {})
    unknown = sorted(set(options) - set(_OPTIONS))
    if unknown:
        raise ValueError(f"solver_options of partial_fit are batch_tokens, gain and mu, not {', '.join(unknown)}")
    order = MAX_ORDER if settings.order is None else settings.order
    return OnlineNgrams(n_words, order, settings.make_penalty(), n_threads=settings.n_threads, **options)


def learn(online: OnlineNgrams, sentences: Sentences, verbose: str | int) -> Pass:
    """Learn from new sentences in one pass, with progress; Ctrl-C ends it between two batches."""
    history, began, shown = History(), time.perf_counter(), 0.0
    with CtrlC() as ctrl_c, TrainingProgress(verbose, 0, "online") as progress:

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

        mean_loss = online.learn(sentences, callback=between)
    return Pass(mean_loss, time.perf_counter() - began, ctrl_c.pressed)
