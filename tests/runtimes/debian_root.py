# SPDX-License-Identifier: Apache-2.0
"""Unpacks packages of a Debian release, with all that they need, into the directory of a chroot:

    debian_root.py RELEASE DIRECTORY PACKAGE...

Nothing is installed: no script of a package runs. RELEASE may be several, with commas between.
Prints the packages with their versions.
"""
import pathlib
import shutil
import sys
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "tests"))

from apt_root import AptRoot, Unavailable, run

# What any program needs, and the command that makes the loader's cache.
_BASE = ("libc6", "libc-bin", "dash")
# The last ones whose packages have files in /bin and /lib.
_SPLIT = ("bullseye", "bookworm")
_MERGED = ("bin", "sbin", "lib", "lib64")
_UNREAD = ("doc", "man", "info", "locale", "lintian")  # of usr/share
_FILES = {
    "etc/passwd": "root:x:0:0:root:/root:/bin/sh\n",
    "etc/group": "root:x:0:\n",
    "etc/hosts": "127.0.0.1 localhost\n",
}


def _make_places(root, is_merged):
    for name in ("usr", "root", "etc", *(f"usr/{name}" for name in _MERGED if is_merged)):
        (root / name).mkdir()
    for name in ("proc", "sys", "dev", "tmp"):
        (root / name).mkdir()  # the machine's own will be there
    for name in _MERGED if is_merged else ():
        (root / name).symlink_to(f"usr/{name}")
    for name, text in _FILES.items():
        (root / name).write_text(text)


def _finish(root):
    for name in _UNREAD:
        shutil.rmtree(root / "usr/share" / name, ignore_errors=True)
    if not (root / "bin/sh").exists():
        (root / "bin/sh").symlink_to("dash")
    run("chroot", root, "/sbin/ldconfig")


def make(releases, root, packages):
    """The names of the packages, with their versions."""
    root.mkdir()
    with tempfile.TemporaryDirectory(prefix="apt-", dir=root.parent) as path:
        architecture = run("dpkg", "--print-architecture").strip()
        apt = AptRoot(path, architecture, releases)
        files = apt.download_with_dependencies(*_BASE, *packages)
        _make_places(root, not set(releases) & set(_SPLIT))
        for file in files:
            run("dpkg-deb", "-x", file, root)
    _finish(root)
    return [file.name.rpartition("_")[0].replace("_", " ") for file in files]


if __name__ == "__main__":
    release, directory, *names = sys.argv[1:]
    try:
        print("\n".join(make(release.split(","), pathlib.Path(directory).resolve(), names)))
    except Unavailable as error:
        sys.exit(f"debian_root.py: {error}")
