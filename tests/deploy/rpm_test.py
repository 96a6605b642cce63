# SPDX-License-Identifier: Apache-2.0
"""The .rpm, installed, upgraded and removed by rpm in a root of its own, and on a machine with systemd.
Both are Debian's, which has the programs that the scripts call, but knows none of the packages that the
.rpm depends on.
"""
import subprocess

import pytest

import nspawn
from packages_test import DROP_IN, is_ready, show
from waiting import wait_until

pytestmark = pytest.mark.packages

CONFIGURATION = "etc/profcol/pipeline.yaml"
SETTINGS = "etc/profcol/profcol.conf"
SERVICE = "usr/lib/systemd/system/profcol.service"
NEWER = "# of the next version"
PROGRAMS = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}


@pytest.fixture(scope="module")
def package(source):
    paths = sorted((source / "build/packages").glob("profcol-*.rpm"))
    assert len(paths) == 1, f"not one package: {paths}; run: make packages"
    return paths[0]


@pytest.fixture(scope="module")
def newer(source, tmp_path_factory):
    """The next version: another default configuration, other settings, another unit."""
    directory = tmp_path_factory.mktemp("newer")
    changes = directory / "changes.cmake"
    appended = [
        f'file(APPEND "${{CPACK_TEMPORARY_INSTALL_DIRECTORY}}/{path}" "{NEWER}\\n")\n'
        for path in (CONFIGURATION, SETTINGS, SERVICE)
    ]
    changes.write_text("".join(appended))
    configuration = source / "build/release/CPackConfig.cmake"
    version = ["-R", "99.1.0", "-D", f"CPACK_PRE_BUILD_SCRIPTS={changes}"]
    run("cpack", "--config", configuration, "-G", "RPM", "-B", directory, *version)
    return directory / "profcol-99.1.0-1.x86_64.rpm"


@pytest.fixture
def bare_root(tmp_path):
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


def access(root, path):
    return inside(root, "stat", "-c", "%U:%G %a", f"/{path}").strip()


def test_what_it_needs_is_libc_a_shell_and_useradd(package):
    needed = {line.split("(")[0].split()[0] for line in run("rpm", "-qpR", package).splitlines()}
    libc = {"ld-linux-x86-64.so.2", "libc.so.6", "libm.so.6"}
    assert needed == libc | {"/bin/sh", "shadow-utils", "config", "rpmlib", "rtld"}


def test_from_installation_to_removal(bare_root, package, newer):
    root = bare_root
    rpm(root, "-i", package)
    assert inside(root, "/usr/bin/profcol", "--version").startswith("profcol version")
    # The service's user can read its configuration, and nobody else.
    assert access(root, CONFIGURATION) == access(root, SETTINGS) == "root:profcol 640"
    # All is as the package says.
    assert inside(root, "rpm", "-V", "--nodeps", "profcol") == ""
    validate = ["/usr/bin/profcol", "validate", "--config", f"/{CONFIGURATION}"]
    user = ["setpriv", "--reuid=profcol", "--regid=profcol", "--clear-groups"]
    assert inside(root, *user, *validate) == ""
    assert (root / "usr/lib/systemd/system/profcol.service").exists()

    # A configuration of the administrator's own outlives an upgrade; the next version's lies beside it.
    path = root / CONFIGURATION
    path.write_text(path.read_text() + "# mine\n")
    rpm(root, "-U", newer)
    assert inside(root, "rpm", "-q", "profcol") == "profcol-99.1.0-1.x86_64\n"
    assert path.read_text().endswith("# mine\n")
    assert (root / f"{CONFIGURATION}.rpmnew").read_text().endswith(f"{NEWER}\n")
    assert access(root, CONFIGURATION) == access(root, f"{CONFIGURATION}.rpmnew") == "root:profcol 640"
    # One that is as it was installed becomes the next version's, and nobody else can read that either.
    assert (root / SETTINGS).read_text().endswith(f"{NEWER}\n")
    assert access(root, SETTINGS) == "root:profcol 640"

    rpm(root, "-e", "profcol")
    assert not (root / "usr/bin/profcol").exists()
    assert not path.exists()
    assert path.with_name("pipeline.yaml.rpmsave").read_text().endswith("# mine\n")


# Before the real one, by the PATH of rpm's scripts: notes the script's argument and what is asked for.
SYSTEMCTL = """#!/bin/sh
[ -z "$RPM_TEST_CALLS" ] ||
	echo "$(tr '\\0' '\\n' </proc/$PPID/cmdline | tail -n 1) $*" >>"$RPM_TEST_CALLS"
exec /usr/bin/systemctl "$@"
"""

OWN_SETTINGS = """; mine
STORE = "/var/lib/profcol/own"
PROFCOL_OPTIONS='--set "extensions.health_check={}"'
"""


@pytest.fixture
def machine(tmp_path, package, newer):
    try:
        machine = nspawn.Machine(tmp_path)
    except nspawn.Unavailable as error:
        pytest.skip(str(error))
    try:
        drop_ins = machine.root / "etc/systemd/system/profcol.service.d"
        drop_ins.mkdir(parents=True)
        (drop_ins / "test.conf").write_text(DROP_IN)
        for path in (package, newer):
            (machine.root / path.name).write_bytes(path.read_bytes())
        (machine.root / "usr/sbin/systemctl").write_text(SYSTEMCTL)
        (machine.root / "usr/sbin/systemctl").chmod(0o755)
        yield machine
    finally:
        machine.kill()


def upgrade(machine, package, *options):
    """What rpm says, and what its scripts have asked systemctl for, each by the script's argument."""
    calls = machine.root / "calls"
    calls.write_text("")
    command = ["rpm", "-U", "--nodeps", *options, f"/{package.name}"]
    result = machine.run("env", "RPM_TEST_CALLS=/calls", *command)
    return result.stderr, calls.read_text().splitlines()


def program_of(machine):
    return machine.run("readlink", f"/proc/{show(machine, 'MainPID')}/exe").stdout.strip()


def test_an_upgrade_restarts_what_runs_with_the_settings_of_the_administrator(
    machine, package, newer
):
    machine.run("rpm", "-i", "--nodeps", f"/{package.name}")
    # Valid only with what profcol.conf says, which systemd and the scripts read.
    path = machine.root / CONFIGURATION
    path.write_text(path.read_text().replace("/var/lib/profcol/profiles", "${env:STORE}"))
    assert "${env:STORE}" in path.read_text()
    settings = machine.root / SETTINGS
    settings.write_text(OWN_SETTINGS)
    machine.run("systemctl", "enable", "--now", "profcol")
    wait_until(lambda: is_ready(machine), "a running service")
    pid = show(machine, "MainPID")

    said, calls = upgrade(machine, newer)
    assert "not valid" not in said, said
    # The new version's script has 2 installed, the old one's, after it, has 1.
    assert calls == ["2 daemon-reload", "1 daemon-reload", "1 try-restart profcol.service"]
    wait_until(lambda: show(machine, "MainPID") != pid and is_ready(machine), "a restart")
    assert program_of(machine) == "/usr/bin/profcol"
    assert show(machine, "NeedDaemonReload") == "no"
    assert show(machine, "UnitFileState") == "enabled"
    assert settings.read_text() == OWN_SETTINGS
    assert (machine.root / "var/lib/profcol/own").is_dir()

    # One that is not valid: the upgrade succeeds, what runs goes on.
    path.write_text("receivers: {profilng: }\n")
    pid = show(machine, "MainPID")
    said, calls = upgrade(machine, package, "--oldpackage")
    assert "not restarted" in said and "did you mean" in said
    assert calls == ["2 daemon-reload", "1 daemon-reload"]
    assert show(machine, "MainPID") == pid

    machine.run("rpm", "-e", "profcol")
    assert show(machine, "ActiveState") == "inactive"
    assert machine.run("systemctl", "is-enabled", "profcol", check=False).stdout != "enabled\n"


def test_an_upgrade_neither_starts_nor_enables_what_the_administrator_has_stopped(
    machine, package, newer
):
    machine.run("rpm", "-i", "--nodeps", f"/{package.name}")
    machine.run("systemctl", "disable", "--now", "profcol")
    upgrade(machine, newer)
    assert show(machine, "ActiveState") == "inactive"
    assert show(machine, "UnitFileState") == "disabled"


# Forms that systemd's manual names, and some that it does not.
ODD_SETTINGS = r"""# comment, K1=no
; K2=no
  K3=plain value~~
K4 = "quoted"
K5="a" 'b' c d
K6=a"b'c
K7='it is $HOME "x" \n'
K8="escaped \" \\ \$ \` \n"
K9=one \
two
K10="three \
four"
K11="five
six"
7K=no
K-=no
K12=escaped\ space\ \~
K13=
K14
K15==x=y
K16='a'\''b'
K17=ü – K
PROFCOL_CONFIG="/etc/profcol/own.yaml"
PROFCOL_OPTIONS='--set "a={b: c}" --set d=* --strange'
""".replace("~", " ")
# Tells how it was called and with which variables.
TELLING = """#!/bin/sh
[ "$1" != validate ] || shift
{ printf '%s\\0' "$@"; env -0 | grep -z '^K[0-9]' | LC_ALL=C sort -z; } >/told
"""
UNIT = """[Service]
Type=oneshot
EnvironmentFile=-/etc/profcol/profcol.conf
ExecStart=/usr/sbin/profcol --config ${PROFCOL_CONFIG} $PROFCOL_OPTIONS
"""


def test_settings_are_read_as_systemd_reads_them(machine, package):
    machine.run("rpm", "-i", "--nodeps", f"/{package.name}")
    (machine.root / SETTINGS).write_text(ODD_SETTINGS)
    (machine.root / "usr/sbin/profcol").write_text(TELLING)
    (machine.root / "usr/sbin/profcol").chmod(0o755)
    (machine.root / "etc/systemd/system/telling.service").write_text(UNIT)
    told = machine.root / "told"
    machine.run("systemctl", "start", "telling")
    by_systemd = told.read_text().split("\0")
    assert "K11=five\nsix" in by_systemd and "a={b: c}" in by_systemd
    for shell in ("dash", "bash"):
        told.unlink()
        machine.run(shell, "/usr/libexec/profcol/validate-service")
        assert told.read_text().split("\0") == by_systemd, shell
