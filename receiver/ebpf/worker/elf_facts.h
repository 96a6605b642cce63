/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the first bytes and the program headers of an ELF file say of it. Works
 * without section headers. Any thread.
 */
#pragma once

#include "worker.h"

enum {
	ELF_FACTS_GNU_BYTES = 64, /* of a build id: SHA-1 has 20, longest seen 32 */
	ELF_FACTS_GO_BYTES = 256, /* of a Go build id: 83 in practice */
};

struct elf_facts {
	char htlhash[33];                                    /* of any file */
	char build_id_gnu[2 * ELF_FACTS_GNU_BYTES + 1];      /* lower-case hex, or "" */
	char build_id_go[ELF_FACTS_GO_BYTES + 1];            /* or "" */
	struct worker_segment segments[WORKER_MAX_SEGMENTS]; /* in file order of the headers */
	size_t segment_count; /* 0: no little-endian ELF file of a program or library */
	bool readable_code;   /* of a machine whose symbols we know: x86, ARM, 32 or 64 bits */
	uint16_t machine;     /* e_machine */
};

/* Lets go of what was read of a file, which is hardly needed again. */
struct elf_release {
	void (*release)(const void *context);
	const void *context;
};

/* Never fails: what the file does not say stays empty. */
void elf_facts_read(const void *file, size_t size, struct elf_facts *ret);

/* Take the build ids of the notes in @bytes (gABI "Note Section", @alignment as the header of the
 * section or segment has it), as far as @facts has none yet. */
void elf_facts_read_notes(struct elf_facts *facts, const void *bytes, size_t size,
			  uint64_t alignment);

/* The address where the executable segment around @address ends; 0: there is none. */
uint64_t elf_facts_code_limit(const struct elf_facts *facts, uint64_t address);
