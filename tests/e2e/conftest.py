# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the tests that drive the real program as root on the real kernel."""
import os
import pathlib
import shutil
import subprocess
import tempfile

import pytest

import own_pids as pid_namespaces
from odd_neighbour import Neighbourhood
from plugin_builds import run_quietly
from profcol_run import Profcol
from starting import starter
from target_run import Target
from terminal import Terminal
from waiting import wait_until

_FRAME_POINTERS = ["-g", "-O2", "-fno-omit-frame-pointer", "-mno-omit-leaf-frame-pointer"]

# Each program in tests/targets: its source, its compiler and flags.
_TARGETS = {
    "burn": ("burn.c", ["gcc", *_FRAME_POINTERS]),
    "exec_chain": ("exec_chain.c", ["gcc", *_FRAME_POINTERS]),
    "forks": ("forks.c", ["gcc", "-O2", "-fomit-frame-pointer"]),
    "made_code": ("made_code.c", ["gcc", *_FRAME_POINTERS]),
    "mangled_names": ("mangled_names.cc", ["g++", *_FRAME_POINTERS]),
    "memory_growth": ("memory_growth.c", ["gcc", *_FRAME_POINTERS]),
    "shared_growth": ("shared_growth.c", ["gcc", "-pthread", *_FRAME_POINTERS]),
    "page_faults": ("page_faults.c", ["gcc", *_FRAME_POINTERS]),
    "shadow_stack": (
        "shadow_stack.c",
        ["gcc", *_FRAME_POINTERS, "-fno-optimize-sibling-calls", "-fno-ipa-icf"],
    ),
    "sleeps": ("sleeps.c", ["gcc", *_FRAME_POINTERS]),
    "wakes": ("wakes.c", ["gcc", *_FRAME_POINTERS]),
    "waits": ("waits.c", ["gcc", *_FRAME_POINTERS]),
}


@pytest.fixture(autouse=True, scope="session")
def root():
    if os.geteuid() != 0:
        pytest.exit("the end-to-end tests load BPF programs and need root", returncode=1)


@pytest.fixture(scope="session")
def build_target(source, tmp_path_factory):
    """build_target(name): the path of a program of tests/targets, built at first use."""
    directory = tmp_path_factory.mktemp("targets")

    def build(name):
        path = directory / name
        if not path.exists():
            file, command = _TARGETS[name]
            subprocess.run([*command, source / "tests/targets" / file, "-o", path], check=True)
        return path

    return build


@pytest.fixture
def open_path():
    """A directory that other users may enter, which what pytest makes is not for long."""
    directory = pathlib.Path(tempfile.mkdtemp(prefix="profcol-test-"))
    directory.chmod(0o755)
    yield directory

    def is_gone():
        # A process that was killed may make one more file before it ends.
        shutil.rmtree(directory, ignore_errors=True)
        return not directory.exists()

    wait_until(is_gone, "the end of those who write there")


def _profcols(program, tmp_path_factory):
    def start(configuration, directory=None, prefix=(), arguments=()):
        directory = directory or tmp_path_factory.mktemp("run")
        return Profcol(program, directory, configuration, prefix, arguments)

    return starter(start)


@pytest.fixture
def start_profcol(program, tmp_path_factory):
    """start_profcol(configuration, directory=None, prefix=(), arguments=()): a Profcol, killed at
    the end of the test.
    """
    with _profcols(program, tmp_path_factory) as start_one:
        yield start_one


@pytest.fixture(scope="module")
def start_profcol_once(program, tmp_path_factory):
    """start_profcol() for fixtures of a module."""
    with _profcols(program, tmp_path_factory) as start_one:
        yield start_one


@pytest.fixture
def start_target():
    """start_target(*command): a Target, killed at the end of the test: most of them burn CPU, and
    would go on doing so beside the next test.
    """
    with starter(Target) as start_one:
        yield start_one


@pytest.fixture(scope="module")
def start_target_once():
    """start_target() for fixtures of a module."""
    with starter(Target) as start_one:
        yield start_one


@pytest.fixture
def start_terminal():
    """start_terminal(*command, directory=None): a Terminal, closed at the end of the test."""

    def start(*command, directory=None):
        return Terminal(command, directory)

    with starter(start) as start_one:
        yield start_one


@pytest.fixture
def own_pids():
    """A PID namespace for this test; see own_pids.py."""
    with pid_namespaces.own_pids() as namespace:
        yield namespace


@pytest.fixture
def start_profcol_apart(start_profcol, own_pids):
    """start_profcol(), for one that knows no processes but those of start_target_apart()."""
    start = own_pids.within(start_profcol)

    def start_one(configuration, directory=None, arguments=()):
        return start(configuration, directory, own_pids.prefix, arguments)

    return start_one


@pytest.fixture
def start_target_apart(start_target, own_pids):
    """start_target(), for one whose number in profiles is number_of() it in own_pids.py."""
    return own_pids.within(start_target)


@pytest.fixture
def burner_apart(start_target_apart, build_target):
    """A program that burns CPU, for start_profcol_apart(): beside it nothing is sampled for which
    there may be no room when the machine is busy with much else.
    """
    return start_target_apart(build_target("burn"))


@pytest.fixture
def burner(build_target):
    """A program that burns CPU throughout the test."""
    target = Target(build_target("burn"))
    yield target
    target.kill()


@pytest.fixture(scope="session")
def prefix(program, tmp_path_factory):
    """Where the program under test is installed, by the rules of `make install`."""
    destination = tmp_path_factory.mktemp("destination")
    environment = os.environ | {"DESTDIR": str(destination)}
    command = ["cmake", "--install", program.parent, "--prefix", "/opt/it"]
    run_quietly(*command, env=environment, umask=0o002)  # of many a user
    return destination / "opt/it"


@pytest.fixture(scope="session")
def sample_plugins(source, prefix, tmp_path_factory):
    """The folder with the plugins of tests/plugin, built with what is installed."""
    build = tmp_path_factory.mktemp("sample_plugins")
    tree = shutil.copytree(source / "tests/plugin", build / "source")  # nothing beside it to find
    search = f"-DCMAKE_PREFIX_PATH={prefix}"
    strict = "-DCMAKE_MODULE_LINKER_FLAGS=-Wl,-z,defs"  # of many a distribution
    run_quietly("cmake", "-S", tree, "-B", build, "-G", "Ninja", search, strict)
    run_quietly("cmake", "--build", build)
    return build


@pytest.fixture
def plugin_directory(tmp_path):
    """plugin_directory(file...): a directory that plugins may be loaded from, with these."""

    def make(*files):
        directory = tmp_path / "plugins"
        directory.mkdir(mode=0o755, exist_ok=True)
        for file in files:
            shutil.copy(file, directory)
            (directory / file.name).chmod(0o644)
        return directory

    return make


@pytest.fixture
def around(start_profcol, built, tmp_path):
    """What is started in it ends with the test. `built` is the module's: a folder with the ordinary
    program.
    """
    neighbourhood = Neighbourhood(start_profcol, built / "ordinary", tmp_path)
    yield neighbourhood
    neighbourhood.kill()


@pytest.fixture
def neighbourhood(around):
    return around.profile()
