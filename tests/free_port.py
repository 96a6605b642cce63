# SPDX-License-Identifier: Apache-2.0
"""Ports for programs that are told theirs before they listen."""
import pathlib
import random
import socket

_RANGE = pathlib.Path("/proc/sys/net/ipv4/ip_local_port_range")
_LEAST = 10000  # below are ports that programs have names for
_given = set()  # those who were given them may not listen yet


def _is_free(port):
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def free_port():
    """A port of 127.0.0.1 that nobody listens on just now, another one each time. It is none of
    those that the kernel gives to whoever asks for any, or to a connection: one of these would
    often be taken a moment later.
    """
    limit = int(_RANGE.read_text().split()[0])
    candidates = range(_LEAST, limit if limit > 2 * _LEAST else 1 << 16)
    while True:
        port = random.choice(candidates)
        if port not in _given and _is_free(port):
            _given.add(port)
            return port
