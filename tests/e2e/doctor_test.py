# SPDX-License-Identifier: Apache-2.0
"""profcol doctor: what this machine lacks for a configuration, and the line that mends it."""
import json
import os
import socket
import subprocess

import pytest

from free_port import free_port
from profcol_run import metrics_at, pipeline
from waiting import BOUND_S

pytestmark = pytest.mark.sanitized

NO_METRICS = {"metrics": {"level": "none"}}


def configuration(directory, **changes):
    """As pipeline(), without the port of the metrics: others may run beside this test."""
    whole = pipeline(directory, **changes)
    whole["service"]["telemetry"] = NO_METRICS
    return whole


def without(*capabilities):
    """A command prefix: root as ever, but for these capabilities."""
    dropped = ",".join(f"-{name}" for name in capabilities)
    return ["setpriv", f"--bounding-set={dropped}", f"--inh-caps={dropped}"]


@pytest.fixture
def doctor(program, tmp_path):
    """doctor(configuration, prefix=()): exit code and findings, as {(part, subject): finding}."""

    def run(config, prefix=(), flags=("--json",)):
        path = tmp_path / "doctor.yaml"
        path.write_text(json.dumps(config))
        result = subprocess.run(
            [*prefix, program, "doctor", *flags, "--config", path],
            capture_output=True,
            text=True,
            timeout=BOUND_S,
            env=os.environ | {"ASAN_OPTIONS": "exitcode=99:detect_leaks=1"},
        )
        assert result.stderr == "", result.stderr
        if "--json" not in flags:
            return result.returncode, result.stdout
        report = json.loads(result.stdout)
        assert report["ok"] == (result.returncode == 0)
        found = {
            (part["id"] or part["kind"], finding["subject"]): finding
            for part in report["parts"]
            for finding in part["findings"]
        }
        for finding in found.values():
            assert (finding["verdict"] == "fine") == (finding["effect"] == ""), finding
        assert report["missing"] == sum(f["verdict"] == "missing" for f in found.values())
        return result.returncode, found

    return run


def lacks(found):
    return {key: f["verdict"] for key, f in found.items() if f["verdict"] != "fine"}


def test_where_everything_is_granted_nothing_is_missing(doctor, tmp_path):
    code, found = doctor(configuration(tmp_path))
    assert code == 0, lacks(found)
    assert found["profiling", "sampling"]["verdict"] == "fine"
    assert found["pprof", "directory"]["verdict"] == "fine"
    assert found["host", "pipelines"]["verdict"] == "fine"
    assert list(tmp_path.iterdir()) == [tmp_path / "doctor.yaml"], "it left something behind"


NEEDED = ["bpf", "perfmon"]
USEFUL = ["sys_ptrace", "dac_read_search", "checkpoint_restore"]


@pytest.mark.parametrize("capability", NEEDED + USEFUL)
def test_each_missing_capability_is_named_with_its_line(doctor, tmp_path, capability):
    code, found = doctor(configuration(tmp_path), without(capability, "sys_admin"))
    name = capability.upper()
    finding = found["profiling", f"capability {name}"]
    assert finding["verdict"] == ("missing" if capability in NEEDED else "lacking")
    assert code == (1 if capability in NEEDED else 0)
    assert f"add: [{name}]" in finding["remedy"]
    assert f"AmbientCapabilities=CAP_{name}" in finding["remedy"]
    others = {key for key in lacks(found) if key[1].startswith("capability ")}
    assert others == {("profiling", f"capability {name}")}


def test_all_missing_capabilities_are_named_at_once(doctor, tmp_path):
    code, found = doctor(configuration(tmp_path), without(*NEEDED, *USEFUL, "sys_admin"))
    assert code == 1
    for capability in NEEDED + USEFUL:
        assert ("profiling", f"capability {capability.upper()}") in lacks(found)


def test_names_of_kernel_functions_are_lost_without_syslog(doctor, tmp_path):
    code, found = doctor(configuration(tmp_path), without("syslog", "sys_admin"))
    finding = found["profiling", "capability SYSLOG"]
    hidden = int(open("/proc/sys/kernel/kptr_restrict").read()) or (
        int(open("/proc/sys/kernel/perf_event_paranoid").read()) > 1
    )
    assert code == 0
    if hidden:
        assert finding["effect"] == "kernel functions stay without names"
    else:
        assert finding["verdict"] == "fine"


def test_the_text_says_what_is_lost_and_how_to_mend_it(doctor, tmp_path):
    code, text = doctor(configuration(tmp_path), without("bpf", "sys_admin"), flags=())
    assert code == 1
    assert "MISSING  capability BPF" in text
    assert "so:  nothing can be sampled" in text
    assert "fix: run as root or grant it" in text
    assert text.endswith("profcol cannot do all that the configuration asks for here.\n")


def test_whether_there_are_debug_files(doctor, tmp_path):
    directory = tmp_path / "debug"
    configured = configuration(tmp_path)
    configured["receivers"]["profiling"] = {"debug_directories": [str(directory)]}
    code, found = doctor(configured)
    assert code == 0
    assert found["profiling", "debug files"]["verdict"] == "lacking"
    assert "libc6-dbg" in found["profiling", "debug files"]["remedy"]
    (directory / ".build-id").mkdir(parents=True)
    code, found = doctor(configured)
    assert found["profiling", "debug files"]["verdict"] == "fine"


def test_a_pid_namespace_of_its_own_hides_other_processes(doctor, tmp_path):
    prefix = ["unshare", "--pid", "--fork", "--mount-proc"]
    code, found = doctor(configuration(tmp_path), prefix)
    assert code == 0
    assert found["profiling", "pid namespace"]["verdict"] == "lacking"
    assert "hostPID: true" in found["profiling", "pid namespace"]["remedy"]


def test_a_hidden_btf_is_missing(doctor, tmp_path):
    script = 'mount -t tmpfs none /sys/kernel/btf && exec "$0" "$@"'
    code, found = doctor(configuration(tmp_path), ["unshare", "--mount", "sh", "-c", script])
    assert code == 1
    assert found["profiling", "kernel types (BTF)"]["verdict"] == "missing"


def test_an_option_that_is_not_acted_on_is_missing(doctor, tmp_path):
    code, found = doctor(configuration(tmp_path, receiver={"obi_process_ctx": True}))
    assert code == 1
    assert found["profiling", "option obi_process_ctx"]["effect"] == "samples have no link to spans"


def test_a_directory_that_cannot_be_is_missing(doctor, tmp_path):
    code, found = doctor(configuration(tmp_path / "no/such/place"))
    assert code == 1
    finding = found["pprof", "directory"]
    assert str(tmp_path / "no/such/place") in finding["detail"]
    assert "create its parent directory" in finding["remedy"]


def test_a_directory_that_will_be_created_is_fine(doctor, tmp_path):
    code, _ = doctor(configuration(tmp_path / "new"))
    assert code == 0
    assert not (tmp_path / "new").exists()


def exporter(**options):
    return {"otlp_grpc": {"endpoint": "localhost:1", "tls": {"insecure": True}} | options}


def test_a_name_without_address_is_missing(doctor, tmp_path):
    exporters = exporter(endpoint="no-such-host.invalid:4317")
    code, found = doctor(configuration(tmp_path, exporters=exporters))
    assert code == 1
    assert "no-such-host.invalid" in found["otlp_grpc", "endpoint"]["detail"]


def test_a_peer_that_is_away_is_only_lacking(doctor, tmp_path):
    code, found = doctor(configuration(tmp_path, exporters=exporter()))
    assert code == 0, lacks(found)
    assert found["otlp_grpc", "peer"]["verdict"] == "lacking"
    assert "connection refused" in found["otlp_grpc", "peer"]["detail"]


def test_tls_files_that_are_not_there_are_missing(doctor, tmp_path):
    exporters = exporter(tls={"ca_file": str(tmp_path / "none.pem")})
    code, found = doctor(configuration(tmp_path, exporters=exporters))
    assert code == 1
    assert "none.pem" in found["otlp_grpc", "TLS"]["detail"]


def test_a_queue_directory_is_looked_at(doctor, tmp_path):
    config = configuration(tmp_path)
    config["extensions"] = {"file_storage": {"directory": str(tmp_path / "a" / "queue")}}
    config["service"]["extensions"] = ["file_storage"]
    code, found = doctor(config)
    assert code == 0, lacks(found)
    assert not (tmp_path / "a").exists()
    config["extensions"]["file_storage"]["create_directory"] = False
    code, found = doctor(config)
    assert code == 1
    assert "create_directory: true" in found["file_storage", "directory"]["remedy"]


def test_a_port_in_use_is_missing(doctor, tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as server:
        endpoint = f"127.0.0.1:{server.getsockname()[1]}"
        config = configuration(tmp_path)
        config["receivers"]["otlp"] = {"protocols": {"grpc": {"endpoint": endpoint}}}
        config["service"]["pipelines"]["profiles"]["receivers"].append("otlp")
        code, found = doctor(config)
    assert code == 1
    assert endpoint in found["otlp", "endpoint"]["detail"]


@pytest.mark.parametrize("name", ["health_check", "zpages"])
def test_the_address_of_pages_is_looked_at(doctor, tmp_path, name):
    config = configuration(tmp_path)
    config["service"]["extensions"] = [name]
    with socket.create_server(("127.0.0.1", 0)) as server:
        endpoint = f"127.0.0.1:{server.getsockname()[1]}"
        config["extensions"] = {name: {"endpoint": endpoint}}
        code, found = doctor(config)
        assert code == 1
        assert endpoint in found[name, "endpoint"]["detail"]
    config["extensions"] = {name: {"endpoint": f"127.0.0.1:{free_port()}"}}
    code, found = doctor(config)
    assert code == 0, lacks(found)


def taken(port, by):
    """What the doctor says of an address of which another part of the configuration is first."""
    return f"endpoint: address 'localhost:{port}' is taken by {by} of the same configuration"


def test_a_port_that_two_parts_want_is_missing(doctor, tmp_path):
    port, other = free_port(), free_port()
    config = configuration(tmp_path)
    config["service"]["telemetry"] = {"metrics": metrics_at(port, host="localhost")}
    config["extensions"] = {
        "health_check": {"endpoint": f"localhost:{port}"},
        "zpages": {"endpoint": f"127.0.0.1:{port}"},
    }
    config["service"]["extensions"] = list(config["extensions"])
    for name, host in (("otlp/a", "localhost"), ("otlp/b", "localhost"), ("otlp/c", "0.0.0.0")):
        config["receivers"][name] = {"protocols": {"grpc": {"endpoint": f"{host}:{other}"}}}
        config["service"]["pipelines"]["profiles"]["receivers"].append(name)
    code, found = doctor(config)
    assert code == 1
    details = {key: finding["detail"] for key, finding in found.items() if key in lacks(found)}
    in_use = "Address already in use"
    assert details["health_check", "endpoint"] == taken(port, "service::telemetry")
    assert in_use in details["zpages", "endpoint"]
    assert details["otlp/b", "endpoint"] == taken(other, "receiver otlp/a")
    assert in_use in details["otlp/c", "endpoint"]
    assert len(details) == 4


@pytest.mark.parametrize("exists", [True, False])
def test_a_directory_that_two_queues_want_is_missing(doctor, tmp_path, exists):
    (tmp_path / "link").symlink_to(tmp_path)
    if exists:
        (tmp_path / "queue").mkdir()
    config = configuration(tmp_path)
    config["extensions"] = {
        "file_storage": {"directory": str(tmp_path / "queue")},
        "file_storage/b": {"directory": str(tmp_path / "link" / "queue")},
        "file_storage/c": {"directory": str(tmp_path / "other")},
    }
    config["service"]["extensions"] = list(config["extensions"])
    code, found = doctor(config)
    assert code == 1
    assert lacks(found) == {("file_storage/b", "directory"): "missing"}
    finding = found["file_storage/b", "directory"]
    assert "is taken by extension file_storage of the same" in finding["detail"]


@pytest.mark.parametrize("key", ["output_paths", "error_output_paths"])
@pytest.mark.parametrize("path", ["", "/tmp"])
def test_a_log_that_cannot_be_written_is_missing(doctor, tmp_path, key, path):
    config = configuration(tmp_path)
    config["service"]["telemetry"] = NO_METRICS | {"logs": {key: [path]}}
    code, found = doctor(config)
    assert code == 1
    assert f"service::telemetry::logs::{key}" in found["host", "log"]["remedy"]


def test_what_no_pipeline_uses_is_not_looked_at(doctor, tmp_path):
    config = configuration(tmp_path)
    config["exporters"]["pprof/unused"] = {"directory": "/no/such/place"}
    code, found = doctor(config)
    assert code == 0
    assert not [key for key in found if key[0] == "pprof/unused"]


def test_without_a_configuration_it_is_about_profiling(program):
    result = subprocess.run(
        [program, "doctor", "--json", "--set", "service.telemetry.metrics.level=none"],
        capture_output=True, text=True, timeout=BOUND_S,
    )  # fmt: skip
    assert result.returncode == 0, result.stdout + result.stderr
    assert {part["id"] for part in json.loads(result.stdout)["parts"]} >= {"", "profiling"}


def test_a_wrong_configuration_is_told_as_ever(program, tmp_path):
    path = tmp_path / "wrong.yaml"
    path.write_text("receivers: {profilin: }")
    result = subprocess.run([program, "doctor", "--config", path], capture_output=True, text=True)
    assert result.returncode == 78
    assert result.stderr.startswith(f"{path}:1:")
