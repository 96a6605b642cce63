// SPDX-License-Identifier: Apache-2.0
#include "elf_facts.h"

#include "htlhash.h"

#include "base/base.h"

#include <elf.h>
#include <string.h>

enum {
	MAX_NOTE_SEGMENTS = 16,
	MAX_NOTES = 256, /* in one segment */
	GO_BUILD_ID = 4, /* note type, owner "Go" */
};

static void facts_take_go_build_id(struct elf_facts *facts, const char *bytes, size_t length)
{
	if (facts->build_id_go[0] || length > ELF_FACTS_GO_BYTES)
		return;
	for (size_t i = 0; i < length; i++)
		if (bytes[i] < '!' || bytes[i] > '~')
			return;
	memcpy(facts->build_id_go, bytes, length);
	facts->build_id_go[length] = '\0';
}

static void facts_take_note(struct elf_facts *facts, uint32_t type, const char *owner,
			    size_t owner_length, const void *bytes, size_t length)
{
	if (type == NT_GNU_BUILD_ID && owner_length == 4 && !memcmp(owner, "GNU", 4)) {
		if (!facts->build_id_gnu[0] && length <= ELF_FACTS_GNU_BYTES)
			strings_hex(facts->build_id_gnu, bytes, length);
	} else if (type == GO_BUILD_ID && owner_length == 4 && !memcmp(owner, "Go\0\0", 4)) {
		facts_take_go_build_id(facts, bytes, length);
	}
}

/* gABI "Note Section"; segments aligned to 8 pad to 8, all others to 4. */
static void facts_read_notes(struct elf_facts *facts, struct reader notes, size_t alignment)
{
	for (unsigned int i = 0; i < MAX_NOTES && reader_left(&notes); i++) {
		uint32_t owner_length = reader_u32(&notes);
		uint32_t length = reader_u32(&notes);
		uint32_t type = reader_u32(&notes);
		const char *owner = reader_bytes(&notes, owner_length);
		const void *bytes;

		reader_bytes(&notes, -(12 + (size_t)owner_length) & (alignment - 1));
		bytes = reader_bytes(&notes, length);
		if (!owner || !bytes)
			return;
		facts_take_note(facts, type, owner, owner_length, bytes, length);
		reader_bytes(&notes, -(size_t)length & (alignment - 1));
	}
}

static void facts_take_load(struct elf_facts *facts, const Elf64_Phdr *header)
{
	if (facts->segment_count == WORKER_MAX_SEGMENTS || !header->p_memsz ||
	    header->p_filesz > header->p_memsz ||
	    header->p_offset > UINT64_MAX - header->p_filesz ||
	    header->p_vaddr > UINT64_MAX - header->p_memsz)
		return;
	facts->segments[facts->segment_count++] = (struct worker_segment){
		.file_offset = header->p_offset,
		.file_bytes = header->p_filesz,
		.address = header->p_vaddr,
		.memory_bytes = header->p_memsz,
		.executable = header->p_flags & PF_X ? 1 : 0,
	};
}

static void facts_read_segments(struct elf_facts *facts, const uint8_t *file, size_t size,
				const Elf64_Ehdr *elf)
{
	unsigned int note_segments = 0;

	if (elf->e_phentsize != sizeof(Elf64_Phdr) || elf->e_phoff > size)
		return;
	for (unsigned int i = 0; i < elf->e_phnum; i++) {
		uint64_t at = elf->e_phoff + i * sizeof(Elf64_Phdr);
		Elf64_Phdr header;

		if (at > size || size - at < sizeof(header))
			return;
		memcpy(&header, file + at, sizeof(header));
		if (header.p_type == PT_LOAD)
			facts_take_load(facts, &header);
		if (header.p_type == PT_NOTE && header.p_offset <= size &&
		    header.p_filesz <= size - header.p_offset &&
		    note_segments++ < MAX_NOTE_SEGMENTS)
			facts_read_notes(facts,
					 reader_over(file + header.p_offset, header.p_filesz),
					 header.p_align == 8 ? 8 : 4);
	}
}

void elf_facts_read(const void *file, size_t size, struct elf_facts *ret)
{
	uint8_t hash[HTLHASH_BYTES];
	Elf64_Ehdr elf;

	*ret = (struct elf_facts){ 0 };
	htlhash_of_memory(file, size, hash);
	strings_hex(ret->htlhash, hash, sizeof(hash));
	if (size < sizeof(elf))
		return;
	memcpy(&elf, file, sizeof(elf));
	if (memcmp(elf.e_ident, ELFMAG, SELFMAG) || elf.e_ident[EI_CLASS] != ELFCLASS64 ||
	    elf.e_ident[EI_DATA] != ELFDATA2LSB || (elf.e_type != ET_EXEC && elf.e_type != ET_DYN))
		return;
	ret->readable_code = elf.e_machine == EM_X86_64 || elf.e_machine == EM_AARCH64;
	facts_read_segments(ret, file, size, &elf);
}
