// SPDX-License-Identifier: Apache-2.0
/*
 * A file of a profiled program, and perhaps what claims to be its debug file, from their bytes to
 * the index and to checked answers: reading must survive anything, and what the worker writes the
 * profiler must accept. Then the index itself, with a byte of it changed: reading must survive it.
 *
 * The first two bytes say how long the first file is; 0: there is only one.
 */
#include "receiver/ebpf/worker/answer.h"

#include <stdlib.h>
#include <string.h>

enum { PROBES = 64, ROOM = 1 << 20 };

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void release(const void *context)
{
	(void)context;
}

static void ask(const void *index_bytes, size_t index_size, size_t file_size, bool sound)
{
	static struct function_index index;
	uint64_t offsets[PROBES];
	struct worker_answer answer;
	size_t body_bytes;
	void *body;

	for (size_t i = 0; i < PROBES; i++)
		offsets[i] = i * (file_size / PROBES + 1);
	if (!function_index_open(&index, index_bytes, index_size)) {
		if (sound)
			abort();
		return;
	}
	if (answer_write(&index, offsets, PROBES, &body, &body_bytes))
		return;
	if (!answer_read(body, body_bytes, offsets, PROBES, &answer) && sound)
		abort();
	free(body);
}

static void expect_accepted(const struct functions_made *made)
{
	struct worker_answer answer;
	size_t body_bytes;
	void *body;

	if (answer_write_index(made, &body, &body_bytes))
		return;
	if (!answer_read_index(body, body_bytes, &answer))
		abort();
	free(body);
}

/* As large as the file: one byte more is a fault. */
static void *copy(const uint8_t *bytes, size_t size)
{
	void *to = malloc(size ? size : 1);

	if (!to)
		abort();
	memcpy(to, bytes, size);
	return to;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static _Alignas(8) uint8_t room[ROOM];
	struct functions_files files = { .release = { .release = release } };
	struct functions_made made;
	size_t first;
	void *file, *debug = NULL;

	if (size < 2)
		return 0;
	first = bytes[0] | (size_t)bytes[1] << 8;
	bytes += 2;
	size -= 2;
	if (!first || first > size)
		first = size;
	file = copy(bytes, first);
	if (first < size)
		debug = copy(bytes + first, size - first);
	files.file = file;
	files.file_bytes = first;
	files.debug = debug;
	files.debug_bytes = size - first;
	files.debug_found_by = size & 1 ? WORKER_DEBUG_BY_LINK : WORKER_DEBUG_BY_BUILD_ID;
	if (!functions_make(&files, room, sizeof(room), &made)) {
		expect_accepted(&made);
		ask(room, made.index.bytes, first, true);
		if (size)
			room[bytes[size / 2] * 7919u % made.index.bytes] ^= bytes[size - 1];
		ask(room, made.index.bytes, first, false);
	}
	free(debug);
	free(file);
	return 0;
}
