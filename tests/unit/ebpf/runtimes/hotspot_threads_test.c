// SPDX-License-Identifier: Apache-2.0
/* The names of Java's threads, read from memory made by hand. */
#include "hotspot_forged.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum {
	THREAD_BYTES = 128,
	SYSTEM_BYTES = 32,
	OBJECT_BYTES = 64,
	SHIFT = 3,
	TID = 4711,
	OTHER_TID = 4712,
	// In objects; those of a String.
	OWNER_AT = 16,
	NAME_AT = 32,
	VALUE_AT = 24,
	CODER_AT = 40,
};

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

/* A JVM as it may be. */
static const struct kind {
	enum hotspot_form form;
	uint16_t version, settings;
	bool has_list, has_handles;
} kinds[] = {
	{ HOTSPOT_OFFSETS_8, 8, HOTSPOT_SHORT_POINTERS | HOTSPOT_SHORT_CLASSES, false, false },
	{ HOTSPOT_POINTED, 11, 0, false, false },
	{ HOTSPOT_POINTED, 17, HOTSPOT_SHORT_POINTERS | HOTSPOT_SHORT_CLASSES, true, true },
	{ HOTSPOT_POINTED, 21, HOTSPOT_SHORT_CLASSES, true, true },
	{ HOTSPOT_MUTABLE, 25, HOTSPOT_SHORT_POINTERS | HOTSPOT_COMPACT | HOTSPOT_SHORT_CLASSES,
	  true, true },
	{ HOTSPOT_MUTABLE, 25, 0, true, true },
};

enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

struct field {
	const char *name, *type;
	uint16_t at;
};

/* Two threads, of which the second is the one that is asked for. */
struct jvm {
	const struct kind *kind;
	uint64_t statics, heap, threads[2], objects[2], strings[2], handles[2], arrays[2];
	struct forged_class thread_class, worker_class, string_class, array_class;
};

static struct forged *forged;
static struct jvm jvm;
static char answer[4096];

static struct hotspot_layout *layout(void)
{
	return (void *)forged->process.layout;
}

static struct hotspot_offsets *offsets(void)
{
	return (void *)forged->process.data;
}

static uint64_t at(uint64_t address, enum hotspot_object word)
{
	return address + object_offsets[word - HOTSPOT_WORDS];
}

static void put_static(enum hotspot_object word, uint64_t value)
{
	forged_put(forged, jvm.statics + 8ull * (word - HOTSPOT_WORDS), value, 8);
}

static uint32_t entry(struct forged_class *of, const char *text)
{
	uint64_t symbol = forged_symbol(forged, text, strlen(text));

	forged_put(forged, of->pool + layout()->pool_bytes + 8ull * of->entries, symbol, 8);
	forged_put(forged, forged_field(forged, of->pool, HOTSPOT_POOL_LENGTH), of->entries + 1, 4);
	return of->entries++;
}

/* Before the last of them are others, whose numbers a stream has to pass over. */
static void put_fields(struct forged_class *of, const struct field *fields, size_t count)
{
	uint64_t array = forged_room(forged, 256), to = array + 4;

	forged_put(forged, at(of->klass, HOTSPOT_KLASS_FIELDS), array, 8);
	forged_put(forged, at(of->klass, HOTSPOT_KLASS_POOL), of->pool, 8);
	if (layout()->fields_packed) {
		forged_put(forged, to, 1 + count, 1);
		forged_put(forged, to + 1, 1 + 0, 1);
		to += 2;
	}
	for (size_t i = 0; i < count; i++) {
		uint32_t name = entry(of, fields[i].name), type = entry(of, fields[i].type);
		const uint16_t numbers[] = {
			2, (uint16_t)name, (uint16_t)type, 0, (uint16_t)(fields[i].at << 2 | 1), 0
		};
		const uint8_t packed[] = {
			(uint8_t)(1 + name),
			(uint8_t)(1 + type),
			(uint8_t)(1 + fields[i].at),
			1 + 2,
			1 + (1 | 4),
			1 + 9,
			1 + 8,
		};
		size_t bytes = layout()->fields_packed ? sizeof(packed) : sizeof(numbers);

		for (size_t byte = 0; byte < bytes; byte++)
			forged_put(forged, to + byte,
				   layout()->fields_packed ? packed[byte]
							   : ((const uint8_t *)numbers)[byte],
				   1);
		to += bytes;
	}
	forged_put(forged, array, to - array - 4, 4);
}

static void put_pointer(uint64_t address, uint64_t object)
{
	if (jvm.kind->settings & HOTSPOT_SHORT_POINTERS)
		forged_put(forged, address, object ? (object - forged->start) >> SHIFT : 0, 4);
	else
		forged_put(forged, address, object, 8);
}

static void put_class(uint64_t object, uint64_t klass)
{
	uint64_t number = (klass - forged->start) >> SHIFT;

	if (jvm.kind->settings & HOTSPOT_COMPACT)
		forged_put(forged, object, number << 42 | 1, 8);
	else if (jvm.kind->settings & HOTSPOT_SHORT_CLASSES)
		forged_put(forged, object + 8, number, 4);
	else
		forged_put(forged, object + 8, klass, 8);
}

/* The text of thread number @i, of @bytes bytes, which are units of UTF-16 if @is_wide. */
static void put_text(size_t i, const void *text, size_t bytes, bool is_wide)
{
	uint16_t settings = jvm.kind->settings;
	uint32_t length_at = settings & HOTSPOT_COMPACT         ? 8
			     : settings & HOTSPOT_SHORT_CLASSES ? 12
								: 16;
	uint32_t items_at = length_at + 4;
	uint64_t array = forged_room(forged, 32 + bytes);

	if (jvm.kind->version < 23 && items_at % 8)
		items_at += 4;
	put_class(array, jvm.array_class.klass);
	forged_put(forged, array + length_at, jvm.kind->version == 8 ? bytes / 2 : bytes, 4);
	for (size_t byte = 0; byte < bytes; byte++)
		forged_put(forged, array + items_at + byte, ((const uint8_t *)text)[byte], 1);
	put_pointer(jvm.strings[i] + VALUE_AT, array);
	forged_put(forged, jvm.strings[i] + CODER_AT, is_wide, 1);
	jvm.arrays[i] = array;
}

/* As a String has it, of ASCII. */
static void put_ascii(size_t i, const char *text)
{
	char wide[256] = "";

	if (jvm.kind->version > 8) {
		put_text(i, text, strlen(text), false);
		return;
	}
	for (size_t unit = 0; text[unit]; unit++)
		wide[2 * unit] = text[unit];
	put_text(i, wide, 2 * strlen(text), true);
}

static void make_classes(void)
{
	const struct field thread[] = { { "priority", "I", 12 },
					{ "name", "I", 12 },
					{ "name", "Ljava/lang/String;", NAME_AT },
					{ "eetop", "J", OWNER_AT } };
	const struct field string[] = { { "coder", "B", CODER_AT },
					{ "value", jvm.kind->version == 8 ? "[C" : "[B",
					  VALUE_AT } };

	jvm.thread_class = forged_class(forged, "java/lang/Thread", NULL);
	put_fields(&jvm.thread_class, thread, 4);
	jvm.worker_class = forged_class(forged, "Shop$Worker", NULL);
	forged_put(forged, at(jvm.worker_class.klass, HOTSPOT_KLASS_SUPER), jvm.thread_class.klass,
		   8);
	jvm.string_class = forged_class(forged, "java/lang/String", NULL);
	put_fields(&jvm.string_class, string, 2);
	jvm.array_class = forged_class(forged, jvm.kind->version == 8 ? "[C" : "[B", NULL);
}

static void make_thread(size_t i, uint32_t id)
{
	uint64_t system = forged_room(forged, SYSTEM_BYTES);

	jvm.threads[i] = forged_room(forged, THREAD_BYTES);
	jvm.objects[i] = forged_room(forged, OBJECT_BYTES);
	jvm.strings[i] = forged_room(forged, OBJECT_BYTES);
	jvm.handles[i] = forged_room(forged, 8);
	put_class(jvm.objects[i], i ? jvm.worker_class.klass : jvm.thread_class.klass);
	put_class(jvm.strings[i], jvm.string_class.klass);
	forged_put(forged, jvm.objects[i] + OWNER_AT, jvm.threads[i], 8);
	put_pointer(jvm.objects[i] + NAME_AT, jvm.strings[i]);
	forged_put(forged, at(system, HOTSPOT_SYSTEM_ID), id, 4);
	forged_put(forged, at(jvm.threads[i], HOTSPOT_THREAD_SYSTEM), system, 8);
	forged_put(forged, jvm.handles[i], jvm.objects[i], 8);
	forged_put(forged, at(jvm.threads[i], HOTSPOT_THREAD_OBJECT),
		   jvm.kind->has_handles ? jvm.handles[i] : jvm.objects[i], 8);
}

static void make_lists(void)
{
	uint64_t list = forged_room(forged, 32), items = forged_room(forged, 16);

	forged_put(forged, at(list, HOTSPOT_LIST_LENGTH), 2, 4);
	forged_put(forged, at(list, HOTSPOT_LIST_ITEMS), items, 8);
	forged_put(forged, items, jvm.threads[0], 8);
	forged_put(forged, items + 8, jvm.threads[1], 8);
	forged_put(forged, at(jvm.threads[0], HOTSPOT_THREAD_NEXT), jvm.threads[1], 8);
	put_static(HOTSPOT_THREADS, list);
	put_static(HOTSPOT_FIRST_THREAD, jvm.threads[0]);
	if (!jvm.kind->has_list)
		layout()->objects[HOTSPOT_THREADS - HOTSPOT_WORDS] = 0;
}

static void make(const struct kind *kind)
{
	forged_init(forged, kind->form, kind->version);
	jvm = (struct jvm){ .kind = kind };
	forged->process.base = forged->start;
	// At the beginning of a file there is no variable.
	forged_room(forged, 16);
	jvm.statics = forged_room(forged, 8ull * (HOTSPOT_STATICS_LIMIT - HOTSPOT_WORDS));
	for (size_t i = 0; i < HOTSPOT_OBJECTS; i++)
		layout()->objects[i] = (uint32_t)(jvm.statics + 8 * i - forged->start);
	layout()->fields_packed = kind->version > 20;
	layout()->object_handle = kind->has_handles;
	memcpy(offsets()->objects, object_offsets, sizeof(object_offsets));
	offsets()->settings = kind->settings | HOTSPOT_MOVES_IN_PAUSES;
	offsets()->names_threads = 1;
	put_static(HOTSPOT_OOP_BASE, forged->start);
	put_static(HOTSPOT_OOP_SHIFT, SHIFT);
	put_static(HOTSPOT_CLASS_BASE, forged->start);
	// Of what is not in use JDK 25 says -1.
	put_static(HOTSPOT_CLASS_SHIFT,
		   kind->settings & HOTSPOT_SHORT_CLASSES ? SHIFT : UINT32_MAX);
	jvm.heap = forged_room(forged, 32);
	put_static(HOTSPOT_HEAP, jvm.heap);
	make_classes();
	make_thread(0, OTHER_TID);
	make_thread(1, TID);
	make_lists();
	put_ascii(0, "another");
	put_ascii(1, "orders and invoices");
}

static bool take(void *context, const struct runtime_line *line)
{
	(void)context;
	assert_true(line->function_bytes < sizeof(answer));
	memcpy(answer, line->function, line->function_bytes);
	answer[line->function_bytes] = '\0';
	return true;
}

static enum runtime_outcome name(uint32_t tid)
{
	const struct runtime_memory memory = forged_memory(forged);
	const struct runtime_lines to = { take, NULL };

	answer[0] = '\0';
	forged->reads = forged->renewed = 0;
	return hotspot_name_thread(&forged->process, &memory, tid, &to);
}

static int set_up(void **state)
{
	(void)state;
	forged = calloc(1, sizeof(*forged));
	return forged ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	free(forged);
	return 0;
}

static void test_a_thread_has_the_name_of_its_object(void **state)
{
	(void)state;
	for (size_t i = 0; i < KINDS; i++) {
		make(&kinds[i]);
		assert_int_equal(name(TID), RUNTIME_NAMED);
		assert_string_equal(answer, "orders and invoices");
		assert_int_equal(name(OTHER_TID), RUNTIME_NAMED);
		assert_string_equal(answer, "another");
		assert_int_equal(name(1), RUNTIME_GONE);
		assert_int_equal(name(0), RUNTIME_GONE);
	}
}

static void test_names_may_be_of_any_characters(void **state)
{
	static const uint16_t wide[] = { 'x', 0xe4, 0x4e2d, 0xd83d, 0xde00, 0xd83d, 'y', 0xde00 };
	static const uint8_t latin[] = { 'a', 0xe4, 0, 0xff };
	char many[1200], expected[501];

	(void)state;
	memset(many, 'm', sizeof(many));
	memset(expected, 'm', 500);
	expected[500] = '\0';
	for (size_t i = 0; i < KINDS; i++) {
		make(&kinds[i]);
		put_text(1, wide, sizeof(wide), true);
		assert_int_equal(name(TID), RUNTIME_NAMED);
		// A surrogate alone is no character.
		assert_string_equal(answer, "xä中😀\xef\xbf\xbdy\xef\xbf\xbd");
		put_text(1, "", 0, false);
		assert_int_equal(name(TID), RUNTIME_MALFORMED);
		if (jvm.kind->version == 8)
			continue;
		put_text(1, latin, sizeof(latin), false);
		assert_int_equal(name(TID), RUNTIME_NAMED);
		assert_string_equal(answer, "aä\xef\xbf\xbdÿ");
		put_text(1, many, sizeof(many), false);
		assert_int_equal(name(TID), RUNTIME_NAMED);
		assert_string_equal(answer, expected);
	}
}

static void test_nothing_is_believed_while_objects_move(void **state)
{
	(void)state;
	for (size_t i = 0; i < KINDS; i++) {
		make(&kinds[i]);
		forged_put(forged, at(jvm.heap, HOTSPOT_HEAP_ACTIVE), 1, 1);
		assert_int_equal(name(TID), RUNTIME_UNREADABLE);
		assert_string_equal(answer, "");
	}
}

/* A collection has come and gone. */
static void collect(struct forged *of, size_t number)
{
	if (number == 20)
		forged_put(of, at(jvm.heap, HOTSPOT_HEAP_COLLECTIONS), 8, 4);
}

/* One has begun. */
static void begin_collection(struct forged *of, size_t number)
{
	if (number == 20)
		forged_put(of, at(jvm.heap, HOTSPOT_HEAP_ACTIVE), 1, 1);
}

static void test_nothing_is_believed_that_was_read_beside_a_collection(void **state)
{
	(void)state;
	make(&kinds[2]);
	forged->before = collect;
	assert_int_equal(name(TID), RUNTIME_UNREADABLE);
	assert_int_equal(forged->renewed, 2);
	make(&kinds[2]);
	forged->before = begin_collection;
	assert_int_equal(name(TID), RUNTIME_UNREADABLE);
	// After it there is a name again.
	make(&kinds[2]);
	forged_put(forged, at(jvm.heap, HOTSPOT_HEAP_COLLECTIONS), 8, 4);
	assert_int_equal(name(TID), RUNTIME_NAMED);
}

static void test_an_object_of_another_thread_names_none(void **state)
{
	(void)state;
	for (size_t i = 0; i < KINDS; i++) {
		make(&kinds[i]);
		forged_put(forged, jvm.objects[1] + OWNER_AT, jvm.threads[0], 8);
		assert_int_equal(name(TID), RUNTIME_GONE);
		// It has ended.
		forged_put(forged, jvm.objects[1] + OWNER_AT, 0, 8);
		assert_int_equal(name(TID), RUNTIME_GONE);
	}
}

static void test_what_is_no_such_object_names_none(void **state)
{
	(void)state;
	for (size_t i = 0; i < KINDS; i++) {
		make(&kinds[i]);
		put_class(jvm.objects[1], jvm.string_class.klass);
		assert_int_equal(name(TID), RUNTIME_MALFORMED);
		make(&kinds[i]);
		put_class(jvm.strings[1], jvm.thread_class.klass);
		assert_int_equal(name(TID), RUNTIME_MALFORMED);
		make(&kinds[i]);
		put_class(jvm.arrays[1], jvm.string_class.klass);
		assert_int_equal(name(TID), RUNTIME_MALFORMED);
		make(&kinds[i]);
		put_pointer(jvm.objects[1] + NAME_AT, 0);
		assert_int_equal(name(TID), RUNTIME_MALFORMED);
		// Classes above each other in a circle, none of which is the one.
		make(&kinds[i]);
		put_class(jvm.objects[1], jvm.string_class.klass);
		forged_put(forged, at(jvm.string_class.klass, HOTSPOT_KLASS_SUPER),
			   jvm.string_class.klass, 8);
		assert_int_equal(name(TID), RUNTIME_MALFORMED);
	}
	// In a compact header the mark says that the object is elsewhere.
	make(&kinds[4]);
	forged_put(forged, jvm.objects[1], 3, 1);
	assert_int_equal(name(TID), RUNTIME_MALFORMED);
}

static void test_a_collector_that_moves_objects_at_any_time_gives_no_names(void **state)
{
	(void)state;
	make(&kinds[2]);
	offsets()->names_threads = 0;
	assert_int_equal(name(TID), RUNTIME_MALFORMED);
	assert_int_equal(forged->reads, 0);
}

static void test_lists_without_an_end_are_left(void **state)
{
	(void)state;
	make(&kinds[0]);
	forged_put(forged, at(jvm.threads[1], HOTSPOT_THREAD_NEXT), jvm.threads[0], 8);
	assert_int_equal(name(1), RUNTIME_GONE);
	assert_true(forged->reads < 20000);
	// A list may lie, and say to be, anywhere.
	make(&kinds[2]);
	put_static(HOTSPOT_THREADS, UINT64_MAX - 8);
	assert_int_equal(name(TID), RUNTIME_GONE);
	make(&kinds[2]);
	put_static(HOTSPOT_THREADS, jvm.statics);
	name(1);
	assert_true(forged->reads < 20000);
}

static void test_memory_that_cannot_be_read_names_none(void **state)
{
	(void)state;
	for (size_t i = 0; i < KINDS; i++) {
		size_t reads;

		make(&kinds[i]);
		assert_int_equal(name(TID), RUNTIME_NAMED);
		reads = forged->reads;
		for (size_t most = 0; most < reads; most++) {
			forged->most_reads = most;
			assert_int_not_equal(name(TID), RUNTIME_NAMED);
			assert_string_equal(answer, "");
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_thread_has_the_name_of_its_object),
		cmocka_unit_test(test_names_may_be_of_any_characters),
		cmocka_unit_test(test_nothing_is_believed_while_objects_move),
		cmocka_unit_test(test_nothing_is_believed_that_was_read_beside_a_collection),
		cmocka_unit_test(test_an_object_of_another_thread_names_none),
		cmocka_unit_test(test_what_is_no_such_object_names_none),
		cmocka_unit_test(test_a_collector_that_moves_objects_at_any_time_gives_no_names),
		cmocka_unit_test(test_lists_without_an_end_are_left),
		cmocka_unit_test(test_memory_that_cannot_be_read_names_none),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
