// SPDX-License-Identifier: Apache-2.0
/*
 * A walk in user space, by a copy of a stack and registers that may be anything: it reads nothing
 * beyond the copy, ends, and writes no more frames than it may.
 *
 * The input is the rules that code has, by the page it lies in, the registers, and the stack.
 */
#include "receiver/ebpf/deferred/walk.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RULES = 8, FRAMES = 64 };

struct input {
	uint16_t rows[RULES];
	struct unwind_rule rules[RULES];
	struct sample_deferred from;
};

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static enum tables_found find(void *context, uint64_t address, struct tables_code *ret)
{
	const struct input *input = context;
	size_t which = address >> 4 & (RULES - 1);

	*ret = (struct tables_code){ .frame = address, .rule = input->rows[which] };
	return address >> 60 ? TABLES_NO_CODE : TABLES_FOUND;
}

static const struct unwind_rule *find_rule(void *context, uint32_t number)
{
	const struct input *input = context;

	return number ? &input->rules[number % RULES] : NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct walk_tables tables = { find, find_rule, NULL };
	uint64_t frames[FRAMES + 1];
	struct sample_deferred *copy;
	struct walk_result result;
	struct input input;
	size_t stack_bytes;

	if (size < sizeof(input))
		return 0;
	memcpy(&input, bytes, sizeof(input));
	tables.context = &input;
	stack_bytes = (size - sizeof(input)) & ~(size_t)7;
	// As large as the copy: one byte more is a fault.
	copy = malloc(sizeof(*copy) + stack_bytes);
	if (!copy)
		return 0;
	*copy = input.from;
	memcpy(copy + 1, bytes + sizeof(input), stack_bytes);
	frames[FRAMES] = 0;
	result = walk_finish(copy, stack_bytes, input.from.flags & 128, &tables, frames, FRAMES);
	if (result.count > FRAMES || frames[FRAMES] || result.end >= UNWIND_END_COUNT ||
	    !result.end) {
		fprintf(stderr, "%u frames, end %d\n", result.count, result.end);
		abort();
	}
	free(copy);
	return 0;
}
