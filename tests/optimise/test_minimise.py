"""The loop: stopping, history, callbacks, checkpoints, Ctrl-C, kill and resume."""

import os
import signal
import subprocess
import textwrap
from pathlib import Path

import numpy as np
import pytest
from children import python, stopped
from problems import sparse_data

from loglinear import penalties, solvers
from loglinear.errors import ModelFileError
from loglinear.losses.multinomial import MultinomialLoss
from loglinear.optimise.checkpoint import Checkpoint, discard
from loglinear.optimise.minimise import minimise
from loglinear.optimise.objective import Objective
from loglinear.status import Status


@pytest.fixture
def objective():
    loss = MultinomialLoss(sparse_data(3))
    return Objective(loss, penalties.make("l2", 1.0, n_free=3))


def test_history_and_violation(objective):
    result = minimise(objective, solvers.Lbfgs(), violation_tolerance=1e-6)
    history = result.history
    assert result.converged
    assert result.status == "converged"
    assert len(history.objective) == len(history.time) == len(history.violation) == len(history.gap)
    assert result.n_iterations == history.passes[-1] >= len(history.objective)
    assert np.all(np.diff(history.objective) <= 1e-9)
    assert np.all(np.diff(history.time) >= 0)
    assert history.violation[-1] <= 1e-6 * objective.gradient_scale()


def test_stops_on_relative_decrease_and_iterations(objective):
    loose = minimise(objective, solvers.Lbfgs(), tolerance=0.0, decrease_tolerance=1e-3)
    tight = minimise(objective, solvers.Lbfgs(), tolerance=0.0, decrease_tolerance=1e-7)
    assert loose.n_iterations < tight.n_iterations
    assert "hardly decreases" in loose.status
    few = minimise(objective, solvers.Lbfgs(), tolerance=0.0, max_iterations=3)
    assert (few.n_iterations, few.status, few.converged) == (3, "max_iterations reached", False)


class _FirstRefuses(solvers.Lbfgs):
    """Stays where it is for eight steps, as a trust region that begins too large does."""

    def step(self, objective, state):
        state.refused = getattr(state, "refused", 0) + 1
        if state.refused > 8:
            super().step(objective, state)


def test_refused_steps_are_not_taken_for_the_end(objective):
    result = minimise(objective, _FirstRefuses(), violation_tolerance=1e-6, decrease_tolerance=1e-9)
    assert result.history.objective[0] == result.history.objective[8] > result.value
    assert result.converged


def test_floating_point_limit_ends_the_run(objective):
    for solver in (solvers.Lbfgs(), solvers.Newton(), solvers.Owlqn()):
        result = minimise(objective, solver, tolerance=0.0, max_iterations=5000)
        assert result.n_iterations < 5000, solver.name
        assert result.violation < 1e-5 * objective.gradient_scale()


def test_callback_stops(objective):
    seen = []
    result = minimise(objective, solvers.Lbfgs(), callback=lambda i, state, history: seen.append(state.value) or i == 4)
    assert len(result.history.time) == 4 + 1
    assert result.status == "stopped by the callback"
    assert len(seen) == 4


def test_warm_start_is_quicker(objective):
    cold = minimise(objective, solvers.Lbfgs(), violation_tolerance=1e-6)
    warm = minimise(objective, solvers.Lbfgs(), cold.weights, violation_tolerance=1e-6)
    assert warm.n_iterations == 1 == len(warm.history.time)
    np.testing.assert_array_equal(cold.weights, warm.weights)


@pytest.mark.parametrize("solver", [solvers.Owlqn(), solvers.Fista(), solvers.WorkingSet()], ids=lambda s: s.name)
def test_training_goes_on_as_if_it_had_not_stopped(objective, solver):
    whole = minimise(objective, solver, tolerance=1e-6)
    part = minimise(objective, solver, tolerance=None, max_iterations=12, keep_state=True)
    assert whole.state is None
    weights, value = part.weights.copy(), part.value
    rest = minimise(objective, solver, tolerance=1e-6, go_on=part)
    np.testing.assert_array_equal(rest.weights, whole.weights)
    assert rest.history.objective == whole.history.objective
    assert rest.history.passes == whole.history.passes
    assert np.all(np.diff(rest.history.time) >= 0)
    assert rest.n_iterations == whole.n_iterations
    assert rest.gap == pytest.approx(whole.gap, rel=1e-9)
    np.testing.assert_array_equal(part.weights, weights)  # what was found before stays
    assert part.value == value


def test_training_goes_on_only_from_a_state(objective):
    without = minimise(objective, solvers.Owlqn(), max_iterations=3)
    other = minimise(objective, solvers.Fista(), max_iterations=3, keep_state=True)
    for result in (without, other):
        with pytest.raises(ValueError, match="the same solver whose state was kept"):
            minimise(objective, solvers.Owlqn(), go_on=result)


def test_bad_arguments(objective):
    with pytest.raises(ValueError, match="5 starting weights"):
        minimise(objective, solvers.Lbfgs(), np.zeros(5))
    with pytest.raises(ValueError, match="must be finite"):
        minimise(objective, solvers.Lbfgs(), np.full(objective.n_weights, np.nan))
    with pytest.raises(ValueError, match="must not be negative"):
        minimise(objective, solvers.Lbfgs(), tolerance=-1)


def test_unfinished_coarse_phase_still_reports_its_violation(objective):
    solver = solvers.Clustered(cluster_factor=8, fine_iterations=1)
    result = minimise(objective, solver, violation_tolerance=1e-9, max_iterations=4)
    gradient = np.empty(objective.n_weights)
    value = objective.value_and_loss_gradient(result.weights, gradient)
    assert result.value == pytest.approx(value, rel=1e-12)
    assert result.violation == pytest.approx(objective.violation(result.weights, gradient), rel=1e-6)


def test_checkpoint_resumes_and_refuses_another_problem(objective, tmp_path):
    path = tmp_path / "run.checkpoint"
    saved = Checkpoint(path, every=0.0)
    first = minimise(objective, solvers.Lbfgs(), violation_tolerance=1e-10, max_iterations=6, checkpoint=saved)
    second = minimise(objective, solvers.Lbfgs(), violation_tolerance=1e-10, checkpoint=Checkpoint(path))
    whole = minimise(objective, solvers.Lbfgs(), violation_tolerance=1e-10)
    assert first.n_iterations == 6 < second.n_iterations
    np.testing.assert_allclose(second.weights, whole.weights, atol=1e-6)
    with pytest.raises(ModelFileError, match="a checkpoint of another problem"):
        minimise(objective, solvers.Lbfgs(), checkpoint=Checkpoint(path, problem="other"))
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(ModelFileError, match="not a checkpoint"):
        minimise(objective, solvers.Lbfgs(), checkpoint=Checkpoint(path))


def test_a_damaged_checkpoint_is_refused(objective, tmp_path):
    path = tmp_path / "run.checkpoint"
    minimise(objective, solvers.Lbfgs(), max_iterations=6, checkpoint=Checkpoint(path, every=0.0))
    whole = path.read_bytes()
    for at in (len(whole) - 1, len(whole) - 100, whole.index(b'"iteration"') + 13):
        damaged = bytearray(whole)
        damaged[at] ^= 1
        path.write_bytes(damaged)
        with pytest.raises(ModelFileError, match="remove it to start again"):
            minimise(objective, solvers.Lbfgs(), checkpoint=Checkpoint(path))
    path.write_bytes(whole)
    minimise(objective, solvers.Lbfgs(), checkpoint=Checkpoint(path))


def test_ctrl_c_waits_for_the_last_save(objective, tmp_path):
    class Interrupted(Checkpoint):
        def save(self, *state):
            signal.raise_signal(signal.SIGINT)
            super().save(*state)

    result = minimise(objective, solvers.Lbfgs(), checkpoint=Interrupted(tmp_path / "c"))
    assert (result.status, result.converged) == (Status.INTERRUPTED, True)
    assert [p.name for p in tmp_path.iterdir()] == ["c"]


@pytest.mark.parametrize("status", list(Status))
def test_a_checkpoint_stays_where_training_can_go_on(status, tmp_path):
    path = tmp_path / "c"
    path.write_text("")
    discard(path, status)
    assert path.exists() == (status in (Status.INTERRUPTED, Status.MAX_ITERATIONS))
    discard(None, status)


def test_the_gradient_at_zero_is_computed_once_per_loss(objective):
    class Counted:
        n_weights, n_evaluations = objective.n_weights, 0

        def value_and_gradient(self, w, out):
            self.n_evaluations += 1
            return objective.loss.value_and_gradient(w, out)

    loss = Counted()
    scales = {Objective(loss, penalties.L2(strength)).gradient_scale() for strength in (1.0, 2.0, 3.0)}
    assert scales == {objective.gradient_scale()}
    assert loss.n_evaluations == 1


SCRIPT = textwrap.dedent("""
    import os, signal, sys
    sys.path.insert(0, {tests!r})
    from problems import sparse_data
    from loglinear import penalties, solvers
    from loglinear.optimise.checkpoint import Checkpoint
    from loglinear.losses.multinomial import MultinomialLoss
    from loglinear.optimise.minimise import minimise
    from loglinear.optimise.objective import Objective
    loss = MultinomialLoss(sparse_data(3))
    objective = Objective(loss, penalties.make("l2", 0.01, n_free=3))
    signals, arrived = os.pipe()
    os.set_blocking(arrived, False)
    signal.set_wakeup_fd(arrived)
    def wait(i, state, history):
        print("step", i, state.value, flush=True)
        if i == {wait_at}:
            os.read(signals, 1)
    checkpoint = Checkpoint({path!r}, every=0.0) if {path!r} else None
    result = minimise(objective, solvers.Lbfgs(), violation_tolerance=1e-8, callback=wait, checkpoint=checkpoint)
    print(result.status, repr(result.value), result.n_iterations, flush=True)
""")


def script(path="", wait_at=None):
    """Return the command of a training with checkpoints at path that waits for a signal at one of its steps."""
    return python(SCRIPT.format(tests=str(Path(__file__).parents[1]), path=str(path), wait_at=wait_at))


@pytest.fixture(scope="module")
def optimum():
    """The value that training without an interruption reaches."""
    whole = subprocess.run(script(), capture_output=True, text=True, check=True)
    return float(whole.stdout.splitlines()[-1].split()[1])


@pytest.mark.parametrize("steps", [2, 9, 20])
def test_killed_training_resumes_to_the_same_optimum(tmp_path, steps, optimum):
    path = tmp_path / "run.checkpoint"
    killed = stopped(script(path, steps), f"step {steps} ", stop=signal.SIGKILL)
    assert killed.returncode == -signal.SIGKILL
    assert [p.name for p in tmp_path.iterdir() if p.suffix == ".checkpoint"] == ["run.checkpoint"]
    resumed = subprocess.run(script(path), capture_output=True, text=True, check=True).stdout.splitlines()
    status, value, iterations = resumed[-1].split()
    assert status == "converged"
    first = float(killed.stdout.splitlines()[0].split()[-1])
    assert float(resumed[0].split()[-1]) < first  # it continues instead of starting again
    assert float(value) == pytest.approx(optimum, rel=1e-9)
    assert int(iterations) > 0


@pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
def test_ctrl_c_returns_the_best_so_far():
    run = stopped(script(wait_at=5), "step 5 ")
    assert run.returncode == 0, run.stdout
    status, value, iterations = run.stdout.splitlines()[-1].split()
    assert status == "interrupted"
    assert np.isfinite(float(value))
    steps = [line for line in run.stdout.splitlines() if line.startswith("step")]
    assert len(steps) in (5, 6)  # it may finish the step under way
    assert int(iterations) >= len(steps)
