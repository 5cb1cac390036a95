"""The test suites of sklearn-crfsuite and python-crfsuite, run with loglinear.crfsuite in the place of both."""

import peers
import pytest

SUITES = [
    ("sklearn-crfsuite", []),
    # test_logparser reads the text that CRFsuite prints, in a private module; its tests are examples in docstrings.
    ("python-crfsuite", ["--ignore=tests/test_logparser.py"]),
]


@pytest.mark.parametrize(("package", "options"), SUITES, ids=[s[0] for s in SUITES])
def test_the_suite_passes(pytestconfig, package, options, tmp_path):
    root = peers.source(pytestconfig, package)
    peers.run_suite(tmp_path, root / "tests", "from loglinear import crfsuite\n\ncrfsuite.install()\n", options=options)
