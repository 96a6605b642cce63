/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Is a file the debug information of another one? GDB's manual, "Debugging Information in Separate
 * Files", has what is compared. One thread at a time.
 */
#pragma once

#include "elf_facts.h"
#include "elf_sections.h"
#include "worker.h"

/* The section .gnu_debuglink: a file's name, and the CRC of what it has to contain. */
struct debug_link {
	char name[WORKER_LINK_BYTES]; /* "" without one; no path */
	uint32_t crc;
};

void debug_link_read(struct elf_sections *sections, struct debug_link *ret);

/*
 * Does @debug belong to the file that @facts and @link are of? Of one found by its build id that
 * has to be equal; of one found by the link, too, and where one of the two has none, the CRC of the
 * whole file. Never of another machine, nor the file itself.
 */
bool debug_file_belongs(const void *debug, size_t debug_bytes, struct elf_sections *sections,
			enum worker_debug found_by, const struct elf_facts *facts,
			const struct debug_link *link, uint16_t machine);
