// SPDX-License-Identifier: Apache-2.0
/* Writing all of something to what takes it in pieces, or no more of it. */
#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <string.h>

/* What a made-up file has taken, and how it does. */
static struct {
	char bytes[64];
	size_t length;
	size_t at_once;          /* bytes that it takes at most by one call */
	size_t room;             /* then `error` */
	unsigned int interrupts; /* calls that are interrupted, before the first that is not */
	int error;               /* 0: it takes nothing and does not say why */
} taken;

ssize_t __wrap_writev(int fd, const struct iovec *parts, int count);

ssize_t __wrap_writev(int fd, const struct iovec *parts, int count)
{
	size_t most = taken.at_once < taken.room ? taken.at_once : taken.room, done = 0;

	assert_int_equal(fd, 7);
	if (taken.interrupts) {
		taken.interrupts--;
		errno = EINTR;
		return -1;
	}
	if (!most) {
		errno = taken.error;
		return taken.error ? -1 : 0;
	}
	for (int i = 0; i < count && done < most; i++) {
		size_t bytes = parts[i].iov_len < most - done ? parts[i].iov_len : most - done;

		assert_true(taken.length + bytes <= sizeof(taken.bytes));
		if (bytes)
			memcpy(taken.bytes + taken.length, parts[i].iov_base, bytes);
		taken.length += bytes;
		done += bytes;
	}
	taken.room -= done;
	return (ssize_t)done;
}

/* "head", nothing, "body", "end", nothing. */
static int write_parts(size_t *written)
{
	char head[] = "head", body[] = "body", end[] = "end";
	struct iovec parts[] = {
		{ head, 4 }, { NULL, 0 }, { body, 4 }, { end, 3 }, { NULL, 0 },
	};

	*written = SIZE_MAX;
	return file_write_all(7, parts, sizeof(parts) / sizeof(parts[0]), written);
}

static void all_is_written_however_little_is_taken_at_once(void **state)
{
	size_t written;

	(void)state;
	for (size_t at_once = 1; at_once <= 12; at_once++) {
		memset(&taken, 0, sizeof(taken));
		taken.at_once = at_once;
		taken.room = SIZE_MAX;
		taken.interrupts = 2;
		assert_int_equal(write_parts(&written), 0);
		assert_int_equal(written, 11);
		assert_int_equal(taken.length, 11);
		assert_memory_equal(taken.bytes, "headbodyend", 11);
	}
}

static void what_was_written_before_an_error_is_told(void **state)
{
	size_t written;

	(void)state;
	for (size_t room = 0; room < 11; room++) {
		memset(&taken, 0, sizeof(taken));
		taken.at_once = 3;
		taken.room = room;
		taken.error = ENOSPC;
		assert_int_equal(write_parts(&written), -ENOSPC);
		assert_int_equal(written, room);
		assert_memory_equal(taken.bytes, "headbodyend", room);
	}
}

static void who_takes_nothing_is_not_asked_for_ever(void **state)
{
	size_t written;

	(void)state;
	memset(&taken, 0, sizeof(taken));
	taken.at_once = 3;
	taken.room = 5;
	assert_int_equal(write_parts(&written), -EIO);
	assert_int_equal(written, 5);
}

static void nothing_is_written_without_a_call(void **state)
{
	struct iovec empty[] = { { NULL, 0 }, { NULL, 0 } };
	size_t written = SIZE_MAX;

	(void)state;
	memset(&taken, 0, sizeof(taken));
	taken.error = EBADF;
	assert_int_equal(file_write_all(7, empty, 2, &written), 0);
	assert_int_equal(written, 0);
	assert_int_equal(file_write_all(7, NULL, 0, &written), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_is_written_however_little_is_taken_at_once),
		cmocka_unit_test(what_was_written_before_an_error_is_told),
		cmocka_unit_test(who_takes_nothing_is_not_asked_for_ever),
		cmocka_unit_test(nothing_is_written_without_a_call),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
