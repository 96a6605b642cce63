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
	size_t segment_count; /* 0: no ELF file that Linux runs on 64 bits, little-endian */
	bool readable_code;   /* x86-64 or aarch64 */
};

/* Never fails: what the file does not say stays empty. */
void elf_facts_read(const void *file, size_t size, struct elf_facts *ret);
