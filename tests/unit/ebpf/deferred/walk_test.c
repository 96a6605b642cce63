// SPDX-License-Identifier: Apache-2.0
/* Walks that go on in user space, by a copy of the stack that may be anything. */
#include "deferred/walk.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

enum { WORDS = 64, MOST = 32 };

static const uint64_t STACK = 0x7ffc00001000;

/* CFA = sp + 8 @depth, the frame pointer saved in slot @slot (bpf/unwind_tables.h). */
static uint32_t by_sp(uint32_t depth, uint32_t slot)
{
	return UNWIND_PACKED_SP | depth << 5 | slot;
}

static uint32_t by_fp(uint32_t depth, uint32_t slot)
{
	return UNWIND_PACKED_FP | depth << 5 | slot;
}

/* Code, of which each piece of 0x100 bytes has one rule. */
struct piece {
	uint64_t start;
	uint32_t rule;
	enum tables_found found;
};

/* Frames of a file are told as these bits and the address. */
#define IN_FILE (UNWIND_FRAME_FILE | 1ull << UNWIND_FRAME_SHIFT)

struct fixture {
	struct piece pieces[8];
	size_t piece_count;
	uint64_t frame_base;         /* of frames, beside the address */
	struct unwind_rule rules[4]; /* from number 2 on */
	struct {
		struct sample_deferred from;
		uint64_t words[WORDS];
	} copy;
	uint64_t frames[MOST];
	struct walk_result result;
};

static enum tables_found find(void *context, uint64_t address, struct tables_code *ret)
{
	const struct fixture *fixture = context;

	for (size_t i = 0; i < fixture->piece_count; i++) {
		const struct piece *piece = &fixture->pieces[i];

		if (address - piece->start >= 0x100)
			continue;
		*ret = (struct tables_code){ .frame = fixture->frame_base | address,
					     .rule = piece->rule };
		return piece->found;
	}
	return TABLES_NO_CODE;
}

static const struct unwind_rule *rule_of(void *context, uint32_t number)
{
	const struct fixture *fixture = context;

	return number >= 2 && number < 6 ? &fixture->rules[number - 2] : NULL;
}

static void add(struct fixture *fixture, uint64_t start, uint32_t rule)
{
	fixture->pieces[fixture->piece_count++] =
		(struct piece){ .start = start, .rule = rule, .found = TABLES_FOUND };
}

static struct fixture begin(uint64_t pc)
{
	return (struct fixture){
		.copy.from = { .pc = pc,
			       .sp = STACK,
			       .stack = STACK,
			       .flags = SAMPLE_DEFERRED_EXACT | SAMPLE_DEFERRED_FIRST },
	};
}

static void walk(struct fixture *fixture, size_t words, bool is_whole, uint32_t most)
{
	struct walk_tables tables = { find, rule_of, fixture };

	fixture->result = walk_finish(&fixture->copy.from, words * sizeof(uint64_t), is_whole,
				      &tables, fixture->frames, most);
}

static void a_stack_is_walked_to_its_entry(void **state)
{
	struct fixture fixture = begin(0x1010);

	(void)state;
	add(&fixture, 0x1000, by_sp(2, 1)); // leaf: fp saved just below the return address
	add(&fixture, 0x2000, by_fp(2, 1)); // its caller, by the frame pointer
	add(&fixture, 0x3000, UNWIND_RULE_END);
	fixture.copy.words[0] = STACK + 8 * 4;
	fixture.copy.words[1] = 0x2020;
	fixture.copy.words[4] = 0;
	fixture.copy.words[5] = 0x3030;
	walk(&fixture, 8, true, MOST);
	assert_int_equal(fixture.result.end, UNWIND_END_ENTRY);
	assert_int_equal(fixture.result.found, TABLES_FOUND);
	assert_int_equal(fixture.result.count, 3);
	assert_int_equal(fixture.frames[0], 0x1010); // where execution stood
	assert_int_equal(fixture.frames[1], 0x201f); // the call before the return address
	assert_int_equal(fixture.frames[2], 0x302f);
}

/* Behind pop %rbp, where tables still say that it lies there, and ret is next. */
static void a_leafs_frame_pointer_may_lie_below_the_stack_pointer(void **state)
{
	struct fixture fixture = begin(0x1010);

	(void)state;
	add(&fixture, 0x1000, by_sp(1, 1));
	add(&fixture, 0x2000, by_fp(2, 1));
	add(&fixture, 0x3000, UNWIND_RULE_END);
	fixture.copy.from.sp = STACK + 8 * 2;
	fixture.copy.words[1] = STACK + 8 * 4;
	fixture.copy.words[2] = 0x2020;
	fixture.copy.words[5] = 0x3030;
	walk(&fixture, 8, true, MOST);
	assert_int_equal(fixture.result.end, UNWIND_END_ENTRY);
	assert_int_equal(fixture.result.count, 3);
	assert_int_equal(fixture.frames[2], 0x302f);
}

static void rules_of_the_first_frame_know_all_registers(void **state)
{
	struct fixture fixture = begin(0x1010);

	(void)state;
	add(&fixture, 0x1000, 2);
	add(&fixture, 0x2000, 2);
	fixture.rules[0] = (struct unwind_rule){ .cfa = UNWIND_CFA_REGISTER,
						 .cfa_register = 10,
						 .cfa_offset = 16,
						 .ra = UNWIND_AT_CFA,
						 .ra_offset = -8 };
	fixture.copy.from.registers[10] = STACK + 16;
	fixture.copy.words[3] = 0x2020;
	walk(&fixture, 8, true, MOST);
	assert_int_equal(fixture.result.count, 2);
	assert_int_equal(fixture.frames[1], 0x201f);
	// Of a caller's, nobody knows that register.
	assert_int_equal(fixture.result.end, UNWIND_END_UNSUPPORTED);
}

static void what_is_missing_of_the_code_is_said(void **state)
{
	struct fixture fixture = begin(0x1010);

	(void)state;
	add(&fixture, 0x1000, by_sp(1, 0));
	add(&fixture, 0x2000, by_sp(1, 0));
	fixture.pieces[1].found = TABLES_NO_PAGE;
	fixture.copy.words[0] = 0x2020;
	walk(&fixture, 8, true, MOST);
	assert_int_equal(fixture.result.end, UNWIND_END_NO_PAGE);
	assert_int_equal(fixture.result.found, TABLES_NO_PAGE);
	assert_int_equal(fixture.result.count, 2); // the place is told
	fixture.pieces[1].found = TABLES_FOUND;
	fixture.copy.words[1] = 0x9999000;
	walk(&fixture, 8, true, MOST);
	assert_int_equal(fixture.result.end, UNWIND_END_NO_MAPPING);
	assert_int_equal(fixture.result.found, TABLES_NO_CODE);
	assert_false(fixture.result.guessed);
	assert_int_equal(fixture.result.count, 2); // data that led nowhere is no frame
}

static void code_without_a_table_goes_by_frame_pointers(void **state)
{
	struct fixture fixture = begin(0x1010);

	(void)state;
	add(&fixture, 0x1000, UNWIND_RULE_UNKNOWN);
	fixture.copy.from.fp = STACK + 8 * 2;
	fixture.copy.words[2] = STACK + 8 * 6;
	fixture.copy.words[3] = 0x9999000;
	walk(&fixture, 8, true, MOST);
	assert_int_equal(fixture.result.end, UNWIND_END_NO_MAPPING);
	assert_true(fixture.result.guessed);
	fixture.copy.from.fp = STACK + 3; // leads nowhere
	walk(&fixture, 8, true, MOST);
	assert_int_equal(fixture.result.end, UNWIND_END_BAD_POINTER);
}

/* Code of a file without a table need not have a frame: the frame pointer may be a caller's. */
static void a_guess_at_the_leaf_is_marked(void **state)
{
	struct fixture fixture = begin(0x1010);

	(void)state;
	add(&fixture, 0x1000, UNWIND_RULE_UNKNOWN);
	fixture.frame_base = IN_FILE;
	fixture.copy.from.fp = STACK + 8 * 2;
	fixture.copy.words[2] = 0;
	fixture.copy.words[3] = 0;
	walk(&fixture, 8, true, MOST);
	assert_int_equal(fixture.result.end, UNWIND_END_GUESSED);
	assert_true(fixture.result.marked);
	// A caller without a table either: the file was compiled so, with frame pointers.
	fixture.copy.words[2] = STACK + 8 * 5;
	fixture.copy.words[3] = 0x1020;
	fixture.copy.words[5] = fixture.copy.words[6] = 0;
	walk(&fixture, 8, true, MOST);
	assert_int_equal(fixture.result.end, UNWIND_END_ENTRY);
	assert_int_equal(fixture.result.count, 2);
	assert_false(fixture.result.marked);
	fixture.copy.words[2] = fixture.copy.words[3] = 0;
	// What the kernel side has marked stays so.
	fixture.frame_base = 0;
	fixture.copy.from.flags |= SAMPLE_DEFERRED_MARKED;
	walk(&fixture, 8, true, MOST);
	assert_int_equal(fixture.result.end, UNWIND_END_GUESSED);
	fixture.copy.from.flags &= ~(uint32_t)SAMPLE_DEFERRED_MARKED;
	walk(&fixture, 8, true, MOST);
	assert_int_equal(fixture.result.end, UNWIND_END_ENTRY);
	assert_false(fixture.result.marked);
}

/* The kernel side has looked at the code of the leaf: its frame is not there yet, or no more. */
static void the_caller_of_a_leaf_without_its_frame_is_not_left_out(void **state)
{
	static const struct {
		uint64_t words[2];
		uint64_t frame_base;
		uint32_t flags;
	} cases[] = {
		{ { 0x2020, 0x4444 }, 0, UNWIND_FRAME_NONE << SAMPLE_DEFERRED_FRAME_SHIFT },
		{ { STACK + 8 * 4, 0x2020 },
		  0,
		  UNWIND_FRAME_PUSHED << SAMPLE_DEFERRED_FRAME_SHIFT },
		{ { 0x2020, 0x4444 }, IN_FILE, SAMPLE_DEFERRED_CALLED },
		{ { 0x2020, 0x4444 }, IN_FILE, UNWIND_FRAME_NONE << SAMPLE_DEFERRED_FRAME_SHIFT },
		{ { STACK + 8 * 4, 0x2020 },
		  IN_FILE,
		  UNWIND_FRAME_PUSHED << SAMPLE_DEFERRED_FRAME_SHIFT },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct fixture fixture = begin(0x1010);

		add(&fixture, 0x1000, UNWIND_RULE_UNKNOWN);
		add(&fixture, 0x2000, by_fp(2, 1));
		add(&fixture, 0x3000, UNWIND_RULE_END);
		fixture.frame_base = cases[i].frame_base;
		fixture.copy.from.flags |= cases[i].flags;
		fixture.copy.from.fp = STACK + 8 * 4;
		memcpy(fixture.copy.words, cases[i].words, sizeof(cases[i].words));
		fixture.copy.words[5] = 0x3030;
		walk(&fixture, 8, true, MOST);
		assert_int_equal(fixture.result.end, UNWIND_END_ENTRY);
		assert_int_equal(fixture.result.count, 3);
		assert_int_equal(fixture.frames[1], cases[i].frame_base | 0x201f);
		assert_false(fixture.result.marked);
	}
}

/* The leaf has pushed another word than the frame pointer, so that no frame begins there. */
static void a_push_of_something_else_makes_no_frame(void **state)
{
	struct fixture fixture = begin(0x1010);

	(void)state;
	add(&fixture, 0x1000, UNWIND_RULE_UNKNOWN);
	add(&fixture, 0x2000, by_fp(2, 1));
	add(&fixture, 0x3000, UNWIND_RULE_END);
	fixture.frame_base = IN_FILE;
	fixture.copy.from.flags |= UNWIND_FRAME_PUSHED << SAMPLE_DEFERRED_FRAME_SHIFT;
	fixture.copy.from.fp = STACK + 8 * 4;
	fixture.copy.words[0] = 0x7777; // not it
	fixture.copy.words[1] = 0x2020;
	fixture.copy.words[5] = 0x3030;
	walk(&fixture, 8, true, MOST);
	assert_int_equal(fixture.result.end, UNWIND_END_GUESSED);
	assert_true(fixture.result.marked);
}

/* Nobody has looked at the code of its leaf: the next walk is the kernel side's. */
static void a_guess_in_a_copied_stack_stays_one(void **state)
{
	struct fixture fixture = begin(0x1010);

	(void)state;
	add(&fixture, 0x1000, UNWIND_RULE_UNKNOWN);
	fixture.frame_base = IN_FILE;
	fixture.copy.from.flags |= SAMPLE_DEFERRED_WHOLE;
	fixture.copy.from.fp = STACK + 8 * 2;
	fixture.copy.words[2] = STACK + 8 * 5;
	fixture.copy.words[3] = 0x1020; // without a table either
	walk(&fixture, 8, true, MOST);
	assert_int_equal(fixture.result.end, UNWIND_END_GUESSED);
	assert_int_equal(fixture.result.count, 2);
}

static void what_only_the_process_knows_ends_the_walk(void **state)
{
	struct fixture fixture = begin(0x1010);

	(void)state;
	add(&fixture, 0x1000, UNWIND_RULE_UNKNOWN);
	fixture.pieces[0].found = TABLES_IN_PROCESS;
	fixture.copy.from.fp = STACK + 8 * 2; // which would lead on
	fixture.copy.words[2] = STACK + 8 * 6;
	fixture.copy.words[3] = 0x1010;
	walk(&fixture, 8, true, MOST);
	assert_int_equal(fixture.result.count, 1);
	assert_int_equal(fixture.result.end, UNWIND_END_UNREADABLE);
	assert_int_equal(fixture.result.found, TABLES_IN_PROCESS);
}

static void only_the_copy_is_read(void **state)
{
	struct fixture fixture = begin(0x1010);

	(void)state;
	add(&fixture, 0x1000, by_sp(9, 0));
	walk(&fixture, 8, false, MOST); // the return address lies one word beyond
	assert_int_equal(fixture.result.end, UNWIND_END_NOT_COPIED);
	walk(&fixture, 8, true, MOST);
	assert_int_equal(fixture.result.end, UNWIND_END_UNREADABLE);
	walk(&fixture, 0, true, MOST);
	assert_int_equal(fixture.result.end, UNWIND_END_UNREADABLE);
	// Another stack.
	fixture.pieces[0].rule = by_fp(2, 0);
	fixture.copy.from.fp = STACK - (1 << 20);
	walk(&fixture, 8, true, MOST);
	assert_int_equal(fixture.result.end, UNWIND_END_NOT_COPIED);
	// At the end of the address space.
	fixture.copy.from.fp = UINT64_MAX - 7;
	walk(&fixture, 8, true, MOST);
	assert_int_not_equal(fixture.result.end, UNWIND_END_ENTRY);
}

static void a_word_that_only_begins_in_the_copy_is_not_read(void **state)
{
	struct fixture fixture = begin(0x1010);

	(void)state;
	add(&fixture, 0x1000, by_fp(2, 0));
	// The return address, at fp + 8, would be the last four bytes and four more.
	fixture.copy.from.fp = STACK + 8 * 7 - 4;
	walk(&fixture, 8, true, MOST);
	assert_int_equal(fixture.result.count, 1);
	assert_int_equal(fixture.result.end, UNWIND_END_UNREADABLE);
}

static void the_depth_is_bounded(void **state)
{
	struct fixture fixture = begin(0x1010);

	(void)state;
	add(&fixture, 0x1000, by_sp(1, 0)); // calls itself
	for (size_t i = 0; i < WORDS; i++)
		fixture.copy.words[i] = 0x1010;
	walk(&fixture, WORDS, true, 5);
	assert_int_equal(fixture.result.count, 5);
	assert_int_equal(fixture.result.end, UNWIND_END_DEPTH);
	walk(&fixture, WORDS, true, 0);
	assert_int_equal(fixture.result.count, 0);
}

static void a_stack_that_does_not_grow_ends(void **state)
{
	struct fixture fixture = begin(0x1010);

	(void)state;
	add(&fixture, 0x1000, by_fp(2, 1));
	fixture.copy.from.fp = STACK + 16;
	fixture.copy.words[2] = STACK + 16; // the caller's frame pointer is the same
	fixture.copy.words[3] = 0x1010;
	walk(&fixture, 8, true, MOST);
	assert_int_equal(fixture.result.end, UNWIND_END_BAD_CFA);
	assert_int_equal(fixture.result.count, 2);
}

static void a_rule_that_is_not_there_ends(void **state)
{
	struct fixture fixture = begin(0x1010);

	(void)state;
	add(&fixture, 0x1000, 4000);
	walk(&fixture, 8, true, MOST);
	assert_int_equal(fixture.result.end, UNWIND_END_BROKEN_TABLE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_stack_is_walked_to_its_entry),
		cmocka_unit_test(a_leafs_frame_pointer_may_lie_below_the_stack_pointer),
		cmocka_unit_test(rules_of_the_first_frame_know_all_registers),
		cmocka_unit_test(what_is_missing_of_the_code_is_said),
		cmocka_unit_test(code_without_a_table_goes_by_frame_pointers),
		cmocka_unit_test(a_guess_at_the_leaf_is_marked),
		cmocka_unit_test(the_caller_of_a_leaf_without_its_frame_is_not_left_out),
		cmocka_unit_test(a_push_of_something_else_makes_no_frame),
		cmocka_unit_test(a_guess_in_a_copied_stack_stays_one),
		cmocka_unit_test(what_only_the_process_knows_ends_the_walk),
		cmocka_unit_test(only_the_copy_is_read),
		cmocka_unit_test(a_word_that_only_begins_in_the_copy_is_not_read),
		cmocka_unit_test(the_depth_is_bounded),
		cmocka_unit_test(a_stack_that_does_not_grow_ends),
		cmocka_unit_test(a_rule_that_is_not_there_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
