// SPDX-License-Identifier: Apache-2.0
#include "kernel.h"

#include "kernel_modules.h"

#include "processes/processes.h"

#include "base/base.h"

#include <string.h>

#define SECOND 1000000000ull

/* Reading the table takes 0.1 s of CPU time, most of it in the kernel. */
static const uint64_t reload_interval_ns = 10 * SECOND;
static const uint64_t longest_interval_ns = 600 * SECOND;     /* when reloads do not help */
static const uint64_t module_check_interval_ns = 10 * SECOND; /* 0.1 ms */
/* Where nothing tells that a BPF program has taken the place of another. */
static const uint64_t bpf_age_ns = 300 * SECOND;
/* After records of them were lost, at first: twice as long, up to bpf_age_ns, whenever nothing had
 * changed. A machine that loses records does so again and again. */
static const uint64_t lost_interval_ns = 10 * SECOND;

struct kernel {
	char *root;                            /* owned */
	struct kernel_table *table;            /* owned; NULL after an error */
	VECTOR(struct kernel_table *) retired; /* owned; their text may be in use */
	uint64_t loaded_ns;
	uint64_t next_reload_ns;
	uint64_t interval_ns;
	uint64_t next_module_check_ns;
	uint64_t lost_wait_ns, next_lost_ns; /* lost_interval_ns or more, and until when */
	uint64_t modules;                    /* fingerprint when the table was read */
	struct kernel_code *code;            /* borrowed; NULL: changes are not followed */
	struct arena *names; /* owned: of what was found there since kernel_forget */
	bool has_names;
	uint64_t now_ns, since_ns; /* the last time that was asked, and that before kernel_forget */
};

struct kernel *kernel_create(const char *root)
{
	struct kernel *kernel = calloc(1, sizeof(*kernel));

	if (!kernel)
		return NULL;
	kernel->root = strdup(root);
	kernel->names = arena_create(0);
	if (!kernel->root || !kernel->names) {
		arena_destroy(kernel->names);
		free(kernel->root);
		free(kernel);
		return NULL;
	}
	kernel->interval_ns = reload_interval_ns;
	kernel->lost_wait_ns = lost_interval_ns;
	return kernel;
}

void kernel_destroy(struct kernel *kernel)
{
	if (!kernel)
		return;
	kernel_forget(kernel);
	VECTOR_DEINIT(&kernel->retired);
	kernel_table_destroy(kernel->table);
	arena_destroy(kernel->names);
	free(kernel->root);
	free(kernel);
}

void kernel_forget(struct kernel *kernel)
{
	for (size_t i = 0; i < kernel->retired.count; i++)
		kernel_table_destroy(kernel->retired.items[i]);
	kernel->retired.count = 0;
	kernel->since_ns = kernel->now_ns;
	if (kernel->has_names) {
		struct arena *fresh = arena_create(0);

		if (!fresh)
			return; // next time
		arena_destroy(kernel->names);
		kernel->names = fresh;
		kernel->has_names = false;
	}
}

void kernel_follow(struct kernel *kernel, struct kernel_code *code)
{
	kernel->code = code;
}

struct profcol_error *kernel_load(struct kernel *kernel, uint64_t now_ns)
{
	// Before the table: a module that comes in between is then found by the next check.
	uint64_t modules = kernel_modules_fingerprint(kernel->root);
	struct kernel_table *table = NULL;
	struct profcol_error *error;

	kernel->next_reload_ns = now_ns + kernel->interval_ns;
	kernel->next_module_check_ns = now_ns + module_check_interval_ns;
	if (!VECTOR_RESERVE(&kernel->retired, 1))
		return profcol_error_create(PROFCOL_NO_MEMORY, "read kernel symbols");
	error = kernel_table_read(kernel->root, &table);
	if (error)
		return error;
	if (kernel->table)
		kernel->retired.items[kernel->retired.count++] = kernel->table;
	kernel->table = table;
	kernel->modules = modules;
	kernel->loaded_ns = now_ns;
	return NULL;
}

/* Could @symbol be a name from the past? */
static bool kernel_is_outdated(struct kernel *kernel, const struct kernel_symbol *symbol,
			       uint64_t now_ns)
{
	if (!strcmp(symbol->module, "vmlinux"))
		return false;
	if (!strcmp(symbol->module, "bpf"))
		return kernel->code ? now_ns >= kernel->next_lost_ns &&
					      kernel->loaded_ns <= kernel_code_lost_ns(kernel->code)
				    : now_ns >= kernel->loaded_ns + bpf_age_ns;
	if (now_ns < kernel->next_module_check_ns)
		return false;
	kernel->next_module_check_ns = now_ns + module_check_interval_ns;
	return kernel_modules_fingerprint(kernel->root) != kernel->modules;
}

/* Addresses that no table explains must not cost a reload every time. */
static void kernel_wait_longer(struct kernel *kernel, uint64_t now_ns)
{
	kernel->interval_ns *= 2;
	if (kernel->interval_ns > longest_interval_ns)
		kernel->interval_ns = longest_interval_ns;
	kernel->next_reload_ns = now_ns + kernel->interval_ns;
}

/* @symbol is in the place of @before, which was held to be outdated. */
static void kernel_note_change(struct kernel *kernel, const struct kernel_symbol *before,
			       const struct kernel_symbol *symbol, uint64_t now_ns)
{
	bool same = before->module_start == symbol->module_start &&
		    !strcmp(before->module, symbol->module) && !strcmp(before->name, symbol->name);

	if (strcmp(before->module, "bpf"))
		return;
	kernel->lost_wait_ns = same ? 2 * kernel->lost_wait_ns : lost_interval_ns;
	if (kernel->lost_wait_ns > bpf_age_ns)
		kernel->lost_wait_ns = bpf_age_ns;
	kernel->next_lost_ns = now_ns + kernel->lost_wait_ns;
}

/* What has come or gone since the table was read lies beside the kernel and its modules. */
static enum kernel_code_finding find_code(struct kernel *kernel, uint64_t address,
					  struct kernel_symbol *ret)
{
	enum kernel_code_finding finding;
	struct kernel_code_program program;
	uint64_t ended_ns;
	const char *name;

	if (!kernel->code)
		return KERNEL_CODE_NONE;
	finding = kernel_code_find(kernel->code, address, kernel->since_ns, &program, &ended_ns);
	// A table that was read later knows what is there now.
	if (finding == KERNEL_CODE_GONE)
		return kernel->loaded_ns > ended_ns ? KERNEL_CODE_NONE : KERNEL_CODE_GONE;
	if (finding != KERNEL_CODE_FOUND)
		return finding;
	name = arena_strndup(kernel->names, program.name, strlen(program.name));
	if (!name)
		return KERNEL_CODE_UNCLEAR;
	kernel->has_names = true;
	*ret = (struct kernel_symbol){
		.name = name,
		.module = "bpf",
		.module_start = program.start,
		.build_id_gnu = "",
		.htlhash = "",
	};
	return KERNEL_CODE_FOUND;
}

bool kernel_find(struct kernel *kernel, uint64_t address, uint64_t now_ns,
		 struct kernel_symbol *ret)
{
	bool found = kernel->table && kernel_table_find(kernel->table, address, ret);
	struct profcol_error *error;
	struct kernel_symbol before;

	kernel->now_ns = now_ns;
	if (!found || strcmp(ret->module, "vmlinux")) {
		enum kernel_code_finding finding = find_code(kernel, address, ret);

		if (finding != KERNEL_CODE_NONE)
			return finding == KERNEL_CODE_FOUND;
	}
	if (found && !kernel_is_outdated(kernel, ret, now_ns))
		return true;
	if (now_ns < kernel->next_reload_ns)
		return found;
	if (found)
		before = *ret;
	error = kernel_load(kernel, now_ns);
	if (!error && kernel_table_find(kernel->table, address, ret)) {
		if (found)
			kernel_note_change(kernel, &before, ret, now_ns);
		kernel->interval_ns = reload_interval_ns;
		return true;
	}
	kernel_wait_longer(kernel, now_ns);
	if (!error)
		return false;
	// An old table is better than none, and start has told of the reason.
	profcol_error_destroy(error);
	return found;
}

size_t kernel_memory(const struct kernel *kernel)
{
	size_t bytes = sizeof(*kernel) + arena_memory(kernel->names);

	if (kernel->table)
		bytes += kernel_table_memory(kernel->table);
	for (size_t i = 0; i < kernel->retired.count; i++)
		bytes += kernel_table_memory(kernel->retired.items[i]);
	return bytes;
}
