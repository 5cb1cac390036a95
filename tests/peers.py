"""Source distributions of peers, whose own test suites and tools are run against this package.

They come from the package index through pip and are never copied into the project. The folder LOGLINEAR_PEERS, or else
a folder of pytest's cache, keeps them for the next run. Where there is no network, tests that need them are skipped,
and the summary of the run says so in a line of its own.
"""

import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

import pytest

UNREACHABLE = "could not be fetched from the package index"
_missing = {}  # package: why it could not be fetched, so that one run asks once


def folder(config):
    """Return the folder that keeps what was fetched and built."""
    named = os.environ.get("LOGLINEAR_PEERS")
    return Path(named) if named else Path(config.cache.mkdir("peers"))


def source(config, package, version=None):
    """Return the folder of a package's source distribution, which is fetched if it is not there yet."""
    stem, home = package.replace("-", "_"), folder(config)
    found = [path for path in sorted(home.glob(f"{stem}-{version or '*'}")) if path.is_dir()]
    if found:
        return found[-1]
    if package in _missing:
        pytest.skip(_missing[package])
    with tempfile.TemporaryDirectory(dir=home) as fresh:
        pip = [sys.executable, "-m", "pip", "--retries", "2", "--timeout", "10", "download", "-q", "--no-deps"]
        asked = f"{package}=={version}" if version else package
        run = subprocess.run(
            [*pip, "--no-binary", package, "-d", fresh, asked], capture_output=True, text=True, check=False
        )
        archives = list(Path(fresh).glob("*.tar.gz"))
        if not archives:
            _missing[package] = f"{package} {UNREACHABLE}: {run.stderr.strip()[-200:]}"
            pytest.skip(_missing[package])
        with tarfile.open(archives[0]) as archive:
            archive.extractall(fresh, filter="data")
        unpacked = next(path for path in Path(fresh).iterdir() if path.is_dir())
        target = home / unpacked.name
        if not target.exists():  # another worker may have been quicker
            unpacked.rename(target)
    return target


def run_suite(folder, tests, stand_in, *, python_path=(), options=()):
    """Run a test suite in a process whose pytest first runs the code ``stand_in``; return its output if all pass.

    ``folder`` is an empty one, in which ``tests`` are linked: away from the package's own sources.
    """
    (folder / "stand_in.py").write_text(stand_in)
    (folder / tests.name).symlink_to(tests)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "stand_in", "-p", "no:cacheprovider", *options, tests.name]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (folder, *python_path)))}
    run = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout[-3000:] + run.stderr[-1000:]
    assert " passed" in run.stdout
    return run.stdout


def kenlm_build_binary(config):
    """Return KenLM's program ``build_binary``: BUILD_BINARY, the one on the path, or one compiled from its sources."""
    program = os.environ.get("BUILD_BINARY") or shutil.which("build_binary")
    if program:
        return program
    root = source(config, "kenlm")
    target, compiler = root / "build_binary", shutil.which("c++")
    if target.exists():
        return str(target)
    if compiler is None:
        pytest.skip("KenLM's build_binary is neither in BUILD_BINARY nor on the path, and there is no c++ to make it")
    files = [p for d in ("lm", "util", "util/double-conversion") for p in sorted((root / d).glob("*.cc"))]
    files = [p for p in files if not p.stem.endswith(("_main", "_test", "benchmark"))]
    fresh = target.with_suffix(f".{os.getpid()}")
    command = [compiler, "-O0", "-w", "-I.", "-DKENLM_MAX_ORDER=6", "lm/build_binary_main.cc", *map(str, files)]
    libraries = ["-lpthread", *(["-lrt"] if sys.platform == "linux" else [])]
    subprocess.run([*command, "-o", str(fresh), *libraries], cwd=root, check=True, capture_output=True)
    fresh.replace(target)
    return str(target)
