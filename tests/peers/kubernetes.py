# SPDX-License-Identifier: Apache-2.0
"""A real Kubernetes API server on a real etcd, and a client that speaks to it in JSON."""
import base64
import http.client
import itertools
import json
import os
import shutil
import signal
import ssl
import subprocess
import urllib.parse

import pytest

from certificates import Authority
from free_port import free_port
from json_lines import read_json_lines
from peer_paths import peer_path
from starting import start
from waiting import wait_until

_ADMIN_TOKEN = "admin-of-the-tests"
_ISSUER = "https://kubernetes.default.svc"
_REQUEST_BOUND_S = 30
_START_BOUND_S = 120
_AUDIT_POLICY = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "rules": [{"level": "Metadata"}],
}


class ApiError(Exception):
    """The server refused; `status` as HTTP has it."""

    def __init__(self, status, text):
        super().__init__(f"{status}: {text}")
        self.status = status


class Client:
    """Requests to an API server as one user. One thread at a time."""

    def __init__(self, address, authority, token=_ADMIN_TOKEN):
        self._address = address
        self._context = ssl.create_default_context(cafile=authority)
        self._headers = {"Authorization": f"Bearer {token}"}
        self._connection = None

    def _send(self, method, path, body, kind):
        if not self._connection:
            self._connection = http.client.HTTPSConnection(
                self._address, context=self._context, timeout=_REQUEST_BOUND_S
            )
        headers = self._headers | {"Content-Type": kind}
        self._connection.request(method, path, body and json.dumps(body), headers)
        answer = self._connection.getresponse()
        return answer.status, answer.read()

    def request(self, method, path, body=None, kind="application/json"):
        """What the server answers, parsed; ApiError where that is no success."""
        for fresh in (not self._connection, True):
            try:
                status, data = self._send(method, path, body, kind)
                break
            except (OSError, http.client.HTTPException):
                self._connection = None  # the server may have ended since the last request
                if fresh:
                    raise
        if status >= 400:
            raise ApiError(status, data.decode(errors="replace"))
        return json.loads(data) if data.startswith(b"{") else data.decode()

    def get(self, path, **query):
        return self.request("GET", f"{path}?{urllib.parse.urlencode(query)}")

    def create(self, path, body):
        try:
            return self.request("POST", path, body)
        except ApiError as error:
            if "timed out" not in str(error):
                raise
        # etcd gives up after seconds, of a machine that stood still too; it may have written.
        try:
            return self.request("POST", path, body)
        except ApiError as error:
            if error.status != 409:
                raise
        return self.request("GET", f"{path}/{body['metadata']['name']}")

    def merge(self, path, body):
        """Change what `body` names and nothing else; None takes something away."""
        return self.request("PATCH", path, body, "application/merge-patch+json")

    def delete(self, path):
        """Now, without the time that a pod is given to end."""
        return self.request("DELETE", f"{path}?gracePeriodSeconds=0")


def _etcd_path():
    """Without it the test is skipped; under CI=true it fails."""
    path = shutil.which("etcd")
    if not path:
        missing = "no etcd here; run: scripts/setup.sh test"
        if os.environ.get("CI") == "true":
            pytest.fail(missing, pytrace=False)
        pytest.skip(missing)
    return path


def _user(account, namespace):
    """What a service account is called as a user."""
    return f"system:serviceaccount:{namespace}:{account}"


def _accesses(rules):
    """Each access that `rules` of RBAC without wildcards allow, as a SubjectAccessReview has it."""
    for rule in rules:
        parts = (rule["apiGroups"], rule["resources"], rule["verbs"])
        for group, resource, verb in itertools.product(*parts):
            resource, _, subresource = resource.partition("/")
            for name in rule.get("resourceNames", [""]):
                yield {
                    "group": group,
                    "resource": resource,
                    "subresource": subresource,
                    "verb": verb,
                    "name": name,
                }


def _encoded(path):
    return base64.b64encode(path.read_bytes()).decode()


class ApiServer:
    """kube-apiserver 1.36 with RBAC and tokens of service accounts, its data in `directory`.

    `address` is HOST:PORT, of every start the same; `admin` a Client that may do anything.
    """

    def __init__(self, directory):
        self._program, etcd = peer_path("kube_apiserver"), _etcd_path()
        self._directory = directory
        self._authority = Authority(directory)
        self.authority = self._authority.path
        self._certificate = self._authority.issue("kubernetes.default.svc")
        self.port = free_port()
        self.address = f"127.0.0.1:{self.port}"
        self._etcd_client, self._server = f"127.0.0.1:{free_port()}", None
        self._write_settings()
        self._etcd = self._start_etcd(etcd)
        try:
            self.start()
        except BaseException:
            self.kill()
            raise

    # ---- running ----

    def _write_settings(self):
        (self._directory / "tokens.csv").write_text(f"{_ADMIN_TOKEN},admin,admin,system:masters\n")
        (self._directory / "audit_policy.yaml").write_text(json.dumps(_AUDIT_POLICY))
        key = self._directory / "accounts.key"
        subprocess.run(["openssl", "genrsa", "-out", key, "2048"], check=True, capture_output=True)

    def _start_etcd(self, program):
        client, peer = f"http://{self._etcd_client}", f"http://127.0.0.1:{free_port()}"
        options = {
            "data-dir": self._directory / "etcd",
            "listen-client-urls": client,
            "advertise-client-urls": client,
            "listen-peer-urls": peer,
            "initial-advertise-peer-urls": peer,
            "initial-cluster": f"default={peer}",
        }
        return self._run(program, options, "etcd.log")

    def _run(self, program, options, log):
        flags = [f"--{name}={value}" for name, value in options.items()]
        with (self._directory / log).open("ab") as file:
            return start([program, *flags], stdout=file, stderr=file, stdin=subprocess.DEVNULL)

    def start(self):
        """Start, or start again, and wait until it serves."""
        directory = self._directory
        options = {
            "etcd-servers": f"http://{self._etcd_client}",
            "bind-address": "127.0.0.1",
            "secure-port": self.port,
            "tls-cert-file": self._certificate.cert,
            "tls-private-key-file": self._certificate.key,
            "client-ca-file": self.authority,
            "cert-dir": directory,
            "service-account-issuer": _ISSUER,
            "service-account-key-file": directory / "accounts.key",
            "service-account-signing-key-file": directory / "accounts.key",
            "token-auth-file": directory / "tokens.csv",
            "authorization-mode": "RBAC",
            "disable-admission-plugins": "ServiceAccount",
            "audit-policy-file": directory / "audit_policy.yaml",
            "audit-log-path": directory / "audit.jsonl",
        }
        self._server = self._run(self._program, options, "kube_apiserver.log")
        self.admin = Client(self.address, self.authority)
        wait_until(self._is_ready, f"an API server; see {directory}", _START_BOUND_S, 0.2)

    def _is_ready(self):
        for process in (self._etcd, self._server):
            assert process.poll() is None, f"it ended early; see {self._directory}"
        try:
            return self.admin.request("GET", "/readyz") == "ok"
        except (ApiError, OSError, http.client.HTTPException):
            return False

    def stop(self):
        """End it at once, as if its machine had failed; the data stay."""
        self._server.send_signal(signal.SIGKILL)
        self._server.wait()

    def kill(self):
        for process in (self._server, self._etcd):
            if process and process.poll() is None:
                process.kill()
                process.wait()

    def forget_history(self):
        """Have the store forget every version but the newest: who asks to go on from one gets
        410 Gone, once the server has been started again.
        """
        connection = http.client.HTTPConnection(self._etcd_client, timeout=_REQUEST_BOUND_S)

        def ask(path, body):
            connection.request("POST", path, json.dumps(body))
            answer = connection.getresponse()
            text = answer.read()
            assert answer.status == 200, text
            return json.loads(text)

        everything = {"key": base64.b64encode(b"\0").decode(), "count_only": True}
        revision = ask("/v3/kv/range", everything)["header"]["revision"]
        ask("/v3/kv/compaction", {"revision": revision, "physical": True})
        connection.close()

    # ---- users ----

    def create_account(self, name, *rules, namespace="default"):
        """A service account that may do what the `rules` of RBAC say, everywhere in the cluster."""
        self.admin.create(
            f"/api/v1/namespaces/{namespace}/serviceaccounts", {"metadata": {"name": name}}
        )
        roles = "/apis/rbac.authorization.k8s.io/v1"
        self.admin.create(
            f"{roles}/clusterroles", {"metadata": {"name": name}, "rules": list(rules)}
        )
        subject = {"kind": "ServiceAccount", "name": name, "namespace": namespace}
        self.admin.create(
            f"{roles}/clusterrolebindings",
            {
                "metadata": {"name": name},
                "subjects": [subject],
                "roleRef": {
                    "apiGroup": "rbac.authorization.k8s.io",
                    "kind": "ClusterRole",
                    "name": name,
                },
            },
        )
        self._wait_rights(name, rules, namespace)

    def allow(self, name, *rules, namespace="default"):
        """Replace the rules of an account."""
        path = f"/apis/rbac.authorization.k8s.io/v1/clusterroles/{name}"
        before = self.admin.get(path).get("rules") or ()
        self.admin.merge(path, {"rules": list(rules)})
        self._wait_rights(name, rules, namespace, before)

    def _wait_rights(self, account, rules, namespace, before=()):
        """Until an account may do what the `rules` say, and nothing else of what those `before`
        said: the server's authorizer hears of a change a moment after it was made.
        """
        user = _user(account, namespace)
        allowed = list(_accesses(rules))
        for access in [*allowed, *_accesses(before)]:
            wait_until(
                lambda: self._may(user, access) == (access in allowed),
                f"the rights of {account}: {access}",
            )

    def _may(self, user, access):
        review = self.admin.create(
            "/apis/authorization.k8s.io/v1/subjectaccessreviews",
            {"spec": {"user": user, "resourceAttributes": access}},
        )
        return review["status"]["allowed"]

    def issue_token(self, name, namespace="default"):
        """A token as the kubelet puts it into a pod of this account."""
        answer = self.admin.create(
            f"/api/v1/namespaces/{namespace}/serviceaccounts/{name}/token",
            {"spec": {"expirationSeconds": 3600}},
        )
        return answer["status"]["token"]

    def issue_certificate(self, name, organization):
        """A client's Certificate: user and group."""
        return self._authority.issue(name, organization=organization)

    def kubeconfig(self, user, address=None):
        """A kubeconfig as `kubectl config view --raw` shows one; `user` as in its list."""
        cluster = {
            "server": f"https://{address or self.address}",
            "certificate-authority-data": _encoded(self.authority),
        }
        return {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "test",
            "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test"}}],
            "clusters": [{"name": "test", "cluster": cluster}],
            "users": [{"name": "test", "user": user}],
        }

    def requests_of(self, account, namespace="default"):
        """What the server has noted of the requests of an account, in their order."""
        user = _user(account, namespace)
        entries = read_json_lines(self._directory / "audit.jsonl")
        return [entry for entry in entries if entry["user"].get("username") == user]
