// SPDX-License-Identifier: Apache-2.0
#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>

struct item {
	uint8_t before[4];
	uint64_t key;
	uint32_t order;
};

static void sort_and_check(struct item *items, size_t count)
{
	for (size_t i = 0; i < count; i++)
		items[i].order = (uint32_t)i;
	assert_int_equal(radix_sort(items, count, sizeof(*items), offsetof(struct item, key)), 0);
	for (size_t i = 1; i < count; i++) {
		assert_true(items[i - 1].key <= items[i].key);
		// Stable: equal ones stay in their order.
		if (items[i - 1].key == items[i].key)
			assert_true(items[i - 1].order < items[i].order);
	}
}

static void any_keys_are_sorted_and_equal_ones_keep_their_order(void **state)
{
	enum { MOST = 3000 };
	static struct item items[MOST];

	(void)state;
	srand(1);
	for (size_t count = 0; count < MOST; count = count * 2 + 1) {
		for (unsigned int bits = 1; bits <= 64; bits += 7) {
			for (size_t i = 0; i < count; i++)
				items[i].key = ((uint64_t)(unsigned int)rand() << 40 ^
						(uint64_t)(unsigned int)rand() << 20 ^
						(unsigned int)rand()) >>
					       (64 - bits);
			sort_and_check(items, count);
		}
	}
}

static void equal_keys_stay_as_they_are(void **state)
{
	struct item items[100] = { 0 };

	(void)state;
	sort_and_check(items, 100);
	for (uint32_t i = 0; i < 100; i++)
		assert_int_equal(items[i].order, i);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_keys_are_sorted_and_equal_ones_keep_their_order),
		cmocka_unit_test(equal_keys_stay_as_they_are),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
