# SPDX-License-Identifier: Apache-2.0
"""What all Python tests share: where the source and the program are."""
import pathlib

import pytest

SOURCE = pathlib.Path(__file__).resolve().parent.parent


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
