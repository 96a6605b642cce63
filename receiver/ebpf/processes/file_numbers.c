// SPDX-License-Identifier: Apache-2.0
#include "file_numbers.h"

#include <string.h>

void file_numbers_init(struct file_numbers *numbers, uint32_t count)
{
	*numbers = (struct file_numbers){ .half = count / 2, .limit = count / 2 };
}

void file_numbers_deinit(struct file_numbers *numbers)
{
	VECTOR_DEINIT(&numbers->passed);
	VECTOR_DEINIT(&numbers->passed_next);
}

uint32_t file_numbers_take(struct file_numbers *numbers)
{
	while (numbers->next < numbers->limit) {
		uint32_t number = numbers->next++;

		if (numbers->passed_at >= numbers->passed.count ||
		    numbers->passed.items[numbers->passed_at] != number)
			return number;
		numbers->passed_at++;
	}
	return FILE_NUMBERS_NONE;
}

bool file_numbers_turn(struct file_numbers *numbers, const uint32_t *used, size_t count)
{
	uint32_t left = numbers->limit - numbers->half; /* where the half begins that is left */
	__typeof__(numbers->passed) freed = numbers->passed;
	size_t first = 0, limit;

	while (first < count && used[first] < left)
		first++;
	for (limit = first; limit < count && used[limit] < left + numbers->half;)
		limit++;
	freed.count = 0;
	if (!VECTOR_RESERVE(&freed, limit - first))
		return false;
	freed.count = limit - first;
	if (freed.count)
		memcpy(freed.items, used + first, freed.count * sizeof(*used));
	numbers->passed = numbers->passed_next;
	numbers->passed_next = freed;
	numbers->passed_at = 0;
	numbers->next = left ? 0 : numbers->half;
	numbers->limit = numbers->next + numbers->half;
	numbers->turns++;
	return true;
}

size_t file_numbers_memory(const struct file_numbers *numbers)
{
	return (numbers->passed.capacity + numbers->passed_next.capacity) *
	       sizeof(*numbers->passed.items);
}

int file_numbers_compare(const void *left, const void *right)
{
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;

	return a < b ? -1 : a > b;
}
