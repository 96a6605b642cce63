# SPDX-License-Identifier: Apache-2.0
"""Debian's kernels, as this machine's Debian mirror has them.

Each is kept in the cache as it was when it was first asked for, in VERSION-ARCHITECTURE/vmlinuz;
a kernel from elsewhere may be put there. No root needed.
"""
import os
import pathlib
import tempfile

from apt_root import AptRoot, Unavailable, run

# By version: the release that has it. Cloud kernels are the same source with fewer drivers.
RELEASES = {"5.10": "bullseye", "6.1": "bookworm", "6.12": "trixie"}


def cache():
    """Where what is downloaded stays."""
    base = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
    return pathlib.Path(base) / "profcol/kernels"


def _kernel_package(root, architecture):
    """The name of the package that has the newest cloud kernel."""
    text = root.apt("apt-cache", "depends", f"linux-image-cloud-{architecture}")
    names = [line.split()[-1] for line in text.splitlines() if "Depends: linux-image" in line]
    if not names:
        raise Unavailable(f"no kernel among what linux-image-cloud-{architecture} needs")
    return names[0]


def _fetch(version, architecture, directory):
    """vmlinuz into `directory`, complete or not there."""
    cache().mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="apt-", dir=cache()) as path:
        root = AptRoot(path, architecture, [RELEASES[version]])
        (package,) = root.download(_kernel_package(root, architecture))
        run("dpkg-deb", "-x", package, root.path / "unpacked")
        (image,) = (root.path / "unpacked/boot").glob("vmlinuz-*")
        directory.mkdir(exist_ok=True)
        os.rename(image, directory / "vmlinuz")


def kernel(version, architecture="amd64"):
    """The path of the image of Debian's kernel `version`, one of RELEASES."""
    directory = cache() / f"{version}-{architecture}"
    image = directory / "vmlinuz"
    if not image.exists():
        try:
            _fetch(version, architecture, directory)
        except Unavailable as why:
            raise Unavailable(f"no kernel {version}; put one at {image}. {why}") from why
    return image
