# SPDX-License-Identifier: Apache-2.0
"""`nop` as receiver and exporter, and extensions of the Collector that have no counterpart here."""
import json
import subprocess

from waiting import wait_until

BOUND_S = 60


def _pipeline(receiver, exporter):
    return {"pipelines": {"profiles": {"receivers": [receiver], "exporters": [exporter]}}}


def test_a_pipeline_of_nothing_starts_and_ends(start_profcol):
    run = start_profcol(
        {
            "receivers": {"nop": None},
            "exporters": {"nop": None},
            "extensions": {"pprof": {"endpoint": "localhost:1777"}},
            "service": _pipeline("nop", "nop") | {"extensions": ["pprof"]},
        }
    ).wait_ready()
    run.stop()
    assert run.balance().taken == 0
    assert "nothing listens at localhost:1777" in run.log


def test_what_the_exporter_gives_up_is_counted(start_profcol, burner):
    run = start_profcol(
        {
            "receivers": {"profiling": {"samples_per_second": 99, "reporter_interval": "500ms"}},
            "exporters": {"nop": None},
            "service": _pipeline("profiling", "nop"),
        }
    ).wait_ready()

    def given_up():
        return run.metrics().value("profcol_samples", component="nop", outcome="exported")

    wait_until(given_up, "samples that are given up")
    run.stop()
    balance = run.balance()
    # What a busy machine had no room for in the kernel has not come so far.
    assert balance.exported > 0 and balance.lost_on_the_way == 0


def _validate(program, tmp_path, extension, options):
    path = tmp_path / "pipeline.yaml"
    path.write_text(
        json.dumps(
            {
                "receivers": {"nop": None},
                "exporters": {"nop": None},
                "extensions": {extension: options},
                "service": {
                    "extensions": [extension],
                    "pipelines": {"profiles": {"receivers": ["nop"], "exporters": ["nop"]}},
                },
            }
        )
    )
    return subprocess.run(
        [program, "validate", path], capture_output=True, text=True, timeout=BOUND_S
    )


def test_pprof_loads(program, tmp_path):
    options = {"endpoint": "0.0.0.0:1777", "block_profile_fraction": 3, "save_to_file": "/x"}
    result = _validate(program, tmp_path, "pprof", options)
    assert (result.returncode, result.stderr) == (0, "")


def test_opamp_is_an_error_that_says_what_to_use(program, tmp_path):
    options = {"server": {"ws": {"endpoint": "wss://127.0.0.1:4320/v1/opamp"}}}
    result = _validate(program, tmp_path, "opamp", options)
    assert result.returncode == 78
    assert "--watch-config" in result.stderr and "SIGHUP" in result.stderr
