// SPDX-License-Identifier: Apache-2.0
/* Questions about the memory of a process, answered from this one's, and answers that lie. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "worker/foreign_memory.h"
#include "worker/memory_answer.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static int own_memory(void)
{
	int fd = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

/* ---- the memory of another process ---- */

static void memory_is_read_across_pages_and_not_beyond_it(void **state)
{
	static struct foreign_memory foreign;
	int fd = own_memory();
	struct runtime_memory memory = foreign_memory_begin(&foreign, fd);
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	uint8_t *pages =
		mmap(NULL, 3 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t start = (uintptr_t)pages, word = 0;

	(void)state;
	assert_true(pages != MAP_FAILED);
	munmap(pages + 2 * page, page);
	memcpy(pages + page - 3, "abcdefgh", 8);
	assert_true(memory.read(memory.context, start + page - 3, &word, 8));
	assert_memory_equal(&word, "abcdefgh", 8);
	assert_false(memory.read(memory.context, start + 2 * page - 3, &word, 8));
	assert_false(memory.read(memory.context, UINT64_MAX - 3, &word, 8));
	assert_false(memory.read(memory.context, UINT64_MAX - 1, &word, 1));
	// It is as it was a moment ago, until that is no longer wanted.
	memcpy(pages + page - 3, "ABCDEFGH", 8);
	memory.renew(memory.context);
	assert_true(memory.read(memory.context, start + page - 3, &word, 8));
	assert_memory_equal(&word, "ABCDEFGH", 8);
	munmap(pages, 2 * page);
	close(fd);
}

static void only_so_much_is_read_for_one_question(void **state)
{
	static struct foreign_memory foreign;
	int fd = own_memory();
	struct runtime_memory memory = foreign_memory_begin(&foreign, fd);
	static char place[2 * FOREIGN_PAGE_BYTES];
	uint64_t start = (uintptr_t)place;
	size_t count = 0;
	char byte;

	(void)state;
	while (count < 10 * FOREIGN_PAGES_MOST && memory.read(memory.context, start, &byte, 1)) {
		memory.renew(memory.context);
		count++;
	}
	assert_int_equal(count, FOREIGN_PAGES_MOST);
	close(fd);
}

/* ---- answers ---- */

struct asked {
	uint64_t words[PROTOCOL_MAX_ASKED];
	size_t count;
};

/* Two frames in memory of no file, in a map. */
static struct asked ask_places(void)
{
	struct asked asked = { .count = 0 };
	const struct runtime_frame frames[] = { { .object = 0x1000 }, { .object = 0x3000 } };

	memcpy(asked.words, frames, sizeof(frames));
	asked.count = sizeof(frames) / (sizeof(uint64_t));
	return asked;
}

static void *answer(const struct asked *asked, size_t *bytes_ret)
{
	static const char map[] = "1000 10 a \033[31mred\xff name\n";
	struct memory_asked about;
	int fd = memfd_create("map", MFD_CLOEXEC);
	void *body;

	assert_int_equal(write(fd, map, strlen(map)), strlen(map));
	assert_true(memory_asked_read(PROTOCOL_MAP, asked->words, asked->count, &about));
	assert_int_equal(memory_answer_write(PROTOCOL_MAP, &about, fd, &body, bytes_ret), 0);
	close(fd);
	return body;
}

static void what_was_written_is_read_and_printable(void **state)
{
	struct asked asked = ask_places();
	struct worker_answer read;
	size_t bytes;
	void *body = answer(&asked, &bytes);

	(void)state;
	assert_true(memory_answer_read_names(PROTOCOL_MAP, body, bytes, asked.words, asked.count,
					     &read));
	assert_int_equal(read.named_count, 2);
	assert_int_equal(read.named[0].outcome, RUNTIME_NAMED);
	assert_int_equal(read.named[1].outcome, RUNTIME_GONE);
	assert_int_equal(read.line_count, 1);
	assert_null(strchr(read.text + read.lines[0].function, '\033'));
	assert_non_null(strstr(read.text + read.lines[0].function, "red"));
	free(body);
}

/* A frame of the program whose memory is @fd, which has another object there: its outcome. */
static uint32_t outcome_of(int fd)
{
	struct asked asked = { .count = 0 };
	const struct runtime *runtime = all_runtimes[RUNTIME_CPYTHON];
	const struct protocol_process about = {
		.number = RUNTIME_CPYTHON,
		.layout_bytes = (uint16_t)runtime->layout_bytes,
	};
	const struct runtime_frame frame = { .object = 4096 };
	struct memory_asked read;
	struct worker_answer answer;
	uint32_t outcome;
	size_t bytes;
	void *body;

	memcpy(asked.words, &about, sizeof(about));
	asked.count = (sizeof(about) + runtime->layout_bytes) / sizeof(uint64_t);
	memcpy(asked.words + asked.count, &frame, sizeof(frame));
	asked.count += sizeof(frame) / sizeof(uint64_t);
	assert_true(memory_asked_read(PROTOCOL_NAMES, asked.words, asked.count, &read));
	assert_int_equal(memory_answer_write(PROTOCOL_NAMES, &read, fd, &body, &bytes), 0);
	assert_true(memory_answer_read_names(PROTOCOL_NAMES, body, bytes, asked.words, asked.count,
					     &answer));
	assert_int_equal(answer.named_count, 1);
	outcome = answer.named[0].outcome;
	free(body);
	return outcome;
}

/* The descriptor stays that of the program that ran when it was opened. */
static void of_a_program_that_has_ended_nothing_is_told(void **state)
{
	char path[64];
	pid_t child = fork();
	int fd;

	(void)state;
	if (!child)
		for (;;)
			pause();
	snprintf(path, sizeof(path), "/proc/%d/mem", child);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(outcome_of(fd), RUNTIME_UNREADABLE);
	kill(child, SIGKILL);
	assert_int_equal(waitpid(child, NULL, 0), child);
	assert_int_equal(outcome_of(fd), RUNTIME_ENDED);
	close(fd);
}

/* Whatever one byte is, what passes is what it promises to be. */
static void no_byte_is_believed(void **state)
{
	struct asked asked = ask_places();
	size_t bytes;
	void *body = answer(&asked, &bytes);

	(void)state;
	for (size_t at = 0; at < bytes; at++)
		for (int value = 0; value < 256; value += 5) {
			uint64_t *copy = malloc(bytes);
			struct worker_answer read;
			size_t lines = 0;

			memcpy(copy, body, bytes);
			((uint8_t *)copy)[at] = (uint8_t)value;
			if (memory_answer_read_names(PROTOCOL_MAP, copy, bytes, asked.words,
						     asked.count, &read)) {
				assert_int_equal(read.named_count, 2);
				for (size_t i = 0; i < 2; i++)
					lines += read.named[i].line_count;
				assert_int_equal(lines, read.line_count);
				for (size_t i = 0; i < lines; i++)
					assert_true(read.lines[i].function &&
						    strlen(read.text + read.lines[i].function) <
							    WORKER_MAX_NAME);
			}
			free(copy);
		}
	for (size_t shorter = 0; shorter < bytes; shorter++) {
		struct worker_answer read;

		assert_false(memory_answer_read_names(PROTOCOL_MAP, body, shorter, asked.words,
						      asked.count, &read));
	}
	free(body);
}

/* What a runtime has found in a process. */
static void what_was_found_adds_up(void **state)
{
	struct runtime_found found = { .area_count = 2, .progress = 1 }, good;
	struct worker_answer read;

	(void)state;
	found.areas[0] = (struct runtime_area){ .start = 0x1000, .limit = 0x3000 };
	found.areas[1] = (struct runtime_area){ .start = 0x3000, .limit = 0x4000 };
	good = found;
	assert_true(memory_answer_read_found(&found, sizeof(found), &read));
	assert_ptr_equal(read.found, &found);
	assert_true(memory_answer_read_found(&found, 0, &read));
	assert_null(read.found);
	assert_false(memory_answer_read_found(&found, sizeof(found) - 8, &read));
	found.areas[1].start = 0x2000;
	assert_false(memory_answer_read_found(&found, sizeof(found), &read));
	found = good;
	found.areas[1].limit = 0x4001;
	assert_false(memory_answer_read_found(&found, sizeof(found), &read));
	found = good;
	found.areas[1].limit = UINT64_MAX & ~0xfffull;
	assert_false(memory_answer_read_found(&found, sizeof(found), &read));
	found = good;
	found.area_count = RUNTIME_AREAS + 1;
	assert_false(memory_answer_read_found(&found, sizeof(found), &read));
	found = good;
	found.data_bytes = 8;
	assert_false(memory_answer_read_found(&found, sizeof(found), &read));
	found = good;
	found.refused = RUNTIME_REFUSED_LAYOUT;
	assert_false(memory_answer_read_found(&found, sizeof(found), &read));
	found = (struct runtime_found){ .refused = RUNTIME_REFUSED_LAYOUT, .complete = 1 };
	memset(found.version, '\x1b', sizeof(found.version));
	assert_true(memory_answer_read_found(&found, sizeof(found), &read));
	assert_int_equal(strlen(found.version), RUNTIME_VERSION_BYTES - 1);
	assert_null(strchr(found.version, '\x1b'));
}

/* Questions come from the profiler, but the worker does not die of one. */
static void a_question_may_be_none(void **state)
{
	struct asked asked = { .count = 0 };
	struct memory_asked about;

	(void)state;
	for (asked.count = 0; asked.count < 40; asked.count++) {
		(void)memory_asked_read(PROTOCOL_NAMES, asked.words, asked.count, &about);
		(void)memory_asked_read(PROTOCOL_MAP, asked.words, asked.count, &about);
	}
	asked.words[1] = UINT64_MAX;
	assert_false(memory_asked_read(PROTOCOL_NAMES, asked.words, 100, &about));
	assert_false(memory_asked_read(PROTOCOL_MAP, asked.words, PROTOCOL_MAX_ASKED, &about));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(memory_is_read_across_pages_and_not_beyond_it),
		cmocka_unit_test(only_so_much_is_read_for_one_question),
		cmocka_unit_test(what_was_written_is_read_and_printable),
		cmocka_unit_test(of_a_program_that_has_ended_nothing_is_told),
		cmocka_unit_test(no_byte_is_believed),
		cmocka_unit_test(what_was_found_adds_up),
		cmocka_unit_test(a_question_may_be_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
