# SPDX-License-Identifier: Apache-2.0
"""Broken configurations, as a user meets them: exit code 78 and text that says what to do."""
import json
import os
import pathlib
import re
import subprocess

import pytest

from own_pids import number_of
from profcol_run import pipeline
from waiting import BOUND_S, wait_until

EX_CONFIG = 78
EX_USAGE = 2

WORKING = """\
receivers:
  profiling:
    samples_per_second: 99
exporters:
  pprof:
    directory: DIRECTORY
service:
  pipelines:
    profiles:
      receivers: [profiling]
      exporters: [pprof]
"""

# What is replaced in WORKING by what, the place of the error, and what its text holds.
BROKEN = {
    "unknown key, nearest named": (
        "samples_per_second", "sample_per_second", "3:5",
        ["sample_per_second", "samples_per_second"],
    ),
    "camel case key": (
        "samples_per_second", "SamplesPerSecond", "3:5", ["SamplesPerSecond", "samples_per_second"],
    ),
    "number out of bounds": ("99", "0", "3:25", ["samples_per_second", "0"]),
    "text for a number": ("99", "often", "3:25", ["samples_per_second", "'int'"]),
    "duration without a unit": (
        "samples_per_second: 99", "reporter_interval: 5", "3:24", ["reporter_interval", "unit"],
    ),
    "required option is missing": ("    directory: DIRECTORY\n", "", "5:3", ["pprof", "directory"]),
    "unknown component, nearest named": ("  pprof:", "  pproof:", "5:3", ["pproof", "pprof"]),
    "reference to what is not there": (
        "exporters: [pprof]", "exporters: [debug]", "11:19", ["debug"],
    ),
    "pipeline of another signal": ("    profiles:", "    traces:", "9:5", ["traces", "profiles"]),
    "no receivers": ("receivers: [profiling]", "receivers: []", None, ["receivers"]),
    "unknown section": (
        "service:", "services:", None,
        ["7:1: has invalid keys: services; did you mean 'service'?"],
    ),
    "broken YAML": ("[pprof]", "[pprof", None, ["']'"]),
    "tab": ("    samples", "\tsamples", "3:1", ["tab"]),
    "duplicate key": (
        "    samples_per_second: 99", "    samples_per_second: 99\n" * 2, None,
        ["samples_per_second"],
    ),
}  # fmt: skip


def check(program, path):
    """Both commands that read a configuration must agree on it."""
    results = [
        subprocess.run(
            [program, *command, "--config", path], capture_output=True, text=True, timeout=BOUND_S
        )
        for command in (["validate"], [])
    ]
    assert results[0].stderr == results[1].stderr
    assert results[0].returncode == results[1].returncode
    return results[0]


@pytest.mark.sanitized
@pytest.mark.parametrize("case", BROKEN)
def test_broken_configuration(program, tmp_path, case):
    old, new, place, fragments = BROKEN[case]
    assert old in WORKING
    path = tmp_path / "pipeline.yaml"
    path.write_text(WORKING.replace(old, new, 1).replace("DIRECTORY", str(tmp_path)))

    result = check(program, path)

    assert result.returncode == EX_CONFIG
    assert re.match(rf"{re.escape(str(path))}:{place or '[0-9]+:[0-9]+'}: ", result.stderr)
    for fragment in fragments:
        assert fragment in result.stderr
    assert result.stdout == ""


def test_all_problems_come_at_once(program, tmp_path):
    path = tmp_path / "pipeline.yaml"
    path.write_text(WORKING.replace("99", "0").replace("pprof]", "file]"))
    lines = check(program, path).stderr.splitlines()
    assert [line.split(":")[1] for line in lines[:2]] == ["3", "11"]


def test_a_working_configuration_is_accepted_in_silence(program, tmp_path):
    path = tmp_path / "pipeline.yaml"
    path.write_text(WORKING.replace("DIRECTORY", str(tmp_path)))
    result = subprocess.run(
        [program, "validate", "--config", path], capture_output=True, text=True, timeout=BOUND_S
    )
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")


def test_a_missing_file_is_named(program, tmp_path):
    result = check(program, tmp_path / "nowhere.yaml")
    assert result.returncode == EX_CONFIG
    assert "nowhere.yaml" in result.stderr
    assert "No such file" in result.stderr


@pytest.mark.parametrize(
    "arguments, fragment",
    [
        ([], "--config"),
        (["--confg", "x"], "did you mean '--config'?"),
        (["validat", "--config", "x"], "did you mean 'validate'?"),
        (["--config"], "needs a value"),
    ],
)
def test_wrong_usage(program, arguments, fragment):
    result = subprocess.run([program, *arguments], capture_output=True, text=True, timeout=BOUND_S)
    assert result.returncode == EX_USAGE
    assert fragment in result.stderr


# All keys of the example that comes with the OpenTelemetry eBPF profiler, local.example.yaml, in
# its order and with its values, those that have none included.
REFERENCE_EXAMPLE = """\
receivers:
  profiling:

processors:

exporters:
  otlp/local:
    endpoint: http://127.0.0.1:11000
    tls:
      insecure: true
      insecure_skip_verify: true

connectors:

service:
  telemetry:
    logs:
      level: info
  pipelines:
    profiles:
      receivers: [profiling]
      processors: []
      exporters: [otlp/local]
"""

# Every key of its receiver, set to something else than the default.
REFERENCE_RECEIVER = {
    "samples_per_second": 99,
    "reporter_interval": "500ms",
    "reporter_jitter": 0.1,
    "send_idle_frames": True,
    "no_kernel_version_check": True,
    "error_mode": "Ignore",
    "include_env_vars": "HOME, LANG",
    "off_cpu_threshold": 0.5,
}
UNHEEDED = {
    "monitor_interval": "10s",
    "clock_sync_interval": "0",
    "frame_cache_size": 1024,
    "probabilistic_interval": "5m",
    "probabilistic_threshold": 50,
    "interpreters": {
        "python": {"disabled": True},
        "perl": {"disabled": True},
        "php": {"disabled": True},
        "hotspot": {"disabled": True},
        "ruby": {"disabled": False, "skip_native_resume": True},
        "v8": {"disabled": True},
        "dotnet": {"disabled": True},
        "go": {"labels": {"disabled": True}, "symbolization": {"disabled": True}},
        "beam": {},
        "luajit": None,
    },
    "send_error_frames": True,
    "filter_min_process_age": "1s",
    "map_scale_factor": 8,
    "bpf_verifier_log_level": 2,
    "bpf_fs_root": "/run/bpf/",
    "obi_process_ctx": True,
    "pid_namespace_translation": True,
    "pin_cpu_ids": "1,0-0",
    "probes": [
        {"type": "kprobe", "symbol": "vfs_open"},
        {"type": "kprobe", "mode": "uprobe", "symbol": "malloc", "target": "/lib/libc.so.6"},
    ],
    "load_probe": True,
    "verbose_mode": True,
    "max_grpc_retries": 0,
    "max_rpc_msg_size": 1 << 20,
}


def lines_about(key, log):
    return [line for line in log.splitlines() if f"the option '{key}' is accepted" in line]


@pytest.mark.sanitized
def test_the_example_of_the_reference_starts_unchanged(start_profcol):
    run = start_profcol(REFERENCE_EXAMPLE).wait_ready()
    assert run.metrics().text
    run.stop()
    assert "is accepted but not acted on" not in run.log


@pytest.mark.sanitized
def test_every_key_of_the_reference_is_taken_and_those_without_effect_are_named(
    start_profcol, tmp_path
):
    receiver = REFERENCE_RECEIVER | UNHEEDED
    run = start_profcol(pipeline(tmp_path / "out", receiver)).wait_ready()
    run.stop()
    for key in UNHEEDED:
        assert len(lines_about(key, run.log)) == 1, f"{key} in:\n{run.log}"
    for key in REFERENCE_RECEIVER:
        assert not lines_about(key, run.log)


JAVA = pathlib.Path("/usr/lib/jvm/java-17-openjdk-amd64/bin/java")
JAVA_LOOP = """\
class Loop {
    public static void main(String[] arguments) {
        System.out.println("ready");
        for (;;)
            System.nanoTime();
    }
}
"""


@pytest.fixture
def java_loop(start_target_apart, tmp_path):
    """A JVM that burns CPU, the only one that the profiler knows."""
    if not JAVA.exists():
        text = f"no {JAVA}; run: scripts/setup.sh test"
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(text)
    source = tmp_path / "Loop.java"
    source.write_text(JAVA_LOOP)
    target = start_target_apart(JAVA, "-Xmx64m", source, stdout=subprocess.PIPE)
    assert target.process.stdout.readline() == b"ready\n"
    return target


@pytest.mark.sanitized
@pytest.mark.parametrize("disabled", [False, True])
def test_jvms_are_programs_like_others_where_hotspot_is_disabled(
    start_profcol_apart, java_loop, tmp_path, disabled
):
    receiver = {
        "select": {"include": [{"pid": number_of(java_loop.pid)}]},
        "interpreters": {"hotspot": {"disabled": disabled}},
    }
    run = start_profcol_apart(pipeline(tmp_path / "out", receiver)).wait_ready()
    wait_until(lambda: run.metrics().value("profcol_unwind_processes"), "the JVM to be followed")
    if not disabled:
        known = {"runtime": "hotspot", "state": "known"}
        name = "profcol_runtime_processes"
        wait_until(lambda: run.metrics().value(name, **known), "a JVM's heaps")
    jvms = run.metrics().value("profcol_runtime_processes", runtime="hotspot")
    assert jvms == (not disabled)
    run.stop()
    assert not lines_about("interpreters", run.log)


BOUNDS = {
    "frame_cache_size": [1023, 1048577],
    "probabilistic_interval": ["59s", "5m1s"],
    "probabilistic_threshold": [0, 101],
    "off_cpu_threshold": [-0.1, 1.1],
    "filter_min_process_age": ["-1s"],
    "map_scale_factor": [9],
    "bpf_verifier_log_level": [3],
    "error_mode": ["sometimes"],
    "max_grpc_retries": [-1],
    "pin_cpu_ids": ["0-", "a", "3-1", "0,,1", "4294967296"],
    "resource_by": ["pod"],
    "max_stack_depth": [0, 1025],
    "deferred_stack": ["-1", "33KiB"],
    "unwind_memory": ["1023KiB", "1025MiB"],
    "process_memory": ["1023KiB", "1025MiB"],
    "symbol_memory": ["1023KiB", "4097MiB"],
    "debug_directories": [["usr/lib/debug"]],
    "worker_uid": [0, 4294967294],
    "unnamed_functions": ["names"],
    "cache_size": ["1023KiB", "1025GiB"],
    "probes": [
        [{"type": "tracepoint", "symbol": "x"}],
        [{"symbol": "x"}],
        [{"type": "kprobe"}],
        [{"type": "kprobe", "symbol": "x", "mode": "uprobe"}],
    ],
}


@pytest.mark.parametrize("key", BOUNDS)
def test_bounds_are_those_of_the_reference(program, tmp_path, key):
    for value in BOUNDS[key]:
        path = tmp_path / "pipeline.yaml"
        path.write_text(json.dumps(pipeline(tmp_path, {key: value})))
        result = check(program, path)
        assert result.returncode == EX_CONFIG, value
        assert re.search(rf"receivers::profiling(::|: ){key}", result.stderr), result.stderr


def test_where_sampling_cannot_start_the_rest_may_go_on(start_profcol, tmp_path):
    prefix = ["setpriv", "--bounding-set=-bpf,-sys_admin", "--inh-caps=-bpf,-sys_admin"]
    options = {"error_mode": "ignore"}
    run = start_profcol(pipeline(tmp_path / "out", options), prefix=prefix).wait_ready()
    (line,) = (line for line in run.log.splitlines() if "error_mode is ignore" in line)
    assert "\terror\t" in line
    assert "CAP_BPF" in line
    assert not run.children(), "nothing is left of the profiler"
    assert run.stop().balance().taken == 0
