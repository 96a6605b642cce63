// SPDX-License-Identifier: Apache-2.0
/* The identity of files by content: as specified, and the same from memory and from a descriptor.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "htlhash.h"

#include "base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { MOST_BYTES = 10000 };

/* A file of @size bytes. */
static int file_of(const uint8_t *bytes, size_t size)
{
	int fd = memfd_create("htlhash", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, size), size);
	return fd;
}

static void it_is_as_specified(void **state)
{
	static const struct {
		size_t size;
		int pattern; /* 0: "hello", else 'a', or 251: i mod 251 */
		const char *hash;
	} cases[] = {
		{ 0, 0, "af5570f5a1810b7af78caf4bc70a660f" },
		{ 5, 0, "b2c90e0c61910efa8c079b70039694de" },
		{ 5000, 'a', "0cc60b04256c63b31fb61c375dbd6a56" },
		{ 8192, 251, "a7b0097f07ff25b7b48b13edc4aa7939" },
		{ 10000, 251, "29e3194e821b97b5565d43a5156ad97a" },
	};
	uint8_t bytes[MOST_BYTES] = "hello";

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint8_t hash[HTLHASH_BYTES], read_hash[HTLHASH_BYTES];
		char text[HTLHASH_HEX];
		CLEANUP_FD int fd = -1;

		for (size_t j = 0; cases[i].pattern && j < cases[i].size; j++)
			bytes[j] = cases[i].pattern == 251 ? (uint8_t)(j % 251) : 'a';
		htlhash_of_memory(bytes, cases[i].size, hash);
		strings_hex(text, hash, sizeof(hash));
		assert_string_equal(text, cases[i].hash);
		fd = file_of(bytes, cases[i].size);
		assert_int_equal(htlhash_of_file(fd, cases[i].size, read_hash), 0);
		assert_memory_equal(read_hash, hash, sizeof(hash));
		// The position is that of the last write still.
		assert_int_equal(lseek(fd, 0, SEEK_CUR), cases[i].size);
	}
}

static void around_the_edge_both_agree(void **state)
{
	uint8_t bytes[MOST_BYTES];

	(void)state;
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(i * 31 >> 3);
	for (size_t size = 4095; size <= 4097; size++) {
		uint8_t hash[HTLHASH_BYTES], read_hash[HTLHASH_BYTES];
		CLEANUP_FD int fd = file_of(bytes, size);

		htlhash_of_memory(bytes, size, hash);
		assert_int_equal(htlhash_of_file(fd, size, read_hash), 0);
		assert_memory_equal(read_hash, hash, sizeof(hash));
	}
}

static void what_cannot_be_read_has_none(void **state)
{
	uint8_t hash[HTLHASH_BYTES] = "untouched";
	CLEANUP_FD int fd = file_of((const uint8_t *)"hello", 5);
	CLEANUP_FD int blind = open("/proc/self/exe", O_PATH | O_CLOEXEC);

	(void)state;
	assert_int_equal(htlhash_of_file(fd, 6, hash), -ENODATA);
	assert_int_equal(htlhash_of_file(fd, 1 << 20, hash), -ENODATA);
	assert_int_equal(htlhash_of_file(blind, 5, hash), -EBADF);
	assert_string_equal((const char *)hash, "untouched");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_is_as_specified),
		cmocka_unit_test(around_the_edge_both_agree),
		cmocka_unit_test(what_cannot_be_read_has_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
