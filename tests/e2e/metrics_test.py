# SPDX-License-Identifier: Apache-2.0
"""What Prometheus reads of a real run, by its own parser."""
import json
import signal
import socket
import urllib.error
import urllib.request

import pytest

import prometheus_text
from free_port import free_port
from listening_ports import listening_ports
from profcol_run import pipeline
from prometheus_text import Metrics, reader, scrape
from waiting import wait_until

_QUICK = {"reporter_interval": "200ms"}

# Names, types and labels of the Collector; labels as its reader writes them.
COLLECTOR = {
    "otelcol_receiver_accepted_profile_samples": ("counter", {"receiver", "transport"}),
    "otelcol_receiver_refused_profile_samples": ("counter", {"receiver", "transport"}),
    "otelcol_receiver_failed_profile_samples": ("counter", {"receiver", "transport"}),
    "otelcol_exporter_sent_profile_samples": ("counter", {"exporter"}),
    "otelcol_exporter_send_failed_profile_samples": ("counter", {"exporter"}),
    "otelcol_exporter_enqueue_failed_profile_samples": ("counter", {"exporter"}),
    "otelcol_exporter_queue_size": ("gauge", {"exporter", "data_type"}),
    "otelcol_exporter_queue_capacity": ("gauge", {"exporter", "data_type"}),
    "otelcol_exporter_in_flight_requests": ("gauge", {"exporter", "data_type"}),
    "otelcol_process_uptime": ("counter", set()),
    "otelcol_process_cpu_seconds": ("counter", set()),
    "otelcol_process_memory_rss": ("gauge", set()),
    "target_info": ("gauge", {"service_name", "service_version", "service_instance_id"}),
}
OURS = {
    "profcol_samples": ("counter", {"kind", "component", "outcome"}),
    "profcol_unwind_stacks": ("counter", {"receiver", "end"}),
    "profcol_bpf_runs": ("counter", {"receiver", "program"}),
    "profcol_bpf_run_seconds": ("counter", {"receiver", "program"}),
    "profcol_bpf_map_bytes": ("gauge", {"receiver"}),
    "profcol_ring_buffer_lost_samples": ("counter", {"receiver"}),
    "profcol_batches": ("counter", {"kind", "component"}),
    "profcol_batch_samples": ("counter", {"kind", "component"}),
    "profcol_config_reloads": ("counter", {"result"}),
    "profcol_component_status": ("gauge", {"kind", "component", "status"}),
    "profcol_log_lines": ("counter", {"level"}),
}


def with_queue(directory):
    """A pipeline whose second exporter has a queue, and nobody to send to."""
    exporters = {
        "pprof": {"directory": str(directory), "interval": "1h"},
        "otlp_grpc/away": {
            "endpoint": "127.0.0.1:1",
            "tls": {"insecure": True},
            "sending_queue": {"queue_size": 7},
        },
    }
    made = pipeline(receiver=_QUICK, exporters=exporters)
    made["service"]["shutdown_timeout"] = "1m"
    return made


def with_telemetry(configuration, **metrics):
    configuration["service"]["telemetry"] = {"metrics": metrics}
    return configuration


def wait_passed(run):
    """Until samples have been passed on, and wait in the queue of who has nobody to send to."""

    def has_passed():
        metrics = run.metrics()
        return metrics.value("otelcol_receiver_accepted_profile_samples") and metrics.value(
            "otelcol_exporter_queue_size", exporter="otlp_grpc/away"
        )

    wait_until(has_passed, "samples in the metrics")
    return run


@pytest.fixture(scope="module")
def running(start_profcol_once, tmp_path_factory):
    """A run that has passed samples on, for tests that leave it as it is."""
    run = start_profcol_once(with_queue(tmp_path_factory.mktemp("out"))).wait_ready()
    return wait_passed(run)


@pytest.mark.sanitized
@pytest.mark.parametrize("name", list(COLLECTOR | OURS))
def test_a_metric_has_its_type_and_labels(running, name):
    kind, labels = (COLLECTOR | OURS)[name]
    metrics = running.metrics()
    assert metrics.types()[name] == kind
    assert metrics.of(name)
    for have, value in metrics.of(name):
        assert set(have) - {"cause"} == labels
        assert value >= 0


def test_all_that_is_served_is_known_or_ours(running):
    names = running.metrics().types()
    assert {name for name in names if not name.startswith("profcol_")} <= set(COLLECTOR)


@pytest.mark.sanitized
def test_the_figures_are_plausible(running):
    metrics = running.metrics()
    taken = metrics.value("profcol_samples", outcome="taken")
    accepted = metrics.value("otelcol_receiver_accepted_profile_samples", receiver="profiling")
    assert 0 < accepted
    assert taken > 0
    # Those on idle CPUs take no time by the program's own clock.
    runs = metrics.value("profcol_bpf_runs")
    assert 0 < metrics.value("profcol_bpf_run_seconds") / runs < 1e-3
    assert metrics.value("profcol_bpf_map_bytes") > 256 << 10
    assert metrics.value("otelcol_exporter_queue_capacity", exporter="otlp_grpc/away") == 7
    assert metrics.value("otelcol_exporter_queue_size", exporter="otlp_grpc/away") > 0
    assert 0 < metrics.value("otelcol_process_cpu_seconds")
    assert 1 << 20 < metrics.value("otelcol_process_memory_rss") < 1 << 31
    status = {"component": "pprof", "status": "ok"}
    assert metrics.value("profcol_component_status", **status) == 1
    assert metrics.value("profcol_unwind_stacks") > 0


@pytest.mark.sanitized
def test_counters_only_grow(running):
    first, second = running.metrics(), running.metrics()
    # What has just happened for the first time has a name since then.
    assert set(first.types()) <= set(second.types())
    counters = {key: value for key, value in first.series.items() if key[0].endswith("_total")}
    assert counters
    for key, value in counters.items():
        assert second.series[key] >= value, key


@pytest.mark.sanitized
def test_only_its_path_is_there_and_only_for_reading(running):
    address = f"http://127.0.0.1:{running.metrics_port}"

    def code(path, method):
        request = urllib.request.Request(address + path, method=method)
        try:
            with urllib.request.urlopen(request, timeout=300) as reply:
                return reply.status, reply.read()
        except urllib.error.HTTPError as error:
            return error.code, b""

    assert code("/metrics", "HEAD") == (200, b"")
    assert code("/", "GET")[0] == 404
    assert code("/metrics/x", "GET")[0] == 404
    assert code("/metrics", "POST")[0] == 405


@pytest.mark.sanitized
def test_the_exit_line_says_what_the_metrics_said(start_profcol, tmp_path):
    """They end at what the metrics last said, or a little beyond."""
    run = wait_passed(start_profcol(with_queue(tmp_path / "out")).wait_ready())
    metrics = run.metrics()
    run.stop()
    balance = run.balances_by_exporter()["pprof"]
    assert 0 < metrics.value("profcol_samples", outcome="taken") <= balance.taken
    assert metrics.value("otelcol_exporter_sent_profile_samples", exporter="pprof") <= (
        balance.exported
    )
    accepted = metrics.value("otelcol_receiver_accepted_profile_samples")
    assert 0 < accepted <= balance.taken


@pytest.mark.sanitized
def test_a_reload_takes_away_what_is_gone_and_leaves_the_rest(start_profcol, tmp_path):
    exporters = {"pprof": {"directory": str(tmp_path / "out"), "interval": "1h"}, "debug": {}}
    run = start_profcol(pipeline(receiver=_QUICK, exporters=exporters)).wait_ready()
    taken = {"kind": "receiver", "outcome": "taken"}
    before = wait_until(
        lambda: (metrics := run.metrics()).value("profcol_samples", **taken) and metrics,
        "samples in the metrics",
    )
    assert before.value("profcol_component_status", component="debug") == 1
    assert before.value("profcol_config_reloads", result="taken") == 0
    configuration = json.loads(run.configuration.read_text())
    configuration["service"]["pipelines"]["profiles"]["exporters"] = ["pprof"]
    run.configuration.write_text(json.dumps(configuration))
    run.process.send_signal(signal.SIGHUP)
    after = wait_until(
        lambda: (metrics := run.metrics()).value("profcol_config_reloads", result="taken")
        and metrics,
        "the reload",
    )
    assert after.value("profcol_component_status", component="debug") is None
    assert after.value("otelcol_exporter_sent_profile_samples", exporter="debug") is None
    assert after.value("profcol_samples", **taken) >= before.value("profcol_samples", **taken)
    assert after.value("profcol_config_last_reload_successful") == 1

    run.configuration.write_text("receivers: [")
    run.process.send_signal(signal.SIGHUP)
    refused = wait_until(
        lambda: (metrics := run.metrics()).value("profcol_config_reloads", result="refused")
        and metrics.value("profcol_log_lines", level="error")  # which comes after it is counted
        and metrics,
        "the refused reload, and why it was",
    )
    assert refused.value("profcol_config_last_reload_successful") == 0


@pytest.mark.sanitized
def test_names_with_suffixes_pass_the_linter(start_profcol, tmp_path):
    """As a reader has them that asks for everything; the scope's name among the labels."""
    port = free_port()
    plain = {"host": "127.0.0.1", "port": port, "without_type_suffix": False,
        "without_units": False, "without_scope_info": False, "with_resource_constant_labels": {
        "included": ["service.*"], "excluded": ["service.instance.id"]}}  # fmt: skip
    readers = [{"pull": {"exporter": {"prometheus": plain}}}]
    configuration = with_telemetry(with_queue(tmp_path / "out"), level="detailed", readers=readers)
    start_profcol(configuration).wait_ready()
    metrics = Metrics(scrape(port))
    assert prometheus_text.lint(metrics.text) == []
    labels = dict(metrics.of("otelcol_process_memory_rss_bytes")[0][0])
    assert labels["service_name"] == labels["otel_scope_name"] == "profcol"
    assert "service_instance_id" not in labels
    assert metrics.types()["profcol_batch_size"] == "histogram"
    count = metrics.value("profcol_batch_size_count", component="pprof")
    assert count == metrics.value("profcol_batch_size_bucket", component="pprof", le="+Inf")


@pytest.mark.sanitized
def test_level_none_listens_nowhere(start_profcol, tmp_path):
    configuration = pipeline(tmp_path / "out", _QUICK)
    run = start_profcol(with_telemetry(configuration, level="none")).wait_ready()
    assert listening_ports(run.pid) == set()
    run.stop()


@pytest.mark.sanitized
def test_a_refused_reload_leaves_the_listener(start_profcol, tmp_path):
    """Also where it had to be closed for the new one, which wants its port on all addresses."""
    port, taken = free_port(), socket.create_server(("127.0.0.1", 0))

    def configuration(host, extension):
        readers = [reader(port, host=host)]
        text = with_telemetry(pipeline(tmp_path / "out", _QUICK), readers=readers)
        text["extensions"] = {"zpages": {"endpoint": f"127.0.0.1:{extension}"}}
        text["service"]["extensions"] = ["zpages"] if extension else []
        return text

    def result(name):
        value = Metrics(scrape(port)).value("profcol_config_reloads", result=name)
        return value

    def reload(run, *arguments):
        run.configuration.write_text(json.dumps(configuration(*arguments)))
        run.process.send_signal(signal.SIGHUP)

    with taken:
        run = start_profcol(configuration("127.0.0.1", 0)).wait_ready()
        reload(run, "0.0.0.0", taken.getsockname()[1])
        run.wait_logged("Config reload failed")
        assert result("refused") == 1
        reload(run, "0.0.0.0", 0)
        run.wait_logged("Config reload complete")
        assert result("taken") == 1
    run.stop()


@pytest.mark.sanitized
def test_two_readers_have_their_own_names(start_profcol, tmp_path):
    first, second = free_port(), free_port()
    readers = [reader(first), reader(second, without_type_suffix=False)]
    configuration = with_telemetry(pipeline(tmp_path / "out", _QUICK), readers=readers)
    start_profcol(configuration).wait_ready()
    assert "otelcol_process_uptime" in Metrics(scrape(first)).types()
    assert "otelcol_process_uptime_total" in Metrics(scrape(second)).types()


@pytest.mark.sanitized
def test_a_port_in_use_is_one_clear_line(start_profcol, tmp_path):
    first = start_profcol(pipeline(tmp_path / "first", _QUICK)).wait_ready()
    readers = [reader(first.metrics_port)]
    configuration = with_telemetry(pipeline(tmp_path / "second", _QUICK), readers=readers)
    second = start_profcol(configuration)
    assert second.wait_exit() == 1
    (line,) = (line for line in second.log.splitlines() if line.startswith("Error: "))
    assert f"127.0.0.1:{first.metrics_port}" in line
    assert "in use" in line
    first.stop()
