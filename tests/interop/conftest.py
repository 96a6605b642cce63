# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the tests that let profcol and other programs talk to each other."""
import contextlib
import os
import pathlib
import subprocess
import sys

import pytest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "tests/e2e"))

from certificates import Authority
from collectors import Gateway, Sink
from profcol_run import Profcol, with_patience
from target_run import Target


@pytest.fixture(autouse=True, scope="session")
def root():
    if os.geteuid() != 0:
        pytest.exit("these tests load BPF programs and need root", returncode=1)


@pytest.fixture(scope="module")
def stack():
    """What ends with the module."""
    with contextlib.ExitStack() as stack:
        yield stack


@pytest.fixture(scope="module")
def new_directory(tmp_path_factory):
    return lambda: tmp_path_factory.mktemp("run")


@pytest.fixture(scope="module")
def start_profcol(program, stack, new_directory):
    """start_profcol(configuration, prefix=()): a Profcol that is ready, killed in the end."""

    def start(configuration, prefix=()):
        run = Profcol(program, new_directory(), with_patience(configuration), prefix)
        stack.callback(run.kill)
        return run.wait_ready()

    return start


@pytest.fixture(scope="module")
def start_sink(peer, stack, new_directory, check_capture):
    """start_sink(answers="ok", directory=None, **options): a Sink, killed in the end. What it took
    keeps the rules of OTLP profiles.
    """

    def start(answers="ok", directory=None, **options):
        sink = Sink(directory or new_directory(), answers, **options)
        stack.callback(check_capture, sink.out)
        stack.callback(sink.kill)
        return sink

    return start


@pytest.fixture(scope="module")
def start_gateway(peer, stack, new_directory, check_capture):
    """start_gateway(exporters=None, **options): a Gateway, killed in the end. Unless told otherwise
    it writes the file `.file`, which keeps the rules of OTLP profiles.
    """

    def start(exporters=None, **options):
        directory = new_directory()
        file = directory / "file"
        exporters = exporters or {"file": {"path": str(file), "format": "proto"}}
        gateway = Gateway(directory, exporters, **options)
        gateway.file = file
        stack.callback(check_capture, file)
        stack.callback(gateway.kill)
        return gateway

    return start


@pytest.fixture(scope="module")
def burner(source, stack, new_directory):
    """A program that burns CPU throughout the module."""
    path = new_directory() / "burn"
    flags = ["-g", "-O2", "-fno-omit-frame-pointer", "-mno-omit-leaf-frame-pointer"]
    subprocess.run(["gcc", *flags, source / "tests/targets/burn.c", "-o", path], check=True)
    target = Target(path)
    stack.callback(target.kill)
    return target


@pytest.fixture(scope="module")
def authority(new_directory):
    """Issues certificates; its own is authority.path."""
    return Authority(new_directory())


@pytest.fixture(scope="module")
def other_authority(new_directory):
    """Another one, which the first does not know."""
    return Authority(new_directory())
