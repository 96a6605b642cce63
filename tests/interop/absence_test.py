# SPDX-License-Identifier: Apache-2.0
"""A peer that is away for a while, at the beginning or in the middle: nothing is lost, and what it
may have got before it went arrives at most once more.
"""
import functools
import time
import types

import pytest

import otlp_file
from free_port import free_port
from otlp_exporter import balanced_books, otlp_to, received
from profcol_run import pipeline, read_profile
from waiting import wait_until

_BURN_MS = 1200
_MINUTE_S = 60  # of slow tests, where the time itself is what matters


@pytest.fixture
def start_run(start_profcol, new_directory):
    """start_run(address, **options): a run into pprof files and to a peer at `address`."""

    def start(address, receiver=None, **options):
        directory = new_directory()
        exporters = {
            "pprof": {"directory": str(directory), "interval": "1h"},
            "otlp_grpc": otlp_to(address, **options),
        }
        receiver = {"reporter_interval": "100ms"} | (receiver or {})
        run = start_profcol(pipeline(receiver=receiver, exporters=exporters))
        return types.SimpleNamespace(profcol=run, directory=directory)

    return start


def assert_all_arrived(run, sink, twice=0):
    """What the pprof file says has arrived, up to `twice` observations of it once more."""
    profile = read_profile(run.directory)
    balance = run.profcol.balances_by_exporter()["otlp_grpc"]
    times = otlp_file.identities(sink.out)
    assert balance.dropped == {}
    assert balance.exported == profile.count == len(times)
    assert set(times.values()) <= ({1, 2} if twice else {1})
    assert sum(times.values()) - len(times) <= twice


def exporter_lines(run):
    return [message for _, message in run.profcol.records("otlp_grpc")]


def assert_told_briefly(run):
    """A line when it begins and one when it is over; the reason may change once in between."""
    lines = exporter_lines(run)
    assert "Will retry" in lines[0] and "working again" in lines[-1]
    assert len(lines) <= 3, "\n".join(lines)


@pytest.mark.sanitized
def test_a_peer_that_is_absent_at_first(start_run, start_sink, burner):
    address = f"127.0.0.1:{free_port()}"
    run = start_run(address)
    run.profcol.wait_logged("nobody listens")
    burner.wait_burnt(_BURN_MS)
    books = balanced_books(run.profcol)["otlp_grpc"]
    assert books.queued == books.accepted > 0
    sink = start_sink(address=address)
    wait_until(lambda: received(sink), "samples at the sink")
    run.profcol.stop()
    sink.stop()
    assert_all_arrived(run, sink)
    assert_told_briefly(run)


@pytest.mark.slow
def test_a_peer_that_is_absent_for_the_first_minute(start_run, start_sink, burner):
    """With the intervals that one gets without asking."""
    address = f"127.0.0.1:{free_port()}"
    run = start_run(address, {"reporter_interval": "5s"}, retry_on_failure={})
    time.sleep(_MINUTE_S)
    sink = start_sink(address=address)
    wait_until(lambda: received(sink), "samples at the sink")
    run.profcol.wait_logged("working again")
    run.profcol.stop()
    sink.stop()
    assert_all_arrived(run, sink)


def _kill_in_the_middle(run, start_sink, directory, address, pass_time):
    """`pass_time` is called while the peer is away."""
    first = start_sink(directory=directory, address=address)
    wait_until(lambda: received(first), "samples at the sink")
    first.kill()
    run.profcol.wait_logged("Will retry")
    pass_time()
    second = start_sink(directory=directory, address=address)
    before = received(second)
    wait_until(lambda: received(second) > before, "more samples at the sink")
    run.profcol.wait_logged("working again")
    run.profcol.stop()
    second.stop()
    # The answer to what it had just taken may not have reached profcol.
    largest = max(request["observations"] for request in second.requests())
    assert_all_arrived(run, second, twice=2 * largest)


@pytest.mark.sanitized
def test_a_peer_that_is_killed_in_the_middle(start_run, start_sink, new_directory, burner):
    address = f"127.0.0.1:{free_port()}"
    # Two at a time: no more can have been taken without an answer.
    run = start_run(address, sending_queue={"num_consumers": 2})
    away = functools.partial(burner.wait_burnt, _BURN_MS)
    _kill_in_the_middle(run, start_sink, new_directory(), address, away)


@pytest.mark.slow
def test_a_peer_that_is_killed_for_a_minute(start_run, start_sink, new_directory, burner):
    address = f"127.0.0.1:{free_port()}"
    queue = {"num_consumers": 2}
    run = start_run(address, {"reporter_interval": "5s"}, retry_on_failure={}, sending_queue=queue)
    away = functools.partial(time.sleep, _MINUTE_S)
    _kill_in_the_middle(run, start_sink, new_directory(), address, away)


def test_a_peer_that_freezes(start_run, start_sink, burner):
    """It accepts connections, for the kernel does; all in flight is sent again."""
    sink = start_sink()
    # Of the last batch the one attempt must not be late.
    run = start_run(sink.grpc, timeout="15s", sending_queue={"num_consumers": 1})
    wait_until(lambda: received(sink), "samples at the sink")
    sink.pause()
    run.profcol.wait_logged("Will retry")
    burner.wait_burnt(_BURN_MS)
    sink.resume()
    run.profcol.wait_logged("working again")
    # During the shutdown a request has one attempt only.
    wait_until(
        lambda: run.profcol.metrics().value("profcol_exporter_queue_profile_samples") == 0,
        "an empty queue",
    )
    run.profcol.stop()
    sink.stop()
    profile = read_profile(run.directory)
    balance = run.profcol.balances_by_exporter()["otlp_grpc"]
    assert balance.dropped == {}
    # What waited in its socket buffers is served as well: each attempt may have got through.
    assert balance.exported == profile.count == len(otlp_file.identities(sink.out))


def test_a_limit_below_the_batch(start_run, start_sink, burner, assert_conforms):
    """Larger requests are refused; the limit, above the 64 KiB that are the least, is learned
    and kept to."""
    limit = 70000
    sink = start_sink(max_recv_bytes=limit)
    # One CPU's samples are enough; at higher rates a busy machine has no time for all of them.
    # One after the other: what the refusal of one teaches is known to the next.
    run = start_run(
        sink.grpc,
        {"reporter_interval": "5s", "samples_per_second": 2999},
        sending_queue={"num_consumers": 1},
    )
    wait_until(
        lambda: run.profcol.metrics().value("profcol_batches", component="otlp_grpc") >= 2,
        "a batch after the first one",
    )
    run.profcol.stop()
    sink.stop()
    assert_all_arrived(run, sink)
    answers = [request["answer"] for request in sink.requests()]
    assert answers.count("resource_exhausted") in range(1, 12)
    lines = exporter_lines(run)
    # Each tells of another size that was refused.
    assert 1 <= len(lines) <= answers.count("resource_exhausted"), "\n".join(lines)
    assert all("the peer does not take requests of" in line for line in lines)
    assert_conforms(sink.out)
