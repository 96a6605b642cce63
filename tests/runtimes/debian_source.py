# SPDX-License-Identifier: Apache-2.0
"""Unpacks the upstream source of a package of a Debian release, without Debian's patches:

    debian_source.py RELEASE DIRECTORY PACKAGE[=VERSION]

Prints its version.
"""
import pathlib
import re
import sys
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "tests"))

from apt_root import AptRoot, Unavailable, run


def unpack(release, directory, package):
    """The package's name and version."""
    directory.mkdir()
    with tempfile.TemporaryDirectory(prefix="apt-", dir=directory.parent) as path:
        architecture = run("dpkg", "--print-architecture").strip()
        files = AptRoot(path, architecture, [release], kinds=("deb-src",)).download_source(package)
        archive = next(file for file in files if re.search(r"\.orig\.tar\.\w+$", file.name))
        run("tar", "-xf", archive, "-C", directory, "--strip-components=1")
        return next(file.stem.replace("_", " ") for file in files if file.suffix == ".dsc")


if __name__ == "__main__":
    release, directory, package = sys.argv[1:]
    try:
        print(unpack(release, pathlib.Path(directory).resolve(), package))
    except Unavailable as error:
        sys.exit(f"debian_source.py: {error}")
