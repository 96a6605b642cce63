// SPDX-License-Identifier: Apache-2.0
#include "elf_view.h"

#include <elf.h>
#include <string.h>

enum { MAX_SECTIONS = 1 << 16 };

/* @length bytes at @offset; NULL when the file ends before. */
static const uint8_t *view_bytes(const struct elf_view *view, uint64_t offset, uint64_t length)
{
	if (offset > view->size || length > view->size - offset)
		return NULL;
	return view->file + offset;
}

static void view_take_segment(struct elf_view *view, const Elf64_Phdr *header)
{
	if (header->p_type == PT_GNU_EH_FRAME) {
		view->eh_frame_hdr = header->p_vaddr;
		view->eh_frame_hdr_bytes = header->p_filesz;
		return;
	}
	if (header->p_type != PT_LOAD || !header->p_filesz ||
	    view->segment_count == ELF_VIEW_SEGMENTS ||
	    !view_bytes(view, header->p_offset, header->p_filesz) ||
	    header->p_vaddr > UINT64_MAX - header->p_filesz)
		return;
	view->segments[view->segment_count++] = (struct elf_view_segment){
		.address = header->p_vaddr,
		.file_offset = header->p_offset,
		.file_bytes = header->p_filesz,
		.executable = header->p_flags & PF_X,
	};
}

bool elf_view_init(struct elf_view *view, const void *file, size_t size)
{
	Elf64_Ehdr header;

	*view = (struct elf_view){ .file = file, .size = size };
	if (size < sizeof(header))
		return false;
	memcpy(&header, file, sizeof(header));
	if (memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
	    header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB)
		return false;
	view->machine = header.e_machine;
	view->type = header.e_type;
	view->entry = header.e_entry;
	for (uint32_t i = 0; i < header.e_phnum && header.e_phentsize >= sizeof(Elf64_Phdr); i++) {
		uint64_t distance = (uint64_t)i * header.e_phentsize;
		const uint8_t *bytes;
		Elf64_Phdr segment;

		if (header.e_phoff > UINT64_MAX - distance)
			break;
		bytes = view_bytes(view, header.e_phoff + distance, sizeof(segment));
		if (!bytes)
			break;
		memcpy(&segment, bytes, sizeof(segment));
		view_take_segment(view, &segment);
	}
	return true;
}

struct elf_piece elf_view_at(const struct elf_view *view, uint64_t address)
{
	for (size_t i = 0; i < view->segment_count; i++) {
		const struct elf_view_segment *segment = &view->segments[i];
		uint64_t distance = address - segment->address;

		if (address < segment->address || distance >= segment->file_bytes)
			continue;
		return (struct elf_piece){
			.bytes = view->file + segment->file_offset + distance,
			.length = segment->file_bytes - distance,
			.address = address,
		};
	}
	return (struct elf_piece){ 0 };
}

static bool view_read_section(const struct elf_view *view, const Elf64_Ehdr *header, uint64_t index,
			      Elf64_Shdr *ret)
{
	uint64_t distance = index * header->e_shentsize;
	const uint8_t *bytes;

	if (header->e_shentsize < sizeof(*ret) || header->e_shoff > UINT64_MAX - distance)
		return false;
	bytes = view_bytes(view, header->e_shoff + distance, sizeof(*ret));
	if (bytes)
		memcpy(ret, bytes, sizeof(*ret));
	return bytes;
}

/* Number of sections and the index of their names; beyond 16 bits both lie in section 0. */
static bool view_section_table(const struct elf_view *view, Elf64_Ehdr *header, uint64_t *count_ret,
			       Elf64_Shdr *names_ret)
{
	uint64_t count, names;
	Elf64_Shdr first;

	memcpy(header, view->file, sizeof(*header));
	if (!header->e_shoff || !view_read_section(view, header, 0, &first))
		return false;
	count = header->e_shnum ? header->e_shnum : first.sh_size;
	names = header->e_shstrndx == SHN_XINDEX ? first.sh_link : header->e_shstrndx;
	*count_ret = count < MAX_SECTIONS ? count : MAX_SECTIONS;
	return names < count && view_read_section(view, header, names, names_ret) &&
	       view_bytes(view, names_ret->sh_offset, names_ret->sh_size);
}

static bool view_is_called(const struct elf_view *view, const Elf64_Shdr *names,
			   const Elf64_Shdr *section, const char *name)
{
	size_t size = strlen(name) + 1;

	return section->sh_name < names->sh_size && size <= names->sh_size - section->sh_name &&
	       !memcmp(view->file + names->sh_offset + section->sh_name, name, size);
}

struct elf_piece elf_view_section(const struct elf_view *view, const char *name)
{
	struct elf_piece none = { 0 };
	Elf64_Shdr names, section;
	Elf64_Ehdr header;
	uint64_t count;

	if (!view_section_table(view, &header, &count, &names))
		return none;
	for (uint64_t i = 1; i < count && view_read_section(view, &header, i, &section); i++) {
		const uint8_t *bytes;

		if (!view_is_called(view, &names, &section, name))
			continue;
		bytes = view_bytes(view, section.sh_offset, section.sh_size);
		if (section.sh_type == SHT_NOBITS || section.sh_flags & SHF_COMPRESSED || !bytes)
			return none;
		return (struct elf_piece){
			.bytes = bytes,
			.length = section.sh_size,
			.address = section.sh_flags & SHF_ALLOC ? section.sh_addr : 0,
		};
	}
	return none;
}
