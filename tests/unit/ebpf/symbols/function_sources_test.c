// SPDX-License-Identifier: Apache-2.0
/* Files that have the names of their functions in one place only, each in another one. */
#include "elf_files.h"

#include "receiver/ebpf/worker/function_index.h"
#include "receiver/ebpf/worker/functions_make.h"

#include "base/base.h"

#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

#include <cmocka.h>

#ifndef ELFCOMPRESS_ZSTD
#define ELFCOMPRESS_ZSTD 2
#endif

enum { ROOM = 8 << 20 };

/* The index of a file. */
struct subject {
	struct elf_file file, debug;
	bool has_debug;
	void *bytes; /* owned */
	struct function_index *index;
	struct functions_made made;
};

static void release_nothing(const void *context)
{
	(void)context;
}

static void subject_make(struct subject *subject, enum worker_debug found_by)
{
	const struct functions_files files = {
		.file = subject->file.bytes,
		.file_bytes = subject->file.size,
		.debug = subject->has_debug ? subject->debug.bytes : NULL,
		.debug_bytes = subject->has_debug ? subject->debug.size : 0,
		.debug_found_by = found_by,
		.release = { .release = release_nothing },
	};

	subject->bytes = malloc(ROOM);
	subject->index = malloc(sizeof(*subject->index));
	assert_int_equal(functions_make(&files, subject->bytes, ROOM, &subject->made), 0);
	assert_true(function_index_open(subject->index, subject->bytes, subject->made.index.bytes));
	assert_int_equal(subject->index->head->source, subject->made.index.source);
}

static void subject_close(struct subject *subject)
{
	free(subject->index);
	free(subject->bytes);
	elf_file_deinit(&subject->file);
	if (subject->has_debug)
		elf_file_deinit(&subject->debug);
	*subject = (struct subject){ 0 };
}

static void subject_open(struct subject *subject, const char *name, const char *debug,
			 enum worker_debug found_by)
{
	char path[4096];

	*subject = (struct subject){ .has_debug = debug };
	snprintf(path, sizeof(path), "%s/%s", SYMBOLS_FILES, name);
	elf_file_read(&subject->file, path);
	if (debug) {
		snprintf(path, sizeof(path), "%s/%s", SYMBOLS_FILES, debug);
		elf_file_read(&subject->debug, path);
	}
	subject_make(subject, found_by);
}

struct wanted {
	const char *name;
	uint64_t address;
};

static void find_wanted(void *context, uint64_t address, char type, const char *name)
{
	struct wanted *wanted = context;

	(void)type;
	if (!strcmp(name, wanted->name))
		wanted->address = address;
}

static uint64_t address_of(const char *nm, const char *name)
{
	struct wanted wanted = { .name = name };
	char path[4096];

	snprintf(path, sizeof(path), "%s/%s", SYMBOLS_FILES, nm);
	nm_read(path, find_wanted, &wanted);
	assert_true(wanted.address);
	return wanted.address;
}

/* The name of what holds @address; NULL: it has none. */
static const char *name_at(struct subject *subject, uint64_t address)
{
	size_t at = function_index_seek(subject->index, address);

	if (at == subject->index->head->row_count ||
	    function_index_start(subject->index, at) > address ||
	    subject->index->rows[at].name & FUNCTION_UNNAMED)
		return NULL;
	return function_index_name(subject->index, subject->index->rows[at].name);
}

static void expect_name(struct subject *subject, const char *nm, const char *symbol)
{
	const char *found = name_at(subject, address_of(nm, symbol));

	assert_non_null(found);
	assert_string_equal(found, symbol);
}

static void expect_source(struct subject *subject, enum worker_source source)
{
	assert_int_equal(subject->made.index.source, source);
}

static void test_symtab(void **state)
{
	struct subject subject;

	(void)state;
	subject_open(&subject, "full.so", NULL, 0);
	expect_source(&subject, WORKER_SYMTAB);
	expect_name(&subject, "full.so.nm", "fixture_local");
	expect_name(&subject, "full.so.nm", "fixture_plain");
	subject_close(&subject);
	// Its own table comes before a debug file's.
	subject_open(&subject, "full.so", "full.debug", WORKER_DEBUG_BY_BUILD_ID);
	expect_source(&subject, WORKER_SYMTAB);
	subject_close(&subject);
}

static void test_debugdata(void **state)
{
	struct subject subject;

	(void)state;
	subject_open(&subject, "mini.so", NULL, 0);
	expect_source(&subject, WORKER_DEBUGDATA);
	expect_name(&subject, "full.so.nm", "fixture_local");
	expect_name(&subject, "full.so.nm", "fixture_plain"); // only .dynsym has it
	subject_close(&subject);
}

static void test_debug_file_by_build_id(void **state)
{
	struct subject subject;

	(void)state;
	subject_open(&subject, "stripped.so", "full.debug", WORKER_DEBUG_BY_BUILD_ID);
	expect_source(&subject, WORKER_DEBUG_FILE);
	assert_false(subject.made.index.debug_refused);
	expect_name(&subject, "full.so.nm", "fixture_local");
	subject_close(&subject);
	// By name, too, equal build ids say enough.
	subject_open(&subject, "stripped.so", "full.debug", WORKER_DEBUG_BY_LINK);
	expect_source(&subject, WORKER_DEBUG_FILE);
	subject_close(&subject);
}

static void test_debug_file_by_link(void **state)
{
	struct subject subject;

	(void)state;
	subject_open(&subject, "linked.so", NULL, 0);
	expect_source(&subject, WORKER_DYNSYM);
	assert_string_equal(subject.made.index.link, "linked.debug");
	assert_string_equal(subject.made.facts.build_id_gnu, "");
	subject_close(&subject);
	subject_open(&subject, "linked.so", "linked.debug", WORKER_DEBUG_BY_LINK);
	expect_source(&subject, WORKER_DEBUG_FILE);
	assert_non_null(name_at(&subject, address_of("full.so.nm", "fixture_local")));
	subject_close(&subject);
}

static void expect_refused(const char *name, const char *debug, enum worker_debug found_by)
{
	struct subject subject;

	subject_open(&subject, name, debug, found_by);
	expect_source(&subject, WORKER_DYNSYM);
	assert_true(subject.made.index.debug_refused);
	subject_close(&subject);
}

static void test_debug_files_of_others_are_refused(void **state)
{
	struct subject subject;

	(void)state;
	expect_refused("stripped.so", "other.debug", WORKER_DEBUG_BY_BUILD_ID);
	expect_refused("stripped.so", "other.debug", WORKER_DEBUG_BY_LINK);
	expect_refused("linked.so", "other.debug", WORKER_DEBUG_BY_LINK);
	expect_refused("linked.so", "full.debug", WORKER_DEBUG_BY_BUILD_ID);
	expect_refused("stripped.so", "full.so.nm", WORKER_DEBUG_BY_BUILD_ID); // no ELF file
	expect_refused("stripped.so", "narrow.so", WORKER_DEBUG_BY_BUILD_ID);
	// One byte of it is another one: the CRC says so.
	subject = (struct subject){ .has_debug = true };
	elf_file_read(&subject.file, SYMBOLS_FILES "/linked.so");
	elf_file_read(&subject.debug, SYMBOLS_FILES "/linked.debug");
	subject.debug.bytes[subject.debug.size - 1] ^= 1;
	subject_make(&subject, WORKER_DEBUG_BY_LINK);
	expect_source(&subject, WORKER_DYNSYM);
	assert_true(subject.made.index.debug_refused);
	subject_close(&subject);
}

static void test_dynsym(void **state)
{
	struct subject subject;

	(void)state;
	subject_open(&subject, "stripped.so", NULL, 0);
	expect_source(&subject, WORKER_DYNSYM);
	expect_name(&subject, "full.so.nm", "fixture_plain");
	assert_null(name_at(&subject, address_of("full.so.nm", "fixture_local")));
	subject_close(&subject);
}

static void test_files_of_32_bits(void **state)
{
	struct subject subject;

	(void)state;
	subject_open(&subject, "narrow.so", NULL, 0);
	expect_source(&subject, WORKER_SYMTAB);
	expect_name(&subject, "narrow.so.nm", "fixture_local");
	expect_name(&subject, "narrow.so.nm", "fixture_plain");
	assert_true(subject.made.facts.segment_count > 0);
	subject_close(&subject);
}

/* ---- without a name ---- */

static void test_code_without_a_name_is_told_apart_by_its_entry(void **state)
{
	uint64_t local = address_of("full.so.nm", "fixture_local");
	struct subject subject;
	size_t at;

	(void)state;
	subject_open(&subject, "stripped.so", NULL, 0);
	at = function_index_seek(subject.index, local + 3);
	assert_true(at < subject.index->head->row_count);
	assert_int_equal(function_index_start(subject.index, at), local);
	assert_int_equal(subject.index->rows[at].name, FUNCTION_UNNAMED);
	assert_true(subject.made.index.has_tables);
	// Nobody's bytes are nobody's, whatever symbol stands before them.
	at = function_index_seek(subject.index, address_of("full.so.nm", "fixture_after") - 32);
	assert_true(function_index_start(subject.index, at) >=
		    address_of("full.so.nm", "fixture_after") - 32);
	subject_close(&subject);
}

/* Where a program begins is known, whatever it is called. */
static void test_the_begin_of_a_stripped_program(void **state)
{
	struct subject subject;
	Elf64_Ehdr header;

	(void)state;
	subject_open(&subject, "static_stripped", NULL, 0);
	expect_source(&subject, WORKER_NO_SOURCE);
	memcpy(&header, subject.file.bytes, sizeof(header));
	assert_non_null(name_at(&subject, header.e_entry));
	assert_string_equal(name_at(&subject, header.e_entry), "_start");
	assert_string_equal(name_at(&subject, address_of("static_pie.nm", "_start")), "_start");
	assert_null(name_at(&subject, address_of("static_pie.nm", "main")));
	subject_close(&subject);
}

/* ---- compressed sections ---- */

/* Compress section @index of the file in @bytes, which ends at @end, and put it there. Returns the
 * new end. */
static size_t compress_section(uint8_t *bytes, size_t end, size_t index, uint32_t type)
{
	Elf64_Ehdr *header = (void *)bytes;
	Elf64_Shdr *section = (Elf64_Shdr *)(void *)(bytes + header->e_shoff) + index;
	Elf64_Chdr compression = {
		.ch_type = type,
		.ch_size = section->sh_size,
		.ch_addralign = section->sh_addralign,
	};
	uint8_t *to;
	size_t length;

	end = (end + 7) & ~7ul;
	to = bytes + end + sizeof(compression);
	if (type == ELFCOMPRESS_ZLIB) {
		uLongf packed = compressBound(section->sh_size);

		assert_int_equal(
			compress(to, &packed, bytes + section->sh_offset, section->sh_size), Z_OK);
		length = packed;
	} else {
		length = ZSTD_compress(to, ZSTD_compressBound(section->sh_size),
				       bytes + section->sh_offset, section->sh_size, 3);
		assert_false(ZSTD_isError(length));
	}
	memcpy(bytes + end, &compression, sizeof(compression));
	section->sh_offset = end;
	section->sh_size = sizeof(compression) + length;
	section->sh_flags |= SHF_COMPRESSED;
	return end + section->sh_size;
}

/* full.so with its symbols compressed; @claimed: what the table's header says of its size, or 0
 * for the truth. */
static void subject_open_compressed(struct subject *subject, uint32_t type, uint64_t claimed)
{
	CLEANUP_FREE uint8_t *bytes = NULL;
	struct elf_file file;
	Elf64_Ehdr header;
	size_t end;

	elf_file_read(&file, SYMBOLS_FILES "/full.so");
	bytes = calloc(1, 2 * file.size + 65536);
	memcpy(bytes, file.bytes, file.size);
	end = file.size;
	memcpy(&header, bytes, sizeof(header));
	for (size_t i = 0; i < header.e_shnum; i++) {
		Elf64_Shdr *section = (Elf64_Shdr *)(void *)(bytes + header.e_shoff) + i;

		if (section->sh_type != SHT_SYMTAB)
			continue;
		end = compress_section(bytes, end, section->sh_link, type);
		end = compress_section(bytes, end, i, type);
		if (claimed)
			memcpy(bytes + section->sh_offset + offsetof(Elf64_Chdr, ch_size), &claimed,
			       sizeof(claimed));
	}
	*subject = (struct subject){ 0 };
	elf_file_init(&subject->file, bytes, end);
	elf_file_deinit(&file);
	subject_make(subject, 0);
}

static void test_compressed_sections(void **state)
{
	static const uint32_t types[] = { ELFCOMPRESS_ZLIB, ELFCOMPRESS_ZSTD };

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct subject subject;

		subject_open_compressed(&subject, types[i], 0);
		expect_source(&subject, WORKER_SYMTAB);
		expect_name(&subject, "full.so.nm", "fixture_local");
		subject_close(&subject);
		// What comes out is not as much as was said, or nobody has the memory for it.
		subject_open_compressed(&subject, types[i], 24 * 1000);
		expect_source(&subject, WORKER_DYNSYM);
		subject_close(&subject);
		subject_open_compressed(&subject, types[i], 1ull << 40);
		expect_source(&subject, WORKER_DYNSYM);
		subject_close(&subject);
	}
}

/* ---- the index ---- */

static void test_what_does_not_fit_is_an_error(void **state)
{
	struct elf_file file;
	struct functions_made made;
	struct functions_files files = { .release = { .release = release_nothing } };
	size_t whole;

	(void)state;
	elf_file_read(&file, SYMBOLS_FILES "/full.so");
	files.file = file.bytes;
	files.file_bytes = file.size;
	{
		CLEANUP_FREE void *to = malloc(ROOM);

		assert_int_equal(functions_make(&files, to, ROOM, &made), 0);
		whole = made.index.bytes;
	}
	for (size_t room = 0; room < whole; room += room < whole - 64 ? 37 : 1) {
		CLEANUP_FREE void *to = malloc(room ? room : 1);

		assert_int_not_equal(functions_make(&files, to, room, &made), 0);
	}
	elf_file_deinit(&file);
}

/* Whatever bytes of it are changed, reading it stays inside. */
static void test_a_broken_index_is_survived(void **state)
{
	struct subject subject;
	uint8_t *bytes;
	size_t size;

	(void)state;
	subject_open(&subject, "full.so", NULL, 0);
	size = subject.made.index.bytes;
	bytes = subject.bytes;
	for (size_t at = 0; at < size; at++) {
		struct elf_file broken; // it ends where its memory does
		uint8_t was = bytes[at];

		bytes[at] ^= (uint8_t)(at * 31 + 1);
		elf_file_init(&broken, bytes, size & ~7ul);
		bytes[at] = was;
		if (!function_index_open(subject.index, broken.bytes, broken.size)) {
			elf_file_deinit(&broken);
			continue;
		}
		for (uint64_t address = 0; address < 0x4000; address += 61) {
			size_t row = function_index_seek(subject.index, address);

			if (row < subject.index->head->row_count)
				function_index_name(subject.index, subject.index->rows[row].name);
		}
		elf_file_deinit(&broken);
	}
	subject_close(&subject);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_symtab),
		cmocka_unit_test(test_debugdata),
		cmocka_unit_test(test_debug_file_by_build_id),
		cmocka_unit_test(test_debug_file_by_link),
		cmocka_unit_test(test_debug_files_of_others_are_refused),
		cmocka_unit_test(test_dynsym),
		cmocka_unit_test(test_files_of_32_bits),
		cmocka_unit_test(test_code_without_a_name_is_told_apart_by_its_entry),
		cmocka_unit_test(test_the_begin_of_a_stripped_program),
		cmocka_unit_test(test_compressed_sections),
		cmocka_unit_test(test_what_does_not_fit_is_an_error),
		cmocka_unit_test(test_a_broken_index_is_survived),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
