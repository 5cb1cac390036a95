"""Run a benchmark: python -m benchmarks NAME [--only SECTION,...] [--quick] [--json] [--output FILE] [options].

Benchmarks are problems x contenders: a folder holds its problems, its contenders, each of which runs in a process of
its own, and the page that they give. A new benchmark is one module with ``main`` and one line in BENCHMARKS.
Its reports hold jobs (``benchmarks.jobs``), from which ``all`` makes the joint page.
"""

import importlib
import sys

BENCHMARKS = {
    "all": "benchmarks.all.page",
    "classify": "benchmarks.classify.page",
    "formats": "benchmarks.formats",
    "ime": "benchmarks.ime",
    "kernels": "benchmarks.kernels",
    "kills": "benchmarks.scale.kills",
    "lm": "benchmarks.lm.page",
    "memory": "benchmarks.memory",
    "parse": "benchmarks.parse",
    "plan": "benchmarks.scale.plan",
    "rerank": "benchmarks.rerank.page",
    "scale": "benchmarks.scale.page",
    "startup": "benchmarks.startup",
    "streams": "benchmarks.streams",
    "tag": "benchmarks.tag.page",
    "text": "benchmarks.text.page",
    "tree": "benchmarks.tree.page",
}

if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1] not in BENCHMARKS:
        sys.exit(f"usage: python -m benchmarks {{{','.join(BENCHMARKS)}}} [options]")
    importlib.import_module(BENCHMARKS[sys.argv[1]]).main(sys.argv[2:])
