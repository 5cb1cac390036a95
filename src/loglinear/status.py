"""Why training ended. The members are strings, so model files, JSON and ``status_`` hold their texts."""

from __future__ import annotations

from enum import Enum


class Status(str, Enum):
    """The reason why a solver, a search for strengths, a path or a model ended its training."""

    # The loop of all solvers (optimise/minimise.py)
    CONVERGED = "converged"
    SMALL_DECREASE = "the objective hardly decreases any more"
    NO_DECREASE = "no further decrease in floating point"
    MAX_ITERATIONS = "max_iterations reached"
    DIVERGED = "diverged: the objective is no longer finite"
    INTERRUPTED = "interrupted"
    STOPPED = "stopped by the callback"

    # The choice of strengths (optimise/tuning_by_gradient.py, optimise/tuning_by_search.py)
    NO_EXPECTED_GAIN = "converged: the strengths are as good as they get"
    SMALL_GAINS = "converged: the last two rounds gained next to nothing"
    SHORTEST_STEP = "converged: no step is short enough to gain"
    BEST_SETTINGS = "converged: the settings are as good as they get"
    NO_SLOPE = "no strength changes the validation loss: are all weights zero? Begin with smaller ones"
    MAX_ROUNDS = "max_rounds reached"
    MAX_TRIALS = "all trials made"

    # Paths of rerankers (stagewise/)
    MAX_STEPS = "max_iterations"
    NO_DESCENT = "no step lowers the loss"
    NO_UPDATE = "no list needs an update"
    PATIENCE = "held-out errors fell no more"
    SEPARATED = "every list is separated: its reference stays first"

    # Models that no solver trained
    NO_CHANGE = "no change"
    COUNTED = "counted"
    IMPORTED = "imported"
    ONLINE = "online"

    def __str__(self) -> str:
        """Return the text, in f-strings as well and in every version of Python."""
        return self.value
