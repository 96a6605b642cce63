# SPDX-License-Identifier: Apache-2.0
"""Log lines as service.telemetry.logs wants them, of real runs."""
import json
import os
import re
import signal

import pytest

from profcol_run import READY, pipeline
from waiting import wait_until

TIME = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}(Z|[+-]\d{4})"


def with_logs(directory, **logs):
    """The profiler, with a second exporter that logs a line for each batch."""
    exporters = {
        "pprof": {"directory": str(directory), "interval": "1h"},
        "debug": {},
    }
    configuration = pipeline(receiver={"reporter_interval": "100ms"}, exporters=exporters)
    configuration["service"]["telemetry"] = {"logs": logs}
    return configuration


def sent(run):
    """Samples that the exporter which logs has taken."""
    return run.metrics().value("profcol_samples", component="debug", outcome="exported")


def of_file(path):
    return path.read_text() if path.exists() else ""


@pytest.mark.sanitized
def test_console_lines_are_as_the_collectors(start_profcol, burner, tmp_path):
    run = start_profcol(with_logs(tmp_path / "out")).wait_ready()
    run.wait_logged("resource profiles")
    run.stop()
    ids = set()
    for line in run.log.splitlines():
        time, level, caller, _, fields = line.split("\t")
        assert re.fullmatch(TIME, time)
        assert level in ("debug", "info", "warn", "error")
        assert re.fullmatch(r"\w+/\w+\.c:\d+", caller)
        fields = json.loads(fields)
        resource = fields["resource"]
        assert resource["service.name"] == "profcol"
        ids.add(resource["service.instance.id"])
        if "otelcol.component.id" in fields:
            assert fields["otelcol.component.kind"] in ("receiver", "exporter")
            assert fields["otelcol.signal"] == "profiles"
    assert len(ids) == 1
    messages = [message for level, message in run.records("debug") if level == "info"]
    assert any("resource profiles" in message for message in messages)


@pytest.mark.sanitized
def test_json_lines_are_as_the_collectors(start_profcol, burner, tmp_path):
    run = start_profcol(
        with_logs(tmp_path / "out", encoding="json", initial_fields={"rack": "a1"})
    ).wait_ready()
    run.wait_logged("resource profiles")
    run.stop()
    records = [json.loads(line) for line in run.log.splitlines()]
    for record in records:
        assert list(record)[:4] == ["level", "ts", "caller", "msg"]
        assert re.fullmatch(TIME, record["ts"])
        assert record["rack"] == "a1"
    assert READY in [record["msg"] for record in records]
    (started,) = (record for record in records if record["msg"] == "Starting profcol...")
    assert started["NumCPU"] == os.cpu_count() and started["Version"]
    (signalled,) = (record for record in records if record["msg"] == "Received signal from OS")
    assert signalled["signal"] in ("terminated", "interrupt")
    kinds = {record.get("otelcol.component.kind") for record in records}
    assert {None, "exporter"} <= kinds


@pytest.mark.sanitized
def test_a_file_is_written_and_opened_anew_at_sighup(start_profcol, burner, tmp_path):
    path = tmp_path / "profcol.log"
    run = start_profcol(with_logs(tmp_path / "out", output_paths=[str(path)], disable_caller=True))
    wait_until(lambda: READY in of_file(path), "the log")
    assert run.log == ""
    path.rename(tmp_path / "profcol.log.1")
    run.process.send_signal(signal.SIGHUP)
    wait_until(lambda: "resource profiles" in of_file(path), "the new log")
    assert READY not in of_file(path)
    run.process.send_signal(signal.SIGTERM)
    assert run.wait_exit() == 0
    assert "Shutdown complete." in of_file(path)
    assert "\tinfo\tShutdown complete.\t{" in of_file(path)


@pytest.mark.sanitized
def test_a_level_changes_while_it_runs(start_profcol, burner, tmp_path):
    configuration = with_logs(tmp_path / "out")
    run = start_profcol(configuration).wait_ready()
    run.wait_logged("resource profiles")
    text = json.loads(run.configuration.read_text())
    text["service"]["telemetry"]["logs"]["level"] = "error"
    run.configuration.write_text(json.dumps(text))
    run.process.send_signal(signal.SIGHUP)
    wait_until(
        lambda: run.metrics().value("profcol_config_reloads", result="taken"), "the reload"
    )
    # Who was writing a line while the level changed has written it when later batches are through.
    passed = sent(run)
    for _ in range(2):
        passed = wait_until(lambda: sent(run) > passed and sent(run), "batches after the reload")
    lines = run.log.splitlines()
    run.process.send_signal(signal.SIGTERM)
    assert run.wait_exit() == 0
    assert "Shutdown complete." not in run.log
    assert not [line for line in run.log.splitlines()[len(lines) :] if "\tinfo\t" in line]


@pytest.mark.sanitized
def test_a_place_that_cannot_be_written_is_named(start_profcol, tmp_path):
    run = start_profcol(with_logs(tmp_path / "out", output_paths=[str(tmp_path / "no/such/log")]))
    assert run.wait_exit() == 1
    (line,) = run.log.splitlines()
    assert "service::telemetry::logs::output_paths: open" in line
    assert "No such file or directory" in line
