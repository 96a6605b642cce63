# SPDX-License-Identifier: Apache-2.0
"""deploy/helm/profcol with many sets of values, by a real helm, a real API server, and the program
itself.
"""
import json
import re
import subprocess

import pytest
import yaml

from dry_run import dry_run, ensure_namespace, one_of, pod_of, read_objects
from memory_bounds import check_memory_bounds

NAMESPACE = "observability"
KUBERNETES = "1.36.0"
OTLP = {
    "exporters": {"otlp_grpc": {"endpoint": "gateway:4317", "tls": {"insecure": True}}},
    "service": {"pipelines": {"profiles": {"exporters": ["otlp_grpc"]}}},
}

# Values by what they are about.
VALUES = {
    "defaults": {},
    "an exporter": {"config": OTLP},
    "a gateway": {
        "mode": "deployment",
        "replicaCount": 3,
        "podDisruptionBudget": {"enabled": True, "minAvailable": 1},
        "config": OTLP,
    },
    "the whole configuration": {
        "alternateConfig": {
            "receivers": {"profiling": {"samples_per_second": 97}},
            "extensions": {"health_check": {"endpoint": "0.0.0.0:13133"}},
            **OTLP,
            "service": {
                "extensions": ["health_check"],
                "pipelines": {
                    "profiles": {"receivers": ["profiling"], "exporters": ["otlp_grpc"]}
                },
            },
        }
    },
    "a configuration of one's own": {
        "configMap": {"create": False, "existingName": "own"},
        "clusterRole": {"create": True, "rules": [
            {"apiGroups": ["batch"], "resources": ["jobs"], "verbs": ["get", "list", "watch"]}
        ]},
    },
    "no presets": {
        "presets": {"kubernetesAttributes": {"enabled": False}, "profiling": {"enabled": False}},
        "config": {
            "receivers": {"profiling": {"error_mode": "ignore"}},
            "service": {"pipelines": {"profiles": {"receivers": ["profiling"]}}},
        },
        "hostPID": True,
        "securityContext": {"runAsUser": 0, "capabilities": {"add": ["SYS_ADMIN"]}},
    },
    "all that is known of a pod": {
        "presets": {
            "kubernetesAttributes": {
                "extractAllPodLabels": True,
                "extractAllPodAnnotations": True,
            },
            "resourceDetection": {"enabled": True, "detectors": ["env", "system", "ec2"]},
        }
    },
    "the image": {
        "global": {"imageRegistry": "registry.example.com:5000"},
        "image": {
            "repository": "team/profcol",
            "tag": "1.2.3",
            "digest": "sha256:" + "0" * 64,
            "pullPolicy": "Always",
        },
        "imagePullSecrets": [{"name": "registry"}],
        "command": {"name": "otelcol-ebpf-profiler", "extraArgs": [
            "--feature-gates=service.profilesSupport"
        ]},
    },
    "where it runs": {
        "nodeSelector": {"kubernetes.io/arch": "arm64"},
        "tolerations": [{"key": "dedicated", "operator": "Exists", "effect": "NoSchedule"}],
        "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {
            "nodeSelectorTerms": [{"matchExpressions": [
                {"key": "gpu", "operator": "DoesNotExist"}
            ]}]
        }}},
        "priorityClassName": "system-node-critical",
        "runtimeClassName": "runc",
        "schedulerName": "other",
        "hostNetwork": True,
        "dnsPolicy": "ClusterFirstWithHostNet",
        "dnsConfig": {"searches": ["example.com"]},
        "hostAliases": [{"ip": "127.0.0.1", "hostnames": ["foo.local"]}],
        "rollout": {"rollingUpdate": {"maxUnavailable": "25%"}},
    },
    "a pod with company": {
        "extraEnvs": [{"name": "PROFCOL_SAMPLES_PER_SECOND", "value": "19"}],
        "extraEnvsFrom": [{"secretRef": {"name": "token"}}],
        "extraVolumes": [{"name": "queue", "hostPath": {
            "path": "/var/lib/profcol", "type": "DirectoryOrCreate"
        }}],
        "extraVolumeMounts": [{"name": "queue", "mountPath": "/var/lib/profcol"}],
        "extraContainers": [{"name": "sidecar", "image": "busybox"}],
        "initContainers": [{"name": "first", "image": "busybox", "command": ["true"]}],
        "shareProcessNamespace": False,
        "lifecycleHooks": {"preStop": {"sleep": {"seconds": 1}}},
        "startupProbe": {"httpGet": {"port": 13133, "path": "/"}, "failureThreshold": 30},
        "config": {
            "extensions": {"file_storage": {"directory": "/var/lib/profcol"}},
            "exporters": {"otlp_grpc": {
                "endpoint": "gateway:4317", "sending_queue": {"storage": "file_storage"}
            }},
            "service": {
                "extensions": ["health_check", "file_storage"],
                "pipelines": {"profiles": {"exporters": ["otlp_grpc"]}},
            },
        },
    },
    "names and labels": {
        "nameOverride": "profiler",
        "fullnameOverride": "node-profiler",
        "namespaceOverride": NAMESPACE,
        "additionalLabels": {"team": "{{ .Release.Name }}-platform"},
        "podLabels": {"tier": "node"},
        "podAnnotations": {"prometheus.io/scrape": "true"},
        "annotations": {"owner": "platform"},
        "serviceAccount": {"name": "shared", "annotations": {"role": "reader"}},
        "clusterRole": {"name": "readers", "annotations": {"a": "b"},
                        "clusterRoleBinding": {"name": "reads", "annotations": {"c": "d"}}},
    },
    "an account of one's own": {
        "serviceAccount": {"create": False, "automountServiceAccountToken": False},
        "presets": {"kubernetesAttributes": {"enabled": False}},
    },
    "the network": {
        "service": {"enabled": True},
        "ports": {"otlp": {"enabled": True, "hostPort": 4317}, "metrics": {"enabled": False}},
        "networkPolicy": {
            "enabled": True,
            "allowIngressFrom": [{"namespaceSelector": {}}],
            "extraIngressRules": [{"ports": [{"port": 13133}]}],
            "egressRules": [{"ports": [{"port": 4317}]}],
        },
        "config": {
            "receivers": {"otlp": {"protocols": {"grpc": {
                "endpoint": "[${env:MY_POD_IP}]:4317"
            }}}},
            "service": {"pipelines": {"profiles": {"receivers": ["otlp"]}}},
        },
    },
    "a limit on the cost": {
        "config": {"receivers": {"profiling": {
            "samples_per_second": 99, "overhead": {"cpu": "0.5%", "memory": "48MiB"}
        }}},
        "resources": {"limits": {"memory": "96Mi", "cpu": "100m"}, "requests": None},
    },
    "queues on the node": {
        "presets": {"queueStorage": {"enabled": True, "maxSize": "256MiB"}},
        "config": {
            "exporters": {
                "otlp_grpc": {"endpoint": "gateway:4317"},
                "otlp_grpc/own": {"endpoint": "own:4317", "sending_queue": {"storage": None}},
            },
            "service": {"pipelines": {"profiles": {"exporters": ["otlp_grpc", "otlp_grpc/own"]}}},
        },
    },
    "a dashboard": {"grafanaDashboard": {"enabled": True}},
    "the page": {
        "presets": {"web": {"enabled": True, "memory": "8MiB"}},
    },
    "no port": {
        "ports": {"metrics": {"enabled": False}},
        "service": {"enabled": True},
        "networkPolicy": {"enabled": True, "allowIngressFrom": [{"namespaceSelector": {}}]},
    },
    "older names, and names of one's own": {
        "presets": {"resourceDetection": {"enabled": True}},
        "config": {
            "receivers": {"profiling/a": {"samples_per_second": 7}},
            "processors": {
                "k8sattributes": {"extract": {"otel_annotations": False}},
                "resourcedetection/b": {"detectors": ["env"]},
            },
            "service": {"pipelines": {"profiles": {
                "receivers": ["profiling/a"],
                "processors": ["memory_limiter", "resourcedetection/b", "k8sattributes"],
            }}},
        },
    },
    "more manifests": {
        "extraManifests": [
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {
                "name": "extra", "namespace": "{{ .Release.Namespace }}"
            }},
            'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: text, namespace: "'
            + NAMESPACE + '"}',
        ]
    },
}


@pytest.fixture(scope="module")
def server(api_server):
    ensure_namespace(api_server, NAMESPACE)
    return api_server


@pytest.fixture
def render(peer, source, tmp_path):
    """render(values, version=...): the objects that helm makes of them."""

    def render_with(values, version=KUBERNETES):
        file = tmp_path / "values.yaml"
        file.write_text(json.dumps(values))
        command = [peer("helm"), "template", "one", source / "deploy/helm/profcol"]
        options = ["--namespace", NAMESPACE, "--kube-version", version, "--values", file]
        result = subprocess.run([*command, *options], capture_output=True, text=True)
        assert result.returncode == 0, result.stderr
        return read_objects(result.stdout)

    return render_with


def relay(objects):
    maps = (each for each in objects if each["kind"] == "ConfigMap")
    return next(each["data"]["relay"] for each in maps if "data" in each)


@pytest.mark.parametrize("about", VALUES)
def test_the_api_server_takes_what_is_rendered(server, render, about):
    dry_run(server, render(VALUES[about]))


@pytest.mark.parametrize("about", sorted(VALUES.keys() - {"a configuration of one's own"}))
def test_the_program_takes_the_configuration(program, render, about, tmp_path):
    (tmp_path / "relay.yaml").write_text(relay(render(VALUES[about])))
    result = subprocess.run(
        [program, "validate", "--config", tmp_path / "relay.yaml"],
        capture_output=True,
        text=True,
        env={"MY_POD_IP": "127.0.0.1", "K8S_NODE_NAME": "node"},
    )
    assert result.returncode == 0, result.stderr


def test_by_default_it_may_do_what_it_needs_and_no_more(render):
    pod = pod_of(render({}))
    (container,) = pod["containers"]
    security = container["securityContext"]
    assert pod["hostPID"] is True and pod["tolerations"] == [{"operator": "Exists"}]
    assert "hostPath" not in str(pod["volumes"])
    assert security["privileged"] is False and security["readOnlyRootFilesystem"] is True
    assert "SYS_ADMIN" not in security["capabilities"]["add"]
    assert security["seccompProfile"] == {"type": "Unconfined"}


def test_workers_may_have_a_user_of_their_own(render):
    by_default, own = (
        set(pod_of(render(values))["containers"][0]["securityContext"]["capabilities"]["add"])
        for values in ({}, {"presets": {"profiling": {"ownWorkerUser": True}}})
    )
    assert own - by_default == {"SETUID", "SETGID", "SETPCAP", "KILL"} and by_default < own


@pytest.mark.parametrize("about", ["defaults", "a limit on the cost"])
def test_bounds_on_memory_come_in_their_order(render, about):
    objects = render(VALUES[about])
    check_memory_bounds(pod_of(objects)["containers"][0], yaml.safe_load(relay(objects)))


@pytest.mark.parametrize(
    "values, mounted",
    [
        ({}, True),
        ({"presets": {"kubernetesAttributes": {"enabled": False}}}, False),
        ({"presets": {
            "kubernetesAttributes": {"enabled": False},
            "resourceDetection": {"enabled": True, "detectors": ["env", "k8snode"]},
        }}, True),
        ({"presets": {"kubernetesAttributes": {"enabled": False}},
          "configMap": {"create": False, "existingName": "own"}}, True),
        ({"presets": {"kubernetesAttributes": {"enabled": False}},
          "serviceAccount": {"automountServiceAccountToken": True}}, True),
    ],
)
def test_the_accounts_token_is_there_for_who_asks_the_api_server(render, values, mounted):
    assert pod_of(render(values))["automountServiceAccountToken"] is mounted


def test_what_is_written_to_a_volume_lies_in_a_directory_of_its_own(render):
    exporters = {"pprof": {"directory": "/data"}, "file": {"path": "/data/profiles.json"},
                 "file/out": {"path": "/dev/stdout"},
                 "pprof/own": {"directory": "/data", "private_subdirectory": False}}
    rendered = yaml.safe_load(relay(render({"config": {"exporters": exporters}})))["exporters"]
    own = {name: given.get("private_subdirectory") for name, given in rendered.items() if given}
    assert own == {"pprof": True, "file": True, "file/out": None, "pprof/own": False}


def test_a_gateway_has_no_rights_on_its_node(render):
    objects = render(VALUES["a gateway"])
    pod = pod_of(objects, "Deployment")
    assert pod["hostPID"] is False
    assert pod["containers"][0]["securityContext"]["runAsNonRoot"] is True
    assert "add" not in pod["containers"][0]["securityContext"]["capabilities"]
    selector = one_of(objects, "Service")["spec"]["selector"]
    template = one_of(objects, "Deployment")["spec"]["template"]
    assert selector.items() <= template["metadata"]["labels"].items()
    assert "profiling" not in yaml.safe_load(relay(objects))["receivers"]


def test_what_is_written_goes_before_what_presets_add(render):
    values = {
        "config": {
            "receivers": {"profiling": {"samples_per_second": 7}},
            "processors": {"k8s_attributes": {"extract": {"otel_annotations": False}}},
        }
    }
    configuration = yaml.safe_load(relay(render(values)))
    assert configuration["receivers"]["profiling"]["samples_per_second"] == 7
    processor = configuration["processors"]["k8s_attributes"]
    assert processor["extract"]["otel_annotations"] is False
    assert processor["filter"] == {"node_from_env_var": "K8S_NODE_NAME"}
    pipeline = configuration["service"]["pipelines"]["profiles"]
    assert pipeline["processors"] == ["memory_limiter", "k8s_attributes"]


def test_what_is_there_under_another_name_is_not_added_again(render):
    about = "older names, and names of one's own"
    configuration = yaml.safe_load(relay(render(VALUES[about])))
    wanted = VALUES[about]["config"]["service"]["pipelines"]["profiles"]
    pipeline = configuration["service"]["pipelines"]["profiles"]
    assert {kind: pipeline[kind] for kind in wanted} == wanted
    assert list(configuration["receivers"]) == ["profiling/a"]
    assert set(configuration["processors"]) == set(wanted["processors"])
    assert configuration["processors"]["k8sattributes"] == {
        "extract": {"otel_annotations": False},
        "filter": {"node_from_env_var": "K8S_NODE_NAME"},
    }


def test_an_older_name_that_is_in_no_pipeline_yet_is_used(render):
    processors = {"k8sattributes": {"extract": {"otel_annotations": False}}}
    configuration = yaml.safe_load(relay(render({"config": {"processors": processors}})))
    pipeline = configuration["service"]["pipelines"]["profiles"]
    assert pipeline["processors"] == ["memory_limiter", "k8sattributes"]
    assert "k8s_attributes" not in configuration["processors"]


def test_a_pipeline_that_is_null_stays_away(render):
    """Others have taken its place; what they name is still made by the presets, and nothing else."""
    agent = render(
        {
            "config": {
                "exporters": {"debug": None, "otlp_grpc": {"endpoint": "gateway:4317"}},
                "service": {
                    "pipelines": {
                        "profiles": None,
                        "profiles/a": {"receivers": ["profiling"], "exporters": ["otlp_grpc"]},
                    }
                },
            }
        }
    )
    configuration = yaml.safe_load(relay(agent))
    assert set(configuration["service"]["pipelines"]) == {"profiles/a"}
    assert configuration["receivers"] == {"profiling": {"overhead": {"memory": "64MiB"}}}
    assert set(configuration["processors"]) == {"memory_limiter"}
    assert set(configuration["exporters"]) == {"otlp_grpc"}
    grpc = {"protocols": {"grpc": {"endpoint": "0.0.0.0:4317"}}}
    own = {
        "receivers": {"otlp/a": grpc},
        "exporters": {"otlp_grpc": {"endpoint": "gateway:4317"}},
        "service": {
            "pipelines": {"profiles/a": {"receivers": ["otlp/a"], "exporters": ["otlp_grpc"]}}
        },
    }
    gateway = render({"mode": "deployment", "alternateConfig": own})
    assert yaml.safe_load(relay(gateway)) == own


def test_numbers_in_annotations_stay_digits(render):
    objects = render(
        {
            "annotations": {"number": 12345678},
            "podAnnotations": {"build": 1234567890, "half": 0.5, "flag": True},
            "serviceAccount": {"annotations": {"seconds": 86400000}},
        }
    )
    workload = one_of(objects, "DaemonSet")
    assert workload["metadata"]["annotations"]["number"] == "12345678"
    annotations = workload["spec"]["template"]["metadata"]["annotations"]
    assert annotations["build"] == "1234567890"
    assert (annotations["half"], annotations["flag"]) == ("0.5", "true")
    account = one_of(objects, "ServiceAccount")
    assert account["metadata"]["annotations"]["seconds"] == "86400000"


def test_without_ports_nothing_is_let_in(render):
    objects = render(VALUES["no port"])
    assert "Service" not in {each["kind"] for each in objects}
    assert "ingress" not in one_of(objects, "NetworkPolicy")["spec"]


def metrics_of(configuration):
    (reader,) = configuration["service"]["telemetry"]["metrics"]["readers"]
    return reader["pull"]["exporter"]["prometheus"]


def test_metrics_have_the_names_that_alerts_are_written_for(render, source):
    manifest = read_objects((source / "deploy/kubernetes/daemonset.yaml").read_text())
    written = one_of(manifest, "ConfigMap")["data"]["relay.yaml"]
    ours, theirs = (metrics_of(yaml.safe_load(text)) for text in (relay(render({})), written))
    assert ours | {"host": ""} == theirs | {"host": ""}


def test_the_prometheus_operator_is_told_of_pods_and_alerts(render, source):
    assert not {each["kind"] for each in render({})} & {"PodMonitor", "PrometheusRule"}
    objects = render(
        {
            "podMonitor": {"enabled": True, "extraLabels": {"release": "prometheus"}},
            "prometheusRule": {"enabled": True, "groups": [{"name": "own", "rules": []}]},
        }
    )
    monitor = one_of(objects, "PodMonitor")
    assert monitor["metadata"]["labels"]["release"] == "prometheus"
    labels = one_of(objects, "DaemonSet")["spec"]["template"]["metadata"]["labels"]
    assert monitor["spec"]["selector"]["matchLabels"].items() <= labels.items()
    (endpoint,) = monitor["spec"]["podMetricsEndpoints"]
    (container,) = one_of(objects, "DaemonSet")["spec"]["template"]["spec"]["containers"]
    assert endpoint["port"] in {port["name"] for port in container["ports"]}
    own, further = one_of(objects, "PrometheusRule")["spec"]["groups"]
    assert (own["name"], further["name"]) == ("profcol", "own")
    # The file is what the documentation shows.
    _, _, rules = (source / "deploy/helm/profcol/alerts.yaml").read_text().partition("groups:\n")
    assert own == yaml.safe_load("groups:\n" + rules)["groups"][0]
    assert f"```yaml\ngroups:\n{rules}```" in (source / "docs/operations.md").read_text()


def test_queues_are_on_a_volume(render):
    objects = render(VALUES["queues on the node"])
    configuration = yaml.safe_load(relay(objects))
    storage = {"directory": "/var/lib/profcol/queue", "max_size": "256MiB"}
    assert configuration["extensions"]["file_storage"] == storage
    assert configuration["service"]["extensions"] == ["health_check", "file_storage"]
    exporters = configuration["exporters"]
    assert exporters["otlp_grpc"]["sending_queue"] == {"storage": "file_storage"}
    assert not exporters["otlp_grpc/own"]["sending_queue"].get("storage")
    pod = pod_of(objects)
    (container,) = pod["containers"]
    (mount,) = (each for each in container["volumeMounts"] if each["name"] == "queue")
    (volume,) = (each for each in pod["volumes"] if each["name"] == "queue")
    assert mount["mountPath"] == storage["directory"] and not mount.get("readOnly")
    assert volume["hostPath"] == {"path": "/var/lib/profcol/queue", "type": "DirectoryOrCreate"}


def test_the_dashboard_asks_for_metrics_that_there_are(render, source):
    assert "dashboard" not in str(render({}))
    objects = render(VALUES["a dashboard"])
    (text,) = (
        each["data"]["profcol.json"]
        for each in objects
        if each["kind"] == "ConfigMap" and each["metadata"]["labels"].get("grafana_dashboard")
    )
    assert json.loads(text) == json.loads((source / "deploy/helm/profcol/dashboard.json").read_text())
    panels = [panel for panel in json.loads(text)["panels"] if panel["type"] != "row"]
    asked = {
        name
        for panel in panels
        for target in panel["targets"]
        for name in re.findall(r"\b(?:profcol|otelcol)_\w+", target["expr"])
    }
    documented = (source / "docs/telemetry.md").read_text()
    known = set(re.findall(r"`((?:profcol|otelcol)_\w+)`", documented))
    assert asked and asked <= known, asked - known


@pytest.mark.parametrize("address", ["10.0.0.1", "fd00::1"])
@pytest.mark.parametrize("mode", ["daemonset", "deployment"])
def test_pods_have_addresses_of_either_family(program, render, mode, address, tmp_path):
    (tmp_path / "relay.yaml").write_text(relay(render({"mode": mode})))
    command = [program, "validate", "--config", tmp_path / "relay.yaml"]
    environment = {"MY_POD_IP": address, "K8S_NODE_NAME": "node"}
    result = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert result.returncode == 0, result.stderr


def test_another_configuration_replaces_the_pods(render):
    def checksum(values):
        template = one_of(render(values), "DaemonSet")["spec"]["template"]
        return template["metadata"]["annotations"]["checksum/config"]

    assert checksum({}) == checksum({"podLabels": {"a": "b"}})
    assert checksum({}) != checksum(VALUES["a limit on the cost"])


def test_older_clusters_get_no_field_that_they_do_not_know(render):
    def rendered(version):
        objects = render({"podAnnotations": {"a": "b"}}, version)
        (container,) = pod_of(objects)["containers"]
        template = one_of(objects, "DaemonSet")["spec"]["template"]
        annotation = f"container.apparmor.security.beta.kubernetes.io/{container['name']}"
        return (
            container["securityContext"].get("appArmorProfile"),
            template["metadata"]["annotations"].get(annotation),
        )

    assert rendered("1.29.0") == (None, "unconfined")
    assert rendered("1.30.0") == ({"type": "Unconfined"}, None)


def test_a_mode_that_does_not_exist_is_refused(peer, source):
    command = [peer("helm"), "template", "one", source / "deploy/helm/profcol"]
    result = subprocess.run(
        [*command, "--kube-version", KUBERNETES, "--set", "mode=statefulset"],
        capture_output=True,
        text=True,
    )
    assert result.returncode != 0
    assert "mode 'statefulset' is none; write daemonset or deployment" in result.stderr
