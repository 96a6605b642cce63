// SPDX-License-Identifier: Apache-2.0
#include "debug_file.h"

#include "base/base.h"

#include <elf.h>
#include <libdeflate.h>
#include <string.h>

enum { MAX_NOTE_SECTIONS = 64 };

/* A file name and nothing that leads elsewhere. */
static bool name_is_plain(const char *name)
{
	return *name && strcmp(name, ".") != 0 && strcmp(name, "..") != 0 && !strchr(name, '/');
}

void debug_link_read(struct elf_sections *sections, struct debug_link *ret)
{
	size_t index = elf_sections_find(sections, ".gnu_debuglink");
	struct elf_bytes bytes;
	struct reader reader;
	const char *name;

	*ret = (struct debug_link){ 0 };
	if (!index || elf_sections_bytes(sections, index, &bytes) || !bytes.length)
		return;
	reader = reader_over(bytes.bytes, bytes.length);
	name = reader_cstring(&reader);
	if (!name || strlen(name) >= sizeof(ret->name) || !name_is_plain(name))
		return;
	reader_bytes(&reader, -(strlen(name) + 1) & 3);
	ret->crc = reader_u32(&reader);
	if (!reader.failed)
		memcpy(ret->name, name, strlen(name) + 1);
}

/* By sections: the program headers of a debug file are those of the file that was stripped. */
static void read_build_id(struct elf_sections *sections, struct elf_facts *ret)
{
	size_t notes = 0;

	*ret = (struct elf_facts){ 0 };
	for (size_t i = 1; i < sections->count && notes < MAX_NOTE_SECTIONS; i++) {
		struct elf_bytes bytes;
		GElf_Shdr header;

		if (!elf_sections_header(sections, i, &header) || header.sh_type != SHT_NOTE)
			continue;
		notes++;
		if (!elf_sections_bytes(sections, i, &bytes) && bytes.length)
			elf_facts_read_notes(ret, bytes.bytes, bytes.length, header.sh_addralign);
	}
}

bool debug_file_belongs(const void *debug, size_t debug_bytes, struct elf_sections *sections,
			enum worker_debug found_by, const struct elf_facts *facts,
			const struct debug_link *link, uint16_t machine)
{
	struct elf_facts other;

	if (sections->machine != machine)
		return false;
	read_build_id(sections, &other);
	if (facts->build_id_gnu[0] && other.build_id_gnu[0])
		return !strcmp(facts->build_id_gnu, other.build_id_gnu);
	return found_by == WORKER_DEBUG_BY_LINK && link->name[0] &&
	       libdeflate_crc32(0, debug, debug_bytes) == link->crc;
}
