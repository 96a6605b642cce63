# SPDX-License-Identifier: Apache-2.0
"""Reads OTLP requests independently of the programs that wrote them.

Message numbers are those of opentelemetry-proto 1.11. Samples come in the shape that pprof_file
gives them, so that both can be compared.
"""
import collections
import dataclasses
import struct

from pprof_file import Frame, Sample
from protobuf_wire import fields_of, fixed_64, integers, one, signed

# What profcol's pprof files call an attribute, where that is another name.
_LABELS = {"process.pid": "pid", "thread.id": "tid", "thread.name": "comm"}

_BUILD_ID = "process.executable.build_id."

_WHERE = ("pid", "tid", "cpu.logical_number")


@dataclasses.dataclass(frozen=True)
class Mapping:
    file: str
    attributes: dict

    @property
    def build_id(self):
        """The one that pprof has room for."""
        ids = [self.attributes.get(_BUILD_ID + kind) for kind in ("gnu", "go", "htlhash")]
        return next(filter(None, ids), "")


@dataclasses.dataclass(frozen=True)
class Observation:
    """One value of a sample."""

    sample: Sample
    time_ns: int  # 0: not told
    resource: dict
    types: tuple  # profile.frame.type of each frame of the sample; None: not told


def _any_value(data, strings):
    """The value, of which texts may be references into the string table."""
    fields = fields_of(data)
    if fields[1]:
        return fields[1][-1].decode()
    if fields[2]:
        return bool(fields[2][-1])
    if fields[3]:
        return signed(fields[3][-1])
    if fields[4]:
        return struct.unpack("<d", struct.pack("<Q", fields[4][-1]))[0]
    if fields[5]:
        return tuple(_any_value(item, strings) for item in fields_of(fields[5][-1])[1])
    if fields[6]:
        return frozenset(_inline_attributes(fields_of(fields[6][-1])[1], strings).items())
    if fields[7]:
        return fields[7][-1]
    if fields[8]:
        return strings[fields[8][-1]]
    assert not any(fields.values()), f"a value of another type than the tests know: {dict(fields)}"
    return None


def _inline_attributes(messages, strings):
    """Keys may be references into the string table, values too."""
    attributes = {}
    for fields in map(fields_of, messages):
        key = fields[1][-1].decode() if fields[1] else strings[one(fields, 3)]
        assert key not in attributes, f"attribute '{key}' comes twice"
        attributes[key] = _any_value(one(fields, 2, b""), strings)
    return attributes


class _Dictionary:
    def __init__(self, data):
        top = fields_of(data)
        self.strings = [text.decode() for text in top[5]]
        self._attributes = [
            (self.strings[one(fields, 1)], _any_value(one(fields, 2, b""), self.strings))
            for fields in map(fields_of, top[6])
        ]
        self.mappings = [
            Mapping(self.strings[one(fields, 4)], self.attributes(fields[5]))
            for fields in map(fields_of, top[1])
        ]
        self._functions = [
            (*(self.strings[one(fields, text)] for text in (1, 2, 3)), one(fields, 4))
            for fields in map(fields_of, top[3])
        ]
        self._locations = [self._frames(fields) for fields in map(fields_of, top[2])]
        self.stacks = [  # of frames, each with its type
            tuple(
                frame
                for location in integers(fields[1])
                for frame in self._locations[location]
            )
            for fields in map(fields_of, top[7])
        ]

    def attributes(self, values):
        pairs = [self._attributes[index] for index in integers(values)]
        assert len(dict(pairs)) == len(pairs), f"an attribute comes twice: {pairs}"
        return dict(pairs)

    def _frames(self, fields):
        mapping = self.mappings[one(fields, 1)]
        attributes = self.attributes(fields[4])
        where = mapping.file, mapping.build_id, one(fields, 2)
        frames = []
        for left, line in zip(range(len(fields[3]), 0, -1), map(fields_of, fields[3])):
            name, system, source, start_line = self._functions[one(line, 1)]
            place = source, one(line, 2), start_line, left > 1
            frames.append(Frame(name, system, *where, *place))
        label = attributes.get("profcol.frame.label")  # which pprof shows as a function
        kind = attributes.get("profile.frame.type")
        unnamed = Frame(label, "" if label else None, *where)
        return [(frame, kind) for frame in frames or [unnamed]]


def _observations(fields, resource, dictionary):
    """Those of one sample."""
    labels = resource | dictionary.attributes(fields[2])
    labels = {_LABELS.get(key, key): value for key, value in labels.items()}
    stack = dictionary.stacks[one(fields, 1)]
    frames, types = (tuple(pair[part] for pair in stack) for part in (0, 1))
    times = fixed_64(fields[5])
    values = [signed(value) for value in integers(fields[4])] or [1] * len(times)
    assert len(times) in (0, len(values)), "values and timestamps are not of one number"
    for value, time_ns in zip(values, times or [0] * len(values)):
        yield Observation(Sample(frames, (value,), labels), time_ns, resource, types)


def parse(body):
    """The observations of one request, in the order of the file."""
    top = fields_of(body)
    dictionary = _Dictionary(one(top, 2, b""))
    for resource_fields in map(fields_of, top[1]):
        messages = fields_of(one(resource_fields, 1, b""))[1]
        resource = _inline_attributes(messages, dictionary.strings)
        for scope in map(fields_of, resource_fields[2]):
            for profile in map(fields_of, scope[2]):
                for sample in map(fields_of, profile[2]):
                    yield from _observations(sample, resource, dictionary)


def _value_type(data, strings):
    fields = fields_of(data)
    return strings[one(fields, 1)], strings[one(fields, 2)]


def _profile_facts(fields, dictionary):
    """What a profile says of itself, without what it was made from."""
    strings = dictionary.strings
    return {
        "sample_type": _value_type(one(fields, 1, b""), strings),
        "time": one(fields, 3),
        "duration": one(fields, 4),
        "period_type": _value_type(one(fields, 5, b""), strings),
        "period": signed(one(fields, 6)),
        "id": one(fields, 7, b""),
        "dropped": one(fields, 8),
        "attributes": dictionary.attributes(fields[11]),
    }


def profiles(body):
    """Of each profile of one request: what it says, and what its scope and its resource say; and
    the attributes of its samples."""
    top = fields_of(body)
    dictionary = _Dictionary(one(top, 2, b""))
    for resource_fields in map(fields_of, top[1]):
        own = fields_of(one(resource_fields, 1, b""))
        resource = {
            "attributes": _inline_attributes(own[1], dictionary.strings),
            "dropped": one(own, 2),
            "schema_url": one(resource_fields, 3, b""),
        }
        for scope_fields in map(fields_of, resource_fields[2]):
            own = fields_of(one(scope_fields, 1, b""))
            scope = {
                "name": one(own, 1, b""),
                "version": one(own, 2, b""),
                "attributes": _inline_attributes(own[3], dictionary.strings),
                "dropped": one(own, 4),
                "schema_url": one(scope_fields, 3, b""),
            }
            for fields in map(fields_of, scope_fields[2]):
                samples = [dictionary.attributes(fields_of(one_)[2]) for one_ in fields[2]]
                yield resource, scope, _profile_facts(fields, dictionary), samples


def mappings(body):
    """The mappings of one request, without the empty first one."""
    return _Dictionary(one(fields_of(body), 2, b"")).mappings[1:]


def read_bodies(path):
    """The requests in a file, each behind its length, as sinks and the Collector write them."""
    data = path.read_bytes() if path.exists() else b""
    at = 0
    while at < len(data):
        (length,) = struct.unpack_from(">I", data, at)
        at += 4 + length
        assert at <= len(data), f"{path} ends within a request"
        yield data[at - length : at]


def read(path):
    """All observations in a file."""
    return [seen for body in read_bodies(path) for seen in parse(body)]


def count_samples(samples):
    """How often each (stack, attributes) was seen; values are summed up."""
    counts = collections.Counter()
    for sample in samples:
        counts[sample.frames, frozenset(sample.labels.items())] += sample.values[0]
    return counts


def identities(path):
    """How often each observation is there, by what tells it from others: time, thread and CPU."""
    return collections.Counter(
        (seen.time_ns, *(seen.sample.labels.get(key) for key in _WHERE))
        for seen in read(path)
    )
