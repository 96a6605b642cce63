/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of CPUs as sysfs prints them: "0-3,5,8-11\n" (Documentation/admin-guide/cputopology). */
#pragma once

#include "base/base.h"

#include <stdint.h>

/* More than any kernel can be built for (NR_CPUS is at most 8192). */
enum { CPU_LIST_MAX = 65536 };

struct cpu_list {
	VECTOR(uint32_t) cpus; /* ascending, each once */
};

/*
 * Read @text into @list, which replaces what it held. 0, -EINVAL for anything
 * but such a list (ascending, below CPU_LIST_MAX), or -ENOMEM. An empty list is
 * one of no CPUs.
 */
int cpu_list_parse(struct cpu_list *list, const char *text);

/* The same from the file at @path; or as file_read. */
int cpu_list_read(struct cpu_list *list, const char *path);

void cpu_list_deinit(struct cpu_list *list);
