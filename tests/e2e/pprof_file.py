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
    source: str = ""  # file of the program's text, with lines from 1 on; "" and 0: not known
    line: int = 0
    start_line: int = 0
    is_inlined: bool = False  # into the next one, at the same address

    @property
    def is_made(self):
        """Code in memory of no file that has no name of its own."""
        return not self.file and (self.name is None or self.name.startswith("[JIT "))

    @property
    def is_mark(self):
        """No function: why a stack was cut."""
        return not self.file and not self.is_made and self.name.startswith("[")


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
        return last.name if last.is_mark else None


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
    frames = []
    for left, line in zip(range(len(fields[4]), 0, -1), map(fields_of, fields[4])):
        name, system, source, start_line = functions[one(line, 1)]
        place = source, one(line, 2), start_line, left > 1
        frames.append(Frame(name, system, file, build_id, address, *place))
    return one(fields, 1), frames or [Frame(None, None, file, build_id, address)]


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
        texts = (strings[one(message, field)] for field in (2, 3, 4))
        functions[one(message, 1)] = *texts, one(message, 5)
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
