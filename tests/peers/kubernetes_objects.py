# SPDX-License-Identifier: Apache-2.0
"""Nodes, namespaces and pods at an API server, in the states that a scheduler and a kubelet would
bring them into: here nobody else does.
"""
import itertools
import secrets

_counter = itertools.count(1)


def unique(prefix):
    """A name that no other test has at this server."""
    return f"{prefix}-{next(_counter)}-{secrets.token_hex(3)}"


def create_namespace(api, prefix, **metadata):
    """Its name."""
    name = unique(prefix)
    api.admin.create("/api/v1/namespaces", {"metadata": {"name": name} | metadata})
    return name


def create_node(api, prefix="node", **metadata):
    """Its name."""
    name = unique(prefix)
    api.admin.create("/api/v1/nodes", {"metadata": {"name": name} | metadata})
    return name


def owned_by(kind, name, uid, api_version="apps/v1"):
    """What an object says of the one that manages it."""
    return {
        "apiVersion": api_version,
        "kind": kind,
        "name": name,
        "uid": uid,
        "controller": True,
    }


def _container_status(name, image, identity, restarts):
    return {
        "name": name,
        "image": image,
        "imageID": f"{image.partition(':')[0]}@sha256:{'ab' * 32}",
        "containerID": f"containerd://{identity}",
        "ready": True,
        "started": True,
        "restartCount": restarts,
        "state": {"running": {"startedAt": "2026-01-02T03:04:05Z"}},
    }


class Pod:
    """A pod that has been bound to a node; it runs once run() has been called.

    `containers` are images by the containers' names; `ids` the containers' ids by their names,
    known beforehand so that a process can run before the API server has heard of it.
    """

    def __init__(self, api, node, namespace, containers=None, name=None, owner=None, **metadata):
        self._api, self.node, self.namespace = api, node, namespace
        self._images = containers or {"app": "registry.example/shop/app:1.2"}
        self.name = name or unique("pod")
        self.ids = {name: secrets.token_hex(32) for name in self._images}
        self._restarts = 0
        self.ip = ".".join(["10", *(str(secrets.randbelow(254) + 1) for _ in range(3))])
        self._path = f"/api/v1/namespaces/{namespace}/pods"
        if owner:
            metadata["ownerReferences"] = [owned_by(*owner)]
        pod = api.admin.create(
            self._path,
            {
                "metadata": {"name": self.name} | metadata,
                "spec": {
                    "nodeName": node,
                    "containers": [
                        {"name": name, "image": image} for name, image in self._images.items()
                    ],
                },
            },
        )
        self.uid, self.created = (pod["metadata"][key] for key in ("uid", "creationTimestamp"))
        self._path += f"/{self.name}"

    @property
    def id(self):
        """Of the one container, or the first of several."""
        return next(iter(self.ids.values()))

    def _set_status(self, **status):
        self._api.admin.merge(f"{self._path}/status", {"status": status})

    def run(self):
        """As the kubelet says that its containers have started."""
        statuses = [
            _container_status(name, image, self.ids[name], self._restarts)
            for name, image in self._images.items()
        ]
        self._set_status(
            phase="Running",
            podIP=self.ip,
            podIPs=[{"ip": self.ip}],
            startTime="2026-01-02T03:04:00Z",
            containerStatuses=statuses,
        )
        return self

    def restart(self):
        """Its containers have ended, and run again under other ids."""
        self.ids = {name: secrets.token_hex(32) for name in self._images}
        self._restarts += 1
        return self.run()

    def label(self, **labels):
        self._api.admin.merge(self._path, {"metadata": {"labels": labels}})

    def delete(self):
        self._api.admin.delete(self._path)


def create_pods_elsewhere(api, node, namespace, count):
    """As many pods as that on one node, as small as they can be."""
    for _ in range(count):
        api.admin.create(
            f"/api/v1/namespaces/{namespace}/pods",
            {
                "metadata": {"name": unique("other"), "labels": {"app": "other"}},
                "spec": {
                    "nodeName": node,
                    "containers": [{"name": "app", "image": "registry.example/other:1"}],
                },
            },
        )
