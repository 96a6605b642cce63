# SPDX-License-Identifier: Apache-2.0
"""What all Python tests share: where the source and the program are, and what checks captures."""
import os
import pathlib
import random
import re
import signal
import subprocess
import sys

import pytest

SOURCE = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(SOURCE / "tests/peers"))

# Where the checker of captured files may have been built; the program under test is often not
# from the build that has the tests' own programs.
_CONFORMANCE = "tests/unit/conformance/otlp_conformance"

import peer_paths

# What a script starts in the background has interrupts ignored, and so would have all that tests
# start and interrupt.
signal.signal(signal.SIGINT, signal.default_int_handler)
# A run that is ended from outside ends what it has started, as one that is interrupted does.
signal.signal(signal.SIGTERM, signal.default_int_handler)


def pytest_addoption(parser):
    parser.addoption(
        "--profcol",
        default=str(SOURCE / "build/release/profcol"),
        help="the program to test (build/release/profcol)",
    )
    parser.addoption(
        "--shuffle",
        type=int,
        metavar="SEED",
        help="files in random order, and the tests of each; the seed makes it the same again",
    )


# Whoever asks for one of these uses what is not a package of Debian's.
_PEER_FIXTURES = {"peer", "api_server"}
# Tests that run only when -m names their marker.
_ON_DEMAND = {
    *("slow", "kernels", "kernel_one", "kernels_arm64", "image_arm64", "packages", "runtimes"),
}

# Files whose tests take a minute or more together: where they come last, one worker is busy alone.
_LONG = {
    *("changes_of_code_test", "chain_test", "deferred_walks_test", "go_names_test"),
    *("greedy_neighbours_test", "hotspot_test", "limits_test", "odd_files_test"),
    *("odd_processes_test", "page_cache_test", "perf_map_test", "select_test", "shutdown_test"),
    *("unwind_truth_test", "v8_test"),
}


def _shuffle(items, seed):
    """Tests of a file stay together: what they share is made once."""
    chance = random.Random(seed)
    places = {path: chance.random() for path in dict.fromkeys(item.path for item in items)}
    chance.shuffle(items)
    items.sort(key=lambda item: places[item.path])


@pytest.hookimpl(tryfirst=True)  # -m looks at the markers
def pytest_collection_modifyitems(config, items):
    asked_for = set(re.findall(r"\w+", config.option.markexpr))
    chosen, left_out = [], []
    for item in items:
        if _PEER_FIXTURES.intersection(item.fixturenames):
            item.add_marker("peers")
        markers = {marker.name for marker in item.iter_markers()}
        on_demand = markers & _ON_DEMAND
        (left_out if on_demand and not on_demand & asked_for else chosen).append(item)
    config.hook.pytest_deselected(items=left_out)
    items[:] = chosen
    if config.option.shuffle is not None:
        _shuffle(items, config.option.shuffle)
    else:
        items.sort(key=lambda item: item.path.stem not in _LONG)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item):
    """Tells peer_path() which test it is for; fixtures of a module and a session call it, too."""
    peer_paths.current_test = item
    yield
    peer_paths.current_test = None


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
    return peer_paths.peer_path


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
