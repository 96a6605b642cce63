# SPDX-License-Identifier: Apache-2.0
"""A profiler that has nothing to do sleeps, and wakes up for what there is to do then."""
import pathlib
import re
import time

from own_pids import number_of
from profcol_run import pipeline, read_profile
from waiting import wait_until

WINDOW_S = 5
# Of all threads together, in that time: a thread that comes by ten times a second has 50.
SLEEPS_MOST = 15
_SLEPT = re.compile(r"^voluntary_ctxt_switches:\s+(\d+)$", re.MULTILINE)


def _sleeps(pid):
    """How often the threads have gone to sleep, but for the one that follows processes: the rest of
    the machine wakes that up once it has much to tell."""
    found = {}
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        try:
            name, status = ((task / file).read_text() for file in ("comm", "status"))
        except (FileNotFoundError, ProcessLookupError):
            continue
        if name != "processes\n":
            found[int(task.name)] = int(_SLEPT.search(status)[1])
    return found


def test_nothing_wakes_the_profiler_where_nothing_runs(
    start_profcol_apart, start_target_apart, build_target, tmp_path
):
    out = tmp_path / "out"
    configuration = pipeline(out, receiver={"reporter_interval": "5s"})
    run = start_profcol_apart(configuration).wait_ready()

    def is_quiet():
        before = _sleeps(run.pid)
        time.sleep(WINDOW_S)
        after = _sleeps(run.pid)
        return sum(after[thread] - before.get(thread, 0) for thread in after) <= SLEEPS_MOST

    wait_until(is_quiet, "a profiler that sleeps")
    burner = start_target_apart(build_target("burn")).wait_burnt(1000)
    run.stop()
    assert read_profile(out).of_pid(number_of(burner.pid))
    assert run.balance().lost_on_the_way == 0
