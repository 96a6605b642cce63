// SPDX-License-Identifier: Apache-2.0
/* Which files are the toy interpreter's, and what is believed of what they say. */
#include "elf_files.h"

#include "receiver/ebpf/runtimes/toy/toy.h"
#include "tests/unit/ebpf/unwind/made_elf.h"

#include "base/base.h"

#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum { ABOUT = 0x4000, LOOP = 0x2040, LOOP_BYTES = 100 };

/* What is made. */
struct made_toy {
	const char *about_name, *loop_name;
	struct toy_about about;
	size_t about_bytes;
	uint64_t about_address, loop_address;
	size_t loop_bytes;
	bool without_sections;
};

static const struct made_toy usual = {
	.about_name = ".toy.about",
	.loop_name = ".toy.loop",
	.about = { .magic = { 'T', 'O', 'Y', 'A', 'B', 'O', 'U', 'T' }, .version = 1 },
	.about_bytes = sizeof(struct toy_about),
	.about_address = ABOUT,
	.loop_address = LOOP,
	.loop_bytes = LOOP_BYTES,
};

/* Read from memory that ends where the file ends. */
static bool is_recognised(const struct made_toy *toy, struct toy_layout *ret)
{
	static struct made_elf elf;
	static const uint8_t code[4096];
	struct elf_file file;
	struct elf_view view;
	bool found;

	made_elf_begin(&elf, EM_X86_64);
	made_elf_add(&elf, ".text", 0x1000, code, 16, SHF_EXECINSTR);
	made_elf_add(&elf, toy->loop_name, toy->loop_address, code, toy->loop_bytes, SHF_EXECINSTR);
	made_elf_add(&elf, toy->about_name, toy->about_address, &toy->about, toy->about_bytes,
		     SHF_WRITE);
	made_elf_finish(&elf, !toy->without_sections);
	elf_file_init(&file, elf.bytes, elf.size);
	assert_true(elf_view_init(&view, file.bytes, file.size));
	found = toy_recognise(&(struct runtime_file){ .view = &view }, ret);
	elf_file_deinit(&file);
	return found;
}

static void its_sections_say_where_everything_is(void **state)
{
	struct runtime_loop loops[RUNTIME_LOOPS];
	struct toy_layout layout;

	(void)state;
	assert_true(is_recognised(&usual, &layout));
	assert_int_equal(layout.about, ABOUT);
	assert_int_equal(layout.loop_start, LOOP);
	assert_int_equal(layout.loop_limit, LOOP + LOOP_BYTES);
	assert_true(toy_check(&layout));
	assert_int_equal(toy_loops(&layout, loops), 1);
	assert_int_equal(loops[0].start, LOOP);
	assert_int_equal(loops[0].limit, LOOP + LOOP_BYTES);
}

static void other_files_are_not_its_own(void **state)
{
	struct toy_layout untouched = { 1, 2, 3 };
	struct made_toy toy;

	(void)state;
#define REFUSED(change)                                                                            \
	do {                                                                                       \
		toy = usual;                                                                       \
		change;                                                                            \
		assert_false(is_recognised(&toy, &untouched));                                     \
	} while (0)
	REFUSED(toy.about_name = ".toy.abou");
	REFUSED(toy.loop_name = ".toy.loops");
	REFUSED(toy.about.magic[7] ^= 1);
	REFUSED(toy.about_bytes = sizeof(struct toy_about) - 1);
	REFUSED(toy.about_bytes = 4);
	REFUSED(toy.about_address = 0);
	REFUSED(toy.about_address = ABOUT + 4);
	REFUSED(toy.loop_bytes = 0);
	REFUSED(toy.loop_address = 0);
	REFUSED(toy.without_sections = true);
	assert_memory_equal(&untouched, &((struct toy_layout){ 1, 2, 3 }), sizeof(untouched));
}

static void a_layout_is_not_believed(void **state)
{
	static const struct toy_layout fine = { ABOUT, LOOP, LOOP + LOOP_BYTES };
	const struct toy_layout bad[] = {
		{ 0, LOOP, LOOP + 1 },
		{ ABOUT + 1, LOOP, LOOP + 1 },
		{ 1ull << 47, LOOP, LOOP + 1 },
		{ UINT64_MAX - 7, LOOP, LOOP + 1 },
		{ ABOUT, 0, LOOP },
		{ ABOUT, LOOP, LOOP },
		{ ABOUT, LOOP + 1, LOOP },
		{ ABOUT, LOOP, LOOP + (1 << 20) + 1 },
		{ ABOUT, LOOP, 1ull << 47 },
		{ ABOUT, UINT64_MAX - 1, UINT64_MAX },
	};

	(void)state;
	assert_true(toy_check(&fine));
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(toy_check(&bad[i]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(its_sections_say_where_everything_is),
		cmocka_unit_test(other_files_are_not_its_own),
		cmocka_unit_test(a_layout_is_not_believed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
