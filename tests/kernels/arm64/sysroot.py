# SPDX-License-Identifier: Apache-2.0
"""Debian's packages for arm64, unpacked side by side: what profcol is linked with there, and what
it runs on. Made once, in the cache; nothing of this machine's own packages is touched. As a
program, it prints where they lie, for PROFCOL_SYSROOT (cmake/toolchain-aarch64.cmake).
"""
import hashlib
import os
import pathlib
import re
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parents[3]
sys.path[:0] = [str(SOURCE / "tests"), str(SOURCE / "tests/kernels")]

import apt_root
import debian_kernel

ARCHITECTURE = "arm64"
RELEASE = "bookworm"  # whose cross compilers there are
_GUEST_PACKAGES = ("busybox-static", "bpftool")

_LIBRARY_FOLDERS = ("lib/aarch64-linux-gnu", "usr/lib/aarch64-linux-gnu")
_INTERPRETER = re.compile(r"Requesting program interpreter: /([^\]]+)")
_NEEDED = re.compile(r"\(NEEDED\).*\[([^\]]+)\]")


def packages():
    """Names of what is unpacked."""
    command = [SOURCE / "scripts/setup.sh", "libraries"]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    return sorted({*result.stdout.split(), *_GUEST_PACKAGES})


def _make_links_relative(root):
    """Links to /lib would lead to this machine's."""
    for path in root.rglob("*"):
        if path.is_symlink() and (target := os.readlink(path)).startswith("/"):
            path.unlink()
            path.symlink_to(os.path.relpath(root / target.lstrip("/"), path.parent))


def _make(wanted, directory):
    with tempfile.TemporaryDirectory(prefix="apt-", dir=directory.parent) as path:
        apt = apt_root.AptRoot(path, ARCHITECTURE, [RELEASE])
        unpacked = pathlib.Path(path) / "unpacked"
        for package in apt.download_with_dependencies(*wanted):
            command = ["dpkg-deb", "-x", package, unpacked]
            subprocess.run(command, capture_output=True, check=True)
        _make_links_relative(unpacked)
        try:
            os.rename(unpacked, directory)
        except OSError:
            # Another run has made it meanwhile.
            if not directory.is_dir():
                raise


def sysroot():
    """Where the packages lie; apt_root.Unavailable if they cannot be had."""
    wanted = packages()
    name = hashlib.sha256(" ".join((RELEASE, *wanted)).encode()).hexdigest()[:16]
    directory = debian_kernel.cache().parent / "sysroots" / f"{ARCHITECTURE}-{name}"
    if not directory.exists():
        directory.parent.mkdir(parents=True, exist_ok=True)
        _make(wanted, directory)
    return directory


def _read_elf(path, *what):
    command = ["readelf", "--wide", *what, path]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def _find(root, library):
    for folder in _LIBRARY_FOLDERS:
        if (path := root / folder / library).exists():
            return path
    raise FileNotFoundError(f"no {library} in {root}")


def add_libraries(root, archive, program):
    """Adds to `archive` the loader and the libraries of `root` that `program` needs, which lie as
    they do there.
    """
    queue, seen = [program], set()
    for name in _INTERPRETER.findall(_read_elf(program, "--program-headers")):
        archive.add_file(name, root / name)
    while queue:
        for library in _NEEDED.findall(_read_elf(queue.pop(), "--dynamic")):
            path = _find(root, library)
            if path not in seen:
                seen.add(path)
                queue.append(path)
                archive.add_file(path.relative_to(root), path)


if __name__ == "__main__":
    try:
        print(sysroot())
    except subprocess.CalledProcessError as error:
        said = error.stderr or ""
        said = said.decode(errors="replace") if isinstance(said, bytes) else said
        command = " ".join(map(str, error.cmd))
        sys.exit(f"sysroot.py: {command} ended with {error.returncode}\n{said}".rstrip())
    except (apt_root.Unavailable, OSError) as error:
        sys.exit(f"sysroot.py: {error}")
