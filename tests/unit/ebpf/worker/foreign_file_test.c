// SPDX-License-Identifier: Apache-2.0
/* Files that are read when they are touched, rather than mapped. */
#include "receiver/ebpf/worker/foreign_file.h"

#include "base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

enum { MIB = 1 << 20, MOST = 1 << 30 };

/* What the test's files have at @at. */
static uint8_t byte_at(size_t at)
{
	return (uint8_t)(at * 2654435761u >> 24);
}

/* A file in memory of @size bytes, which has some in its first @full. */
static int make_file(size_t size, size_t full)
{
	int fd = memfd_create("test", MFD_CLOEXEC);
	CLEANUP_FREE uint8_t *bytes = malloc(full + 1);

	assert_true(fd >= 0);
	assert_non_null(bytes);
	for (size_t at = 0; at < full; at++)
		bytes[at] = byte_at(at);
	assert_int_equal(pwrite(fd, bytes, full, 0), (ssize_t)full);
	assert_int_equal(ftruncate(fd, (off_t)size), 0);
	return fd;
}

static blkcnt_t blocks_of(int fd)
{
	struct stat stat;

	assert_int_equal(fstat(fd, &stat), 0);
	return stat.st_blocks;
}

/* A file of the test's, and a descriptor of it that stays the test's. */
static int open_file(struct foreign_file *file, size_t size, size_t full)
{
	int fd = make_file(size, full), taken = fcntl(fd, F_DUPFD_CLOEXEC, 0);

	assert_int_equal(foreign_files_init(),
			 0); // cmocka takes the signal for itself in each test
	assert_int_equal(foreign_file_open(file, &taken, MOST), 0);
	assert_int_equal(taken, -1);
	assert_int_equal(file->size, size);
	return fd;
}

static void test_bytes_are_those_of_the_file(void **state)
{
	enum { SIZE = 3 * FOREIGN_CHUNK + 5 };
	struct foreign_file file;
	CLEANUP_FD int fd = open_file(&file, SIZE, SIZE);
	const uint8_t *bytes = file.bytes;

	(void)state;
	for (size_t at = SIZE; at-- > 0;)
		assert_int_equal(bytes[at], byte_at(at));
	foreign_file_release(&file);
	for (size_t at = 0; at < SIZE; at += 4099)
		assert_int_equal(bytes[at], byte_at(at));
	assert_false(file.torn);
	foreign_file_close(&file);
}

/* The pages of a hole would be the reader's, for as long as the file is there. */
static void test_holes_stay_holes(void **state)
{
	enum { FULL = 2 * MIB };
	struct foreign_file file;
	CLEANUP_FD int fd = open_file(&file, 300 * MIB, FULL);
	const uint8_t *bytes = file.bytes;
	blkcnt_t before = blocks_of(fd);
	uint64_t sum = 0;

	(void)state;
	for (size_t at = FULL; at < 300 * MIB; at += 4096)
		sum += bytes[at];
	assert_int_equal(sum, 0);
	assert_int_equal(blocks_of(fd), before);
	foreign_file_close(&file);
}

/* Bytes of this process that are in memory of what lies at @file. */
static size_t resident(const struct foreign_file *file)
{
	static unsigned char pages[64 * MIB / 4096];
	size_t count = 0;

	assert_int_equal(mincore((void *)(uintptr_t)file->bytes, file->size, pages), 0);
	for (size_t i = 0; i < file->size / 4096; i++)
		count += pages[i] & 1;
	return count * 4096;
}

static void test_little_stays_in_memory(void **state)
{
	enum { SIZE = 40 * MIB, KEPT = FOREIGN_CHUNK * FOREIGN_CHUNKS };
	struct foreign_file files[2];
	CLEANUP_FD int first = open_file(&files[0], SIZE, SIZE);
	CLEANUP_FD int second = open_file(&files[1], SIZE, SIZE);

	(void)state;
	for (size_t at = 0; at < SIZE; at += 4096)
		for (size_t i = 0; i < 2; i++)
			assert_int_equal(((const uint8_t *)files[i].bytes)[at], byte_at(at));
	assert_in_range(resident(&files[0]) + resident(&files[1]), KEPT / 2, KEPT);
	foreign_file_close(&files[0]);
	assert_in_range(resident(&files[1]), 0, KEPT);
	foreign_file_release(&files[1]);
	assert_int_equal(resident(&files[1]), 0);
	foreign_file_close(&files[1]);
}

static void test_what_is_cut_off_is_torn(void **state)
{
	struct foreign_file file;
	CLEANUP_FD int fd = open_file(&file, MIB, MIB);
	const uint8_t *bytes = file.bytes;

	(void)state;
	assert_int_equal(bytes[0], byte_at(0));
	assert_int_equal(ftruncate(fd, MIB / 2), 0);
	assert_false(file.torn);
	assert_int_equal(bytes[MIB - 1], 0);
	assert_true(file.torn);
	foreign_file_close(&file);
}

static void test_bounds(void **state)
{
	struct foreign_file files[FOREIGN_FILES + 1], empty;
	int fds[FOREIGN_FILES], fd = make_file(0, 0);

	(void)state;
	assert_int_equal(foreign_file_open(&empty, &fd, MOST), 0);
	assert_int_equal(empty.size, 0);
	assert_non_null(empty.bytes);
	foreign_file_close(&empty);
	close(fd);
	fd = make_file(2 * MIB, 1);
	assert_int_equal(foreign_file_open(&empty, &fd, MIB), -EFBIG);
	foreign_file_close(&empty);
	for (size_t i = 0; i < FOREIGN_FILES; i++)
		fds[i] = open_file(&files[i], MIB, 1);
	assert_int_equal(foreign_file_open(&files[FOREIGN_FILES], &fd, MOST), -EMFILE);
	foreign_file_close(&files[FOREIGN_FILES]);
	for (size_t i = 0; i < FOREIGN_FILES; i++) {
		foreign_file_close(&files[i]);
		close(fds[i]);
	}
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bytes_are_those_of_the_file),
		cmocka_unit_test(test_holes_stay_holes),
		cmocka_unit_test(test_little_stays_in_memory),
		cmocka_unit_test(test_what_is_cut_off_is_torn),
		cmocka_unit_test(test_bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
