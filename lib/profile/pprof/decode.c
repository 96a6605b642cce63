// SPDX-License-Identifier: Apache-2.0
// Profile of proto/profile.proto, github.com/google/pprof.
#include "gzip.h"
#include "importer.h"

#include "../profile.h"
#include "proto/proto.h"

#include <inttypes.h>

/* The messages of the format and their packed numbers, for the check before protobuf-c. */
#define SHAPE(name, ...)                                                                           \
	static const struct proto_field_shape name##_fields[] = { __VA_ARGS__ };                   \
	static const struct proto_shape name = {                                                   \
		.fields = name##_fields,                                                           \
		.count = sizeof(name##_fields) / sizeof(name##_fields[0]),                         \
	}

static const struct proto_shape flat_shape;

SHAPE(sample_shape, { 1, NULL }, { 2, NULL }, { 3, &flat_shape });
SHAPE(location_shape, { 4, &flat_shape });
SHAPE(profile_shape, { 1, &flat_shape }, { 2, &sample_shape }, { 3, &flat_shape },
      { 4, &location_shape }, { 5, &flat_shape }, { 11, &flat_shape }, { 13, NULL });

enum { MAX_DEPTH = 64, TIME_NANOS_TAG = 9 << 3 };

/* The decoder's allocator: takes nothing back before the arena goes. */
static void *allocate(void *budget, size_t bytes)
{
	return budget_alloc(budget, bytes);
}

static void release(void *budget, void *pointer)
{
	(void)budget;
	(void)pointer;
}

/* Two files in a row parse as one; each has its own time. @bytes are known to be well-formed. */
static bool is_concatenated(const uint8_t *bytes, size_t length)
{
	struct reader reader = reader_over(bytes, length);
	unsigned int times = 0;

	while (reader_left(&reader)) {
		uint64_t tag = reader_varint(&reader);

		switch (tag & 7) {
		case PB_WT_VARINT:
			times += reader_varint(&reader) != 0 && tag == TIME_NANOS_TAG;
			break;
		case PB_WT_STRING:
			reader_bytes(&reader, (size_t)reader_varint(&reader));
			break;
		default:
			reader_bytes(&reader, (tag & 7) == PB_WT_64BIT ? 8 : 4);
		}
	}
	return times > 1;
}

static struct profcol_error *check_wire(const uint8_t *bytes, size_t length,
					const struct pprof_decode_limits *limits)
{
	// Whatever an element is, decoding it takes more than a pointer.
	const struct proto_limits bounds = {
		.max_depth = MAX_DEPTH,
		.max_elements = limits->max_memory / sizeof(void *),
	};
	const char *wrong;
	size_t offset;

	if (length > limits->max_bytes)
		return profcol_error_create(PROFCOL_BAD_DATA,
					    "pprof holds %zu bytes, more than the limit of %zu",
					    length, limits->max_bytes);
	if (!length)
		return profcol_error_create(PROFCOL_BAD_DATA, "pprof file is empty");
	wrong = proto_check(bytes, length, &profile_shape, &bounds, &offset);
	if (wrong)
		return profcol_error_create(PROFCOL_BAD_DATA,
					    "not a pprof file, or a damaged one: at byte %zu %s",
					    offset, wrong);
	if (is_concatenated(bytes, length))
		return profcol_error_create(PROFCOL_BAD_DATA,
					    "pprof file holds several profiles in a row; pass "
					    "them one by one");
	return NULL;
}

static struct profcol_error *decode_plain(const uint8_t *bytes, size_t length,
					  const struct pprof_decode_limits *limits,
					  struct profcol_batch **ret)
{
	CLEANUP_ARENA struct arena *arena = arena_create(limits->max_memory);
	struct budget budget = { .arena = arena,
				 .max_bytes = limits->max_memory,
				 .share = limits->share };
	ProtobufCAllocator allocator = { allocate, release, &budget };
	struct profcol_error *error = check_wire(bytes, length, limits);
	Perftools__Profile *file;

	if (error)
		return error;
	if (!arena)
		return profcol_error_create(PROFCOL_NO_MEMORY, "no memory to decode pprof");
	file = perftools__profile__unpack(&allocator, length, bytes);
	if (file)
		return pprof_import(file, &budget, ret);
	if (budget.refused)
		return budget_error(&budget);
	return profcol_error_create(PROFCOL_BAD_DATA,
				    "not a pprof file, or a damaged one: a field has the wrong "
				    "type");
}

struct profcol_error *pprof_decode(const uint8_t *bytes, size_t length,
				   const struct pprof_decode_limits *limits,
				   struct profcol_batch **ret)
{
	CLEANUP_FREE uint8_t *plain = NULL;
	size_t plain_length;
	struct profcol_error *error;

	if (!gzip_is_magic(bytes, length))
		return decode_plain(bytes, length, limits, ret);
	error = gzip_inflate(bytes, length, limits->max_bytes, limits->share, &plain,
			     &plain_length);
	return error ? error : decode_plain(plain, plain_length, limits, ret);
}
