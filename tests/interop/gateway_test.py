# SPDX-License-Identifier: Apache-2.0
"""profcol sends to a real Collector 0.159 and to a receiver of 0.164, over everything that OTLP
over gRPC runs on. What arrives equals what profcol's own pprof exporter wrote of the same batches.
"""
import collections
import re
import shutil
import subprocess

import pytest

import otlp_file
from otlp_exporter import otlp_to
from profcol_run import pipeline, read_profile
from target_run import Target
from waiting import wait_until

_BURN_MS = 2000  # several batches


class Chain:
    """A finished run of profcol: its pprof file, and the files of its peers by exporter."""

    def __init__(self, profile, run, files, sinks):
        self.profile, self.files, self.sinks = profile, files, sinks
        self.balances = run.balances_by_exporter()


class _Peers:
    """Exporters with the file that the peer of each writes."""

    def __init__(self, start_sink, start_gateway):
        self._start_sink, self._start_gateway = start_sink, start_gateway
        self.exporters, self.files, self.sinks, self._all = {}, {}, {}, []

    def _add(self, name, peer, file, options):
        self.exporters[f"otlp_grpc/{name}"] = otlp_to(peer.grpc, **options)
        self.files[name] = file
        self._all.append(peer)

    def gateway(self, name, grpc=None, **options):
        gateway = self._start_gateway(grpc=grpc)
        self._add(name, gateway, gateway.file, options)

    def sink(self, name, flags=None, **options):
        sink = self.sinks[name] = self._start_sink(**(flags or {}))
        self._add(name, sink, sink.out, options)

    def run(self, start_profcol, burner, directory, receiver=None):
        exporters = {"pprof": {"directory": str(directory), "interval": "1h"}} | self.exporters
        run = start_profcol(pipeline(receiver=receiver, exporters=exporters))
        burner.wait_burnt(_BURN_MS)
        # At the end a request has one attempt only.
        if retried := self.sinks.get("retried"):
            wait_until(lambda: len(retried.requests()) > 2, "the end of what is answered badly")
        run.stop()
        for peer in self._all:
            peer.stop()
        return Chain(read_profile(directory), run, self.files, self.sinks)


@pytest.fixture(scope="module")
def peers(start_sink, start_gateway):
    return lambda: _Peers(start_sink, start_gateway)


@pytest.fixture(scope="module")
def chain(peers, start_profcol, burner, authority, new_directory):
    """Every transport at once, so that all peers get the same batches."""
    server = authority.issue("localhost")
    client = authority.issue("client")
    trust = {"ca_file": str(authority.path)}
    socket = new_directory() / "gateway.sock"

    all_peers = peers()
    all_peers.gateway("plain")
    all_peers.gateway("uncompressed", compression="none")
    all_peers.gateway("tls", {"tls": server.files}, tls=trust)
    mutual = server.files | {"client_ca_file": str(authority.path)}
    all_peers.gateway("mtls", {"tls": mutual}, tls=trust | client.files)
    unix = {"endpoint": str(socket), "transport": "unix"}
    all_peers.gateway("unix", unix, endpoint=f"unix://{socket}")
    all_peers.sink("new")
    all_peers.sink("new_uncompressed", compression="none")
    all_peers.sink("references", attribute_references=True)
    all_peers.sink("new_tls", {"cert": server.cert, "key": server.key}, tls=trust)
    all_peers.sink("split", max_request_bytes="4KiB")
    # More than a run takes, whatever else the machine does.
    joined = {"flush_timeout": "10m", "min_size": 32 << 20, "sizer": "bytes"}
    all_peers.gateway("joined", sending_queue={"batch": joined})
    all_peers.sink("retried")
    all_peers.sinks["retried"].answer("unavailable*2,ok")
    return all_peers.run(start_profcol, burner, new_directory())


GATEWAYS = ["plain", "uncompressed", "tls", "mtls", "unix", "joined"]
SINKS = ["new", "new_uncompressed", "new_tls", "references", "split", "retried"]


@pytest.mark.sanitized
@pytest.mark.parametrize("name", GATEWAYS + SINKS)
def test_what_arrives_is_what_the_pprof_file_says(chain, name):
    observations = otlp_file.read(chain.files[name])
    assert otlp_file.count_samples(seen.sample for seen in observations) == (
        otlp_file.count_samples(chain.profile.samples)
    )
    assert len(observations) == chain.profile.count
    assert chain.balances[f"otlp_grpc/{name}"].exported == chain.profile.count
    assert chain.balances[f"otlp_grpc/{name}"].dropped == {}


@pytest.mark.parametrize("name", GATEWAYS + SINKS)
def test_no_observation_arrives_twice(chain, name):
    assert set(otlp_file.identities(chain.files[name]).values()) == {1}


@pytest.mark.parametrize("name", GATEWAYS + SINKS)
def test_what_arrives_keeps_the_rules(chain, name, assert_conforms):
    assert_conforms(chain.files[name])


@pytest.mark.parametrize("name", ["plain", "new", "references"])
def test_every_mapping_has_a_build_id(chain, name):
    bodies = list(otlp_file.read_bodies(chain.files[name]))
    mappings = {one.file: one for body in bodies for one in otlp_file.mappings(body)}
    assert mappings and not [one for one in mappings.values() if not one.build_id]


def test_resources_say_which_process(chain, burner):
    resources = {
        seen.resource["process.pid"]: seen.resource
        for seen in otlp_file.read(chain.files["plain"])
        if seen.resource.get("process.pid")
    }
    resource = resources[burner.pid]
    assert resource["process.executable.name"] == "burn"
    assert resource["process.executable.path"].endswith("/burn")
    assert re.fullmatch(r"20\d\d-\d\d-\d\dT[\d:.]+Z", resource["process.creation.time"])


@pytest.mark.parametrize(
    "name, compression", [("new", "gzip"), ("new_uncompressed", ""), ("split", "gzip")]
)
def test_requests_are_as_the_options_say(chain, name, compression):
    for request in chain.sinks[name].requests():
        assert request["compression"] == compression
        assert request["user_agent"].startswith("profcol/")
        assert request["metadata"]["otlp-profiles-development-version"] == ["1"]


def test_requests_are_below_their_limit(chain):
    """But for one observation: a stack of hundreds of frames has more bytes of names by itself."""
    requests = chain.sinks["split"].requests()
    larger = [request for request in requests if request["raw_bytes"] > 4096]
    assert {request["observations"] for request in larger} <= {1}
    assert max(request["observations"] for request in requests) > 1
    assert len(requests) > len(chain.sinks["new"].requests())


def test_joined_batches_are_one_request(chain):
    assert len(list(otlp_file.read_bodies(chain.files["joined"]))) == 1
    assert len(list(otlp_file.read_bodies(chain.files["plain"]))) > 1


def test_counts_without_timestamps_arrive_too(
    peers, start_profcol, burner, new_directory, assert_conforms
):
    all_peers = peers()
    all_peers.gateway("plain")
    all_peers.sink("new")
    chain = all_peers.run(start_profcol, burner, new_directory(), {"timestamps": False})
    for file in chain.files.values():
        observations = otlp_file.read(file)
        assert {seen.time_ns for seen in observations} == {0}
        assert otlp_file.count_samples(seen.sample for seen in observations) == (
            otlp_file.count_samples(chain.profile.samples)
        )
        assert_conforms(file)


@pytest.fixture
def spinner(source, new_directory):
    """A Go program that burns CPU."""
    if not shutil.which("go"):
        pytest.skip("go is not installed")
    path = new_directory() / "spin"
    subprocess.run(["go", "build", "-o", path, source / "tests/targets/spin.go"], check=True)
    target = Target(path)
    target.build_id = subprocess.check_output(["go", "tool", "buildid", path], text=True).strip()
    yield target
    target.kill()


def _frame_types(observations):
    """The types of all frames, by the name of their file and by their own."""
    types = collections.defaultdict(lambda: collections.defaultdict(set))
    for seen in observations:
        for frame, kind in zip(seen.sample.frames, seen.types):
            types[frame.file.rpartition("/")[2]][frame.name].add(kind)
    return types


@pytest.mark.usefixtures("burner")
def test_frames_say_what_kind_of_code_they_are(peers, start_profcol, spinner, new_directory):
    all_peers = peers()
    all_peers.gateway("plain")
    all_peers.sink("new")
    chain = all_peers.run(start_profcol, spinner, new_directory())
    for file in chain.files.values():
        types = _frame_types(otlp_file.read(file))
        assert {"main.spinLeaf", "main.main"} <= types["spin"].keys()
        assert {"burn_leaf", "main"} <= types["burn"].keys()
        for name, kind in (("spin", "go"), ("burn", "native"), ("vmlinux", "kernel")):
            # On a busy machine the first frames of a file may come before it has been read.
            types[name].pop("", None)
            assert types[name] == dict.fromkeys(types[name], {kind})
        # Before the file has been read, its content alone says which build it is.
        ids = [
            one.attributes.get("process.executable.build_id.go")
            for body in otlp_file.read_bodies(file)
            for one in otlp_file.mappings(body)
            if one.file.endswith("/spin")
        ]
        assert set(ids) - {None} == {spinner.build_id}
