# SPDX-License-Identifier: Apache-2.0
"""Ports for programs that are told theirs before they listen."""
import contextlib
import pathlib
import random
import socket

_RANGE = pathlib.Path("/proc/sys/net/ipv4/ip_local_port_range")
_LEAST = 10000  # below are ports that programs have names for
_BLOCK = 50  # ports that a process of the tests has for itself, as long as it lives
_reserved = []  # sockets that say so to other processes of the tests
_ports = []  # of a block, not given yet


def _reserve_block():
    """The ports of a block that no other process of the tests has. An abstract name is taken by
    one socket at a time, and is free again when its process has ended, however it does.
    """
    limit = int(_RANGE.read_text().split()[0])
    last = limit if limit > 2 * _LEAST else 1 << 16
    while True:
        start = random.randrange(_LEAST, last - _BLOCK, _BLOCK)
        name = socket.socket(socket.AF_UNIX)
        with contextlib.suppress(OSError):
            name.bind(f"\0profcol-tests-ports-{start}")
            _reserved.append(name)
            return list(range(start, start + _BLOCK))
        name.close()


def _is_free(port):
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def free_port():
    """A port of 127.0.0.1 that nobody listens on just now, another one each time, also in other
    processes of the tests that run beside this one: who was given it may not listen yet. It is none
    of those that the kernel gives to whoever asks for any, or to a connection: one of these would
    often be taken a moment later.
    """
    while True:
        if not _ports:
            _ports.extend(_reserve_block())
        port = _ports.pop()
        if _is_free(port):
            return port
