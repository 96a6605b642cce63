// SPDX-License-Identifier: Apache-2.0
/* The memory of a process, as runtimes read it: here the own one. */
#include "receiver/ebpf/worker/foreign_memory.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

enum { PAGES = 8, BYTES = PAGES * FOREIGN_PAGE_BYTES };

struct fixture {
	uint8_t *bytes; /* of which the last page cannot be read */
	struct foreign_memory foreign;
	struct runtime_memory memory;
};

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	assert_non_null(fixture);
	fixture->bytes =
		mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(fixture->bytes, MAP_FAILED);
	for (size_t i = 0; i < BYTES - FOREIGN_PAGE_BYTES; i++)
		fixture->bytes[i] = (uint8_t)(i * 31 >> 3);
	assert_int_equal(munmap(fixture->bytes + BYTES - FOREIGN_PAGE_BYTES, FOREIGN_PAGE_BYTES),
			 0);
	fixture->foreign.fd = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
	assert_true(fixture->foreign.fd >= 0);
	fixture->memory = foreign_memory_begin(&fixture->foreign, fixture->foreign.fd);
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	close(fixture->foreign.fd);
	munmap(fixture->bytes, BYTES - FOREIGN_PAGE_BYTES);
	free(fixture);
	return 0;
}

static bool read_at(const struct fixture *fixture, size_t offset, void *to, size_t bytes)
{
	return fixture->memory.read(fixture->memory.context, (uintptr_t)fixture->bytes + offset, to,
				    bytes);
}

static void bytes_are_read_across_pages(void **state)
{
	static const size_t lengths[] = {
		0,
		1,
		8,
		FOREIGN_PAGE_BYTES,
		2 * FOREIGN_PAGE_BYTES + 3,
		FOREIGN_LONG_BYTES,
		FOREIGN_LONG_BYTES + 5,
	};
	struct fixture *fixture = *state;
	uint8_t got[BYTES];

	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++)
		for (size_t offset = 0; offset < 70; offset += 23) {
			memset(got, 0xee, sizeof(got));
			assert_true(read_at(fixture, offset, got, lengths[i]));
			assert_memory_equal(got, fixture->bytes + offset, lengths[i]);
			assert_int_equal(got[lengths[i]], 0xee);
		}
}

static void what_is_not_there_cannot_be_read(void **state)
{
	struct fixture *fixture = *state;
	uint8_t got[16], long_got[FOREIGN_LONG_BYTES];

	assert_false(read_at(fixture, BYTES - FOREIGN_PAGE_BYTES, got, 1));
	assert_false(read_at(fixture, BYTES - FOREIGN_PAGE_BYTES - 8, got, 16));
	assert_true(read_at(fixture, BYTES - FOREIGN_PAGE_BYTES - 8, got, 8));
	assert_false(read_at(fixture, BYTES - FOREIGN_LONG_BYTES, long_got, FOREIGN_LONG_BYTES));
	assert_false(fixture->memory.read(fixture->memory.context, UINT64_MAX - 7, got, 16));
	assert_false(fixture->memory.read(fixture->memory.context, 1ull << 63, got, 1));
}

/* Each is read once for a request; unless it is asked what is there now. */
static void pages_are_kept_until_they_are_renewed(void **state)
{
	struct fixture *fixture = *state;
	const size_t edge = FOREIGN_PAGE_BYTES - 4;
	uint64_t got;

	memset(fixture->bytes + edge, 1, sizeof(got));
	assert_true(read_at(fixture, edge, &got, sizeof(got)));
	assert_int_equal(got, 0x0101010101010101);
	memset(fixture->bytes + edge, 2, sizeof(got));
	assert_true(read_at(fixture, edge, &got, sizeof(got)));
	assert_int_equal(got, 0x0101010101010101);
	assert_int_equal(fixture->foreign.read, 2);
	fixture->memory.renew(fixture->memory.context);
	assert_true(read_at(fixture, edge, &got, sizeof(got)));
	assert_int_equal(got, 0x0202020202020202);
	assert_int_equal(fixture->foreign.read, 4);
	// Another request begins with nothing.
	memset(fixture->bytes + edge, 3, sizeof(got));
	foreign_memory_begin(&fixture->foreign, fixture->foreign.fd);
	assert_true(read_at(fixture, edge, &got, sizeof(got)));
	assert_int_equal(got, 0x0303030303030303);
}

static void pages_are_counted_and_bounded(void **state)
{
	struct fixture *fixture = *state;
	uint64_t got;

	for (size_t i = 0; i < FOREIGN_PAGES_MOST; i++) {
		fixture->memory.renew(fixture->memory.context);
		assert_true(read_at(fixture, 0, &got, sizeof(got)));
	}
	assert_true(read_at(fixture, 8, &got, sizeof(got)));
	assert_false(read_at(fixture, FOREIGN_PAGE_BYTES, &got, sizeof(got)));
}

/* What is long is not kept, and has the same bound. */
static void long_pieces_are_counted_and_bounded(void **state)
{
	struct fixture *fixture = *state;
	uint8_t got[FOREIGN_LONG_BYTES];
	size_t count = 0;

	while (count <= FOREIGN_PAGES_MOST && read_at(fixture, 1, got, sizeof(got)))
		count++;
	assert_in_range(count, 1, FOREIGN_PAGES_MOST / (FOREIGN_LONG_BYTES / FOREIGN_PAGE_BYTES));
	fixture->memory = foreign_memory_begin(&fixture->foreign, fixture->foreign.fd);
	assert_true(read_at(fixture, 1, got, sizeof(got)));
	fixture->bytes[1] ^= 0xff;
	assert_true(read_at(fixture, 1, got, sizeof(got)));
	assert_int_equal(got[0], fixture->bytes[1]);
}

int main(void)
{
#define WITH(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		WITH(bytes_are_read_across_pages),           WITH(what_is_not_there_cannot_be_read),
		WITH(pages_are_kept_until_they_are_renewed), WITH(pages_are_counted_and_bounded),
		WITH(long_pieces_are_counted_and_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
