// SPDX-License-Identifier: Apache-2.0
#include "elf_sections.h"

#include "inflate.h"

#include "base/base.h"

#include <errno.h>
#include <string.h>

enum {
	MAX_SECTIONS = 65536,
	MAX_INFLATED_BYTES = 192 << 20,
	/* A section header that says more than this of a byte lies: zstd's best case is 1:130,000,
	 * zlib's 1:1,032, symbol tables shrink to a fifth. */
	MAX_RATIO = 4096,
};

bool elf_sections_open(struct elf_sections *sections, const void *file, size_t size)
{
	GElf_Ehdr header;

	*sections = (struct elf_sections){ 0 };
	elf_version(EV_CURRENT);
	// libelf takes a plain pointer but does not write through one that it was given to read.
	sections->elf = elf_memory((char *)(uintptr_t)file, size);
	if (!sections->elf)
		return false;
	if (elf_kind(sections->elf) != ELF_K_ELF || !gelf_getehdr(sections->elf, &header) ||
	    header.e_ident[EI_DATA] != ELFDATA2LSB ||
	    elf_getshdrnum(sections->elf, &sections->count)) {
		elf_end(sections->elf);
		return false;
	}
	sections->is_64_bit = header.e_ident[EI_CLASS] == ELFCLASS64;
	sections->machine = header.e_machine;
	if (sections->count > MAX_SECTIONS)
		sections->count = MAX_SECTIONS;
	if (elf_getshdrstrndx(sections->elf, &sections->names))
		sections->names = 0;
	return true;
}

void elf_sections_close(struct elf_sections *sections)
{
	for (size_t i = 0; i < sections->inflated_count; i++)
		free(sections->inflated[i].bytes);
	elf_end(sections->elf);
	*sections = (struct elf_sections){ 0 };
}

static Elf_Scn *section_at(const struct elf_sections *sections, size_t index)
{
	return index && index < sections->count ? elf_getscn(sections->elf, index) : NULL;
}

bool elf_sections_header(const struct elf_sections *sections, size_t index, GElf_Shdr *ret)
{
	Elf_Scn *section = section_at(sections, index);

	return section && gelf_getshdr(section, ret);
}

size_t elf_sections_find(const struct elf_sections *sections, const char *name)
{
	for (size_t i = 1; i < sections->count; i++) {
		const char *found;
		GElf_Shdr header;

		if (!elf_sections_header(sections, i, &header))
			continue;
		found = elf_strptr(sections->elf, sections->names, header.sh_name);
		if (found && !strcmp(found, name))
			return i;
	}
	return 0;
}

size_t elf_sections_find_type(const struct elf_sections *sections, uint32_t type)
{
	for (size_t i = 1; i < sections->count; i++) {
		GElf_Shdr header;

		if (elf_sections_header(sections, i, &header) && header.sh_type == type)
			return i;
	}
	return 0;
}

/* The header in front of compressed bytes, which it takes off *@bytes. */
static bool take_compression_header(const struct elf_sections *sections, struct elf_bytes *bytes,
				    uint32_t *type_ret, uint64_t *size_ret)
{
	struct reader reader = reader_over(bytes->bytes, bytes->length);

	*type_ret = reader_u32(&reader);
	if (sections->is_64_bit) {
		reader_u32(&reader);
		*size_ret = reader_u64(&reader);
		reader_u64(&reader);
	} else {
		*size_ret = reader_u32(&reader);
		reader_u32(&reader);
	}
	if (reader.failed)
		return false;
	*bytes = (struct elf_bytes){ reader.at, reader_left(&reader) };
	return true;
}

/* Give @packed, of section @index, unpacked. */
static int sections_inflate(struct elf_sections *sections, size_t index, struct elf_bytes packed,
			    struct elf_bytes *ret)
{
	CLEANUP_FREE uint8_t *bytes = NULL;
	uint32_t type;
	uint64_t size;

	if (!take_compression_header(sections, &packed, &type, &size) || !size ||
	    size / MAX_RATIO > packed.length ||
	    size > MAX_INFLATED_BYTES - sections->inflated_bytes ||
	    sections->inflated_count == ELF_SECTIONS_INFLATED)
		return 0;
	bytes = malloc(size);
	if (!bytes)
		return -ENOMEM;
	if (inflate_section(type, packed.bytes, packed.length, bytes, size))
		return 0;
	*ret = (struct elf_bytes){ bytes, size };
	sections->inflated_bytes += size;
	sections->inflated[sections->inflated_count].section = index;
	sections->inflated[sections->inflated_count].length = size;
	sections->inflated[sections->inflated_count++].bytes = TAKE(bytes);
	return 0;
}

int elf_sections_bytes(struct elf_sections *sections, size_t index, struct elf_bytes *ret)
{
	Elf_Scn *section = section_at(sections, index);
	const Elf_Data *data;
	GElf_Shdr header;

	*ret = (struct elf_bytes){ 0 };
	for (size_t i = 0; i < sections->inflated_count; i++) {
		if (sections->inflated[i].section != index)
			continue;
		*ret = (struct elf_bytes){ sections->inflated[i].bytes,
					   sections->inflated[i].length };
		return 0;
	}
	if (!section || !gelf_getshdr(section, &header) || header.sh_type == SHT_NOBITS)
		return 0;
	data = elf_rawdata(section, NULL);
	if (!data || !data->d_buf || !data->d_size)
		return 0;
	*ret = (struct elf_bytes){ data->d_buf, data->d_size };
	if (!(header.sh_flags & SHF_COMPRESSED))
		return 0;
	{
		struct elf_bytes packed = *ret;

		*ret = (struct elf_bytes){ 0 };
		return sections_inflate(sections, index, packed, ret);
	}
}
