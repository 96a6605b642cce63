/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a Go program has what its function table is relative to, as its moduledata says
 * (runtime/symtab.go of Go 1.16 to 1.27). Any thread.
 */
#pragma once

#include "elf_view.h"

struct go_module {
	uint64_t text; /* entries are relative to it; the table does not say it since Go 1.26 */
	uint64_t function_data; /* and so is what functions point to; 0: not known */
};

/*
 * The moduledata is found by its first member, the @table's address: in the data as linked, or in
 * the relocations of a position-independent file. @since_120: the table has the layout of Go 1.20
 * and later, else that of 1.18 and 1.19. Without a moduledata the text is the start of .text, which
 * is the same in files that Go's own linker wrote; 0 if even that is unknown.
 */
struct go_module go_module_find(const struct elf_view *view, uint64_t table, bool since_120);
