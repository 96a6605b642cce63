#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Processors of profcol beside the Collector's of the same name: nanoseconds a sample for the same
requests, both with the pods of one Kubernetes API server. `make bench-processors` builds what it
needs and calls it; docs/performance.md has the method."""
import argparse
import json
import os
import pathlib
import struct
import subprocess
import sys
import tempfile

import capture
import go_program
import report

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(SOURCE / part) for part in ("tests", "tests/peers", "tests/e2e")]

from kubernetes import ApiServer
from kubernetes_objects import Pod, create_namespace, create_node
from protobuf_wire import fields_of

DOCS = SOURCE / "docs/performance.md"
PROCESSOR_TIME = SOURCE / "build/release/tests/bench/processors/processor_time"
PODS = 60
OTHERS = 5  # one of so many pods is of the namespace that is dropped


# ---- the cluster ----


class Cluster:
    """A node with pods, each of one container."""

    def __init__(self, server, directory):
        self.node = create_node(server)
        self.dropped = create_namespace(server, "system")
        namespaces = [create_namespace(server, "shop") for _ in range(OTHERS - 1)]
        namespaces.append(self.dropped)
        self.ids = [
            self._pod(server, namespaces[number % OTHERS], number).id for number in range(PODS)
        ]
        name = "profiler"
        rule = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list", "watch"]}
        server.create_account(name, rule)
        self.kubeconfig = directory / "kubeconfig"
        user = {"token": server.issue_token(name)}
        self.kubeconfig.write_text(json.dumps(server.kubeconfig(user)))

    def _pod(self, server, namespace, number):
        template = f"{number:010x}"
        return Pod(
            server,
            self.node,
            namespace,
            owner=("ReplicaSet", f"app{number}-{template}", f"owner-{number}"),
            labels={"app": f"app{number}", "pod-template-hash": template},
        ).run()

    def chains(self):
        """Processors by what the table calls them."""
        pods = {
            "auth_type": "kubeConfig",
            "filter": {"node": self.node},
            "wait_for_metadata": True,
            "extract": {
                "deployment_name_from_replicaset": True,
                "labels": [{"key": "app", "tag_name": "app"}],
            },
            "pod_association": [
                {"sources": [{"from": "resource_attribute", "name": "container.id"}]}
            ],
        }
        cluster = {"key": "k8s.cluster.name", "value": "production", "action": "upsert"}
        secret = {"key": "process.executable.path", "action": "delete"}
        condition = f'resource.attributes["k8s.namespace.name"] == "{self.dropped}"'
        enrich = ("k8s_attributes", pods)
        change = ("resource", {"attributes": [cluster, secret]})
        drop = ("filter", {"profile_conditions": [condition]})
        return {
            "k8s_attributes": [enrich],
            "resource, two actions": [change],
            "k8s_attributes, then filter by namespace": [enrich, drop],
            "k8s_attributes, resource, filter": [enrich, change, drop],
        }


# ---- the requests ----


def _varint(value):
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _delimited(number, data):
    return bytes([number << 3 | 2]) + _varint(len(data)) + data


def _bodies(path):
    """The requests of a file, raw or each behind its length."""
    data = path.read_bytes()
    bodies, at = [], 0
    while len(data) - at >= 4:
        (length,) = struct.unpack_from(">I", data, at)
        at += 4 + length
        bodies.append(data[at - length : at])
    return bodies if at == len(data) else [data]


def _without_container(resource):
    """A Resource that has no attribute `container.id`."""
    return b"".join(
        _delimited(1, attribute)
        for attribute in fields_of(resource)[1]
        if fields_of(attribute)[1] != [b"container.id"]
    )


def _in_container(resource_profiles, identity):
    """The same of a process in that container. Messages that come twice are merged when read."""
    fields = fields_of(resource_profiles)
    value = _delimited(1, b"container.id") + _delimited(2, _delimited(1, identity.encode()))
    resource = b"".join(map(_without_container, fields[1])) + _delimited(1, value)
    scopes = b"".join(_delimited(2, scope) for scope in fields[2])
    schema = b"".join(_delimited(3, url) for url in fields[3])
    return _delimited(1, resource) + scopes + schema


def in_containers(path, ids, target):
    """Write the requests of a file again, every resource in one of the containers, in turn."""
    number = 0
    with target.open("wb") as file:
        for body in _bodies(path):
            fields, out = fields_of(body), b""
            for resource in fields[1]:
                out += _delimited(1, _in_container(resource, ids[number % len(ids)]))
                number += 1
            out += b"".join(_delimited(2, dictionary) for dictionary in fields[2])
            file.write(struct.pack(">I", len(out)) + out)
    return target


# ---- measuring ----


def _figures(program, seconds, chain, path, kubeconfig):
    options = [f"{name}={json.dumps(one)}" for name, one in chain]
    words = [word for option in options for word in ("-p", option)]
    result = subprocess.run(
        [program, "--seconds", str(seconds), *words, path],
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"KUBECONFIG": str(kubeconfig)},
        check=True,
    )
    return json.loads(result.stdout)


def _row(name, ours, theirs):
    for key in ("samples", "left"):
        if ours[key] != theirs[key]:
            raise ValueError(f"{name}: {key}: profcol {ours[key]}, Collector {theirs[key]}")
    return {
        "chain": name,
        "samples": ours["samples"],
        "left": ours["left"],
        "profcol_ns": ours["ns"] / ours["samples"],
        "collector_ns": theirs["ns"] / theirs["samples"],
    }


def measure_all(arguments, directory):
    """{file: [row]}"""
    collector = go_program.build("processors_go", "processor_time_go")
    server = ApiServer(directory)
    try:
        cluster = Cluster(server, directory)
        result = {}
        for name, path in payloads(arguments, directory).items():
            data = in_containers(path, cluster.ids, directory / "requests")
            rows = result[name] = []
            for chain, processors in cluster.chains().items():
                ours, theirs = (
                    _figures(program, arguments.seconds, processors, data, cluster.kubeconfig)
                    for program in (arguments.processor_time, collector)
                )
                rows.append(_row(chain, ours, theirs))
        return result
    finally:
        server.kill()


def payloads(arguments, directory):
    """Files by name."""
    if arguments.files:
        return {f"{path.parent.name}/{path.name}": path for path in arguments.files}
    found = {}
    if capture.OF_REFERENCE.exists():
        found["a capture of the OpenTelemetry eBPF profiler"] = capture.OF_REFERENCE
    if os.geteuid() == 0:
        print(f"recording a capture: {capture.LOAD}, {capture.SECONDS} s", file=sys.stderr)
        recorded = capture.record(arguments.profcol, directory / "capture")
        found[f"a capture of profcol, load {capture.LOAD}"] = recorded
    if not found:
        sys.exit("processors.py: no captures: give files, or run it as root, which makes one")
    return found


def tables(result):
    """Markdown, a table for each file."""
    text = ""
    for name, rows in result.items():
        text += f"\n### {name}\n\n{rows[0]['samples']:,} samples, ns for each of them.\n\n"
        text += "| processors | profcol | Collector | profcol / Collector | left |\n"
        text += "| --- | ---: | ---: | ---: | ---: |\n"
        for row in rows:
            ratio = row["profcol_ns"] / row["collector_ns"]
            text += (
                f"| {row['chain']} | {row['profcol_ns']:.1f} | {row['collector_ns']:.1f}"
                f" | {ratio:.2f} | {100 * row['left'] / row['samples']:.0f} % |\n"
            )
    return text.lstrip("\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.replace("\n", " "))
    parser.add_argument("--seconds", type=float, default=2, help="for each file and chain (2)")
    parser.add_argument("--processor-time", type=pathlib.Path, default=PROCESSOR_TIME)
    parser.add_argument(
        "--profcol",
        type=pathlib.Path,
        default=SOURCE / "build/release/profcol",
        help="the program that makes a capture (build/release/profcol)",
    )
    parser.add_argument(
        "--write-docs", action="store_true", help="put the tables into docs/performance.md"
    )
    parser.add_argument(
        "files",
        nargs="*",
        type=pathlib.Path,
        metavar="FILE",
        help="(a capture of the eBPF profiler if it is there, and as root one that is made here)",
    )
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="profcol-processors-") as directory:
        text = tables(measure_all(arguments, pathlib.Path(directory)))
    print(text)
    if arguments.write_docs:
        report.write_docs(DOCS, text, "processors")


if __name__ == "__main__":
    main()
