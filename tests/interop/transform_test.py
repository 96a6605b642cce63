# SPDX-License-Identifier: Apache-2.0
"""The same statements of `transform` on the same request, by profcol and by a Collector 0.159: what
resources, scopes and profiles say afterwards is the same.

All run at once, as in statements_test.py: each list of statements has a pipeline of its own, which
marks what it passes on. Samples are out of reach for the Collector's processor.
"""
import collections

import pytest

import otlp_file
import otlp_request
from big_request import Feeder
from free_port import free_port
from statements_test import MARK, REQUEST, ROW, ROWS, start_collector

_R = "resource.attributes"

# One list of statements each.
STATEMENTS = [
    [f'set({_R}["new"], "text")'],
    [f'set({_R}["new"], 7)'],
    [f'set({_R}["new"], 1.5)'],
    [f'set({_R}["new"], true)'],
    [f'set({_R}["new"], 0x0102)'],
    [f'set({_R}["new"], [1, "a", true])'],
    [f'set({_R}["new"], {{"a": 1, "b": {{"c": "d"}}}})'],
    [f'set({_R}["new"], nil)'],
    [f'set({_R}["new"], {_R}["missing"])'],
    [f'set({_R}["service.name"], 9)'],
    [f'set({_R}["copy"], {_R}["map"])'],
    [f'set({_R}["copy"], {_R}["tags"])'],
    [f'set({_R}["copy"], {_R}["bytes"])'],
    [f'set({_R}["map"]["k"], "w")'],
    [f'set({_R}["map"]["new"]["deep"], 1)'],
    [f'set({_R}["tags"][0], "z")'],
    [f'set({_R}["tags"][9], "z")'],
    [f'set({_R}["list"][2], "z")'],
    [f'set({_R}["digits"]["k"], 1)'],
    [f'set({_R}, {{"only": 1}})'],
    [f'set({_R}["sum"], {_R}["process.pid"] + 1)'],
    [f'set({_R}["bad"], 1 / 0)', f'set({_R}["good"], 1)'],
    ['set(resource.schema_url, "https://example.com/2")'],
    ["set(resource.dropped_attributes_count, 5)"],
    [f'set({_R}["new"], 1) where {_R}["rid"] == "shop"'],
    [f'set({_R}["new"], 1) where IsMatch({_R}["service.name"], "^C") or {_R}["rid"] == "bare"'],
    [f'set({_R}["new"], 1) where not ({_R}["load"] > 1)'],
    [f'set({_R}["new"], 1) where {_R}["process.pid"] / 0 == 1'],
    [f'delete_key({_R}, "service.name")'],
    [f'delete_key({_R}, "missing")'],
    [f'delete_key({_R}["map"], "k")'],
    [f'delete_key({_R}["missing"], "k")'],
    [f'delete_key({_R}, {_R}["digits"])'],
    [f'delete_matching_keys({_R}, "^(load|digits)$")'],
    [f'delete_matching_keys({_R}, "a")'],
    [f'keep_keys({_R}, ["rid", "load"])'],
    [f'keep_keys({_R}, [])'],
    [f'keep_keys({_R}["map"], ["n"])'],
    [f'keep_matching_keys({_R}, "^.i")'],
    [f'limit({_R}, 3, [])'],
    [f'limit({_R}, 3, ["command", "empty"])'],
    [f'limit({_R}, 100, [])'],
    [f'truncate_all({_R}, 3)'],
    [f'truncate_all({_R}, 0)'],
    [f'truncate_all({_R}, 5, true, "..")'],
    [f'stringify_all({_R})'],
    [f'replace_pattern({_R}["command"], "--user=\\\\w+", "--user=***")'],
    [f'replace_pattern({_R}["command"], "(\\\\w+)=(\\\\w+)", "$$2=$$1")'],
    [f'replace_pattern({_R}["command"], "(?P<who>eve)", "[$${{who}}]")'],
    [f'replace_pattern({_R}["command"], "x*", "-")'],
    [f'replace_pattern({_R}["command"], "$", "!")'],
    [f'replace_pattern({_R}["command"], "n", "$$9$$$$")'],
    [f'replace_pattern({_R}["command"], "(eve)", "$$1", ToUpperCase, "<%s>")'],
    [f'replace_pattern({_R}["process.pid"], "7", "8")'],
    [f'replace_pattern({_R}["missing"], "7", "8")'],
    [f'replace_match({_R}["command"], "run*", "hidden")'],
    [f'replace_match({_R}["command"], "run", "hidden")'],
    [f'replace_match({_R}["service.name"], "sh?p", "mart")'],
    [f'replace_match({_R}["service.name"], "{{shop,Cron*}}", "any")'],
    [f'replace_match({_R}["service.name"], "[a-z]hop", "class")'],
    [f'replace_match({_R}["service.name"], "[!a-r]hop", "class")'],
    [f'replace_all_patterns({_R}, "value", "o", "0")'],
    [f'replace_all_patterns({_R}, "value", "(o)(.)", "$$2$$1")'],
    [f'replace_all_patterns({_R}, "key", "^(.)", "x.$$1")'],
    [f'replace_all_patterns({_R}, "key", "^(?:load|tiny)$", "number")'],
    [f'replace_all_matches({_R}, "*o*", "O")'],
    [f'replace_all_matches({_R}, "4?", "number")'],
    [f'merge_maps({_R}, {{"load": "new", "other": 1}}, "insert")'],
    [f'merge_maps({_R}, {{"load": "new", "other": 1}}, "update")'],
    [f'merge_maps({_R}, {{"load": "new", "other": 1}}, "upsert")'],
    [f'merge_maps({_R}, {_R}["map"], "upsert")'],
    [f'merge_maps({_R}, {_R}["digits"], "upsert")'],
    [f'flatten({_R})'],
    [f'flatten({_R}, "p")'],
    [f'set({_R}["map"]["deep"]["er"], "x")', f'flatten({_R}, depth=1)'],
    [f'set({_R}["map.k"], "first")', f'flatten({_R}, resolve_conflicts=true)'],
    [f'append({_R}["tags"], "more")'],
    [f'append({_R}["service.name"], values=["x", 1])'],
    [f'append({_R}["missing"], "x")'],
    [f'set({_R}["c"], Concat([{_R}["rid"], "x"], "-"))'],
    [f'set({_R}["c"], Split({_R}["command"], " ")[1])'],
    [f'set({_R}["c"], ExtractPatterns({_R}["command"], "user=(?P<user>\\\\w+)"))'],
    [f'merge_maps({_R}, ExtractPatterns({_R}["command"], "(?P<verb>\\\\w+) "), "upsert")'],
    [f'set({_R}["c"], SHA1({_R}["rid"]))', f'set({_R}["d"], FNV({_R}["rid"]))'],
    [f'set({_R}["c"], Trim("  x "))', f'set({_R}["d"], TrimPrefix({_R}["command"], "run "))'],
    [f'set({_R}["c"], IsMap({_R}["map"]))', f'set({_R}["d"], IsList({_R}["tags"]))'],
    [f'set({_R}["c"], IsEmpty({_R}["empty"]))', f'set({_R}["d"], Bool({_R}["process.pid"]))'],
    [f'set({_R}["c"], Coalesce([{_R}["missing"], {_R}["rid"]]))'],
    ['set(scope.name, Concat([scope.name, scope.version], "@"))'],
    ['set(scope.version, "9")', "set(scope.dropped_attributes_count, 1)"],
    ['set(scope.attributes["lang"], ToUpperCase(scope.attributes["lang"]))'],
    ['delete_key(scope.attributes, "level")'],
    ['set(profile.attributes["tag"], "profile#23")'],
    ['set(profile.attributes["kind"], 5) where profile.attributes["kind"] == "cpu"'],
    ['keep_keys(profile.attributes, ["weight"])'],
    ['set(profile.attributes, {"only": "x"})'],
    ["set(profile.period, profile.period * 2)"],
    ["set(profile.duration_unix_nano, 3)"],
    ["set(profile.duration_unix_nano, -3)"],
    ["set(profile.time_unix_nano, profile.time_unix_nano - 1) where profile.duration > 1"],
    ['set(profile.period_type.type, "wall")', 'set(profile.period_type.unit, "ms")'],
    ['set(profile.profile_id.string, "ffffffffffffffffffffffffffffffff")'],
    ['set(profile.profile_id.string, "xyz")'],
    ["set(profile.dropped_attributes_count, 8)"],
    [
        'set(profile.cache["n"], resource.attributes["rid"])',
        'set(profile.attributes["n"], profile.cache["n"])',
    ],
    ['set(resource.attributes["last"], profile.attributes["kind"])'],
]

# Groups with a context, conditions and a mode of their own.
GROUPS = [
    # The Collector takes such names for enums where it has to find the context out.
    {
        "context": "resource",
        "statements": [
            'replace_pattern(attributes["command"], "eve", "$$0", SHA256)',
            'replace_match(attributes["service.name"], "*", "name", MD5)',
        ],
    },
    {"context": "resource", "statements": ['set(attributes["x"], 1)']},
    {
        "context": "resource",
        "conditions": ['attributes["rid"] == "shop"', 'attributes["rid"] == "bare"'],
        "statements": ['set(attributes["x"], 1)', 'set(attributes["y"], attributes["x"])'],
    },
    {
        "context": "scope",
        "statements": ['set(cache["n"], name)', 'set(attributes["n"], cache["n"])'],
    },
    {
        "context": "profile",
        "conditions": ["duration_unix_nano > 5000000000"],
        "statements": ['set(attributes["long"], true)'],
    },
    {
        "conditions": ['profile.attributes["kind"] == "cpu"'],
        "statements": ['set(resource.attributes["has_cpu"], true)'],
    },
]

CASES = [*STATEMENTS, *([group] for group in GROUPS)]

def _configuration(receivers, exporters):
    processors, pipelines = {}, {}
    for number, statements in enumerate(CASES):
        options = {"error_mode": "ignore", "profile_statements": statements}
        mark = {"key": MARK, "value": number, "action": "insert"}
        processors[f"transform/{number}"] = options
        processors[f"resource/mark{number}"] = {"attributes": [mark]}
        pipelines[f"profiles/{number}"] = {
            "receivers": list(receivers),
            "processors": [f"transform/{number}", f"resource/mark{number}"],
            "exporters": list(exporters),
        }
    return {
        "receivers": receivers,
        "processors": processors,
        "exporters": exporters,
        "service": {"pipelines": pipelines},
    }


def _results(path):
    """By the number of the case and the rows of its samples, what a profile and its parents say."""
    results = collections.defaultdict(dict)
    for body in otlp_file.read_bodies(path):
        for resource, scope, profile, samples in otlp_file.profiles(body):
            attributes = dict(resource["attributes"])
            number = attributes.pop(MARK)
            rows = tuple(sample[ROW] for sample in samples)
            results[number][rows] = resource | {"attributes": attributes}, scope, profile
    return results


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
    assert sum(map(len, STATEMENTS)) >= 80


@pytest.mark.parametrize("number", range(len(CASES)))
def test_statements_do_the_same(ours, theirs, number):
    assert set(theirs[number]) == set(ours[number])
    assert {row for rows in ours[number] for row in rows} == ROWS
    for rows in theirs[number]:
        assert ours[number][rows] == theirs[number][rows], CASES[number]


def test_the_statements_change_something(theirs):
    """That is, most of them do."""
    untouched = [number for number in theirs if theirs[number] == theirs[7]]  # sets nil
    assert len(CASES) - len(untouched) >= 80
