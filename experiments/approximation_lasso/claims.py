"""The claims of Gao, Suzuki and Yu (2006) about their results, checked on ours, and the targets of the experiment."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from scipy.interpolate import PchipInterpolator

from experiments.approximation_lasso.lists import DOMAINS, size_of
from experiments.record import Json
from loglinear.arrays import FloatArray

SIGNIFICANT = 0.01  # the paper's level


def title_of(sample: str) -> str:
    return f"{'the first ' * sample.startswith('first-')}{size_of(sample):,}"


def reduction(now: float, before: float) -> float:
    """Return the reduction of errors in percent."""
    return 100 * (1 - now / before) if before else 0.0


def rate(task: Json, n_errors: float | None = None) -> str:
    """Return the error rate in percent; by default that of the baseline."""
    return f"{100 * (task['n_errors'] if n_errors is None else n_errors) / task['length']:.2f}"


def verdict(cases: list[tuple[str, bool, str]]) -> str:
    """Return cases (where, whether it holds, figures) as one line that says how many hold."""
    n = sum(bool(holds) for _, holds, _ in cases)
    word = "yes" if n == len(cases) else "no" if n == 0 else f"{n} of {len(cases)}"
    return f"{word}: " + "; ".join(
        f"{where} {figures}" + (" (no)" if n and not holds else "") for where, holds, figures in cases
    )


def samples(part: Json) -> Iterator[tuple[str, Json]]:
    for domain, found in part["domains"].items():
        for sample, run in found["samples"].items():
            yield f"{DOMAINS[domain]} {title_of(sample)}", run


def errors_of(run: Json, system: str) -> float:
    if system in ("baseline", "map"):
        return run["task" if system == "baseline" else "map"]["n_errors"]
    return run["methods"][system]["n_errors"]


def fewer(part: Json, first: str, second: str, significant: bool = True) -> str:
    """Check that the second system makes fewer errors than the first in every sample."""
    cases = []
    for where, run in samples(part):
        told = run["comparisons"][f"{first}/{second}"]
        holds = told["difference"] < 0 and (not significant or told["p_bootstrap"] < SIGNIFICANT)
        rates = [rate(run["task"], errors_of(run, name)) for name in (second, first)]
        cases.append((where, holds, f"{rates[0]} to {rates[1]}, p = {told['p_bootstrap']:.3f}"))
    return verdict(cases)


# ---- table 1 ---------------------------------------------------------------------------------------------------------
def similarity(part: Json) -> str:
    """Check that the CER of the baseline rises with the cross-entropy."""
    found = [(f["bits"], next(iter(f["samples"].values()))["task"], d) for d, f in part["domains"].items()]
    found.sort(key=lambda entry: entry[0])
    rates = [task["n_errors"] / task["length"] for _, task, _ in found]
    said = ", ".join(f"{DOMAINS[d]} {bits:.2f} bits, CER {rate(task)}" for bits, task, d in found)
    return ("yes: " if rates == sorted(rates) else "no: ") + said


def over_map(part: Json) -> str:
    """Check that, at equal size, BLasso gains more over MAP in the domain that is nearer to the background."""
    found = sorted(part["domains"].items(), key=lambda entry: entry[1]["bits"])
    gains = {}
    for domain, one in found:
        for sample, run in one["samples"].items():
            gains[domain, sample] = reduction(errors_of(run, "blasso"), errors_of(run, "map"))
    near, far = found[0][0], found[-1][0]
    cases = [
        (title_of(sample), gains[near, sample] > gains[far, sample],
         f"{DOMAINS[near]} {gains[near, sample]:+.1f}%, {DOMAINS[far]} {gains[far, sample]:+.1f}%")
        for domain, sample in gains if domain == near and (far, sample) in gains
    ]  # fmt: skip
    return verdict(cases)


def larger_is_better(part: Json) -> str:
    """Check that the gain of BLasso over boosting grows with the size of the evenly spread samples."""
    cases = []
    for domain, found in part["domains"].items():
        spread = {s: run for s, run in found["samples"].items() if not s.startswith("first-")}
        gains = [reduction(errors_of(r, "blasso"), errors_of(r, "boosting")) for r in spread.values()]
        said = ", ".join(f"{title_of(s)}: {gain:+.1f}%" for s, gain in zip(spread, gains))
        cases.append((DOMAINS[domain], gains == sorted(gains), said))
    return verdict(cases)


def like_shrinkage(part: Json) -> str:
    cases = []
    for where, run in samples(part):
        change = -reduction(errors_of(run, "fslr"), errors_of(run, "shrinkage"))
        cases.append((where, abs(change) <= 2.0, f"{change:+.1f}%"))
    return verdict(cases)


def sparse(part: Json) -> str:
    cases = []
    for where, run in samples(part):
        n, of = run["methods"]["blasso"]["n_nonzero"], run["task"]["features"]
        cases.append((where, n <= 0.1 * of, f"{n:,} of {of:,} ({100 * n / max(of, 1):.1f}%)"))
    return verdict(cases)


# ---- along the paths -------------------------------------------------------------------------------------------------
def paths(part: Json, features: tuple[str, ...] = ("words", "headwords")) -> Iterator[tuple[str, Json, Json]]:
    for domain, found in part["domains"].items():
        for kind in features:
            yield f"{DOMAINS[domain]} {kind}", found, found[kind]


def at_equal_loss(runs: Json, n: int = 8) -> tuple[list[float], list[float]]:
    """Return losses that both paths pass, early to late, and the ratio of BLasso's L1 norm to F-Boosting's there."""
    curves = [runs[name]["curve"] for name in ("blasso", "f-boosting")]
    falls = [np.minimum.accumulate(curve["loss"]) for curve in curves]
    low, high = max(fall[-1] for fall in falls), min(fall[0] for fall in falls)
    losses = np.geomspace(high, low, n + 1)[1:]
    norms = [_smooth(-np.log(fall), np.array(curve["l1"]), -np.log(losses)) for fall, curve in zip(falls, curves)]
    return losses.tolist(), (norms[0] / np.maximum(norms[1], 1e-12)).tolist()


def _smooth(x: FloatArray, y: FloatArray, at: FloatArray) -> FloatArray:
    """Interpolate a monotone curve; the error of linear interpolation would be as large as the norms' difference."""
    x, kept = np.unique(x, return_index=True)
    return PchipInterpolator(x, y[kept])(at) if x.size > 1 else np.full(at.shape, y[0])


def smaller_norm(part: Json) -> str:
    cases = []
    for where, _, runs in paths(part):
        _, ratios = at_equal_loss(runs)
        late = ratios[len(ratios) // 2 :]
        cases.append((where, max(late) <= 1.0, f"{100 * (ratios[-1] - 1):+.1f}% at the lowest common loss"))
    return verdict(cases)


def equal_loss_curves(part: Json) -> str:
    """Check that the losses of BLasso and F-Boosting are close after the same number of steps."""
    cases = []
    for where, _, runs in paths(part, ("words",)):
        a, b = (runs[name]["curve"] for name in ("blasso", "f-boosting"))
        steps = np.linspace(1, min(a["step"][-1], b["step"][-1]), 20)
        logs = [np.interp(steps, c["step"], np.log(c["loss"])) for c in (a, b)]
        gap = 100 * float(np.max(np.expm1(np.abs(logs[0] - logs[1]))))
        cases.append((where, gap <= 5.0, f"up to {gap:.0f}% apart"))
    return verdict(cases)


def late_backward(part: Json) -> str:
    """Check that backward steps are few in the first tenth of the path, and more later."""
    cases = []
    for where, _, runs in paths(part, ("words",)):
        curve, n = runs["blasso"]["curve"], runs["blasso"]["n_steps"]
        early = np.interp(n / 10, curve["step"], curve["backward"]) / max(n / 10, 1)
        late = (curve["backward"][-1] - np.interp(n / 2, curve["step"], curve["backward"])) / max(n / 2, 1)
        said = f"{100 * early:.1f}% of the steps of the first tenth, {100 * late:.1f}% of the second half"
        cases.append((where, late > early, said))
    return verdict(cases)


def better_at_the_end(features: str) -> Callable[[Json], str]:
    def check(part: Json) -> str:
        cases = []
        for where, found, runs in paths(part, (features,)):
            ends = [runs[name]["curve"]["test"][-1] * 100 / found["length"] for name in ("blasso", "f-boosting")]
            cases.append((where, ends[0] < ends[1], f"{ends[0]:.2f} to {ends[1]:.2f}"))
        return verdict(cases)

    return check


def headwords_help_little(part: Json) -> str:
    cases = []
    for domain, found in part["domains"].items():
        gain = reduction(found["headwords"]["blasso"]["n_errors"], found["words"]["blasso"]["n_errors"])
        cases.append((DOMAINS[domain], abs(gain) <= 2.0, f"{gain:+.1f}%"))
    return verdict(cases)


def more_visible(part: Json) -> str:
    """Check that F-Boosting's excess over BLasso, averaged over the path's second half, is larger with headwords."""
    cases = []
    for domain, found in part["domains"].items():
        excess = {}
        for kind in ("words", "headwords"):
            a, b = (found[kind][name]["curve"] for name in ("blasso", "f-boosting"))
            steps = np.linspace(0.5, 1.0, 40) * min(a["step"][-1], b["step"][-1])
            tests = [np.interp(steps, c["step"], c["test"]).mean() for c in (a, b)]
            excess[kind] = 100 * (tests[1] - tests[0]) / found["length"]
        said = f"{excess['words']:+.3f} points without, {excess['headwords']:+.3f} with"
        cases.append((DOMAINS[domain], excess["headwords"] > excess["words"], said))
    return verdict(cases)


def robust(part: Json) -> str:
    """Check that FSLR ends near the fewest errors of its path."""
    cases = []
    for where, _, runs in paths(part):
        test = runs["fslr"]["curve"]["test"]
        rise = 100 * (test[-1] / max(min(test), 1.0) - 1)
        cases.append((where, rise <= 1.0, f"{rise:+.1f}%"))
    return verdict(cases)


def grid_search_is_better(part: Json) -> str:
    cases = []
    for where, found, runs in paths(part, ("headwords",)):
        least = [min(runs[name]["curve"]["test"]) * 100 / found["length"] for name in ("f-boosting", "fslr")]
        cases.append((where, least[0] < least[1], f"{least[0]:.2f} to {least[1]:.2f}"))
    return verdict(cases)


# ---- sensitivity -----------------------------------------------------------------------------------------------------
def spread(runs: Json, low: float = 0.0, high: float = np.inf) -> float:
    """Return by how many percent the most errors exceed the fewest, over the values of a setting."""
    errors = [run["n_errors"] for value, run in runs.items() if low <= float(value) <= high]
    return 100 * (max(errors) / min(errors) - 1)


def insensitive(method: str) -> Callable[[Json], str]:
    def check(part: Json) -> str:
        gaps = {domain: spread(found[method], 0.2, 0.8) for domain, found in part["domains"].items()}
        return verdict([(DOMAINS[d], gap <= 2.0, f"{gap:.1f}% between best and worst") for d, gap in gaps.items()])

    return check


def smoothing_matters(part: Json) -> str:
    cases = []
    for domain, found in part["domains"].items():
        ours, steps = spread(found["boosting"]), spread(found["fslr"], 0.2, 0.8)
        cases.append((DOMAINS[domain], ours > steps, f"{ours:.1f}% over smoothings, FSLR {steps:.1f}% over steps"))
    return verdict(cases)


CLAIMS: list[tuple[str, str, Callable[[Json], str]]] = [
    ("table1", "the CER of the baseline rises with the cross-entropy to the background", similarity),
    ("table1", "boosting outperforms MAP (p < 0.01)", lambda part: fewer(part, "map", "boosting")),
    ("table1", "BLasso outperforms MAP (p < 0.01)", lambda part: fewer(part, "map", "blasso")),
    ("table1", "the gain over MAP is larger where the domain is more like the background", over_map),
    ("table1", "BLasso outperforms boosting (p < 0.01)", lambda part: fewer(part, "boosting", "blasso")),
    ("table1", "BLasso gains more over boosting with more sentences", larger_is_better),
    ("table1", "FSLR is very similar to boosting with shrinkage (within 2%)", like_shrinkage),
    ("table1", "few weights are not zero (5,000 of 860,000; here: a tenth at most)", sparse),
    ("curves", "training curves of BLasso and F-Boosting are almost identical (loss within 5%)", equal_loss_curves),
    ("curves", "with steps back the L1 norm is smaller at equal loss", smaller_norm),
    ("curves", "steps back come late", late_backward),
    ("curves", "BLasso ends below F-Boosting, without headwords", better_at_the_end("words")),
    ("curves", "BLasso ends below F-Boosting, with headwords", better_at_the_end("headwords")),
    ("curves", "headword bigrams change the CER very little (within 2%)", headwords_help_little),
    ("curves", "with headwords the difference of the two is more visible", more_visible),
    ("curves", "FSLR's errors do not rise after many iterations (within 1% of its least)", robust),
    ("curves", "F-Boosting reaches a lower error rate than FSLR", grid_search_is_better),
    ("steps", "BLasso is not very sensitive to its step (0.2 to 0.8: within 2%)", insensitive("blasso")),
    ("steps", "FSLR is not sensitive to its step (0.2 to 0.8: within 2%)", insensitive("fslr")),
    ("steps", "boosting is more sensitive to its smoothing", smoothing_matters),
]


def claims(parts: Json) -> list[list[str]]:
    """Return rows: what the paper claims, and whether it holds here."""
    return [[text, check(parts[part])] for part, text, check in CLAIMS if part in parts]


def targets(parts: Json) -> list[list[str]]:
    """Return rows: what, figures, met or not."""
    rows = []
    if "table1" in parts:
        for where, run in samples(parts["table1"]):
            if run["task"]["lists"] < 7500:
                continue
            for method in ("blasso", "blasso-step"):
                order = [errors_of(run, name) for name in (method, "boosting", "baseline")]
                p = run["comparisons"][f"boosting/{method}"]["p_bootstrap"]
                title = "BLasso" if method == "blasso" else "BLasso, step chosen,"
                said = " / ".join(rate(run["task"], n) for n in order) + f" (first two: p = {p:.3f})"
                met = order[0] <= order[1] < order[2]
                rows.append([f"{where}: {title} ≤ Boosting < Baseline", said, "yes" if met else "no"])
    if "curves" in parts:
        said = smaller_norm(parts["curves"])
        rows.append(["L1 norm of BLasso below F-Boosting's at equal loss", said, said.split(":")[0]])
    return rows
