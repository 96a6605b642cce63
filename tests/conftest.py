# SPDX-License-Identifier: Apache-2.0
"""What all Python tests share: where the source and the program are."""
import pathlib
import sys

import pytest

SOURCE = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(SOURCE / "tests/peers"))

from peer_paths import peer_path


def pytest_addoption(parser):
    parser.addoption(
        "--profcol",
        default=str(SOURCE / "build/release/profcol"),
        help="the program to test (build/release/profcol)",
    )


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
