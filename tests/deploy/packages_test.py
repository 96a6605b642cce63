# SPDX-License-Identifier: Apache-2.0
"""The .deb on a machine with systemd: installed, started, upgraded, broken, removed. The machine is
a container, so that the profiler is told to do without samples (a pid namespace of its own); what
it does with the unit's rights is in unit_test.py.
"""
import re
import subprocess

import pytest

from nspawn import Machine, Unavailable
from profcol_run import READY
from waiting import wait_until

pytestmark = pytest.mark.packages

CONFIGURATION = "etc/profcol/pipeline.yaml"
SETTINGS = "etc/profcol/profcol.conf"
DROP_IN = """[Service]
ExecStart=
ExecStart=/usr/bin/profcol --config ${PROFCOL_CONFIG} --set receivers.profiling.error_mode=ignore
"""
SIX = {"bpf", "perfmon", "sys_ptrace", "dac_read_search", "checkpoint_restore", "syslog"}


@pytest.fixture(scope="module")
def package(source):
    paths = sorted((source / "build/packages").glob("profcol_*.deb"))
    assert len(paths) == 1, f"not one package: {paths}; run: make packages"
    return paths[0]


@pytest.fixture(scope="module")
def newer(package, tmp_path_factory):
    """The same with a higher version, and other settings."""
    directory = tmp_path_factory.mktemp("newer")
    subprocess.run(["dpkg-deb", "-R", package, directory / "tree"], check=True)
    control = directory / "tree/DEBIAN/control"
    control.write_text(re.sub("(?m)^(Version: .*)$", r"\1.1", control.read_text()))
    with (directory / "tree" / SETTINGS).open("a") as settings:
        settings.write("# of the next version\n")
    path = directory / "newer.deb"
    command = ["dpkg-deb", "--root-owner-group", "-b", directory / "tree", path]
    subprocess.run(command, check=True, capture_output=True)
    return path


@pytest.fixture
def machine(tmp_path, package, newer):
    try:
        machine = Machine(tmp_path)
    except Unavailable as error:
        pytest.skip(str(error))
    try:
        drop_ins = machine.root / "etc/systemd/system/profcol.service.d"
        drop_ins.mkdir(parents=True)
        (drop_ins / "test.conf").write_text(DROP_IN)
        for path in (package, newer):
            (machine.root / path.name).write_bytes(path.read_bytes())
        yield machine
    finally:
        machine.kill()


def show(machine, name):
    result = machine.run("systemctl", "show", "--value", "--property", name, "profcol")
    return result.stdout.strip()


def install(machine, package, *options):
    return machine.run("dpkg", "--force-confdef", "--force-confold", *options, "-i", f"/{package.name}")


def status(machine):
    """Of the running service, as the kernel has it."""
    text = machine.run("cat", f"/proc/{show(machine, 'MainPID')}/status").stdout
    return dict(re.findall(r"^(\w+):\t(.*)$", text, re.MULTILINE))


def journal(machine):
    """What the service has said since it was started last."""
    invocation = f"_SYSTEMD_INVOCATION_ID={show(machine, 'InvocationID')}"
    return machine.run("journalctl", "--no-pager", invocation, check=False).stdout


def is_ready(machine):
    return show(machine, "ActiveState") == "active" and READY in journal(machine)


def capabilities(mask):
    text = subprocess.run(["capsh", f"--decode={mask}"], capture_output=True, text=True).stdout
    return {name.removeprefix("cap_") for name in text.strip().partition("=")[2].split(",")}


def test_from_installation_to_purge(machine, package, newer):
    install(machine, package)
    wait_until(lambda: is_ready(machine), "a running service")
    assert show(machine, "UnitFileState") == "enabled"
    first = status(machine)
    user = machine.run("id", "-u", "profcol").stdout.strip()
    assert first["Uid"].split() == [user] * 4
    for name in ("CapEff", "CapPrm", "CapBnd"):
        assert capabilities(first[name]) == SIX, name
    assert (first["NoNewPrivs"], first["Seccomp"]) == ("1", "2")

    # A configuration of the administrator's own outlives an upgrade, which restarts the service.
    path = machine.root / CONFIGURATION
    assert (path.stat().st_mode & 0o777) == 0o640
    path.write_text(path.read_text() + "# mine\n")
    pid = show(machine, "MainPID")
    install(machine, newer)
    wait_until(lambda: show(machine, "MainPID") != pid and is_ready(machine), "a restart")
    assert path.read_text().endswith("# mine\n")
    # Settings that nobody has changed become the next version's, and stay the service's alone.
    settings = machine.root / SETTINGS
    assert settings.read_text().endswith("# of the next version\n")
    assert (settings.stat().st_mode & 0o777, settings.stat().st_gid) == (0o640, path.stat().st_gid)
    machine.run("systemctl", "reload", "profcol")
    wait_until(lambda: "hangup" in journal(machine), "a reload")

    # One that is not valid: the installation succeeds, what runs goes on.
    path.write_text("receivers: {profilng: }\n")
    pid = show(machine, "MainPID")
    result = install(machine, package, "--force-downgrade")
    assert "not started" in result.stderr
    assert "did you mean" in result.stderr
    assert show(machine, "MainPID") == pid

    machine.run("dpkg", "-r", "profcol")
    assert machine.run("systemctl", "is-active", "profcol", check=False).stdout != "active\n"
    assert path.exists()
    assert (machine.root / "var/lib/profcol").exists()
    machine.run("dpkg", "-P", "profcol")
    assert not path.parent.exists()
    assert not (machine.root / "var/lib/profcol").exists()
    assert machine.run("id", "profcol", check=False).returncode != 0


def test_a_broken_configuration_is_not_started(machine, package):
    path = machine.root / CONFIGURATION
    path.parent.mkdir()
    path.write_text("receivers: {profilng: }\n")
    result = install(machine, package)
    assert "not started" in result.stderr
    assert show(machine, "ActiveState") == "inactive"
    # By hand it ends with the code that keeps systemd from trying again and again.
    machine.run("systemctl", "start", "profcol", check=False)
    wait_until(lambda: show(machine, "ExecMainStatus") == "78", "the end of a start")
    assert show(machine, "ActiveState") == "failed"
    assert show(machine, "NRestarts") == "0"
