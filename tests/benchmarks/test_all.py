"""The joint page of all benchmarks: ratios, limits, absent peers, the history of runs and steps back."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.all.drawing import back, markdown, sections
from benchmarks.all.history import Run, append_run, read_history, steps_back
from benchmarks.all.page import jobs_of, measure
from benchmarks.jobs import Job, reason
from benchmarks.processes import Failed
from benchmarks.report import Report, parse, run_sections, section_parser, write_page
from loglinear.display.page import page

ROOT = Path(__file__).parents[2]
MISSING = "python ended with 1: ModuleNotFoundError: No module named 'peer_b'"


def sorting(seconds):
    """Sort: ours against one peer; another peer is not installed."""
    report = Report("Sorting")
    job = report.job("sort numbers", peer="peer a", limit=0.5, limit_is="bytes moved at a copy's rate")
    job.took("loglinear", seconds, 100.0, accuracy=0.9)
    job.took("peer a", 8.0, 400.0, accuracy=0.9)
    job.misses("peer b", Failed(MISSING))
    report.at_most("sorting", seconds, 5.0, "{:.1f} s")
    return report


def reading(_):
    """Read: ours alone, against a limit."""
    report = Report("Reading")
    report.job("read text", "MB/s", limit=1000.0, limit_is="a copy").took("loglinear", 250.0)
    return report


def broken(_):
    raise Failed("stage two ended with 1: Traceback\nValueError: it broke")


def tiny(arguments):
    """A benchmark as all others are."""
    known = {"sorting": lambda options: sorting(options.seconds), "reading": reading, "broken": broken}
    parser = section_parser("tiny", None, known)
    parser.add_argument("--seconds", type=float, default=2.0)
    options = parse(parser, arguments, seconds=1.0, only=["sorting", "reading"])
    write_page(options, "tiny", "Tiny", run_sections(known, options, options))


@pytest.fixture
def made(capsys):
    """A function that runs the tiny benchmark at a number of seconds and returns the joint run."""

    def make(seconds=2.0, quick=False):
        def ask(name, quick):
            if name == "absent":
                raise Failed("python ended with 1: set LOGLINEAR_DATA to a folder with ptb/")
            capsys.readouterr()
            tiny(["--json", "--seconds", str(seconds), *["--quick"] * quick])
            return jobs_of(capsys.readouterr().out)

        return measure(["tiny", "absent"], quick, ask)

    return make


def test_ratios_to_the_peer_and_to_the_limit():
    job = sorting(2.0).jobs[0]
    ours, peer = job.figures
    assert (job.ratio(ours), job.ratio(peer)) == (4.0, 1.0)
    assert (job.of_limit(ours), job.of_limit(peer)) == (0.25, 0.0625)
    rate = reading(None).jobs[0]
    assert rate.ratio(rate.figures[0]) is None  # there is no peer
    assert rate.of_limit(rate.figures[0]) == 0.25
    assert Job("a", "docs/s").times(6.0, 2.0) == Job("a").times(2.0, 6.0) == 3.0


def test_why_a_contender_is_absent():
    assert sorting(2.0).jobs[0].absent == {"peer b": "the package peer_b is not installed"}
    assert reason(Failed("lmplz ended with -9 (stopped after 30 s): ")) == "stopped after 30 s"
    assert reason(Failed("a ended with 1: Traceback\nValueError: it broke")) == "ValueError: it broke"


def test_the_page_of_one_benchmark_and_the_joint_run_have_the_same_figures(made, tmp_path, capsys):
    tiny(["--output", str(tmp_path / "tiny.md"), "--only", "sorting,broken"])
    text = (tmp_path / "tiny.md").read_text(encoding="utf-8")
    assert "python -m benchmarks tiny --only sorting,broken --output FILE" in text
    assert "| sort numbers | loglinear | 2 s | 4.00 | 25% | accuracy 0.9000 | 100 |" in text
    assert "| sort numbers | peer b | the package peer_b is not installed |" in text
    assert "Failed: ValueError: it broke" in text
    run = made()
    assert run.results["tiny"] == [*sorting(2.0).jobs, *reading(None).jobs]
    assert run.failed == {"absent": "set LOGLINEAR_DATA to a folder with ptb/"}
    joint = markdown([], run, "python -m benchmarks all")
    assert "| sort numbers | loglinear | 2 s | 4.00 | 25% | accuracy 0.9000 | 100 |" in joint
    assert "No figures of absent: set LOGLINEAR_DATA" in joint
    assert "Without a figure: peer b: the package peer_b is not installed (in sort numbers)." in joint


def test_a_quick_run_has_defaults_of_its_own_and_says_so(made, capsys):
    run = made(quick=True)
    assert run.quick
    assert "Quick: smaller data" in markdown([], run, "")
    tiny(["--quick"])
    out = capsys.readouterr().out
    assert "(quick: smaller data" in out
    assert "| sort numbers | loglinear | 1 s |" in out
    assert "## Broken" not in out


def test_runs_are_kept_and_read_again(made, tmp_path):
    path = tmp_path / "results" / "runs.jsonl"
    assert read_history(path) == []
    runs = [made(2.0), made(3.0)]
    for run in runs:
        append_run(path, run)
    assert read_history(path) == runs
    with path.open("a") as file:
        file.write("{}\n")
    with pytest.raises(SystemExit, match=r"runs.jsonl, line 3, is not a run.* name another --history"):
        read_history(path)


def test_a_step_back_is_seen_and_noise_is_not(made):
    before, noise, slow = made(2.0), made(2.2), made(3.0)
    assert steps_back([before], noise) == []
    (step,) = steps_back([before], slow)
    assert (step.job, step.contender, step.what) == ("sort numbers", "loglinear", "times as fast as peer a")
    assert (step.before, step.now) == (4.0, pytest.approx(8 / 3))
    text = markdown([before], slow, "")
    assert "| sort numbers | loglinear | times as fast as peer a | 4.00 | 2.67 |" in text
    assert "| sort numbers | loglinear | 3 s | 2 s | 2.67 |" in text  # the figure before stands beside each
    assert "Nothing became slower" in back([before], noise)[0]


def test_peaks_and_qualities_are_compared_too(made):
    before, now = made(), made()
    now.results["tiny"][0].took("loglinear", 2.0, 150.0, accuracy=0.95)
    found = {step.what: (step.before, step.now) for step in steps_back([before], now)}
    assert found == {"peak MB": (100.0, 150.0), "accuracy": (0.9, 0.95)}


def test_only_runs_of_the_same_size_on_the_same_machine_are_compared(made):
    before, quick = made(1.0), made(4.0, quick=True)
    assert steps_back([before], quick) == []
    other = made(1.0)
    other.machine = "another"
    assert steps_back([other], made(4.0)) == []
    assert "no earlier run" in back([other], made(4.0))[0]
    newest = made(3.0)
    assert steps_back([before, newest, other], made(3.0)) == []  # the last one that is alike counts


def test_without_its_peer_a_job_is_compared_by_its_limit_or_itself(made):
    before, now = made(2.0), made(4.0)
    for run in (before, now):
        run.results["tiny"][0].figures.pop()  # the peer
    (step,) = steps_back([before], now)
    assert (step.what, step.before, step.now) == ("of the limit", 0.25, 0.125)
    for run in (before, now):
        run.results["tiny"][0].limit = None
    (step,) = steps_back([before], now)
    assert (step.what, step.before, step.now) == ("s", 2.0, 4.0)


def test_ours_as_the_peer_is_compared_by_itself(made):
    before, now = made(), made()
    for run, seconds in ((before, 1.0), (now, 2.0)):
        job = Job("one thread and two", peer="loglinear, 1 thread")
        job.took("loglinear, 1 thread", seconds)
        job.took("loglinear, 2 threads", seconds / 2)
        run.results["tiny"] = [job]
    (step,) = steps_back([before], now)
    assert (step.contender, step.what, step.before, step.now) == ("loglinear, 1 thread", "s", 1.0, 2.0)


def test_the_page_draws_every_job(made):
    runs = [made(2.0), made(3.0)]
    html = page("All", sections(runs[:1], runs[1]))
    for text in ("sort numbers", "read text", "peer_b is not installed", "set LOGLINEAR_DATA", "2.67×", "16×",
                 "(limit 16×)", "limit: a copy", "Share of the limit", "Steps back", "<svg"):  # fmt: skip
        assert text in html, text
    assert "<svg" not in page("All", sections([], runs[0]))  # one run is no curve


def test_the_command_runs_a_benchmark_and_names_one_that_cannot_run(tmp_path):
    environment = {key: value for key, value in os.environ.items() if key != "LOGLINEAR_DATA"}
    files = {name: tmp_path / name for name in ("page.html", "runs.jsonl", "run.json", "all.md")}
    command = [sys.executable, "-m", "benchmarks", "all", "--only", "kernels,ime", "--quick"]
    command += ["--html", files["page.html"], "--history", files["runs.jsonl"], "--json", files["run.json"]]
    command += ["--output", files["all.md"]]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "no figures of ime" in done.stderr
    assert "L-BFGS: direction" in files["page.html"].read_text(encoding="utf-8")
    (run,) = read_history(files["runs.jsonl"])
    assert Run.from_dict(json.loads(files["run.json"].read_text(encoding="utf-8"))) == run
    assert run.failed == {"ime": "set LOGLINEAR_DATA to a folder with ime/"}
    assert all(job.of_limit(job.figures[0]) > 0 for job in run.results["kernels"])
    assert "No figures of ime: set LOGLINEAR_DATA" in files["all.md"].read_text(encoding="utf-8")
