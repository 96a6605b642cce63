// SPDX-License-Identifier: Apache-2.0
#include "kernel_table.h"

#include "kallsyms.h"
#include "kernel_modules.h"
#include "kernel_names.h"

#include "base/base.h"

#include <errno.h>
#include <string.h>

/*
 * kallsyms has no sizes. A function ends where the next one begins; the last one
 * before a gap is given this much, which nearly all functions fit in.
 */
enum { LAST_FUNCTION_BYTES = 64 << 10 };

/* In kernel_function.name: what follows is a place in texts. */
static const uint32_t NAME_IS_READ = 1u << 31;

struct kernel_function {
	uint32_t offset; /* from the start of its run */
	uint32_t name;   /* offset for names, or NAME_IS_READ and the place in texts */
};

/* Neighbours of one module that lie within 4 GiB. */
struct kernel_run {
	uint64_t start, limit;
	uint32_t first; /* of functions */
	uint32_t module;
};

struct kernel_module {
	char name[KERNEL_MODULE_NAME];
	char build_id[KERNEL_BUILD_ID_HEX];
	char htlhash[KERNEL_HTLHASH_HEX];
	bool build_id_read;
	uint64_t start, size; /* of its text, bytes of all its parts; 0: unknown yet */
};

struct kernel_table {
	char *root; /* owned */
	VECTOR(struct kernel_function) functions;
	VECTOR(struct kernel_run) runs;       /* by start; one more at the end closes the last */
	VECTOR(struct kernel_module) modules; /* the kernel itself first */
	struct kernel_names *names;
	VECTOR(const char *) texts; /* borrowed from names */
};

void kernel_table_destroy(struct kernel_table *table)
{
	if (!table)
		return;
	VECTOR_DEINIT(&table->functions);
	VECTOR_DEINIT(&table->runs);
	VECTOR_DEINIT(&table->modules);
	VECTOR_DEINIT(&table->texts);
	kernel_names_destroy(table->names);
	free(table->root);
	free(table);
}

static void kernel_table_cleanup(struct kernel_table **table)
{
	kernel_table_destroy(*table);
}

static bool table_add_function(struct kernel_table *table, const struct kallsyms_line *line)
{
	struct kernel_run *run =
		table->runs.count ? &table->runs.items[table->runs.count - 1] : NULL;

	if (!run || run->module != line->module || line->address - run->start > UINT32_MAX) {
		const struct kernel_run next = {
			.start = line->address,
			.first = (uint32_t)table->functions.count,
			.module = line->module,
		};

		if (!VECTOR_PUSH(&table->runs, next))
			return false;
		run = &table->runs.items[table->runs.count - 1];
	}
	return VECTOR_PUSH(&table->functions,
			   ((struct kernel_function){
				   .offset = (uint32_t)(line->address - run->start),
				   .name = line->name,
			   }));
}

static bool table_add_modules(struct kernel_table *table, const struct kallsyms *symbols)
{
	for (size_t i = 0; i < symbols->modules.count; i++) {
		struct kernel_module module = { 0 };

		memcpy(module.name, symbols->modules.items[i].name, sizeof(module.name));
		if (!VECTOR_PUSH(&table->modules, module))
			return false;
	}
	return true;
}

/* Set where runs end, and close the list. */
static bool table_close_runs(struct kernel_table *table)
{
	const struct kernel_run end = { .start = UINT64_MAX,
					.first = (uint32_t)table->functions.count };

	if (!VECTOR_PUSH(&table->runs, end))
		return false;
	for (size_t i = 0; i + 1 < table->runs.count; i++) {
		struct kernel_run *run = &table->runs.items[i];
		const struct kernel_run *next = run + 1;
		uint64_t last = run->start + table->functions.items[next->first - 1].offset;

		run->limit = next->start - last > LAST_FUNCTION_BYTES ? last + LAST_FUNCTION_BYTES
								      : next->start;
	}
	return true;
}

static void table_place_module(void *context, const struct kernel_module_place *place)
{
	struct kernel_table *table = context;

	for (size_t i = 1; i < table->modules.count; i++)
		if (!strcmp(table->modules.items[i].name, place->name)) {
			table->modules.items[i].start = place->start;
			table->modules.items[i].size = place->start ? place->size : 0;
		}
}

/* Where modules begin: as the kernel says, else at the lowest function. */
static void table_place_modules(struct kernel_table *table, const struct kallsyms *symbols)
{
	table->modules.items[0].start = symbols->kernel_start;
	kernel_modules_list(table->root, table_place_module, table);
	for (size_t i = 0; i + 1 < table->runs.count; i++) {
		struct kernel_run *run = &table->runs.items[i];
		struct kernel_module *module = &table->modules.items[run->module];
		uint64_t limit = module->start + module->size;

		// What lies behind a module is another's.
		if (module->size && module->start <= run->start && run->start < limit &&
		    run->limit > limit)
			run->limit = limit;
		if (!module->start)
			module->start = run->start;
	}
}

static void table_shrink(struct kernel_table *table)
{
	void *functions = realloc(table->functions.items,
				  table->functions.count * sizeof(*table->functions.items));

	if (functions) {
		table->functions.items = functions;
		table->functions.capacity = table->functions.count;
	}
}

static bool table_fill(struct kernel_table *table, struct kallsyms *symbols)
{
	uint64_t last = 0;

	if (symbols->text.count >= NAME_IS_READ)
		return false;
	table->names = kernel_names_create(symbols->text.items, symbols->text.count);
	if (!table->names)
		return false;
	for (size_t i = 0; i < symbols->lines.count; i++) {
		const struct kallsyms_line *line = &symbols->lines.items[i];

		// The best of several names for one address comes first.
		if (line->address != last && !table_add_function(table, line))
			return false;
		last = line->address;
	}
	if (!table_add_modules(table, symbols) || !table_close_runs(table))
		return false;
	table_place_modules(table, symbols);
	table_shrink(table);
	return true;
}

struct profcol_error *kernel_table_read(const char *root, struct kernel_table **ret)
{
	CLEANUP(kernel_table_cleanup) struct kernel_table *table = calloc(1, sizeof(*table));
	CLEANUP(kallsyms_deinit) struct kallsyms symbols = { 0 };
	struct profcol_error *error;

	if (!table || !(table->root = strdup(root)))
		return profcol_error_create(PROFCOL_NO_MEMORY, "read kernel symbols");
	error = kallsyms_read(root, &symbols);
	if (error)
		return error;
	if (!table_fill(table, &symbols))
		return profcol_error_create(PROFCOL_NO_MEMORY, "read kernel symbols");
	*ret = TAKE(table);
	return NULL;
}

static const struct kernel_run *table_find_run(const struct kernel_table *table, uint64_t address)
{
	size_t low = 0, high = table->runs.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (table->runs.items[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low || address >= table->runs.items[low - 1].limit)
		return NULL;
	return &table->runs.items[low - 1];
}

/* NULL without memory. */
static const char *table_read_name(struct kernel_table *table, struct kernel_function *function)
{
	const char *text;

	if (function->name & NAME_IS_READ)
		return table->texts.items[function->name & ~NAME_IS_READ];
	if (!VECTOR_RESERVE(&table->texts, 1))
		return NULL;
	text = kernel_names_read(table->names, function->name);
	if (!text)
		return NULL;
	function->name = NAME_IS_READ | (uint32_t)table->texts.count;
	table->texts.items[table->texts.count++] = text;
	return text;
}

bool kernel_table_find(struct kernel_table *table, uint64_t address, struct kernel_symbol *ret)
{
	const struct kernel_run *run = table_find_run(table, address);
	struct kernel_function *function;
	struct kernel_module *module;
	const char *name;
	size_t low, high;

	if (!run)
		return false;
	for (low = run->first, high = run[1].first; high - low > 1;) {
		size_t middle = low + (high - low) / 2;

		if (table->functions.items[middle].offset <= address - run->start)
			low = middle;
		else
			high = middle;
	}
	function = &table->functions.items[low];
	name = table_read_name(table, function);
	if (!name)
		return false;
	module = &table->modules.items[run->module];
	if (!module->build_id_read) {
		kernel_modules_build_id(table->root, run->module ? module->name : NULL,
					module->build_id);
		kernel_modules_htlhash(module->build_id, module->htlhash);
		module->build_id_read = true;
	}
	*ret = (struct kernel_symbol){
		.name = name,
		.module = module->name,
		// Each BPF program is loaded for itself.
		.module_start =
			strcmp(module->name, "bpf") ? module->start : run->start + function->offset,
		.build_id_gnu = module->build_id,
		.htlhash = module->htlhash,
	};
	return true;
}

size_t kernel_table_count(const struct kernel_table *table)
{
	return table->functions.count;
}

size_t kernel_table_memory(const struct kernel_table *table)
{
	return sizeof(*table) + table->functions.capacity * sizeof(*table->functions.items) +
	       table->runs.capacity * sizeof(*table->runs.items) +
	       table->modules.capacity * sizeof(*table->modules.items) +
	       table->texts.capacity * sizeof(*table->texts.items) +
	       kernel_names_memory(table->names);
}
