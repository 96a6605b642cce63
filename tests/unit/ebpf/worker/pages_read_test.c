// SPDX-License-Identifier: Apache-2.0
#include "promises.h"

#include "receiver/ebpf/runtimes/go/labels.h"
#include "receiver/ebpf/runtimes/hotspot/hotspot.h"
#include "receiver/ebpf/worker/answer.h"

#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum { ROWS = UNWIND_BLOCKS + 2, FIRST_PAGE = 1, LAST_PAGE = 3 };

static const char text[8] = "\0abcd\0g";
enum { GNU = 1, GO = 6 };

struct contents {
	uint16_t first[UNWIND_BLOCKS + 2];
	uint32_t rows[ROWS];
};

/* A sound answer about two of three pages, to be broken by each test. */
struct body {
	struct protocol_facts facts;
	struct worker_segment segment;
	struct protocol_tables tables;
	struct protocol_page pages[2];
	struct unwind_rule rules[2];
	struct contents contents[2];
	char text[sizeof(text)];
	char spare[8];
};

enum { BODY_BYTES = offsetof(struct body, spare) };

static const uint64_t asked[2] = { FIRST_PAGE, LAST_PAGE };

/* The first block has three rows; all others have one. */
static struct contents contents_make(void)
{
	struct contents contents = { 0 };

	for (uint16_t i = 1; i <= UNWIND_BLOCKS; i++)
		contents.first[i] = i + 2;
	contents.rows[1] = 0x10 | UNWIND_RULE_END << 16;
	contents.rows[2] = 0xff | PAGE_ROW_NO_CALL | WORKER_FIRST_RULE << 16;
	contents.rows[3] = (WORKER_FIRST_RULE + 1) << 16;
	return contents;
}

/* The first block has a row less; the last of all is in none. */
static void contents_shift(struct contents *contents)
{
	for (size_t i = 1; i <= UNWIND_BLOCKS; i++)
		contents->first[i]--;
}

static struct body body_make(void)
{
	struct body body = {
		.facts = { .htlhash = "0123456789abcdef0123456789abcdef",
			   .segment_count = 1,
			   .text_bytes = sizeof(text),
			   .build_id_gnu = GNU,
			   .build_id_go = GO,
			   .tables_bytes =
				   offsetof(struct body, text) - offsetof(struct body, tables) },
		.segment = { .file_offset = 0x1000,
			     .file_bytes = 0x20001,
			     .address = 0x1fff0,
			     .memory_bytes = 0x20001,
			     .executable = 1 },
		.tables = { .has_tables = 1, .page_count = 2, .rule_count = 2 },
		.pages = { { FIRST_PAGE, ROWS }, { LAST_PAGE, ROWS } },
		.rules = { { .cfa = UNWIND_CFA_DEREFERENCED, .signal = 1 },
			   { .cfa = UNWIND_CFA_UNSUPPORTED, .unsupported = UNWIND_RANGE } },
		.contents = { contents_make(), contents_make() },
	};

	memcpy(body.text, text, sizeof(text));
	return body;
}

static bool body_read(struct body *body, const uint64_t *wanted, size_t wanted_count,
		      struct worker_page pages[WORKER_MAX_PAGES], struct worker_answer *ret)
{
	return answer_read_pages(body, BODY_BYTES, wanted, wanted_count, pages, ret);
}

static void test_a_sound_answer_is_taken(void **state)
{
	struct worker_page pages[WORKER_MAX_PAGES];
	struct body body = body_make();
	struct worker_answer answer;

	(void)state;
	assert_true(body_read(&body, asked, 2, pages, &answer));
	assert_int_equal(answer.outcome, WORKER_ANSWERED);
	assert_string_equal(answer.build_id_gnu, "abcd");
	assert_true(answer.has_tables);
	assert_int_equal(answer.page_first, FIRST_PAGE);
	assert_int_equal(answer.page_limit, LAST_PAGE + 1);
	assert_int_equal(answer.page_count, 2);
	assert_int_equal(answer.pages_failed, 0);
	assert_int_equal(answer.pages[1].number, LAST_PAGE);
	assert_int_equal(answer.pages[1].rows[1], 0x10010);
	assert_int_equal(answer.rule_count, 2);
	assert_int_equal(answer.rules[0].signal, 1);
}

static void test_what_is_missing_is_said_to_be(void **state)
{
	static const uint64_t three[3] = { FIRST_PAGE, 2, LAST_PAGE };
	struct worker_page pages[WORKER_MAX_PAGES];
	struct body body = body_make();
	struct worker_answer answer;

	(void)state;
	// Of three, two came; of all of a small file, too.
	assert_false(body_read(&body, three, 3, pages, &answer));
	assert_false(body_read(&body, NULL, 0, pages, &answer));
	body.tables.pages_failed = 1;
	assert_true(body_read(&body, three, 3, pages, &answer));
	assert_int_equal(answer.pages_failed, 1);
	assert_true(body_read(&body, NULL, 0, pages, &answer));
	assert_false(body_read(&body, asked, 2, pages, &answer));
	assert_false(body_read(&body, asked, 1, pages, &answer));
}

/* Each statement breaks one thing. */
#define REFUSED(statement)                                                                         \
	do {                                                                                       \
		struct worker_page pages[WORKER_MAX_PAGES];                                        \
		struct body body = body_make();                                                    \
		struct worker_answer answer;                                                       \
                                                                                                   \
		statement;                                                                         \
		if (body_read(&body, asked, 2, pages, &answer))                                    \
			fail_msg("accepted: %s", #statement);                                      \
	} while (0)

static void test_broken_heads_are_refused(void **state)
{
	(void)state;
	REFUSED(body.facts.tables_bytes = 0);
	REFUSED(body.facts.tables_bytes -= 4);
	REFUSED(body.facts.tables_bytes = UINT32_MAX);
	REFUSED(body.facts.range_count = 1);
	REFUSED(body.facts.partial = 1);
	REFUSED(body.facts.htlhash[3] = 'g');
	REFUSED(body.facts.build_id_go = sizeof(text));
	REFUSED(body.segment.executable = 0);
	REFUSED(body.segment.address += 0x10000);
	REFUSED(body.segment.file_bytes = 0);
	REFUSED(body.segment.address = 0xffffffff0000);
	REFUSED(body.text[0] = 'x');
	REFUSED(body.tables.has_tables = 0);
	REFUSED(body.tables.has_tables = 2);
	REFUSED(body.tables.page_count = 1);
	REFUSED(body.tables.page_count = 3);
	REFUSED(body.tables.page_count = UINT32_MAX);
	REFUSED(body.tables.pages_failed = 1);
	REFUSED(body.tables.rule_count = 1);
	REFUSED(body.tables.rule_count = 3);
	REFUSED(body.tables.rule_count = UINT32_MAX);
	REFUSED(body.pages[0].number = 0);
	REFUSED(body.pages[0].number = 2);
	REFUSED(body.pages[0].number = LAST_PAGE);
	REFUSED(body.pages[1].number = FIRST_PAGE);
	REFUSED(body.pages[1].number = LAST_PAGE + 1);
	REFUSED(body.pages[0].row_count--);
	REFUSED(body.pages[1].row_count++);
	REFUSED(body.pages[1].row_count = UINT32_MAX);
	REFUSED(body.pages[0].row_count = PAGE_MAX_ROWS + 1);
}

static void test_broken_pages_are_refused(void **state)
{
	(void)state;
	REFUSED(body.contents[0].first[0] = 1);
	REFUSED(body.contents[0].first[1] = 0);
	REFUSED(body.contents[0].first[2] = 3);
	REFUSED(body.contents[0].first[9] = 10);
	REFUSED(body.contents[0].first[9] = UINT16_MAX);
	REFUSED(body.contents[0].first[UNWIND_BLOCKS]--);
	REFUSED(body.contents[0].first[UNWIND_BLOCKS]++);
	REFUSED(body.contents[1].first[UNWIND_BLOCKS + 1] = 1);
	// Sound but for a row before the first block, one behind the last, and a block without.
	REFUSED((body.contents[0].first[0] = 1, body.contents[0].rows[1] = 0));
	REFUSED((contents_shift(&body.contents[0]), body.contents[0].rows[2] = 0));
	REFUSED((body.contents[0].first[2] = 3, body.contents[0].rows[4] = 1));
	REFUSED(body.contents[1].rows[0] = 1);
	REFUSED(body.contents[1].rows[1] = 0);
	REFUSED(body.contents[1].rows[1] = 0xff);
	REFUSED(body.contents[1].rows[2] = 0x10);
	REFUSED(body.contents[1].rows[3] = 4);
	REFUSED(body.contents[1].rows[4] = 0x200);
	REFUSED(body.contents[1].rows[4] = 0x8000);
	REFUSED(body.contents[1].rows[4] = (WORKER_FIRST_RULE + 2) << 16);
	REFUSED(body.contents[1].rows[4] = 0x3fffu << 16);
	// Depth 0 of a packed rule.
	REFUSED(body.contents[1].rows[4] = 0x8000u << 16);
	REFUSED(body.contents[1].rows[4] = 0x801fu << 16);
	REFUSED(body.contents[1].rows[4] = 0x4000u << 16);
	REFUSED(body.contents[1].rows[4] = 0x401fu << 16);
}

static void test_packed_rules_are_those_of_amd64(void **state)
{
	static const uint32_t packed[] = { 0x8020, 0xffff, 0xc020, 0x4020, 0x7fff };
	struct worker_page pages[WORKER_MAX_PAGES];
	struct worker_answer answer;

	(void)state;
	for (size_t i = 0; i < sizeof(packed) / sizeof(packed[0]); i++) {
		struct body body = body_make();

		body.contents[0].rows[0] = packed[i] << 16;
		assert_int_equal(body_read(&body, asked, 2, pages, &answer),
				 IMAGE_MACHINE == EM_X86_64);
	}
}

static void test_broken_rules_are_refused(void **state)
{
	(void)state;
	REFUSED(body.rules[0].cfa = UNWIND_CFA_UNKNOWN);
	REFUSED(body.rules[0].cfa = UNWIND_CFA_END);
	REFUSED(body.rules[0].cfa = UNWIND_CFA_UNSUPPORTED + 1);
	REFUSED(body.rules[1].ra = UNWIND_LOST + 1);
	REFUSED(body.rules[1].fp = UNWIND_LOST + 1);
	REFUSED(body.rules[1].signal = 3);
	REFUSED(body.rules[1].stack_switch = 2);
	REFUSED(body.rules[1].unsupported = UNWIND_UNSUPPORTED_COUNT);
	REFUSED(body.rules[1].new_thread = 2);
}

static void test_answers_of_the_other_kind_are_refused(void **state)
{
	static const uint64_t offset = 0x800; // in no segment
	struct worker_page pages[WORKER_MAX_PAGES];
	struct body body = body_make();
	struct worker_answer answer;

	(void)state;
	assert_false(answer_read(&body, BODY_BYTES, &offset, 1, &answer));
	body.facts.tables_bytes = 0;
	memcpy(&body.tables, text, sizeof(text));
	assert_true(answer_read(&body, offsetof(struct body, tables) + sizeof(text), &offset, 1,
				&answer));
	assert_false(answer_read_pages(&body, offsetof(struct body, tables) + sizeof(text), asked,
				       2, pages, &answer));
}

static void test_every_cut_is_refused(void **state)
{
	struct worker_page pages[WORKER_MAX_PAGES];
	struct worker_answer answer;

	(void)state;
	for (size_t bytes = 0; bytes < BODY_BYTES; bytes++) {
		struct body body = body_make();

		assert_false(answer_read_pages(&body, bytes, asked, 2, pages, &answer));
	}
}

/* An answer with these tables, in memory that ends where it ends. Is it taken? */
static bool tables_are_taken(const void *tables, size_t bytes, const struct worker_segment *segment,
			     const uint64_t *wanted, size_t wanted_count)
{
	size_t before = offsetof(struct body, tables), total = before + bytes + sizeof(text);
	CLEANUP_FREE uint8_t *answer_body = malloc(total);
	struct worker_page pages[WORKER_MAX_PAGES];
	struct body body = body_make();
	struct worker_answer answer;

	body.facts.tables_bytes = (uint32_t)bytes;
	body.segment = *segment;
	memcpy(answer_body, &body, before);
	memcpy(answer_body + before, tables, bytes);
	memcpy(answer_body + before + bytes, text, sizeof(text));
	return answer_read_pages(answer_body, total, wanted, wanted_count, pages, &answer);
}

static void test_tables_end_where_they_say(void **state)
{
	struct body body = body_make();
	size_t whole = offsetof(struct body, text) - offsetof(struct body, tables);
	CLEANUP_FREE uint8_t *tables = calloc(1, whole + 4);

	(void)state;
	memcpy(tables, &body.tables, whole);
	for (size_t bytes = 0; bytes < whole; bytes += 4)
		assert_false(tables_are_taken(tables, bytes, &body.segment, asked, 2));
	assert_true(tables_are_taken(tables, whole, &body.segment, asked, 2));
	assert_false(tables_are_taken(tables, whole + 4, &body.segment, asked, 2));
}

static void test_pages_are_of_the_text(void **state)
{
	static const uint64_t behind[2] = { FIRST_PAGE, LAST_PAGE + 1 };
	struct protocol_tables nothing = { .has_tables = 1, .pages_failed = 2 };
	struct worker_page pages[WORKER_MAX_PAGES];
	struct body body = body_make();
	struct worker_answer answer;

	(void)state;
	body.pages[1].number = LAST_PAGE + 1;
	assert_false(body_read(&body, behind, 2, pages, &answer));
	assert_true(tables_are_taken(&nothing, sizeof(nothing), &body.segment, asked, 2));
	body.segment.executable = 0;
	assert_false(tables_are_taken(&nothing, sizeof(nothing), &body.segment, asked, 2));
	nothing = (struct protocol_tables){ 0 };
	assert_true(tables_are_taken(&nothing, sizeof(nothing), &body.segment, asked, 2));
}

/* An answer with one page of @row_count rows, and that many rules. */
static bool is_taken(uint32_t row_count, uint32_t rule_count)
{
	struct {
		struct protocol_tables tables;
		struct protocol_page page;
	} head = { { .has_tables = 1, .page_count = 1, .rule_count = rule_count },
		   { FIRST_PAGE, row_count } };
	const struct unwind_rule rule = { .cfa = UNWIND_CFA_REGISTER };
	size_t rules = rule_count * sizeof(rule), at = sizeof(head) + rules;
	size_t bytes = at + PAGE_HEAD_BYTES + row_count * sizeof(uint32_t);
	CLEANUP_FREE uint8_t *tables = calloc(1, bytes);
	const struct worker_segment segment = body_make().segment;
	uint16_t *first = (uint16_t *)(tables + at);
	uint32_t *rows = (uint32_t *)(tables + at + PAGE_HEAD_BYTES);

	memcpy(tables, &head, sizeof(head));
	for (size_t i = 0; i < rule_count; i++)
		memcpy(tables + sizeof(head) + i * sizeof(rule), &rule, sizeof(rule));
	for (uint32_t block = 0; block < UNWIND_BLOCKS; block++) {
		first[block] = (uint16_t)(block * row_count / UNWIND_BLOCKS);
		first[block + 1] = (uint16_t)((block + 1) * row_count / UNWIND_BLOCKS);
		for (uint32_t i = first[block]; i < first[block + 1]; i++)
			rows[i] = i - first[block];
	}
	return tables_are_taken(tables, bytes, &segment, asked, 1);
}

static void test_pages_and_rules_are_bounded(void **state)
{
	(void)state;
	assert_true(is_taken(PAGE_MAX_ROWS, PROTOCOL_MAX_RULES));
	assert_false(is_taken(PAGE_MAX_ROWS + 1, 0));
	assert_false(is_taken(UNWIND_BLOCKS, PROTOCOL_MAX_RULES + 1));
	assert_false(is_taken(UNWIND_BLOCKS - 1, 0));
}

/* A sound answer about a file of two runtimes; the pages that were asked for have failed. */
struct runtime_body {
	struct protocol_facts facts;
	struct worker_segment segment;
	struct protocol_tables tables;
	struct said {
		struct protocol_runtime hotspot;
		struct hotspot_layout layout;
		struct protocol_runtime go;
		struct go_layout go_layout;
	} said;
	char text[sizeof(text)];
};

static struct runtime_body runtime_body_make(void)
{
	struct body other = body_make();
	struct runtime_body body = {
		.facts = other.facts,
		.segment = other.segment,
		.tables = { .has_tables = 1, .runtime_count = 2, .pages_failed = 2 },
		.said = {
			.hotspot = { RUNTIME_HOTSPOT, sizeof(struct hotspot_layout) },
			.layout = { .block_bytes = 16, .code_bytes = 8, .complete_bytes = 4 },
			.go = { RUNTIME_GO, sizeof(struct go_layout) },
			.go_layout = { .version = "go1.22.1" },
		},
	};

	body.facts.tables_bytes = sizeof(body.tables) + sizeof(body.said);
	for (size_t i = 0; i < HOTSPOT_WORDS; i++)
		body.said.layout.words[i] = 0x1000 + 8 * i;
	memcpy(body.text, text, sizeof(text));
	return body;
}

static bool runtime_body_read(struct runtime_body *body, struct worker_answer *ret)
{
	struct worker_page pages[WORKER_MAX_PAGES];

	return answer_read_pages(body, sizeof(*body), asked, 2, pages, ret);
}

static void test_what_is_said_of_runtimes_is_taken(void **state)
{
	struct runtime_body body = runtime_body_make();
	struct body other = body_make();
	struct worker_page pages[WORKER_MAX_PAGES];
	struct worker_answer answer;

	(void)state;
	assert_true(runtime_body_read(&body, &answer));
	assert_int_equal(answer.runtime_count, 2);
	assert_int_equal(answer.runtimes[0].runtime->number, RUNTIME_HOTSPOT);
	assert_ptr_equal(answer.runtimes[0].layout, &body.said.layout);
	assert_int_equal(answer.runtimes[1].runtime->number, RUNTIME_GO);
	// A file may have that and no rules.
	body.tables = (struct protocol_tables){ .runtime_count = 2 };
	assert_true(runtime_body_read(&body, &answer));
	assert_int_equal(answer.runtime_count, 2);
	assert_true(body_read(&other, asked, 2, pages, &answer));
	assert_int_equal(answer.runtime_count, 0);
}

/* As a part of an answer with pages and rules, which come behind it. */
static void test_pages_follow_what_is_said_of_runtimes(void **state)
{
	struct runtime_body runtime = runtime_body_make();
	struct body body = body_make();
	struct {
		struct body before; // up to its pages
		struct said room;
	} both = { .before = body };
	size_t at = offsetof(struct body, pages), bytes = BODY_BYTES + sizeof(runtime.said);
	struct worker_page pages[WORKER_MAX_PAGES];
	struct worker_answer answer;

	(void)state;
	both.before.tables.runtime_count = 2;
	both.before.facts.tables_bytes += sizeof(runtime.said);
	memcpy((char *)&both + at, &runtime.said, sizeof(runtime.said));
	memcpy((char *)&both + at + sizeof(runtime.said), body.pages, BODY_BYTES - at);
	assert_true(answer_read_pages(&both, bytes, asked, 2, pages, &answer));
	assert_int_equal(answer.runtime_count, 2);
	assert_int_equal(answer.pages[1].number, LAST_PAGE);
	assert_int_equal(answer.rules[0].signal, 1);
	assert_null(promises_of_pages(&(struct promised){ &answer, &both, bytes, asked, 2 }));
}

#define RUNTIME_REFUSED(statement)                                                                 \
	do {                                                                                       \
		struct runtime_body body = runtime_body_make();                                    \
		struct worker_answer answer;                                                       \
                                                                                                   \
		statement;                                                                         \
		if (runtime_body_read(&body, &answer))                                             \
			fail_msg("accepted: %s", #statement);                                      \
	} while (0)

static void test_what_cannot_be_said_of_runtimes_is_refused(void **state)
{
	(void)state;
	RUNTIME_REFUSED(body.tables.runtime_count = 0);
	RUNTIME_REFUSED(body.tables.runtime_count = 1);
	RUNTIME_REFUSED(body.tables.runtime_count = 3);
	RUNTIME_REFUSED(body.tables.runtime_count = WORKER_MAX_RUNTIMES + 1);
	RUNTIME_REFUSED(body.tables.runtime_count = UINT16_MAX);
	RUNTIME_REFUSED(body.said.hotspot.number = RUNTIME_NONE);
	RUNTIME_REFUSED(body.said.hotspot.number = RUNTIMES);
	RUNTIME_REFUSED(body.said.hotspot.number = UINT32_MAX);
	RUNTIME_REFUSED(body.said.hotspot.number = RUNTIME_GO);
	RUNTIME_REFUSED(body.said.hotspot.bytes = 0);
	RUNTIME_REFUSED(body.said.hotspot.bytes -= 8);
	RUNTIME_REFUSED(body.said.hotspot.bytes += 8);
	RUNTIME_REFUSED(body.said.hotspot.bytes = UINT32_MAX);
	RUNTIME_REFUSED(body.said.go.bytes = 0);
	RUNTIME_REFUSED(body.said.go.bytes += 8);
	RUNTIME_REFUSED(body.said.go.number = RUNTIME_HOTSPOT);
	RUNTIME_REFUSED(body.said.layout.words[0] = 0);
}

static void test_what_is_said_of_runtimes_ends_in_its_tables(void **state)
{
	struct runtime_body body = runtime_body_make();
	size_t whole = sizeof(body.tables) + sizeof(body.said);

	(void)state;
	for (size_t bytes = 0; bytes < whole; bytes += 4)
		assert_false(tables_are_taken(&body.tables, bytes, &body.segment, asked, 2));
	assert_true(tables_are_taken(&body.tables, whole, &body.segment, asked, 2));
}

/* Noise is refused, or does no harm. */
static void test_no_noise_gets_through(void **state)
{
	unsigned int accepted = 0;

	(void)state;
	srandom(5);
	for (unsigned int round = 0; round < 50000; round++) {
		struct worker_page pages[WORKER_MAX_PAGES];
		struct body body = body_make();
		struct worker_answer answer;
		const char *broken;

		for (long flips = 1 + random() % 3; flips; flips--)
			((uint8_t *)&body)[(size_t)random() % BODY_BYTES] ^=
				(uint8_t)(1 << random() % 8);
		if (!body_read(&body, asked, 2, pages, &answer))
			continue;
		accepted++;
		broken = promises_of_pages(
			&(struct promised){ &answer, &body, BODY_BYTES, asked, 2 });
		if (broken)
			fail_msg("not so: %s", broken);
	}
	// Flips in offsets of rules and in build ids are no lies.
	assert_true(accepted > 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_sound_answer_is_taken),
		cmocka_unit_test(test_what_is_missing_is_said_to_be),
		cmocka_unit_test(test_broken_heads_are_refused),
		cmocka_unit_test(test_broken_pages_are_refused),
		cmocka_unit_test(test_packed_rules_are_those_of_amd64),
		cmocka_unit_test(test_broken_rules_are_refused),
		cmocka_unit_test(test_answers_of_the_other_kind_are_refused),
		cmocka_unit_test(test_every_cut_is_refused),
		cmocka_unit_test(test_tables_end_where_they_say),
		cmocka_unit_test(test_pages_are_of_the_text),
		cmocka_unit_test(test_pages_and_rules_are_bounded),
		cmocka_unit_test(test_what_is_said_of_runtimes_is_taken),
		cmocka_unit_test(test_pages_follow_what_is_said_of_runtimes),
		cmocka_unit_test(test_what_cannot_be_said_of_runtimes_is_refused),
		cmocka_unit_test(test_what_is_said_of_runtimes_ends_in_its_tables),
		cmocka_unit_test(test_no_noise_gets_through),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
