# SPDX-License-Identifier: Apache-2.0
"""profcol behind profcol: what the first has sampled, the second has, sample by sample."""
import collections
import contextlib

import pytest

from collectors import Gateway
from free_port import free_port
from profcol_run import pipeline, read_profile

PATIENCE = "1m"  # at the end everybody is there who is sent to, and the machine may be busy


def _gateway(socket, directory):
    """A configuration: OTLP from `socket` into one pprof file in `directory`."""
    return {
        "receivers": {
            "otlp": {"protocols": {"grpc": {"endpoint": str(socket), "transport": "unix"}}}
        },
        "exporters": {"pprof": {"directory": str(directory), "interval": "1h"}},
        "service": {
            "shutdown_timeout": PATIENCE,
            "pipelines": {"profiles": {"receivers": ["otlp"], "exporters": ["pprof"]}},
        },
    }


def _profiler(socket, directory, **sending):
    """The profiler into a pprof file of its own, and over OTLP to `socket`."""
    exporters = {
        "pprof": {"directory": str(directory), "interval": "1h"},
        "otlp_grpc": _sending(f"unix://{socket}") | sending,
    }
    return _patient(exporters)


def _sending(endpoint):
    """What is not answered in time is sent again, and arrives twice."""
    return {"endpoint": endpoint, "tls": {"insecure": True}, "timeout": PATIENCE}


def _patient(exporters):
    configuration = pipeline(exporters=exporters)
    configuration["service"]["shutdown_timeout"] = PATIENCE
    return configuration


def _observations(profile):
    """Samples as a multiset: their order in the file is nobody's promise."""
    observed = collections.Counter()
    for sample in profile.samples:
        observed[sample.frames, tuple(sorted(sample.labels.items()))] += sample.count
    return observed


def _assert_same(tmp_path, profiler, gateway):
    sent, got = read_profile(tmp_path / "sent"), read_profile(tmp_path / "got")
    assert _observations(got) == _observations(sent)
    assert got.sample_types == sent.sample_types
    assert got.period == sent.period
    for balance in profiler.balances():
        assert balance.exported == sent.count
        # What a busy machine had no room for in the kernel has not been sent.
        assert balance.lost_on_the_way == 0
    assert gateway.balance().taken == gateway.balance().exported == sent.count


@pytest.mark.sanitized
def test_the_second_has_what_the_first_has(start_profcol, burner, tmp_path):
    gateway = start_profcol(_gateway(tmp_path / "socket", tmp_path / "got")).wait_ready()
    profiler = start_profcol(_profiler(tmp_path / "socket", tmp_path / "sent")).wait_ready()
    burner.wait_burnt(2000)
    profiler.stop()
    gateway.stop()
    _assert_same(tmp_path, profiler, gateway)
    assert not (tmp_path / "socket").exists()


@pytest.mark.parametrize(
    "compression", ["none", pytest.param("gzip", marks=pytest.mark.sanitized), "zstd"]
)
def test_over_http_the_second_has_what_the_first_has(start_profcol, burner, tmp_path, compression):
    port = free_port()
    second = _gateway(tmp_path / "socket", tmp_path / "got")
    second["receivers"]["otlp"] = {"protocols": {"http": {"endpoint": f"127.0.0.1:{port}"}}}
    gateway = start_profcol(second).wait_ready()
    exporters = {
        "pprof": {"directory": str(tmp_path / "sent"), "interval": "1h"},
        "otlp_http": {
            "endpoint": f"http://127.0.0.1:{port}",
            "compression": compression,
            "timeout": PATIENCE,
        },
    }
    profiler = start_profcol(_patient(exporters)).wait_ready()
    burner.wait_burnt(2000)
    profiler.stop()
    gateway.stop()
    _assert_same(tmp_path, profiler, gateway)


def test_a_gateway_that_comes_later_has_all(start_profcol, burner, tmp_path):
    profiler = start_profcol(
        _profiler(
            tmp_path / "socket",
            tmp_path / "sent",
            retry_on_failure={"initial_interval": "100ms", "max_interval": "200ms"},
        )
    ).wait_ready()
    burner.wait_burnt(1500)
    gateway = start_profcol(_gateway(tmp_path / "socket", tmp_path / "got")).wait_ready()
    profiler.wait_logged("working again")
    profiler.stop()
    gateway.stop()
    _assert_same(tmp_path, profiler, gateway)


def test_a_full_gateway_refuses_and_nothing_is_lost_unsaid(start_profcol, burner, tmp_path):
    """The gateway's peer is absent and its queue small: who sends to it keeps what it refuses."""
    retry = {"initial_interval": "100ms", "max_interval": "200ms"}
    second = _gateway(tmp_path / "socket", tmp_path / "got")
    second["exporters"] = {
        "otlp_grpc": {
            **_sending(f"unix://{tmp_path}/third"),
            "retry_on_failure": retry,
            "sending_queue": {"queue_size": 1, "sizer": "requests"},
        }
    }
    second["service"]["pipelines"]["profiles"]["exporters"] = ["otlp_grpc"]
    gateway = start_profcol(second).wait_ready()
    first = _profiler(tmp_path / "socket", tmp_path / "sent", retry_on_failure=retry)
    first["service"]["pipelines"]["profiles"]["exporters"] = ["otlp_grpc"]
    profiler = start_profcol(first).wait_ready()
    burner.wait_burnt(2000)
    profiler.wait_logged("sending queue is full")
    third = start_profcol(_gateway(tmp_path / "third", tmp_path / "got")).wait_ready()
    profiler.wait_logged("working again")
    profiler.stop()
    gateway.stop()
    third.stop()
    # What was acknowledged arrived, once; each refusal is in the gateway's books as taken and lost.
    assert profiler.balance().exported == gateway.balance().exported == third.balance().exported
    assert third.balance().exported == read_profile(tmp_path / "got").count > 0
    assert gateway.balance().causes["queue_full"] == gateway.balance().lost


@pytest.fixture
def start_collector(tmp_path, check_capture):
    """start_collector(endpoint, **settings): a Collector that sends to `endpoint`; killed in the
    end. What it got keeps the rules of OTLP profiles.
    """
    with contextlib.ExitStack() as stack:

        def start(endpoint, **settings):
            exporter = _sending(endpoint) | settings
            capture = tmp_path / "capture"
            file = {"path": str(capture), "format": "proto"}
            collector = Gateway(tmp_path, {"otlp": exporter, "file": file})
            stack.callback(check_capture, capture)
            stack.callback(collector.kill)
            return collector

        yield start


@pytest.mark.parametrize("compression", ["gzip", "zstd", "none"])
def test_a_collector_passes_them_on_to_us(
    start_profcol, start_collector, peer, burner, tmp_path, compression
):
    """profcol, a Collector of today, profcol: nothing changes on the way."""
    peer("gateway")
    third = start_profcol(_gateway(tmp_path / "socket", tmp_path / "got")).wait_ready()
    second = start_collector(f"unix://{tmp_path}/socket", compression=compression)
    exporters = {
        "pprof": {"directory": str(tmp_path / "sent"), "interval": "1h"},
        "otlp_grpc": _sending(second.grpc),
    }
    first = start_profcol(_patient(exporters)).wait_ready()
    burner.wait_burnt(1000)
    first.stop()
    second.stop()
    third.stop()
    _assert_same(tmp_path, first, third)


def test_a_collector_that_sends_snappy_is_told_so(
    start_profcol, start_collector, peer, burner, tmp_path
):
    peer("gateway")
    third = start_profcol(_gateway(tmp_path / "socket", tmp_path / "got")).wait_ready()
    second = start_collector(f"unix://{tmp_path}/socket", compression="snappy")
    exporters = {"otlp_grpc": {"endpoint": second.grpc, "tls": {"insecure": True}}}
    first = start_profcol(pipeline(exporters=exporters)).wait_ready()
    burner.wait_burnt(500)
    first.stop()
    second.stop()
    assert "use gzip, zstd, deflate or none" in second.log.read_text()
    assert third.stop().balance().taken == 0
