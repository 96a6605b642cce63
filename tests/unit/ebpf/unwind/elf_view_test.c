// SPDX-License-Identifier: Apache-2.0
/* ELF files as bytes at addresses, and files that lie about themselves. */
#include "made_elf.h"

#include "tests/unit/ebpf/symbols/elf_files.h"

#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static struct made_elf elf;

static void make(bool with_sections)
{
	made_elf_begin(&elf, EM_X86_64);
	made_elf_add(&elf, ".text", 0x1000, "code", 4, SHF_EXECINSTR);
	made_elf_add(&elf, ".rodata", 0x2000, "constants", 9, 0);
	made_elf_add(&elf, ".comment", 0, "comment", 7, 0);
	made_elf_finish(&elf, with_sections);
}

static void test_bytes_are_found_by_address_and_by_name(void **state)
{
	struct elf_piece piece;

	(void)state;
	make(true);
	piece = elf_view_at(&elf.view, 0x2003);
	assert_int_equal(piece.length, 6);
	assert_memory_equal(piece.bytes, "stants", 6);
	assert_null(elf_view_at(&elf.view, 0x2009).bytes);
	assert_null(elf_view_at(&elf.view, 0xfff).bytes);
	piece = elf_view_section(&elf.view, ".rodata");
	assert_int_equal(piece.length, 9);
	assert_int_equal(piece.address, 0x2000);
	assert_int_equal(elf_view_section(&elf.view, ".comment").address, 0);
	assert_null(elf_view_section(&elf.view, ".rodat").bytes);
	assert_null(elf_view_section(&elf.view, ".rodata2").bytes);
	assert_true(elf.view.has_sections);
}

static void test_code_is_what_may_be_executed(void **state)
{
	(void)state;
	make(false);
	assert_false(elf.view.has_sections);
	assert_int_equal(elf_view_code(&elf.view, 0x1001, 2).length, 2);
	assert_int_equal(elf_view_code(&elf.view, 0x1001, 99).length, 3);
	assert_null(elf_view_code(&elf.view, 0x2000, 1).bytes);
	assert_null(elf_view_section(&elf.view, ".text").bytes);
}

static void test_what_is_no_elf_file_of_64_bits_is_refused(void **state)
{
	struct elf_view view;

	(void)state;
	make(true);
	for (size_t size = 0; size < sizeof(Elf64_Ehdr); size++)
		assert_false(elf_view_init(&view, elf.bytes, size));
	elf.bytes[EI_CLASS] = ELFCLASS32;
	assert_false(elf_view_init(&view, elf.bytes, elf.size));
	elf.bytes[EI_CLASS] = ELFCLASS64;
	elf.bytes[EI_DATA] = ELFDATA2MSB;
	assert_false(elf_view_init(&view, elf.bytes, elf.size));
}

/* Everything that can be asked, of a file that ends where its memory does. */
static void ask_everything(const struct elf_file *file)
{
	struct elf_view view;
	struct elf_piece piece;
	uint32_t type;
	uint64_t size;

	if (!elf_view_init(&view, file->bytes, file->size))
		return;
	for (size_t i = 0; i < view.segment_count; i++) {
		piece = elf_view_at(&view, view.segments[i].address);
		assert_true(!piece.bytes ||
			    (piece.bytes >= file->bytes && piece.length <= file->size));
	}
	piece = elf_view_section(&view, ".eh_frame");
	assert_true(!piece.bytes || piece.length <= file->size);
	elf_view_compressed_section(&view, ".text", &type, &size);
	elf_view_dynamic(&view, DT_JMPREL);
	elf_view_soname(&view);
	elf_view_function(&view, "fixture_leaf");
	elf_view_function(&view, "no such function");
	elf_view_object(&view, "fixture_leaf");
}

static void test_symbols_and_the_dynamic_section(void **state)
{
	struct elf_file file;
	struct elf_view view;

	(void)state;
	elf_file_read(&file, UNWIND_FILES "/plt.so");
	assert_true(elf_view_init(&view, file.bytes, file.size));
	assert_true(elf_view_function(&view, "fixture_leaf") >
		    elf_view_section(&view, ".text").address);
	assert_int_equal(elf_view_function(&view, "outside_one"), 0);
	assert_int_equal(elf_view_object(&view, "fixture_leaf"), 0);
	assert_true(elf_view_dynamic(&view, DT_JMPREL) != 0);
	assert_string_equal(elf_view_soname(&view), "libfixture.so.1");
	elf_file_deinit(&file);
}

static void test_headers_may_lie(void **state)
{
	struct elf_file whole, file;
	static const uint8_t wrong[] = { 0x00, 0x01, 0x7f, 0x80, 0xff };
	uint64_t sections;

	(void)state;
	elf_file_read(&whole, UNWIND_FILES "/plt.so");
	sections = ((const Elf64_Ehdr *)whole.bytes)->e_shoff;
	for (size_t i = 0; i < 1024; i++) {
		// The file's header and program headers, then the section headers.
		size_t at = i < 640 ? i : (size_t)sections + (i - 640) * 4;
		uint8_t kept;

		if (at >= whole.size)
			break;
		kept = whole.bytes[at];
		for (size_t j = 0; j < sizeof(wrong); j++) {
			whole.bytes[at] = wrong[j];
			ask_everything(&whole);
		}
		whole.bytes[at] = kept;
	}
	for (size_t size = 0; size < whole.size; size += 97) {
		elf_file_init(&file, whole.bytes, size);
		ask_everything(&file);
		elf_file_deinit(&file);
	}
	elf_file_deinit(&whole);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bytes_are_found_by_address_and_by_name),
		cmocka_unit_test(test_code_is_what_may_be_executed),
		cmocka_unit_test(test_what_is_no_elf_file_of_64_bits_is_refused),
		cmocka_unit_test(test_symbols_and_the_dynamic_section),
		cmocka_unit_test(test_headers_may_lie),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
