# SPDX-License-Identifier: Apache-2.0
"""Reads a pprof file independently of the program that wrote it.

Message numbers are those of profile.proto in github.com/google/pprof.
"""
import dataclasses
import gzip

from protobuf_wire import fields_of, integers, one, signed


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

    @property
    def mark(self):
        """The last frame of a stack that was cut, which says why; None of a whole one."""
        last = self.frames[-1]
        return last.name if not last.file and (last.name or "").startswith("[") else None


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
    fields = fields_of(data)
    return strings[one(fields, 1)], strings[one(fields, 2)]


def _frames(data, mappings, functions):
    """The id of a location and its frames: inlined functions come first."""
    fields = fields_of(data)
    file, build_id = mappings.get(one(fields, 2), ("", ""))
    address = one(fields, 3)
    lines = [functions[one(fields_of(line), 1)] for line in fields[4]] or [(None, None)]
    frames = [Frame(name, system, file, build_id, address) for name, system in lines]
    return one(fields, 1), frames


def _labels(messages, strings):
    labels = {}
    for data in messages:
        label = fields_of(data)
        text = one(label, 2)
        key = strings[one(label, 1)]
        assert key not in labels, f"label '{key}' comes twice in one sample"
        labels[key] = strings[text] if text else signed(one(label, 3))
    return labels


def parse(data):
    """The Profile in the bytes of a pprof file, gzip or bare."""
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    top = fields_of(data)
    strings = [text.decode() for text in top[6]]
    assert strings[0] == "", "the first string is not empty"

    mappings, functions, locations = {}, {}, {}
    for message in map(fields_of, top[3]):
        mappings[one(message, 1)] = strings[one(message, 5)], strings[one(message, 6)]
    for message in map(fields_of, top[5]):
        functions[one(message, 1)] = strings[one(message, 2)], strings[one(message, 3)]
    for message in top[4]:
        number, frames = _frames(message, mappings, functions)
        locations[number] = frames

    samples = []
    for message in map(fields_of, top[2]):
        frames = [frame for number in integers(message[1]) for frame in locations[number]]
        values = tuple(signed(value) for value in integers(message[2]))
        assert len(values) == len(top[1]), "a sample has another number of values than of types"
        samples.append(Sample(tuple(frames), values, _labels(message[3], strings)))
    return Profile(
        sample_types=tuple(_value_type(message, strings) for message in top[1]),
        samples=tuple(samples),
        time_ns=one(top, 9),
        duration_ns=one(top, 10),
        period=one(top, 12),
    )


def read(path):
    """The Profile in the file at `path`."""
    return parse(path.read_bytes())
