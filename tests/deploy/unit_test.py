# SPDX-License-Identifier: Apache-2.0
"""The unit of systemd: what it says, and that the profiler works with what it leaves."""
import json
import os
import pathlib
import re
import subprocess

import pytest

from profcol_run import pipeline, read_samples
from waiting import wait_until

UNIT = "deploy/systemd/profcol.service"
EXPOSURE = 3.0
USER = 12345


@pytest.fixture(scope="module")
def unit(source):
    """Settings of the unit, all values of a key in one list."""
    settings = {}
    for line in (source / UNIT).read_text().splitlines():
        if match := re.fullmatch(r"(\w+)=(.*)", line):
            settings.setdefault(match[1], []).extend(match[2].split())
    return settings


def test_its_system_calls_are_those_of_the_images_profile(unit, source):
    rules = json.loads((source / "deploy/seccomp/profcol.json").read_text())["syscalls"]
    assert set(unit["SystemCallFilter"]) == {name for rule in rules for name in rule["names"]}


def test_it_is_found_sound_and_tight(source):
    verify = ["systemd-analyze", "security", "--offline=true", "--no-pager", source / UNIT]
    result = subprocess.run(verify, capture_output=True, text=True)
    level = float(re.search(r"Overall exposure level for \S+: ([\d.]+)", result.stdout)[1])
    assert level <= EXPOSURE, result.stdout
    shown = (source / "docs/security.md").read_text()
    assert f"Overall exposure level for profcol.service: {level}" in shown


def test_the_profiler_works_with_its_rights(
    unit, source, burn, start_profcol, start_target, program, tmp_path
):
    """As its user, with its capabilities and its calls. (Mounts are systemd's own matter.)"""
    names = [name.removeprefix("CAP_").lower() for name in unit["AmbientCapabilities"]]
    assert unit["CapabilityBoundingSet"] == unit["AmbientCapabilities"]
    script = pathlib.Path(__file__).with_name("container.py")
    rights = ["--capabilities", ",".join(names), "--ambient", "--user", str(USER)]
    calls = ["--seccomp", source / "deploy/seccomp/profcol.json"]
    prefix = ["/usr/bin/python3", script, *rights, *calls, "--"]
    # Files that only root may reach are no place for another user's program and profiles.
    place = tmp_path / "place"
    place.mkdir()
    os.chown(place, USER, USER)
    target = start_target(burn)
    exporters = {"pprof": {"directory": str(place / "out"), "interval": "1s"}}
    run = start_profcol(pipeline(exporters=exporters), tmp_path / "run", prefix)
    run.wait_ready()

    def is_named():
        samples = read_samples(place / "out")
        ours = (sample for sample in samples if sample.labels.get("pid") == target.pid)
        return any("burn_leaf" in sample.names for sample in ours)

    wait_until(is_named, "samples of the target with their names")
    status = pathlib.Path(f"/proc/{run.pid}/status").read_text()
    assert re.search(rf"^Uid:\t{USER}\t", status, re.MULTILINE)
    run.stop()
