# SPDX-License-Identifier: Apache-2.0
"""One run of a script in an emulated machine: a kernel, a file system in memory, a serial line.

The script is sh (BusyBox). What it leaves in /result comes back over the serial line.
"""
import base64
import dataclasses
import io
import os
import pathlib
import shutil
import subprocess
import tarfile

from initramfs import Initramfs
from starting import start

_BEGIN, _END = "-----BEGIN RESULT-----", "-----END RESULT-----"

_INIT = f"""\
#!/bin/busybox sh
/bin/busybox --install -s /bin
export PATH=/bin:/usr/bin
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mount -t tmpfs tmp /tmp
mount -t cgroup2 cgroup /sys/fs/cgroup
mount -t tracefs trace /sys/kernel/tracing
ip link set lo up
mkdir -p /result
uname -r > /result/release
sh /script
echo $? > /result/status
# Nothing of the kernel's between the lines that follow.
dmesg -n 1
echo "{_BEGIN}"
tar -C /result -c . | gzip | base64
echo "{_END}"
# To a machine that does not start again.
reboot -f
"""


@dataclasses.dataclass(frozen=True)
class Machine:
    """How an architecture is emulated."""

    emulator: str
    options: tuple
    console: str  # as the kernel calls the serial line


AMD64 = Machine("qemu-system-x86_64", ("-cpu", "max"), "ttyS0")


class Failed(Exception):
    """A guest did not start, or not come to its end; the text says where its console is."""


def initramfs(script, busybox):
    """An Initramfs that runs `script`; `busybox` is the path of a static one. Programs, and what
    else the script needs, are for the caller to add.
    """
    archive = Initramfs()
    for name in ("proc", "sys", "dev", "tmp", "result", "root"):
        archive.add_directory(name)
    archive.add_file("bin/busybox", busybox)
    archive.add_text("init", _INIT, 0o755)
    archive.add_text("script", script)
    return archive


def _command(machine, kernel, image, console):
    # A panic ends the machine.
    # On a busy host the timer's check at boot finds that no time has passed, and panics.
    arguments = f"console={machine.console} panic=-1 quiet loglevel=4 no_timer_check"
    return [
        *("nice", "-n", "15", machine.emulator, *machine.options),
        *("-accel", "tcg,thread=multi", "-smp", "2", "-m", "2G"),
        *("-nodefaults", "-no-user-config", "-nographic", "-no-reboot"),
        *("-serial", f"file:{console}"),
        *("-kernel", kernel, "-initrd", image, "-append", arguments),
    ]


def _result(text):
    """{name: bytes} of the files in what came over the serial line."""
    _, begun, rest = text.partition(_BEGIN)
    body, ended, _ = rest.partition(_END)
    if not begun or not ended:
        raise ValueError("the guest did not come to its end")
    with tarfile.open(fileobj=io.BytesIO(base64.b64decode(body)), mode="r:gz") as archive:
        return {one.name: archive.extractfile(one).read() for one in archive if one.isfile()}


def run(machine, kernel, archive, directory, bound_s=600):
    """Starts `kernel` with `archive` and waits until it ends. Its console goes to
    `directory`/console.log. Returns the path of what the script left in /result.
    """
    if not shutil.which(machine.emulator):
        raise Failed(f"no {machine.emulator}; run: scripts/setup.sh kernels")
    directory = pathlib.Path(directory)
    image, console = directory / "initramfs.gz", directory / "console.log"
    archive.write(image)
    process = start(
        _command(machine, kernel, image, console),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        _, errors = process.communicate(timeout=bound_s)
    except subprocess.TimeoutExpired as late:
        process.kill()
        process.communicate()
        raise Failed(f"still running after {bound_s} s; its console: {console}") from late
    finally:
        os.unlink(image)
    try:
        files = _result(console.read_text(errors="replace"))
    except (EOFError, OSError, ValueError, tarfile.TarError) as why:
        raise Failed(f"{why}; its console: {console}\n{errors}") from why
    for name, data in files.items():
        path = directory / "result" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return directory / "result"
