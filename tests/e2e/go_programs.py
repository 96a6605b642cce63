# SPDX-License-Identifier: Apache-2.0
"""Programs in Go, built from sources of ours by any Go."""
import os
import shutil
import subprocess


def build(go, sources, path, flags=(), has_c=False):
    """Builds the package in `sources`, which need no network, to `path`, and returns that."""
    folder = path.parent / f"{path.name}.source"
    shutil.copytree(sources, folder)
    environment = os.environ | {
        "GOWORK": "off",
        "GOTOOLCHAIN": "local",
        "CGO_ENABLED": str(int(has_c)),
    }
    command = [go, "build", *flags, "-o", path, "."]
    made = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    assert made.returncode == 0, made.stderr
    return path
