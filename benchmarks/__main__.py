"""python -m benchmarks {classify,ime,kernels,lm,rerank,tag,tree} [--json] [--output FILE] [options]."""

import sys

from benchmarks import classify, ime, kernels, lm, rerank, tag, tree

RUNNERS = {
    "classify": classify.main,
    "ime": ime.main,
    "kernels": kernels.main,
    "lm": lm.main,
    "rerank": rerank.main,
    "tag": tag.main,
    "tree": tree.main,
}

if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1] not in RUNNERS:
        sys.exit(f"usage: python -m benchmarks {{{','.join(RUNNERS)}}} [options]")
    RUNNERS[sys.argv[1]](sys.argv[2:])
