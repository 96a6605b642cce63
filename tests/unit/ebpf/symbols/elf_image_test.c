// SPDX-License-Identifier: Apache-2.0
#include "elf_files.h"

#include "receiver/ebpf/worker/answer.h"
#include "receiver/ebpf/worker/functions_make.h"

#include "base/base.h"

#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

/* A file's index, with one answer at a time. */
struct subject {
	struct elf_file file;
	void *index_bytes;            /* owned */
	struct function_index *index; /* owned */
	struct functions_made made;
	void *body;
	struct worker_answer answer;
};

enum { INDEX_ROOM = 4 << 20 };

static void release_nothing(const void *context)
{
	(void)context;
}

static void subject_init(struct subject *subject)
{
	const struct functions_files files = {
		.file = subject->file.bytes,
		.file_bytes = subject->file.size,
		.release = { .release = release_nothing },
	};

	subject->body = NULL;
	subject->index_bytes = malloc(INDEX_ROOM);
	subject->index = malloc(sizeof(*subject->index));
	assert_int_equal(functions_make(&files, subject->index_bytes, INDEX_ROOM, &subject->made),
			 0);
	assert_true(function_index_open(subject->index, subject->index_bytes,
					subject->made.index.bytes));
}

static void subject_open(struct subject *subject, const char *path)
{
	elf_file_read(&subject->file, path);
	subject_init(subject);
}

static void subject_close(struct subject *subject)
{
	free(subject->body);
	free(subject->index);
	free(subject->index_bytes);
	elf_file_deinit(&subject->file);
}

static uint64_t offset_of(const struct subject *subject, uint64_t address)
{
	for (size_t i = 0; i < subject->made.facts.segment_count; i++) {
		const struct worker_segment *segment = &subject->made.facts.segments[i];

		if (address >= segment->address && address - segment->address < segment->file_bytes)
			return segment->file_offset + (address - segment->address);
	}
	fail_msg("address %#llx is in no segment", (unsigned long long)address);
	return 0;
}

static void subject_ask(struct subject *subject, const uint64_t *offsets, size_t count)
{
	size_t bytes;

	free(subject->body);
	subject->body = NULL;
	assert_int_equal(answer_write(subject->index, offsets, count, &subject->body, &bytes), 0);
	assert_true(answer_read(subject->body, bytes, offsets, count, &subject->answer));
}

/* The name at @address; "" when there is none. */
static const char *subject_name(struct subject *subject, uint64_t address)
{
	uint64_t offset = offset_of(subject, address);

	subject_ask(subject, &offset, 1);
	assert_int_equal(subject->answer.range_count, 1);
	assert_true(address >= subject->answer.ranges[0].start);
	assert_true(address - subject->answer.ranges[0].start < subject->answer.ranges[0].size);
	return subject->answer.text + subject->answer.ranges[0].name;
}

static const char *subject_system_name(const struct subject *subject)
{
	return subject->answer.text + subject->answer.ranges[0].system_name;
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

/* The address that nm has for @name. */
static uint64_t address_of(const char *nm, const char *name)
{
	struct wanted wanted = { .name = name };

	nm_read(nm, find_wanted, &wanted);
	if (!wanted.address)
		fail_msg("nm does not know '%s'", name);
	return wanted.address;
}

static void test_names_from_symtab(void **state)
{
	static const struct {
		const char *symbol, *name, *system_name;
	} cases[] = {
		{ "fixture_plain", "fixture_plain", "" },
		{ "fixture_local", "fixture_local", "" },
		{ "main", "main", "" },
		{ "__fixture_alias", "fixture_alias", "" },
		{ "_ZN3net6SocketIiE4readEPvm", "net::Socket<int>::read",
		  "_ZN3net6SocketIiE4readEPvm" },
		{ "_ZN5tokio7runtime4task3run17h0123456789abcdefE", "tokio::runtime::task::run",
		  "_ZN5tokio7runtime4task3run17h0123456789abcdefE" },
		{ "_RNvNtCs1234_7mycrate3foo3bar", "mycrate::foo::bar",
		  "_RNvNtCs1234_7mycrate3foo3bar" },
		{ "fixture_assembly", "fixture_assembly", "" },
		{ "fixture_loop", "fixture_sized", "" },
		{ "fixture_after", "fixture_after", "" },
	};
	static const char *const variants[] = { "full.so", "fixed", "static_pie" };

	(void)state;
	for (size_t v = 0; v < 3; v++) {
		char path[4096], nm[4096];
		struct subject subject;

		snprintf(path, sizeof(path), "%s/%s", SYMBOLS_FILES, variants[v]);
		snprintf(nm, sizeof(nm), "%s/%s.nm", SYMBOLS_FILES, variants[v]);
		subject_open(&subject, path);
		for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
			uint64_t address = address_of(nm, cases[i].symbol);

			assert_string_equal(subject_name(&subject, address), cases[i].name);
			assert_string_equal(subject_system_name(&subject), cases[i].system_name);
			assert_string_equal(subject_name(&subject, address + 3), cases[i].name);
		}
		assert_string_equal(subject_name(&subject, address_of(nm, "fixture_after") - 32),
				    "");
		subject_close(&subject);
	}
}

static void check_exported(void *context, uint64_t address, char type, const char *name)
{
	struct subject *subject = context;
	const char *found;

	if (type != 'T' || strncmp(name, "fixture_", 8) || !strcmp(name, "fixture_loop"))
		return;
	found = subject_name(subject, address);
	assert_string_equal(found, name);
}

static void test_a_stripped_library_has_its_exports(void **state)
{
	struct subject subject;

	(void)state;
	subject_open(&subject, SYMBOLS_FILES "/stripped.so");
	nm_read(SYMBOLS_FILES "/stripped.so.nm", check_exported, &subject);
	assert_string_equal(
		subject_name(&subject, address_of(SYMBOLS_FILES "/full.so.nm", "fixture_local")),
		"");
	subject_close(&subject);
}

static void test_facts_of_a_file(void **state)
{
	struct subject subject;
	uint64_t offset = 0;
	size_t executable = 0;

	(void)state;
	subject_open(&subject, SYMBOLS_FILES "/full.so");
	subject_ask(&subject, &offset, 1);
	assert_string_equal(subject.answer.build_id_gnu, "0123456789abcdef");
	assert_string_equal(subject.answer.build_id_go, "");
	assert_int_equal(strlen(subject.answer.htlhash), 32);
	for (size_t i = 0; i < subject.answer.segment_count; i++)
		executable += subject.answer.segments[i].executable;
	assert_int_equal(executable, 1);
	subject_close(&subject);
}

static void test_without_section_headers_facts_remain(void **state)
{
	uint64_t address = address_of(SYMBOLS_FILES "/full.so.nm", "fixture_plain");
	struct subject subject;

	(void)state;
	elf_file_read(&subject.file, SYMBOLS_FILES "/full.so");
	elf_file_drop_sections(&subject.file);
	subject_init(&subject);
	assert_string_equal(subject_name(&subject, address), "");
	assert_string_equal(subject.answer.build_id_gnu, "0123456789abcdef");
	subject_close(&subject);
}

/* A 64-bit ELF file that is all headers and one note. */
static size_t make_note_file(uint8_t *to, const char *owner, uint32_t type, const void *bytes,
			     uint32_t length)
{
	uint32_t note[3] = { 4, length, type };
	const Elf64_Ehdr header = {
		.e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
		.e_type = ET_EXEC,
		.e_machine = EM_AARCH64,
		.e_phoff = sizeof(header),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = 2,
	};
	const Elf64_Phdr segments[2] = {
		{ .p_type = PT_LOAD, .p_filesz = 100, .p_memsz = 200, .p_vaddr = 0x10000 },
		{ .p_type = PT_NOTE, .p_offset = 512, .p_filesz = 512, .p_align = 4 },
	};

	memset(to, 0, 1024);
	memcpy(to, &header, sizeof(header));
	memcpy(to + sizeof(header), segments, sizeof(segments));
	memcpy(to + 512, note, sizeof(note));
	memcpy(to + 524, owner, strlen(owner));
	memcpy(to + 528, bytes, length);
	return 1024;
}

static void test_build_ids_of_go(void **state)
{
	static const char id[] = "Sj2K/abc_d-e/f=/0123";
	uint8_t bytes[1024];
	struct elf_facts facts;

	(void)state;
	elf_facts_read(bytes, make_note_file(bytes, "Go", 4, id, sizeof(id) - 1), &facts);
	assert_string_equal(facts.build_id_go, id);
	assert_string_equal(facts.build_id_gnu, "");
	assert_int_equal(facts.segment_count, 1);
	elf_facts_read(bytes, make_note_file(bytes, "Go", 4, "bad\033[31mid", 10), &facts);
	assert_string_equal(facts.build_id_go, "");
	elf_facts_read(bytes, make_note_file(bytes, "GNU", 3, "\xab\x01", 2), &facts);
	assert_string_equal(facts.build_id_gnu, "ab01");
}

static void test_other_files_have_a_hash_only(void **state)
{
	static const char text[] = "#!/bin/sh\n";
	struct subject subject;
	uint64_t offset = 3;

	(void)state;
	elf_file_init(&subject.file, text, sizeof(text) - 1);
	subject_init(&subject);
	subject_ask(&subject, &offset, 1);
	assert_int_equal(subject.answer.segment_count, 0);
	assert_int_equal(subject.answer.range_count, 0);
	assert_int_equal(strlen(subject.answer.htlhash), 32);
	subject_close(&subject);
}

static void test_more_names_than_fit_are_said_to_be_missing(void **state)
{
	// 1,500 functions with names of 4,000 bytes in a table made by hand.
	enum { FUNCTIONS = 1500, NAME = 4000 };
	struct function_candidate candidates[FUNCTIONS];
	CLEANUP_FREE char *strings = malloc(1 + FUNCTIONS * NAME);
	static struct function_index index;
	const struct elf_facts facts = {
		.htlhash = "00000000000000000000000000000000",
		.segment_count = 1,
		.segments = { { .file_bytes = 1 << 20, .memory_bytes = 1 << 20, .executable = 1 } }
	};
	struct function_ranges ranges;
	struct function_index_contents contents = {
		.facts = &facts,
		.strings = strings,
		.strings_bytes = 1 + FUNCTIONS * NAME,
	};
	CLEANUP_FREE void *index_bytes = malloc(INDEX_ROOM);
	CLEANUP_FREE void *body = NULL;
	struct worker_answer answer;
	uint64_t offsets[FUNCTIONS];
	size_t bytes;

	(void)state;
	memset(strings, 'x', 1 + FUNCTIONS * NAME);
	strings[0] = '\0';
	for (uint32_t i = 0; i < FUNCTIONS; i++) {
		offsets[i] = i * 16;
		strings[(i + 1) * NAME] = '\0';
		candidates[i] = (struct function_candidate){ .start = i * 16,
							     .limit = i * 16 + 16,
							     .name = 1 + i * NAME };
	}
	assert_int_equal(function_ranges_build(candidates, FUNCTIONS, strings, 1 + FUNCTIONS * NAME,
					       &ranges),
			 0);
	contents.ranges = ranges.ranges;
	contents.range_count = ranges.count;
	assert_int_equal(function_index_write(&contents, index_bytes, INDEX_ROOM, &bytes), 0);
	assert_true(function_index_open(&index, index_bytes, bytes));
	assert_int_equal(answer_write(&index, offsets, FUNCTIONS, &body, &bytes), 0);
	assert_true(answer_read(body, bytes, offsets, FUNCTIONS, &answer));
	assert_true(answer.partial);
	assert_in_range(answer.range_count, 1000, FUNCTIONS - 1);
	function_ranges_deinit(&ranges);
}

static void probe_everywhere(struct subject *subject)
{
	uint64_t offsets[64], step = subject->file.size / 64 + 1;

	for (size_t i = 0; i < 64; i++)
		offsets[i] = i * step;
	subject_ask(subject, offsets, 64);
}

static void test_every_cut_of_a_file_is_survived(void **state)
{
	struct elf_file whole;

	(void)state;
	elf_file_read(&whole, SYMBOLS_FILES "/full.so");
	for (size_t size = 0; size < whole.size; size += size < 1024 ? 1 : 61) {
		struct subject subject;

		elf_file_init(&subject.file, whole.bytes, size);
		subject_init(&subject);
		probe_everywhere(&subject);
		subject_close(&subject);
	}
	elf_file_deinit(&whole);
}

static void mutate(struct elf_file *file)
{
	static const uint64_t values[] = { 0,          1,          0xff,       0x7fffffff,
					   0xffffffff, 1ull << 63, UINT64_MAX, UINT64_MAX - 7 };
	Elf64_Ehdr header;
	uint64_t regions[4][2];

	memcpy(&header, file->bytes, sizeof(header));
	for (long changes = 1 + random() % 4; changes; changes--) {
		uint64_t value = random() % 2 ? values[(size_t)random() % 8]
					      : (uint64_t)random() << 20 ^ (uint64_t)random();
		size_t region = (size_t)random() % 4, width = 1ul << random() % 4, at;

		memcpy(regions,
		       (uint64_t[4][2]){ { 0, 64 },
					 { header.e_phoff, header.e_phnum * 56ul },
					 { header.e_shoff, header.e_shnum * 64ul },
					 { 0, file->size } },
		       sizeof(regions));
		if (regions[region][0] >= file->size || !regions[region][1])
			continue;
		at = (size_t)(regions[region][0] + (uint64_t)random() % regions[region][1]);
		if (at < file->size && width <= file->size - at)
			memcpy(file->bytes + at, &value, width);
	}
}

static void test_thousands_of_broken_files_are_survived(void **state)
{
	static const char *const variants[] = { SYMBOLS_FILES "/full.so",
						SYMBOLS_FILES "/stripped.so" };

	(void)state;
	srandom(2);
	for (size_t v = 0; v < 2; v++) {
		struct elf_file whole;

		elf_file_read(&whole, variants[v]);
		for (unsigned int round = 0; round < 3000; round++) {
			struct subject subject;

			elf_file_init(&subject.file, whole.bytes, whole.size);
			mutate(&subject.file);
			subject_init(&subject);
			probe_everywhere(&subject);
			subject_close(&subject);
		}
		elf_file_deinit(&whole);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names_from_symtab),
		cmocka_unit_test(test_a_stripped_library_has_its_exports),
		cmocka_unit_test(test_facts_of_a_file),
		cmocka_unit_test(test_without_section_headers_facts_remain),
		cmocka_unit_test(test_build_ids_of_go),
		cmocka_unit_test(test_other_files_have_a_hash_only),
		cmocka_unit_test(test_more_names_than_fit_are_said_to_be_missing),
		cmocka_unit_test(test_every_cut_of_a_file_is_survived),
		cmocka_unit_test(test_thousands_of_broken_files_are_survived),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
