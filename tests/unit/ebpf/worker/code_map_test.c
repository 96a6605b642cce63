// SPDX-License-Identifier: Apache-2.0
/* Names of made code by perf maps and jitdumps, of which no byte is believed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "worker/code_map.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static int file_of(const void *bytes, size_t count)
{
	int fd = memfd_create("map", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, count), count);
	return fd;
}

/* What the map in @text calls @address; "" for nothing. Valid until the next call. */
static const char *name_in(const char *text, uint64_t address)
{
	static char name[CODE_MAP_NAME];
	struct code_place place = { .address = address };
	int fd = file_of(text, strlen(text));
	size_t length = 0;

	perf_map_find(fd, &place, 1);
	if (place.name_at)
		length = code_place_name(fd, &place, name);
	name[length] = '\0';
	close(fd);
	return name;
}

static void an_entry_names_what_it_holds(void **state)
{
	static const char map[] = "1000 20 LazyCompile:~a b /srv/x.js:3:1\n0x2000 0x8 second\n";

	(void)state;
	assert_string_equal(name_in(map, 0xfff), "");
	assert_string_equal(name_in(map, 0x1000), "LazyCompile:~a b /srv/x.js:3:1");
	assert_string_equal(name_in(map, 0x101f), "LazyCompile:~a b /srv/x.js:3:1");
	assert_string_equal(name_in(map, 0x1020), "");
	assert_string_equal(name_in(map, 0x2007), "second");
	assert_string_equal(name_in("1000 20 no newline", 0x1000), "no newline");
}

/* As HotSpot writes them (`jcmd PID Compiler.perfmap`): all 16 digits behind the prefix. */
static void numbers_may_have_all_their_digits(void **state)
{
	static const char map[] = "0x00007f975cec7600 0x0000000000000218 int Hot.innermost(int)\n";

	(void)state;
	assert_string_equal(name_in(map, 0x7f975cec7600), "int Hot.innermost(int)");
	assert_string_equal(name_in(map, 0x7f975cec7817), "int Hot.innermost(int)");
	assert_string_equal(name_in(map, 0x7f975cec7818), "");
}

static void the_last_entry_counts(void **state)
{
	static const char map[] = "1000 100 old\n1040 10 inner\n1000 20 new\n";

	(void)state;
	assert_string_equal(name_in(map, 0x1000), "new");
	assert_string_equal(name_in(map, 0x1030), "old");
	assert_string_equal(name_in(map, 0x1048), "inner");
}

static void lines_that_are_none_are_passed_over(void **state)
{
	static const char *const bad[] = {
		"",
		"\n",
		"zz 10 a\n",
		"1000\n",
		"1000 \n",
		"1000 10\n",
		"10000000000000000000 10 a\n",
		"0x00000000000001000 10 a\n",
		"0x 10 a\n",
		"0x0x1000 10 a\n",
		"-1 10 a\n",
		"\377\377\377\n",
		"1000 0 empty\n",
		"ffffffffffffffff ffffffffffffffff wraps\n",
	};
	char text[256];

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		snprintf(text, sizeof(text), "%s1000 20 good\n%s", bad[i], bad[i]);
		assert_string_equal(name_in(text, 0x1010), "good");
	}
}

static void a_long_name_is_cut(void **state)
{
	size_t bytes = 1 << 20;
	char *text = malloc(bytes + 64);

	(void)state;
	assert_non_null(text);
	memcpy(text, "1000 20 ", 8);
	memset(text + 8, 'x', bytes);
	strcpy(text + 8 + bytes, "\n3000 10 next\n");
	assert_int_equal(strlen(name_in(text, 0x1000)), CODE_MAP_NAME - 1);
	assert_string_equal(name_in(text, 0x3000), "next");
	free(text);
}

/* Of a file that is too long the end counts, from a whole line on. */
static void the_end_of_a_long_map_is_read(void **state)
{
	static const char line[] = "1000 20 an entry that came long ago\n";
	int fd = memfd_create("map", MFD_CLOEXEC);
	struct code_place places[2] = { { .address = 0x1000 }, { .address = 0x5000 } };
	FILE *file = fdopen(dup(fd), "w");

	(void)state;
	fprintf(file, "5000 20 first\n");
	for (size_t i = 0; i < WORKER_MAP_MOST / strlen(line) + 10; i++)
		fputs(line, file);
	fclose(file);
	perf_map_find(fd, places, 2);
	assert_true(places[0].name_at > 0);
	assert_int_equal(places[1].name_at, 0);
	close(fd);
}

/* ---- jitdump ---- */

struct dump {
	uint8_t bytes[8192];
	size_t count;
};

static void put(struct dump *dump, const void *from, size_t bytes)
{
	memcpy(dump->bytes + dump->count, from, bytes);
	dump->count += bytes;
}

static void put_head(struct dump *dump)
{
	const uint32_t head[10] = { 0x4a695444, 1, 40, 62, 0, 7 };

	put(dump, head, sizeof(head));
}

static void put_load(struct dump *dump, uint64_t code, uint64_t bytes, const char *name)
{
	const uint64_t load[] = { 7ull << 32 | 7, code, code, bytes, 1 };
	const uint32_t head[] = { 0, (uint32_t)(16 + sizeof(load) + strlen(name) + 1), 0, 0 };

	put(dump, head, sizeof(head));
	put(dump, load, sizeof(load));
	put(dump, name, strlen(name) + 1);
}

static void put_lines(struct dump *dump, uint64_t code, const uint64_t *addresses,
		      const uint32_t *lines, size_t count)
{
	const uint64_t body[] = { code, count };
	const uint32_t head[] = { 2, (uint32_t)(16 + sizeof(body) + count * 20), 0, 0 };

	put(dump, head, sizeof(head));
	put(dump, body, sizeof(body));
	for (size_t i = 0; i < count; i++) {
		const uint32_t line[] = { lines[i], 0 };

		put(dump, &addresses[i], 8);
		put(dump, line, sizeof(line));
		put(dump, "f.c", 4);
	}
}

static void find_in(const struct dump *dump, struct code_place *places, size_t count,
		    char names[][CODE_MAP_NAME])
{
	int fd = file_of(dump->bytes, dump->count);

	assert_int_equal(jitdump_is(fd), dump->count >= 4);
	jitdump_find(fd, places, count);
	for (size_t i = 0; i < count; i++) {
		size_t length = places[i].name_at ? code_place_name(fd, &places[i], names[i]) : 0;

		names[i][length] = '\0';
	}
	close(fd);
}

static void a_dump_has_names_and_lines(void **state)
{
	static const uint64_t addresses[] = { 0x1000, 0x1010 };
	static const uint32_t lines[] = { 11, 12 };
	static char names[3][CODE_MAP_NAME];
	struct code_place places[] = { { .address = 0x1004 },
				       { .address = 0x1018 },
				       { .address = 0x2000 } };
	struct dump dump = { .count = 0 };

	(void)state;
	put_head(&dump);
	put_load(&dump, 0x1000, 0x100, "old");
	put_lines(&dump, 0x1000, addresses, lines, 2);
	put_load(&dump, 0x1000, 0x20, "loop");
	put_load(&dump, 0x2000, 0x10, "other");
	find_in(&dump, places, 3, names);
	assert_string_equal(names[0], "loop");
	assert_int_equal(places[0].line, 11);
	assert_string_equal(names[1], "loop");
	assert_int_equal(places[1].line, 12);
	assert_string_equal(names[2], "other");
	assert_int_equal(places[2].line, 0);
}

/* The last one that begins at or before a place counts, in whatever order they are. */
static void lines_may_come_in_any_order(void **state)
{
	enum { LINES = 300, PLACES = 40, CODE = 0x1000, STEP = 8 };
	static char names[PLACES][CODE_MAP_NAME];
	struct code_place places[PLACES] = { 0 };
	struct dump dump = { .count = 0 };
	uint64_t addresses[LINES];
	uint32_t lines[LINES], random = 7;

	(void)state;
	for (uint32_t i = 0; i < LINES; i++) {
		random = random * 1664525 + 1013904223;
		addresses[i] = CODE + (random >> 16) % (PLACES * STEP + 100);
		lines[i] = i + 1;
	}
	for (size_t i = 0; i < PLACES; i++)
		places[i].address = CODE + i * STEP;
	put_head(&dump);
	// More than one piece of the file.
	put_lines(&dump, CODE, addresses, lines, LINES);
	put_load(&dump, CODE, PLACES * STEP, "loop");
	find_in(&dump, places, PLACES, names);
	for (size_t i = 0; i < PLACES; i++) {
		uint32_t expected = 0;

		for (size_t line = 0; line < LINES; line++)
			if (addresses[line] <= places[i].address)
				expected = lines[line];
		assert_int_equal(places[i].line, expected);
		assert_string_equal(names[i], "loop");
	}
}

static void a_dump_that_ends_anywhere_says_what_it_has(void **state)
{
	static const uint64_t addresses[] = { 0x1000 };
	static const uint32_t lines[] = { 11 };
	static char names[1][CODE_MAP_NAME];
	struct dump whole = { .count = 0 };

	(void)state;
	put_head(&whole);
	put_lines(&whole, 0x1000, addresses, lines, 1);
	put_load(&whole, 0x1000, 0x20, "loop");
	for (size_t count = 0; count <= whole.count; count++) {
		struct code_place place = { .address = 0x1004 };
		struct dump dump = whole;

		dump.count = count;
		find_in(&dump, &place, 1, names);
		assert_true(!*names[0] || !strncmp("loop", names[0], strlen(names[0])));
	}
}

/* Sizes that lead back, or nowhere. */
static void a_dump_may_lie(void **state)
{
	static char names[1][CODE_MAP_NAME];
	uint32_t random = 1;

	(void)state;
	for (int round = 0; round < 20000; round++) {
		struct code_place place = { .address = 0x1004 };
		struct dump dump = { .count = 0 };

		put_head(&dump);
		put_load(&dump, 0x1000, 0x20, "a");
		put_load(&dump, 0x1000, 0x20, "b");
		for (int i = 0; i < 3; i++) {
			random = random * 1664525 + 1013904223;
			dump.bytes[4 + random % (dump.count - 4)] = (uint8_t)(random >> 24);
		}
		find_in(&dump, &place, 1, names);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_entry_names_what_it_holds),
		cmocka_unit_test(numbers_may_have_all_their_digits),
		cmocka_unit_test(the_last_entry_counts),
		cmocka_unit_test(lines_that_are_none_are_passed_over),
		cmocka_unit_test(a_long_name_is_cut),
		cmocka_unit_test(the_end_of_a_long_map_is_read),
		cmocka_unit_test(a_dump_has_names_and_lines),
		cmocka_unit_test(lines_may_come_in_any_order),
		cmocka_unit_test(a_dump_that_ends_anywhere_says_what_it_has),
		cmocka_unit_test(a_dump_may_lie),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
