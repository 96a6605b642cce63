# SPDX-License-Identifier: Apache-2.0
"""A gateway between a profiler and a peer: its metrics, its exit line and the peer's own count are
the same figures.
"""
import pytest

from free_port import free_port
from otlp_exporter import forwarding, otlp_to, received
from profcol_run import pipeline
from waiting import wait_until


@pytest.mark.sanitized
def test_metrics_exit_line_and_peer_agree(start_profcol, start_sink, burner):
    sink = start_sink("unavailable*2,ok")
    address = f"127.0.0.1:{free_port()}"
    gateway = start_profcol(forwarding(address, otlp_to(sink.grpc)))
    exporters = {"otlp_grpc": otlp_to(address)}
    profiler = start_profcol(pipeline(receiver={"reporter_interval": "200ms"}, exporters=exporters))
    burner.wait_burnt(1000)
    profiler.stop()
    sent = profiler.balance().exported
    assert sent > 0

    def delivered():
        metrics = gateway.metrics()
        return metrics if metrics.value("otelcol_exporter_sent_profile_samples") == sent else None

    metrics = wait_until(delivered, "all at the peer")
    accepted = "otelcol_receiver_accepted_profile_samples"
    assert metrics.value(accepted, receiver="otlp", transport="grpc") == sent
    assert metrics.value("otelcol_receiver_refused_profile_samples", transport="grpc") == 0
    assert metrics.value("otelcol_receiver_failed_profile_samples", transport="grpc") == 0
    assert metrics.value("otelcol_exporter_send_failed_profile_samples") == 0
    assert metrics.value("otelcol_exporter_enqueue_failed_profile_samples") == 0
    assert metrics.value("profcol_exporter_retries", exporter="otlp_grpc") == 2
    wait_until(lambda: gateway.metrics().value("otelcol_exporter_queue_size") == 0, "empty queue")
    assert received(sink) == sent
    last = gateway.metrics()
    gateway.stop()
    balance = gateway.balance()
    assert last.value("profcol_samples", outcome="taken") == balance.taken == sent
    assert last.value("profcol_samples", outcome="exported") == balance.exported == sent
    assert last.value("profcol_samples", outcome="lost") is None
    assert balance.lost_on_the_way == 0
