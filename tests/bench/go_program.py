# SPDX-License-Identifier: Apache-2.0
"""Programs in Go that measure the Collector's libraries, built in place and kept in a cache."""
import hashlib
import os
import pathlib
import subprocess

SOURCE = pathlib.Path(__file__).resolve().parents[2]
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache"))


def build(folder, name):
    """The program that the folder beside this file makes, built when its sources have changed; the
    modules come through Go's proxy.
    """
    source = pathlib.Path(__file__).resolve().parent / folder
    digest = hashlib.sha256()
    for path in sorted(source.iterdir()):
        digest.update(path.read_bytes())
    program = CACHE / f"profcol/{folder}-{digest.hexdigest()[:16]}/{name}"
    if program.exists():
        return program
    go = subprocess.run(
        [SOURCE / "scripts/peers.sh", "--go"], check=True, capture_output=True, text=True
    ).stdout.strip()
    unfinished = program.with_suffix(f".{os.getpid()}")
    program.parent.mkdir(parents=True, exist_ok=True)
    environment = os.environ | {
        "GOFLAGS": "-p=2 -buildvcs=false -trimpath",
        "GOTOOLCHAIN": "local",
        "GOWORK": "off",
        "CGO_ENABLED": "0",
    }
    subprocess.run([go, "build", "-o", unfinished, "."], cwd=source, env=environment, check=True)
    unfinished.rename(program)
    return program
