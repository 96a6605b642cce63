# SPDX-License-Identifier: Apache-2.0
"""Of a JVM it is told which class or jar it runs, and which version it is; never with what arguments."""
import gzip
import pathlib
import re
import subprocess
import zipfile

import pytest

import pprof_file
from java_threads_test import BOUND_S, MAIN, classes, find_java
from profcol_run import pipeline, profile_paths
from waiting import wait_until

SECRET = "hunter2"


def pack(classes, path):
    """The classes as a jar that can be run, at `path`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as jar:
        jar.writestr("META-INF/MANIFEST.MF", f"Manifest-Version: 1.0\nMain-Class: {MAIN}\n\n")
        for file in classes.glob("*.class"):
            jar.write(file, file.name)
    return path


@pytest.mark.parametrize("way", ["jar", pytest.param("class", marks=pytest.mark.thorough)])
def test_what_it_runs_is_told_without_arguments(
    way, classes, start_target, start_profcol, tmp_path
):
    jar = pack(classes, tmp_path / f"folder of {SECRET}".replace(" ", "_") / "orders-1.2.jar")
    program = ("-cp", classes, MAIN) if way == "class" else ("-jar", jar)
    command = [find_java("17"), f"-Dpassword={SECRET}", *program, f"--token={SECRET}", SECRET]
    target = start_target(*command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert target.process.stdout.readline() == b"ready\n"
    receiver = {"samples_per_second": 199, "select": {"include": [{"pid": target.pid}]}}
    exporters = {"pprof": {"directory": str(tmp_path / "out"), "interval": "1s"}}
    start_profcol(pipeline(receiver=receiver, exporters=exporters)).wait_ready()

    def told():
        """The labels of a sample that have it."""
        for path in profile_paths(tmp_path / "out"):
            for sample in pprof_file.read(path).samples:
                if "profcol.process.main" in sample.labels:
                    return sample.labels
        return None

    labels = wait_until(told, "a sample that tells what runs", BOUND_S, step_s=0.5)
    assert labels["profcol.process.main"] == (MAIN if way == "class" else "orders-1.2.jar")
    assert labels["process.runtime.name"] == "OpenJDK Runtime Environment"
    assert re.match(r"17\.\d+\.\d+\+", labels["process.runtime.version"]), labels
    for path in profile_paths(tmp_path / "out"):
        assert SECRET.encode() not in gzip.decompress(pathlib.Path(path).read_bytes()), path
