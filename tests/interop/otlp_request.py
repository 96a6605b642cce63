# SPDX-License-Identifier: Apache-2.0
"""Writes OTLP requests: resources with scopes with profiles, told as dicts.

Message numbers are those of opentelemetry-proto 1.11.
"""
import struct


def _varint(value):
    value &= (1 << 64) - 1
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _number(field, value):
    return _varint(field << 3) + _varint(value)


def _fixed(field, value):
    return _varint(field << 3 | 1) + struct.pack("<Q", value)


def _bytes(field, value):
    value = value.encode() if isinstance(value, str) else value
    return _varint(field << 3 | 2) + _varint(len(value)) + value


def any_value(value):
    if isinstance(value, str):
        return _bytes(1, value)
    if isinstance(value, bool):
        return _number(2, value)
    if isinstance(value, int):
        return _number(3, value)
    if isinstance(value, float):
        return _varint(4 << 3 | 1) + struct.pack("<d", value)
    if isinstance(value, (list, tuple)):
        return _bytes(5, b"".join(_bytes(1, any_value(item)) for item in value))
    if isinstance(value, dict):
        return _bytes(6, _pairs(1, value))
    if isinstance(value, bytes):
        return _bytes(7, value)
    assert value is None
    return b""


def _pairs(field, attributes):
    return b"".join(
        _bytes(field, _bytes(1, key) + _bytes(2, any_value(value)))
        for key, value in attributes.items()
    )


class _Dictionary:
    """Strings and attributes, each once; one stack of one frame."""

    def __init__(self):
        self.strings = [""]
        self._attributes = [b""]

    def string(self, text):
        if text not in self.strings:
            self.strings.append(text)
        return self.strings.index(text)

    def attributes(self, field, pairs):
        out = b""
        for key, value in pairs.items():
            entry = _number(1, self.string(key)) + _bytes(2, any_value(value))
            if entry not in self._attributes:
                self._attributes.append(entry)
            out += _varint(self._attributes.index(entry))
        return _bytes(field, out) if out else b""

    def value_type(self, field, pair):
        kind, unit = pair
        return _bytes(field, _number(1, self.string(kind)) + _number(2, self.string(unit)))

    def encode(self):
        line = _bytes(3, _number(1, 1))
        function = _number(1, self.string("work")) + _number(3, self.string("work.c"))
        out = _bytes(1, b"")
        out += _bytes(2, b"") + _bytes(2, _number(2, 4096) + line)
        out += _bytes(3, b"") + _bytes(3, function)
        out += _bytes(4, b"")
        out += b"".join(_bytes(5, text) for text in self.strings)
        out += b"".join(_bytes(6, entry) for entry in self._attributes)
        return out + _bytes(7, b"") + _bytes(7, _bytes(1, _varint(1)))


def _profile(profile, dictionary):
    out = dictionary.value_type(1, profile.get("sample_type", ("samples", "count")))
    for sample in profile["samples"]:
        out += _bytes(
            2,
            _number(1, 1)
            + dictionary.attributes(2, sample)
            + _bytes(4, _varint(1))
            + _bytes(5, struct.pack("<Q", profile["time"])),
        )
    out += _fixed(3, profile["time"]) + _number(4, profile["duration"])
    out += dictionary.value_type(5, profile.get("period_type", ("cpu", "nanoseconds")))
    out += _number(6, profile.get("period", 0))
    out += _bytes(7, profile.get("id", bytes(16)))
    out += _number(8, profile.get("dropped", 0))
    if "format" in profile:
        out += _bytes(9, profile["format"]) + _bytes(10, profile["payload"])
    return out + dictionary.attributes(11, profile.get("attributes", {}))


def _scope(scope, dictionary):
    out = _bytes(1, scope.get("name", "")) + _bytes(2, scope.get("version", ""))
    out += _pairs(3, scope.get("attributes", {})) + _number(4, scope.get("dropped", 0))
    out = _bytes(1, out)
    out += b"".join(_bytes(2, _profile(one, dictionary)) for one in scope["profiles"])
    return out + _bytes(3, scope.get("schema_url", ""))


def encode(resources):
    """An ExportProfilesServiceRequest. `samples` are the attributes of each."""
    dictionary = _Dictionary()
    out = b""
    for resource in resources:
        own = _pairs(1, resource["attributes"]) + _number(2, resource.get("dropped", 0))
        one = _bytes(1, own)
        one += b"".join(_bytes(2, _scope(scope, dictionary)) for scope in resource["scopes"])
        out += _bytes(1, one + _bytes(3, resource.get("schema_url", "")))
    return out + _bytes(2, dictionary.encode())
