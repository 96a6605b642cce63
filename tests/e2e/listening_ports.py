# SPDX-License-Identifier: Apache-2.0
"""What a process listens on, as the kernel tells."""
import contextlib
import pathlib
import re


def listening_ports(pid):
    """TCP ports that the process listens on."""
    sockets = set()
    for link in pathlib.Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):  # closed meanwhile: nobody listens on it
            if match := re.fullmatch(r"socket:\[(\d+)\]", str(link.readlink())):
                sockets.add(match[1])
    ports = set()
    for table in ("tcp", "tcp6"):
        path = pathlib.Path(f"/proc/{pid}/net/{table}")
        for line in path.read_text().splitlines()[1:] if path.exists() else []:
            fields = line.split()
            if fields[3] == "0A" and fields[9] in sockets:
                ports.add(int(fields[1].rpartition(":")[2], 16))
    return ports
