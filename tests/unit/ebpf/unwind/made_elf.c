// SPDX-License-Identifier: Apache-2.0
#include "made_elf.h"

#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static size_t append(struct made_elf *elf, const void *bytes, size_t length)
{
	size_t offset = (elf->size + 15) & ~(size_t)15;

	assert_true(length <= MADE_ELF_BYTES - offset);
	memcpy(elf->bytes + offset, bytes, length);
	elf->size = offset + length;
	return offset;
}

void made_elf_begin(struct made_elf *elf, uint16_t machine)
{
	memset(elf, 0, sizeof(*elf));
	elf->machine = machine;
	elf->type = ET_DYN;
	elf->size = sizeof(Elf64_Ehdr);
}

void made_elf_add_typed(struct made_elf *elf, const char *name, uint64_t address, const void *bytes,
			size_t length, uint64_t flags, uint32_t type)
{
	assert_true(elf->count < MADE_ELF_SECTIONS);
	elf->sections[elf->count++] = (struct made_section){
		.name = name,
		.address = address,
		.offset = append(elf, bytes, length),
		.length = length,
		.flags = flags | (address ? SHF_ALLOC : 0),
		.segment = type,
	};
}

void made_elf_add(struct made_elf *elf, const char *name, uint64_t address, const void *bytes,
		  size_t length, uint64_t flags)
{
	made_elf_add_typed(elf, name, address, bytes, length, flags, 0);
}

static size_t add_program_headers(struct made_elf *elf, Elf64_Phdr *headers)
{
	size_t count = 0;

	for (size_t i = 0; i < elf->count; i++) {
		const struct made_section *section = &elf->sections[i];
		uint32_t flags = PF_R;

		flags |= section->flags & SHF_EXECINSTR ? PF_X : 0;
		flags |= section->flags & SHF_WRITE ? PF_W : 0;
		for (unsigned int j = 0; section->address && j < 1u + !!section->segment; j++)
			headers[count++] = (Elf64_Phdr){
				.p_type = j ? section->segment : PT_LOAD,
				.p_flags = flags,
				.p_offset = section->offset,
				.p_vaddr = section->address,
				.p_filesz = section->length,
				.p_memsz = section->length,
			};
	}
	return count;
}

static void add_section_headers(struct made_elf *elf, Elf64_Ehdr *header)
{
	Elf64_Shdr headers[MADE_ELF_SECTIONS + 2] = { 0 };
	char names[512] = "";
	size_t at = 1;

	for (size_t i = 0; i <= elf->count; i++) {
		const struct made_section *section = &elf->sections[i];
		const char *name = i < elf->count ? section->name : ".shstrtab";

		assert_true(at + strlen(name) < sizeof(names));
		headers[i + 1].sh_name = (uint32_t)at;
		memcpy(names + at, name, strlen(name) + 1);
		at += strlen(name) + 1;
		if (i == elf->count)
			break;
		headers[i + 1].sh_type = SHT_PROGBITS;
		headers[i + 1].sh_flags = section->flags;
		headers[i + 1].sh_addr = section->address;
		headers[i + 1].sh_offset = section->offset;
		headers[i + 1].sh_size = section->length;
	}
	headers[elf->count + 1].sh_type = SHT_STRTAB;
	headers[elf->count + 1].sh_size = at;
	headers[elf->count + 1].sh_offset = append(elf, names, at);
	header->e_shnum = (uint16_t)(elf->count + 2);
	header->e_shstrndx = (uint16_t)(elf->count + 1);
	header->e_shentsize = sizeof(Elf64_Shdr);
	header->e_shoff = append(elf, headers, header->e_shnum * sizeof(Elf64_Shdr));
}

void made_elf_finish(struct made_elf *elf, bool with_sections)
{
	Elf64_Phdr segments[2 * MADE_ELF_SECTIONS];
	Elf64_Ehdr header = {
		.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
			     EV_CURRENT },
		.e_type = elf->type,
		.e_machine = elf->machine,
		.e_version = EV_CURRENT,
		.e_entry = elf->entry,
		.e_ehsize = sizeof(Elf64_Ehdr),
		.e_phentsize = sizeof(Elf64_Phdr),
	};

	header.e_phnum = (uint16_t)add_program_headers(elf, segments);
	header.e_phoff = append(elf, segments, header.e_phnum * sizeof(Elf64_Phdr));
	if (with_sections)
		add_section_headers(elf, &header);
	memcpy(elf->bytes, &header, sizeof(header));
	assert_true(elf_view_init(&elf->view, elf->bytes, elf->size));
}
