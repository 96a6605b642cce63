// SPDX-License-Identifier: Apache-2.0
/* From files to answers about pages, without a worker in between. */
#include "elf_files.h"
#include "page_rules.h"
#include "promises.h"

#include "receiver/ebpf/worker/answer.h"

#include "base/base.h"

#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

/* An image with one answer at a time. */
struct subject {
	struct elf_file file;
	struct image image;
	void *body;
	struct worker_page pages[WORKER_MAX_PAGES];
	struct worker_answer answer;
};

static void subject_init(struct subject *subject)
{
	subject->body = NULL;
	image_init(&subject->image, subject->file.bytes, subject->file.size);
	assert_int_equal(image_read_source(&subject->image), 0);
}

static void subject_open(struct subject *subject, const char *path)
{
	elf_file_read(&subject->file, path);
	subject_init(subject);
}

static void subject_close(struct subject *subject)
{
	free(subject->body);
	image_deinit(&subject->image);
	elf_file_deinit(&subject->file);
}

/* What the writer writes, the reader takes, and then it is as promised. */
static void subject_ask(struct subject *subject, const uint64_t *asked, size_t count)
{
	const char *broken;
	size_t bytes;

	free(subject->body);
	subject->body = NULL;
	assert_int_equal(answer_write_pages(&subject->image, asked, count, &subject->body, &bytes),
			 0);
	assert_true(answer_read_pages(subject->body, bytes, asked, count, subject->pages,
				      &subject->answer));
	broken = promises_of_pages(
		&(struct promised){ &subject->answer, subject->body, bytes, asked, count });
	if (broken)
		fail_msg("not so: %s", broken);
	page_rules_expect_source(&subject->answer, &subject->image);
}

/* All pages of the file, WORKER_MAX_PAGES at a time. Returns how many there were. */
static size_t subject_ask_all(struct subject *subject)
{
	uint64_t asked[WORKER_MAX_PAGES];
	size_t count = 0, total = 0;

	for (uint64_t at = subject->image.text.first; at < subject->image.text.limit; at++) {
		asked[count++] = at;
		if (count < WORKER_MAX_PAGES && at + 1 < subject->image.text.limit)
			continue;
		subject_ask(subject, asked, count);
		total += subject->answer.page_count;
		count = 0;
	}
	return total;
}

static int find_libc(struct dl_phdr_info *info, size_t size, void *path)
{
	(void)size;
	if (!strstr(info->dlpi_name, "libc.so"))
		return 0;
	snprintf(path, PATH_MAX, "%s", info->dlpi_name);
	return 1;
}

static void open_libc(struct subject *subject)
{
	char path[PATH_MAX] = "";

	if (!dl_iterate_phdr(find_libc, path))
		skip(); // linked statically
	subject_open(subject, path);
}

static void test_all_pages_of_libc(void **state)
{
	struct subject subject;

	(void)state;
	open_libc(&subject);
	// What a small file has comes at once.
	subject_ask(&subject, NULL, 0);
	assert_true(subject.answer.has_tables);
	assert_in_range(subject.answer.page_count, 10, WORKER_SMALL_PAGES);
	assert_int_equal(subject.answer.pages_failed, 0);
	assert_int_equal(subject.answer.page_count,
			 subject.answer.page_limit - subject.answer.page_first);
	assert_int_equal(subject_ask_all(&subject),
			 subject.answer.page_limit - subject.answer.page_first);
	subject_close(&subject);
}

/* Known answers, not only equal ones: the entry of a function and what follows its first push. */
static void test_functions_of_libc_lead_to_their_callers(void **state)
{
	struct subject subject;
	size_t calls = 0;

	(void)state;
	open_libc(&subject);
	subject_ask(&subject, NULL, 0);
	for (size_t i = 0; i < subject.answer.page_count; i++) {
		const struct worker_page *page = &subject.answer.pages[i];

		for (uint64_t at = 0; at < 1 << UNWIND_PAGE_SHIFT; at++) {
			struct unwind_rule rule =
				page_rules_at(&subject.answer, page,
					      ((uint64_t)page->number << UNWIND_PAGE_SHIFT) + at);

			// On amd64 a function begins 8 bytes below its frame, on arm64 at it.
			calls += rule.cfa == UNWIND_CFA_REGISTER &&
				 rule.cfa_offset == (IMAGE_MACHINE == EM_X86_64 ? 8 : 0);
		}
	}
	assert_true(calls > 10000);
	subject_close(&subject);
}

static void test_all_pages_of_this_program(void **state)
{
	struct subject subject;

	(void)state;
	subject_open(&subject, "/proc/self/exe");
	assert_true(subject_ask_all(&subject) > 0);
	assert_true(subject.answer.has_tables);
	subject_close(&subject);
}

static void test_without_section_headers_nothing_changes(void **state)
{
	struct subject whole, bare;

	(void)state;
	subject_open(&whole, WORKER_FILES "/crowded.so");
	elf_file_read(&bare.file, WORKER_FILES "/crowded.so");
	elf_file_drop_sections(&bare.file);
	subject_init(&bare);
	subject_ask(&whole, NULL, 0);
	subject_ask(&bare, NULL, 0);
	assert_true(bare.answer.has_tables);
	assert_int_equal(bare.answer.page_count, whole.answer.page_count);
	page_rules_expect_source(&bare.answer, &whole.image);
	subject_close(&bare);
	subject_close(&whole);
}

static void test_a_large_file_comes_in_portions(void **state)
{
	struct subject subject;
	uint64_t asked[3];

	(void)state;
	subject_open(&subject, LARGE_FILE);
	subject_ask(&subject, NULL, 0);
	assert_true(subject.answer.has_tables);
	assert_true(subject.answer.page_limit - subject.answer.page_first > WORKER_SMALL_PAGES);
	assert_int_equal(subject.answer.page_count, 0);
	assert_int_equal(subject.answer.pages_failed, 0);
	asked[0] = subject.answer.page_first;
	asked[1] = asked[0] + 20;
	asked[2] = subject.answer.page_limit; // behind the last
	subject_ask(&subject, asked, 3);
	assert_int_equal(subject.answer.page_count, 2);
	assert_int_equal(subject.answer.pages_failed, 1);
	assert_int_equal(subject.answer.pages[1].number, asked[1]);
	assert_true(subject_ask_all(&subject) > WORKER_SMALL_PAGES);
	subject_close(&subject);
}

static void test_a_go_program(void **state)
{
	struct subject subject;

	(void)state;
	if (!*GO_FILE)
		skip();
	subject_open(&subject, GO_FILE);
	subject_ask(&subject, NULL, 0);
	assert_true(subject.answer.has_tables);
	assert_int_equal(subject.answer.runtime_count, 1);
	assert_int_equal(subject.answer.runtimes[0].runtime->number, RUNTIME_GO);
	assert_true(subject_ask_all(&subject) > 0);
	assert_int_equal(subject.answer.pages_failed, 0);
	subject_close(&subject);
}

static void test_a_page_without_room_is_left_out(void **state)
{
	struct subject subject;
	uint64_t asked[2];

	(void)state;
	subject_open(&subject, WORKER_FILES "/crowded.so");
	subject_ask(&subject, NULL, 0);
	assert_int_equal(subject.answer.runtime_count, 0);
	assert_int_equal(subject.answer.page_limit - subject.answer.page_first, 3);
	assert_int_equal(subject.answer.page_count, 1);
	assert_int_equal(subject.answer.pages_failed, 2);
	assert_int_equal(subject.answer.pages[0].number, subject.answer.page_limit - 1);
	// Of pages that are not there, nothing is.
	assert_in_range(subject.answer.rule_count, 1, 2);
	asked[0] = subject.answer.page_first;
	asked[1] = asked[0] + 1;
	subject_ask(&subject, asked, 2);
	assert_int_equal(subject.answer.page_count, 0);
	assert_int_equal(subject.answer.pages_failed, 2);
	assert_int_equal(subject.answer.rule_count, 0);
	subject_close(&subject);
}

static void test_numbers_beyond_an_address_are_refused(void **state)
{
	static const uint64_t asked[] = { 1ull << 32, 1ull << 48, UINT64_MAX };
	struct subject subject;

	(void)state;
	subject_open(&subject, WORKER_FILES "/crowded.so");
	subject_ask(&subject, asked, 3);
	assert_int_equal(subject.answer.page_count, 0);
	assert_int_equal(subject.answer.pages_failed, 3);
	subject_close(&subject);
}

/* The file with another value in its header or in those of its segments. */
static void expect_no_tables(struct subject *subject)
{
	static const uint64_t first = 1;

	subject_init(subject);
	subject_ask(subject, NULL, 0);
	assert_false(subject->answer.has_tables);
	subject_ask(subject, &first, 1);
	assert_int_equal(subject->answer.page_count, 0);
	assert_int_equal(subject->answer.pages_failed, 0);
	subject_close(subject);
}

static void test_files_without_tables(void **state)
{
	static const char script[] = "#!/bin/sh\n";
	struct subject subject;
	Elf64_Ehdr header;

	(void)state;
	elf_file_init(&subject.file, script, sizeof(script) - 1);
	expect_no_tables(&subject);
	// Of the other machine.
	elf_file_read(&subject.file, WORKER_FILES "/crowded.so");
	memcpy(&header, subject.file.bytes, sizeof(header));
	header.e_machine = IMAGE_MACHINE == EM_X86_64 ? EM_AARCH64 : EM_X86_64;
	memcpy(subject.file.bytes, &header, sizeof(header));
	expect_no_tables(&subject);
	// With code where no page number reaches.
	elf_file_read(&subject.file, WORKER_FILES "/crowded.so");
	for (unsigned int i = 0; i < header.e_phnum; i++) {
		Elf64_Phdr segment;

		memcpy(&segment, subject.file.bytes + header.e_phoff + i * sizeof(segment),
		       sizeof(segment));
		if (segment.p_flags & PF_X)
			segment.p_vaddr = (1ull << 48) - segment.p_filesz;
		memcpy(subject.file.bytes + header.e_phoff + i * sizeof(segment), &segment,
		       sizeof(segment));
	}
	expect_no_tables(&subject);
}

static void test_pages_cost_no_memory(void **state)
{
	struct subject subject;
	size_t before;

	(void)state;
	elf_file_read(&subject.file, "/proc/self/exe");
	subject.body = NULL;
	image_init(&subject.image, subject.file.bytes, subject.file.size);
	before = image_memory(&subject.image);
	assert_int_equal(image_read_source(&subject.image), 0);
	subject_ask(&subject, NULL, 0);
	// The linker has sorted the tables already.
	assert_int_equal(image_memory(&subject.image), before);
	subject_close(&subject);
}

static void test_which_pages_a_text_has(void **state)
{
	struct worker_segment segments[] = {
		{ .address = 0x5ffff, .file_bytes = 2, .memory_bytes = 2, .executable = 1 },
		{ .address = 0x900000, .file_bytes = 0x1000, .memory_bytes = 0x1000 },
		{ .address = 0x10000, .file_bytes = 0x10000, .executable = 1 },
		{ .address = 0x700000, .memory_bytes = 0x1000, .executable = 1 },
	};
	struct text_pages text = text_pages_find(segments, 4);

	(void)state;
	assert_int_equal(text.first, 1);
	assert_int_equal(text.limit, 7);
	assert_int_equal(text_pages_wanted(&text, 0), 6);
	assert_int_equal(text_pages_wanted(&text, 2), 2);
	segments[0].address = (uint64_t)(1 + WORKER_SMALL_PAGES) << UNWIND_PAGE_SHIFT;
	text = text_pages_find(segments, 4);
	assert_int_equal(text_pages_wanted(&text, 0), 0);
	// The last page that has a number to come after it.
	segments[0].address = 0xfffffffe0000;
	text = text_pages_find(segments, 4);
	assert_int_equal(text.limit, UINT32_MAX);
	segments[0].address = 0xfffffffeffff;
	assert_int_equal(text_pages_find(segments, 4).limit, 0);
	assert_int_equal(text_pages_find(segments + 1, 1).limit, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_pages_of_libc),
		cmocka_unit_test(test_functions_of_libc_lead_to_their_callers),
		cmocka_unit_test(test_all_pages_of_this_program),
		cmocka_unit_test(test_without_section_headers_nothing_changes),
		cmocka_unit_test(test_a_large_file_comes_in_portions),
		cmocka_unit_test(test_a_go_program),
		cmocka_unit_test(test_a_page_without_room_is_left_out),
		cmocka_unit_test(test_numbers_beyond_an_address_are_refused),
		cmocka_unit_test(test_files_without_tables),
		cmocka_unit_test(test_pages_cost_no_memory),
		cmocka_unit_test(test_which_pages_a_text_has),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
