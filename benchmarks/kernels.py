"""Hot kernels against the limits of the machine: the bytes and flops of each, and the rates that it reaches.

Only compulsory bytes count: each operand is moved once. Limits are measured in the same run: a threaded copy of a
large array (bytes per second) and a multiply-add loop on data in the first-level cache (flops per second).
"""

from __future__ import annotations

import time

import numpy as np
import scipy.sparse as sp

from benchmarks.report import Report, parse, run_sections, section_parser, write_page
from loglinear import _core
from loglinear.data.matrix import SparseRows
from loglinear.threads import pool


def best_of(function, repeat: int = 15) -> float:
    function()
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return min(times)


def limits(threads) -> tuple[float, float]:
    n = 8_000_000
    x, y = np.ones(n), np.empty(n)
    copy = best_of(lambda: _core.combine(threads, 1.0, x, 0.0, x, y))
    small = np.ones(2048)
    rows = [small] * 64
    out = np.empty((64, 64))
    flops = 2 * 2048 * 64 * 64 / best_of(lambda: _core.dots(pool(1), rows, rows, out)) * threads.size
    return 16 * n / copy, flops


def measure() -> Report:
    threads = pool()
    bandwidth, flops = limits(threads)
    rng = np.random.default_rng(0)
    report = Report("Kernels against the limits of the machine")
    report.rows.append({"kernel": "machine", "GB/s": bandwidth / 1e9, "Gflop/s": flops / 1e9})

    def add(name, seconds, n_bytes, n_flops):
        by_bytes, by_flops = n_bytes / bandwidth, n_flops / flops
        job = report.job(name, limit=max(by_bytes, by_flops))
        job.limit_is = "bytes moved at a copy's rate" if by_bytes > by_flops else "flops"
        job.took("loglinear", seconds)
        report.rows.append(
            {"kernel": name, "MB moved": n_bytes / 1e6, "Mflop": n_flops / 1e6,
             "GB/s": n_bytes / seconds / 1e9, "Gflop/s": n_flops / seconds / 1e9}
        )  # fmt: skip

    n, d, K = 6000, 60_000, 8
    X = sp.random(n, d, 650_000 / (n * d), format="csr", random_state=rng)
    rows = SparseRows.from_scipy(X)
    columns = rows.columns(threads)
    W, M = rng.normal(size=d * K), np.empty(n * K)
    G = np.empty(d * K)
    stored = 12 * X.nnz
    add(
        "margins (sparse rows)",
        best_of(lambda: rows.margins(threads, W, None, K, M)),
        stored + 8 * K * (d + n),
        2 * K * X.nnz,
    )
    add(
        "gradient (sparse columns)",
        best_of(lambda: columns.native.gradient(threads, M, K, 1, G)),
        stored + 8 * K * d,
        2 * K * X.nnz,
    )
    y = rng.integers(0, K, size=n).astype(np.int32)
    fresh = rng.normal(size=n * K)

    def loss():
        np.copyto(M, fresh)
        _core.log_loss(threads, M, y, None, K)

    copying = best_of(lambda: np.copyto(M, fresh))
    add("log-loss and residuals", best_of(loss) - copying, 16 * n * K, 30 * n * K)
    x, out = rng.normal(size=1 << 14), np.empty(1 << 14)
    add("exp (one thread)", best_of(lambda: _core.exp(x, out)), 16 * x.size, 32 * x.size)
    add("log (one thread)", best_of(lambda: _core.log(x, out)), 16 * x.size, 36 * x.size)
    n_weights, m = 1_600_000, 8
    history = [rng.normal(size=n_weights) for _ in range(2 * m)]
    g, direction = rng.normal(size=n_weights), np.empty(n_weights)
    table_out = np.empty((2 * m, 3))
    new = [g, history[0], history[1]]
    add("L-BFGS: new inner products", best_of(lambda: _core.dots(threads, history, new, table_out), 5),
        8 * n_weights * (2 * m + 1), 2 * n_weights * 6 * m)  # fmt: skip
    c = rng.normal(size=2 * m)
    add("L-BFGS: direction", best_of(lambda: _core.weighted_sum(threads, c, history, direction), 5),
        8 * n_weights * (2 * m + 1), 2 * n_weights * 2 * m)  # fmt: skip
    groups = np.empty(n_weights, dtype=np.int32)
    clustering = best_of(lambda: _core.cluster_values(threads, g, None, 160_000, 4, True, groups), 3)
    add("cluster 1.6M weights into 160k", clustering,
        n_weights * (8 + 6 * 16 + 60), 0)  # fmt: skip
    return report


def main(arguments: list[str]) -> None:
    sections = {"kernels": lambda _: measure()}
    options = parse(section_parser("kernels", __doc__, sections), arguments)
    write_page(options, "kernels", "Kernels", run_sections(sections, options, None))
