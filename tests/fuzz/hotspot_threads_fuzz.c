// SPDX-License-Identifier: Apache-2.0
/*
 * The memory of a JVM with a list of threads, changed by what comes in before and while it is read.
 * Whatever it is: a name is UTF-8 without NUL, each is told once at most, and what is read has a
 * bound.
 *
 * The input: what kind of JVM, which thread; in two bytes each, bits of its settings to change, and
 * which offset is which number instead. Then changes of 12 bytes each: where, before which read,
 * and the word that is written.
 */
#include "forged_changes.h"

#include "tests/unit/ebpf/runtimes/hotspot_forged_threads.h"

#include "receiver/ebpf/runtimes/hotspot/symbol.h"

#include "base/strings.h"

#include <stdlib.h>
#include <string.h>

enum {
	HEAD_BYTES = 8,
	READS_COUNTED = 256,
	// A list of 4,096 threads, and 1,024 fields of each class that is looked at.
	READS_MOST = 1 << 16,
	TEXT_BYTES_MOST = 1 << 20,
};

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static struct forged forged;
static uint64_t requests;

struct told {
	size_t lines;
};

static void change(struct forged *memory, size_t number)
{
	forged_changes_make(memory->bytes, memory->used, number, READS_COUNTED);
}

static bool take_line(void *context, const struct runtime_line *line)
{
	struct told *told = context;

	if (++told->lines > 1 || !line->function_bytes || line->function_bytes > HOTSPOT_TEXT_BYTES)
		abort();
	if (memchr(line->function, 0, line->function_bytes) ||
	    !strings_is_utf8(line->function, line->function_bytes))
		abort();
	return true;
}

static void name(uint32_t thread)
{
	const struct runtime_memory memory = forged_memory(&forged);
	struct told told = { 0 };
	const struct runtime_lines lines = { take_line, &told };
	enum runtime_outcome outcome;

	forged.reads = forged.read_bytes = 0;
	outcome = hotspot_name_thread(&forged.process, &memory, thread, &lines);
	if ((outcome == RUNTIME_NAMED) != (told.lines == 1))
		abort();
	if (forged.reads > READS_MOST || forged.read_bytes > TEXT_BYTES_MOST)
		abort();
}

static void change_offsets(const uint8_t *head)
{
	struct hotspot_offsets *offsets = (void *)forged.process.data;
	uint16_t settings, which, number;

	memcpy(&settings, head + 2, sizeof(settings));
	memcpy(&which, head + 4, sizeof(which));
	memcpy(&number, head + 6, sizeof(number));
	offsets->settings ^= settings;
	if (which < HOTSPOT_OBJECTS)
		offsets->objects[which] = number;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct forged_jvm jvm;
	uint32_t thread;

	if (size < HEAD_BYTES)
		return 0;
	forged_changes_take(bytes + HEAD_BYTES, size - HEAD_BYTES);
	forged_jvm_init(&jvm, &forged, &forged_jvm_kinds[bytes[0] % FORGED_JVM_KINDS]);
	forged_room(&forged, 1024);
	change_offsets(bytes);
	thread = bytes[1] & 1 ? FORGED_TID : bytes[1] & 2 ? FORGED_OTHER_TID : bytes[1];
	forged.number = ++requests;
	change(&forged, 0);
	forged.before = change;
	// The second one goes by the list of the first one.
	name(thread);
	name(FORGED_TID);
	forged.number = ++requests;
	name(thread);
	return 0;
}
