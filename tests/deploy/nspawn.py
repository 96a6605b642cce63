# SPDX-License-Identifier: Apache-2.0
"""A machine that packages can be installed on: Debian with systemd as its first process, in a
container of systemd-nspawn, on a copy of a root that is made once.
"""
import os
import pathlib
import signal
import subprocess

from starting import start
from waiting import wait_until

RELEASE = "bookworm"
# With rpm, for packages of that kind.
_PACKAGES = "systemd,systemd-sysv,dbus,rpm"
# It looks for volumes that are none of the container's, for half a minute.
_UNWANTED = ["e2scrub_reap.service"]


class Unavailable(Exception):
    """Such a machine cannot be had here."""


def _cache():
    return pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache")


def base():
    """Where the root lies that machines are copies of; made at first use, in minutes."""
    directory = _cache() / "profcol/machines" / f"{RELEASE}-rpm"
    if directory.exists():
        return directory
    new = directory.with_name(f"{directory.name}.{os.getpid()}")
    new.parent.mkdir(parents=True, exist_ok=True)
    command = ["debootstrap", "--variant=minbase", f"--include={_PACKAGES}", RELEASE, new]
    try:
        subprocess.run(command, check=True, capture_output=True, text=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise Unavailable(f"no root of {RELEASE}: {error}") from error
    os.rename(new, directory)
    return directory


def mount_copy(directory):
    """A root of one's own, mounted below `directory`; leave() unmounts it."""
    root = directory / "root"
    for name in ("upper", "work", "root"):
        (directory / name).mkdir()
    layers = f"lowerdir={base()},upperdir={directory}/upper,workdir={directory}/work"
    subprocess.run(["mount", "-t", "overlay", "none", "-o", layers, root], check=True)
    return root


def leave(root):
    subprocess.run(["umount", "--lazy", root], check=False)


class Machine:
    """Boots in `directory`; kill() ends it whatever state it is in."""

    def __init__(self, directory):
        self.directory = directory
        self.root = mount_copy(directory)
        for unit in _UNWANTED:
            (self.root / "etc/systemd/system" / unit).symlink_to("/dev/null")
        command = ["systemd-nspawn", "--quiet", "--register=no", "--keep-unit", "--boot"]
        options = ["--capability=all", "--private-network", "--console=pipe", "-D", self.root]
        with (directory / "console").open("wb") as console:
            self.process = start(
                [*command, *options], stdin=subprocess.DEVNULL, stdout=console, stderr=console
            )
        try:
            wait_until(self._is_up, "a machine that has booted")
        except BaseException:
            self.kill()
            raise

    def _first_process(self):
        children = pathlib.Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        return children.read_text().split()

    def _is_up(self):
        if self.process.poll() is not None:
            said = (self.directory / "console").read_text(errors="replace")
            raise Unavailable(f"it does not boot: {said}")
        if not self._first_process():
            return False
        state = self.run("systemctl", "is-system-running", check=False).stdout.strip()
        return state in ("running", "degraded")

    def run(self, *command, check=True):
        """What a command says inside."""
        enter = ["nsenter", "--all", "--target", self._first_process()[0]]
        result = subprocess.run(
            [*enter, *command],
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND": "noninteractive"},
        )
        assert not check or result.returncode == 0, f"{command}: {result.stdout}{result.stderr}"
        return result

    def kill(self):
        if self.process.poll() is None:
            # All that runs inside ends with its first process, and not with systemd-nspawn.
            for pid in self._first_process():
                os.kill(int(pid), signal.SIGKILL)
            self.process.kill()
        self.process.wait()
        leave(self.root)
