# SPDX-License-Identifier: Apache-2.0
"""What `resource_detection` and `memory_limiter` do to profiles of the real program."""
import http.server
import json
import signal
import subprocess
import threading

import pytest

from free_port import free_port
from profcol_run import READY, pipeline, read_profile, with_metrics
from waiting import BOUND_S, wait_until

IDENTITY = {
    "accountId": "123456789012",
    "region": "eu-north-1",
    "availabilityZone": "eu-north-1a",
    "instanceId": "i-0abc",
    "imageId": "ami-1",
    "instanceType": "m7i.large",
}
TOKEN = "s3cret"


class Metadata(http.server.BaseHTTPRequestHandler):
    """The metadata service of an instance, version 2: nothing without a token."""

    pages = {
        "/latest/meta-data/instance-id": "i-0abc",
        "/latest/meta-data/hostname": "ip-10-0-0-1.eu-north-1.compute.internal",
        "/latest/dynamic/instance-identity/document": json.dumps(IDENTITY),
        "/latest/meta-data/tags/instance": "team\nName",
        "/latest/meta-data/tags/instance/team": "payments",
    }

    def do_PUT(self):
        needed = "X-aws-ec2-metadata-token-ttl-seconds" in self.headers
        self.answer(200 if needed and self.path == "/latest/api/token" else 400, TOKEN)

    def do_GET(self):
        if self.headers.get("X-aws-ec2-metadata-token") != TOKEN:
            self.answer(401, "")
        elif self.path in self.pages:
            self.answer(200, self.pages[self.path])
        else:
            self.answer(404, "")

    def answer(self, status, text):
        away = self.server.is_away.is_set()
        if self.server.is_silent.is_set():
            self.server.is_asked.set()
            self.server.is_ending.wait()
            return
        self.send_response(503 if away else status)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *arguments):
        pass


@pytest.fixture
def metadata(monkeypatch):
    """The service; its `is_away` makes it answer with errors, `is_silent` not at all."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Metadata)
    server.is_away = threading.Event()
    server.is_silent = threading.Event()
    server.is_asked = threading.Event()  # while it is silent
    server.is_ending = threading.Event()
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    monkeypatch.setenv(
        "AWS_EC2_METADATA_SERVICE_ENDPOINT", f"http://127.0.0.1:{server.server_port}"
    )
    with server:
        yield server
        server.is_ending.set()
        server.shutdown()
        thread.join()


def _through(directory, processors, receiver=None):
    """The profiler through `processors`, in their order, into a pprof file in `directory`."""
    configuration = pipeline(directory, receiver)
    configuration["processors"] = processors
    configuration["service"]["pipelines"]["profiles"]["processors"] = list(processors)
    return configuration


def _labels(directory):
    """Labels of every sample."""
    return [sample.labels for sample in read_profile(directory).samples]


@pytest.mark.sanitized
def test_samples_say_on_which_machine_they_were_taken(
    start_profcol_apart, burner_apart, metadata, monkeypatch, tmp_path
):
    monkeypatch.setenv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=test")
    processors = {
        "memory_limiter": {"check_interval": "100ms", "limit_percentage": 90},
        "resourcedetection": {
            "detectors": ["env", "ec2", "system"],
            "ec2": {"tags": ["^team$"]},
            # No sample without them, however long a busy machine takes.
            "fail_on_missing_metadata": True,
            "timeout": "30s",
        },
        "batch": {},
    }
    run = start_profcol_apart(_through(tmp_path / "out", processors)).wait_ready()
    burner_apart.wait_burnt(500)
    run.stop()
    labels = _labels(tmp_path / "out")
    assert labels
    for one in labels:
        assert one["cloud.region"] == "eu-north-1"
        assert one["cloud.platform"] == "aws_ec2"
        assert one["host.id"] == "i-0abc"
        assert one["host.name"] == "ip-10-0-0-1.eu-north-1.compute.internal"
        assert one["ec2.tag.team"] == "payments"
        assert one["os.type"] == "linux"
        assert one["deployment.environment.name"] == "test"
        assert "ec2.tag.Name" not in one
    assert "exporters batch by bytes themselves" in run.log
    assert run.balance().lost_on_the_way == 0
    assert run.balance().exported == run.balance().taken - run.balance().filtered > 0


def test_a_service_that_comes_late_holds_no_data_up(
    start_profcol_apart, burner_apart, metadata, tmp_path
):
    metadata.is_away.set()
    processors = {
        "resource_detection": {
            "detectors": ["ec2"],
            "retry": {"initial_interval": "100ms", "max_interval": "200ms"},
        }
    }
    run = start_profcol_apart(_through(tmp_path / "out", processors)).wait_ready()
    run.wait_logged("detector 'ec2' has no answer")

    def outgoing():
        name = "otelcol_processor_outgoing_items"
        return run.metrics().value(name, processor="resource_detection")

    wait_until(outgoing, "samples without the region")
    metadata.is_away.clear()
    run.wait_logged("detector 'ec2' has found ")
    passed = outgoing()
    # Batches come one after the other: the second one from now on was not on its way before.
    for _ in range(2):
        passed = wait_until(lambda: outgoing() > passed and outgoing(), "samples with the region")
    run.stop()
    regions = {one.get("cloud.region") for one in _labels(tmp_path / "out")}
    assert regions == {None, "eu-north-1"}
    assert run.balance().lost_on_the_way == 0


def test_without_metadata_that_is_demanded_it_does_not_start(
    start_profcol, metadata, tmp_path
):
    metadata.is_away.set()
    processors = {
        "resource_detection": {
            "detectors": ["ec2"],
            "timeout": "30s",  # one attempt, and as long as a busy machine takes for it
            "retry": {"enabled": False},
            "fail_on_missing_metadata": True,
        }
    }
    run = start_profcol(_through(tmp_path / "out", processors))
    assert run.wait_exit() == 1
    assert "resource detection failed: detector 'ec2'" in run.log
    assert "503" in run.log


@pytest.mark.parametrize("required", [False, True])
def test_a_silent_service_does_not_keep_it_from_ending(
    required, start_profcol, metadata, tmp_path
):
    metadata.is_silent.set()
    options = {"detectors": ["ec2"], "timeout": "10m", "fail_on_missing_metadata": required}
    run = start_profcol(_through(tmp_path / "out", {"resource_detection": options}))
    assert metadata.is_asked.wait(timeout=BOUND_S)
    run.stop()
    # Had it waited for the whole time, it would have said what came of it.
    assert "detected resource information" not in run.log
    assert "resource detection failed" not in run.log
    assert READY not in run.log


def test_a_silent_service_does_not_keep_it_from_ending_in_a_reload(
    start_profcol_apart, metadata, tmp_path
):
    metadata.is_silent.set()
    configuration = _through(tmp_path / "out", {})
    run = start_profcol_apart(configuration).wait_ready()
    options = {"detectors": ["ec2"], "timeout": "10m", "fail_on_missing_metadata": True}
    configuration = with_metrics(
        _through(tmp_path / "out", {"resource_detection": options}), run.metrics_port
    )
    run.configuration.write_text(json.dumps(configuration))
    run.process.send_signal(signal.SIGHUP)
    assert metadata.is_asked.wait(timeout=BOUND_S)
    run.stop()
    assert "Config reload cut short, the process ends." in run.log
    assert "Config reload complete." not in run.log
    assert "Config reload failed" not in run.log
    assert run.balance().lost_on_the_way == 0


AGENT = """
receivers:
  profiling: {}
processors:
  memory_limiter:
    check_interval: 5s
    limit_percentage: 80
    spike_limit_percentage: 25
  resourcedetection/env:
    detectors: [env, k8snode, system, gcp, eks, aks, docker]
    timeout: 2s
    override: false
    k8snode: {auth_type: serviceAccount, node_from_env_var: K8S_NODE_NAME}
    system: {hostname_sources: [os], resource_attributes: {host.id: {enabled: true}}}
    docker: {resource_attributes: {host.name: {enabled: false}}}
  resource:
    attributes: [{key: k8s.cluster.name, value: prod, action: upsert}]
  batch: {}
exporters:
  otlp:
    endpoint: gateway:4317
    tls: {insecure: true}
extensions:
  health_check: {endpoint: "127.0.0.1:13133"}
service:
  extensions: [health_check]
  pipelines:
    profiles:
      receivers: [profiling]
      processors: [memory_limiter, resourcedetection/env, resource, batch]
      exporters: [otlp]
"""


def test_a_configuration_of_a_nodes_agent_is_taken_as_it_is(program, tmp_path):
    (tmp_path / "agent.yaml").write_text(AGENT)
    command = [program, "validate", "--config", tmp_path / "agent.yaml"]
    result = subprocess.run(command, capture_output=True, text=True, timeout=BOUND_S)
    assert (result.returncode, result.stdout) == (0, "")
    assert all("alias is deprecated" in line for line in result.stderr.splitlines()), result.stderr


@pytest.mark.sanitized
def test_without_memory_data_is_refused_and_booked(start_profcol, burner, tmp_path):
    processors = {"memory_limiter": {"check_interval": "50ms", "limit_mib": 1}}
    receiver = {"reporter_interval": "100ms"}  # the first of many batches is refused as well
    run = start_profcol(_through(tmp_path / "out", processors, receiver)).wait_ready()
    run.wait_logged("Memory usage is above soft limit. Refusing data.")
    burner.wait_burnt(500)
    run.stop()
    balance = run.balance()
    assert balance.exported == 0
    assert balance.causes["unavailable"] == balance.lost_on_the_way > 0


def _clients_are_told(start_profcol, protocols, exporter):
    """The sender's run, whose gateway has no memory."""
    gateway = start_profcol(
        {
            "receivers": {"otlp": {"protocols": protocols}},
            "processors": {"memory_limiter": {"check_interval": "50ms", "limit_mib": 1}},
            "exporters": {"debug": {}},
            "service": {
                "pipelines": {
                    "profiles": {
                        "receivers": ["otlp"],
                        "processors": ["memory_limiter"],
                        "exporters": ["debug"],
                    }
                }
            },
        }
    ).wait_ready()
    gateway.wait_logged("Refusing data.")
    sender = start_profcol(pipeline(exporters=exporter)).wait_ready()
    sender.wait_logged("data refused due to high memory usage")
    sender.stop()
    gateway.stop()
    assert "unavailable" in sender.log
    assert sender.balance().exported == 0
    assert gateway.balance().causes["unavailable"] == gateway.balance().taken > 0
    return sender


def test_clients_are_told_to_come_back(start_profcol, burner, tmp_path):
    protocols = {"grpc": {"endpoint": f"{tmp_path}/socket", "transport": "unix"}}
    exporter = {
        "endpoint": f"unix://{tmp_path}/socket",
        "tls": {"insecure": True},
        "retry_on_failure": {"initial_interval": "100ms"},
    }
    _clients_are_told(start_profcol, protocols, {"otlp_grpc": exporter})


def test_clients_are_told_over_http_too(start_profcol, burner):
    port = free_port()
    exporter = {
        "endpoint": f"http://127.0.0.1:{port}",
        "retry_on_failure": {"initial_interval": "100ms"},
    }
    sender = _clients_are_told(
        start_profcol, {"http": {"endpoint": f"127.0.0.1:{port}"}}, {"otlp_http": exporter}
    )
    assert "HTTP status 503" in sender.log
