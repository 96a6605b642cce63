# SPDX-License-Identifier: Apache-2.0
"""CPUs that go offline and come back while the machine is busy."""
import fcntl
import os
import pathlib

import pytest

import pprof_file
from profcol_run import pipeline, profile_paths
from waiting import wait_until

CPU = 1
SWITCH = pathlib.Path(f"/sys/devices/system/cpu/cpu{CPU}/online")


@pytest.fixture
def switch_cpu():
    """switch_cpu(on): take CPU 1 offline or online; it is online afterwards, come what may."""
    if not SWITCH.exists():
        pytest.skip(f"CPU {CPU} cannot be taken offline on this machine")
    with SWITCH.open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            yield lambda on: SWITCH.write_text("1" if on else "0")
        finally:
            SWITCH.write_text("1")


@pytest.mark.alone
@pytest.mark.sanitized
def test_sampling_goes_on_when_cpus_come_and_go(
    start_profcol, start_target, build_target, switch_cpu, tmp_path
):
    for _ in range(2 * os.cpu_count()):
        start_target(build_target("burn"))
    exporters = {"pprof": {"directory": str(tmp_path / "out"), "interval": "500ms"}}
    run = start_profcol(
        pipeline(receiver={"reporter_interval": "200ms"}, exporters=exporters)
    ).wait_ready()

    def wait_sampled(expected):
        """Until a file that was begun after this call has samples of the CPUs expected."""
        old = set(profile_paths(tmp_path / "out"))

        def sampled():
            new = sorted(set(profile_paths(tmp_path / "out")) - old)[1:]
            return any(expected == sampled_cpus(pprof_file.read(path)) for path in new)

        wait_until(sampled, f"a profile with samples of the CPUs {expected}")

    every = set(range(os.cpu_count()))
    wait_sampled(every)
    switch_cpu(False)
    wait_sampled(every - {CPU})
    switch_cpu(True)
    wait_sampled(every)
    run.stop()
    assert run.balance().lost_on_the_way == 0


def sampled_cpus(profile):
    return {sample.labels["cpu.logical_number"] for sample in profile.samples}
