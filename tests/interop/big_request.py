# SPDX-License-Identifier: Apache-2.0
"""Requests of any size, and a way to send them to profcol's receiver: through a Collector, which
takes them over HTTP.
"""
import http.client

from protobuf_wire import fields_of


def _delimited(number, data):
    """A field with a length, as bytes."""
    out = bytearray([number << 3 | 2])
    length = len(data)
    while length >= 0x80:
        out.append(length & 0x7F | 0x80)
        length >>= 7
    out.append(length)
    return bytes(out) + data


def repeat(body, least_bytes):
    """`body` with its samples as often as it takes, under one dictionary; and how often that is."""
    fields = fields_of(body)
    resources = b"".join(_delimited(1, data) for data in fields[1])
    (dictionary,) = fields[2]
    times = -(-(least_bytes - len(dictionary)) // len(resources))
    return resources * times + _delimited(2, dictionary), times


class Feeder:
    """A Collector that passes requests on to profcol's receiver, which is already at `address`."""

    def __init__(self, start_gateway, address):
        exporter = {
            "endpoint": address,
            "tls": {"insecure": True},
            "timeout": "60s",
            # What is refused is the caller's to know.
            "sending_queue": {"enabled": False},
            "retry_on_failure": {"enabled": False},
        }
        self._gateway = start_gateway(
            exporters={"otlp": exporter}, http={"max_request_body_size": 1 << 28}
        )

    def send(self, body):
        """The HTTP status that comes of it."""
        connection = http.client.HTTPConnection(self._gateway.http, timeout=300)
        headers = {"Content-Type": "application/x-protobuf"}
        connection.request("POST", "/v1development/profiles", body, headers)
        status = connection.getresponse().status
        connection.close()
        return status
