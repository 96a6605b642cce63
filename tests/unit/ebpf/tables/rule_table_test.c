// SPDX-License-Identifier: Apache-2.0
/* Rules without a packed form: each once, and none longer than a file has it, where room is short.
 */
#include "tables/rule_table.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

enum {
	FIRST = UNWIND_RULE_END + 1,
	OF_FILE = 512,
	ROOM = UNWIND_RULES - FIRST,
	OF_ONE = ROOM - ROOM / 8,     /* owner, if nobody has less */
	FILES = OF_ONE / OF_FILE + 1, /* to fill all of that */
	NEXT = FILES + 1
};

struct fixture {
	struct rule_table table;
	struct unwind_rule rules[UNWIND_RULES];
	struct rule_uses files[FILES + 4];
};

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	assert_non_null(fixture);
	rule_table_init(&fixture->table, fixture->rules);
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	for (size_t i = 0; i < FILES + 4; i++)
		rule_table_release(&fixture->table, &fixture->files[i]);
	for (size_t i = 0; i < UNWIND_RULES; i++)
		assert_int_equal(fixture->table.uses[i].files, 0);
	rule_table_deinit(&fixture->table);
	free(fixture);
	return 0;
}

static uint32_t use(struct fixture *fixture, size_t file, int32_t offset)
{
	struct unwind_rule rule = { .cfa = UNWIND_CFA_REGISTER, .cfa_offset = offset };
	uint32_t number = rule_table_use(&fixture->table, &rule, &fixture->files[file]);

	if (number)
		assert_memory_equal(&fixture->rules[number], &rule, sizeof(rule));
	return number;
}

/* Each file has OF_FILE rules of its own, as far as there is room. */
static void fill(struct fixture *fixture)
{
	for (size_t file = 0; file < FILES; file++)
		for (int32_t i = 0; i < OF_FILE; i++)
			use(fixture, file, (int32_t)file * OF_FILE + i);
	assert_int_equal(fixture->table.count, FIRST + OF_ONE);
	assert_true(fixture->table.wanted);
}

static void equal_ones_are_one(void **state)
{
	struct fixture *fixture = *state;
	uint32_t first = use(fixture, 0, 8), second = use(fixture, 0, 16);

	assert_true(first >= FIRST);
	assert_int_not_equal(first, second);
	assert_int_equal(use(fixture, 0, 8), first);
	assert_int_equal(use(fixture, 1, 8), first);
	assert_int_equal(fixture->table.uses[first].files, 2);
	assert_int_equal(fixture->table.uses[second].files, 1);
	assert_int_equal(fixture->table.refused, 0);
}

static void one_file_has_so_many_at_most(void **state)
{
	struct fixture *fixture = *state;

	for (int32_t i = 0; i < OF_FILE; i++)
		assert_true(use(fixture, 0, i) >= FIRST);
	assert_int_equal(use(fixture, 0, OF_FILE), UNWIND_RULE_UNKNOWN);
	assert_true(use(fixture, 0, 0) >= FIRST);
	assert_true(use(fixture, 1, OF_FILE) >= FIRST);
	// Nor of those that others have.
	assert_int_equal(use(fixture, 0, OF_FILE), UNWIND_RULE_UNKNOWN);
	assert_int_equal(fixture->table.refused, 2);
	assert_false(fixture->table.wanted);
}

/* However many it lacks: with those its pages are walked further than without. */
static void there_is_room_for_the_last_ones_of_a_file(void **state)
{
	struct fixture *fixture = *state;

	for (int32_t i = 0; i < OF_FILE; i++) {
		assert_true(rule_table_has_room(&fixture->table, &fixture->files[0], 100));
		use(fixture, 0, i);
	}
	assert_false(rule_table_has_room(&fixture->table, &fixture->files[0], 100));
	assert_false(rule_table_has_room(&fixture->table, &fixture->files[0], 1));
	assert_true(rule_table_has_room(&fixture->table, &fixture->files[1], 100));
}

/* While another owner has all but what is kept for those that have less than their share. */
static void there_is_room_for_the_last_ones_of_an_owners_share(void **state)
{
	enum { OWNERS = 12, SHARE = ROOM / (OWNERS + 2) };
	struct fixture *fixture = *state;
	struct rule_uses small[OWNERS] = { 0 };

	for (size_t file = 0; file < FILES; file++)
		fixture->files[file].owner = (struct owner){ 1000, 0 };
	fill(fixture);
	assert_false(rule_table_has_room(&fixture->table, &fixture->files[FILES - 1], 100));
	for (uint32_t i = 0; i < OWNERS; i++) {
		struct unwind_rule rule = { .cfa = UNWIND_CFA_REGISTER, .cfa_offset = 10000 };

		small[i].owner = (struct owner){ 1001 + i, 0 };
		rule.cfa_offset += (int32_t)i;
		assert_true(rule_table_use(&fixture->table, &rule, &small[i]) >= FIRST);
	}
	for (int32_t i = 1; i < SHARE; i++) {
		struct unwind_rule rule = { .cfa = UNWIND_CFA_REGISTER, .cfa_offset = 20000 + i };

		assert_true(rule_table_has_room(&fixture->table, &small[0], 100));
		assert_true(rule_table_use(&fixture->table, &rule, &small[0]) >= FIRST);
	}
	assert_false(rule_table_has_room(&fixture->table, &small[0], 100));
	assert_true(rule_table_has_room(&fixture->table, &small[1], 100));
	for (size_t i = 0; i < OWNERS; i++)
		rule_table_release(&fixture->table, &small[i]);
}

static void those_no_file_has_make_room_after_a_while(void **state)
{
	struct fixture *fixture = *state;
	uint32_t kept, again;

	// Of two owners, the second of which has what is kept for it.
	fixture->files[FILES].owner = fixture->files[NEXT].owner = (struct owner){ 1000, 0 };
	fill(fixture);
	for (int32_t i = 0; i < ROOM - OF_ONE; i++)
		assert_true(use(fixture, FILES, 10000 + i) >= FIRST);
	kept = use(fixture, 1, OF_FILE + 7);
	assert_int_equal(use(fixture, 2, 0), UNWIND_RULE_UNKNOWN); // has as many as it may
	rule_table_release(&fixture->table, &fixture->files[0]);
	// Walks that have begun may still be at it.
	assert_int_equal(use(fixture, NEXT, -1), UNWIND_RULE_UNKNOWN);
	rule_table_next_round(&fixture->table);
	assert_int_equal(use(fixture, NEXT, -1), UNWIND_RULE_UNKNOWN);
	// One that is wanted again meanwhile is what it was.
	again = use(fixture, NEXT, 3);
	assert_true(again >= FIRST);
	rule_table_next_round(&fixture->table);
	assert_int_equal(fixture->table.taken_back, 0);
	for (int32_t i = 1; i < OF_FILE; i++)
		assert_true(use(fixture, NEXT, -i) >= FIRST);
	assert_int_equal(fixture->table.taken_back, OF_FILE - 1);
	assert_int_equal(use(fixture, NEXT, 3), again);
	assert_int_equal(use(fixture, 1, OF_FILE + 7), kept);
	for (size_t file = 1; file + 1 < FILES; file++)
		for (int32_t i = 0; i < OF_FILE; i++)
			assert_true(use(fixture, file, (int32_t)file * OF_FILE + i) >= FIRST);
}

/* As where new programs are built all day: the last one is walked as well as the first. */
static void it_goes_on_for_ever(void **state)
{
	struct fixture *fixture = *state;

	for (int32_t file = 0; file < 1000; file++) {
		size_t slot = (size_t)file % 4;

		rule_table_release(&fixture->table, &fixture->files[slot]);
		rule_table_next_round(&fixture->table);
		for (int32_t i = 0; i < OF_FILE; i++)
			assert_true(use(fixture, slot, file * OF_FILE + i) >= FIRST);
	}
	assert_int_equal(fixture->table.refused, 0);
}

/* However many files one owner has: others have room, and those with most are named. */
static void each_owner_has_a_share(void **state)
{
	struct fixture *fixture = *state;
	struct owner largest;

	for (size_t file = 0; file < FILES; file++)
		fixture->files[file].owner = (struct owner){ 1000, file };
	for (size_t i = 0; i < 4; i++)
		fixture->files[FILES + i].owner = (struct owner){ 1001 + i % 2, 0 };
	fill(fixture);
	assert_false(rule_table_largest(&fixture->table, &largest));
	for (int32_t i = 0; i < OF_FILE - 1; i++)
		assert_true(use(fixture, FILES, 10000 + i) >= FIRST);
	// What is kept has been used up: there will be more when files of the first let go.
	for (size_t i = 1; i < 4; i++) {
		assert_true(rule_table_largest(&fixture->table, &largest));
		assert_int_equal(largest.uid, 1000);
		assert_int_equal(rule_table_held(&fixture->table, &fixture->files[i], largest),
				 largest.container == i ? OF_FILE : 0);
		rule_table_release(&fixture->table, &fixture->files[largest.container]);
		rule_table_next_round(&fixture->table);
		rule_table_next_round(&fixture->table);
		for (int32_t j = 0; j < OF_FILE - 1; j++)
			assert_true(use(fixture, FILES + i, (int32_t)i * 1000 + 10000 + j) >=
				    FIRST);
	}
}

/* Who has the same as somebody else is not charged for it, nor is that one. */
static void what_two_owners_have_is_of_neither(void **state)
{
	const struct owner first = { 1000, 0 }, second = { 1001, 0 };
	struct fixture *fixture = *state;

	fixture->files[0].owner = first;
	fixture->files[1].owner = second;
	use(fixture, 0, 8);
	use(fixture, 0, 16);
	use(fixture, 1, 8);
	assert_int_equal(shares_of(&fixture->table.shares, first), 1);
	assert_int_equal(shares_of(&fixture->table.shares, second), 0);
	assert_int_equal(shares_of(&fixture->table.shares, OWNER_SHARED), 1);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(equal_ones_are_one),
		TEST(one_file_has_so_many_at_most),
		TEST(there_is_room_for_the_last_ones_of_a_file),
		TEST(there_is_room_for_the_last_ones_of_an_owners_share),
		TEST(those_no_file_has_make_room_after_a_while),
		TEST(it_goes_on_for_ever),
		TEST(each_owner_has_a_share),
		TEST(what_two_owners_have_is_of_neither),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
