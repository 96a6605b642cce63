/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Texts of CPython (Include/cpython/unicodeobject.h: PyUnicodeObject), in the memory of a process.
 * No byte is believed. Any thread.
 */
#pragma once

#include "cpython.h"

enum { CPYTHON_TEXT_BYTES = 4096 };

struct cpython_text {
	char bytes[CPYTHON_TEXT_BYTES]; /* UTF-8, cut where it is longer */
	size_t length;
};

/* Where the characters of a text are. */
struct cpython_text_place {
	uint64_t data, characters;
	uint32_t width; /* bytes of each: 1, 2 or 4 */
};

/* Those of the text at @address: RUNTIME_NAMED, or why they are not known. */
enum runtime_outcome cpython_find_text(const struct cpython_offsets *offsets,
				       const struct runtime_memory *memory, uint64_t address,
				       struct cpython_text_place *ret);

/* The text at @address: RUNTIME_NAMED, or why not. */
enum runtime_outcome cpython_read_text(const struct cpython_offsets *offsets,
				       const struct runtime_memory *memory, uint64_t address,
				       struct cpython_text *ret);

/* Is the object at @address of the type called @name? */
bool cpython_is_of_type(const struct cpython_offsets *offsets, const struct runtime_memory *memory,
			uint64_t address, const char *name);

/* Does the object at @address live, and is it of the type called @type? */
bool cpython_is_alive(const struct cpython_offsets *offsets, const struct runtime_memory *memory,
		      uint64_t address, const char *type);
