# SPDX-License-Identifier: Apache-2.0
"""The queue on disk: what was accepted is sent by a later run, whatever ended the one before."""
import contextlib
import subprocess
import time

import pytest

import otlp_file
from free_port import free_port
from otlp_exporter import balanced_books, otlp_to, received
from profcol_run import pipeline, read_profile
from waiting import wait_until

_BURN_MS = 500
_MANY_RECORDS = {"receiver": {"samples_per_second": 997}, "max_request_bytes": "4KiB"}


def stored_pipeline(storage, address, others=None, receiver=None, **options):
    """The profiler to `address` by way of the directory `storage`; `others` come after it."""
    exporter = otlp_to(address, **options)
    exporter["sending_queue"] = {"storage": "file_storage", "num_consumers": 2}
    exporter["retry_on_failure"] |= {"max_elapsed_time": 0}
    receiver = {"reporter_interval": "100ms"} | (receiver or {})
    exporters = {"otlp_grpc/stored": exporter} | (others or {})
    configuration = pipeline(receiver=receiver, exporters=exporters)
    configuration["extensions"] = {"file_storage": {"directory": str(storage)}}
    configuration["service"]["extensions"] = ["file_storage"]
    return configuration


def send_rest(start_profcol, storage, sink):
    """A run that sends what is on disk: its balance."""
    run = start_profcol(stored_pipeline(storage, sink.grpc, receiver={"reporter_interval": "1h"}))
    wait_until(lambda: not stored_files(storage), "an empty queue")
    run.stop()
    balance = run.balances_by_exporter()
    return next(iter(balance.values())) if len(balance) == 1 else balance["otlp_grpc/stored"]


def stored_files(storage):
    return [path for path in storage.rglob("*") if path.is_file() and path.name != ".lock"]


def pprof_in(directory):
    return {"pprof": {"directory": str(directory), "interval": "1h"}}


@pytest.mark.sanitized
def test_what_was_not_sent_is_sent_by_the_next_run(
    start_profcol, start_sink, burner, tmp_path, assert_conforms
):
    storage = tmp_path / "queue"
    nowhere = f"127.0.0.1:{free_port()}"
    run = start_profcol(stored_pipeline(storage, nowhere, pprof_in(tmp_path / "pprof")))
    burner.wait_burnt(_BURN_MS)
    run.stop()
    profile = read_profile(tmp_path / "pprof")
    first = run.balances_by_exporter()["otlp_grpc/stored"]
    assert (first.stored, first.exported, first.dropped) == (profile.count, 0, {})

    sink = start_sink()
    second = send_rest(start_profcol, storage, sink)
    sink.stop()
    observations = otlp_file.read(sink.out)
    assert (second.dropped, second.stored) == ({}, 0)
    # The second run profiles too: only what lies before its beginning is of the first.
    first_part = [seen for seen in observations if seen.time_ns < profile_end(profile)]
    assert otlp_file.count_samples(seen.sample for seen in first_part) == (
        otlp_file.count_samples(profile.samples)
    )
    assert len(observations) == second.exported == len(otlp_file.identities(sink.out))
    assert_conforms(sink.out)


def profile_end(profile):
    return profile.time_ns + profile.duration_ns


class Witness:
    """A second exporter to a peer of its own, which gets each batch after the queue on disk has
    accepted it: what it has received must not be lost.
    """

    def __init__(self, sink):
        self._sink = sink
        self.exporter = {"otlp_grpc/witness": otlp_to(sink.grpc)}

    @property
    def identities(self):
        return set(otlp_file.identities(self._sink.out))

    def wait_for_more(self):
        before = received(self._sink)
        wait_until(lambda: received(self._sink) > before, "samples at the witness")


@pytest.fixture
def witness(start_sink):
    return Witness(start_sink())


def assert_none_lost(witness, sink, kills):
    times = otlp_file.identities(sink.out)
    assert not witness.identities - set(times), "accepted, and never sent"
    assert max(times.values()) <= 1 + kills


@pytest.mark.sanitized
def test_kill_9_while_writing(start_profcol, start_sink, burner, witness, tmp_path):
    storage = tmp_path / "queue"
    nowhere = f"127.0.0.1:{free_port()}"
    for number in range(4):
        run = start_profcol(
            stored_pipeline(storage, nowhere, witness.exporter, **_MANY_RECORDS)
        )
        witness.wait_for_more()
        time.sleep(0.013 * number)  # so that it is hit at various moments
        run.kill()
    sink = start_sink()
    assert send_rest(start_profcol, storage, sink).dropped == {}
    sink.stop()
    assert_none_lost(witness, sink, kills=0)


@pytest.mark.sanitized
def test_kill_9_while_sending(start_profcol, start_sink, burner, witness, tmp_path):
    storage = tmp_path / "queue"
    kills = 4
    # Some attempts fail, so that there is always something on disk.
    sink = start_sink(",".join(["ok", "unavailable", "ok", "reset"] * 200))
    for number in range(kills):
        run = start_profcol(
            stored_pipeline(storage, sink.grpc, witness.exporter, **_MANY_RECORDS)
        )
        witness.wait_for_more()
        time.sleep(0.013 * number)
        run.kill()
    sink.answer("ok")
    assert send_rest(start_profcol, storage, sink).dropped == {}
    sink.stop()
    assert_none_lost(witness, sink, kills)
    # Twice comes only what was on its way when the run was killed.
    again = sum(otlp_file.identities(sink.out).values()) - len(otlp_file.identities(sink.out))
    most = max(request["observations"] for request in sink.requests())
    assert again <= 2 * most * (kills + sink_resets(sink))


def sink_resets(sink):
    return len([request for request in sink.requests() if request["answer"] == "reset"])


def test_damage_costs_only_what_it_hits(start_profcol, start_sink, burner, tmp_path):
    storage = tmp_path / "queue"
    nowhere = f"127.0.0.1:{free_port()}"
    run = start_profcol(stored_pipeline(storage, nowhere))
    burner.wait_burnt(_BURN_MS)
    run.stop()
    stored = run.balances()[0].stored
    segment = max(stored_files(storage), key=lambda path: path.stat().st_size)
    data = bytearray(segment.read_bytes())
    # In what a request says: of one whose head is damaged nobody knows how many samples it had.
    data[data.index(b"thread.name", len(data) // 2)] ^= 0xFF
    segment.write_bytes(data)

    sink = start_sink()
    balance = send_rest(start_profcol, storage, sink)
    sink.stop()
    assert 0 < balance.causes["storage_damaged"] < stored
    assert balance.exported == len(otlp_file.read(sink.out))
    assert balance.taken - balance.filtered >= stored


@contextlib.contextmanager
def small_disk(path, size):
    path.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", path], check=True)
    try:
        yield path
    finally:
        subprocess.run(["umount", "--lazy", path], check=True)


@pytest.mark.sanitized
def test_a_full_disk_refuses_counts_and_recovers(
    start_profcol, start_sink, burner, tmp_path
):
    address = f"127.0.0.1:{free_port()}"
    with small_disk(tmp_path / "disk", "64k") as disk:
        storage = disk / "queue"
        others = pprof_in(tmp_path / "pprof")
        configuration = stored_pipeline(storage, address, others, **_MANY_RECORDS)
        # Of a machine that is busy otherwise there is more than this program can take.
        sampled = configuration["receivers"]["profiling"]
        sampled["select"] = {"include": [{"pid": burner.pid}]}
        # The last batch makes some hundred requests, one by one in the receiver's thread.
        configuration["service"]["shutdown_timeout"] = "60s"
        run = start_profcol(configuration)
        run.wait_logged("Rejecting data")
        books = balanced_books(run)["otlp_grpc/stored"]
        assert books.sent == 0 and books.queued > 0
        assert books.dropped.keys() == {"queue_full"} and books.dropped["queue_full"] > 0
        sink = start_sink(address=address)
        wait_until(lambda: received(sink), "samples at the sink")
        run.wait_logged("working again")
        # On a busy machine more may be sampled than the two of them pass on. The file that the next
        # request would go to stays.
        with burner.paused():
            wait_until(
                lambda: not balanced_books(run)["otlp_grpc/stored"].queued, "an empty queue"
            )
        before = received(sink)
        wait_until(lambda: received(sink) > before, "samples after the recovery")
        run.stop()
        sink.stop()
    balance = run.balances_by_exporter()["otlp_grpc/stored"]
    assert set(balance.dropped) == {"queue_full"}
    count = read_profile(tmp_path / "pprof").count
    assert balance.exported + balance.stored + balance.dropped["queue_full"] == count
    assert balance.exported == len(otlp_file.read(sink.out)) == len(otlp_file.identities(sink.out))
    assert len([line for line in run.log.splitlines() if "Rejecting data" in line]) == 1
    assert "no space left on device" in run.log.lower()
