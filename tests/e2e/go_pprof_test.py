# SPDX-License-Identifier: Apache-2.0
"""The files in the hands of their best-known reader, go tool pprof."""
import shutil
import subprocess

import pytest

from profcol_run import pipeline, profile_paths


# A newer go builds its pprof first, for half a minute.
pytestmark = pytest.mark.thorough


@pytest.fixture(scope="module")
def pprof(start_profcol_once, start_target_once, build_target, tmp_path_factory):
    """pprof(*options): what go tool pprof prints of a profile of the running program `burn`."""
    go = shutil.which("go")
    if not go:
        pytest.skip("go is not installed")
    directory = tmp_path_factory.mktemp("pprof")
    target = start_target_once(build_target("burn"))
    # What other tests run may be called so too.
    receiver = {"select": {"include": [{"pid": target.pid}]}}
    run = start_profcol_once(pipeline(directory / "out", receiver)).wait_ready()
    target.wait_burnt(1000)
    run.stop()
    target.kill()
    (path,) = profile_paths(directory / "out")

    def print_with(*options):
        result = subprocess.run(
            [go, "tool", "pprof", "-symbolize=none", *options, path],
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert result.returncode == 0, result.stderr
        return result.stdout

    print_with.pid = target.pid
    return print_with


def test_top(pprof):
    text = pprof("-top")
    assert "Type: cpu" in text
    assert "burn_leaf" in text


def test_top_of_samples(pprof):
    assert "Type: samples" in pprof("-top", "-sample_index=samples")


def test_traces(pprof):
    functions = [line.split()[-1] for line in pprof("-traces").splitlines() if line.split()]
    at = functions.index("burn_leaf")
    assert functions[at : at + 4] == ["burn_leaf", "burn_middle", "burn_root", "main"]


def test_tagroot(pprof):
    text = pprof("-top", "-cum", "-tagroot=pid")
    assert any(line.split()[-1] == str(pprof.pid) for line in text.splitlines() if line.split())


def test_tagfocus(pprof):
    assert "burn_leaf" in pprof("-top", f"-tagfocus=pid={pprof.pid}")
    assert "burn_leaf" in pprof("-top", "-tagfocus=comm=burn")
    assert "burn_leaf" not in pprof("-top", "-tagignore=comm=burn")


def test_tags(pprof):
    text = pprof("-tags")
    for key in ("pid", "tid", "comm", "process.executable.path"):
        assert f"{key}: Total" in text
