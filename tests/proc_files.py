# SPDX-License-Identifier: Apache-2.0
"""What the kernel says of all processes."""
import os
import pathlib


def proc_files(name):
    """(pid, content) of /proc/PID/name, as bytes, for each process. One that ends meanwhile is left
    out, wherever it is noticed: even a pattern for paths fails when its directory goes.
    """
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            content = pathlib.Path("/proc", pid, name).read_bytes()
        except OSError:
            continue
        yield int(pid), content


def pids_with(variable, value):
    """Ids of the processes that have been started with this in their environment."""
    text = f"{variable}={value}".encode()
    return [pid for pid, content in proc_files("environ") if text in content.split(b"\0")]
