# SPDX-License-Identifier: Apache-2.0
"""Connections that end under a request: because the peer is frozen, or the program shuts down."""
import pytest

from free_port import free_port
from otlp_exporter import forwarding, otlp_to, received
from profcol_run import pipeline
from waiting import wait_until

_QUICK = {"reporter_interval": "100ms"}


def exporter_lines(run):
    return [message for _, message in run.records("otlp_grpc")]


def test_keepalive_notices_a_frozen_peer(start_profcol, start_sink, burner):
    """The timeout of a request is out of the question: longer than the test waits for anything."""
    sink = start_sink()
    options = {"timeout": "1h", "keepalive": {"time": "1s", "timeout": "1s"}}
    exporters = {"otlp_grpc": otlp_to(sink.grpc, **options)}
    run = start_profcol(pipeline(receiver=_QUICK, exporters=exporters))
    wait_until(lambda: received(sink), "samples at the sink")
    sink.pause()
    run.wait_logged("Will retry")
    assert "unavailable" in exporter_lines(run)[0]
    sink.resume()
    run.wait_logged("working again")
    run.stop()
    assert run.balance().dropped == {}


@pytest.mark.sanitized
def test_a_shutdown_answers_whoever_waits(start_profcol, start_sink, burner):
    """A gateway without a queue, whose peer does not answer: what becomes of a request in the end
    is an answer to who has sent it, and not a call that is cut off.
    """
    sink = start_sink("hang")
    address = f"127.0.0.1:{free_port()}"
    unqueued = {"timeout": "60s", "sending_queue": {"enabled": False}}
    configuration = forwarding(address, otlp_to(sink.grpc, **unqueued))
    configuration["service"]["shutdown_timeout"] = "2s"  # nothing but its end makes it give up
    gateway = start_profcol(configuration)
    # Only one is on its way: later ones would meet a gateway that lets nobody in any more.
    single = {"timeout": "60s", "sending_queue": {"num_consumers": 1}}
    exporters = {"otlp_grpc": otlp_to(address, **single)}
    profiler = start_profcol(pipeline(receiver=_QUICK, exporters=exporters))
    wait_until(sink.requests, "a request at the sink")
    gateway.stop()
    profiler.wait_logged("Will retry")
    profiler.stop()
    first, *_ = exporter_lines(profiler)
    assert "unavailable: otlp_grpc: not delivered before the shutdown" in first
    assert "canceled" not in profiler.log
    assert gateway.balance().exported == 0
