// SPDX-License-Identifier: Apache-2.0
/* What `top` keeps, and what it draws. */
#include "fake_host.h"
#include "web_batches.h"

#include "base/base.h"
#include "commands/top_screen.h"
#include "commands/top_window.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { SPAN_NS = 1000 };

static struct flame *new_flame(void)
{
	const struct flame_settings settings = { .type = "cpu", .unit = "nanoseconds" };
	struct flame *flame = flame_create(&settings);

	assert_non_null(flame);
	return flame;
}

static int64_t sum_at(struct top_window *window, uint64_t now_ns)
{
	FLAME_CLEANUP struct flame *flame = new_flame();

	assert_no_error(top_window_sum(window, now_ns, flame));
	return flame_total(flame, FLAME_NOW);
}

static void a_window_has_what_came_in_its_time(void **state)
{
	struct web_chance chance = { 7 };
	struct profcol_batch *first = web_batch(&chance, 0, 1), *second = web_batch(&chance, 1, 1);
	int64_t one = web_batch_sum(first, "cpu"), other = web_batch_sum(second, "cpu");
	struct top_window *window = top_window_create(SPAN_NS);

	(void)state;
	assert_non_null(window);
	assert_int_equal(sum_at(window, 1), 0);
	top_window_add(window, first, 100);
	top_window_add(window, second, 600);
	assert_int_equal(sum_at(window, 1100), one + other);
	assert_int_equal(sum_at(window, 1101), other);
	assert_int_equal(sum_at(window, 1601), 0);
	top_window_destroy(window);
}

/* However fast they come, there is an end to what it keeps. */
static void a_full_window_drops_the_oldest(void **state)
{
	struct web_chance chance = { 11 };
	struct top_window *window = top_window_create(SPAN_NS);
	int64_t sums[TOP_WINDOW_BATCHES + 2], sum = 0;

	(void)state;
	assert_non_null(window);
	for (uint32_t i = 0; i < TOP_WINDOW_BATCHES + 2; i++) {
		struct profcol_batch *batch = web_batch(&chance, i, 1);

		sums[i] = web_batch_sum(batch, "cpu");
		sum += i < 2 ? 0 : sums[i];
		top_window_add(window, batch, i);
	}
	assert_int_equal(sum_at(window, SPAN_NS / 2), sum);
	top_window_destroy(window);
}

static size_t columns_of(const char *line, size_t length)
{
	size_t columns = 0;

	for (size_t i = 0; i < length; i++)
		columns += ((unsigned char)line[i] & 0xc0) != 0x80;
	return columns;
}

/* What is drawn fits: no line wraps, and the head stays in sight. */
static void a_screen_fits_the_terminal(void **state)
{
	static const struct top_size sizes[] = { { 1, 1 }, { 7, 3 }, { 40, 10 }, { 300, 100 } };
	static const char head[] = "k\xc3\xb6pfe 12345678";
	struct web_chance chance = { 13 };
	PROFCOL_CLEANUP_BATCH struct profcol_batch *batch = web_batch(&chance, 0, 1);
	FLAME_CLEANUP struct flame *flame = new_flame();

	(void)state;
	assert_no_error(flame_add(flame, batch, FLAME_NOW, UINT64_MAX));
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		CLEANUP_FREE char *text = NULL;
		size_t length, lines = 0;
		FILE *stream = open_memstream(&text, &length);
		const char *line;

		assert_non_null(stream);
		assert_no_error(top_screen_draw(flame, head, sizes[i], stream));
		assert_int_equal(fclose(stream), 0);
		assert_int_equal(strncmp(text, "\033[H", 3), 0);
		line = text + 3;
		for (const char *end; (end = strstr(line, "\033[K\n")); line = end + 4) {
			assert_true(columns_of(line, (size_t)(end - line)) <= sizes[i].columns);
			lines++;
		}
		assert_string_equal(line, "\033[J");
		assert_true(lines <= (sizes[i].rows > 3 ? sizes[i].rows - 1 : 3));
	}
}

/* A character of two bytes is not cut in the middle. */
static void a_line_ends_between_characters(void **state)
{
	CLEANUP_FREE char *text = NULL;
	FLAME_CLEANUP struct flame *flame = new_flame();
	FILE *stream;
	size_t length;

	(void)state;
	stream = open_memstream(&text, &length);
	assert_non_null(stream);
	assert_no_error(top_screen_draw(flame, "k\xc3\xb6pfe", (struct top_size){ 2, 9 }, stream));
	assert_int_equal(fclose(stream), 0);
	assert_string_equal(text, "\033[Hk\xc3\xb6\033[K\n\033[J");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_window_has_what_came_in_its_time),
		cmocka_unit_test(a_full_window_drops_the_oldest),
		cmocka_unit_test(a_screen_fits_the_terminal),
		cmocka_unit_test(a_line_ends_between_characters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
