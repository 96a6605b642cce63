# SPDX-License-Identifier: Apache-2.0
"""What a Kubernetes API server says of manifests, without anything being created."""
import yaml

from kubernetes import ApiError

# Where objects of a kind are created; with a namespace where they have one.
_PATHS = {
    "ClusterRole": "/apis/rbac.authorization.k8s.io/v1/clusterroles",
    "ClusterRoleBinding": "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
    "ConfigMap": "/api/v1/namespaces/{}/configmaps",
    "DaemonSet": "/apis/apps/v1/namespaces/{}/daemonsets",
    "Deployment": "/apis/apps/v1/namespaces/{}/deployments",
    "Namespace": "/api/v1/namespaces",
    "NetworkPolicy": "/apis/networking.k8s.io/v1/namespaces/{}/networkpolicies",
    "PodDisruptionBudget": "/apis/policy/v1/namespaces/{}/poddisruptionbudgets",
    "Service": "/api/v1/namespaces/{}/services",
    "ServiceAccount": "/api/v1/namespaces/{}/serviceaccounts",
}


def read_objects(text):
    """The objects of a manifest."""
    return [each for each in yaml.safe_load_all(text) if each]


def one_of(objects, kind):
    (found,) = (each for each in objects if each["kind"] == kind)
    return found


def pod_of(objects, kind="DaemonSet"):
    """The pod that a workload is made of."""
    return one_of(objects, kind)["spec"]["template"]["spec"]


def ensure_namespace(server, name):
    """Objects of a namespace that is not there are refused, also in a dry run."""
    try:
        server.admin.create("/api/v1/namespaces", {"metadata": {"name": name}})
    except ApiError as error:
        if error.status != 409:
            raise


def dry_run(server, objects):
    """What the server would have made of each; ApiError with its complaint, unknown fields
    included.
    """
    answers = []
    for each in objects:
        path = _PATHS[each["kind"]].format(each["metadata"].get("namespace"))
        query = "?dryRun=All&fieldValidation=Strict"
        answers.append(server.admin.create(path + query, each))
    return answers
