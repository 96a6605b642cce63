# SPDX-License-Identifier: Apache-2.0
"""The processors filter, resource and attributes in a real run: two programs burn, one is kept."""
import collections
import gzip
import json
import os
import shutil
import signal
import subprocess

import pytest

from collectors import Sink
from profcol_run import pipeline, profile_paths, read_profile, with_metrics, with_patience
from target_run import Target
from waiting import BOUND_S, wait_until

CHAIN = ("burn_leaf", "burn_middle", "burn_root")

EX_CONFIG = 78
UNWANTED = f"unwant{os.getpid()}"  # as no program of the tests beside this one is called

DROP_UNWANTED = {
    "profile_conditions": [f'resource.attributes["process.executable.name"] == "{UNWANTED}"']
}


@pytest.fixture
def unwanted(build_target, tmp_path):
    """A program that burns, and is called so as no other text of a run is."""
    path = tmp_path / "somewhere" / UNWANTED
    path.parent.mkdir()
    shutil.copy(build_target("burn"), path)
    target = Target(path)
    yield target
    target.kill()


def _with_processors(configuration, name="profiles", **processors):
    configuration.setdefault("processors", {}).update(processors)
    configuration["service"]["pipelines"][name]["processors"] = list(processors)
    return configuration


def _two_ways(directory, **processors):
    """The profiler into one file as it is, and by the processors into another one."""
    exporters = {
        name: {"directory": str(directory / name.partition("/")[2]), "interval": "1h"}
        for name in ("pprof/all", "pprof/some")
    }
    pipelines = {
        "profiles/all": {"receivers": ["profiling"], "exporters": ["pprof/all"]},
        "profiles/some": {"receivers": ["profiling"], "exporters": ["pprof/some"]},
    }
    configuration = pipeline(exporters=exporters, pipelines=pipelines)
    return _with_processors(configuration, "profiles/some", **processors)


def _burn(run, *targets):
    run.wait_ready()
    for target in targets:
        target.wait_burnt(1000)
    return run.stop()


def _wait_filtered(run):
    """Until the filter has dropped enough to be seen in the books."""
    wait_until(
        lambda: (run.metrics().value("otelcol_processor_filter_profiles_filtered") or 0) >= 20,
        "samples that are dropped",
    )


def _counts(profile, labels=("pid",)):
    counts = collections.Counter()
    for sample in profile.samples:
        key = tuple(sample.labels.get(label) for label in labels)
        counts[key, sample.names] += sample.count
    return counts


def _bytes(directory):
    (path,) = profile_paths(directory)
    return gzip.decompress(path.read_bytes())


@pytest.mark.parametrize(
    "condition",
    [
        pytest.param(DROP_UNWANTED, id="resource"),
        pytest.param(
            {"exclude_attributes": [{"key": "process.executable.name", "values": [UNWANTED]}]},
            id="attributes",
        ),
        pytest.param(
            {"profile_conditions": [f'IsMatch(mapping.filename, "{UNWANTED}$")']},
            id="frames",
            marks=pytest.mark.sanitized,
        ),
    ],
)
def test_one_of_two_programs_is_filtered(start_profcol, burner, unwanted, condition, tmp_path):
    run = start_profcol(_two_ways(tmp_path, filter=condition))
    _burn(run, burner, unwanted)
    everything, some = read_profile(tmp_path / "all"), read_profile(tmp_path / "some")
    dropped = everything.of_pid(unwanted.pid)
    assert sum(sample.count for sample in dropped) >= 50
    assert not some.of_pid(unwanted.pid)
    assert CHAIN in {sample.names[: len(CHAIN)] for sample in some.of_pid(burner.pid)}

    expected = _counts(everything)
    for key in [key for key in expected if key[0][0] == unwanted.pid]:
        del expected[key]
    assert _counts(some) == expected

    books = run.balances_by_exporter()
    (cause,) = set(books["pprof/some"].causes) - set(books["pprof/all"].causes)
    assert cause == ("exclude_attributes" if "exclude_attributes" in condition else "condition")
    assert books["pprof/some"].causes[cause] == everything.count - some.count
    assert books["pprof/all"].taken == books["pprof/some"].taken
    assert books["pprof/some"].exported == some.count

    assert UNWANTED.encode() in _bytes(tmp_path / "all")
    assert UNWANTED.encode() not in _bytes(tmp_path / "some")


@pytest.mark.peers
def test_nothing_of_it_is_in_the_requests(start_profcol, burner, unwanted, tmp_path):
    sink = Sink(tmp_path)
    peer = {"endpoint": sink.grpc, "tls": {"insecure": True}, "compression": "none"}
    configuration = _with_processors(
        pipeline(exporters={"otlp_grpc": peer}), filter=DROP_UNWANTED
    )
    try:
        run = _burn(start_profcol(with_patience(configuration)), burner, unwanted)
        sink.stop()
    finally:
        sink.kill()
    received = sink.out.read_bytes()
    assert b"burn_leaf" in received
    assert UNWANTED.encode() not in received
    assert run.balance().causes["condition"] >= 50


@pytest.mark.sanitized
def test_attributes_are_changed_on_their_way(start_profcol, burner, tmp_path):
    configuration = _with_processors(
        pipeline(tmp_path / "out"),
        **{
            "resource/team": {
                "attributes": [
                    {"key": "team", "value": "payments", "action": "insert"},
                    {"key": "process.executable.path", "action": "delete"},
                    {
                        "key": "process.executable.name",
                        "pattern": "^(?P<first>.)",
                        "action": "extract",
                    },
                ]
            },
            "attributes": {
                "include": {
                    "match_type": "strict",
                    "resources": [{"key": "process.pid", "value": burner.pid}],
                },
                "actions": [{"key": "thread.name", "action": "hash"}],
            },
        },
    )
    run = _burn(start_profcol(configuration), burner)
    profile = read_profile(tmp_path / "out")
    samples = profile.of_pid(burner.pid)
    assert samples
    hashed = subprocess.run(
        ["sha256sum"], input=b"burn", capture_output=True, check=True
    ).stdout.split()[0].decode()
    assert {sample.labels["comm"] for sample in samples} == {hashed}
    assert {sample.labels["first"] for sample in samples} == {"b"}
    assert {sample.labels["team"] for sample in samples} == {"payments"}
    # Others on the machine may have said so themselves.
    assert all("team" in sample.labels for sample in profile.samples)
    assert not any("process.executable.path" in sample.labels for sample in profile.samples)
    assert b"process.executable.path" not in _bytes(tmp_path / "out")
    assert run.balance().exported == profile.count


def test_metrics_say_what_was_dropped(start_profcol, burner, unwanted, tmp_path):
    configuration = _with_processors(pipeline(tmp_path / "out"), filter=DROP_UNWANTED)
    run = start_profcol(configuration).wait_ready()
    unwanted.wait_burnt(1000)
    _wait_filtered(run)

    def agree():
        """What was dropped in one scrape, when no batch was on its way through the filter."""
        metrics = run.metrics()
        came = metrics.value("otelcol_processor_incoming_items", processor="filter")
        went = metrics.value("otelcol_processor_outgoing_items", processor="filter")
        filtered = metrics.value("otelcol_processor_filter_profiles_filtered")
        booked = metrics.value("profcol_samples", outcome="filtered", cause="condition")
        return filtered if came - went == filtered == booked else None

    dropped = wait_until(agree, "a scrape in which all counts agree")
    run.stop()
    assert run.balance().causes["condition"] >= dropped


def test_a_reload_changes_the_conditions_and_no_more(start_profcol, burner, unwanted, tmp_path):
    """The profiler goes on: its samples are in the books once, filtered or not."""
    drop_burner = {
        "exclude_attributes": [{"key": "process.pid", "values": [str(burner.pid)]}]
    }
    first = _two_ways(tmp_path, filter=DROP_UNWANTED)
    run = start_profcol(first).wait_ready()
    burner.wait_burnt(700)
    _wait_filtered(run)  # what has not come to it yet is for the second one
    second = with_metrics(_two_ways(tmp_path, filter=drop_burner), run.metrics_port)
    run.configuration.write_text(json.dumps(second))
    run.process.send_signal(signal.SIGHUP)
    run.wait_logged("Config reload complete.")
    burner.wait_burnt(700)
    unwanted.wait_burnt(700)
    run.stop()
    everything, some = read_profile(tmp_path / "all"), read_profile(tmp_path / "some")
    books = run.balances_by_exporter()
    causes = books["pprof/some"].causes
    assert causes["condition"] >= 20 and causes["exclude_attributes"] >= 20
    assert everything.count - some.count == causes["condition"] + causes["exclude_attributes"]
    assert some.of_pid(burner.pid) and some.of_pid(unwanted.pid)
    assert books["pprof/all"].taken == books["pprof/some"].taken


def test_a_batch_that_is_refused_is_lost_and_counted(start_profcol, burner, tmp_path):
    failing = {
        "error_mode": "propagate",
        "profile_conditions": ['Int(resource.attributes["process.pid"]) / 0 == 1'],
    }
    run = start_profcol(_two_ways(tmp_path, filter=failing))
    _burn(run, burner)
    books = run.balances_by_exporter()
    assert books["pprof/some"].lost_on_the_way == books["pprof/some"].causes["bad_data"] >= 50
    assert books["pprof/some"].exported == 0
    assert books["pprof/all"].exported == read_profile(tmp_path / "all").count
    assert "failed to eval condition" in run.log


def test_faults_are_found_before_the_start(program, tmp_path):
    path = tmp_path / "pipeline.yaml"
    path.write_text(
        "receivers: {profiling: }\n"
        "processors:\n"
        "  filter:\n"
        "    profile_conditions:\n"
        "    - resource.attributes[\"a\"] == 1\n"
        "    - resource.atributes[\"a\"] == 1\n"
        "  resource:\n"
        "    attributes:\n"
        "    - {key: a, action: delete}\n"
        "    - {key: b, action: insert}\n"
        "exporters: {debug: }\n"
        "service: {pipelines: {profiles: {receivers: [profiling],"
        " processors: [filter, resource], exporters: [debug]}}}\n"
    )
    result = subprocess.run(
        [program, "validate", "--config", path], capture_output=True, text=True, timeout=BOUND_S
    )
    assert result.returncode == EX_CONFIG
    first, second = result.stderr.splitlines()
    assert first.startswith(
        f"{path}:6:7: processors::filter: profile_conditions::1::conditions::0: unable to parse "
        'OTTL condition "resource.atributes["a"] == 1": 1:'
    )
    assert second.startswith(
        f'{path}:10:7: processors::resource: attributes::1: error with key "b" (1-th action): '
    )
