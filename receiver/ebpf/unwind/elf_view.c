// SPDX-License-Identifier: Apache-2.0
#include "elf_view.h"

#include <elf.h>
#include <string.h>

enum {
	MAX_SECTIONS = 1 << 16,
	MAX_SYMBOLS = 1 << 20,
};

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
	if (header->p_type == PT_DYNAMIC) {
		view->dynamic = header->p_vaddr;
		view->dynamic_bytes = header->p_filesz;
		return;
	}
	view->has_interpreter |= header->p_type == PT_INTERP;
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
		.writable = header->p_flags & PF_W,
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
	view->has_sections = header.e_shoff && header.e_shoff < size;
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

struct elf_piece elf_view_code(const struct elf_view *view, uint64_t address, size_t length)
{
	for (size_t i = 0; i < view->segment_count; i++) {
		const struct elf_view_segment *segment = &view->segments[i];
		uint64_t distance = address - segment->address;

		if (!segment->executable || address < segment->address ||
		    distance >= segment->file_bytes)
			continue;
		if (length > segment->file_bytes - distance)
			length = segment->file_bytes - distance;
		return (struct elf_piece){
			.bytes = view->file + segment->file_offset + distance,
			.length = length,
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

	if (!view->has_sections)
		return false;
	memcpy(header, view->file, sizeof(*header));
	if (!view_read_section(view, header, 0, &first))
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

/* False when there is no section of that name with its bytes in the file. */
static bool view_find_section(const struct elf_view *view, const char *name, Elf64_Shdr *ret)
{
	Elf64_Shdr names;
	Elf64_Ehdr header;
	uint64_t count;

	if (!view_section_table(view, &header, &count, &names))
		return false;
	for (uint64_t i = 1; i < count && view_read_section(view, &header, i, ret); i++)
		if (view_is_called(view, &names, ret, name))
			return ret->sh_type != SHT_NOBITS &&
			       view_bytes(view, ret->sh_offset, ret->sh_size);
	return false;
}

static struct elf_piece view_section_bytes(const struct elf_view *view, const Elf64_Shdr *section)
{
	return (struct elf_piece){
		.bytes = view->file + section->sh_offset,
		.length = section->sh_size,
		.address = section->sh_flags & SHF_ALLOC ? section->sh_addr : 0,
	};
}

struct elf_piece elf_view_section(const struct elf_view *view, const char *name)
{
	Elf64_Shdr section;

	if (!view_find_section(view, name, &section) || section.sh_flags & SHF_COMPRESSED)
		return (struct elf_piece){ 0 };
	return view_section_bytes(view, &section);
}

struct elf_piece elf_view_compressed_section(const struct elf_view *view, const char *name,
					     uint32_t *type_ret, uint64_t *size_ret)
{
	struct elf_piece piece;
	Elf64_Shdr section;
	Elf64_Chdr header;

	if (!view_find_section(view, name, &section) || !(section.sh_flags & SHF_COMPRESSED) ||
	    section.sh_size < sizeof(header))
		return (struct elf_piece){ 0 };
	piece = view_section_bytes(view, &section);
	memcpy(&header, piece.bytes, sizeof(header));
	*type_ret = header.ch_type;
	*size_ret = header.ch_size;
	piece.bytes += sizeof(header);
	piece.length -= sizeof(header);
	return piece;
}

uint64_t elf_view_dynamic(const struct elf_view *view, int64_t tag)
{
	struct elf_piece piece = elf_view_at(view, view->dynamic);
	Elf64_Dyn entry;

	if (!view->dynamic)
		return 0;
	if (piece.length > view->dynamic_bytes)
		piece.length = view->dynamic_bytes;
	for (size_t at = 0; at + sizeof(entry) <= piece.length; at += sizeof(entry)) {
		memcpy(&entry, piece.bytes + at, sizeof(entry));
		if (entry.d_tag == DT_NULL)
			break;
		if (entry.d_tag == tag)
			return entry.d_un.d_val;
	}
	return 0;
}

const char *elf_view_soname(const struct elf_view *view)
{
	struct elf_piece names = elf_view_at(view, elf_view_dynamic(view, DT_STRTAB));
	uint64_t offset = elf_view_dynamic(view, DT_SONAME);

	if (!offset || offset >= names.length ||
	    !memchr(names.bytes + offset, 0, names.length - offset))
		return NULL;
	return (const char *)names.bytes + offset;
}

static uint64_t find_symbol(const struct elf_piece *symbols, const struct elf_piece *names,
			    const char *name, unsigned int type)
{
	size_t size = strlen(name) + 1;

	for (size_t i = 0; i < MAX_SYMBOLS && (i + 1) * sizeof(Elf64_Sym) <= symbols->length; i++) {
		Elf64_Sym symbol;

		memcpy(&symbol, symbols->bytes + i * sizeof(symbol), sizeof(symbol));
		if (ELF64_ST_TYPE(symbol.st_info) == type && symbol.st_shndx != SHN_UNDEF &&
		    symbol.st_name < names->length && size <= names->length - symbol.st_name &&
		    !memcmp(names->bytes + symbol.st_name, name, size))
			return symbol.st_value;
	}
	return 0;
}

static const char *const symbol_tables[][2] = {
	{ ".dynsym", ".dynstr" },
	{ ".symtab", ".strtab" },
};

static uint64_t view_symbol(const struct elf_view *view, const char *name, unsigned int type)
{
	uint64_t found = 0;

	for (size_t i = 0; i < sizeof(symbol_tables) / sizeof(symbol_tables[0]) && !found; i++) {
		struct elf_piece symbols = elf_view_section(view, symbol_tables[i][0]);
		struct elf_piece names = elf_view_section(view, symbol_tables[i][1]);

		if (symbols.bytes && names.bytes)
			found = find_symbol(&symbols, &names, name, type);
	}
	return found;
}

uint64_t elf_view_function(const struct elf_view *view, const char *name)
{
	return view_symbol(view, name, STT_FUNC);
}

uint64_t elf_view_object(const struct elf_view *view, const char *name)
{
	return view_symbol(view, name, STT_OBJECT);
}

void elf_view_visit_symbols(const struct elf_view *view, bool local, const char *prefix,
			    bool (*take)(void *context, const struct elf_view_symbol *symbol),
			    void *context)
{
	struct elf_piece symbols = elf_view_section(view, symbol_tables[local][0]);
	struct elf_piece names = elf_view_section(view, symbol_tables[local][1]);
	size_t length = strlen(prefix);

	for (size_t i = 0; i < MAX_SYMBOLS && (i + 1) * sizeof(Elf64_Sym) <= symbols.length; i++) {
		struct elf_view_symbol found;
		Elf64_Sym symbol;
		unsigned int type;

		memcpy(&symbol, symbols.bytes + i * sizeof(symbol), sizeof(symbol));
		type = ELF64_ST_TYPE(symbol.st_info);
		if ((type != STT_FUNC && type != STT_OBJECT && type != STT_NOTYPE) ||
		    symbol.st_shndx == SHN_UNDEF || symbol.st_name >= names.length ||
		    length > names.length - symbol.st_name)
			continue;
		found = (struct elf_view_symbol){ (const char *)names.bytes + symbol.st_name,
						  symbol.st_value, symbol.st_size,
						  type == STT_FUNC };
		if (!memcmp(found.name, prefix, length) &&
		    memchr(found.name, '\0', names.length - symbol.st_name) &&
		    !take(context, &found))
			return;
	}
}
