// SPDX-License-Identifier: Apache-2.0
/* What a trim takes out of memory, and what it must not touch. */
#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { TABLE_BYTES = 1 << 20, PAGE = 4096 };

/* Read-only data of the program; a page that is all zeroes would do as well. */
static const uint8_t table[TABLE_BYTES] = { [0] = 1, [TABLE_BYTES - 1] = 2 };

static uint8_t written[8 * PAGE] = { [PAGE] = 3 };

/* KiB that are in memory, as page tables have it: counters of the kernel's are behind by some
 * hundred. */
static unsigned long resident_kib(void)
{
	CLEANUP_FILE FILE *file = fopen("/proc/self/smaps_rollup", "re");
	unsigned long kib = 0;
	char line[256];

	assert_non_null(file);
	while (fgets(line, sizeof(line), file))
		if (sscanf(line, "Rss: %lu kB", &kib) == 1)
			return kib;
	fail_msg("no Rss");
	return 0;
}

static unsigned int read_table(void)
{
	const volatile uint8_t *bytes = table; // or the compiler would know what is there
	unsigned int sum = 0;

	for (size_t i = 0; i < TABLE_BYTES; i += PAGE)
		sum += bytes[i];
	return sum + bytes[TABLE_BYTES - 1];
}

static void pages_of_files_go_and_come_back(void **state)
{
	unsigned long before, after;

	(void)state;
	assert_int_equal(read_table(), 3);
	before = resident_kib();
	residency_trim();
	after = resident_kib();
	assert_true(after + TABLE_BYTES / 1024 * 3 / 4 < before);
	assert_int_equal(read_table(), 3);
}

static void what_was_written_stays(void **state)
{
	char *heap = strdup("on the heap");

	(void)state;
	written[5 * PAGE] = 4;
	residency_trim();
	assert_int_equal(written[PAGE], 3);
	assert_int_equal(written[5 * PAGE], 4);
	assert_string_equal(heap, "on the heap");
	free(heap);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pages_of_files_go_and_come_back),
		cmocka_unit_test(what_was_written_stays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
