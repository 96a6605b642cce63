# SPDX-License-Identifier: Apache-2.0
"""Broken configurations, as a user meets them: exit code 78 and text that says what to do."""
import re
import subprocess

import pytest

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
            [program, *command, "--config", path], capture_output=True, text=True, timeout=60
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
        [program, "validate", "--config", path], capture_output=True, text=True, timeout=60
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
    result = subprocess.run([program, *arguments], capture_output=True, text=True, timeout=60)
    assert result.returncode == EX_USAGE
    assert fragment in result.stderr
