/* SPDX-License-Identifier: Apache-2.0 */
/* Memory with objects of CPython's in it, made by hand. */
#pragma once

#include "receiver/ebpf/runtimes/cpython/cpython.h"

#include <stddef.h>
#include <stdint.h>

enum {
	FORGED_BYTES = 1 << 20,
	FORGED_13T = 113, /* in place of a minor version: 3.13 without the GIL */
};

struct forged {
	struct cpython_layout layout; /* of the version it is made for */
	uint64_t start;               /* address of the first byte */
	size_t used;
	size_t reads, most_reads; /* those beyond fail */
	size_t read_bytes;
	/* Called before each read, with its number from 1 on. May be NULL. */
	void (*before)(struct forged *forged, size_t number);
	uint64_t code_type, text_type, bytes_type;
	uint8_t bytes[FORGED_BYTES];
};

/* Begin anew, as version 3.@minor has its objects. @forged is 0 before the first time. */
void forged_init(struct forged *forged, uint32_t minor);

struct runtime_memory forged_memory(struct forged *forged);

/* Room for so many bytes, all 0; its address. */
uint64_t forged_room(struct forged *forged, size_t bytes);

/* The byte at an address there is room at. */
uint8_t *forged_at(struct forged *forged, uint64_t address);

void forged_put_word(struct forged *forged, uint64_t address, uint64_t word);
void forged_put_int(struct forged *forged, uint64_t address, uint32_t number);

/* Objects: their addresses. */
uint64_t forged_type(struct forged *forged, const char *name);
uint64_t forged_text(struct forged *forged, const uint32_t *characters, size_t count, size_t width);
uint64_t forged_ascii(struct forged *forged, const char *text);
uint64_t forged_data(struct forged *forged, const void *bytes, size_t count);
uint64_t forged_code(struct forged *forged, uint64_t name, uint64_t file, uint64_t lines,
		     uint32_t first);

/* So many refer to the object, in the thread that has made it. */
void forged_refer(struct forged *forged, uint64_t object, uint32_t references);

/* What the kernel side says of it. */
uint32_t forged_check(struct forged *forged, uint64_t code);
