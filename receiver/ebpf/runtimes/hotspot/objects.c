// SPDX-License-Identifier: Apache-2.0
#include "objects.h"

#include "compressed.h"

#include <string.h>

enum {
	CLASSES_MOST = 64,  /* from an object's class upwards */
	FIELDS_MOST = 1024, /* of a class */
	FIELD_FARTHEST = 4096,
	SHIFT_MOST = 32,
	UNITS_MOST = 500, /* of a text */
	CLASS_AT = 8,     /* in an object, unless it is compact */
	COMPACT_SHIFT = 42,
	MARK_STATE = 3, /* mask of a mark; all set: the object is elsewhere by now */
};

/* A field as an array of numbers of 2 bytes has it (up to JDK 20). */
enum { FIELD_ACCESS, FIELD_NAME, FIELD_TYPE, FIELD_VALUE, FIELD_LOW, FIELD_HIGH, FIELD_NUMBERS };

enum {
	OFFSET_TAG = 1, /* in the low bits of FIELD_LOW: the rest is an offset */
	OFFSET_TAG_MASK = 3,
	OFFSET_SHIFT = 2,
	// Of a field's flags in a stream: so many numbers follow.
	FIELD_HAS_VALUE = 1 << 0,
	FIELD_IS_GENERIC = 1 << 2,
	FIELD_IS_CONTENDED = 1 << 4,
};

/* Where the items of an Array<T> of the JVM's begin, behind their number. */
enum { ARRAY_ITEMS = 4 };

static bool read(const struct hotspot_reader *reader, uint64_t address, void *to, size_t bytes)
{
	return reader->memory->read(reader->memory->context, address, to, bytes);
}

static uint16_t offset_of(const struct hotspot_reader *reader, enum hotspot_object word)
{
	return reader->offsets->objects[word - HOTSPOT_WORDS];
}

bool hotspot_static(const struct hotspot_reader *reader, enum hotspot_object word, void *to,
		    size_t bytes)
{
	uint32_t at = reader->layout->objects[word - HOTSPOT_WORDS];

	return at && read(reader, reader->process->base + at, to, bytes);
}

/* How pointers in use are made long, to *@base and *@shift. What is not in use may be anything. */
static bool read_scale(const struct hotspot_reader *reader, enum hotspot_object base_word,
		       enum hotspot_object shift_word, uint64_t *base, uint32_t *shift)
{
	return hotspot_static(reader, base_word, base, sizeof(*base)) &&
	       hotspot_static(reader, shift_word, shift, sizeof(*shift)) && *shift < SHIFT_MOST;
}

bool hotspot_reader_init(struct hotspot_reader *reader, const struct runtime_process *process,
			 const struct runtime_memory *memory)
{
	uint16_t settings;

	*reader = (struct hotspot_reader){
		.process = process,
		.memory = memory,
		.layout = (const void *)process->layout,
		.offsets = (const void *)process->data,
	};
	settings = reader->offsets->settings;
	return (!(settings & HOTSPOT_SHORT_POINTERS) ||
		read_scale(reader, HOTSPOT_OOP_BASE, HOTSPOT_OOP_SHIFT, &reader->object_base,
			   &reader->object_shift)) &&
	       (!(settings & (HOTSPOT_SHORT_CLASSES | HOTSPOT_COMPACT)) ||
		read_scale(reader, HOTSPOT_CLASS_BASE, HOTSPOT_CLASS_SHIFT, &reader->class_base,
			   &reader->class_shift));
}

/* ---- classes ---- */

static bool read_class(const struct hotspot_reader *reader, uint64_t object, uint64_t *ret)
{
	uint16_t settings = reader->offsets->settings;
	uint32_t number;
	uint64_t mark;

	if (settings & HOTSPOT_COMPACT) {
		if (!read(reader, object, &mark, sizeof(mark)) || (mark & MARK_STATE) == MARK_STATE)
			return false;
		number = (uint32_t)(mark >> COMPACT_SHIFT);
	} else if (settings & HOTSPOT_SHORT_CLASSES) {
		if (!read(reader, object + CLASS_AT, &number, sizeof(number)))
			return false;
	} else {
		return read(reader, object + CLASS_AT, ret, sizeof(*ret));
	}
	*ret = reader->class_base + ((uint64_t)number << reader->class_shift);
	return true;
}

static bool is_called(const struct hotspot_reader *reader, uint64_t klass, const char *name)
{
	uint64_t symbol;

	return read(reader, klass + reader->offsets->of[HOTSPOT_KLASS_NAME], &symbol,
		    sizeof(symbol)) &&
	       hotspot_is_symbol(reader->offsets, reader->memory, symbol, name);
}

uint64_t hotspot_class_called(const struct hotspot_reader *reader, uint64_t object,
			      const char *name)
{
	uint64_t klass;

	if (!object || !read_class(reader, object, &klass))
		return 0;
	for (int i = 0; i < CLASSES_MOST && klass; i++) {
		if (is_called(reader, klass, name))
			return klass;
		if (!read(reader, klass + offset_of(reader, HOTSPOT_KLASS_SUPER), &klass,
			  sizeof(klass)))
			return 0;
	}
	return 0;
}

/* ---- fields ---- */

/* A field that is looked for among those of a class. */
struct wanted {
	uint64_t pool;
	const char *name, *type;
};

static bool is_entry(const struct hotspot_reader *reader, uint64_t pool, uint32_t index,
		     const char *text)
{
	const struct hotspot_offsets *offsets = reader->offsets;
	uint32_t length;
	uint64_t symbol;

	return read(reader, pool + offsets->of[HOTSPOT_POOL_LENGTH], &length, sizeof(length)) &&
	       index && index < length &&
	       read(reader, pool + reader->layout->pool_bytes + 8ull * index, &symbol,
		    sizeof(symbol)) &&
	       hotspot_is_symbol(offsets, reader->memory, symbol, text);
}

static bool is_wanted(const struct hotspot_reader *reader, const struct wanted *wanted,
		      uint32_t name, uint32_t type)
{
	return is_entry(reader, wanted->pool, name, wanted->name) &&
	       is_entry(reader, wanted->pool, type, wanted->type);
}

static uint32_t find_in_array(const struct hotspot_reader *reader, const struct wanted *wanted,
			      uint64_t items, uint32_t length)
{
	for (uint32_t i = 0; i < length / FIELD_NUMBERS && i < FIELDS_MOST; i++) {
		uint16_t field[FIELD_NUMBERS];

		if (!read(reader, items + i * sizeof(field), field, sizeof(field)))
			return 0;
		if (is_wanted(reader, wanted, field[FIELD_NAME], field[FIELD_TYPE]))
			return (field[FIELD_LOW] & OFFSET_TAG_MASK) == OFFSET_TAG
				       ? (field[FIELD_LOW] | (uint32_t)field[FIELD_HIGH] << 16) >>
						 OFFSET_SHIFT
				       : 0;
	}
	return 0;
}

static bool take_numbers(struct compressed *from, uint32_t *numbers, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		if (!compressed_number(from, &numbers[i]))
			return false;
	return true;
}

static uint32_t find_in_stream(const struct hotspot_reader *reader, const struct wanted *wanted,
			       uint64_t items, uint32_t length)
{
	enum { NAME, TYPE, OFFSET, ACCESS, FLAGS, NUMBERS };
	struct compressed from =
		compressed_begin(reader->memory, items, items + length, reader->offsets->version);
	uint32_t counts[2], field[NUMBERS], more[3];

	if (!take_numbers(&from, counts, 2))
		return 0;
	for (uint32_t i = 0; i < counts[0] && i < FIELDS_MOST; i++) {
		uint32_t flags;

		if (!take_numbers(&from, field, NUMBERS))
			return 0;
		if (is_wanted(reader, wanted, field[NAME], field[TYPE]))
			return field[OFFSET];
		flags = field[FLAGS];
		if (!take_numbers(&from, more,
				  !!(flags & FIELD_HAS_VALUE) + !!(flags & FIELD_IS_GENERIC) +
					  !!(flags & FIELD_IS_CONTENDED)))
			return 0;
	}
	return 0;
}

uint32_t hotspot_field(const struct hotspot_reader *reader, uint64_t klass, const char *name,
		       const char *type)
{
	struct wanted wanted = { .name = name, .type = type };
	uint32_t length, found;
	uint64_t array;

	if (!read(reader, klass + offset_of(reader, HOTSPOT_KLASS_POOL), &wanted.pool,
		  sizeof(wanted.pool)) ||
	    !read(reader, klass + offset_of(reader, HOTSPOT_KLASS_FIELDS), &array, sizeof(array)) ||
	    !read(reader, array, &length, sizeof(length)))
		return 0;
	found = reader->layout->fields_packed
			? find_in_stream(reader, &wanted, array + ARRAY_ITEMS, length)
			: find_in_array(reader, &wanted, array + ARRAY_ITEMS, length);
	return found <= FIELD_FARTHEST ? found : 0;
}

bool hotspot_read_pointer(const struct hotspot_reader *reader, uint64_t address, uint64_t *ret)
{
	uint32_t number;

	if (!(reader->offsets->settings & HOTSPOT_SHORT_POINTERS))
		return read(reader, address, ret, sizeof(*ret));
	if (!read(reader, address, &number, sizeof(number)))
		return false;
	*ret = number ? reader->object_base + ((uint64_t)number << reader->object_shift) : 0;
	return true;
}

/* ---- texts ---- */

/* Where the length of an array of Java lies in it, and where its items begin, if they are small. */
static void array_offsets(const struct hotspot_reader *reader, uint32_t *length, uint32_t *items)
{
	uint16_t settings = reader->offsets->settings;

	*length = settings & HOTSPOT_COMPACT ? 8 : settings & HOTSPOT_SHORT_CLASSES ? 12 : 16;
	*items = *length + 4;
	// Until JDK 23 they begin at a multiple of 8.
	if (reader->offsets->version < 23)
		*items = (*items + 7) & ~7u;
}

static void take_units(const uint8_t *bytes, uint32_t count, uint32_t unit_bytes,
		       struct hotspot_text *ret)
{
	uint32_t before = 0; // a high surrogate

	for (uint32_t i = 0; i < count; i++) {
		uint32_t unit = bytes[i * unit_bytes];

		if (unit_bytes == 2)
			unit |= (uint32_t)bytes[2 * i + 1] << 8;
		if (!unit) // which no name shows
			unit = 0xfffd;
		if (before && unit >> 10 == 0xdc00 >> 10) {
			unit = 0x10000 + ((before - 0xd800) << 10) + (unit - 0xdc00);
			before = 0;
		}
		if (before)
			hotspot_text_character(ret, before);
		before = unit >> 10 == 0xd800 >> 10 ? unit : 0;
		if (!before)
			hotspot_text_character(ret, unit);
	}
	if (before)
		hotspot_text_character(ret, before);
}

/* Of the array at @array, whose type is @type (`[B`, `[C`). */
static bool read_units(const struct hotspot_reader *reader, uint64_t array, const char *type,
		       uint32_t unit_bytes, struct hotspot_text *ret)
{
	uint8_t bytes[UNITS_MOST * 2];
	uint32_t length_at, items_at, length, item_bytes = !strcmp(type, "[C") ? 2 : 1;

	array_offsets(reader, &length_at, &items_at);
	if (!hotspot_class_called(reader, array, type) ||
	    !read(reader, array + length_at, &length, sizeof(length)))
		return false;
	if (length > UNITS_MOST * 2)
		length = UNITS_MOST * 2;
	length = length * item_bytes / unit_bytes;
	if (length > UNITS_MOST)
		length = UNITS_MOST;
	if (!read(reader, array + items_at, bytes, (size_t)length * unit_bytes))
		return false;
	ret->length = 0;
	take_units(bytes, length, unit_bytes, ret);
	return true;
}

bool hotspot_read_string(const struct hotspot_reader *reader, uint64_t object,
			 struct hotspot_text *ret)
{
	uint64_t klass = hotspot_class_called(reader, object, "java/lang/String"), array;
	uint32_t value, coder;
	uint8_t is_wide;

	if (!klass)
		return false;
	value = hotspot_field(reader, klass, "value", "[C");
	if (value) // JDK 8
		return hotspot_read_pointer(reader, object + value, &array) &&
		       read_units(reader, array, "[C", 2, ret);
	value = hotspot_field(reader, klass, "value", "[B");
	coder = hotspot_field(reader, klass, "coder", "B");
	return value && coder && read(reader, object + coder, &is_wide, sizeof(is_wide)) &&
	       hotspot_read_pointer(reader, object + value, &array) &&
	       read_units(reader, array, "[B", is_wide ? 2 : 1, ret);
}
