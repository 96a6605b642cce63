// SPDX-License-Identifier: Apache-2.0
#include "hotspot_forged_threads.h"

#include <string.h>

enum { THREAD_BYTES = 128, SYSTEM_BYTES = 32, OBJECT_BYTES = 64, SHIFT = 3 };

static const uint16_t object_offsets[HOTSPOT_OBJECTS] = {
	[HOTSPOT_LIST_LENGTH - HOTSPOT_WORDS] = 4,
	[HOTSPOT_LIST_ITEMS - HOTSPOT_WORDS] = 16,
	[HOTSPOT_THREAD_NEXT - HOTSPOT_WORDS] = 48,
	[HOTSPOT_THREAD_SYSTEM - HOTSPOT_WORDS] = 56,
	[HOTSPOT_THREAD_OBJECT - HOTSPOT_WORDS] = 64,
	[HOTSPOT_SYSTEM_ID - HOTSPOT_WORDS] = 12,
	[HOTSPOT_HEAP_ACTIVE - HOTSPOT_WORDS] = 8,
	[HOTSPOT_HEAP_COLLECTIONS - HOTSPOT_WORDS] = 16,
	[HOTSPOT_KLASS_SUPER - HOTSPOT_WORDS] = 120,
	[HOTSPOT_KLASS_POOL - HOTSPOT_WORDS] = 224,
	[HOTSPOT_KLASS_FIELDS - HOTSPOT_WORDS] = 448,
};

const struct forged_jvm_kind forged_jvm_kinds[FORGED_JVM_KINDS] = {
	{ HOTSPOT_OFFSETS_8, 8, HOTSPOT_SHORT_POINTERS | HOTSPOT_SHORT_CLASSES, false, false },
	{ HOTSPOT_POINTED, 11, 0, false, false },
	{ HOTSPOT_POINTED, 17, HOTSPOT_SHORT_POINTERS | HOTSPOT_SHORT_CLASSES, true, true },
	{ HOTSPOT_POINTED, 21, HOTSPOT_SHORT_CLASSES, true, true },
	{ HOTSPOT_MUTABLE, 25, HOTSPOT_SHORT_POINTERS | HOTSPOT_COMPACT | HOTSPOT_SHORT_CLASSES,
	  true, true },
	{ HOTSPOT_MUTABLE, 25, 0, true, true },
};

struct field {
	const char *name, *type;
	uint16_t at;
};

static struct hotspot_layout *layout_of(struct forged_jvm *jvm)
{
	return (void *)jvm->memory->process.layout;
}

static struct hotspot_offsets *offsets_of(struct forged_jvm *jvm)
{
	return (void *)jvm->memory->process.data;
}

uint64_t forged_jvm_at(uint64_t address, enum hotspot_object word)
{
	return address + object_offsets[word - HOTSPOT_WORDS];
}

void forged_jvm_put_static(struct forged_jvm *jvm, enum hotspot_object word, uint64_t value)
{
	forged_put(jvm->memory, jvm->statics + 8ull * (word - HOTSPOT_WORDS), value, 8);
}

/* ---- classes ---- */

static uint32_t add_entry(struct forged_jvm *jvm, struct forged_class *of, const char *text)
{
	uint64_t symbol = forged_symbol(jvm->memory, text, strlen(text));

	forged_put(jvm->memory, of->pool + layout_of(jvm)->pool_bytes + 8ull * of->entries, symbol,
		   8);
	forged_put(jvm->memory, forged_field(jvm->memory, of->pool, HOTSPOT_POOL_LENGTH),
		   of->entries + 1, 4);
	return of->entries++;
}

/* A field, at @to; where the next one comes. In a stream it has numbers that are passed over. */
static uint64_t put_field(struct forged_jvm *jvm, struct forged_class *of,
			  const struct field *field, uint64_t to)
{
	uint32_t name = add_entry(jvm, of, field->name), type = add_entry(jvm, of, field->type);
	const uint16_t numbers[] = {
		2, (uint16_t)name, (uint16_t)type, 0, (uint16_t)(field->at << 2 | 1), 0
	};
	const uint8_t packed[] = {
		(uint8_t)(1 + name),
		(uint8_t)(1 + type),
		(uint8_t)(1 + field->at),
		1 + 2,
		1 + (1 | 4),
		1 + 9,
		1 + 8,
	};
	bool is_packed = layout_of(jvm)->fields_packed;
	size_t bytes = is_packed ? sizeof(packed) : sizeof(numbers);

	for (size_t byte = 0; byte < bytes; byte++)
		forged_put(jvm->memory, to + byte,
			   is_packed ? packed[byte] : ((const uint8_t *)numbers)[byte], 1);
	return to + bytes;
}

static void put_fields(struct forged_jvm *jvm, struct forged_class *of, const struct field *fields,
		       size_t count)
{
	uint64_t array = forged_room(jvm->memory, 256), to = array + 4;

	forged_put(jvm->memory, forged_jvm_at(of->klass, HOTSPOT_KLASS_FIELDS), array, 8);
	forged_put(jvm->memory, forged_jvm_at(of->klass, HOTSPOT_KLASS_POOL), of->pool, 8);
	if (layout_of(jvm)->fields_packed) {
		forged_put(jvm->memory, to, 1 + count, 1);
		forged_put(jvm->memory, to + 1, 1 + 0, 1);
		to += 2;
	}
	for (size_t i = 0; i < count; i++)
		to = put_field(jvm, of, &fields[i], to);
	forged_put(jvm->memory, array, to - array - 4, 4);
}

static void make_classes(struct forged_jvm *jvm)
{
	const char *units = jvm->kind->version == 8 ? "[C" : "[B";
	const struct field thread[] = { { "priority", "I", 12 },
					{ "name", "I", 12 },
					{ "name", "Ljava/lang/String;", FORGED_NAME_AT },
					{ "eetop", "J", FORGED_OWNER_AT } };
	const struct field string[] = { { "coder", "B", FORGED_CODER_AT },
					{ "value", units, FORGED_VALUE_AT } };

	jvm->thread_class = forged_class(jvm->memory, "java/lang/Thread", NULL);
	put_fields(jvm, &jvm->thread_class, thread, 4);
	jvm->worker_class = forged_class(jvm->memory, "Shop$Worker", NULL);
	forged_put(jvm->memory, forged_jvm_at(jvm->worker_class.klass, HOTSPOT_KLASS_SUPER),
		   jvm->thread_class.klass, 8);
	jvm->string_class = forged_class(jvm->memory, "java/lang/String", NULL);
	put_fields(jvm, &jvm->string_class, string, 2);
	jvm->array_class = forged_class(jvm->memory, units, NULL);
}

/* ---- objects ---- */

void forged_jvm_put_pointer(struct forged_jvm *jvm, uint64_t address, uint64_t object)
{
	if (jvm->kind->settings & HOTSPOT_SHORT_POINTERS)
		forged_put(jvm->memory, address,
			   object ? (object - jvm->memory->start) >> SHIFT : 0, 4);
	else
		forged_put(jvm->memory, address, object, 8);
}

void forged_jvm_put_class(struct forged_jvm *jvm, uint64_t object, uint64_t klass)
{
	uint64_t number = (klass - jvm->memory->start) >> SHIFT;

	if (jvm->kind->settings & HOTSPOT_COMPACT)
		forged_put(jvm->memory, object, number << 42 | 1, 8);
	else if (jvm->kind->settings & HOTSPOT_SHORT_CLASSES)
		forged_put(jvm->memory, object + 8, number, 4);
	else
		forged_put(jvm->memory, object + 8, klass, 8);
}

void forged_jvm_put_text(struct forged_jvm *jvm, size_t i, const void *text, size_t bytes,
			 uint32_t said, bool is_wide)
{
	uint16_t settings = jvm->kind->settings;
	uint32_t length_at = settings & HOTSPOT_COMPACT         ? 8
			     : settings & HOTSPOT_SHORT_CLASSES ? 12
								: 16;
	uint32_t items_at = length_at + 4;
	uint64_t array = forged_room(jvm->memory, 32 + bytes);

	if (jvm->kind->version < 23 && items_at % 8)
		items_at += 4;
	forged_jvm_put_class(jvm, array, jvm->array_class.klass);
	forged_put(jvm->memory, array + length_at, jvm->kind->version == 8 ? said / 2 : said, 4);
	for (size_t byte = 0; byte < bytes; byte++)
		forged_put(jvm->memory, array + items_at + byte, ((const uint8_t *)text)[byte], 1);
	forged_jvm_put_pointer(jvm, jvm->strings[i] + FORGED_VALUE_AT, array);
	forged_put(jvm->memory, jvm->strings[i] + FORGED_CODER_AT, is_wide, 1);
	jvm->arrays[i] = array;
}

void forged_jvm_put_ascii(struct forged_jvm *jvm, size_t i, const char *text)
{
	size_t length = strnlen(text, 255);
	char wide[510] = "";

	if (jvm->kind->version > 8) {
		forged_jvm_put_text(jvm, i, text, length, (uint32_t)length, false);
		return;
	}
	for (size_t unit = 0; unit < length; unit++)
		wide[2 * unit] = text[unit];
	forged_jvm_put_text(jvm, i, wide, 2 * length, (uint32_t)(2 * length), true);
}

/* ---- threads ---- */

void forged_jvm_make_thread(struct forged_jvm *jvm, size_t i, uint32_t id)
{
	struct forged *memory = jvm->memory;

	jvm->systems[i] = forged_room(memory, SYSTEM_BYTES);
	jvm->threads[i] = forged_room(memory, THREAD_BYTES);
	jvm->objects[i] = forged_room(memory, OBJECT_BYTES);
	jvm->strings[i] = forged_room(memory, OBJECT_BYTES);
	jvm->handles[i] = forged_room(memory, 8);
	forged_jvm_put_class(jvm, jvm->objects[i],
			     i ? jvm->worker_class.klass : jvm->thread_class.klass);
	forged_jvm_put_class(jvm, jvm->strings[i], jvm->string_class.klass);
	forged_put(memory, jvm->objects[i] + FORGED_OWNER_AT, jvm->threads[i], 8);
	forged_jvm_put_pointer(jvm, jvm->objects[i] + FORGED_NAME_AT, jvm->strings[i]);
	forged_put(memory, forged_jvm_at(jvm->systems[i], HOTSPOT_SYSTEM_ID), id, 4);
	forged_put(memory, forged_jvm_at(jvm->threads[i], HOTSPOT_THREAD_SYSTEM), jvm->systems[i],
		   8);
	forged_put(memory, jvm->handles[i], jvm->objects[i], 8);
	forged_put(memory, forged_jvm_at(jvm->threads[i], HOTSPOT_THREAD_OBJECT),
		   jvm->kind->has_handles ? jvm->handles[i] : jvm->objects[i], 8);
}

void forged_jvm_list_threads(struct forged_jvm *jvm)
{
	struct forged *memory = jvm->memory;
	uint64_t list = forged_room(memory, 32);

	jvm->items = forged_room(memory, 16);
	forged_put(memory, forged_jvm_at(list, HOTSPOT_LIST_LENGTH), 2, 4);
	forged_put(memory, forged_jvm_at(list, HOTSPOT_LIST_ITEMS), jvm->items, 8);
	forged_put(memory, jvm->items, jvm->threads[0], 8);
	forged_put(memory, jvm->items + 8, jvm->threads[1], 8);
	forged_put(memory, forged_jvm_at(jvm->threads[0], HOTSPOT_THREAD_NEXT), jvm->threads[1], 8);
	forged_jvm_put_static(jvm, HOTSPOT_THREADS, list);
	forged_jvm_put_static(jvm, HOTSPOT_FIRST_THREAD, jvm->threads[0]);
}

static void set_layout(struct forged_jvm *jvm)
{
	struct hotspot_layout *layout = layout_of(jvm);
	struct hotspot_offsets *offsets = offsets_of(jvm);

	for (size_t i = 0; i < HOTSPOT_OBJECTS; i++)
		layout->objects[i] = (uint32_t)(jvm->statics + 8 * i - jvm->memory->start);
	if (!jvm->kind->has_list)
		layout->objects[HOTSPOT_THREADS - HOTSPOT_WORDS] = 0;
	layout->fields_packed = jvm->kind->version > 20;
	layout->object_handle = jvm->kind->has_handles;
	memcpy(offsets->objects, object_offsets, sizeof(object_offsets));
	offsets->settings = jvm->kind->settings | HOTSPOT_MOVES_IN_PAUSES;
	offsets->names_threads = 1;
}

static void put_statics(struct forged_jvm *jvm)
{
	forged_jvm_put_static(jvm, HOTSPOT_OOP_BASE, jvm->memory->start);
	forged_jvm_put_static(jvm, HOTSPOT_OOP_SHIFT, SHIFT);
	forged_jvm_put_static(jvm, HOTSPOT_CLASS_BASE, jvm->memory->start);
	// Of what is not in use JDK 25 says -1.
	forged_jvm_put_static(jvm, HOTSPOT_CLASS_SHIFT,
			      jvm->kind->settings & HOTSPOT_SHORT_CLASSES ? SHIFT : UINT32_MAX);
	forged_jvm_put_static(jvm, HOTSPOT_HEAP, jvm->heap);
}

void forged_jvm_init(struct forged_jvm *jvm, struct forged *memory,
		     const struct forged_jvm_kind *kind)
{
	forged_init(memory, kind->form, kind->version);
	*jvm = (struct forged_jvm){ .kind = kind, .memory = memory };
	memory->process.base = memory->start;
	// At the beginning of a file there is no variable.
	forged_room(memory, 16);
	jvm->statics = forged_room(memory, 8ull * (HOTSPOT_STATICS_LIMIT - HOTSPOT_WORDS));
	jvm->heap = forged_room(memory, 32);
	set_layout(jvm);
	put_statics(jvm);
	make_classes(jvm);
	forged_jvm_make_thread(jvm, 0, FORGED_OTHER_TID);
	forged_jvm_make_thread(jvm, 1, FORGED_TID);
	forged_jvm_list_threads(jvm);
	forged_jvm_put_ascii(jvm, 0, "another");
	forged_jvm_put_ascii(jvm, 1, "orders and invoices");
}
