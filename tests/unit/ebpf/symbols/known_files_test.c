// SPDX-License-Identifier: Apache-2.0
#include "receiver/ebpf/symbols/known_files.h"

#include "runtimes/runtime.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static const char text[] = "\0abcd\0f\0_Zf\0g";
enum { GNU = 1, F = 6, SYSTEM_F = 8, G = 12 };

static const struct worker_segment segments[] = {
	{ .file_offset = 0, .file_bytes = 1 << 30, .memory_bytes = 1 << 30, .executable = 1 },
};

static struct worker_answer answer_make(const struct worker_range *ranges, size_t count)
{
	return (struct worker_answer){
		.outcome = WORKER_ANSWERED,
		.build_id_gnu = text + GNU,
		.build_id_go = "",
		.htlhash = "0123456789abcdef0123456789abcdef",
		.segments = segments,
		.segment_count = 1,
		.ranges = ranges,
		.range_count = count,
		.text = text,
	};
}

static void learn(struct known_files *known, struct known_file *file,
		  const struct worker_range *ranges, size_t count)
{
	struct worker_answer answer = answer_make(ranges, count);

	assert_true(known_file_learn(known, file, &answer));
}

static const char *name_at(const struct known_file *file, uint64_t address)
{
	const struct known_range *range = known_file_find(file, address);

	return !range ? "unknown" : range->name ? range->name : "none";
}

static void test_answers_add_up(void **state)
{
	struct known_files known = { 0 };
	struct known_file *file = known_files_get(&known, 5);

	(void)state;
	assert_int_equal(file->state, KNOWN_NOTHING);
	learn(&known, file,
	      (struct worker_range[]){ { 100, 10, F, SYSTEM_F, WORKER_FUNCTION, 0 },
				       { 300, 10, G, 0, WORKER_FUNCTION, 0 } },
	      2);
	learn(&known, file,
	      (struct worker_range[]){ { 50, 10, G, 0, WORKER_FUNCTION, 0 },
				       { 105, 10, G, 0, WORKER_FUNCTION, 0 },
				       { 110, 190, 0, 0, WORKER_UNNAMED, 6 },
				       { 400, 10, G, 0, WORKER_FUNCTION, 0 } },
	      4);
	assert_string_equal(name_at(file, 49), "unknown");
	assert_string_equal(name_at(file, 55), "g");
	assert_string_equal(name_at(file, 60), "unknown");
	assert_string_equal(name_at(file, 100), "f");
	assert_string_equal(known_file_find(file, 109)->system_name, "_Zf");
	assert_string_equal(name_at(file, 110), "none"); // the range that overlapped f is left out
	assert_string_equal(name_at(file, 299), "none");
	assert_true(known_file_find(file, 299)->unnamed);
	assert_int_equal(known_file_find(file, 299)->entry, 104);
	assert_string_equal(name_at(file, 300), "g");
	assert_null(known_file_find(file, 300)->system_name);
	assert_string_equal(name_at(file, 409), "g");
	assert_string_equal(name_at(file, 410), "unknown");
	assert_string_equal(file->build_id_gnu, "abcd");
	known_files_deinit(&known);
}

static void test_a_changed_file_is_learned_anew(void **state)
{
	struct stat stat = { .st_ino = 1, .st_size = 100 };
	struct known_files known = { 0 };
	struct known_file *file = known_files_get(&known, 5);
	const char *name;
	uint64_t content;

	(void)state;
	known_file_meet(&known, file, &stat);
	content = file->content_id;
	learn(&known, file, (struct worker_range[]){ { 100, 10, F, 0, WORKER_FUNCTION, 0 } }, 1);
	known_file_meet(&known, file, &stat);
	assert_int_equal(file->content_id, content);
	name = name_at(file, 100);
	stat.st_mtim.tv_nsec = 1;
	known_file_meet(&known, file, &stat);
	assert_int_not_equal(file->content_id, content);
	assert_string_equal(name_at(file, 100), "unknown");
	assert_string_equal(file->build_id_gnu, "");
	assert_string_equal(name, "f"); // text in use stays until forget
	known_files_forget(&known, 1 << 20);
	known_files_deinit(&known);
}

static void test_the_largest_owners_files_go_first(void **state)
{
	struct known_files known = { 0 };

	(void)state;
	for (uint32_t id = 0; id < 1000; id++) {
		struct known_file *file = known_files_get(&known, id);

		known_file_set_owner(&known, file, (struct owner){ id < 10 ? 1001 : 1000, 0 });
		learn(&known, file,
		      (struct worker_range[]){ { 100, 10, F, 0, WORKER_FUNCTION, 0 } }, 1);
		if (id == 10) // what follows is used later
			known_files_forget(&known, SIZE_MAX);
	}
	assert_true(known_files_forget(&known, known.memory / 2) >= 400);
	for (uint32_t id = 0; id < 10; id++)
		assert_string_equal(name_at(known_files_find(&known, id), 100), "f");
	known_files_deinit(&known);
	assert_int_equal(known.shares.all.count, 0);
}

static void test_the_files_not_used_for_longest_go_first(void **state)
{
	struct known_files known = { 0 };
	size_t budget, dropped;

	(void)state;
	for (uint32_t id = 0; id < 1000; id++) {
		struct known_file *file = known_files_get(&known, id);

		learn(&known, file,
		      (struct worker_range[]){ { 100, 10, F, 0, WORKER_FUNCTION, 0 } }, 1);
		known_files_forget(&known, SIZE_MAX);
	}
	known_files_get(&known, 3);
	known_files_find(&known, 4)->asked = true;
	budget = known.memory / 2;
	dropped = known_files_forget(&known, budget);
	assert_in_range(dropped, 499, 502);
	assert_true(known.memory <= budget);
	for (uint32_t id = 0; id < 1000; id++) {
		const struct known_file *file = known_files_find(&known, id);
		bool kept = id == 3 || id == 4 || id >= dropped + 2;

		assert_int_equal(file != NULL, kept);
		if (file)
			assert_string_equal(name_at(file, 105), "f");
	}
	known_files_deinit(&known);
}

static void test_what_was_learned_in_another_lap_is_not_of_this_file(void **state)
{
	struct known_files known = { 0 };
	struct known_file *file = known_files_get(&known, 5);
	const char *name;

	(void)state;
	learn(&known, file, (struct worker_range[]){ { 100, 10, F, 0, WORKER_FUNCTION, 0 } }, 1);
	name = name_at(file, 100);
	file = known_files_get(&known, 5);
	assert_int_equal(file->state, KNOWN_FACTS);
	known.lap++;
	file = known_files_get(&known, 5);
	assert_int_equal(file->state, KNOWN_NOTHING);
	assert_int_equal(file->content_id, 0);
	assert_string_equal(name_at(file, 100), "unknown");
	assert_string_equal(name, "f"); // text in use stays until forget
	known_files_forget(&known, 1 << 20);
	known_files_deinit(&known);
}

static void learn_lines(struct known_files *known, struct known_file *file,
			const uint64_t *addresses, const struct worker_named *named,
			const struct worker_line *lines, size_t count)
{
	const struct worker_answer answer = {
		.outcome = WORKER_ANSWERED,
		.offsets = addresses,
		.offset_count = count,
		.named = named,
		.named_count = count,
		.lines = lines,
		.text = text,
	};

	assert_true(known_file_learn_lines(known, file, &answer));
}

static void test_lines_add_up_and_go_with_the_content(void **state)
{
	static const uint64_t some[] = { 100, 300 }, more[] = { 50, 200, 400 };
	static const struct worker_named named[] = { { RUNTIME_NAMED, 2, RUNTIME_WRAPPER },
						     { RUNTIME_GONE, 0, 0 } };
	static const struct worker_named others[] = { { RUNTIME_NAMED, 1, 0 },
						      { RUNTIME_GONE, 0, 0 },
						      { RUNTIME_NAMED, 1, 0 } };
	static const struct worker_line lines[] = {
		{ .function = F, .file = G, .line = 7, .start_line = 5 },
		{ .function = G, .line = 9 },
	};
	struct known_files known = { 0 };
	struct known_file *file = known_files_get(&known, 5);
	const struct known_place *place;
	const struct symbol_line *before;

	(void)state;
	learn_lines(&known, file, some, named, lines, 2);
	before = known_lines_find(&file->lines, 100)->lines;
	learn_lines(&known, file, more, others, lines, 3);
	place = known_lines_find(&file->lines, 100);
	assert_ptr_equal(place->lines, before);
	assert_int_equal(place->line_count, 2);
	assert_int_equal(place->trace, RUNTIME_WRAPPER);
	assert_string_equal(place->lines[0].function, "f");
	assert_string_equal(place->lines[0].file, "g");
	assert_int_equal(place->lines[0].line, 7);
	assert_int_equal(place->lines[0].start_line, 5);
	assert_string_equal(place->lines[1].function, "g");
	assert_string_equal(place->lines[1].file, "");
	// Text that is the same is there once.
	assert_ptr_equal(place->lines[0].file, place->lines[1].function);
	assert_int_equal(known_lines_find(&file->lines, 300)->line_count, 0);
	assert_int_equal(known_lines_find(&file->lines, 50)->line_count, 1);
	assert_int_equal(known_lines_find(&file->lines, 200)->line_count, 0);
	assert_string_equal(known_lines_find(&file->lines, 400)->lines[0].function, "g");
	assert_null(known_lines_find(&file->lines, 101));
	assert_null(known_lines_find(&file->lines, 401));
	known_file_unlearn(&known, file);
	assert_null(known_lines_find(&file->lines, 100));
	learn_lines(&known, file, some, named, lines, 2);
	assert_string_equal(known_lines_find(&file->lines, 100)->lines[0].function, "f");
	known_files_deinit(&known);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_answers_add_up),
		cmocka_unit_test(test_lines_add_up_and_go_with_the_content),
		cmocka_unit_test(test_a_changed_file_is_learned_anew),
		cmocka_unit_test(test_what_was_learned_in_another_lap_is_not_of_this_file),
		cmocka_unit_test(test_the_files_not_used_for_longest_go_first),
		cmocka_unit_test(test_the_largest_owners_files_go_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
