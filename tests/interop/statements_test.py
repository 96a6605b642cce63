# SPDX-License-Identifier: Apache-2.0
"""The same conditions and the same actions on the same request, by profcol and by a Collector
0.159: what is left, and what has become of it, is the same.

All statements run at once: each has a pipeline of its own, which marks what it passes on.
"""
import collections
import http.client
import json
import os
import subprocess

import pytest

import otlp_file
import otlp_request
from big_request import Feeder
from collectors import START_BOUND_S, is_asleep
from free_port import free_port
from peer_paths import peer_path
from waiting import wait_until

MARK = "test.case"
ROW = "row"  # tells the samples of the request apart

SECOND = 1_000_000_000


def _profile(rows, **more):
    base = {"time": 100 * SECOND, "duration": 5 * SECOND, "period": 1000}
    return base | {"samples": [{ROW: row, "thread.name": f"t{row}"} for row in rows]} | more


REQUEST = [
    {
        "attributes": {
            "rid": "shop",
            "service.name": "shop",
            "k8s.namespace.name": "prod",
            "process.pid": 4711,
            "load": 0.5,
            "tiny": 1.5e-7,
            "huge": 1e21,
            "whole": 3.0,
            "privileged": True,
            "digits": "42",
            "fraction": "4.25",
            "empty": "",
            "command": "run --user=eve x",
            "tags": ["a", 1, True],
            "map": {"k": "v", "n": 2},
            "bytes": b"\x00\x01\xfe",
            "no bytes": b"",
        },
        "schema_url": "https://example.com/1",
        "scopes": [
            {
                "name": "profiler",
                "version": "1.0",
                "attributes": {"lang": "c", "level": 3},
                "profiles": [
                    _profile([1, 2], attributes={"kind": "cpu", "weight": 2, "ratio": 0.25}),
                    _profile([3], duration=10 * SECOND, period=0, id=bytes(range(16))),
                ],
            },
            {
                "name": "other",
                "version": "2.0-beta",
                "dropped": 7,
                "profiles": [_profile([4], dropped=2, format="pprof", payload=b"\x01\x02")],
            },
        ],
    },
    {
        "attributes": {
            "rid": "cron",
            "service.name": "Cron Job",
            "k8s.namespace.name": "kube-system",
            "process.pid": -1,
            "load": 2.0,
            "privileged": False,
            "digits": "0x10",
        },
        "dropped": 3,
        "scopes": [
            {
                "name": "profiler",
                "profiles": [_profile([5], time=200 * SECOND, attributes={"kind": "wall"})],
            }
        ],
    },
    {
        "attributes": {"rid": "bare"},
        "scopes": [{"profiles": [_profile([6], duration=1)]}],
    },
]

ROWS = {1, 2, 3, 4, 5, 6}

CONDITIONS = [
    'resource.attributes["service.name"] == "shop"',
    'resource.attributes["service.name"] != "shop"',
    'resource.attributes["missing"] == nil',
    'resource.attributes["service.name"] != nil',
    'nil == resource.attributes["service.name"]',
    'resource.attributes["empty"] == ""',
    'resource.attributes["process.pid"] == 4711',
    'resource.attributes["process.pid"] == "4711"',
    'resource.attributes["process.pid"] > 0',
    'resource.attributes["process.pid"] <= -1',
    'resource.attributes["process.pid"] >= 4711.0',
    'resource.attributes["process.pid"] < 4711.5',
    'resource.attributes["load"] == 0.5',
    'resource.attributes["load"] == 2',
    'resource.attributes["load"] > 1',
    'resource.attributes["whole"] == 3',
    'resource.attributes["privileged"] == true',
    'resource.attributes["privileged"] == false',
    'resource.attributes["privileged"] != true',
    'resource.attributes["privileged"] > false',
    'resource.attributes["service.name"] > "a"',
    'resource.attributes["service.name"] < "a"',
    'resource.attributes["service.name"] > 1',
    'resource.attributes["map"]["k"] == "v"',
    'resource.attributes["map"]["n"] == 2',
    'resource.attributes["map"]["missing"] == nil',
    'resource.attributes["tags"][0] == "a"',
    'resource.attributes["tags"][1] == 1',
    'resource.attributes["tags"][7] == "a"',
    'resource.attributes["tags"] == ["a", 1, true]',
    'resource.attributes["digits"]["k"] == "v"',
    'resource.dropped_attributes_count == 3',
    'resource.schema_url == "https://example.com/1"',
    'not (resource.attributes["load"] > 1)',
    'not resource.attributes["load"] > 1',
    'true and resource.attributes["load"] != nil',
    'false or resource.attributes["load"] > 1',
    'resource.attributes["load"] > 1 or resource.attributes["rid"] == "bare"',
    'resource.attributes["load"] > 1 and resource.attributes["rid"] == "bare"',
    'resource.attributes["rid"] == "shop" or resource.attributes["rid"] == "cron" and '
    'resource.attributes["load"] == 7',
    '(resource.attributes["rid"] == "shop" or resource.attributes["rid"] == "cron") and '
    'resource.attributes["load"] == 7',
    'not (not (resource.attributes["rid"] == "shop"))',
    'resource.attributes["process.pid"] + 1 == 4712',
    'resource.attributes["process.pid"] * 2 > 9000',
    'resource.attributes["process.pid"] - 711 == 4000',
    'resource.attributes["process.pid"] / 1000 == 4',
    'resource.attributes["load"] * 2.0 == 1.0',
    'resource.attributes["load"] + 1 == 1.5',
    'resource.attributes["process.pid"] / 0 == 1',
    'resource.attributes["process.pid"] + 3 * 4 == 4723',
    '(resource.attributes["process.pid"] + 3) * 4 == 18856',
    '-1 == resource.attributes["process.pid"]',
    'scope.name == "profiler"',
    'scope.version == ""',
    'scope.version != "1.0"',
    'scope.attributes["lang"] == "c"',
    'scope.attributes["level"] >= 3',
    'scope.dropped_attributes_count > 0',
    'scope.name == "profiler" and resource.attributes["rid"] == "cron"',
    'profile.duration_unix_nano > 5000000000',
    'profile.duration_unix_nano == 1',
    'profile.time_unix_nano == 200000000000',
    'profile.period == 0',
    'profile.attributes["kind"] == "cpu"',
    'profile.attributes["kind"] == nil',
    'profile.attributes["weight"] / 2 == 1',
    'profile.attributes["ratio"] < 1',
    'profile.dropped_attributes_count == 2',
    'profile.original_payload_format == "pprof"',
    'profile.original_payload == 0x0102',
    'profile.original_payload == nil',
    'profile.original_payload != nil',
    'resource.attributes["no bytes"] == nil and resource.attributes["rid"] == "shop"',
    'resource.attributes["process.pid"] > 00012 and resource.attributes["process.pid"] < 04713',
    'profile.profile_id.string == "000102030405060708090a0b0c0d0e0f"',
    'profile.attributes["kind"] == "wall" or scope.name == "other" or '
    'resource.attributes["rid"] == "bare"',
    'IsMatch(resource.attributes["service.name"], "^s")',
    'IsMatch(resource.attributes["service.name"], "(?i)JOB$")',
    'IsMatch(resource.attributes["process.pid"], "^47")',
    'IsMatch(resource.attributes["load"], "^0[.]5$")',
    'IsMatch(resource.attributes["privileged"], "true")',
    'IsMatch(resource.attributes["missing"], ".*")',
    'not IsMatch(resource.attributes["rid"], "o")',
    'IsString(resource.attributes["process.pid"])',
    'IsString(resource.attributes["digits"])',
    'Int(resource.attributes["digits"]) == 42',
    'Int(resource.attributes["load"]) == 0',
    'Int(resource.attributes["privileged"]) == 1',
    'Int(resource.attributes["service.name"]) == nil',
    'Double(resource.attributes["fraction"]) == 4.25',
    'Double(resource.attributes["process.pid"]) == 4711.0',
    'String(resource.attributes["process.pid"]) == "4711"',
    'String(resource.attributes["load"]) == "0.5"',
    'String(resource.attributes["whole"]) == "3"',
    'String(resource.attributes["huge"]) == "1e+21"',
    'String(resource.attributes["privileged"]) == "true"',
    'Len(resource.attributes["service.name"]) == 4',
    'Len(resource.attributes["tags"]) == 3',
    'Len(resource.attributes["map"]) == 2',
    'Len(resource.attributes["process.pid"]) == 4',
    'Concat([resource.attributes["rid"], scope.name], "/") == "shop/other"',
    'Concat([resource.attributes["rid"], resource.attributes["process.pid"]], "") == "shop4711"',
    'Substring(resource.attributes["service.name"], 1, 2) == "ho"',
    'Substring(resource.attributes["service.name"], 9, 2) == "ho"',
    'ToLowerCase(resource.attributes["service.name"]) == "cron job"',
    'HasPrefix(resource.attributes["command"], "run ")',
    'HasSuffix(resource.attributes["service.name"], "Job")',
    'Split(resource.attributes["service.name"], " ")[1] == "Job"',
    'Index(resource.attributes["command"], "user") == 6',
    'Index(resource.attributes["command"], "zzz") == -1',
]

# What the two leave where they do not agree, and why.
DIFFERENT = [
    # A list that Split makes equals no list in the Collector, whose types of lists differ.
    (
        'Split(resource.attributes["k8s.namespace.name"], "-") == ["kube", "system"]',
        {1, 2, 3, 4, 6},
        {1, 2, 3, 4, 5, 6},
    ),
]

_TWICE = '(?P<who>[a-z]+) (?P<what>[a-z]+)'

ACTIONS = [
    [{"key": "team", "value": "pay", "action": "insert"}],
    [{"key": "service.name", "value": "x", "action": "insert"}],
    [{"key": "service.name", "value": "x", "action": "update"}],
    [{"key": "service.name", "value": 7, "action": "upsert"}],
    [{"key": "new", "value": 1.5, "action": "upsert"}],
    [{"key": "new", "value": [1, "x", True], "action": "insert"}],
    [{"key": "new", "value": {"a": {"b": 1}}, "action": "insert"}],
    [{"key": "copy", "from_attribute": "process.pid", "action": "insert"}],
    [{"key": "copy", "from_attribute": "tags", "action": "upsert"}],
    [{"key": "load", "from_attribute": "digits", "action": "update"}],
    [{"key": "copy", "from_attribute": "nowhere", "default_value": "none", "action": "insert"}],
    [{"key": "copy", "from_context": "metadata.x", "default_value": 3, "action": "upsert"}],
    [{"key": "process.pid", "action": "delete"}],
    [{"pattern": "^(load|digits)$", "action": "delete"}],
    [{"key": "tags", "pattern": "e", "action": "delete"}],
    [{"key": "service.name", "action": "hash"}],
    [{"key": "process.pid", "action": "hash"}],
    [{"key": "load", "action": "hash"}],
    [{"key": "privileged", "action": "hash"}],
    [{"key": "tags", "action": "hash"}],
    [{"key": "empty", "action": "hash"}],
    [{"key": "digits", "pattern": "digits|fraction", "action": "hash"}],
    [{"key": "command", "pattern": "--user=(?P<user>\\w+)", "action": "extract"}],
    [{"key": "command", "pattern": "(?P<a>r)(?P<none>Z)?", "action": "extract"}],
    [{"key": "service.name", "pattern": "(?i)" + _TWICE, "action": "extract"}],
    [{"key": "process.pid", "pattern": "(?P<digit>.)", "action": "extract"}],
    [{"key": "digits", "converted_type": "int", "action": "convert"}],
    [{"key": "fraction", "converted_type": "int", "action": "convert"}],
    [{"key": "fraction", "converted_type": "double", "action": "convert"}],
    [{"key": "load", "converted_type": "int", "action": "convert"}],
    [{"key": "load", "converted_type": "string", "action": "convert"}],
    [{"key": "tiny", "converted_type": "string", "action": "convert"}],
    [{"key": "huge", "converted_type": "string", "action": "convert"}],
    [{"key": "whole", "converted_type": "string", "action": "convert"}],
    [{"key": "process.pid", "converted_type": "double", "action": "convert"}],
    [{"key": "privileged", "converted_type": "int", "action": "convert"}],
    [{"key": "privileged", "converted_type": "string", "action": "convert"}],
    [{"key": "bytes", "converted_type": "string", "action": "convert"}],
    [{"key": "bytes", "converted_type": "int", "action": "convert"}],
    [
        {"key": "a", "value": "1", "action": "insert"},
        {"key": "a", "converted_type": "int", "action": "convert"},
        {"key": "b", "from_attribute": "a", "action": "insert"},
        {"key": "a", "action": "delete"},
    ],
]

# Statements by the number that marks what they pass on.
STATEMENTS = list(enumerate([*CONDITIONS, *ACTIONS, *(row[0] for row in DIFFERENT)]))
_ACTIONS_END = len(CONDITIONS) + len(ACTIONS)


def _processor(statement):
    """(type, options) of the processor that runs it."""
    if isinstance(statement, str):
        return "filter", {"error_mode": "silent", "profile_conditions": [statement]}
    return "resource", {"attributes": statement}


def _configuration(receivers, exporters):
    """A pipeline for each statement, from all receivers to all exporters."""
    processors, pipelines = {}, {}
    for number, statement in STATEMENTS:
        kind, options = _processor(statement)
        mark = {"key": MARK, "value": number, "action": "insert"}
        processors[f"{kind}/{number}"] = options
        processors[f"resource/mark{number}"] = {"attributes": [mark]}
        pipelines[f"profiles/{number}"] = {
            "receivers": list(receivers),
            "processors": [f"{kind}/{number}", f"resource/mark{number}"],
            "exporters": list(exporters),
        }
    return {
        "receivers": receivers,
        "processors": processors,
        "exporters": exporters,
        "service": {"pipelines": pipelines},
    }


def _results(path):
    """What each statement has let pass: by its number, the attributes of the resource by row."""
    results = collections.defaultdict(dict)
    for seen in otlp_file.read(path):
        resource = dict(seen.resource)
        results[resource.pop(MARK)][seen.sample.labels[ROW]] = resource
    return results


class _Collector:
    """A Collector that runs all statements of a configuration, into `file`."""

    def __init__(self, directory, configure):
        self.file = directory / "file"
        self._http = f"127.0.0.1:{free_port()}"
        receivers = {"otlp": {"protocols": {"http": {"endpoint": self._http}}}}
        exporters = {"file": {"path": str(self.file), "format": "proto"}}
        configuration = configure(receivers, exporters)
        configuration["service"]["telemetry"] = {"metrics": {"level": "none"}}
        path = directory / "collector.yaml"
        path.write_text(json.dumps(configuration))
        self._log = directory / "log"
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [
                    peer_path("gateway"),
                    f"--config={path}",
                    "--feature-gates=service.profilesSupport",
                ],
                stderr=log,
                env=os.environ | {"GOMAXPROCS": "2"},
            )
        wait_until(self._is_ready, "a Collector that is ready")

    def _is_ready(self):
        log = self._log.read_text()
        assert self._process.poll() is None, log
        return "Everything is ready" in log and is_asleep(self._process.pid)

    def send(self, body):
        connection = http.client.HTTPConnection(self._http, timeout=START_BOUND_S)
        headers = {"Content-Type": "application/x-protobuf"}
        connection.request("POST", "/v1development/profiles", body, headers)
        status = connection.getresponse().status
        connection.close()
        return status

    def stop(self):
        self._process.terminate()
        assert self._process.wait(timeout=START_BOUND_S) == 0, self._log.read_text()

    def kill(self):
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()


def start_collector(stack, directory, configure):
    """A Collector with what `configure` makes of its receivers and exporters."""
    collector = _Collector(directory, configure)
    stack.callback(collector.kill)
    return collector


@pytest.fixture(scope="module")
def theirs(peer, stack, new_directory):
    collector = start_collector(stack, new_directory(), _configuration)
    assert collector.send(otlp_request.encode(REQUEST)) == 200
    collector.stop()
    return _results(collector.file)


@pytest.fixture(scope="module")
def ours(start_profcol, start_sink, start_gateway, new_directory):
    sink = start_sink()
    endpoint = f"127.0.0.1:{free_port()}"
    receivers = {"otlp": {"protocols": {"grpc": {"endpoint": endpoint}}}}
    exporters = {"otlp_grpc": {"endpoint": sink.grpc, "tls": {"insecure": True}}}
    run = start_profcol(_configuration(receivers, exporters))
    feeder = Feeder(start_gateway, endpoint)
    assert feeder.send(otlp_request.encode(REQUEST)) == 200
    run.stop()
    sink.stop()
    return _results(sink.out)


def test_there_are_enough_statements():
    assert len(CONDITIONS) >= 60 and len(ACTIONS) >= 20


@pytest.mark.parametrize("number, condition", STATEMENTS[: len(CONDITIONS)])
def test_a_condition_leaves_the_same(ours, theirs, number, condition):
    assert set(ours[number]) == set(theirs[number]), condition
    assert set(theirs[number]) <= ROWS


@pytest.mark.parametrize("number, actions", STATEMENTS[len(CONDITIONS) : _ACTIONS_END])
def test_actions_do_the_same(ours, theirs, number, actions):
    assert set(ours[number]) == set(theirs[number]) == ROWS
    for row in ROWS:
        assert ours[number][row] == theirs[number][row], actions


@pytest.mark.parametrize("place", range(len(DIFFERENT)))
def test_where_they_differ(ours, theirs, place):
    condition, our_rows, their_rows = DIFFERENT[place]
    assert set(ours[_ACTIONS_END + place]) == our_rows, condition
    assert set(theirs[_ACTIONS_END + place]) == their_rows, condition


def test_the_conditions_tell_something(theirs):
    """That is, not all of them everything or nothing."""
    left = [set(theirs[number]) for number in range(len(CONDITIONS))]
    assert sum(0 < len(rows) < len(ROWS) for rows in left) >= 60
