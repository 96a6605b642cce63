// SPDX-License-Identifier: Apache-2.0
/*
 * What files say of where goroutines have their labels: versions, known or not, however they are
 * written, and the code that reads where the current g is. That the offsets are those of real
 * programs tests/e2e/go_labels_test.py shows.
 */
#include "bpf/runtimes/go.h"
#include "receiver/ebpf/runtimes/go/build_info.h"
#include "receiver/ebpf/runtimes/go/labels.h"
#include "receiver/ebpf/unwind/source.h"
#include "tests/unit/ebpf/unwind/made_elf.h"
#include "tests/unit/ebpf/unwind/made_pclntab.h"

#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum {
	TEXT = 0x401000,
	TABLE = 0x500000,
	DATA = 0x600000,
	RELOCATIONS = 0x700000,
	DYNAMIC = 0x710000,
	STRING = 64, /* in the data */
	CHARACTERS = 96,
	DATA_BYTES = 160,
	BASE = 0x10000000,
};

static struct made_elf elf;

/* ---- versions ---- */

enum form { INLINE, POINTERS, RELOCATED };

static void add_relocations(void)
{
	static const Elf64_Rela relocations[] = {
		{ DATA + 16, R_X86_64_RELATIVE, DATA + STRING },
		{ DATA + STRING, R_X86_64_RELATIVE, DATA + CHARACTERS },
	};
	static const Elf64_Dyn dynamic[] = { { DT_RELA, { RELOCATIONS } },
					     { DT_RELASZ, { sizeof(relocations) } },
					     { DT_NULL, { 0 } } };

	made_elf_add(&elf, ".rela.dyn", RELOCATIONS, relocations, sizeof(relocations), 0);
	made_elf_add_typed(&elf, ".dynamic", DYNAMIC, dynamic, sizeof(dynamic), 0, PT_DYNAMIC);
}

static void make_build_info(enum form form, const char *version)
{
	uint8_t data[DATA_BYTES] = "\xff Go buildinf:";
	uint64_t string = DATA + STRING, characters = DATA + CHARACTERS, length = strlen(version);

	data[14] = 8;
	data[15] = form == INLINE ? 2 : 0;
	if (form == INLINE) {
		data[32] = (uint8_t)length;
		memcpy(data + 33, version, length);
	} else {
		if (form == POINTERS) {
			memcpy(data + 16, &string, sizeof(string));
			memcpy(data + STRING, &characters, sizeof(characters));
		}
		memcpy(data + STRING + 8, &length, sizeof(length));
		memcpy(data + CHARACTERS, version, length);
	}
	made_elf_add(&elf, ".go.buildinfo", DATA, data, sizeof(data), SHF_WRITE);
	if (form == RELOCATED)
		add_relocations();
}

static const char *version_of(enum form form, const char *version, bool with_sections)
{
	static char text[RUNTIME_VERSION_BYTES];

	made_elf_begin(&elf, EM_X86_64);
	make_build_info(form, version);
	made_elf_finish(&elf, with_sections);
	go_build_info_version(&elf.view, text, sizeof(text));
	return text;
}

static void the_version_is_read_however_it_is_written(void **state)
{
	(void)state;
	for (enum form form = INLINE; form <= RELOCATED; form++) {
		assert_string_equal(version_of(form, "go1.17.13", true), "go1.17.13");
		assert_string_equal(version_of(form, "go1.17.13", false), "go1.17.13");
		assert_string_equal(version_of(form, "", true), "");
	}
	assert_string_equal(version_of(INLINE, "go1.26.8 X:\x1b-of-many-words", true),
			    "go1.26.8 X:?-of-many-wo");
}

static void a_build_info_that_lies_says_nothing(void **state)
{
	uint8_t data[DATA_BYTES] = "\xff Go buildinf:";
	char text[RUNTIME_VERSION_BYTES];

	(void)state;
	data[14] = 8;
	data[15] = 2;
	// Longer than the file, and a number of more than 64 bits.
	memset(data + 32, 0xff, 11);
	for (size_t i = 0; i < 2; i++) {
		made_elf_begin(&elf, EM_X86_64);
		made_elf_add(&elf, ".go.buildinfo", DATA, data, sizeof(data), SHF_WRITE);
		made_elf_finish(&elf, true);
		go_build_info_version(&elf.view, text, sizeof(text));
		assert_string_equal(text, "");
		data[33] = 0x7f;
	}
	// Pointers that lead nowhere.
	data[15] = 0;
	memset(data + 16, 0xff, 16);
	made_elf_begin(&elf, EM_X86_64);
	made_elf_add(&elf, ".go.buildinfo", DATA, data, sizeof(data), SHF_WRITE);
	made_elf_finish(&elf, true);
	go_build_info_version(&elf.view, text, sizeof(text));
	assert_string_equal(text, "");
}

/* ---- what is told of a version ---- */

static struct runtime_found foreseen(const char *version)
{
	struct go_layout layout = { .current = -8, .is_current = 1 };
	struct runtime_found found = { 0 };

	strncpy(layout.version, version, sizeof(layout.version) - 1);
	assert_true(go_labels_check(&layout));
	go_labels_foresee(&layout, BASE, &found);
	assert_true(runtime_found_check(&found));
	assert_string_equal(found.version, version);
	assert_int_equal(found.complete, 1);
	return found;
}

static void known_versions_have_offsets(void **state)
{
	static const struct {
		const char *version;
		uint16_t labels, goroutine, flags;
	} rows[] = {
		{ "go1.13", 344, 192, GO_LABELS_ARE_A_MAP },
		{ "go1.16.15", 344, 192, GO_LABELS_ARE_A_MAP },
		{ "go1.17rc1", 360, 192, GO_LABELS_ARE_A_MAP },
		{ "go1.20.14", 360, 192, GO_LABELS_ARE_A_MAP },
		{ "go1.21.13", 344, 192, GO_LABELS_ARE_A_MAP },
		{ "go1.22.1 (Red Hat 1)", 344, 192, GO_LABELS_ARE_A_MAP },
		{ "go1.23-fips", 352, 192, GO_LABELS_ARE_A_MAP },
		{ "go1.24beta1", 352, 192, 0 },
		{ "go1.25.10", 344, 184, 0 },
		{ "go1.26.8 X:nojsonv2", 352, 184, 0 },
		{ "go1.27+auto", 352, 184, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct runtime_found found = foreseen(rows[i].version);
		struct go_data data;

		assert_int_equal(found.refused, RUNTIME_ACCEPTED);
		assert_int_equal(found.data_bytes, sizeof(data));
		memcpy(&data, found.data, sizeof(data));
		assert_int_equal(data.goroutine_labels, rows[i].labels);
		assert_int_equal(data.thread_goroutine, rows[i].goroutine);
		assert_int_equal(data.goroutine_thread, 48);
		assert_int_equal(data.flags, rows[i].flags);
		assert_int_equal(data.current, -8);
		assert_int_equal(data.current_at, 0);
	}
}

static void other_versions_are_refused(void **state)
{
	static const char *const versions[] = {
		"",          "go",         "go1.12.17", "go1.28",   "go1.28rc1",
		"go1.128.0", "go1.26x",    "go2.26.1",  "go1.",     "devel go1.26-0a1b2c",
		"go1.2",     "go1.99.1.2", "1.26.8",    "go1.9999", "go1.026000000000000000",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++) {
		struct runtime_found found = foreseen(versions[i]);

		if (found.refused != RUNTIME_REFUSED_VERSION)
			fail_msg("'%s' is not refused", versions[i]);
		assert_int_equal(found.data_bytes, 0);
	}
}

static void layouts_that_cannot_be_are_none(void **state)
{
	struct go_layout layout = { .version = "go1.26.8", .current = -8, .is_current = 1 };

	(void)state;
	assert_true(go_labels_check(&layout));
	layout.is_current = 2;
	assert_false(go_labels_check(&layout));
	layout.is_current = 1;
	layout.current = 8;
	assert_false(go_labels_check(&layout));
	layout.current = INT64_MIN;
	assert_false(go_labels_check(&layout));
	layout.current = -8;
	layout.current_at = UNWIND_ADDRESS_LIMIT;
	assert_false(go_labels_check(&layout));
	layout.current_at = 0;
	memset(layout.version, 'x', sizeof(layout.version));
	assert_false(go_labels_check(&layout));
}

/* ---- where the current g is ---- */

/* Of a file of Go 1.26 whose runtime.stackcheck has that code; NULL: it has no such function. */
static struct go_layout recognised(const uint8_t *code, size_t length)
{
	static const char *const names[] = { "runtime.other", "runtime.stackcheck" };
	static uint8_t table[MADE_PCLNTAB_BYTES];
	uint8_t text[128] = { 0xc3 };
	const struct made_function functions[] = {
		{ "main.main", TEXT, 0, { { 64, 8 } }, NULL },
		{ names[code != NULL], TEXT + 64, 0, { { 64, 8 } }, NULL },
	};
	struct unwind_source source;
	struct go_layout layout;
	size_t bytes;

	if (code)
		memcpy(text + 64, code, length);
	bytes = made_pclntab_write(table, PCLNTAB_120, 1, functions, 2, TEXT + sizeof(text), TEXT,
				   true);
	made_elf_begin(&elf, EM_X86_64);
	made_elf_add(&elf, ".text", TEXT, text, sizeof(text), SHF_EXECINSTR);
	made_elf_add(&elf, ".gopclntab", TABLE, table, bytes, 0);
	make_build_info(INLINE, "go1.26.8");
	made_elf_finish(&elf, true);
	unwind_source_init_functions(&source, &elf.view);
	assert_int_equal(source.go.version, PCLNTAB_120);
	go_labels_recognise(&(struct runtime_file){ &elf.view, &source }, &layout);
	assert_string_equal(layout.version, "go1.26.8");
	return layout;
}

static void the_code_says_where_the_current_g_is(void **state)
{
	static const uint8_t direct[] = { 0x64, 0x48, 0x8b, 0x04, 0x25, 0xc8, 0xff, 0xff, 0xff };
	static const uint8_t by_number[] = { 0x48, 0xc7, 0xc1, 0xf0, 0xff, 0xff,
					     0xff, 0x64, 0x48, 0x8b, 0x01 };
	static const uint8_t by_word[] = { 0x48, 0x8b, 0x0d, 0x00, 0x01, 0x00,
					   0x00, 0x64, 0x48, 0x8b, 0x01 };
	static const uint8_t above[] = { 0x64, 0x48, 0x8b, 0x04, 0x25, 0x08, 0x00, 0x00, 0x00 };
	static const uint8_t other[] = { 0x48, 0x89, 0xc8 };
	struct runtime_found found = { 0 };
	struct go_layout layout;
	struct go_data data;

	(void)state;
	layout = recognised(direct, sizeof(direct));
	assert_int_equal(layout.is_current, 1);
	assert_int_equal(layout.current, -0x38);
	layout = recognised(by_number, sizeof(by_number));
	assert_int_equal(layout.is_current, 1);
	assert_int_equal(layout.current, -16);
	layout = recognised(by_word, sizeof(by_word));
	assert_int_equal(layout.is_current, 1);
	assert_int_equal(layout.current_at, TEXT + 64 + 7 + 0x100);
	assert_true(go_labels_check(&layout));
	go_labels_foresee(&layout, BASE, &found);
	memcpy(&data, found.data, sizeof(data));
	assert_int_equal(data.current_at, BASE + TEXT + 64 + 7 + 0x100);
	// The one that Go itself has, if nobody says anything else.
	layout = recognised(NULL, 0);
	assert_int_equal(layout.is_current, 1);
	assert_int_equal(layout.current, -8);
	// What reads something else, or what cannot be, is refused.
	layout = recognised(above, sizeof(above));
	assert_int_equal(layout.is_current, 0);
	assert_true(go_labels_check(&layout));
	layout = recognised(other, sizeof(other));
	assert_int_equal(layout.is_current, 0);
	found = (struct runtime_found){ 0 };
	go_labels_foresee(&layout, BASE, &found);
	assert_int_equal(found.refused, RUNTIME_REFUSED_LAYOUT);
	assert_true(runtime_found_check(&found));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_version_is_read_however_it_is_written),
		cmocka_unit_test(a_build_info_that_lies_says_nothing),
		cmocka_unit_test(known_versions_have_offsets),
		cmocka_unit_test(other_versions_are_refused),
		cmocka_unit_test(layouts_that_cannot_be_are_none),
		cmocka_unit_test(the_code_says_where_the_current_g_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
