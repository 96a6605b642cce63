# SPDX-License-Identifier: Apache-2.0
"""What all Python tests share: where the source and the program are, and what checks captures."""
import os
import pathlib
import signal
import subprocess
import sys

import pytest

SOURCE = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(SOURCE / "tests/peers"))

# Where the checker of captured files may have been built; the program under test is often not
# from the build that has the tests' own programs.
_CONFORMANCE = "tests/unit/conformance/otlp_conformance"

from peer_paths import peer_path

# What a script starts in the background has interrupts ignored, and so would have all that tests
# start and interrupt.
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser):
    parser.addoption(
        "--profcol",
        default=str(SOURCE / "build/release/profcol"),
        help="the program to test (build/release/profcol)",
    )


# Whoever asks for one of these uses what is not a package of Debian's.
_PEER_FIXTURES = {"peer", "api_server"}


def pytest_collection_modifyitems(items):
    for item in items:
        if _PEER_FIXTURES.intersection(item.fixturenames):
            item.add_marker("peers")


@pytest.fixture(scope="session")
def source():
    """The root of the source tree."""
    return SOURCE


@pytest.fixture(scope="session")
def program(request):
    """The program under test."""
    path = pathlib.Path(request.config.getoption("--profcol")).resolve()
    assert path.exists(), f"{path} is not built; run make build"
    return path


@pytest.fixture(scope="session")
def peer():
    """peer(name): the path of a program that scripts/peers.sh builds; see peer_path()."""
    return peer_path


@pytest.fixture(scope="session")
def conformance_checker(program):
    """The path of the program that checks captured files, or None."""
    builds = [program.parent, SOURCE / "build/dev", SOURCE / "build/clang"]
    paths = [build / _CONFORMANCE for build in builds if (build / _CONFORMANCE).exists()]
    if not paths and os.environ.get("CI") == "true":
        pytest.fail("otlp_conformance is not built; run: make build", pytrace=False)
    return paths[0] if paths else None


@pytest.fixture(scope="session")
def assert_conforms(conformance_checker):
    """assert_conforms(path): every request in the file keeps the rules of OTLP profiles."""

    def check(path):
        if not conformance_checker:
            pytest.skip("otlp_conformance is not built; run: make build")
        result = subprocess.run([conformance_checker, path], capture_output=True, text=True)
        assert result.returncode == 0, result.stdout + result.stderr

    return check


@pytest.fixture(scope="session")
def check_capture(conformance_checker, assert_conforms):
    """check_capture(path): the same of a file that may not be there, where it can be checked; for
    the end of fixtures, so that whatever a test has sent is looked at.
    """

    def check(path):
        if conformance_checker and path.exists() and path.stat().st_size:
            assert_conforms(path)

    return check


@pytest.fixture(scope="session")
def api_server(tmp_path_factory):
    """A Kubernetes API server for all tests; see kubernetes.py."""
    from kubernetes import ApiServer  # here: few runs of the tests need it

    server = ApiServer(tmp_path_factory.mktemp("kubernetes"))
    yield server
    server.kill()
