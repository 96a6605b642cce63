// SPDX-License-Identifier: Apache-2.0
/*
 * After every call in real code, as binutils read it, the rule for frames that have called is that
 * of the row at the call.
 */
#include "worker/answer.h"

#include "tables/page_layout.h"

#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

enum { LEAST_CALLS = 5000 };

struct oracle {
	struct image image;
	_Alignas(__u64) uint8_t page[UNWIND_OBJECT_BYTES];
	size_t length; /* of the page; 0: it could not be had */
	uint64_t number;
	size_t calls, among_rows;
};

static void read_page(struct oracle *oracle, uint64_t number)
{
	struct worker_page pages[WORKER_MAX_PAGES];
	struct worker_answer answer = { 0 };
	CLEANUP_FREE void *body = NULL;
	size_t bytes;

	oracle->number = number;
	oracle->length = 0;
	assert_int_equal(answer_write_pages(&oracle->image, &number, 1, &body, &bytes), 0);
	assert_true(answer_read_pages(body, bytes, &number, 1, pages, &answer));
	if (!answer.page_count)
		return;
	oracle->length = page_layout_write(oracle->page, pages[0].first, pages[0].rows);
}

/* Of a return address. */
static void check(struct oracle *oracle, uint64_t address)
{
	uint64_t before = address - 1;
	const struct unwind_calls *line;
	long rule;

	if (before >> UNWIND_PAGE_SHIFT != oracle->number)
		read_page(oracle, before >> UNWIND_PAGE_SHIFT);
	if (!oracle->length)
		return;
	oracle->calls++;
	line = &((const struct unwind_calls *)
			 oracle->page)[before >> UNWIND_CALLS_SHIFT & (UNWIND_CALLS - 1)];
	rule = unwind_calls_find(line, before & ((1 << UNWIND_CALLS_SHIFT) - 1));
	assert_int_equal(rule < 0, line->rows[0] == UNWIND_CALLS_NONE);
	oracle->among_rows += rule < 0;
	if (rule >= 0 && rule != page_layout_find(oracle->page, oracle->length, before))
		fail_msg("another rule after the call before %llx", (unsigned long long)address);
}

static bool begins(const char *text, const char *with)
{
	return !strncmp(text, with, strlen(with));
}

/* By its name, which may stand behind those of prefixes. */
static bool is_call(const char *instruction)
{
	static const char *const prefixes[] = {
		"data16", "rex", "bnd", "notrack", "addr32", "cs "
	};

	for (size_t i = 0; i < sizeof(prefixes) / sizeof(*prefixes); i++)
		if (begins(instruction, prefixes[i])) {
			instruction += strcspn(instruction, " \t");
			return is_call(instruction + strspn(instruction, " \t"));
		}
	return begins(instruction, "call") || begins(instruction, "lcall") ||
	       begins(instruction, "bl\t") || begins(instruction, "blr");
}

static void check_file(const char *path)
{
	CLEANUP_FREE char *command = NULL, *line = NULL;
	struct oracle oracle = { .number = UINT64_MAX };
	size_t room = 0;
	bool called = false;
	struct stat status;
	void *file;
	FILE *text;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0 && !fstat(fd, &status));
	file = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	assert_true(file != MAP_FAILED);
	image_init(&oracle.image, file, (size_t)status.st_size);
	assert_int_equal(image_read_source(&oracle.image), 0);
	assert_true(asprintf(&command, "objdump -d --no-show-raw-insn '%s'", path) > 0);
	text = popen(command, "re");
	assert_non_null(text);
	// "    1234:\tcall   5678 <name>"
	while (getline(&line, &room, text) > 0) {
		char *end, *instruction;
		uint64_t address = strtoull(line, &end, 16);

		// One section's last call has no code behind it.
		called &= !begins(line, "Disassembly");
		if (line[0] != ' ' || *end != ':')
			continue;
		if (called)
			check(&oracle, address);
		instruction = end + 1 + strspn(end + 1, "\t ");
		called = is_call(instruction);
	}
	assert_int_equal(pclose(text), 0);
	printf("%s: %zu calls, %zu among the rows\n", path, oracle.calls, oracle.among_rows);
	assert_true(oracle.calls >= LEAST_CALLS);
	// Few: else every frame would be looked for in two places.
	assert_true(oracle.among_rows <= oracle.calls / 5);
	image_deinit(&oracle.image);
	munmap(file, (size_t)status.st_size);
	close(fd);
}

static void test_the_c_library(void **state)
{
	(void)state;
	check_file(C_LIBRARY);
}

static void test_a_large_program(void **state)
{
	(void)state;
	check_file(LARGE_FILE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_c_library),
		cmocka_unit_test(test_a_large_program),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
