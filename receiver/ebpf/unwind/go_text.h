/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the text of a Go program begins, which entries of its function table are relative to.
 * Since Go 1.26 the table does not say it any more. Any thread.
 */
#pragma once

#include "elf_view.h"

/*
 * As the program's moduledata has it (runtime/symtab.go), which is found by its first member, the
 * @table's address: in the data as linked, or in the relocations of a position-independent file.
 * Else the start of .text, which is the same in files that Go's own linker wrote; 0 if even that
 * is unknown.
 */
uint64_t go_text_find(const struct elf_view *view, uint64_t table);
