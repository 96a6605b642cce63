# SPDX-License-Identifier: Apache-2.0
"""Whole configurations of profilers on the nodes of a cluster, as users of the reference
distribution and of its chart have them, load as they are."""
import os
import pathlib
import re
import subprocess

import pytest
import yaml

FOLDER = pathlib.Path(__file__).resolve().parent / "daemonsets"
CASES = sorted(FOLDER.glob("*.yaml"))
GATE = "--feature-gates=service.profilesSupport"
# What the pod's manifest sets.
ENVIRONMENT = {
    "CLUSTER": "prod-1",
    "K8S_NODE_IP": "10.0.0.7",
    "K8S_NODE_NAME": "node-7",
    "MY_POD_IP": "10.1.2.3",
    "NODE_NAME": "node-7",
    "OTEL_K8S_NAMESPACE": "shop",
    "OTEL_K8S_NODE_NAME": "node-7",
    "VENDOR_ENDPOINT": "profiles.example.com:443",
    "VENDOR_TOKEN": "secret-of-the-vendor",
}


def _run(executable, *arguments):
    return subprocess.run(
        [executable, *arguments], capture_output=True, text=True, timeout=300, check=False,
        env={"PATH": os.environ["PATH"], "HOME": "/root", **ENVIRONMENT},
    )


def test_there_are_enough_of_them():
    assert len(CASES) >= 6


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_it_loads_unchanged(program, path):
    result = _run(program, "validate", "--config", path, GATE)
    assert result.returncode == 0, result.stderr
    assert all("alias is deprecated" in line for line in result.stderr.splitlines()), result.stderr


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_what_is_printed_is_the_same(program, tmp_path, path):
    printed = _run(program, "print-config", "--config", path, GATE)
    assert printed.returncode == 0, printed.stderr
    assert ENVIRONMENT["VENDOR_TOKEN"] not in printed.stdout
    again = tmp_path / "again.yaml"
    again.write_text(printed.stdout, encoding="utf-8")
    result = _run(program, "validate", "--config", again, GATE)
    assert result.returncode == 0, result.stderr


def _for_the_gateway(path):
    """The processors and exporters that the Collector of the tests has, behind OTLP."""
    text = re.sub(r"\$\{env:(\w+)(:-[^}]*)?\}",
                  lambda match: ENVIRONMENT.get(match[1], (match[2] or "")[2:]),
                  path.read_text(encoding="utf-8"))
    config = yaml.safe_load(text)
    lacking = ("resource_detection", "resourcedetection", "batch")
    is_there = lambda name: name.partition("/")[0] not in lacking
    config["receivers"] = {"otlp": {"protocols": {"grpc": {}}}}
    config["processors"] = {
        name: body for name, body in config["processors"].items() if is_there(name)
    }
    del config["extensions"], config["service"]["extensions"]
    for pipeline in config["service"]["pipelines"].values():
        pipeline["receivers"] = ["otlp"]
        pipeline["processors"] = [name for name in pipeline["processors"] if is_there(name)]
    return config


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_the_collector_takes_them_too(peer, tmp_path, path):
    config = tmp_path / "gateway.yaml"
    config.write_text(yaml.safe_dump(_for_the_gateway(path)), encoding="utf-8")
    result = _run(peer("gateway"), "validate", "--config", config, GATE)
    assert result.returncode == 0, result.stderr
