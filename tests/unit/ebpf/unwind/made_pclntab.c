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

static void put_function(struct out *out, enum pclntab_version version,
			 const struct made_function *function, uint64_t text, uint32_t name,
			 uint32_t steps)
{
	if (version == PCLNTAB_116)
		put_number(out, function->start, 8);
	else
		put_number(out, function->start - text, 4);
	put_number(out, name, 4);
	put_number(out, 0, 4); // args
	put_number(out, 0, 4); // deferreturn
	put_number(out, steps, 4);
	put_number(out, 0, 8); // pcfile, pcln
	put_number(out, 0, 4); // npcdata
	put_number(out, 0, 4); // cuOffset
	if (version == PCLNTAB_120)
		put_number(out, 1, 4); // startLine
	put_number(out, 0, 1);         // funcID
	put_number(out, function->flag, 1);
	put_number(out, 0, 2); // pad, nfuncdata
}

size_t made_pclntab_write(uint8_t to[MADE_PCLNTAB_BYTES], enum pclntab_version version,
			  uint8_t quantum, const struct made_function *functions, size_t count,
			  uint64_t limit, uint64_t text, bool says_text)
{
	static const uint32_t magics[] = { 0, 0xfffffffa, 0xfffffff0, 0xfffffff1 };
	size_t width = version == PCLNTAB_116 ? 8 : 4, names_at, steps_at, part, index;
	uint64_t base = version == PCLNTAB_116 ? 0 : text;
	uint32_t names[16], steps[16];
	struct out out = { .bytes = to };

	assert_true(count < 16);
	put_number(&out, magics[version], 4);
	put_number(&out, 0, 2);
	put_number(&out, quantum, 1);
	put_number(&out, 8, 1);
	put_number(&out, count, 8);
	put_number(&out, 1, 8);
	if (version != PCLNTAB_116)
		put_number(&out, says_text ? text : 0, 8);
	part = out.count;
	for (int i = 0; i < 5; i++)
		put_number(&out, 0, 8);
	names_at = out.count;
	set_u64(&out, part, names_at);
	for (size_t i = 0; i < count; i++) {
		names[i] = (uint32_t)(out.count - names_at);
		put(&out, functions[i].name, strlen(functions[i].name) + 1);
	}
	steps_at = out.count;
	set_u64(&out, part + 24, steps_at);
	put_number(&out, 0, 1);
	for (size_t i = 0; i < count; i++) {
		steps[i] = functions[i].steps[0].limit ? (uint32_t)(out.count - steps_at) : 0;
		put_steps(&out, functions[i].steps, quantum);
	}
	index = out.count;
	set_u64(&out, part + 32, index);
	for (size_t i = 0; i <= count; i++) {
		put_number(&out, (i < count ? functions[i].start : limit) - base, width);
		put_number(&out, 0, i < count ? width : 0);
	}
	for (size_t i = 0; i < count; i++) {
		uint64_t offset = out.count - index;

		memcpy(to + index + i * 2 * width + width, &offset, width);
		put_function(&out, version, &functions[i], text, names[i], steps[i]);
	}
	return out.count;
}
