"""Serving: how soon the page answers a keystroke, in a browser, and a load of requests from many clients.

``loglinear serve --demo`` trains its models and serves them. The example of each is typed into the page of a headless
Chromium, letter by letter; a keystroke is answered when the page has put the answer in its place, which the page itself
times. Then clients send requests of every kind at once; memory is that of the server before and after.
"""

from __future__ import annotations

import http.client
import itertools
import json
import os
import statistics
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.report import Report, parse, run_sections, section_parser, write_page
from benchmarks.startup import COMMAND

LIMIT = 100.0  # ms from a keystroke to its answer
CLIENTS = 16
GROWTH = 8.0  # MB of memory during the requests
ANSWERED = "document.querySelector('#answer:not(.old)')?.dataset.took"
QUESTIONS = {  # of the models of the demonstration
    "docstrings": ("predict", {"text": "Return the next event of the queue."}),
    "code": ("tag", {"text": "result = parse ( text , size = 10 ) [ 0 ]"}),
    "documentation": ("next", {"text": "this method returns the number of"}),
    "keypad": ("convert", {"reading": "843 6263 47 668", "reranker": "adapted"}),
    "adapted": ("rerank", {"candidates": [{"text": "a name", "score": -1.0}, {"text": "the name", "score": -1.2}]}),
    "statements": ("parse", {"text": "self . size = len ( text )"}),
}


@contextmanager
def served() -> Iterator[tuple[str, int]]:
    """Yield the address and the process of a server of the demonstration's models."""
    command = [*COMMAND, "serve", "--demo", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, encoding="utf-8") as child:
        assert child.stdout is not None
        try:
            yield child.stdout.readline().removeprefix("Serving at ").partition(" ")[0], child.pid
        finally:
            child.kill()


def keystrokes(address: str, n_times: int) -> list[dict[str, Any]]:
    """Return, for each model, the milliseconds until the page had answered a keystroke."""
    from tests.browser import CHROMIUM, Browser

    if CHROMIUM is None:
        raise SystemExit("there is no Chromium to measure in: Debian's package is called chromium")
    rows = []
    with Browser() as browser:
        for name in QUESTIONS:
            browser.go("about:blank")
            browser.go(f"{address}#{name}")
            browser.wait(f"document.getElementById('tab-{name}')?.getAttribute('aria-selected') === 'true'")
            browser.wait(ANSWERED)
            text, took = str(browser.run("document.getElementById('input').value")), []
            for _ in range(n_times):
                browser.run("document.getElementById('input').value = ''; document.getElementById('input').focus()")
                for letter in text:
                    browser.run("document.getElementById('answer').dataset.took = ''")
                    browser.type(letter)
                    browser.wait(f"{ANSWERED} || !document.getElementById('problem').hidden")
                    if found := browser.run(ANSWERED):
                        took.append(float(found))
            late = statistics.quantiles(took, n=100, method="inclusive")[98]
            median = statistics.median(took)
            row = {"model": name, "keystrokes": len(took), "median ms": median, "99% within ms": late}
            rows.append({**row, "longest ms": max(took)})
    return rows


def load(address: str, process: int, n_requests: int) -> dict[str, Any]:
    """Send requests of every kind from many clients; return rates, latencies, failures and growth of memory."""
    host = address.removeprefix("http://").rstrip("/")

    def ask(name: str) -> tuple[float, bytes]:
        question, body = QUESTIONS[name]
        began, connection = time.perf_counter(), http.client.HTTPConnection(host, timeout=60)
        headers = {"Content-Type": "application/json"}
        connection.request("POST", f"/models/{name}/{question}", json.dumps(body).encode(), headers)
        answer = connection.getresponse()
        text = answer.read()
        connection.close()
        return 1e3 * (time.perf_counter() - began), text if answer.status == 200 else b""

    want = {name: ask(name)[1] for name in QUESTIONS}
    names = list(itertools.islice(itertools.cycle(QUESTIONS), n_requests))
    with ThreadPoolExecutor(CLIENTS) as clients:
        list(clients.map(ask, names))
        before, began = _resident(process), time.perf_counter()
        found = list(clients.map(ask, names))
        seconds, after = time.perf_counter() - began, _resident(process)
    failed = sum(not text or text != want[name] for name, (_, text) in zip(names, found))
    took = [one for one, _ in found]
    return {
        "requests": n_requests, "clients": CLIENTS, "failed": failed, "requests/s": n_requests / seconds,
        "median ms": statistics.median(took), "longest ms": max(took), "memory grew by MB": after - before,
    }  # fmt: skip


def _resident(process: int) -> float:
    pages = Path(f"/proc/{process}/statm").read_text(encoding="ascii").split()[1]
    return int(pages) * os.sysconf("SC_PAGESIZE") / 1e6


def measure(n_times: int, n_requests: int) -> Report:
    """Measure keystrokes in a browser, then the load."""
    report = Report("Serving")
    with served() as (address, process):
        report.rows = keystrokes(address, n_times)
        found = load(address, process, n_requests)
    for row in report.rows:
        report.job(f"{row['model']}: answer a keystroke").took("loglinear", row["median ms"] / 1e3)
        report.at_most(f"{row['model']}: the slowest keystroke", row["longest ms"], LIMIT, "{:.0f} ms")
    report.job("requests of all kinds", "requests/s").took("loglinear", found["requests/s"])
    report.remarks.append("; ".join(f"{name} {value:,.1f}".removesuffix(".0") for name, value in found.items()))
    report.at_most("requests that failed", found["failed"], 0, "{:.0f}")
    report.at_most("growth of memory", found["memory grew by MB"], GROWTH, "{:.1f} MB")
    return report


def main(arguments: list[str]) -> None:
    sections = {"serving": lambda options: measure(options.times, options.requests)}
    parser = section_parser("serve", __doc__, sections)
    parser.add_argument("--times", type=int, default=3, help="how often each example is typed")
    parser.add_argument("--requests", type=int, default=1000, help="requests of the load")
    options = parse(parser, arguments, times=1, requests=300)
    write_page(options, "serve", "Serving", run_sections(sections, options, options))
