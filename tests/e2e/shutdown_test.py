# SPDX-License-Identifier: Apache-2.0
"""How a run ends: in order, at once, by force."""
import signal
import stat

import pytest

import pprof_file
from own_pids import number_of, own_pids
from profcol_run import is_alive, pipeline, profile_paths, read_profile
from waiting import wait_until


@pytest.mark.sanitized
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_the_last_batch_is_in_the_file(
    start_profcol, start_target, build_target, tmp_path, number
):
    # Batches and files longer than the run: all there is, is there because it was drained. Samples
    # of others, of which a busy machine has more than there is room for, are not taken in.
    with own_pids() as alone:
        configuration = pipeline(tmp_path / "out", {"reporter_interval": "1h"})
        run = alone.within(start_profcol)(configuration, prefix=alone.prefix).wait_ready()
        burner = alone.within(start_target)(build_target("burn"))
        pid = number_of(burner.pid)
        burner.wait_burnt(1000)
        assert not profile_paths(tmp_path / "out")
        run.stop(number)

    profile = read_profile(tmp_path / "out")
    of_burner = sum(sample.count for sample in profile.of_pid(pid))
    assert of_burner >= 50, "a second of CPU time at 99 samples a second"
    assert profile.count == run.balance().exported
    assert run.balance().lost_on_the_way == 0


def test_files_are_for_the_owner_only(start_profcol, burner, tmp_path):
    run = start_profcol(pipeline(tmp_path / "out")).wait_ready()
    burner.wait_burnt(200)
    run.stop()
    (path,) = profile_paths(tmp_path / "out")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_kill_leaves_no_half_file_and_no_worker(start_profcol, burner, tmp_path):
    exporters = {"pprof": {"directory": str(tmp_path / "out"), "interval": "100ms"}}
    receiver = {"samples_per_second": 999, "reporter_interval": "100ms"}
    for _ in range(5):
        run = start_profcol(pipeline(receiver=receiver, exporters=exporters)).wait_ready()
        before = len(profile_paths(tmp_path / "out"))
        wait_until(lambda: len(profile_paths(tmp_path / "out")) > before + 1, "two more files")
        workers = wait_until(run.children, "a worker process")
        run.kill()
        wait_until(lambda: not any(map(is_alive, workers)), f"end of the workers {workers}")
    for path in profile_paths(tmp_path / "out"):
        assert pprof_file.read(path).count > 0, path

    # What the last one left unfinished goes with the next start.
    start_profcol(pipeline(tmp_path / "out")).wait_ready().stop()
    assert not list((tmp_path / "out").glob(".*"))


def test_a_second_signal_ends_it_at_once(start_profcol, burner, tmp_path):
    run = start_profcol(pipeline(tmp_path / "out")).wait_ready()
    # Stopped, it finds both when it goes on: the second while it is busy with the first.
    run.process.send_signal(signal.SIGSTOP)
    run.process.send_signal(signal.SIGTERM)
    run.process.send_signal(signal.SIGINT)
    run.process.send_signal(signal.SIGCONT)
    assert run.wait_exit() == 1


@pytest.mark.thorough
@pytest.mark.sanitized
def test_ten_starts_and_stops(start_profcol, burner, tmp_path):
    for cycle in range(10):
        run = start_profcol(pipeline(tmp_path / f"out{cycle}")).wait_ready()
        burner.wait_burnt(100)
        run.stop()  # fails on a leak, or any other report of a sanitizer
        workers = run.children()
        assert not workers, "the worker has outlived its parent"


def test_stops_right_after_the_start(start_profcol, tmp_path):
    run = start_profcol(pipeline(tmp_path / "out"))
    run.wait_logged("Starting profcol")
    run.stop()


def test_a_full_disk(start_profcol, burner, tmp_path):
    """A 1 MB tmpfs as the output directory, full at first."""
    mounted = tmp_path / "small"
    mounted.mkdir()
    # In a mount namespace of its own, so that nothing stays behind, whatever happens.
    script = 'mount -t tmpfs -o size=1m,mode=700 none "$0" && head -c 2M /dev/zero >"$0/ballast"; exec "$@"'
    exporters = {
        "pprof": {"directory": str(mounted), "interval": "200ms", "max_pending_bytes": "1MiB"}
    }
    receiver = {"samples_per_second": 999, "reporter_interval": "100ms"}
    run = start_profcol(
        pipeline(receiver=receiver, exporters=exporters),
        prefix=["unshare", "--mount", "sh", "-c", script, mounted],
    ).wait_ready()
    inside = run.view(mounted)

    run.wait_logged("dropping the oldest samples")
    assert not profile_paths(inside)
    (inside / "ballast").unlink()
    run.wait_logged("can be written")
    wait_until(lambda: profile_paths(inside), "a file once there is space again")
    run.stop()

    assert run.balance().lost > 0
    assert run.balance().exported > 0
    assert "disk_full" in run.balance().causes
