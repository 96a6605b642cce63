# SPDX-License-Identifier: Apache-2.0
"""`k8s_attributes` against a real API server: what it learns, and how it goes on when the network,
the server or its rights fail. Of containers it is asked over OTLP.
"""
import contextlib
import itertools
import json
import math
import pathlib
import re
import time

import pytest
import yaml

from cutting_proxy import CuttingProxy
from enrichment import Enrichment, ask_collector
from kubernetes_objects import (
    Pod,
    create_namespace,
    create_node,
    create_pods_elsewhere,
    owned_by,
    unique,
)
from waiting import wait_until

READ = ["get", "list", "watch"]
PODS = {"apiGroups": [""], "resources": ["pods"], "verbs": READ}
NEIGHBOURS = [
    {"apiGroups": [""], "resources": ["namespaces", "nodes"], "verbs": READ},
    {"apiGroups": ["apps"], "resources": ["deployments", "replicasets"], "verbs": READ},
]


@pytest.fixture(scope="module")
def server(api_server, peer):
    """The API server; a test that stops it starts it again."""
    peer("send")
    return api_server


@pytest.fixture
def account(server):
    """A service account that may read pods and nothing else."""
    name = unique("profcol")
    server.create_account(name, PODS)
    return name


@pytest.fixture
def node(server):
    return create_node(server)


@pytest.fixture
def namespace(server):
    return create_namespace(server, "shop")


@pytest.fixture
def proxy(server):
    """What lies between profcol and the API server."""
    proxy = CuttingProxy(server.address)
    yield proxy
    proxy.close()


@pytest.fixture
def kubeconfig(server, account, proxy, tmp_path):
    """A file for the account, through the proxy."""
    path = tmp_path / "kubeconfig"
    user = {"token": server.issue_token(account)}
    path.write_text(json.dumps(server.kubeconfig(user, proxy.address)))
    return path


@pytest.fixture
def start_enrichment(program, start_sink, node, new_directory):
    """start_enrichment(options, prefix=()): of this node, unless the options say otherwise."""
    with contextlib.ExitStack() as stack:

        def start(options, prefix=()):
            options = {"filter": {"node": node}} | options
            one = Enrichment(program, new_directory(), start_sink(), options, prefix)
            stack.callback(one.run.kill)
            return one.wait_ready()

        yield start


@pytest.fixture
def enrich(start_enrichment, kubeconfig):
    """enrich(**options): by the kubeconfig of the account."""
    path = {"auth_type": "kubeConfig", "kube_config_path": str(kubeconfig)}
    return lambda **options: start_enrichment(path | options)


def uris(server, account, verb, resource="pods"):
    """The paths that an account has asked for and got."""
    stage = "ResponseStarted" if verb == "watch" else "ResponseComplete"
    return [
        entry["requestURI"]
        for entry in server.requests_of(account)
        if (entry["verb"], entry["stage"]) == (verb, stage)
        and entry["objectRef"].get("resource") == resource
        and entry["responseStatus"]["code"] == 200
    ]


@pytest.mark.sanitized
def test_pods_come_change_and_go(server, account, node, namespace, enrich):
    owner = ("ReplicaSet", "cart-5d9c7b8f64", unique("uid"))
    labels = {"app": "cart", "pod-template-hash": "5d9c7b8f64"}
    before = Pod(server, node, namespace, owner=owner, labels=labels).run()
    run = enrich(extract={"labels": [{"tag_name": "app", "key": "app"}]})
    assert run.wait_known(before.id) == {
        "app": "cart",
        "k8s.namespace.name": namespace,
        "k8s.pod.name": before.name,
        "k8s.pod.uid": before.uid,
        "k8s.pod.start_time": before.created,
        "k8s.deployment.name": "cart",
        "k8s.node.name": node,
        "container.image.name": "registry.example/shop/app",
        "container.image.tag": "1.2",
    }

    after = Pod(server, node, namespace, {"one": "registry.example/a:1", "two": "b"})
    assert run.ask(after.id) == {}
    after.run()
    run.wait_known(after.ids["one"], container__image__tag="1")
    assert run.ask(after.ids["two"])["container.image.tag"] == "latest"

    after.label(app="basket")
    run.wait_known(after.id, app="basket", k8s__pod__name=after.name)
    old = after.id
    after.restart()
    run.wait_known(after.id, app="basket", container__image__tag="1")
    assert run.ask(old)["k8s.pod.name"] == after.name

    elsewhere = Pod(server, create_node(server), namespace).run()
    newest = Pod(server, node, namespace).run()
    run.wait_known(newest.id, k8s__pod__name=newest.name)
    assert run.ask(elsewhere.id) == {}
    run.stop()

    (listed,) = uris(server, account, "list")
    assert f"fieldSelector=spec.nodeName%3D{node}" in listed and "limit=" in listed
    (watched,) = set(uris(server, account, "watch"))
    assert f"fieldSelector=spec.nodeName%3D{node}" in watched
    assert "allowWatchBookmarks=true" in watched
    # Owners' names come from the pods themselves.
    resources = {entry["objectRef"]["resource"] for entry in server.requests_of(account)}
    assert resources == {"pods"}


def test_a_pod_that_is_gone_is_remembered_for_a_while(server, node, namespace, enrich):
    """Its last profiles may still be on their way."""
    long, short = enrich(), enrich(pod_delete_grace_period="1s")
    pod = Pod(server, node, namespace).run()
    for run in (long, short):
        run.wait_known(pod.id)
    pod.delete()
    wait_until(lambda: not short.ask(pod.id), "a pod that is forgotten", step_s=0.1)
    assert long.ask(pod.id)["k8s.pod.name"] == pod.name
    for run in (long, short):
        run.stop()


def test_associations_beside_the_container_id(server, node, namespace, enrich):
    pod = Pod(server, node, namespace).run()
    run = enrich(
        pod_association=[
            {"sources": [{"from": "resource_attribute", "name": name}]}
            for name in ("container.id", "k8s.pod.uid", "k8s.pod.ip")
        ],
        extract={"metadata": ["k8s.pod.name"]},
    )
    run.wait_known(pod.id)
    found = run.ask_all(
        [
            {"k8s.pod.uid": pod.uid},
            {"k8s.pod.ip": pod.ip},
            # As the status of the pod has it; a Collector finds nothing.
            {"container.id": f"containerd://{pod.id}"},
            # A container that the API server has not told of yet; nor here.
            {"container.id": "new", "k8s.pod.uid": pod.uid},
        ]
    )
    for answer in found:
        assert answer["k8s.pod.name"] == pod.name
    missed = [{"k8s.pod.ip": "192.0.2.1"}, {"container.id": "new", "k8s.pod.ip": pod.ip}]
    assert run.ask_all(missed) == missed
    run.stop()


@pytest.fixture
def shop(server):
    """A node, a pod of a deployment there, and one with containers of many images."""
    node = create_node(server, annotations={"rack": "r7"})
    namespace = create_namespace(server, "shop", labels={"team": "red"})
    labels = {"app": "cart", "pod-template-hash": "5d9c7b8f64"}
    spec = {
        "selector": {"matchLabels": labels},
        "template": {
            "metadata": {"labels": labels},
            "spec": {"containers": [{"name": "app", "image": "a:1"}]},
        },
    }
    path = f"/apis/apps/v1/namespaces/{namespace}"
    deployment = server.admin.create(
        f"{path}/deployments",
        {"metadata": {"name": "cart", "labels": {"tier": "front"}}, "spec": spec},
    )["metadata"]
    owner = owned_by("Deployment", "cart", deployment["uid"])
    replica_set = server.admin.create(
        f"{path}/replicasets",
        {"metadata": {"name": "cart-5d9c7b8f64", "ownerReferences": [owner]}, "spec": spec},
    )["metadata"]
    pod = Pod(
        server,
        node,
        namespace,
        owner=("ReplicaSet", replica_set["name"], replica_set["uid"]),
        labels=labels,
        annotations={"resource.opentelemetry.io/deployment.environment.name": "test"},
    ).run()
    images = {
        "one": "registry.example/a:1",
        "two": "b",
        "three": f"c@sha256:{'12' * 32}",
        "four": f"host:5000/a/b:v1@sha256:{'34' * 32}",
    }
    return node, pod, Pod(server, node, namespace, images).run()


@pytest.mark.sanitized
def test_what_a_pod_belongs_to_may_change(server, account, shop, enrich):
    node, pod, _ = shop
    server.allow(account, PODS, *NEIGHBOURS)
    run = enrich(
        filter={"node": node},
        extract={
            "metadata": ["k8s.deployment.name", "k8s.node.uid"],
            "labels": [
                {"tag_name": "ns.$$1", "key_regex": "(te.*)", "from": "namespace"},
                {"key": "tier", "from": "deployment"},
            ],
            "annotations": [{"key": "rack", "from": "node", "tag_name": "rack"}],
        },
    )
    tier = {"k8s.deployment.label.tier": "front"}
    known = run.wait_known(pod.id, rack="r7", **{"ns.team": "red"}, **tier)
    assert known == {
        **tier,
        "k8s.deployment.name": "cart",
        "k8s.node.uid": server.admin.get(f"/api/v1/nodes/{node}")["metadata"]["uid"],
        "ns.team": "red",
        "rack": "r7",
    }
    changed = {"metadata": {"labels": {"team": "blue"}}}
    server.admin.merge(f"/api/v1/namespaces/{pod.namespace}", changed)
    run.wait_known(pod.id, **{"ns.team": "blue"})
    run.stop()


def questions(pod, many):
    """Resources that a pod is looked for of, in every way."""
    return [
        *({"container.id": identity} for identity in (pod.id, *many.ids.values())),
        {"k8s.pod.uid": pod.uid},
        {"k8s.pod.ip": many.ip},
        {"k8s.pod.uid": many.uid, "k8s.container.name": "two"},
        {"k8s.pod.uid": many.uid, "k8s.container.name": "one", "k8s.pod.name": "mine"},
        {"container.id": "unknown"},
        {"container.id": "unknown", "k8s.pod.ip": pod.ip},
        {"k8s.pod.ip": "192.0.2.1"},
        {"process.pid": 1},
    ]


EXTRACTS = [
    {"deployment_name_from_replicaset": True},
    {
        "metadata": [
            "k8s.pod.name",
            "k8s.pod.hostname",
            "k8s.pod.ip",
            "k8s.deployment.name",
            "k8s.replicaset.name",
            "k8s.replicaset.uid",
            "k8s.container.name",
            "k8s.node.uid",
            "container.id",
            "container.image.repo_digests",
            "service.name",
            "service.namespace",
            "service.version",
            "service.instance.id",
        ],
        "labels": [
            {"tag_name": "ns.$$1", "key_regex": "(te.*)", "from": "namespace"},
            {"key": "tier", "from": "deployment"},
            {"key": "app"},
        ],
        "annotations": [{"key": "rack", "from": "node", "tag_name": "rack"}],
        "otel_annotations": True,
        "deployment_name_from_replicaset": True,
    },
]


@pytest.mark.parametrize("extract", EXTRACTS, ids=["usual", "much"])
def test_the_same_as_the_collector(
    server, account, shop, start_enrichment, start_gateway, kubeconfig, monkeypatch, extract
):
    node, pod, many = shop
    server.allow(account, PODS, *NEIGHBOURS)
    options = {
        "auth_type": "kubeConfig",
        "filter": {"node": node},
        "wait_for_metadata": True,
        "wait_for_metadata_timeout": "5m",
        "extract": extract,
        "pod_association": [
            {"sources": [{"from": "resource_attribute", "name": name}]}
            for name in ("container.id", "k8s.pod.uid", "k8s.pod.ip")
        ],
    }
    monkeypatch.setenv("KUBECONFIG", str(kubeconfig))  # the Collector has no option for it
    asked = questions(pod, many)
    run = start_enrichment(options)
    ours = run.ask_all(asked)
    run.stop()
    gateway = start_gateway(processors={"k8s_attributes": options})
    theirs = ask_collector(gateway, asked)
    for question, our, their in zip(asked, ours, theirs, strict=True):
        # A pod without a name of its own for its host has none there, instead of an empty one.
        their = {key: value for key, value in their.items() if value != ""}
        assert our == their, question
    # Most were found.
    assert sum(len(their) > len(question) for question, their in zip(asked, theirs)) >= 8


@pytest.mark.sanitized
def test_a_watch_that_breaks_goes_on_where_it_was(server, account, node, namespace, enrich, proxy):
    first = Pod(server, node, namespace).run()
    run = enrich()
    run.wait_known(first.id)
    second = Pod(server, node, namespace).run()
    run.wait_known(second.id)
    for _ in range(2):
        before = len(uris(server, account, "watch"))
        proxy.reset()
        wait_until(lambda: len(uris(server, account, "watch")) > before, "another watch")

    proxy.cut()
    missed = Pod(server, node, namespace).run()
    second.label(late="yes")
    assert run.ask(first.id)["k8s.pod.name"] == first.name
    assert run.ask(missed.id) == {}
    proxy.mend()
    run.wait_known(missed.id, k8s__pod__name=missed.name)
    run.stop()
    assert len(uris(server, account, "list")) == 1


def test_the_api_server_restarts(server, account, node, namespace, enrich):
    first = Pod(server, node, namespace).run()
    run = enrich()
    run.wait_known(first.id)
    server.stop()
    try:
        assert run.ask(first.id)["k8s.pod.name"] == first.name
    finally:
        server.start()
    second = Pod(server, node, namespace).run()
    run.wait_known(second.id, k8s__pod__name=second.name)
    run.stop()


def test_history_that_is_gone_is_listed_again(server, account, node, namespace, enrich, proxy):
    """410 Gone: what the server has forgotten must not be believed for ever."""
    first, doomed = (Pod(server, node, namespace).run() for _ in range(2))
    run = enrich(pod_delete_grace_period="1s")
    for pod in (first, doomed):
        run.wait_known(pod.id)
    proxy.cut()
    doomed.delete()
    missed = Pod(server, node, namespace).run()
    server.forget_history()
    server.stop()
    server.start()
    proxy.mend()
    run.wait_known(missed.id, k8s__pod__name=missed.name)
    wait_until(lambda: not run.ask(doomed.id), "a pod that is forgotten", step_s=0.1)
    assert run.ask(first.id)["k8s.pod.name"] == first.name
    run.stop()
    assert len(uris(server, account, "list")) >= 2


class AccountFiles:
    """What the kubelet mounts into a pod: files behind a link that is replaced as a whole."""

    def __init__(self, directory, authority, token):
        self._directory = directory / "serviceaccount"
        self._directory.mkdir()
        (self._directory / "ca.crt").write_bytes(authority.read_bytes())
        (self._directory / "token").symlink_to("..data/token")
        self._versions = itertools.count(1)
        self.put(token)

    def put(self, token):
        version = self._directory / f"..{next(self._versions)}"
        version.mkdir()
        (version / "token").write_text(token)
        link = self._directory / "..new"
        link.symlink_to(version.name)
        link.rename(self._directory / "..data")

    def prefix(self):
        """Starts a command that finds the files where every pod has them."""
        script = (
            "mount -t tmpfs tmpfs /run && mkdir -p /run/secrets/kubernetes.io/serviceaccount &&"
            ' mount --bind "$0" /run/secrets/kubernetes.io/serviceaccount && exec "$@"'
        )
        return ["unshare", "--mount", "sh", "-c", script, self._directory]


@pytest.fixture
def files(server, account, proxy, tmp_path, monkeypatch):
    """The files of the account; the environment tells where the server is, as a pod's does."""
    host, _, port = proxy.address.rpartition(":")
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", host)
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", port)
    return AccountFiles(tmp_path, server.authority, server.issue_token(account))


def credentials(server, account):
    """The ids of the tokens that it has come with."""
    key = "authentication.kubernetes.io/credential-id"
    return {entry["user"]["extra"][key][0] for entry in server.requests_of(account)}


@pytest.mark.sanitized
def test_a_token_that_is_replaced_is_read_again(
    server, account, node, namespace, start_enrichment, files, proxy
):
    first = Pod(server, node, namespace).run()
    run = start_enrichment({}, files.prefix())
    run.wait_known(first.id)
    assert len(credentials(server, account)) == 1
    files.put(server.issue_token(account))
    proxy.reset()
    second = Pod(server, node, namespace).run()
    run.wait_known(second.id)
    assert len(credentials(server, account)) == 2
    run.stop()


def test_a_token_that_is_refused_is_told_and_read_again(
    server, account, node, namespace, start_enrichment, files
):
    good, wrong = server.issue_token(account), "no.such.token"
    files.put(wrong)
    pod = Pod(server, node, namespace).run()
    run = start_enrichment({}, files.prefix())
    run.run.wait_logged("401")
    assert run.ask(pod.id) == {}
    files.put(good)
    run.wait_known(pod.id)
    run.stop()
    assert wrong not in run.run.log and good not in run.run.log


def rules_in(run):
    """The rules of RBAC that a run tells to add: lines of YAML, one behind the other."""
    messages = [message for _, message in run.records("k8s_attributes")]
    begin = next(at for at, text in enumerate(messages) if text.startswith("- apiGroups:"))
    rest = itertools.takewhile(lambda text: text.startswith(" "), messages[begin + 1 :])
    return yaml.safe_load("\n".join([messages[begin], *rest]))


@pytest.mark.sanitized
def test_a_missing_right_is_named_with_what_to_add(server, account, node, namespace, enrich):
    server.allow(account)
    pod = Pod(server, node, namespace).run()
    run = enrich()
    run.run.wait_logged("  verbs:")
    assert run.ask(pod.id) == {}
    server.allow(account, *rules_in(run.run))
    run.wait_known(pod.id)
    run.stop()


def test_a_kubeconfig_with_a_certificate_and_two_contexts(
    server, node, namespace, start_enrichment, new_directory
):
    certificate = server.issue_certificate("operator", "system:masters")
    path = new_directory() / "config"
    # The key by a path relative to the file.
    (path.parent / "operator.key").symlink_to(certificate.key)
    user = {"client-certificate": str(certificate.cert), "client-key": "operator.key"}
    configuration = server.kubeconfig(user)
    other = {"name": "other", "context": {"cluster": "gone", "user": "gone"}}
    configuration["contexts"].insert(0, other)
    configuration["current-context"] = "other"
    path.write_text(yaml.safe_dump(configuration))
    pod = Pod(server, node, namespace).run()
    options = {"auth_type": "kubeConfig", "kube_config_path": str(path), "context": "test"}
    run = start_enrichment(options)
    run.wait_known(pod.id)
    run.stop()


def anonymous_kb(run):
    """Memory of its own, as the kernel counts it."""
    text = pathlib.Path(f"/proc/{run.run.pid}/status").read_text()
    return int(re.search(r"RssAnon:\s+(\d+) kB", text)[1])


def test_pods_of_other_nodes_cost_nothing(server, node, namespace, enrich, proxy):
    pod = Pod(server, node, namespace).run()
    run = enrich()
    for _ in range(20):  # until whatever grows with the first requests has grown
        run.wait_known(pod.id)
    received, memory, connections = proxy.received, anonymous_kb(run), proxy.connections
    begin = time.monotonic()
    create_pods_elsewhere(server, create_node(server), namespace, 2000)
    came, grown = proxy.received - received, anonymous_kb(run) - memory
    print(f"2000 pods elsewhere: {came} bytes received, grown by {grown} kB")
    # A bookmark a minute says how far the server has come; one pod alone is larger.
    # And a watch may just have come to its end: a new one begins with a handshake and a head.
    minutes = math.ceil((time.monotonic() - begin) / 60)
    allowed = 1500 + 500 * minutes + 8000 * (proxy.connections - connections)
    assert came < allowed, f"{came} bytes came of pods on other nodes, {allowed} are allowed"
    assert grown < 100, f"it has grown by {grown} kB"
    mine = Pod(server, node, namespace).run()
    run.wait_known(mine.id)
    run.stop()


def test_the_end_waits_for_nobody(server, node, namespace, enrich, proxy):
    """A server that has fallen silent is no reason to stay, and what was known goes out."""
    pod = Pod(server, node, namespace).run()
    run = enrich()
    run.wait_known(pod.id)
    proxy.silence()
    pod.label(late="yes")
    assert run.ask(pod.id)["k8s.pod.name"] == pod.name
    run.stop()  # in an hour, if it waited


def test_start_waits_for_the_pods_when_told_to(server, node, namespace, enrich):
    pods = [Pod(server, node, namespace).run() for _ in range(5)]
    run = enrich(wait_for_metadata=True, wait_for_metadata_timeout="5m")
    for pod, answer in zip(pods, run.ask_all([{"container.id": pod.id} for pod in pods])):
        assert answer["k8s.pod.name"] == pod.name
    run.stop()
