# SPDX-License-Identifier: Apache-2.0
"""deploy/kubernetes, by a real API server and by the program itself."""
import json
import subprocess

import pytest
import yaml

from dry_run import dry_run, ensure_namespace, one_of, pod_of, read_objects
from kubernetes import ApiError
from memory_bounds import check_memory_bounds

NEEDED = ["BPF", "PERFMON", "SYS_PTRACE", "DAC_READ_SEARCH", "CHECKPOINT_RESTORE", "SYSLOG"]


@pytest.fixture(params=["daemonset", "gateway"])
def manifest(request, source):
    return read_objects((source / f"deploy/kubernetes/{request.param}.yaml").read_text())


@pytest.fixture
def daemonset(source):
    return read_objects((source / "deploy/kubernetes/daemonset.yaml").read_text())


@pytest.fixture
def gateway(source):
    return read_objects((source / "deploy/kubernetes/gateway.yaml").read_text())


def relay(objects):
    return one_of(objects, "ConfigMap")["data"]["relay.yaml"]


def test_the_api_server_takes_each_object(api_server, manifest):
    ensure_namespace(api_server, "profcol")
    namespaces = [each for each in manifest if each["kind"] == "Namespace"]
    for each in namespaces:
        each["metadata"]["name"] = "profcol-anew"  # the name itself is taken by now
    dry_run(api_server, manifest)


def test_a_field_that_does_not_exist_is_noticed(api_server, daemonset):
    ensure_namespace(api_server, "profcol")
    pod_of(daemonset)["hostPid"] = True
    with pytest.raises(ApiError, match="hostPid"):
        dry_run(api_server, [one_of(daemonset, "DaemonSet")])


def test_what_the_daemonset_asks_for(daemonset):
    pod = pod_of(daemonset)
    (container,) = pod["containers"]
    security = container["securityContext"]
    assert pod["hostPID"] is True
    assert pod["tolerations"] == [{"operator": "Exists"}]
    assert container["resources"] == {
        "requests": {"cpu": "20m", "memory": "32Mi"},
        "limits": {"memory": "128Mi"},
    }
    assert security["capabilities"] == {"drop": ["ALL"], "add": NEEDED}
    assert security["privileged"] is False
    assert security["allowPrivilegeEscalation"] is False
    assert security["readOnlyRootFilesystem"] is True
    assert "hostPath" not in str(pod["volumes"])
    # Runtimes' own profiles refuse what it needs, in old versions; outside of kube-system some
    # clusters do not admit pods of the system's priority classes.
    assert security["seccompProfile"] == {"type": "Unconfined"}
    assert "priorityClassName" not in pod
    check_memory_bounds(container, yaml.safe_load(relay(daemonset)))
    ports = {port["name"]: port["containerPort"] for port in container["ports"]}
    for probe in (container["livenessProbe"], container["readinessProbe"]):
        assert ports[probe["httpGet"]["port"]] == 13133


def test_the_program_takes_the_configuration(program, manifest, tmp_path):
    configuration = tmp_path / "relay.yaml"
    configuration.write_text(relay(manifest))
    result = subprocess.run(
        [program, "validate", "--config", configuration],
        capture_output=True,
        text=True,
        env={"K8S_NODE_NAME": "node"},
    )
    assert result.returncode == 0, result.stderr


def test_the_collector_takes_its_configuration(peer, gateway, tmp_path):
    configuration = yaml.safe_load(relay(gateway))
    # The Collector of the tests has no extensions.
    del configuration["extensions"], configuration["service"]["extensions"]
    path = tmp_path / "relay.yaml"
    path.write_text(yaml.safe_dump(configuration))
    (container,) = pod_of(gateway, "Deployment")["containers"]
    gates = [each for each in container["args"] if each.startswith("--feature-gates")]
    command = [peer("gateway"), "validate", "--config", path, *gates]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr


def test_the_rights_are_those_that_are_used(api_server, daemonset, program, start_profcol, tmp_path):
    """Under the role of the manifest the watch of pods comes up, and no right is missing."""
    role = one_of(daemonset, "ClusterRole")
    api_server.create_account("profcol-rights", *role["rules"])
    token = api_server.issue_token("profcol-rights")
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text(json.dumps(api_server.kubeconfig({"token": token})))
    configuration = {
        "receivers": {"otlp": {"protocols": {"grpc": {"endpoint": "localhost:0"}}}},
        "processors": {
            "k8s_attributes": {
                "auth_type": "kubeConfig",
                "kube_config_path": str(kubeconfig),
                "filter": {"node": "node-of-nobody"},
                "extract": {"metadata": ["k8s.pod.name", "k8s.deployment.name",
                                         "k8s.cluster.uid", "k8s.node.uid"]},
                "wait_for_metadata": True,
                "wait_for_metadata_timeout": "280s",
            }
        },
        "exporters": {"debug": {}},
        "service": {
            "pipelines": {
                "profiles": {
                    "receivers": ["otlp"],
                    "processors": ["k8s_attributes"],
                    "exporters": ["debug"],
                }
            }
        },
    }
    run = start_profcol(configuration).wait_ready()
    run.stop()
    assert not [line for line in run.log.splitlines() if "\twarn\t" in line], run.log


def test_the_daemonset_sends_where_the_gateway_listens(daemonset, gateway):
    service = one_of(gateway, "Service")
    name = f"{service['metadata']['name']}.{service['metadata']['namespace']}.svc"
    assert f"endpoint: {name}:{service['spec']['ports'][0]['port']}" in relay(daemonset)
    labels = one_of(gateway, "Deployment")["spec"]["template"]["metadata"]["labels"]
    assert service["spec"]["selector"].items() <= labels.items()
