// SPDX-License-Identifier: Apache-2.0
#include "made_pclntab.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

struct out {
	uint8_t *bytes;
	size_t count;
};

static void put(struct out *out, const void *bytes, size_t count)
{
	assert_true(count <= MADE_PCLNTAB_BYTES - out->count);
	memcpy(out->bytes + out->count, bytes, count);
	out->count += count;
}

static void put_number(struct out *out, uint64_t number, size_t width)
{
	put(out, &number, width);
}

static void put_varint(struct out *out, uint32_t number)
{
	for (; number >= 0x80; number >>= 7)
		put_number(out, (number & 0x7f) | 0x80, 1);
	put_number(out, number, 1);
}

static void set_u64(struct out *out, size_t at, uint64_t number)
{
	memcpy(out->bytes + at, &number, sizeof(number));
}

/* Pairs of zigzag value delta and pc delta, from -1 on; a 0 ends them. */
static void put_steps(struct out *out, const struct made_step *steps, uint8_t quantum)
{
	int32_t depth = -1;
	uint32_t at = 0;

	for (; steps->limit; steps++) {
		int32_t delta = steps->depth - depth;

		put_varint(out, (uint32_t)delta << 1 ^ (uint32_t)(delta >> 31));
		put_varint(out, (steps->limit - at) / quantum);
		depth = steps->depth;
		at = steps->limit;
	}
	put_number(out, 0, 1);
}

const char *const made_files[2] = { "/src/a.go", "/src/b.go" };

/* Where the parts of a function are, all as offsets in their tables. */
struct parts {
	uint32_t name, steps, files, lines, inlined;
	uint64_t calls; /* an address in 1.16 */
	uint32_t call_names[4];
};

enum { NO_CALLS = UINT32_MAX };

static uint32_t put_table(struct out *out, size_t base, const struct made_step *steps,
			  uint8_t quantum)
{
	uint32_t at = steps->limit ? (uint32_t)(out->count - base) : 0;

	put_steps(out, steps, quantum);
	return at;
}

static void put_call(struct out *out, enum pclntab_version version, const struct made_call *call,
		     uint32_t name)
{
	if (version == PCLNTAB_120) {
		put_number(out, call->id, 4);
		put_number(out, name, 4);
		put_number(out, call->parent, 4);
		put_number(out, (uint32_t)call->start_line, 4);
	} else {
		put_number(out, 0xffff, 2); // parent
		put_number(out, call->id, 2);
		put_number(out, 0, 8); // file, line
		put_number(out, name, 4);
		put_number(out, call->parent, 4);
	}
}

static void put_function(struct out *out, enum pclntab_version version,
			 const struct made_function *function, uint64_t text,
			 const struct parts *parts)
{
	static const struct made_source none;
	const struct made_source *source = function->source ? function->source : &none;
	bool has_data = source->call_count;

	if (version == PCLNTAB_116)
		put_number(out, function->start, 8);
	else
		put_number(out, function->start - text, 4);
	put_number(out, parts->name, 4);
	put_number(out, 0, 4); // args
	put_number(out, 0, 4); // deferreturn
	put_number(out, parts->steps, 4);
	put_number(out, parts->files, 4);
	put_number(out, parts->lines, 4);
	put_number(out, has_data ? 3 : 0, 4); // npcdata
	put_number(out, 0, 4);                // cuOffset
	if (version == PCLNTAB_120)
		put_number(out, function->source ? (uint32_t)source->start_line : 1, 4);
	put_number(out, source->id, 1);
	put_number(out, function->flag, 1);
	put_number(out, 0, 1); // pad
	put_number(out, has_data ? 4 : 0, 1);
	if (!has_data)
		return;
	put_number(out, 0, 8);
	put_number(out, parts->inlined, 4);
	for (int i = 0; i < 3; i++)
		put_number(out, version == PCLNTAB_116 ? 0 : NO_CALLS,
			   version == PCLNTAB_116 ? 8 : 4);
	put_number(out, parts->calls, version == PCLNTAB_116 ? 8 : 4);
}

static void align(struct out *out)
{
	while (out->count % 8)
		put_number(out, 0, 1);
}

/* Names, and where they are in each of @parts. */
static void put_names(struct out *out, const struct made_function *functions, size_t count,
		      struct parts *parts)
{
	size_t base = out->count;

	for (size_t i = 0; i < count; i++) {
		const struct made_source *source = functions[i].source;

		parts[i].name = (uint32_t)(out->count - base);
		put(out, functions[i].name, strlen(functions[i].name) + 1);
		for (size_t j = 0; source && j < source->call_count; j++) {
			parts[i].call_names[j] = (uint32_t)(out->count - base);
			put(out, source->calls[j].name, strlen(source->calls[j].name) + 1);
		}
	}
}

static void put_deltas(struct out *out, const struct made_function *functions, size_t count,
		       uint8_t quantum, struct parts *parts)
{
	size_t base = out->count;

	put_number(out, 0, 1);
	for (size_t i = 0; i < count; i++) {
		const struct made_source *source = functions[i].source;

		parts[i].steps = put_table(out, base, functions[i].steps, quantum);
		if (!source)
			continue;
		parts[i].files = put_table(out, base, source->files, quantum);
		parts[i].lines = put_table(out, base, source->lines, quantum);
		parts[i].inlined = put_table(out, base, source->inlined, quantum);
	}
}

/* Returns where they begin. */
static size_t put_calls(struct out *out, enum pclntab_version version,
			const struct made_function *functions, size_t count, uint64_t address,
			struct parts *parts)
{
	size_t base;

	align(out);
	base = out->count;
	for (size_t i = 0; i < count; i++) {
		const struct made_source *source = functions[i].source;

		parts[i].calls = out->count - (version == PCLNTAB_116 ? 0 : base) +
				 (version == PCLNTAB_116 ? address : 0);
		for (size_t j = 0; source && j < source->call_count; j++)
			put_call(out, version, &source->calls[j], parts[i].call_names[j]);
	}
	align(out);
	return base;
}

static void put_files(struct out *out, size_t part)
{
	uint32_t offset = 0;

	set_u64(out, part + 8, out->count);
	for (size_t i = 0; i < 2; i++) {
		put_number(out, offset, 4);
		offset += (uint32_t)strlen(made_files[i]) + 1;
	}
	set_u64(out, part + 16, out->count);
	for (size_t i = 0; i < 2; i++)
		put(out, made_files[i], strlen(made_files[i]) + 1);
}

struct made_table {
	enum pclntab_version version;
	uint8_t quantum;
	const struct made_function *functions;
	size_t count;
	uint64_t limit, text, address;
	bool says_text;
};

static void put_header(struct out *out, const struct made_table *table)
{
	static const uint32_t magics[] = { 0, 0xfffffffa, 0xfffffff0, 0xfffffff1 };

	put_number(out, magics[table->version], 4);
	put_number(out, 0, 2);
	put_number(out, table->quantum, 1);
	put_number(out, 8, 1);
	put_number(out, table->count, 8);
	put_number(out, 1, 8);
	if (table->version != PCLNTAB_116)
		put_number(out, table->says_text ? table->text : 0, 8);
}

static size_t write_table(uint8_t *to, const struct made_table *table, uint64_t *function_data_ret)
{
	const struct made_function *functions = table->functions;
	size_t width = table->version == PCLNTAB_116 ? 8 : 4, part, index;
	uint64_t base = table->version == PCLNTAB_116 ? 0 : table->text;
	struct out out = { .bytes = to };
	struct parts parts[16] = { 0 };

	assert_true(table->count < 16);
	put_header(&out, table);
	part = out.count;
	for (int i = 0; i < 5; i++)
		put_number(&out, 0, 8);
	set_u64(&out, part, out.count);
	put_names(&out, functions, table->count, parts);
	put_files(&out, part);
	set_u64(&out, part + 24, out.count);
	put_deltas(&out, functions, table->count, table->quantum, parts);
	*function_data_ret = table->address + put_calls(&out, table->version, functions,
							table->count, table->address, parts);
	index = out.count;
	set_u64(&out, part + 32, index);
	for (size_t i = 0; i <= table->count; i++) {
		put_number(&out, (i < table->count ? functions[i].start : table->limit) - base,
			   width);
		put_number(&out, 0, i < table->count ? width : 0);
	}
	for (size_t i = 0; i < table->count; i++) {
		uint64_t offset;

		align(&out);
		offset = out.count - index;
		memcpy(to + index + i * 2 * width + width, &offset, width);
		put_function(&out, table->version, &functions[i], table->text, &parts[i]);
	}
	return out.count;
}

size_t made_pclntab_write(uint8_t to[MADE_PCLNTAB_BYTES], enum pclntab_version version,
			  uint8_t quantum, const struct made_function *functions, size_t count,
			  uint64_t limit, uint64_t text, bool says_text)
{
	const struct made_table table = { version, quantum, functions, count,
					  limit,   text,    0,         says_text };
	uint64_t function_data;

	return write_table(to, &table, &function_data);
}

size_t made_pclntab_write_sources(uint8_t to[MADE_PCLNTAB_BYTES], enum pclntab_version version,
				  const struct made_function *functions, size_t count,
				  uint64_t limit, uint64_t text, uint64_t address,
				  uint64_t *function_data_ret)
{
	const struct made_table table = {
		version, 1, functions, count, limit, text, address, true
	};

	return write_table(to, &table, function_data_ret);
}
