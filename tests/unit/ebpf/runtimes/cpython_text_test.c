// SPDX-License-Identifier: Apache-2.0
/* Texts of CPython's become UTF-8, whatever their characters are. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cpython_forged.h"

#include "receiver/ebpf/runtimes/cpython/text.h"

#include <stdlib.h>
#include <string.h>

static struct forged forged;

static void expect_text(uint64_t address, const char *bytes, size_t length)
{
	const struct runtime_memory memory = forged_memory(&forged);
	struct cpython_text text;

	assert_int_equal(cpython_read_text(&forged.layout.offsets, &memory, address, &text),
			 RUNTIME_NAMED);
	assert_int_equal(text.length, length);
	assert_memory_equal(text.bytes, bytes, length);
}

static void expect_outcome(uint64_t address, enum runtime_outcome outcome)
{
	const struct runtime_memory memory = forged_memory(&forged);
	struct cpython_text text;

	assert_int_equal(cpython_read_text(&forged.layout.offsets, &memory, address, &text),
			 outcome);
}

#define EXPECT(address, literal) expect_text(address, literal, sizeof(literal) - 1)
#define TEXT(width, ...)                                                                           \
	forged_text(&forged, (const uint32_t[]){ __VA_ARGS__ },                                    \
		    sizeof((uint32_t[]){ __VA_ARGS__ }) / sizeof(uint32_t), width)

static void test_characters_of_all_widths(void **state)
{
	(void)state;
	for (uint32_t minor = 6; minor <= 15; minor++) {
		forged_init(&forged, minor);
		EXPECT(forged_ascii(&forged, "main"), "main");
		EXPECT(forged_ascii(&forged, ""), "");
		EXPECT(TEXT(1, 'n', 0xe4, 'h', 0xff), "n\u00e4h\u00ff");
		EXPECT(TEXT(2, 'a', 0x3b1, 0x7ff, 0x800, 0xfffd), "a\u03b1\u07ff\u0800\ufffd");
		EXPECT(TEXT(4, 0x1d6fc, 'z', 0x10ffff, 0x20000), "\U0001d6fcz\U0010ffff\U00020000");
	}
}

static void test_what_is_no_character_is_replaced(void **state)
{
	(void)state;
	forged_init(&forged, 12);
	// Half of a pair, too large ones, and what would end a text.
	EXPECT(TEXT(2, 0xd800, 'a', 0xdfff), "\ufffda\ufffd");
	EXPECT(TEXT(4, 0x110000, 0xffffffff), "\ufffd\ufffd");
	EXPECT(TEXT(1, 'a', 0, 'b'), "a\ufffdb");
}

static void test_long_texts_are_cut_between_characters(void **state)
{
	const struct runtime_memory memory = forged_memory(&forged);
	uint32_t characters[CPYTHON_TEXT_BYTES + 7];
	struct cpython_text text;
	uint64_t address;

	(void)state;
	for (size_t width = 1; width <= 4; width *= 2) {
		uint32_t character = width == 1 ? 0xe4 : width == 2 ? 0x20ac : 0x1f600;
		size_t bytes = width == 1 ? 2 : width == 2 ? 3 : 4;

		forged_init(&forged, 11);
		for (size_t i = 0; i < sizeof(characters) / sizeof(*characters); i++)
			characters[i] = character;
		address = forged_text(&forged, characters, sizeof(characters) / sizeof(*characters),
				      width);
		assert_int_equal(cpython_read_text(&forged.layout.offsets, &memory, address, &text),
				 RUNTIME_NAMED);
		assert_int_equal(text.length % bytes, 0);
		assert_in_range(text.length, CPYTHON_TEXT_BYTES / 2 - 4, CPYTHON_TEXT_BYTES);
	}
}

static void test_what_is_no_text_is_malformed(void **state)
{
	uint64_t text;

	(void)state;
	forged_init(&forged, 13);
	expect_outcome(forged_data(&forged, "abc", 3), RUNTIME_MALFORMED);
	for (uint32_t width = 0; width < 8; width++) {
		text = forged_ascii(&forged, "abc");
		forged_put_int(&forged, text + 32, width << 2 | 3 << 5);
		expect_outcome(text, width == 1 || width == 2 || width == 4 ? RUNTIME_NAMED
									    : RUNTIME_MALFORMED);
	}
	text = forged_ascii(&forged, "abc");
	forged_put_int(&forged, text + 32, 1 << 2 | 1 << 6); // its characters are elsewhere
	expect_outcome(text, RUNTIME_MALFORMED);
	// So long that memory ends before it does.
	for (int bit = 13; bit < 64; bit++) {
		forged_init(&forged, 13);
		text = forged_ascii(&forged, "abc");
		forged_put_word(&forged, text + 16, 3 | 1ull << bit);
		expect_outcome(text, bit == 63 ? RUNTIME_MALFORMED : RUNTIME_UNREADABLE);
	}
}

static void test_wild_addresses_cannot_be_read(void **state)
{
	static const uint64_t wild[] = {
		0, 1, 8, 0x7fffffffffff, 1ull << 63, UINT64_MAX, UINT64_MAX - 7
	};

	(void)state;
	forged_init(&forged, 14);
	for (size_t i = 0; i < sizeof(wild) / sizeof(*wild); i++) {
		uint64_t text = forged_ascii(&forged, "abc");

		expect_outcome(wild[i], RUNTIME_UNREADABLE);
		forged_put_word(&forged, text + 8, wild[i]);
		expect_outcome(text, RUNTIME_MALFORMED);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_characters_of_all_widths),
		cmocka_unit_test(test_what_is_no_character_is_replaced),
		cmocka_unit_test(test_long_texts_are_cut_between_characters),
		cmocka_unit_test(test_what_is_no_text_is_malformed),
		cmocka_unit_test(test_wild_addresses_cannot_be_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
