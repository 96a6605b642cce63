// SPDX-License-Identifier: Apache-2.0
/* Names that were packed read as they were. */
#include "receiver/ebpf/symbols/kernel_names.h"

#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum { NAMES = 5000, LONGEST = 6000 /* more than a block */ };

/* All names one after another; *@starts_ret has where each begins. */
static char *make_text(uint32_t *starts, size_t *bytes_ret)
{
	char *text = malloc(NAMES * 40 + LONGEST + 1);
	size_t bytes = 0;

	assert_non_null(text);
	for (unsigned int i = 0; i < NAMES; i++) {
		starts[i] = (uint32_t)bytes;
		if (i == NAMES / 2) {
			memset(text + bytes, 'x', LONGEST);
			text[bytes + LONGEST] = '\0';
			bytes += LONGEST + 1;
			continue;
		}
		bytes += (size_t)sprintf(text + bytes, "__do_sys_%x_%u", i * 2654435761u, i) + 1;
	}
	*bytes_ret = bytes;
	return text;
}

static void all_names_read_as_they_were(void **state)
{
	static uint32_t starts[NAMES];
	size_t bytes;
	CLEANUP_FREE char *text = make_text(starts, &bytes);
	struct kernel_names *names = kernel_names_create(text, bytes);

	(void)state;
	assert_non_null(names);
	assert_true(kernel_names_memory(names) < bytes);
	for (size_t i = NAMES; i-- > 0;) {
		const char *name = kernel_names_read(names, starts[i]);

		assert_non_null(name);
		assert_string_equal(name, text + starts[i]);
	}
	kernel_names_destroy(names);
}

static void a_name_stays_where_it_is(void **state)
{
	static const char text[] = "schedule\0do_idle\0vfs_read";
	struct kernel_names *names = kernel_names_create(text, sizeof(text));
	const char *schedule;

	(void)state;
	assert_non_null(names);
	schedule = kernel_names_read(names, 0);
	assert_string_equal(kernel_names_read(names, 9), "do_idle");
	assert_string_equal(kernel_names_read(names, 17), "vfs_read");
	assert_string_equal(schedule, "schedule");
	kernel_names_destroy(names);
}

static void what_is_outside_has_no_name(void **state)
{
	static const char text[] = "schedule";
	struct kernel_names *names = kernel_names_create(text, sizeof(text));

	(void)state;
	assert_non_null(names);
	assert_null(kernel_names_read(names, sizeof(text)));
	assert_null(kernel_names_read(names, UINT32_MAX));
	kernel_names_destroy(names);
	names = kernel_names_create("", 0);
	assert_non_null(names);
	assert_null(kernel_names_read(names, 0));
	kernel_names_destroy(names);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_names_read_as_they_were),
		cmocka_unit_test(a_name_stays_where_it_is),
		cmocka_unit_test(what_is_outside_has_no_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
