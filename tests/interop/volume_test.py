# SPDX-License-Identifier: Apache-2.0
"""Much at once, and much for a long time: requests far above the peer's limit, and outages that
fill the queue. What profcol holds stays within what it was told to hold.
"""
import pathlib
import re
import time

import pytest

import otlp_file
from big_request import Feeder, repeat
from free_port import free_port
from otlp_exporter import forwarding, otlp_to, received
from profcol_run import pipeline
from waiting import wait_until

_MIB = 1 << 20


def peak_kib(run):
    """The most memory that it has had so far."""
    status = pathlib.Path(f"/proc/{run.pid}/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+) kB", status)[1])


@pytest.fixture(scope="module")
def capture(start_profcol, start_sink, burner):
    """The largest request of a real run. Of one program: others have stacks that are the same in all
    samples, which become one that cannot be cut when they are repeated.
    """
    sink = start_sink()
    exporters = {"otlp_grpc": otlp_to(sink.grpc)}
    receiver = {"samples_per_second": 997, "reporter_interval": "1s"}
    receiver["select"] = {"include": [{"pid": burner.pid}]}
    run = start_profcol(pipeline(receiver=receiver, exporters=exporters))
    burner.wait_burnt(1000)
    run.stop()
    sink.stop()
    return max(otlp_file.read_bodies(sink.out), key=len)


@pytest.fixture
def start_forwarding(start_profcol, start_gateway):
    """start_forwarding(exporter): a run between a feeder and a peer, and the feeder."""

    def start(exporter):
        address = f"127.0.0.1:{free_port()}"
        run = start_profcol(forwarding(address, exporter))
        return run, Feeder(start_gateway, address)

    return start


def test_a_limit_of_1_mib_against_30_mb(capture, start_forwarding, start_sink):
    body, times = repeat(capture, 30 * 10**6)
    observations = times * len(list(otlp_file.parse(capture)))
    sink = start_sink(max_recv_bytes=_MIB)
    run, feeder = start_forwarding(otlp_to(sink.grpc, timeout="30s"))
    assert feeder.send(body) == 200
    wait_until(lambda: received(sink) == observations, "all at the sink")
    run.stop()
    sink.stop()

    balance = run.balance()
    assert (balance.taken, balance.exported, balance.lost) == (observations, observations, 0)
    assert received(sink) == observations
    taken = [one["raw_bytes"] for one in sink.requests() if one["answer"] == "ok"]
    assert max(taken) <= _MIB and len(taken) >= 29
    # The first requests are on their way at once, so each may be refused, and its halves too...
    refused = [one for one in sink.requests() if one["answer"] == "resource_exhausted"]
    assert 0 < len(refused) <= 30


def test_an_outage_holds_no_more_than_the_queue(capture, start_forwarding, start_sink):
    body, times = repeat(capture, _MIB)
    observations = times * len(list(otlp_file.parse(capture)))
    queue_bytes = 16 * _MIB
    options = {"sending_queue": {"sizer": "bytes", "queue_size": queue_bytes}}
    options["retry_on_failure"] = {}  # the usual intervals
    count = 24

    sink = start_sink()
    run, feeder = start_forwarding(otlp_to(sink.grpc, **options))
    for number in range(1, count + 1):
        assert feeder.send(body) == 200
        wait_until(lambda: received(sink) == number * observations, "a request at the sink")
    usual_kib = peak_kib(run)
    run.stop()
    sink.stop()

    run, feeder = start_forwarding(otlp_to(f"127.0.0.1:{free_port()}", **options))
    statuses = [feeder.send(body) for _ in range(count)]
    outage_kib = peak_kib(run)
    print(f"the outage took {outage_kib - usual_kib} KiB, the queue may hold {queue_bytes >> 10}")
    run.stop()

    held = queue_bytes // len(body)
    assert statuses == [200] * held + [503] * (count - held)
    balance = run.balance()
    assert balance.taken == count * observations
    assert balance.causes == {
        "shutdown": held * observations,
        "queue_full": (count - held) * observations,
    }
    assert outage_kib - usual_kib <= queue_bytes * 1.1 / 1024


@pytest.mark.slow
def test_a_ten_minute_outage_of_a_profiler(start_profcol, start_sink, burner):
    """At the highest usual rate, with a queue that it fills. One with its peer runs beside it: what
    else a profiler holds depends on what the machine does meanwhile."""
    queue_bytes = 32 * _MIB
    receiver = {"samples_per_second": 997, "reporter_interval": "1s"}
    options = {"sending_queue": {"sizer": "bytes", "queue_size": queue_bytes}}
    options["retry_on_failure"] = {"max_elapsed_time": 0}
    usual, outage = (
        start_profcol(
            pipeline(receiver=receiver, exporters={"otlp_grpc": otlp_to(address, **options)})
        )
        for address in (start_sink().grpc, f"127.0.0.1:{free_port()}")
    )
    time.sleep(600)  # the length of the outage is what is tested
    held_kib = peak_kib(outage) - peak_kib(usual)
    usual.stop()
    outage.stop()
    assert held_kib <= queue_bytes * 1.1 / 1024
    assert outage.balance().causes["queue_full"] > 0
