/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions at a place in Go's code, from Go's function table: those that were inlined there
 * and the one that holds it, with files and lines, as runtime.CallersFrames has them. Layouts of
 * Go 1.16 to 1.27: runtime/runtime2.go (_func), runtime/symtab.go (funcdata, funcline1,
 * moduledata), runtime/symtabinl.go (inlinedCall), internal/abi/symtab.go (numbers of data and of
 * functions). Any thread.
 */
#pragma once

#include "runtimes/runtime.h"

/* As runtime.lines has it. Nothing is allocated. */
bool go_lines(const struct runtime_file *file, uint64_t address, const struct runtime_lines *to,
	      uint32_t *trace_ret);
