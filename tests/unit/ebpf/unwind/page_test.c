// SPDX-License-Identifier: Apache-2.0
/* Pages as the kernel side reads them: every address of a page leads to the rule it was given. */
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
	page_begin(page, START, machine, number_rule, NULL);
}

/* What the kernel side would do: the 16 bits of the row at @address. */
static unsigned int find(const uint8_t *bytes, uint64_t address)
{
	unsigned int block = (address >> UNWIND_BLOCK_SHIFT) % UNWIND_BLOCKS, found;
	uint16_t first[UNWIND_BLOCKS + 1];
	const uint8_t *rows = bytes + UNWIND_PAGE_HEAD_BYTES;
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
	assert_true(length && length <= UNWIND_SLAB_BYTES);
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
	uint8_t bytes[UNWIND_SLAB_BYTES];
	struct page page;

	(void)state;
	begin(&page, EM_X86_64);
	page_take(&page, 0, START, &before);
	page_take(&page, START - 8, START + 8, &in);
	page_take(&page, START + PAGE_BYTES, UINT64_MAX, &before);
	assert_int_equal(page_finish(&page), UNWIND_PAGE_HEAD_BYTES + 4 * (UNWIND_BLOCKS + 1));
	page_write(&page, bytes);
	assert_int_equal(unpack(find(bytes, START + 7)).cfa_offset, 24);
	assert_int_equal(find(bytes, START + 8), UNWIND_RULE_UNKNOWN);
	page_deinit(&page);
}

static void test_nothing_of_arm64_is_packed(void **state)
{
	const struct unwind_rule rule = rule_of(AMD64_SP, 16, -8);
	uint8_t bytes[UNWIND_SLAB_BYTES];
	struct page page;

	(void)state;
	begin(&page, EM_AARCH64);
	page_take(&page, START, START + PAGE_BYTES, &rule);
	assert_true(page_finish(&page) != 0);
	page_write(&page, bytes);
	assert_int_equal(find(bytes, START), FIRST_NUMBER);
	page_deinit(&page);
}

static void test_a_page_is_never_larger_than_a_slab(void **state)
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_address_leads_to_its_rule),
		cmocka_unit_test(test_what_is_outside_of_the_page_is_left_out),
		cmocka_unit_test(test_nothing_of_arm64_is_packed),
		cmocka_unit_test(test_a_page_is_never_larger_than_a_slab),
		cmocka_unit_test(test_more_rules_than_there_is_room_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
