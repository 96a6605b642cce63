# SPDX-License-Identifier: Apache-2.0
"""Code of compilers that write perf maps and jitdumps has the names that these give it, and stacks
lead through it: of which profcol knows no runtime, or is told not to.
"""
import os
import pathlib
import shutil

import pytest

from language_runtimes import runtime_path
from made_names import Producer, assert_named

_ERLANG = (
    "{ok, Name, Code} = compile:file(hot, [binary]), "
    "code:load_binary(Name, hot, Code), Name:start()."
)
# By the runtime that runs them.
PRODUCERS = {
    Producer(
        name="python -X perf",
        command=("-X", "perf", "hot_python.py"),
        hot="py::innermost:",
        caller="py::middle:",
        disabled=("python",),
    ): "python-3.13",
    Producer(
        name="wasmtime, a perf map",
        command=("hot_wasmtime.py", "perfmap"),
        hot="innermost",
        caller="middle",
        disabled=("python",),
    ): "wasmtime-50",
    Producer(
        name="wasmtime, a jitdump",
        command=("hot_wasmtime.py", "jitdump"),
        hot="innermost",
        caller="middle",
        disabled=("python",),
    ): "wasmtime-50",
    Producer(
        name=".NET",
        command=("hot_dotnet.py", "settings.json"),
        hot="Hot::Innermost(int32)",
        caller="Hot::Middle(int32)",
        disabled=("python",),
        variables=(("COMPlus_PerfMapEnabled", "1"),),
    ): "dotnet-3.1",
    Producer(
        name="BEAM",
        command=("+S", "1", "+JPperf", "true", "-noshell", "-eval", _ERLANG),
        hot="hot:innermost/2",
        caller="hot:start/0",  # its leaves have no frame, so theirs may be left out
    ): "beam-27",
}

pytestmark = pytest.mark.runtimes


@pytest.mark.parametrize("producer", PRODUCERS, ids=lambda producer: producer.name)
def test_its_code_has_names(producer, source, start_profcol_once, start_target_once, tmp_path):
    path = runtime_path(PRODUCERS[producer])
    folder = tmp_path / "made_names"
    shutil.copytree(source / "tests/targets/made_names", folder)
    variables = {"HOME": str(folder), **dict(producer.variables)}
    target = start_target_once(
        path, *producer.command, cwd=folder, env=os.environ | variables
    )
    try:
        assert_named(producer, start_profcol_once, target, tmp_path / "out")
    finally:
        target.kill()
        for name in (f"perf-{target.pid}.map", f"jit-{target.pid}.dump"):
            pathlib.Path("/tmp", name).unlink(missing_ok=True)
