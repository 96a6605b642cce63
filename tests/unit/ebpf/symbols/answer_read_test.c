// SPDX-License-Identifier: Apache-2.0
#include "receiver/ebpf/worker/answer.h"

#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static const char text[] = "\0abcd\0go\0name\0_Z4name";
enum { GNU = 1, GO = 6, NAME = 9, SYSTEM_NAME = 14 };

/* A sound answer about two offsets, to be broken by each test. */
struct body {
	struct protocol_facts facts;
	struct worker_segment segment;
	struct worker_range ranges[2];
	char text[24];
};

static const uint64_t offsets[2] = { 0x110, 0x150 };

static struct body body_make(void)
{
	struct body body = {
		.facts = { .htlhash = "0123456789abcdef0123456789abcdef",
			   .segment_count = 1,
			   .range_count = 2,
			   .text_bytes = sizeof(text),
			   .build_id_gnu = GNU,
			   .build_id_go = GO },
		.segment = { .file_offset = 0x100,
			     .file_bytes = 0x100,
			     .address = 0x1100,
			     .memory_bytes = 0x100,
			     .executable = 1 },
		.ranges = { { 0x1110, 0x10, NAME, SYSTEM_NAME, WORKER_FUNCTION, 0 },
			    { 0x1120, 0xe0, 0, 0, WORKER_UNNAMED, 0x20 } },
	};

	memcpy(body.text, text, sizeof(text));
	return body;
}

static bool body_read(struct body *body, struct worker_answer *ret)
{
	return answer_read(body, offsetof(struct body, text) + sizeof(text), offsets, 2, ret);
}

static void test_a_sound_answer_is_taken(void **state)
{
	struct body body = body_make();
	struct worker_answer answer;

	(void)state;
	assert_true(body_read(&body, &answer));
	assert_int_equal(answer.outcome, WORKER_ANSWERED);
	assert_string_equal(answer.build_id_gnu, "abcd");
	assert_string_equal(answer.build_id_go, "go");
	assert_string_equal(answer.text + answer.ranges[0].name, "name");
	assert_string_equal(answer.text + answer.ranges[0].system_name, "_Z4name");
}

/* Each statement breaks one thing. */
#define REFUSED(statement)                                                                         \
	do {                                                                                       \
		struct body body = body_make();                                                    \
		struct worker_answer answer;                                                       \
                                                                                                   \
		statement;                                                                         \
		if (body_read(&body, &answer))                                                     \
			fail_msg("accepted: %s", #statement);                                      \
	} while (0)

static void test_broken_answers_are_refused(void **state)
{
	(void)state;
	REFUSED(body.facts.segment_count = 2);
	REFUSED(body.facts.segment_count = WORKER_MAX_SEGMENTS + 1);
	REFUSED(body.facts.range_count = 1);
	REFUSED(body.facts.range_count = UINT32_MAX);
	REFUSED(body.facts.text_bytes++);
	REFUSED(body.facts.text_bytes = 0);
	REFUSED(body.facts.htlhash[3] = 'g');
	REFUSED(body.facts.htlhash[31] = '\0');
	REFUSED(body.facts.htlhash[32] = '0');
	REFUSED(body.facts.build_id_gnu = GO);
	REFUSED(body.facts.build_id_gnu = sizeof(text));
	REFUSED(body.facts.build_id_go = GO + 1);
	REFUSED(body.facts.partial = 2);
	REFUSED(body.segment.executable = 2);
	REFUSED(body.segment.file_bytes = 0x101);
	REFUSED(body.segment.address = UINT64_MAX - 0xff);
	REFUSED(body.segment.file_offset = UINT64_MAX - 3);
	REFUSED(body.ranges[0].size = 0);
	REFUSED(body.ranges[0].size = 0x11);
	REFUSED(body.ranges[1].size = UINT64_MAX);
	REFUSED(body.ranges[1].start = 0x1100);
	REFUSED(body.ranges[1].start = 0x1151);
	REFUSED(body.ranges[0].name = sizeof(text));
	REFUSED(body.ranges[0].name = NAME + 1);
	REFUSED(body.ranges[0].name = UINT32_MAX);
	REFUSED(body.ranges[0].name = 0);
	REFUSED(body.ranges[0].system_name = sizeof(text));
	REFUSED(body.ranges[0].kind = WORKER_NOTHING);
	REFUSED(body.ranges[0].before = 1);
	REFUSED(body.ranges[1].kind = WORKER_FUNCTION);
	REFUSED(body.ranges[1].kind = WORKER_UNNAMED + 1);
	REFUSED(body.ranges[1].before = 0x1121);
	REFUSED(body.text[0] = 'x');
	REFUSED(body.text[sizeof(text) - 1] = 'x');
	REFUSED(body.text[NAME] = '\0');
}

static void test_names_are_made_printable(void **state)
{
	struct body body = body_make();
	struct worker_answer answer;

	(void)state;
	memcpy(body.text + NAME, "\033\xff\n\x7f", 4);
	memcpy(body.text + SYSTEM_NAME, "\xc3\xa4\xc2\x9b\xc2\xa0", 6);
	assert_true(body_read(&body, &answer));
	assert_string_equal(answer.text + NAME, "????");
	assert_string_equal(answer.text + SYSTEM_NAME, "\xc3\xa4??\xc2\xa0"
						       "e");
}

static void test_no_noise_gets_through(void **state)
{
	(void)state;
	srandom(3);
	for (unsigned int round = 0; round < 50000; round++) {
		struct body body = body_make();
		struct worker_answer answer;

		for (long flips = 1 + random() % 5; flips; flips--)
			((uint8_t *)&body)[(size_t)random() % sizeof(body)] ^=
				(uint8_t)(1 << random() % 8);
		if (!body_read(&body, &answer))
			continue;
		for (size_t i = 0; i < answer.range_count; i++) {
			const char *name = answer.text + answer.ranges[i].name;

			assert_true(name + strlen(name) < body.text + sizeof(text));
			assert_true(strings_is_utf8(name, strlen(name)));
		}
	}
}

/* ---- lines ---- */

struct lines_body {
	struct protocol_names head;
	struct worker_named named[2];
	struct worker_line line;
	char text[16];
};

static struct lines_body lines_body_make(void)
{
	return (struct lines_body){
		.head = { .named_count = 2, .line_count = 1, .text_bytes = 16 },
		.named = { { RUNTIME_GONE, 0, 0 }, { RUNTIME_NAMED, 1, RUNTIME_WRAPPER } },
		.line = { .function = 1, .file = 6, .line = 3 },
		.text = "\0main\0/a.go\0\0\0\0",
	};
}

#define LINES_REFUSED(statement)                                                                   \
	do {                                                                                       \
		struct lines_body body = lines_body_make();                                        \
		struct worker_answer answer;                                                       \
                                                                                                   \
		statement;                                                                         \
		if (answer_read_lines(&body, sizeof(body), 2, &answer))                            \
			fail_msg("accepted: %s", #statement);                                      \
	} while (0)

static void test_an_answer_of_lines(void **state)
{
	struct lines_body body = lines_body_make();
	struct worker_answer answer;

	(void)state;
	assert_true(answer_read_lines(&body, sizeof(body), 2, &answer));
	assert_int_equal(answer.named[1].trace, RUNTIME_WRAPPER);
	assert_string_equal(answer.text + answer.lines[0].file, "/a.go");
	assert_false(answer_read_lines(&body, sizeof(body), 1, &answer));
	assert_false(answer_read_lines(&body, sizeof(body) - 1, 2, &answer));
}

static void test_broken_answers_of_lines_are_refused(void **state)
{
	(void)state;
	LINES_REFUSED(body.named[1].trace = RUNTIME_TRACES);
	LINES_REFUSED(body.named[1].outcome = RUNTIME_GONE);
	LINES_REFUSED(body.named[0].outcome = RUNTIME_NAMED);
	LINES_REFUSED(body.named[1].line_count = 2);
	LINES_REFUSED(body.line.function = 0);
	LINES_REFUSED(body.line.function = 2);
	LINES_REFUSED(body.line.file = 16);
	LINES_REFUSED(body.head.reserved = 1);
	LINES_REFUSED(body.text[15] = 'x');
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_an_answer_of_lines),
		cmocka_unit_test(test_broken_answers_of_lines_are_refused),
		cmocka_unit_test(test_a_sound_answer_is_taken),
		cmocka_unit_test(test_broken_answers_are_refused),
		cmocka_unit_test(test_names_are_made_printable),
		cmocka_unit_test(test_no_noise_gets_through),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
