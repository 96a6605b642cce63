// SPDX-License-Identifier: Apache-2.0
/*
 * Names of threads of Java (JDK, src/hotspot/share/runtime/javaThread.hpp, threadSMR.hpp). A
 * thread's object says which thread it is of, and that which number it has, so that none is taken
 * for another. Objects move
 * while their program stands still for a collection: what is read is believed only if none began or
 * went on meanwhile.
 */
#include "objects.h"

#include <string.h>

enum {
	THREADS_MOST = 4096, /* that are looked at */
};

/* The threads of the process that the request at hand is about: a list is read once. */
struct thread_list {
	uint64_t number; /* of the request; 0: there is none */
	size_t count;
	struct {
		uint64_t address; /* of a JavaThread */
		uint32_t id;      /* as gettid() has it */
	} threads[THREADS_MOST];
};

/* How objects are moved at a time. */
struct collections {
	uint32_t count;
	uint8_t is_active;
};

static bool read(const struct hotspot_reader *reader, uint64_t address, void *to, size_t bytes)
{
	return reader->memory->read(reader->memory->context, address, to, bytes);
}

static uint16_t offset_of(const struct hotspot_reader *reader, enum hotspot_object word)
{
	return reader->offsets->objects[word - HOTSPOT_WORDS];
}

static bool read_collections(const struct hotspot_reader *reader, struct collections *ret)
{
	uint64_t heap;

	return hotspot_static(reader, HOTSPOT_HEAP, &heap, sizeof(heap)) &&
	       read(reader, heap + offset_of(reader, HOTSPOT_HEAP_COLLECTIONS), &ret->count,
		    sizeof(ret->count)) &&
	       read(reader, heap + offset_of(reader, HOTSPOT_HEAP_ACTIVE), &ret->is_active,
		    sizeof(ret->is_active));
}

/* ---- the list ---- */

/* The number of the JavaThread at @thread; one that begins or ends has no thread of the system's.
 */
static bool read_id(const struct hotspot_reader *reader, uint64_t thread, uint32_t *ret)
{
	uint64_t system;

	return read(reader, thread + offset_of(reader, HOTSPOT_THREAD_SYSTEM), &system,
		    sizeof(system)) &&
	       system &&
	       read(reader, system + offset_of(reader, HOTSPOT_SYSTEM_ID), ret, sizeof(*ret));
}

static bool add_thread(const struct hotspot_reader *reader, struct thread_list *list,
		       uint64_t thread)
{
	uint32_t id;

	if (list->count == THREADS_MOST)
		return false;
	if (read_id(reader, thread, &id)) {
		list->threads[list->count].address = thread;
		list->threads[list->count++].id = id;
	}
	return true;
}

static void list_chain(const struct hotspot_reader *reader, struct thread_list *list)
{
	uint64_t thread;

	if (!hotspot_static(reader, HOTSPOT_FIRST_THREAD, &thread, sizeof(thread)))
		return;
	for (int i = 0; i < THREADS_MOST && thread && add_thread(reader, list, thread); i++)
		if (!read(reader, thread + offset_of(reader, HOTSPOT_THREAD_NEXT), &thread,
			  sizeof(thread)))
			return;
}

static void list_threads(const struct hotspot_reader *reader, struct thread_list *list)
{
	uint64_t threads, items, thread;
	uint32_t length;

	if (!reader->layout->objects[HOTSPOT_THREADS - HOTSPOT_WORDS]) {
		list_chain(reader, list);
		return;
	}
	if (!hotspot_static(reader, HOTSPOT_THREADS, &threads, sizeof(threads)) ||
	    !read(reader, threads + offset_of(reader, HOTSPOT_LIST_LENGTH), &length,
		  sizeof(length)) ||
	    !read(reader, threads + offset_of(reader, HOTSPOT_LIST_ITEMS), &items, sizeof(items)))
		return;
	for (uint32_t i = 0; i < length && i < THREADS_MOST; i++)
		if (!read(reader, items + 8ull * i, &thread, sizeof(thread)) ||
		    !add_thread(reader, list, thread))
			return;
}

/* The JavaThread of thread number @id; 0: there is none. */
static uint64_t find_thread(const struct hotspot_reader *reader, uint32_t id)
{
	static struct thread_list list; // 64 KiB; of the worker, which has one thread

	if (!list.number || list.number != reader->memory->number) {
		list.count = 0;
		list_threads(reader, &list);
		list.number = reader->memory->number;
	}
	for (size_t i = 0; i < list.count; i++)
		if (list.threads[i].id == id)
			return list.threads[i].address;
	return 0;
}

/* ---- its name ---- */

/* The object of the JavaThread at @thread. */
static bool read_object(const struct hotspot_reader *reader, uint64_t thread, uint64_t *ret)
{
	if (!read(reader, thread + offset_of(reader, HOTSPOT_THREAD_OBJECT), ret, sizeof(*ret)))
		return false;
	return !reader->layout->object_handle || read(reader, *ret, ret, sizeof(*ret));
}

static enum runtime_outcome read_name(const struct hotspot_reader *reader, uint64_t thread,
				      struct hotspot_text *ret)
{
	uint64_t object, klass, named_thread, text;
	uint32_t name, eetop;

	if (!read_object(reader, thread, &object))
		return RUNTIME_UNREADABLE;
	klass = hotspot_class_called(reader, object, "java/lang/Thread");
	if (!klass)
		return RUNTIME_MALFORMED;
	eetop = hotspot_field(reader, klass, "eetop", "J");
	name = hotspot_field(reader, klass, "name", "Ljava/lang/String;");
	if (!eetop || !name)
		return RUNTIME_MALFORMED;
	if (!read(reader, object + eetop, &named_thread, sizeof(named_thread)) ||
	    !hotspot_read_pointer(reader, object + name, &text))
		return RUNTIME_UNREADABLE;
	if (named_thread != thread)
		return RUNTIME_GONE;
	return hotspot_read_string(reader, text, ret) && ret->length ? RUNTIME_NAMED
								     : RUNTIME_MALFORMED;
}

enum runtime_outcome hotspot_name_thread(const struct runtime_process *process,
					 const struct runtime_memory *memory, uint32_t thread,
					 const struct runtime_lines *to)
{
	struct collections before, after;
	enum runtime_outcome outcome;
	struct hotspot_reader reader;
	struct hotspot_text name;
	const struct hotspot_offsets *offsets = (const void *)process->data;
	uint64_t found;
	uint32_t id;

	// Of one that has ended, or has another name by now, there is no number.
	if (!thread)
		return RUNTIME_GONE;

	if (process->data_bytes != sizeof(*offsets) || !offsets->names_threads)
		return RUNTIME_MALFORMED;
	memory->renew(memory->context);
	if (!hotspot_reader_init(&reader, process, memory) || !read_collections(&reader, &before) ||
	    before.is_active)
		return RUNTIME_UNREADABLE;
	found = find_thread(&reader, thread);
	outcome = found ? read_name(&reader, found, &name) : RUNTIME_GONE;
	memory->renew(memory->context);
	if (!read_collections(&reader, &after) || after.is_active || after.count != before.count)
		return RUNTIME_UNREADABLE;
	if (outcome != RUNTIME_NAMED)
		return outcome;
	// Since the list was read it may have become another thread's.
	if (!read_id(&reader, found, &id) || id != thread)
		return RUNTIME_GONE;
	return to->add(to->context, &(struct runtime_line){ .function = name.bytes,
							    .function_bytes = name.length })
		       ? RUNTIME_NAMED
		       : RUNTIME_MALFORMED;
}
