// SPDX-License-Identifier: Apache-2.0
/*
 * Functions, files and lines of Go's function table, found by its magic in a file that is nothing
 * but one segment. The first byte says for which machine. Whatever the bytes are, a place has no
 * more functions than there may be, and text lies in the file.
 */
#include "receiver/ebpf/runtimes/go/lines.h"
#include "receiver/ebpf/unwind/source.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

enum { ADDRESS = 0x400000, FUNCTIONS = 16, SPAN = 1 << 12, STEP = 61 };

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static size_t given;
static uint64_t sum; /* so that text is read */

static bool take(void *context, const struct runtime_line *line)
{
	(void)context;
	if (++given > RUNTIME_LINES)
		abort();
	for (size_t i = 0; i < line->function_bytes; i++)
		sum += (uint8_t)line->function[i];
	for (size_t i = 0; i < line->file_bytes; i++)
		sum += (uint8_t)line->file[i];
	return true;
}

static void look_up(const struct runtime_file *file, uint64_t address)
{
	const struct runtime_lines to = { take, NULL };
	uint32_t trace;

	given = 0;
	if (go_lines(file, address, &to, &trace) && (!given || trace >= RUNTIME_TRACES))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct unwind_source source;
	struct elf_view view = { 0 };
	const struct runtime_file file = { .view = &view, .source = &source };

	if (size < 2)
		return 0;
	view.file = bytes + 1;
	view.size = size - 1;
	view.machine = bytes[0] & 1 ? EM_AARCH64 : EM_X86_64;
	view.segment_count = 1;
	view.segments[0] = (struct elf_view_segment){
		.address = ADDRESS, .file_bytes = size - 1, .executable = true, .writable = true
	};
	unwind_source_init_functions(&source, &view);
	// Any part of it may be the data of functions.
	if (!source.go.function_data)
		source.go.function_data = ADDRESS;
	for (uint64_t i = 0; i < FUNCTIONS; i++)
		look_up(&file, source.go.text + i * SPAN + i * STEP);
	for (uint64_t at = 0; at < FUNCTIONS; at++)
		look_up(&file, ADDRESS + at * STEP);
	return 0;
}
