// SPDX-License-Identifier: Apache-2.0
/*
 * What files with an interpreter say of it: the one of this machine, as it is and with bytes of it
 * changed.
 */
#include "elf_files.h"

#include "receiver/ebpf/runtimes/cpython/cpython.h"
#include "receiver/ebpf/unwind/unwind.h"

#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static const char path[] = "/usr/bin/python3.11";

static struct elf_file file;

static bool recognise(struct cpython_layout *layout)
{
	struct unwind_source source;
	struct elf_view view;
	bool is;

	if (!elf_view_init(&view, file.bytes, file.size) || unwind_source_init(&source, &view))
		return false;
	is = cpython_recognise(&(struct runtime_file){ &view, &source }, layout);
	unwind_source_deinit(&source);
	return is;
}

static int open_file(void **state)
{
	(void)state;
	if (!access(path, R_OK))
		elf_file_read(&file, path);
	return 0;
}

static int close_file(void **state)
{
	(void)state;
	if (file.size)
		elf_file_deinit(&file);
	return 0;
}

static void need_file(void)
{
	if (!file.size)
		skip(); // another release of the system has another version
}

static void test_the_machines_interpreter_is_known(void **state)
{
	struct runtime_loop loops[RUNTIME_LOOPS];
	struct cpython_layout layout;
	struct elf_view view;
	size_t count;

	(void)state;
	need_file();
	assert_true(elf_view_init(&view, file.bytes, file.size));
	assert_true(recognise(&layout));
	assert_true(cpython_check(&layout));
	assert_int_equal(layout.refused, RUNTIME_ACCEPTED);
	assert_int_equal(layout.version >> 16, 0x30b);
	assert_int_equal(layout.runtime, elf_view_object(&view, "_PyRuntime"));
	assert_int_equal(layout.code_type, elf_view_object(&view, "PyCode_Type"));
	assert_memory_equal(&layout.offsets, cpython_known_offsets(11), sizeof(layout.offsets));
	count = cpython_loops(&layout, loops);
	assert_in_range(count, 1, RUNTIME_LOOPS);
	assert_int_equal(loops[0].start, elf_view_function(&view, "_PyEval_EvalFrameDefault"));
	// It has 50,000 bytes; where there is a part of it elsewhere, that is no other symbol's.
	assert_in_range(loops[0].limit - loops[0].start, 20000, 200000);
	if (count > 1)
		assert_true(loops[1].limit <= loops[0].start || loops[1].start >= loops[0].limit);
}

/* Wherever the file has the whole text @text it has @to now. */
static void change_text(const char *text, const char *to)
{
	size_t length = strlen(text) + 1, count = 0;

	assert_int_equal(strlen(to) + 1, length);
	for (size_t at = 0; at + length < file.size; at++)
		if (!memcmp(file.bytes + at, text, length) && !file.bytes[at - 1]) {
			memcpy(file.bytes + at, to, length);
			count++;
		}
	assert_true(count);
}

static void test_what_lacks_a_part_is_refused_or_another_file(void **state)
{
	struct cpython_layout layout;

	(void)state;
	need_file();
	change_text("_PyRuntime", "_PyRuntimf");
	assert_true(recognise(&layout));
	assert_int_equal(layout.refused, RUNTIME_REFUSED_VERSION);
	assert_int_equal(cpython_loops(&layout, (struct runtime_loop[RUNTIME_LOOPS]){ 0 }), 0);
	change_text("_PyRuntimf", "_PyRuntime");

	change_text("PyCode_Type", "PyCode_Typf");
	assert_true(recognise(&layout));
	assert_int_equal(layout.refused, RUNTIME_REFUSED_LAYOUT);
	change_text("PyCode_Typf", "PyCode_Type");

	change_text("_PyEval_EvalFrameDefault", "_PyEval_EvalFrameDefauls");
	assert_false(recognise(&layout));
	change_text("_PyEval_EvalFrameDefauls", "_PyEval_EvalFrameDefault");
	assert_true(recognise(&layout));
	assert_int_equal(layout.refused, RUNTIME_ACCEPTED);
}

static uint8_t *version_bytes(void)
{
	struct elf_view view;
	struct elf_piece piece;

	assert_true(elf_view_init(&view, file.bytes, file.size));
	piece = elf_view_at(&view, elf_view_object(&view, "Py_Version"));
	assert_non_null(piece.bytes);
	return file.bytes + (piece.bytes - file.bytes);
}

static void test_versions_that_are_not_known_are_refused(void **state)
{
	static const struct {
		uint32_t version, refused;
	} cases[] = {
		{ 0x030c01f0, RUNTIME_ACCEPTED },       // what it is then is seen in processes
		{ 0x030d05f0, RUNTIME_REFUSED_LAYOUT }, // it would tell, and does not
		{ 0x031000f0, RUNTIME_REFUSED_LAYOUT }, // the same
		{ 0x030500f0, RUNTIME_REFUSED_VERSION },
	};
	struct cpython_layout layout;
	uint8_t *at, kept[4];

	(void)state;
	need_file();
	at = version_bytes();
	memcpy(kept, at, sizeof(kept));
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		memcpy(at, &cases[i].version, sizeof(kept));
		assert_true(recognise(&layout));
		assert_true(cpython_check(&layout));
		assert_int_equal(layout.refused, cases[i].refused);
	}
	memcpy(at, &(uint32_t){ 0x040000f0 }, sizeof(kept));
	assert_false(recognise(&layout));
	memcpy(at, kept, sizeof(kept));
}

/* Before Py_Version, functions tell. */
static void test_older_versions_are_told_by_their_functions(void **state)
{
	static const char *const functions[] = { "PyIter_Send", "PyFrame_GetCode",
						 "PyCode_NewWithPosOnlyArgs",
						 "PyThread_tss_create" };
	char changed[64];
	struct cpython_layout layout;
	uint32_t minor = 10;

	(void)state;
	need_file();
	change_text("Py_Version", "Py_Versiom");
	for (size_t i = 0; i < sizeof(functions) / sizeof(*functions); i++, minor--) {
		assert_true(recognise(&layout));
		assert_int_equal(layout.version, 3u << 24 | minor << 16);
		assert_int_equal(layout.refused, RUNTIME_ACCEPTED);
		strcpy(changed, functions[i]);
		changed[0] = 'Q';
		change_text(functions[i], changed);
	}
	assert_true(recognise(&layout));
	assert_int_equal(layout.version, 0x03060000);
	assert_int_equal(layout.refused, RUNTIME_ACCEPTED);
	change_text("_PyEval_EvalFrameDefault", "_PyEval_EvalFrameDefauls");
	assert_false(recognise(&layout));
	change_text("_PyEval_EvalFrameDefauls", "_PyEval_EvalFrameDefault");
	for (size_t i = 0; i < sizeof(functions) / sizeof(*functions); i++) {
		strcpy(changed, functions[i]);
		changed[0] = 'Q';
		change_text(changed, functions[i]);
	}
	change_text("Py_Versiom", "Py_Version");
}

static void test_layouts_are_checked(void **state)
{
	struct cpython_layout good, layout;

	(void)state;
	good = (struct cpython_layout){ .version = 0x030c01f0,
					.offsets = *cpython_known_offsets(12) };
	good.loops[0] = (struct runtime_loop){ 0x1000, 0x2000 };
	assert_true(cpython_check(&good));
	layout = good;
	layout.version = 0x020700f0;
	assert_false(cpython_check(&layout));
	layout = good;
	layout.refused = RUNTIME_REFUSALS;
	assert_false(cpython_check(&layout));
	layout = good;
	layout.loops[3] = (struct runtime_loop){ 0x2000, 0x1000 };
	assert_false(cpython_check(&layout));
	layout = good;
	layout.loops[3] = (struct runtime_loop){ 0x2000, UINT64_MAX };
	assert_false(cpython_check(&layout));
	layout = good;
	layout.offsets.code_check_words = CPYTHON_CHECK_WORDS + 1;
	assert_false(cpython_check(&layout));
	layout = good;
	layout.reserved[1] = 1;
	assert_false(cpython_check(&layout));
}

/* Whatever comes of noise passes the check. */
static void test_noise_does_no_harm(void **state)
{
	unsigned int found = 0;

	(void)state;
	need_file();
	srandom(7);
	for (unsigned int round = 0; round < 300; round++) {
		struct cpython_layout layout;
		size_t at[64], flips = 1 + (size_t)random() % 64;
		uint8_t kept[64];

		for (size_t i = 0; i < flips; i++) {
			// Headers, symbols, names and their hashes lie in front.
			at[i] = (size_t)random() % (i % 2 ? file.size : 1 << 17);
			kept[i] = file.bytes[at[i]];
			file.bytes[at[i]] ^= (uint8_t)(1 << random() % 8);
		}
		if (recognise(&layout)) {
			found++;
			assert_true(cpython_check(&layout));
		}
		for (size_t i = flips; i-- > 0;)
			file.bytes[at[i]] = kept[i];
	}
	assert_in_range(found, 10, 299);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_machines_interpreter_is_known),
		cmocka_unit_test(test_what_lacks_a_part_is_refused_or_another_file),
		cmocka_unit_test(test_versions_that_are_not_known_are_refused),
		cmocka_unit_test(test_older_versions_are_told_by_their_functions),
		cmocka_unit_test(test_layouts_are_checked),
		cmocka_unit_test(test_noise_does_no_harm),
	};

	return cmocka_run_group_tests(tests, open_file, close_file);
}
