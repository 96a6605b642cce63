# SPDX-License-Identifier: Apache-2.0
"""Profiles of containers, with what a real API server says of their pods. The containers are
cgroups that the tests make, with burning programs in them.
"""
import http.server
import json
import ssl
import threading

import pytest

from container_cgroup import ContainerCgroup, samples_of
from kubernetes import Client
from kubernetes_objects import Pod, create_namespace, create_node, unique
from profcol_run import pipeline, read_profile
from waiting import wait_until

READ = ["get", "list", "watch"]
RULES = [{"apiGroups": [""], "resources": ["pods"], "verbs": READ}]


@pytest.fixture(scope="module")
def kubeconfig(api_server, tmp_path_factory):
    name = unique("profiler")
    api_server.create_account(name, *RULES)
    path = tmp_path_factory.mktemp("kube") / "config"
    path.write_text(json.dumps(api_server.kubeconfig({"token": api_server.issue_token(name)})))
    return path


@pytest.fixture
def node(api_server):
    return create_node(api_server)


@pytest.fixture
def namespace(api_server):
    return create_namespace(api_server, "shop")


@pytest.fixture
def start_container(build_target):
    """start_container(pod, name=None): a burning program in a container of the pod."""
    cgroups = []

    def start(pod, name=None):
        cgroup = ContainerCgroup(pod.uid, pod.ids[name] if name else pod.id)
        cgroups.append(cgroup)
        return cgroup.start(build_target("burn"))

    yield start
    for cgroup in reversed(cgroups):
        cgroup.remove()


def enriched(directory, node, options, receiver=None, **processors):
    """The profiler through k8s_attributes, and others behind it, into pprof files."""
    configuration = pipeline(directory, receiver)
    options = {"filter": {"node": node}} | options
    configuration["processors"] = {"k8s_attributes": options} | processors
    names = list(configuration["processors"])
    configuration["service"]["pipelines"]["profiles"]["processors"] = names
    return configuration


def by_kubeconfig(path):
    return {"auth_type": "kubeConfig", "kube_config_path": str(path)}


def labels_of(profile, target):
    """What its samples say of its container: each set of labels once."""
    own = ("process.", "thread.", "cpu.", "service.")
    sets = []
    for sample in samples_of(profile, target):
        labels = {
            key: value
            for key, value in sample.labels.items()
            if not key.startswith(own) and key not in ("pid", "tid", "comm")
        }
        if labels not in sets:
            sets.append(labels)
    return sets


@pytest.mark.sanitized
def test_profiles_say_what_pod_they_are_of(
    api_server, kubeconfig, node, namespace, start_profcol, start_container, burner, tmp_path
):
    there, other = (Pod(api_server, node, namespace).run() for _ in range(2))
    targets = {pod: start_container(pod) for pod in (there, other)}
    receiver = {"hold_new_containers": "10m"}  # however slow the machine
    run = start_profcol(enriched(tmp_path / "out", node, by_kubeconfig(kubeconfig), receiver))
    run.wait_ready()
    for target in targets.values():
        target.wait_burnt(700)
    late = Pod(api_server, node, namespace, {"a": "x:1", "b": "y:2"}).run()
    targets[late] = start_container(late, "b")
    targets[late].wait_burnt(700)
    run.stop()

    profile = read_profile(tmp_path / "out")
    for pod, target in targets.items():
        (labels,) = labels_of(profile, target)
        assert labels["k8s.pod.name"] == pod.name
        assert labels["k8s.pod.uid"] == pod.uid
        assert labels["k8s.namespace.name"] == namespace
        assert labels["k8s.node.name"] == node
    assert labels_of(profile, targets[late])[0]["container.image.name"] == "y"
    for labels in labels_of(profile, burner):
        assert not any(key.startswith("k8s.pod") for key in labels)


def with_all(configuration, directory):
    """The same, and beside it everything into files of its own, as it comes from the profiler."""
    configuration["exporters"]["pprof/all"] = {"directory": str(directory), "interval": "1h"}
    configuration["service"]["pipelines"]["profiles/all"] = {
        "receivers": ["profiling"],
        "exporters": ["pprof/all"],
    }
    return configuration


@pytest.mark.sanitized
def test_one_of_two_containers_is_kept_from_its_first_sample_on(
    api_server, kubeconfig, node, namespace, start_profcol, start_container, tmp_path
):
    """Both run for a while before the API server says so, as containers do."""
    configuration = enriched(
        tmp_path / "some",
        node,
        by_kubeconfig(kubeconfig) | {"extract": {"labels": [{"key": "keep", "tag_name": "keep"}]}},
        receiver={"hold_new_containers": "10m"},  # however slow the machine
        filter={"include_attributes": [{"key": "keep", "values": ["yes"]}]},
    )
    run = start_profcol(with_all(configuration, tmp_path / "all")).wait_ready()
    kept, dropped = (
        Pod(api_server, node, namespace, labels={"keep": keep}) for keep in ("yes", "no")
    )
    target, unwanted = start_container(kept), start_container(dropped)
    for one in (target, unwanted):
        one.wait_burnt(700)
    for pod in (kept, dropped):
        pod.run()
    for one in (target, unwanted):
        one.wait_burnt(700)
    run.stop()

    everything, some = read_profile(tmp_path / "all"), read_profile(tmp_path / "some")
    assert {sample.labels["pid"] for sample in some.samples} == {target.pid}
    counts = [
        sum(sample.count for sample in samples_of(profile, target)) for profile in (everything, some)
    ]
    assert counts[0] == counts[1] >= 100
    assert samples_of(everything, unwanted)
    (labels,) = labels_of(some, target)
    assert labels["keep"] == "yes" and labels["container.id"] == kept.id
    assert labels["k8s.pod.name"] == kept.name and labels["k8s.pod.uid"] == kept.uid
    assert labels["k8s.namespace.name"] == namespace and labels["k8s.node.name"] == node
    assert labels["container.image.name"] == "registry.example/shop/app"
    assert labels["container.image.tag"] == "1.2"


class _Kubelet(http.server.BaseHTTPRequestHandler):
    """Says of its node what the API server says, to those who have a token."""

    def do_GET(self):
        server = self.server
        if self.headers.get("Authorization") != f"Bearer {server.token}":
            self.send_error(401)
            return
        if self.path.partition("?")[0].rstrip("/") != "/pods":
            self.send_error(404)
            return
        # Of its own, since this is a thread of its own.
        client = Client(server.api.address, server.api.authority)
        pods = client.get("/api/v1/pods", fieldSelector=f"spec.nodeName={server.node}")
        body = json.dumps(pods).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        server.told.append({pod["metadata"]["name"] for pod in pods["items"]})

    def log_message(self, *arguments):
        pass


@pytest.fixture
def kubelet(api_server, node, tmp_path):
    """The kubelet of the node, and the kubeconfig that its callers need; `told` has the names of
    the pods in each of its answers.
    """
    certificate = api_server.issue_certificate(unique("kubelet"), "system:nodes")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate.cert, certificate.key)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Kubelet)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    server.api, server.node, server.token = api_server, node, unique("token")
    server.told = []
    server.kubeconfig = tmp_path / "kubelet.config"
    # Nobody listens where the API server would be.
    server.kubeconfig.write_text(
        json.dumps(api_server.kubeconfig({"token": server.token}, "127.0.0.1:1"))
    )
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    with server:
        yield server
        server.shutdown()
        thread.join()


@pytest.mark.sanitized
def test_pods_as_the_kubelet_tells_of_them(
    api_server, kubelet, node, namespace, start_profcol, start_container, tmp_path
):
    first = Pod(api_server, node, namespace, labels={"app": "cart"}).run()
    elsewhere = Pod(api_server, create_node(api_server), namespace).run()
    targets = {pod: start_container(pod) for pod in (first, elsewhere)}
    options = by_kubeconfig(kubelet.kubeconfig) | {
        "source": "kubelet",
        "kubelet": {
            "endpoint": f"https://127.0.0.1:{kubelet.server_port}",
            "poll_interval": "1s",
        },
        "extract": {"labels": [{"key": "app", "tag_name": "app"}]},
        "wait_for_metadata": True,
        "wait_for_metadata_timeout": "5m",
    }
    receiver = {"hold_new_containers": "10m"}  # however slow the machine
    run = start_profcol(enriched(tmp_path / "out", node, options, receiver)).wait_ready()
    targets[first].wait_burnt(700)
    late = Pod(api_server, node, namespace, labels={"app": "basket"}).run()
    targets[late] = start_container(late)
    targets[late].wait_burnt(700)
    targets[elsewhere].wait_burnt(200)
    # Who asks again has taken in the answer before.
    wait_until(
        lambda: sum(late.name in names for names in kubelet.told) >= 2, "answers with the late pod"
    )
    run.stop()

    profile = read_profile(tmp_path / "out")
    for pod, app in ((first, "cart"), (late, "basket")):
        (labels,) = labels_of(profile, targets[pod])
        assert (labels["k8s.pod.name"], labels["app"]) == (pod.name, app)
        assert labels["container.image.tag"] == "1.2"
    (labels,) = labels_of(profile, targets[elsewhere])
    assert "k8s.pod.name" not in labels
