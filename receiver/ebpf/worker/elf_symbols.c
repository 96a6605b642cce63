// SPDX-License-Identifier: Apache-2.0
#include "elf_symbols.h"

#include "base/base.h"

#include <errno.h>
#include <gelf.h>
#include <string.h>

enum {
	MAX_SECTIONS = 65536,
	MAX_SYMBOLS = 4 << 20, /* browsers have 1 M; 24 bytes each while sorting */
	PIECE_SYMBOLS = 32768, /* 0.8 MB, and what they are called */
};

struct section_table {
	Elf *elf;
	size_t count;
	void (*release)(const void *context); /* see elf_symbols_read */
	const void *context;
};

static Elf_Scn *section_at(const struct section_table *sections, size_t index)
{
	return index && index < sections->count ? elf_getscn(sections->elf, index) : NULL;
}

/* By value: in a broken file the original may lie at any address. */
static bool section_header(const struct section_table *sections, size_t index, GElf_Shdr *ret)
{
	Elf_Scn *section = section_at(sections, index);

	return section && gelf_getshdr(section, ret);
}

static const Elf_Data *section_data(const struct section_table *sections, size_t index)
{
	Elf_Scn *section = section_at(sections, index);
	const Elf_Data *data = section ? elf_getdata(section, NULL) : NULL;

	return data && data->d_buf && data->d_size ? data : NULL;
}

/* The address where the executable segment around @address ends; 0 when there is none. */
static uint64_t code_limit(const struct elf_facts *facts, uint64_t address)
{
	for (size_t i = 0; i < facts->segment_count; i++) {
		const struct worker_segment *segment = &facts->segments[i];

		if (segment->executable && address >= segment->address &&
		    address - segment->address < segment->memory_bytes)
			return segment->address + segment->memory_bytes;
	}
	return 0;
}

/* Keep what is inside the file (@data is, unless libelf had to convert) and ends with a NUL. */
static bool symbols_take_strings(struct elf_symbols *symbols, const Elf_Data *data)
{
	const char *strings = data->d_buf;
	size_t bytes = data->d_size < UINT32_MAX ? data->d_size : UINT32_MAX;
	const char *last;

	if (data->d_type != ELF_T_BYTE)
		return false;
	last = memrchr(strings, '\0', bytes);
	symbols->strings = strings;
	symbols->strings_bytes = last ? (size_t)(last + 1 - strings) : 0;
	return last;
}

/* A name that means something to a person. */
static bool name_is_usable(const struct elf_symbols *symbols, uint32_t name, bool label)
{
	const char *text = symbols->strings + name;

	if (!name || name >= symbols->strings_bytes || !*text)
		return false;
	// Assembler's own marks: "$x" (aarch64: code begins), ".L" (local labels).
	return !label || (*text != '$' && strncmp(text, ".L", 2));
}

/* Turn @symbol into a candidate; false when it does not name code. */
static bool candidate_from_symbol(const struct elf_symbols *symbols, const struct elf_facts *facts,
				  const struct section_table *sections, const Elf64_Sym *symbol,
				  struct function_candidate *ret)
{
	unsigned int type = ELF64_ST_TYPE(symbol->st_info),
		     binding = ELF64_ST_BIND(symbol->st_info);
	bool label = type == STT_NOTYPE;
	uint64_t limit = code_limit(facts, symbol->st_value);
	bool in_section;
	GElf_Shdr section;

	if (type != STT_FUNC && type != STT_GNU_IFUNC && !label)
		return false;
	if (symbol->st_shndx == SHN_UNDEF || !limit ||
	    !name_is_usable(symbols, symbol->st_name, label))
		return false;
	in_section = symbol->st_shndx < SHN_LORESERVE &&
		     section_header(sections, symbol->st_shndx, &section);
	if (label && (!in_section || !(section.sh_flags & SHF_EXECINSTR)))
		return false;
	if (in_section && section.sh_addr <= symbol->st_value &&
	    section.sh_size <= UINT64_MAX - section.sh_addr &&
	    section.sh_addr + section.sh_size < limit)
		limit = section.sh_addr + section.sh_size;
	if (symbol->st_size && symbol->st_size < limit - symbol->st_value)
		limit = symbol->st_value + symbol->st_size;
	*ret = (struct function_candidate){
		.start = symbol->st_value,
		.limit = limit,
		.name = symbol->st_name,
		.rank = (uint8_t)((binding == STB_WEAK    ? FUNCTION_RANK_WEAK
				   : binding == STB_LOCAL ? FUNCTION_RANK_LOCAL
							  : 0) |
				  (label ? FUNCTION_RANK_LABEL : 0)),
		.unsized = !symbol->st_size,
	};
	return limit > symbol->st_value;
}

/* Read the table in section @index into @symbols, which is empty. */
static int symbols_read_table(const struct section_table *sections, size_t index,
			      const struct elf_facts *facts, struct elf_symbols *symbols)
{
	const Elf_Data *table = section_data(sections, index), *strings;
	CLEANUP_FREE struct function_candidate *candidates = NULL;
	size_t count, kept = 0;
	GElf_Shdr header;

	if (!table || !section_header(sections, index, &header))
		return 0;
	strings = section_data(sections, header.sh_link);
	if (!strings || table->d_type != ELF_T_SYM || !symbols_take_strings(symbols, strings))
		return 0;
	count = table->d_size / sizeof(Elf64_Sym);
	if (count > MAX_SYMBOLS)
		count = MAX_SYMBOLS;
	candidates = malloc((count ? count : 1) * sizeof(*candidates));
	if (!candidates)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		Elf64_Sym symbol;

		memcpy(&symbol, (const uint8_t *)table->d_buf + i * sizeof(symbol), sizeof(symbol));
		if (candidate_from_symbol(symbols, facts, sections, &symbol, &candidates[kept]))
			kept++;
		if (i % PIECE_SYMBOLS == PIECE_SYMBOLS - 1)
			sections->release(sections->context);
	}
	return function_ranges_build(candidates, kept, symbols->strings, symbols->strings_bytes,
				     &symbols->functions);
}

static int symbols_read_best_table(const struct section_table *sections,
				   const struct elf_facts *facts, struct elf_symbols *symbols)
{
	static const uint32_t wanted[] = { SHT_SYMTAB, SHT_DYNSYM };

	for (size_t kind = 0; kind < sizeof(wanted) / sizeof(wanted[0]); kind++) {
		for (size_t i = 1; i < sections->count; i++) {
			GElf_Shdr header;
			int result;

			if (!section_header(sections, i, &header) || header.sh_type != wanted[kind])
				continue;
			result = symbols_read_table(sections, i, facts, symbols);
			if (result < 0 || symbols->functions.count)
				return result;
			break; // one table of a kind, as the gABI has it
		}
	}
	return 0;
}

int elf_symbols_read(const void *file, size_t size, const struct elf_facts *facts,
		     void (*release)(const void *context), const void *context,
		     struct elf_symbols *ret)
{
	struct section_table sections = { .release = release, .context = context };
	int result = 0;

	*ret = (struct elf_symbols){ 0 };
	if (!facts->readable_code || !facts->segment_count)
		return 0;
	elf_version(EV_CURRENT);
	// libelf takes a plain pointer but does not write through one that it was given to read.
	sections.elf = elf_memory((char *)(uintptr_t)file, size);
	if (!sections.elf)
		return errno == ENOMEM ? -ENOMEM : 0;
	if (!elf_getshdrnum(sections.elf, &sections.count)) {
		if (sections.count > MAX_SECTIONS)
			sections.count = MAX_SECTIONS;
		result = symbols_read_best_table(&sections, facts, ret);
	}
	elf_end(sections.elf);
	if (result < 0)
		elf_symbols_deinit(ret);
	return result;
}

void elf_symbols_deinit(struct elf_symbols *symbols)
{
	function_ranges_deinit(&symbols->functions);
	*symbols = (struct elf_symbols){ 0 };
}
