# SPDX-License-Identifier: Apache-2.0
"""Prints C++ for a compiler to chew on, without any header: `compiled_text.py CLASSES`.

A class template with a sort, a hash table and virtual functions, and so many classes that each
use it with types of their own.
"""
import sys

_TEMPLATES = """
typedef unsigned int word;

struct shape {
	virtual ~shape();
	virtual word area(word scale) const = 0;
};

shape::~shape() {}

template <typename KEY, word SIZE> struct table {
	KEY keys[SIZE];
	word counts[SIZE];

	word find(const KEY &key) const
	{
		word place = key.hash() % SIZE;

		for (word i = 0; i < SIZE && counts[place] && !(keys[place] == key); i++)
			place = (place + 1) % SIZE;
		return place;
	}

	void add(const KEY &key)
	{
		word place = find(key);

		keys[place] = key;
		counts[place]++;
	}

	template <typename LESS>
	__attribute__((noinline)) void sort(word first, word last, LESS less)
	{
		if (first + 1 >= last)
			return;

		word middle = first;

		for (word i = first + 1; i < last; i++) {
			if (less(keys[i], keys[first])) {
				KEY key = keys[++middle];

				keys[middle] = keys[i];
				keys[i] = key;
			}
		}
		sort(first, middle, less);
		sort(middle + 1, last, less);
	}
};
"""

_CLASS = """
struct key_{n} {{
	word x, y;

	word hash() const {{ return (x * {factor}u) ^ (y >> {shift}); }}
	bool operator==(const key_{n} &other) const {{ return x == other.x && y == other.y; }}
}};

struct shape_{n} : shape {{
	table<key_{n}, {size}> points;

	word area(word scale) const override
	{{
		word sum = {n};

		for (word i = 0; i < {size}; i++)
			sum += points.keys[i].x * scale + (points.counts[i] ? points.keys[i].y : i);
		return sum;
	}}
}};

word use_{n}(shape_{n} &used, word seed)
{{
	for (word i = 0; i < {size} / 2; i++)
		used.points.add(key_{n}{{ seed * i, seed ^ i }});
	used.points.sort(0, {size}, [seed](const key_{n} &left, const key_{n} &right) {{
		return (left.x ^ seed) < right.x || left.hash() < right.hash();
	}});
	return static_cast<shape &>(used).area(seed);
}}"""


def main():
    print(_TEMPLATES)
    for n in range(int(sys.argv[1])):
        factor, shift, size = 2654435761 + 2 * n, 1 + n % 13, 16 + n
        print(_CLASS.format(n=n, factor=factor, shift=shift, size=size))


main()
