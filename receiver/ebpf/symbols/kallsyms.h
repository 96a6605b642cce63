/* SPDX-License-Identifier: Apache-2.0 */
/* The text of /proc/kallsyms as rows, before they are packed (kernel_table). */
#pragma once

#include "kernel_modules.h"

#include "base/base.h"

#include <profcol/errors.h>

struct kallsyms_line {
	uint64_t address;
	uint32_t name;   /* offset in text */
	uint16_t module; /* index in modules */
	uint8_t rank;    /* global 0, local 1, weak 2 */
};

struct kallsyms_module {
	char name[KERNEL_MODULE_NAME];
};

/* Functions only; owned. */
struct kallsyms {
	VECTOR(struct kallsyms_line) lines;     /* by address, of one address the best name first */
	VECTOR(struct kallsyms_module) modules; /* "vmlinux" first */
	VECTOR(char) text;
	uint64_t kernel_start; /* of the kernel's text */
};

/* @ret is zeroed, and deinitialized by the caller, also after an error. See kernel_table_read. */
PROFCOL_MUST_CHECK struct profcol_error *kallsyms_read(const char *root, struct kallsyms *ret);
void kallsyms_deinit(struct kallsyms *symbols);
