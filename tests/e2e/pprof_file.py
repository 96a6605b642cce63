# SPDX-License-Identifier: Apache-2.0
"""Reads a pprof file independently of the program that wrote it.

Message numbers are those of profile.proto in github.com/google/pprof.
"""
import collections
import dataclasses
import gzip


def _varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7


def _fields(data):
    """(number, value) of each field; the value is an int or bytes."""
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        number, wire = key >> 3, key & 7
        if wire == 0:
            value, at = _varint(data, at)
        elif wire == 2:
            length, at = _varint(data, at)
            value = data[at : at + length]
            assert len(value) == length, "a field reaches beyond its message"
            at += length
        else:
            raise AssertionError(f"wire type {wire} is none that profile.proto uses")
        yield number, value


def _message(data):
    """All values of each field number."""
    fields = collections.defaultdict(list)
    for number, value in _fields(data):
        fields[number].append(value)
    return fields


def _signed(value):
    return value - (1 << 64) if value >= 1 << 63 else value


def _integers(values):
    """A repeated integer field, packed or not."""
    out = []
    for value in values:
        if isinstance(value, int):
            out.append(value)
            continue
        at = 0
        while at < len(value):
            number, at = _varint(value, at)
            out.append(number)
    return out


def _one(fields, number, default=0):
    return fields[number][-1] if fields[number] else default


@dataclasses.dataclass(frozen=True)
class Frame:
    """A function at one place of a stack; `name` is None where no function is known."""

    name: str
    system_name: str
    file: str  # of the mapping
    build_id: str
    address: int


@dataclasses.dataclass(frozen=True)
class Sample:
    frames: tuple  # leaf first
    values: tuple
    labels: dict  # key to text or number

    @property
    def names(self):
        return tuple(frame.name for frame in self.frames)

    @property
    def count(self):
        return self.values[0]


@dataclasses.dataclass(frozen=True)
class Profile:
    sample_types: tuple  # (type, unit)
    samples: tuple
    time_ns: int
    duration_ns: int
    period: int

    def of_pid(self, pid):
        return [sample for sample in self.samples if sample.labels.get("pid") == pid]

    @property
    def count(self):
        return sum(sample.count for sample in self.samples)


def _value_type(data, strings):
    fields = _message(data)
    return strings[_one(fields, 1)], strings[_one(fields, 2)]


def _frames(data, mappings, functions):
    """The id of a location and its frames: inlined functions come first."""
    fields = _message(data)
    file, build_id = mappings.get(_one(fields, 2), ("", ""))
    address = _one(fields, 3)
    lines = [functions[_one(_message(line), 1)] for line in fields[4]] or [(None, None)]
    frames = [Frame(name, system, file, build_id, address) for name, system in lines]
    return _one(fields, 1), frames


def _labels(messages, strings):
    labels = {}
    for message in messages:
        label = _message(message)
        text = _one(label, 2)
        key = strings[_one(label, 1)]
        assert key not in labels, f"label '{key}' comes twice in one sample"
        labels[key] = strings[text] if text else _signed(_one(label, 3))
    return labels


def parse(data):
    """The Profile in the bytes of a pprof file, gzip or bare."""
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    top = _message(data)
    strings = [text.decode() for text in top[6]]
    assert strings[0] == "", "the first string is not empty"

    mappings, functions, locations = {}, {}, {}
    for message in map(_message, top[3]):
        mappings[_one(message, 1)] = strings[_one(message, 5)], strings[_one(message, 6)]
    for message in map(_message, top[5]):
        functions[_one(message, 1)] = strings[_one(message, 2)], strings[_one(message, 3)]
    for message in top[4]:
        number, frames = _frames(message, mappings, functions)
        locations[number] = frames

    samples = []
    for message in map(_message, top[2]):
        frames = [frame for number in _integers(message[1]) for frame in locations[number]]
        values = tuple(_signed(value) for value in _integers(message[2]))
        assert len(values) == len(top[1]), "a sample has another number of values than of types"
        samples.append(Sample(tuple(frames), values, _labels(message[3], strings)))
    return Profile(
        sample_types=tuple(_value_type(message, strings) for message in top[1]),
        samples=tuple(samples),
        time_ns=_one(top, 9),
        duration_ns=_one(top, 10),
        period=_one(top, 12),
    )


def read(path):
    """The Profile in the file at `path`."""
    return parse(path.read_bytes())
