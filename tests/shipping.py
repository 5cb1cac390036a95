"""Whether the package ships: ``make wheel-check`` builds the wheel and the sdist, installs them and tries them.

The wheel is installed into an empty environment, outside of the source tree and with no compiler on the path, and the
time until a first prediction is taken; the sdist is compiled there. Both run the quick demonstration.
"""

import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
WHEEL_MB, SDIST_MB, SECONDS = 6.0, 4.0, 30.0
NOT_SHIPPED = "docs/results/", "build/", ".github/"
FIRST = """
from loglinear import MaxentClassifier
model = MaxentClassifier().fit(["cheap pills, buy now", "lunch at noon?"], ["spam", "ham"])
assert model.predict(["buy pills"]).tolist() == ["spam"]
"""


def run(*command: object, **options: object) -> None:
    subprocess.run([*map(str, command)], check=True, **options)  # type: ignore[call-overload]


def build(dist: Path) -> tuple[Path, Path]:
    """Build both, the wheel for the platforms that auditwheel finds it fit for."""
    for kind in ("--sdist", "--wheel"):
        run(sys.executable, "-m", "build", kind, "--outdir", dist, ROOT)
    (wheel,), (sdist,) = dist.glob("*.whl"), dist.glob("*.tar.gz")
    if sys.platform == "linux":
        run(sys.executable, "-m", "auditwheel", "repair", "--wheel-dir", dist / "repaired", wheel)
        (wheel,) = (dist / "repaired").glob("*.whl")
    return wheel, sdist


def check_contents(wheel: Path, sdist: Path) -> None:
    """Check what is in them, and their sizes."""
    with zipfile.ZipFile(wheel) as packed:
        names = packed.namelist()
    assert any("_core" in name and name.endswith((".so", ".pyd")) for name in names)
    assert all(name.split("/")[0].startswith("loglinear") for name in names), names
    for needed in ("py.typed", "serve/page/index.html", "display/page.css"):
        assert f"loglinear/{needed}" in names, needed
    with tarfile.open(sdist) as packed:
        inside = [name.partition("/")[2] for name in packed.getnames()]
    assert not [name for name in inside if name.startswith(NOT_SHIPPED)]
    for file, limit in ((wheel, WHEEL_MB), (sdist, SDIST_MB)):
        size = file.stat().st_size / 1e6
        print(f"{file.name}: {size:.2f} MB (at most {limit:g})")
        assert size < limit


def try_out(package: Path, folder: Path, path: str, limit: float | None) -> None:
    """Install one of them into an empty environment; predict, and run the demonstration."""
    run(sys.executable, "-m", "venv", folder)
    options = {"cwd": folder, "env": {**os.environ, "PATH": f"{folder / 'bin'}:{path}"}}
    began = time.monotonic()
    run(folder / "bin" / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", package, **options)
    run(folder / "bin" / "python", "-c", FIRST, **options)
    seconds = time.monotonic() - began
    print(f"{package.name}: {seconds:.1f} s from pip install to a prediction" + f" (at most {limit:g})" * bool(limit))
    run(folder / "bin" / "loglinear", "demo", "--quick", stdout=subprocess.DEVNULL, **options)
    assert limit is None or seconds < limit


def main() -> None:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        wheel, sdist = build(folder / "dist")
        check_contents(wheel, sdist)
        empty = folder / "no compiler here"
        empty.mkdir()
        try_out(wheel, folder / "wheel", str(empty), SECONDS)
        if shutil.which("c++"):
            try_out(sdist, folder / "sdist", "/usr/local/bin:/usr/bin:/bin", None)


if __name__ == "__main__":
    main()
