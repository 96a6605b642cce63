// SPDX-License-Identifier: Apache-2.0
/* Pages as the kernel side reads them: every address of a page leads to the rule it was given. */
#include "made_elf.h"
#include "rules.h"

#include "receiver/ebpf/unwind/page.h"

#include <elf.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { START = 5 << UNWIND_PAGE_SHIFT, PAGE_BYTES = 1 << UNWIND_PAGE_SHIFT, FIRST_NUMBER = 2 };

static struct unwind_rule table[UNWIND_RULES];
static size_t table_count, table_room;

static int number_rule(void *context, const struct unwind_rule *rule)
{
	(void)context;
	for (size_t i = 0; i < table_count; i++)
		if (!memcmp(&table[i], rule, sizeof(*rule)))
			return (int)i + FIRST_NUMBER;
	if (table_count == table_room)
		return -ENOSPC;
	table[table_count] = *rule;
	return (int)table_count++ + FIRST_NUMBER;
}

static void begin(struct page *page, uint16_t machine)
{
	table_count = 0;
	table_room = UNWIND_RULES - FIRST_NUMBER;
	page_begin(page, START, machine, NULL, number_rule, NULL);
}

/* What the kernel side would do: the 16 bits of the row at @address. */
static unsigned int find(const uint8_t *bytes, uint64_t address)
{
	unsigned int block = (address >> UNWIND_BLOCK_SHIFT) % UNWIND_BLOCKS, found;
	uint16_t first[UNWIND_BLOCKS + 1];
	const uint8_t *rows = bytes + PAGE_HEAD_BYTES;
	uint32_t row;

	memcpy(first, bytes, sizeof(first));
	assert_true(first[block] < first[block + 1]);
	memcpy(&row, rows + 4 * first[block], sizeof(row));
	assert_int_equal(row & 0xff, 0);
	found = row >> 16;
	for (unsigned int i = first[block] + 1; i < first[block + 1]; i++) {
		memcpy(&row, rows + 4 * i, sizeof(row));
		if ((row & 0xff) > (address & 0xff))
			break;
		found = row >> 16;
	}
	return found;
}

static struct unwind_rule unpack(unsigned int row)
{
	struct unwind_rule rule;
	unsigned int slot = row % UNWIND_PACKED_SLOTS;

	if (row == UNWIND_RULE_UNKNOWN || row == UNWIND_RULE_END)
		return (struct unwind_rule){ .cfa = row == UNWIND_RULE_END ? UNWIND_CFA_END
									   : UNWIND_CFA_UNKNOWN };
	if (row < UNWIND_PACKED_FP)
		return table[row - FIRST_NUMBER];
	rule = row & UNWIND_PACKED_SP
		       ? rule_of(AMD64_SP, 8 * (row >> 5 & (UNWIND_PACKED_SP_DEPTHS - 1)), -8)
		       : rule_of(AMD64_FP, 8 * (row >> 5 & (UNWIND_PACKED_FP_DEPTHS - 1)), -8);
	if (slot) {
		rule.fp = UNWIND_AT_CFA;
		rule.fp_offset = -8 * ((int32_t)slot + 1);
	}
	return rule;
}

static struct unwind_rule random_rule(void)
{
	struct unwind_rule rule =
		rule_of(rand() % 2 ? AMD64_SP : AMD64_FP, 8 * (rand() % 1100), -8);

	if (rand() % 2) {
		rule.fp = UNWIND_AT_CFA;
		rule.fp_offset = -8 * (rand() % 40);
	}
	if (rand() % 16 == 0)
		rule.signal = 1;
	if (rand() % 16 == 0)
		rule.stack_switch = 1;
	if (rand() % 16 == 0)
		return (struct unwind_rule){ .cfa = (uint8_t)(rand() % 2) };
	return rule;
}

static void test_every_address_leads_to_its_rule(void **state)
{
	static struct unwind_rule given[PAGE_BYTES];
	struct page page;
	uint8_t *bytes;
	size_t length;

	(void)state;
	srand(7);
	memset(given, 0, sizeof(given));
	begin(&page, EM_X86_64);
	for (uint64_t at = START; at < START + PAGE_BYTES;) {
		uint64_t limit = at + 1 + (uint64_t)(rand() % 100);
		struct unwind_rule rule = random_rule();

		for (uint64_t i = at; i < limit && i < START + PAGE_BYTES; i++)
			given[i - START] = rule;
		page_take(&page, at, limit, &rule);
		at = limit + (rand() % 8 ? 0 : (uint64_t)(rand() % 600)); // a gap at times
	}
	length = page_finish(&page);
	assert_true(length && length <= PAGE_MAX_BYTES);
	bytes = malloc(length);
	page_write(&page, bytes);
	for (uint64_t i = 0; i < PAGE_BYTES; i++) {
		struct unwind_rule rule = unpack(find(bytes, START + i));

		assert_memory_equal(&rule, &given[i], sizeof(rule));
	}
	free(bytes);
	page_deinit(&page);
}

static void test_what_is_outside_of_the_page_is_left_out(void **state)
{
	const struct unwind_rule before = rule_of(AMD64_SP, 16, -8), in = rule_of(AMD64_SP, 24, -8);
	uint8_t bytes[PAGE_MAX_BYTES];
	struct page page;

	(void)state;
	begin(&page, EM_X86_64);
	page_take(&page, 0, START, &before);
	page_take(&page, START - 8, START + 8, &in);
	page_take(&page, START + PAGE_BYTES, UINT64_MAX, &before);
	assert_int_equal(page_finish(&page), PAGE_HEAD_BYTES + 4 * (UNWIND_BLOCKS + 1));
	page_write(&page, bytes);
	assert_int_equal(unpack(find(bytes, START + 7)).cfa_offset, 24);
	assert_int_equal(find(bytes, START + 8), UNWIND_RULE_UNKNOWN);
	page_deinit(&page);
}

static void test_nothing_of_arm64_is_packed(void **state)
{
	const struct unwind_rule rule = rule_of(AMD64_SP, 16, -8);
	uint8_t bytes[PAGE_MAX_BYTES];
	struct page page;

	(void)state;
	begin(&page, EM_AARCH64);
	page_take(&page, START, START + PAGE_BYTES, &rule);
	assert_true(page_finish(&page) != 0);
	page_write(&page, bytes);
	assert_int_equal(find(bytes, START), FIRST_NUMBER);
	page_deinit(&page);
}

static void test_a_page_is_never_larger_than_its_bound(void **state)
{
	struct page page;

	(void)state;
	begin(&page, EM_X86_64);
	for (uint64_t at = START; at < START + PAGE_BYTES; at += 4) {
		struct unwind_rule rule = rule_of(AMD64_SP, at % 8 ? 16 : 24, -8);

		page_take(&page, at, at + 4, &rule);
	}
	assert_int_equal(page_finish(&page), 0);
	assert_int_equal(page.error, -E2BIG);
	page_deinit(&page);
}

static void test_more_rules_than_there_is_room_for(void **state)
{
	struct page page;

	(void)state;
	begin(&page, EM_AARCH64);
	table_room = 3;
	for (int i = 0; i < 4; i++) {
		struct unwind_rule rule = rule_of(ARM64_SP, 16 * i, -8);

		page_take(&page, START + (uint64_t)i, START + (uint64_t)i + 1, &rule);
	}
	assert_int_equal(page_finish(&page), 0);
	assert_int_equal(page.error, -ENOSPC);
	page_deinit(&page);
}

/* The row of @page at @address. */
static uint32_t row_at(const struct page *page, uint64_t address)
{
	size_t block = (address - page->start) >> UNWIND_BLOCK_SHIFT;
	uint32_t found = page->rows[page->first[block]];

	for (size_t i = page->first[block]; i < page->first[block + 1]; i++)
		if ((page->rows[i] & 0xff) <= (address & 0xff))
			found = page->rows[i];
	return found;
}

static bool has_calls(const struct page *page, uint64_t address)
{
	return !(row_at(page, address) & PAGE_ROW_NO_CALL);
}

enum { TEXT = START + 0x100, PUSHED = 2, CALLED = 7, POPPED = 8, ENDED = 10 };

/* push %r12 (2 bytes), call (5), pop %r12 (2 of which the first is CALLED), ret. */
static const uint8_t function[] = { 0x41, 0x54, 0xe8, 1, 2, 3, 4, 0x41, 0x5c, 0xc3 };

static void begin_with_code(struct page *page, struct made_elf *elf)
{
	uint8_t text[1024];

	memset(text, 0x90, sizeof(text));
	memcpy(text + 0x40, function, sizeof(function));
	made_elf_begin(elf, EM_X86_64);
	made_elf_add(elf, ".text", TEXT, text, sizeof(text), SHF_EXECINSTR);
	made_elf_finish(elf, true);
	table_count = 0;
	table_room = UNWIND_RULES - FIRST_NUMBER;
	page_begin(page, START, EM_X86_64, &elf->view, number_rule, NULL);
}

static void test_rows_without_calls_are_told(void **state)
{
	static struct made_elf elf;
	const struct unwind_rule outside = rule_of(AMD64_SP, 8, -8), in = rule_of(AMD64_SP, 16, -8);
	const uint64_t at = TEXT + 0x40;
	struct page page;

	(void)state;
	begin_with_code(&page, &elf);
	page_take(&page, at, at + PUSHED, &outside);
	page_take(&page, at + PUSHED, at + POPPED + 1, &in);
	page_take(&page, at + POPPED + 1, at + ENDED, &outside);
	assert_true(page_finish(&page) != 0);
	assert_false(has_calls(&page, at));
	assert_true(has_calls(&page, at + PUSHED));
	assert_true(has_calls(&page, at + CALLED - 1)); // to which the return address belongs
	assert_false(has_calls(&page, at + POPPED + 1));
	assert_true(has_calls(&page, TEXT)); // of nobody
	page_deinit(&page);
}

/* However what is said of a stretch of code comes, instruction by instruction. */
static void test_a_call_in_one_of_two_rows_that_are_one(void **state)
{
	static struct made_elf elf;
	const struct unwind_rule rule = rule_of(AMD64_SP, 16, -8);
	const uint64_t at = TEXT + 0x40, cuts[] = { PUSHED, CALLED, POPPED + 1 };

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		const uint64_t cut = cuts[i];
		struct page page;

		begin_with_code(&page, &elf);
		page_take(&page, at, at + cut, &rule);
		page_take(&page, at + cut, at + sizeof(function), &rule);
		assert_true(page_finish(&page) != 0);
		assert_true(has_calls(&page, at + CALLED - 1));
		page_deinit(&page);
	}
}

static void test_of_what_signals_lead_to_nothing_is_said(void **state)
{
	static struct made_elf elf;
	struct unwind_rule rules[3] = { rule_of(AMD64_SP, 16, -8),
					rule_of(AMD64_SP, 16, -8),
					{ .cfa = UNWIND_CFA_END } };
	const uint64_t at = TEXT + 0x40;

	(void)state;
	rules[0].signal = 1;
	rules[1].new_thread = 1;
	for (size_t i = 0; i < 3; i++) {
		struct page page;

		begin_with_code(&page, &elf);
		page_take(&page, at, at + PUSHED, &rules[i]);
		assert_true(page_finish(&page) != 0);
		assert_true(has_calls(&page, at));
		page_deinit(&page);
	}
}

static void test_without_the_code_any_row_may_have_calls(void **state)
{
	const struct unwind_rule rule = rule_of(AMD64_SP, 16, -8);
	struct page page;

	(void)state;
	begin(&page, EM_X86_64);
	page_take(&page, START + 0x140, START + 0x142, &rule);
	assert_true(page_finish(&page) != 0);
	assert_true(has_calls(&page, START + 0x140));
	page_deinit(&page);
	// Nor where the file has none.
	static struct made_elf elf;

	begin_with_code(&page, &elf);
	page_take(&page, START + 0x40, START + 0x42, &rule);
	assert_true(page_finish(&page) != 0);
	assert_true(has_calls(&page, START + 0x40));
	page_deinit(&page);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_address_leads_to_its_rule),
		cmocka_unit_test(test_what_is_outside_of_the_page_is_left_out),
		cmocka_unit_test(test_nothing_of_arm64_is_packed),
		cmocka_unit_test(test_a_page_is_never_larger_than_its_bound),
		cmocka_unit_test(test_more_rules_than_there_is_room_for),
		cmocka_unit_test(test_rows_without_calls_are_told),
		cmocka_unit_test(test_a_call_in_one_of_two_rows_that_are_one),
		cmocka_unit_test(test_of_what_signals_lead_to_nothing_is_said),
		cmocka_unit_test(test_without_the_code_any_row_may_have_calls),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
