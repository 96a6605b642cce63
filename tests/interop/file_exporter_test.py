# SPDX-License-Identifier: Apache-2.0
"""The files of the exporter `file`, in the hands of others: protobuf read by `inspect`, JSON by the
Collector. Both say the same of the same samples.
"""
import json
import struct
import urllib.request

import pytest

from collectors import inspect_text
from profcol_run import pipeline


@pytest.fixture(scope="module")
def written(start_profcol, burner, new_directory, peer):
    """(path of protobuf, path of JSON, run): the same batches, in both forms."""
    peer("inspect")
    directory = new_directory()
    proto, lines = directory / "out.proto", directory / "out.json"
    # In order, so that the files can be compared.
    queue = {"num_consumers": 1}
    run = start_profcol(
        pipeline(
            receiver={"select": {"include": [{"comm": {"values": ["burn"]}}]}},
            exporters={
                "file/proto": {"path": str(proto), "format": "proto", "sending_queue": queue},
                "file/json": {"path": str(lines), "sending_queue": queue},
            }
        )
    )
    burner.wait_burnt(1500)
    run.stop()
    return proto, lines, run


def bodies(path):
    data = path.read_bytes()
    at = 0
    while at < len(data):
        (length,) = struct.unpack_from(">I", data, at)
        assert at + 4 + length <= len(data), "the last record is cut short"
        yield data[at + 4 : at + 4 + length]
        at += 4 + length


def test_each_request_is_behind_its_length(written):
    proto, _, run = written
    assert len(list(bodies(proto))) >= 2
    balance = run.balances_by_exporter()["file/proto"]
    assert balance.dropped == {}
    assert len(inspect_text(proto)) == balance.exported


def test_json_keeps_the_rules_of_otlp(written):
    proto, lines, _ = written
    requests = [json.loads(line) for line in lines.read_text().splitlines()]
    assert len(requests) == len(list(bodies(proto)))
    for request in requests:
        assert set(request) == {"resourceProfiles", "dictionary"}
        assert request["dictionary"]["stringTable"][0] == ""
        for resource in request["resourceProfiles"]:
            for profile in resource["scopeProfiles"][0]["profiles"]:
                assert int(profile["timeUnixNano"]) > 10**18
                assert isinstance(profile["timeUnixNano"], str)
                for sample in profile["samples"]:
                    assert all(isinstance(t, str) for t in sample["timestampsUnixNano"])
                    assert isinstance(sample["stackIndex"], int)


def test_the_collector_reads_the_json(written, start_gateway, peer):
    peer("gateway")
    proto, lines, _ = written
    gateway = start_gateway()
    for line in lines.read_bytes().splitlines():
        request = urllib.request.Request(
            f"http://{gateway.http}/v1development/profiles",
            data=line,
            headers={"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request) as answer:
            assert answer.status == 200
    gateway.stop()
    assert inspect_text(gateway.file) == inspect_text(proto)


def test_compressed_and_appended(start_profcol, burner, new_directory):
    path = new_directory() / "out.zst"
    for _ in range(2):
        exporter = {"path": str(path), "append": True, "compression": "zstd", "format": "proto"}
        run = start_profcol(pipeline(exporters={"file": exporter}))
        burner.wait_burnt(300)
        run.stop()
    frames = list(bodies(path))
    assert len(frames) >= 2
    assert all(frame.startswith(b"\x28\xb5\x2f\xfd") for frame in frames)
