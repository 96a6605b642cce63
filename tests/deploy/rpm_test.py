# SPDX-License-Identifier: Apache-2.0
"""The .rpm, installed, upgraded and removed by rpm in a root of its own. The root is Debian's, which
has the programs that the scripts call, but knows none of the packages that the .rpm depends on.
"""
import subprocess

import pytest

import nspawn

pytestmark = pytest.mark.packages

CONFIGURATION = "etc/profcol/pipeline.yaml"
PROGRAMS = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}


@pytest.fixture(scope="module")
def package(source):
    paths = sorted((source / "build/packages").glob("profcol-*.rpm"))
    assert len(paths) == 1, f"not one package: {paths}; run: make packages"
    return paths[0]


@pytest.fixture
def root(tmp_path):
    try:
        root = nspawn.mount_copy(tmp_path)
    except nspawn.Unavailable as error:
        pytest.skip(str(error))
    yield root
    nspawn.leave(root)


def run(*command):
    result = subprocess.run(command, capture_output=True, text=True, env=PROGRAMS)
    assert result.returncode == 0, f"{command}: {result.stdout}{result.stderr}"
    return result.stdout + result.stderr


def rpm(root, *arguments):
    return run("rpm", "--root", root, "--nodeps", *arguments)


def inside(root, *command):
    return run("chroot", root, *command)


def test_what_it_needs_is_libc_a_shell_and_useradd(package):
    needed = {line.split("(")[0].split()[0] for line in run("rpm", "-qpR", package).splitlines()}
    libc = {"ld-linux-x86-64.so.2", "libc.so.6", "libm.so.6"}
    assert needed == libc | {"/bin/sh", "shadow-utils", "config", "rpmlib", "rtld"}


def test_from_installation_to_removal(root, package):
    rpm(root, "-i", package)
    assert inside(root, "/usr/bin/profcol", "--version").startswith("profcol version")
    # The service's user can read its configuration, and nobody else.
    mode = inside(root, "stat", "-c", "%U:%G %a", f"/{CONFIGURATION}")
    assert mode == "root:profcol 640\n"
    validate = ["/usr/bin/profcol", "validate", "--config", f"/{CONFIGURATION}"]
    user = ["setpriv", "--reuid=profcol", "--regid=profcol", "--clear-groups"]
    assert inside(root, *user, *validate) == ""
    assert (root / "usr/lib/systemd/system/profcol.service").exists()

    # A configuration of the administrator's own outlives an upgrade.
    path = root / CONFIGURATION
    path.write_text(path.read_text() + "# mine\n")
    rpm(root, "-U", "--force", package)
    assert path.read_text().endswith("# mine\n")
    assert inside(root, "stat", "-c", "%U:%G %a", f"/{CONFIGURATION}") == mode

    rpm(root, "-e", "profcol")
    assert not (root / "usr/bin/profcol").exists()
    assert not path.exists()
    assert path.with_name("pipeline.yaml.rpmsave").read_text().endswith("# mine\n")
