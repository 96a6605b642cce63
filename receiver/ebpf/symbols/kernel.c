// SPDX-License-Identifier: Apache-2.0
#include "kernel.h"

#include "kernel_modules.h"

#include "base/base.h"

#include <string.h>

#define SECOND 1000000000ull

/* Reading the table takes 0.1 s of CPU time, most of it in the kernel. */
static const uint64_t reload_interval_ns = 10 * SECOND;
static const uint64_t longest_interval_ns = 600 * SECOND;     /* when reloads do not help */
static const uint64_t module_check_interval_ns = 10 * SECOND; /* 0.1 ms */
/* Nothing tells that a BPF program has taken the place of another. */
static const uint64_t bpf_age_ns = 300 * SECOND;

struct kernel {
	char *root;                            /* owned */
	struct kernel_table *table;            /* owned; NULL after an error */
	VECTOR(struct kernel_table *) retired; /* owned; their text may be in use */
	uint64_t loaded_ns;
	uint64_t next_reload_ns;
	uint64_t interval_ns;
	uint64_t next_module_check_ns;
	uint64_t modules; /* fingerprint when the table was read */
};

struct kernel *kernel_create(const char *root)
{
	struct kernel *kernel = calloc(1, sizeof(*kernel));

	if (!kernel)
		return NULL;
	kernel->root = strdup(root);
	if (!kernel->root) {
		free(kernel);
		return NULL;
	}
	kernel->interval_ns = reload_interval_ns;
	return kernel;
}

void kernel_destroy(struct kernel *kernel)
{
	if (!kernel)
		return;
	kernel_forget(kernel);
	VECTOR_DEINIT(&kernel->retired);
	kernel_table_destroy(kernel->table);
	free(kernel->root);
	free(kernel);
}

void kernel_forget(struct kernel *kernel)
{
	for (size_t i = 0; i < kernel->retired.count; i++)
		kernel_table_destroy(kernel->retired.items[i]);
	kernel->retired.count = 0;
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
		return now_ns >= kernel->loaded_ns + bpf_age_ns;
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

bool kernel_find(struct kernel *kernel, uint64_t address, uint64_t now_ns,
		 struct kernel_symbol *ret)
{
	bool found = kernel->table && kernel_table_find(kernel->table, address, ret);
	struct profcol_error *error;

	if (found && !kernel_is_outdated(kernel, ret, now_ns))
		return true;
	if (now_ns < kernel->next_reload_ns)
		return found;
	error = kernel_load(kernel, now_ns);
	if (!error && kernel_table_find(kernel->table, address, ret)) {
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
	size_t bytes = sizeof(*kernel);

	if (kernel->table)
		bytes += kernel_table_memory(kernel->table);
	for (size_t i = 0; i < kernel->retired.count; i++)
		bytes += kernel_table_memory(kernel->retired.items[i]);
	return bytes;
}
