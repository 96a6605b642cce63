// SPDX-License-Identifier: Apache-2.0
#include "radix.h"

#include "cleanup.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { DIGIT_BITS = 8, DIGITS = 1 << DIGIT_BITS };

struct radix {
	size_t count, item_size, key_offset;
};

static unsigned int digit_of(const struct radix *radix, const uint8_t *item, unsigned int shift)
{
	uint64_t key;

	memcpy(&key, item + radix->key_offset, sizeof(key));
	return key >> shift & (DIGITS - 1);
}

/* One pass from @from to @to. False when all have the same digit: nothing was moved. */
static bool pass(const struct radix *radix, const uint8_t *from, uint8_t *to, unsigned int shift)
{
	size_t at[DIGITS] = { 0 }, sum = 0;

	for (size_t i = 0; i < radix->count; i++)
		at[digit_of(radix, from + i * radix->item_size, shift)]++;
	if (at[digit_of(radix, from, shift)] == radix->count)
		return false;
	for (unsigned int digit = 0; digit < DIGITS; digit++) {
		size_t here = at[digit];

		at[digit] = sum;
		sum += here;
	}
	for (size_t i = 0; i < radix->count; i++) {
		const uint8_t *item = from + i * radix->item_size;

		memcpy(to + at[digit_of(radix, item, shift)]++ * radix->item_size, item,
		       radix->item_size);
	}
	return true;
}

int radix_sort(void *items, size_t count, size_t item_size, size_t key_offset)
{
	const struct radix radix = { count, item_size, key_offset };
	CLEANUP_FREE uint8_t *spare = NULL;
	uint8_t *from = items, *to;

	if (count < 2)
		return 0;
	spare = calloc(count, item_size);
	if (!spare)
		return -ENOMEM;
	to = spare;
	for (unsigned int shift = 0; shift < 64; shift += DIGIT_BITS) {
		uint8_t *swap = from;

		if (!pass(&radix, from, to, shift))
			continue;
		from = to;
		to = swap;
	}
	if (from != items)
		memcpy(items, from, count * item_size);
	return 0;
}
