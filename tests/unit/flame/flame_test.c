// SPDX-License-Identifier: Apache-2.0
/* Call trees: sums, and that no name becomes more than a name. */
#include "fake_host.h"
#include "web_batches.h"

#include "base/base.h"
#include "flame/flame.h"

#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct flame *flame_of(const char *type, const char *unit, const char *group)
{
	const struct flame_settings settings = { type, unit, group };
	struct flame *flame = flame_create(&settings);

	assert_non_null(flame);
	return flame;
}

static json_t *json_of(struct flame *flame, const struct flame_json_settings *settings)
{
	CLEANUP_FREE char *text = NULL;
	json_error_t problem;
	json_t *json;
	size_t length;
	FILE *stream = open_memstream(&text, &length);

	assert_non_null(stream);
	assert_no_error(flame_write_json(flame, settings, stream));
	assert_int_equal(fclose(stream), 0);
	// It may stand in HTML.
	assert_null(strchr(text, '<'));
	json = json_loadb(text, length, 0, &problem);
	if (!json)
		fail_msg("%s in %s", problem.text, text);
	return json;
}

static int64_t sum_of(json_t *json, const char *column)
{
	json_t *values = json_object_get(json_object_get(json, "nodes"), column), *value;
	int64_t sum = 0;
	size_t i;

	json_array_foreach(values, i, value) sum += json_integer_value(value);
	return sum;
}

/* Every index leads to a row, and every parent stands before its children. */
static void assert_sound(json_t *json)
{
	json_t *nodes = json_object_get(json, "nodes"), *frames = json_object_get(json, "frames");
	json_t *parents = json_object_get(nodes, "parent"), *of = json_object_get(nodes, "frame");
	json_t *value, *column;
	size_t i, count = json_array_size(parents);
	size_t frame_count = json_array_size(json_object_get(frames, "name"));
	const char *key;

	assert_true(count > 0);
	assert_int_equal(json_array_size(of), count);
	assert_int_equal(json_array_size(json_object_get(nodes, "self")), count);
	json_array_foreach(parents, i, value)
		assert_true(json_integer_value(value) < (json_int_t)i || !i);
	json_array_foreach(of, i, value)
		assert_true(json_integer_value(value) < (json_int_t)frame_count);
	json_object_foreach(frames, key, column)
	{
		assert_int_equal(json_array_size(column), frame_count);
		if (!strcmp(key, "line") || !strcmp(key, "inlined"))
			continue;
		json_array_foreach(column, i, value) assert_non_null(json_array_get(
			json_object_get(json, "strings"), (size_t)json_integer_value(value)));
	}
}

static void what_goes_in_is_the_sum_of_what_is_shown(void **state)
{
	static const size_t limits[] = { 0, 1, 2, 10, 100, 100000 };
	struct web_chance chance = { 12345 };

	(void)state;
	for (uint32_t round = 0; round < 10; round++) {
		PROFCOL_CLEANUP_BATCH struct profcol_batch *now = web_batch(&chance, round, 1);
		PROFCOL_CLEANUP_BATCH struct profcol_batch *base = web_batch(&chance, round, 1);
		FLAME_CLEANUP struct flame *flame =
			flame_of("cpu", "nanoseconds", round % 2 ? "service.name" : NULL);

		assert_no_error(flame_add(flame, now, FLAME_NOW, UINT64_MAX));
		assert_no_error(flame_add(flame, base, FLAME_BASE, UINT64_MAX));
		assert_no_error(flame_add(flame, base, FLAME_NOW, UINT64_MAX));
		assert_int_equal(flame_total(flame, FLAME_NOW),
				 web_batch_sum(now, "cpu") + web_batch_sum(base, "cpu"));
		for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
			const struct flame_json_settings settings = { .nodes_max = limits[i],
								      .has_base = true };
			json_t *json = json_of(flame, &settings);

			assert_sound(json);
			assert_int_equal(sum_of(json, "self"), flame_total(flame, FLAME_NOW));
			assert_int_equal(sum_of(json, "base"), web_batch_sum(base, "cpu"));
			json_decref(json);
		}
	}
}

static void fewer_nodes_are_written_than_asked_for_twice(void **state)
{
	struct web_chance chance = { 5 };
	FLAME_CLEANUP struct flame *flame = flame_of("samples", "count", NULL);
	const struct flame_json_settings settings = { .nodes_max = 20 };
	json_t *json;

	(void)state;
	for (uint32_t i = 0; i < 20; i++) {
		PROFCOL_CLEANUP_BATCH struct profcol_batch *batch = web_batch(&chance, i, 1);

		assert_no_error(flame_add(flame, batch, FLAME_NOW, UINT64_MAX));
	}
	json = json_of(flame, &settings);
	// Each may have one more for what is left out below it.
	assert_true(json_array_size(json_object_get(json_object_get(json, "nodes"), "self")) <= 40);
	assert_true(json_integer_value(json_object_get(json, "left_out")) > 100);
	json_decref(json);
}

static void the_hottest_functions_are_those_of_the_tree(void **state)
{
	struct web_chance chance = { 7 };
	PROFCOL_CLEANUP_BATCH struct profcol_batch *batch = web_batch(&chance, 1, 1);
	FLAME_CLEANUP struct flame *flame = flame_of("cpu", "nanoseconds", "service.name");
	CLEANUP_FREE struct flame_function *functions = NULL;
	size_t count;
	int64_t self = 0;

	(void)state;
	assert_no_error(flame_add(flame, batch, FLAME_NOW, UINT64_MAX));
	assert_no_error(flame_top(flame, FLAME_NOW, SIZE_MAX, &functions, &count));
	assert_true(count > 10);
	for (size_t i = 0; i < count; i++) {
		self += functions[i].self;
		assert_true(functions[i].total >= functions[i].self);
		assert_true(functions[i].total <= flame_total(flame, FLAME_NOW));
		assert_true(!i || functions[i - 1].self >= functions[i].self);
		// A group is no function.
		assert_string_not_equal(functions[i].name.bytes, "shop");
	}
	// Empty stacks have no function.
	assert_true(self <= flame_total(flame, FLAME_NOW));
}

/* A batch of one sample, whose frames are called @names, the outermost first. */
static struct profcol_batch *one_stack(const char *const *names, uint32_t count, uint32_t depth)
{
	struct profcol_builder *builder = profcol_builder_create();
	struct profcol_batch *batch = NULL;
	uint32_t *locations = calloc(depth, sizeof(*locations));
	int64_t value = 3;

	profcol_builder_add_resource(builder, &(struct profcol_resource){ 0 });
	profcol_builder_add_scope(builder, &(struct profcol_scope){ 0 });
	profcol_builder_add_profile(builder,
				    &(struct profcol_profile){
					    .sample_type = profcol_builder_cstring(builder, "<b>"),
					    .sample_unit = profcol_builder_cstring(builder, "\"&"),
				    });
	for (uint32_t i = 0; i < depth; i++) {
		const char *name = names[i % count];
		struct profcol_line line = {
			.function = profcol_builder_function(
				builder,
				&(struct profcol_function){ .name = profcol_builder_string(
								    builder, name, strlen(name)) }),
		};

		locations[depth - 1 - i] = profcol_builder_location(
			builder, &(struct profcol_location){ .lines = &line, .line_count = 1 });
	}
	profcol_builder_add_sample(
		builder, &(struct profcol_sample){
				 .stack = profcol_builder_stack(builder, locations, depth),
				 .value_count = 1,
				 .values = &value,
			 });
	free(locations);
	assert_no_error(profcol_builder_seal(builder, &batch));
	return batch;
}

static const char *const hostile[] = {
	"</script><script>alert(1)</script>",
	"\"onload=\"alert(1)",
	"]]>&amp;<!--",
	"\xff\xfe broken \xc3",
	"\x01\x1f\x7f",
	"\xe2\x80\xaeturned around",
	"\xef\xbf\xbe",
};

static void no_name_is_markup(void **state)
{
	static const char *const bad[] = { "<script>alert", "onload=\"alert", "]]>",         "<b>",
					   "\x01",          "\xff",           "\xef\xbf\xbe" };
	PROFCOL_CLEANUP_BATCH struct profcol_batch *batch = one_stack(hostile, 7, 7);
	FLAME_CLEANUP struct flame *flame = flame_of(NULL, NULL, NULL);
	const struct flame_json_settings settings = { 0 };
	CLEANUP_FREE char *picture = NULL;
	size_t length;
	FILE *stream = open_memstream(&picture, &length);
	json_t *json;

	(void)state;
	assert_no_error(flame_add(flame, batch, FLAME_NOW, UINT64_MAX));
	assert_string_equal(flame_type(flame), "<b>");
	assert_no_error(flame_write_svg(flame, "</svg><script>alert(1)</script>", stream));
	assert_int_equal(fclose(stream), 0);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (strstr(picture, bad[i]))
			fail_msg("%s is in the picture", bad[i]);
	assert_ptr_equal(strstr(picture, "</svg>"), picture + length - strlen("</svg>\n"));
	json = json_of(flame, &settings);
	assert_sound(json);
	json_decref(json);
}

static void a_stack_without_end_has_one(void **state)
{
	static const char *const names[] = { "a", "b" };
	PROFCOL_CLEANUP_BATCH struct profcol_batch *batch = one_stack(names, 2, 100000);
	FLAME_CLEANUP struct flame *flame = flame_of(NULL, NULL, NULL);
	CLEANUP_FREE struct flame_function *functions = NULL;
	const struct flame_json_settings settings = { 0 };
	CLEANUP_FREE char *picture = NULL;
	size_t length, count;
	FILE *stream = open_memstream(&picture, &length);
	json_t *json;

	(void)state;
	assert_no_error(flame_add(flame, batch, FLAME_NOW, UINT64_MAX));
	json = json_of(flame, &settings);
	assert_int_equal(json_array_size(json_object_get(json_object_get(json, "nodes"), "self")),
			 1 + FLAME_DEPTH_MAX + 1);
	assert_int_equal(sum_of(json, "self"), 3);
	json_decref(json);
	assert_no_error(flame_write_svg(flame, "deep", stream));
	assert_int_equal(fclose(stream), 0);
	assert_true(length < 200000);
	// A recursion is counted once.
	assert_no_error(flame_top(flame, FLAME_NOW, 10, &functions, &count));
	assert_int_equal(count, 2);
	assert_int_equal(functions[0].total, 3);
}

static void nothing_is_a_tree_too(void **state)
{
	FLAME_CLEANUP struct flame *flame = flame_of(NULL, NULL, "x");
	CLEANUP_FREE struct flame_function *functions = NULL;
	const struct flame_json_settings settings = { .nodes_max = 1, .has_base = true };
	CLEANUP_FREE char *picture = NULL;
	size_t length, count;
	FILE *stream = open_memstream(&picture, &length);
	json_t *json = json_of(flame, &settings);

	(void)state;
	assert_sound(json);
	json_decref(json);
	assert_no_error(flame_write_svg(flame, "", stream));
	assert_int_equal(fclose(stream), 0);
	assert_no_error(flame_top(flame, FLAME_NOW, 10, &functions, &count));
	assert_int_equal(count, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_goes_in_is_the_sum_of_what_is_shown),
		cmocka_unit_test(fewer_nodes_are_written_than_asked_for_twice),
		cmocka_unit_test(the_hottest_functions_are_those_of_the_tree),
		cmocka_unit_test(no_name_is_markup),
		cmocka_unit_test(a_stack_without_end_has_one),
		cmocka_unit_test(nothing_is_a_tree_too),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
