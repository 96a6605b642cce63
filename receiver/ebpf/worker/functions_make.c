// SPDX-License-Identifier: Apache-2.0
#include "functions_make.h"

#include "debug_file.h"
#include "function_index.h"
#include "image.h"
#include "inflate.h"
#include "known_code.h"
#include "unnamed.h"

#include "base/base.h"

#include <errno.h>
#include <string.h>

enum { MAX_DEBUGDATA_BYTES = 128 << 20 }; /* unpacked; of a browser it is 30 MB */

/* What is being made, and what it borrows from. */
struct making {
	const struct functions_files *files;
	struct functions_made *made;
	struct elf_sections own;   /* of the file */
	struct elf_sections other; /* of its debug file, or of .gnu_debugdata */
	bool has_own, has_other;
	void *debugdata; /* owned: unpacked */
	struct elf_symbols symbols;
	struct function_ranges ranges;
	bool has_tables;
	const struct runtime *lines_by;
};

static void making_cleanup(struct making *making)
{
	function_ranges_deinit(&making->ranges);
	elf_symbols_deinit(&making->symbols);
	if (making->has_other)
		elf_sections_close(&making->other);
	if (making->has_own)
		elf_sections_close(&making->own);
	free(making->debugdata);
}

/* Add the symbol table of @type, one of a kind as the gABI has it. */
static int add_table(struct making *making, struct elf_sections *sections, uint32_t type)
{
	size_t index = elf_sections_find_type(sections, type);

	return index ? elf_symbols_add(&making->symbols, sections, index, &making->made->facts,
				       &making->files->release)
		     : 0;
}

/* The symbols that are left in "mini debug info", and those that it leaves to .dynsym. */
static int read_debugdata(struct making *making)
{
	size_t index = elf_sections_find(&making->own, ".gnu_debugdata"), length;
	struct elf_bytes packed;
	int result;

	if (!index)
		return 0;
	result = elf_sections_bytes(&making->own, index, &packed);
	if (result || !packed.length)
		return result;
	result = inflate_xz(packed.bytes, packed.length, MAX_DEBUGDATA_BYTES, &making->debugdata,
			    &length);
	if (result)
		return result == -ENOMEM ? result : 0;
	making->has_other = elf_sections_open(&making->other, making->debugdata, length);
	if (!making->has_other || making->other.machine != making->own.machine)
		return 0;
	result = add_table(making, &making->other, SHT_SYMTAB);
	if (!result && making->symbols.functions.count)
		result = add_table(making, &making->own, SHT_DYNSYM);
	return result;
}

static int read_debug_file(struct making *making)
{
	const struct functions_files *files = making->files;
	struct functions_made *made = making->made;
	struct debug_link link;

	debug_link_read(&making->own, &link);
	snprintf(made->index.link, sizeof(made->index.link), "%s", link.name);
	if (!files->debug)
		return 0;
	made->index.debug_refused = true;
	if (making->has_other)
		elf_sections_close(&making->other);
	making->has_other = elf_sections_open(&making->other, files->debug, files->debug_bytes);
	if (!making->has_other ||
	    !debug_file_belongs(files->debug, files->debug_bytes, &making->other,
				files->debug_found_by, &made->facts, &link, making->own.machine))
		return 0;
	made->index.debug_refused = false;
	return add_table(making, &making->other, SHT_SYMTAB);
}

static int from_symtab(struct making *making)
{
	return add_table(making, &making->own, SHT_SYMTAB);
}

static int from_dynsym(struct making *making)
{
	return add_table(making, &making->own, SHT_DYNSYM);
}

/* The first source that has functions is the one. */
static int read_symbols(struct making *making)
{
	static const struct {
		enum worker_source source;
		int (*read)(struct making *making);
	} steps[] = {
		{ WORKER_SYMTAB, from_symtab },
		{ WORKER_DEBUGDATA, read_debugdata },
		{ WORKER_DEBUG_FILE, read_debug_file },
		{ WORKER_DYNSYM, from_dynsym },
	};
	struct worker_index *index = &making->made->index;

	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		int result = steps[i].read(making);

		if (result)
			return result;
		if (making->symbols.functions.count) {
			index->source = steps[i].source;
			return 0;
		}
	}
	index->source = WORKER_NO_SOURCE;
	return 0;
}

/* Of files of this machine, which alone have tables that we read. */
static int add_unnamed(struct making *making)
{
	const struct functions_files *files = making->files;
	struct unwind_source source;
	struct elf_view view;
	int result;

	if (!elf_view_init(&view, files->file, files->file_bytes) || view.machine != IMAGE_MACHINE)
		return 0;
	result = unwind_source_init(&source, &view);
	if (result)
		return result;
	making->has_tables = !unwind_source_is_empty(&source);
	making->lines_by =
		image_lines_by(&(const struct runtime_file){ .view = &view, .source = &source });
	result = unnamed_add(&making->ranges, &source, &making->made->facts);
	unwind_source_deinit(&source);
	if (!result)
		known_code_mark(&making->ranges, &view);
	return result;
}

static int read_ranges(struct making *making)
{
	struct elf_symbols *symbols = &making->symbols;
	int result;

	making->has_own =
		elf_sections_open(&making->own, making->files->file, making->files->file_bytes);
	result = making->has_own ? read_symbols(making) : 0;
	if (!result)
		result = function_ranges_build(symbols->functions.items, symbols->functions.count,
					       symbols->names, symbols->names_bytes,
					       &making->ranges);
	// The candidates are most of what it takes.
	VECTOR_DEINIT(&symbols->functions);
	return result ? result : add_unnamed(making);
}

int functions_make(const struct functions_files *files, void *to, size_t room,
		   struct functions_made *ret)
{
	CLEANUP(making_cleanup) struct making making = { .files = files, .made = ret };
	struct function_index_contents contents;
	size_t bytes = 0;
	int result = 0;

	*ret = (struct functions_made){ .index.source = WORKER_NO_SOURCE };
	elf_facts_read(files->file, files->file_bytes, &ret->facts);
	if (ret->facts.readable_code && ret->facts.segment_count)
		result = read_ranges(&making);
	if (result)
		return result;
	contents = (struct function_index_contents){
		.facts = &ret->facts,
		.source = ret->index.source,
		.has_tables = making.has_tables,
		.ranges = making.ranges.ranges,
		.range_count = making.ranges.count,
		.strings = making.symbols.names,
		.strings_bytes = making.symbols.names_bytes,
		.release = &files->release,
	};
	result = function_index_write(&contents, to, room, &bytes);
	ret->index.bytes = bytes;
	ret->index.has_tables = making.has_tables;
	ret->index.lines_by = making.lines_by ? making.lines_by->number : RUNTIME_NONE;
	return result;
}
