// SPDX-License-Identifier: Apache-2.0
/*
 * The memory of a process that says it is a toy interpreter. Whatever is in there, what is found
 * passes the check, and names are text of bounded length that was read.
 *
 * The first 8 bytes: position, and which reading is the first to fail, if any. The rest is what
 * lies at BASE, again and again.
 */
#include "receiver/ebpf/runtimes/toy/toy.h"

#include <stdlib.h>
#include <string.h>

enum { HEAD_BYTES = 8, TEXT_MOST = 1024, READ_MOST = 1 << 16 };

static const uint64_t BASE = 0x1000, SPAN = 1 << 16;

struct memory {
	const uint8_t *bytes;
	size_t size;
	uint32_t reads, fails;
	size_t sum;
};

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static bool read_bytes(void *context, uint64_t address, void *to, size_t count)
{
	struct memory *memory = context;

	memory->sum += count;
	if (memory->sum > READ_MOST)
		abort();
	if (++memory->reads == memory->fails || address < BASE || count > SPAN ||
	    address - BASE > SPAN - count)
		return false;
	for (size_t i = 0; i < count; i++)
		((uint8_t *)to)[i] = memory->bytes[(address - BASE + i) % memory->size];
	return true;
}

static void renew(void *context)
{
	(void)context;
}

static bool take_line(void *context, const struct runtime_line *line)
{
	unsigned int sum = 0;

	(void)context;
	if (line->function_bytes > TEXT_MOST || line->file_bytes > TEXT_MOST)
		abort();
	// All of it is there: else the sanitizer tells.
	for (size_t i = 0; i < line->function_bytes; i++)
		sum += (unsigned char)line->function[i];
	for (size_t i = 0; i < line->file_bytes; i++)
		sum += (unsigned char)line->file[i];
	return sum % 7 != 0;
}

static void attach(struct memory *memory)
{
	const struct runtime_memory runtime_memory = { read_bytes, renew, memory };
	const struct toy_layout layout = { .about = 0x10, .loop_start = 1, .loop_limit = 2 };
	struct runtime_found found;

	if (toy_attach(&layout, BASE - 0x10, &runtime_memory, &found) &&
	    !runtime_found_check(&found))
		abort();
}

static void resolve(struct memory *memory, uint32_t position)
{
	const struct runtime_memory runtime_memory = { read_bytes, renew, memory };
	const struct runtime_lines lines = { take_line, NULL };
	const struct runtime_process process = { 0 };
	struct runtime_frame frame = { .object = BASE, .position = position };

	if (memory->size >= sizeof(frame.check))
		memcpy(&frame.check, memory->bytes, sizeof(frame.check));
	if (toy_resolve(&process, &runtime_memory, &frame, &lines) >= RUNTIME_OUTCOMES)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct memory memory = { .bytes = bytes + HEAD_BYTES, .size = size - HEAD_BYTES };
	uint32_t position;

	if (size <= HEAD_BYTES)
		return 0;
	memcpy(&position, bytes, sizeof(position));
	memcpy(&memory.fails, bytes + sizeof(position), sizeof(memory.fails));
	attach(&memory);
	memory.reads = 0;
	memory.sum = 0;
	resolve(&memory, position);
	return 0;
}
