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

void elf_facts_read_notes(struct elf_facts *facts, const void *bytes, size_t size,
			  uint64_t alignment)
{
	struct reader notes = reader_over(bytes, size);

	// What is aligned to 8 pads to 8, all others to 4.
	alignment = alignment == 8 ? 8 : 4;
	for (unsigned int i = 0; i < MAX_NOTES && reader_left(&notes); i++) {
		uint32_t owner_length = reader_u32(&notes);
		uint32_t length = reader_u32(&notes);
		uint32_t type = reader_u32(&notes);
		const char *owner = reader_bytes(&notes, owner_length);
		const void *contents;

		reader_bytes(&notes, -(12 + (size_t)owner_length) & (alignment - 1));
		contents = reader_bytes(&notes, length);
		if (!owner || !contents)
			return;
		facts_take_note(facts, type, owner, owner_length, contents, length);
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

/* The program header at @at, of either class, as one of 64 bits. False: the file ends before. */
static bool program_header_at(const uint8_t *file, size_t size, uint64_t at, bool is_64_bit,
			      Elf64_Phdr *ret)
{
	Elf32_Phdr narrow;

	if (at > size || size - at < (is_64_bit ? sizeof(*ret) : sizeof(narrow)))
		return false;
	if (is_64_bit) {
		memcpy(ret, file + at, sizeof(*ret));
		return true;
	}
	memcpy(&narrow, file + at, sizeof(narrow));
	*ret = (Elf64_Phdr){
		.p_type = narrow.p_type,
		.p_flags = narrow.p_flags,
		.p_offset = narrow.p_offset,
		.p_vaddr = narrow.p_vaddr,
		.p_filesz = narrow.p_filesz,
		.p_memsz = narrow.p_memsz,
		.p_align = narrow.p_align,
	};
	return true;
}

static void facts_read_segments(struct elf_facts *facts, const uint8_t *file, size_t size,
				const Elf64_Ehdr *elf, bool is_64_bit)
{
	size_t entry = is_64_bit ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr);
	unsigned int note_segments = 0;

	if (elf->e_phentsize != entry || elf->e_phoff > size)
		return;
	for (unsigned int i = 0; i < elf->e_phnum; i++) {
		Elf64_Phdr header;

		if (!program_header_at(file, size, elf->e_phoff + i * entry, is_64_bit, &header))
			return;
		if (header.p_type == PT_LOAD)
			facts_take_load(facts, &header);
		if (header.p_type == PT_NOTE && header.p_offset <= size &&
		    header.p_filesz <= size - header.p_offset &&
		    note_segments++ < MAX_NOTE_SEGMENTS)
			elf_facts_read_notes(facts, file + header.p_offset, header.p_filesz,
					     header.p_align);
	}
}

/* The header of either class, as far as it is looked at here, as one of 64 bits. */
static bool elf_header_read(const void *file, size_t size, Elf64_Ehdr *ret, bool *is_64_bit_ret)
{
	const unsigned char *ident = file;
	Elf32_Ehdr narrow;

	if (size < sizeof(narrow) || memcmp(ident, ELFMAG, SELFMAG) != 0 ||
	    ident[EI_DATA] != ELFDATA2LSB)
		return false;
	*is_64_bit_ret = ident[EI_CLASS] == ELFCLASS64;
	if (*is_64_bit_ret) {
		if (size < sizeof(*ret))
			return false;
		memcpy(ret, file, sizeof(*ret));
		return true;
	}
	if (ident[EI_CLASS] != ELFCLASS32)
		return false;
	memcpy(&narrow, file, sizeof(narrow));
	*ret = (Elf64_Ehdr){
		.e_type = narrow.e_type,
		.e_machine = narrow.e_machine,
		.e_phoff = narrow.e_phoff,
		.e_phentsize = narrow.e_phentsize,
		.e_phnum = narrow.e_phnum,
	};
	return true;
}

static bool machine_is_known(uint16_t machine, bool is_64_bit)
{
	if (is_64_bit)
		return machine == EM_X86_64 || machine == EM_AARCH64;
	// x32 has the processor's number, with 32-bit files.
	return machine == EM_386 || machine == EM_ARM || machine == EM_X86_64;
}

void elf_facts_read(const void *file, size_t size, struct elf_facts *ret)
{
	uint8_t hash[HTLHASH_BYTES];
	bool is_64_bit = false;
	Elf64_Ehdr elf;

	*ret = (struct elf_facts){ 0 };
	htlhash_of_memory(file, size, hash);
	strings_hex(ret->htlhash, hash, sizeof(hash));
	if (!elf_header_read(file, size, &elf, &is_64_bit) ||
	    (elf.e_type != ET_EXEC && elf.e_type != ET_DYN))
		return;
	ret->machine = elf.e_machine;
	ret->readable_code = machine_is_known(elf.e_machine, is_64_bit);
	facts_read_segments(ret, file, size, &elf, is_64_bit);
}

uint64_t elf_facts_code_limit(const struct elf_facts *facts, uint64_t address)
{
	for (size_t i = 0; i < facts->segment_count; i++) {
		const struct worker_segment *segment = &facts->segments[i];

		if (segment->executable && address >= segment->address &&
		    address - segment->address < segment->memory_bytes)
			return segment->address + segment->memory_bytes;
	}
	return 0;
}
