// SPDX-License-Identifier: Apache-2.0
#include "elf_symbols.h"

#include <errno.h>
#include <string.h>

enum {
	MAX_SYMBOLS = 4 << 20, /* browsers have 1 M; 24 bytes each while sorting */
	PIECE_SYMBOLS = 32768, /* 0.8 MB, and what they are called */
};

/* One table on its way into @symbols. */
struct table {
	struct elf_symbols *symbols;
	const struct elf_sections *sections;
	const struct elf_facts *facts;
	const char *strings; /* of this table, with a NUL at the end */
	size_t strings_bytes;
	uint32_t shift; /* from its strings to those of @symbols */
};

/* Keep what ends with a NUL and has an offset that fits. */
static bool table_take_strings(struct table *table, const struct elf_bytes *bytes)
{
	const char *strings = (const char *)bytes->bytes;
	size_t most = bytes->length < FUNCTION_KNOWN ? bytes->length : FUNCTION_KNOWN - 1;
	const char *last = most ? memrchr(strings, '\0', most) : NULL;

	if (!last)
		return false;
	table->strings = strings;
	table->strings_bytes = (size_t)(last + 1 - strings);
	return true;
}

/* A name that means something to a person. */
static bool name_is_usable(const struct table *table, uint32_t name, bool label)
{
	const char *text = table->strings + name;

	if (!name || name >= table->strings_bytes || !*text)
		return false;
	// Assembler's own marks: "$x" (aarch64: code begins), ".L" (local labels).
	return !label || (*text != '$' && strncmp(text, ".L", 2) != 0);
}

/* Where the function that begins at @symbol ends at the latest: its segment, its section, its
 * size. */
static uint64_t symbol_limit(const struct table *table, const Elf64_Sym *symbol, uint64_t limit,
			     bool label)
{
	GElf_Shdr section;
	bool in_section = symbol->st_shndx < SHN_LORESERVE &&
			  elf_sections_header(table->sections, symbol->st_shndx, &section);

	if (label && (!in_section || !(section.sh_flags & SHF_EXECINSTR)))
		return 0;
	if (in_section && section.sh_addr <= symbol->st_value &&
	    section.sh_size <= UINT64_MAX - section.sh_addr &&
	    section.sh_addr + section.sh_size < limit)
		limit = section.sh_addr + section.sh_size;
	if (symbol->st_size && limit > symbol->st_value &&
	    symbol->st_size < limit - symbol->st_value)
		limit = symbol->st_value + symbol->st_size;
	return limit;
}

/* Turn @symbol into a candidate; false when it does not name code. */
static bool candidate_from_symbol(const struct table *table, Elf64_Sym *symbol,
				  struct function_candidate *ret)
{
	unsigned int type = ELF64_ST_TYPE(symbol->st_info),
		     binding = ELF64_ST_BIND(symbol->st_info);
	bool label = type == STT_NOTYPE;
	uint64_t limit;

	if (type != STT_FUNC && type != STT_GNU_IFUNC && !label)
		return false;
	// The lowest bit of a function of 32-bit ARM says which instructions it is made of.
	if (table->sections->machine == EM_ARM && !label)
		symbol->st_value &= ~1ull;
	limit = elf_facts_code_limit(table->facts, symbol->st_value);
	if (symbol->st_shndx == SHN_UNDEF || !limit ||
	    !name_is_usable(table, symbol->st_name, label))
		return false;
	limit = symbol_limit(table, symbol, limit, label);
	*ret = (struct function_candidate){
		.start = symbol->st_value,
		.limit = limit,
		.name = table->shift + symbol->st_name,
		.rank = (uint8_t)((binding == STB_WEAK    ? FUNCTION_RANK_WEAK
				   : binding == STB_LOCAL ? FUNCTION_RANK_LOCAL
							  : 0) |
				  (label ? FUNCTION_RANK_LABEL : 0)),
		.unsized = !symbol->st_size,
	};
	return limit > symbol->st_value;
}

/* By value, since tables of broken files lie at any address. */
static Elf64_Sym symbol_at(const uint8_t *table, size_t i, bool is_64_bit)
{
	Elf64_Sym symbol;
	Elf32_Sym narrow;

	if (is_64_bit) {
		memcpy(&symbol, table + i * sizeof(symbol), sizeof(symbol));
		return symbol;
	}
	memcpy(&narrow, table + i * sizeof(narrow), sizeof(narrow));
	return (Elf64_Sym){
		.st_name = narrow.st_name,
		.st_info = narrow.st_info,
		.st_other = narrow.st_other,
		.st_shndx = narrow.st_shndx,
		.st_value = narrow.st_value,
		.st_size = narrow.st_size,
	};
}

static int table_take_symbols(const struct table *table, const struct elf_bytes *bytes,
			      const struct elf_release *release)
{
	bool is_64_bit = table->sections->is_64_bit;
	size_t count = bytes->length / (is_64_bit ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym));
	struct elf_symbols *symbols = table->symbols;

	for (size_t i = 0; i < count && symbols->functions.count < MAX_SYMBOLS; i++) {
		Elf64_Sym symbol = symbol_at(bytes->bytes, i, is_64_bit);
		struct function_candidate candidate;

		if (candidate_from_symbol(table, &symbol, &candidate) &&
		    !VECTOR_PUSH(&symbols->functions, candidate))
			return -ENOMEM;
		if (i % PIECE_SYMBOLS == PIECE_SYMBOLS - 1)
			release->release(release->context);
	}
	return 0;
}

/* Append to the copies. False without memory or when offsets would not fit. */
static bool strings_append(struct elf_symbols *symbols, const char *strings, size_t bytes)
{
	if (bytes > FUNCTION_KNOWN - 1 - symbols->strings.count ||
	    !VECTOR_RESERVE(&symbols->strings, bytes))
		return false;
	memcpy(symbols->strings.items + symbols->strings.count, strings, bytes);
	symbols->strings.count += bytes;
	return true;
}

/* Make the strings of @table ones of @symbols: the first table's are borrowed. */
static int table_join_strings(struct table *table)
{
	struct elf_symbols *symbols = table->symbols;

	if (!symbols->names) {
		symbols->names = table->strings;
		symbols->names_bytes = table->strings_bytes;
		return 0;
	}
	if (!symbols->strings.count &&
	    !strings_append(symbols, symbols->names, symbols->names_bytes))
		return -ENOMEM;
	table->shift = (uint32_t)symbols->strings.count;
	if (!strings_append(symbols, table->strings, table->strings_bytes))
		return -ENOMEM;
	symbols->names = symbols->strings.items;
	symbols->names_bytes = symbols->strings.count;
	return 0;
}

int elf_symbols_add(struct elf_symbols *symbols, struct elf_sections *sections, size_t index,
		    const struct elf_facts *facts, const struct elf_release *release)
{
	struct table table = { .symbols = symbols, .sections = sections, .facts = facts };
	struct elf_bytes rows, strings;
	GElf_Shdr header;
	int result;

	if (!elf_sections_header(sections, index, &header))
		return 0;
	result = elf_sections_bytes(sections, index, &rows);
	if (!result)
		result = elf_sections_bytes(sections, header.sh_link, &strings);
	if (result || !rows.length || !table_take_strings(&table, &strings))
		return result;
	result = table_join_strings(&table);
	return result ? result : table_take_symbols(&table, &rows, release);
}

void elf_symbols_deinit(struct elf_symbols *symbols)
{
	VECTOR_DEINIT(&symbols->functions);
	VECTOR_DEINIT(&symbols->strings);
	*symbols = (struct elf_symbols){ 0 };
}
