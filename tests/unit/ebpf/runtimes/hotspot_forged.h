/* SPDX-License-Identifier: Apache-2.0 */
/* Memory with methods and code of a JVM's in it, made by hand. */
#pragma once

#include "receiver/ebpf/runtimes/hotspot/hotspot.h"

#include <stddef.h>
#include <stdint.h>

enum {
	FORGED_BYTES = 1 << 19,
	FORGED_CODE_AT = 512, /* in a block, from the beginning on: its code */
	FORGED_CODE_BYTES = 1024,
	FORGED_COMPLETE = 16, /* bytes of code before a frame is complete */
};

struct forged {
	struct runtime_process process;
	uint64_t start; /* address of the first byte */
	size_t used;
	size_t reads, most_reads; /* those beyond fail */
	size_t read_bytes;
	size_t renewed;
	uint64_t number; /* of the request that reads; see struct runtime_memory */
	/* Called before each read, with its number from 1 on. May be NULL. */
	void (*before)(struct forged *forged, size_t number);
	uint8_t bytes[FORGED_BYTES];
};

struct forged_class {
	uint64_t klass, pool;
	uint32_t entries; /* of the pool, so far */
};

struct forged_row {
	int32_t bci, line; /* from where on, and which */
};

struct forged_scope {
	uint32_t sender; /* number of one before it, from 1 on; 0: none */
	uint32_t method; /* number in the code's metadata, from 1 on */
	int32_t bci;
};

struct forged_place {
	int32_t offset; /* in the code */
	uint32_t scope; /* number, from 1 on; 0: none */
};

/* What an nmethod is made of. */
struct forged_code {
	const char *name; /* NULL: "nmethod" */
	uint64_t method;
	uint32_t id;
	const uint64_t *metadata;
	size_t metadata_count;
	const struct forged_scope *scopes;
	size_t scope_count;
	const struct forged_place *places;
	size_t place_count;
};

/* Begin anew, as JDK @version has its structures. @forged is 0 before the first time. */
void forged_init(struct forged *forged, enum hotspot_form form, uint16_t version);

struct runtime_memory forged_memory(struct forged *forged);

/* Room for so many bytes, all 0; its address. */
uint64_t forged_room(struct forged *forged, size_t bytes);

void forged_put(struct forged *forged, uint64_t address, uint64_t word, size_t bytes);

/* Where the field is of the structure at @address. */
uint64_t forged_field(const struct forged *forged, uint64_t address, enum hotspot_word word);

/* Objects: their addresses. */
uint64_t forged_symbol(struct forged *forged, const void *bytes, size_t length);
struct forged_class forged_class(struct forged *forged, const char *name, const char *file);
uint64_t forged_method(struct forged *forged, struct forged_class *of, const char *name,
		       const char *signature, uint16_t code_bytes, const struct forged_row *rows,
		       size_t row_count);
uint64_t forged_block(struct forged *forged, const struct forged_code *code);

/* Frames, as the kernel side says of them. */
struct runtime_frame forged_interpreted(struct forged *forged, uint64_t method, uint32_t bci);
struct runtime_frame forged_called(struct forged *forged, uint64_t block, uint32_t offset);
struct runtime_frame forged_leaf(struct forged *forged, uint64_t block, uint32_t offset);
