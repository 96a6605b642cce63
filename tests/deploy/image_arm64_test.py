# SPDX-License-Identifier: Apache-2.0
"""The image for arm64, on an emulated processor: as far as commands that need no kernel of that
kind. Its profiles are tested by tests/kernels/arm64.
"""
import pathlib
import shutil
import subprocess

import pytest

pytestmark = pytest.mark.image_arm64

EMULATOR = "qemu-aarch64-static"


@pytest.fixture(scope="module")
def arm64_image(source):
    tree = source / "build/image-arm64"
    assert tree.exists(), f"there is no {tree}; run: make image-arm64"
    return tree


@pytest.fixture(scope="module")
def run(arm64_image):
    emulator = shutil.which(EMULATOR)
    assert emulator, f"there is no {EMULATOR}; run: scripts/setup.sh test-image-arm64"
    script = pathlib.Path(__file__).with_name("container.py")
    enter = ["/usr/bin/python3", script, "--root", arm64_image, "--capabilities", ""]

    def run(*command, mounts=()):
        options = [f"--mount={mount}:ro" for mount in (f"{emulator}:/emulator", *mounts)]
        command = [*enter, *options, "--", "/emulator", *command]
        return subprocess.run(command, capture_output=True, text=True, timeout=120)

    return run


def test_it_is_whole(arm64_image):
    files = [
        path
        for path in arm64_image.rglob("*")
        if path.is_file() and not path.is_symlink() and path.read_bytes()[:4] == b"\x7fELF"
    ]
    header = ["readelf", "--file-header"]
    for path in files:
        text = subprocess.run([*header, path], capture_output=True, text=True, check=True).stdout
        assert "AArch64" in text, path
    names = {path.name for path in files}
    assert {"profcol", "ld-linux-aarch64.so.1", "libc.so.6"} <= names
    assert sum(path.stat().st_size for path in files) <= 25e6


def test_validate(run, source):
    mount = f"{source}/pipeline.yaml.example:/etc/profcol/pipeline.yaml"
    result = run(
        "/profcol", "validate", "--config", "/etc/profcol/pipeline.yaml", mounts=[mount]
    )
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")


def test_components(run):
    result = run("/otelcol-ebpf-profiler", "components")
    assert (result.returncode, result.stderr) == (0, "")
    assert "profiling" in result.stdout


def test_a_wrong_configuration_is_told(run):
    result = run("/profcol", "validate", "--config", "yaml:{receivers: {profilng: }}")
    assert result.returncode == 78
    assert "did you mean" in result.stderr
