# SPDX-License-Identifier: Apache-2.0
"""What a pprof file says, whatever its ids and the order of its tables and samples."""
import collections
import dataclasses
import gzip

from protobuf_wire import fields_of, integers, one, signed


@dataclasses.dataclass(frozen=True)
class Content:
    """Two files are equal in content when these are."""

    columns: tuple  # (type, unit)
    header: tuple
    samples: dict  # (stack, labels) to values, added up

    def times(self, factor):
        """The content of `factor` such files, added up; sums stop at the limits of int64."""

        def product(value):
            return max(-(1 << 63), min(factor * value, (1 << 63) - 1))

        samples = {key: tuple(map(product, values)) for key, values in self.samples.items()}
        return Content(self.columns, self.header, samples)


class _Reader:
    def __init__(self, data):
        self.top = fields_of(data)
        self.strings = [text.decode(errors="replace") for text in self.top[6]]
        self.mappings = self._table(3, self._mapping)
        self.functions = self._table(5, self._function)
        self.locations = self._table(4, self._location)

    def _table(self, field, read):
        return {one(row, 1): read(row) for row in map(fields_of, self.top[field])}

    def _text(self, row, field):
        return self.strings[one(row, field)]

    def _mapping(self, row):
        numbers = tuple(one(row, field) for field in (2, 3, 4, 7, 8, 9, 10))
        return *numbers, self._text(row, 5), self._text(row, 6)

    def _function(self, row):
        return *(self._text(row, field) for field in (2, 3, 4)), one(row, 5)

    def _location(self, row):
        lines = tuple(
            (self.functions[one(line, 1)], one(line, 2), one(line, 3))
            for line in map(fields_of, row[4])
        )
        return self.mappings.get(one(row, 2)), one(row, 3), lines, one(row, 5)

    def _label(self, row):
        key, text = self._text(row, 1), one(row, 2)
        if text:
            return key, self.strings[text], ""
        number, unit = signed(one(row, 3)), self._text(row, 4)
        # So a writer saves the number 0 from being taken for no label.
        return key, number, "" if not number and unit == key else unit

    def _value_type(self, data):
        row = fields_of(data)
        return self._text(row, 1), self._text(row, 2)

    def content(self):
        top = self.top
        samples = collections.defaultdict(lambda: (0,) * len(top[1]))
        for row in map(fields_of, top[2]):
            stack = tuple(self.locations[number] for number in integers(row[1]))
            labels = tuple(sorted(map(self._label, map(fields_of, row[3])), key=repr))
            values = (signed(value) for value in integers(row[2]))
            sums = tuple(map(sum, zip(samples[stack, labels], values)))
            samples[stack, labels] = sums
        texts = tuple(self._text(top, field) for field in (7, 8, 14, 15))
        comments = tuple(self.strings[index] for index in integers(top[13]))
        period = self._value_type(top[11][-1]) if top[11] else ("", "")
        times = tuple(one(top, field) for field in (9, 10, 12))
        columns = tuple(map(self._value_type, top[1]))
        return Content(columns, (texts, comments, period, times), dict(samples))


def parse(data):
    """The Content of the bytes of a file, gzip or bare."""
    return _Reader(gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data).content()


def read(path):
    return parse(path.read_bytes())
