# SPDX-License-Identifier: Apache-2.0
"""`overhead`: the rate goes down when profiling costs more than allowed, and says so; what was
sampled still adds up to the time that programs have run.
"""
import json
import re
import signal
import subprocess

import pytest

import pprof_file
from profcol_run import pipeline, profile_paths
from stolen_time import stolen_ms
from waiting import wait_until

FULL_RATE = 499
CPU_TIME = (("samples", "count"), ("cpu", "nanoseconds"))
LOWERED = re.compile(r"lowering the rate from ([\d.e+]+) to ([\d.e+]+) samples a second: (.*)")
CHANGE_BOUND_S = 240  # what hangs; the first half minute is not judged by the profiler


def changes(run):
    """[(from, to, why)] of what the log says of lower rates."""
    found = (LOWERED.match(message) for _, message in run.records("profiling"))
    return [(float(m[1]), float(m[2]), m[3]) for m in found if m]


def wait_lowered(run):
    wait_until(lambda: changes(run), "a lower rate", CHANGE_BOUND_S)


@pytest.mark.thorough
@pytest.mark.parametrize("select", [None, {"include": [{"comm": {"values": ["burn"]}}]}])
def test_over_the_limit_the_rate_goes_down_and_totals_stay_right(
    start_profcol, start_target, burn, select, tmp_path
):
    target = start_target("nice", "-n", "-15", burn)  # whatever else the machine does
    options = {"samples_per_second": FULL_RATE, "overhead": {"cpu": "0.1%"}}
    options |= {"select": select} if select else {}
    before_ms, stolen_before_ms = target.cpu_ms(), stolen_ms()
    run = start_profcol(pipeline(tmp_path / "out", options)).wait_ready()
    began_ms = target.cpu_ms()
    wait_lowered(run)
    lowered_ms = target.cpu_ms()
    wait_until(lambda: target.cpu_ms() - lowered_ms > 4000, "CPU time of the target", 120)
    metrics = run.metrics()
    ended_ms = target.cpu_ms()
    # It would keep a CPU from the end of the run, and from the tests that follow.
    target.process.send_signal(signal.SIGSTOP)
    most_ms = target.cpu_ms() - before_ms + stolen_ms() - stolen_before_ms
    run.stop()

    was, now, why = changes(run)[0]
    assert was == FULL_RATE and now < was
    assert re.fullmatch(r"profiling takes [\d.]+ % of a CPU, overhead::cpu allows 0.10 %", why)
    assert metrics.value("profcol_overhead_rate_changes", direction="lower") >= 1
    assert metrics.value("profcol_sampling_period_seconds") > 1 / FULL_RATE

    profiles = [pprof_file.read(path) for path in profile_paths(tmp_path / "out")]
    assert {each.sample_types for each in profiles} == {CPU_TIME}
    samples = [sample.values for each in profiles for sample in each.of_pid(target.pid)]
    sampled_ms = sum(nanoseconds for _, nanoseconds in samples) / 1e6
    assert 0.97 * (ended_ms - began_ms) <= sampled_ms <= 1.03 * most_ms
    # There were several periods, or else the counts would say the same.
    assert sum(count for count, _ in samples) / FULL_RATE < 0.95 * sampled_ms / 1000


def test_what_it_costs_is_shown(start_profcol, tmp_path):
    run = start_profcol(pipeline(tmp_path / "out")).wait_ready()

    def reading():
        """Once there are workers, which a standstill may delay beyond the first one."""
        metrics = run.metrics()
        parts = ("bpf", "workers")
        is_all = all(metrics.value("profcol_overhead_cpu_seconds", of=of) > 0 for of in parts)
        memory = metrics.value("profcol_overhead_memory_bytes", of="workers")
        return metrics if is_all and memory > 100 << 10 else None

    metrics = wait_until(reading, "a reading")
    agent_s = metrics.value("profcol_overhead_cpu_seconds", of="agent")
    assert 0 < agent_s <= metrics.value("otelcol_process_cpu_seconds")
    assert metrics.value("profcol_overhead_memory_bytes", of="agent") > 1 << 20
    maps = metrics.value("profcol_overhead_memory_bytes", of="bpf")
    assert maps == pytest.approx(metrics.value("profcol_bpf_map_bytes"), rel=0.5)
    assert metrics.value("profcol_sampling_period_seconds") == pytest.approx(1 / 99)
    run.stop()


def test_memory_over_the_limit_lowers_the_rate_where_tables_have_nothing_to_give(
    start_profcol, start_target, burn, tmp_path
):
    start_target(burn)
    # A long batch of very many samples.
    options = {"samples_per_second": 10000, "reporter_interval": "1h"}
    options |= {"overhead": {"memory": "32MiB"}}
    run = start_profcol(pipeline(tmp_path / "out", options)).wait_ready()
    wait_lowered(run)
    messages = [message for _, message in run.records("profiling")]
    run.stop()
    first = next(each for each in messages if each.startswith("lowering the rate"))
    assert "overhead::memory allows 32.0 MiB" in first


@pytest.mark.parametrize(
    "overhead, complaint",
    [
        ({"cpu": "a lot"}, "overhead::cpu: 'a lot' is no share of one CPU"),
        ({"cpu": "0%"}, "write it as 0.5%"),
        ({"memory": "31MiB"}, "overhead::memory: less than profiling takes by itself"),
    ],
)
def test_limits_that_make_no_sense_are_refused(program, overhead, complaint, tmp_path):
    configuration = tmp_path / "pipeline.yaml"
    configuration.write_text(json.dumps(pipeline(tmp_path / "out", {"overhead": overhead})))
    result = subprocess.run(
        [program, "validate", "--config", configuration], capture_output=True, text=True
    )
    assert result.returncode == 78
    assert complaint in result.stderr
