// SPDX-License-Identifier: Apache-2.0
/* What `shadow` makes of the batches of two profilers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "shadow_sketch.h"

#include "host/commands/shadow/comparison.h"
#include "host/commands/shadow/report.h"

#include <math.h>
#include <string.h>

static const struct comparison_service *find(const struct comparison *comparison, const char *name)
{
	for (size_t i = 0; i < comparison->services.count; i++)
		if (!strcmp(comparison->services.items[i].name, name))
			return &comparison->services.items[i];
	fail_msg("no service %s", name);
	return NULL;
}

/* ---- time ---- */

static void only_the_time_of_both_counts(void **state)
{
	CLEANUP_TALLY struct tally *tally = begun();
	struct sketch sketch = ours("pay", 0x2000, 10);

	(void)state;
	// Ten of ours in each of the seconds 0 to 9; the other has told until 4.5.
	sketch.step_ns = second / 10;
	for (int i = 0; i < 10; i++, sketch.from_ns += second)
		tell(tally, TALLY_OWN, sketch);
	sketch = theirs(0x2000, 50);
	sketch.step_ns = second / 10;
	sketch.from_ns = begin_ns - second / 2;
	tell(tally, TALLY_OTHER, sketch);
	tally_close(tally, begin_ns + 10 * second);
	assert_int_equal(tally->to_ns - tally->from_ns, 4 * second + second / 2);
	assert_int_equal(tally->figures[TALLY_OWN].inside, 45);
	assert_int_equal(tally->figures[TALLY_OWN].after, 55);
	assert_int_equal(tally->figures[TALLY_OTHER].inside, 45);
	assert_int_equal(tally->figures[TALLY_OTHER].before, 5 + 1);
}

static void what_comes_late_still_counts(void **state)
{
	CLEANUP_TALLY struct tally *tally = begun();
	struct sketch sketch = theirs(0x2000, 10), late = ours("pay", 0x2000, 3);

	(void)state;
	sketch.step_ns = second;
	tell(tally, TALLY_OTHER, sketch);
	tell(tally, TALLY_OWN, sketch);
	tell_at(tally, TALLY_OWN, &late, 1, begin_ns + 12 * second);
	tally_close(tally, begin_ns + 20 * second);
	assert_int_equal(tally->figures[TALLY_OWN].inside, 13);
}

static void a_time_in_the_future_covers_nothing(void **state)
{
	CLEANUP_TALLY struct tally *tally = begun();
	struct sketch sketch = theirs(0x2000, 2);

	(void)state;
	sketch.step_ns = 3600 * second;
	tell_at(tally, TALLY_OTHER, &sketch, 1, begin_ns + second);
	tally_close(tally, begin_ns + 60 * second);
	assert_int_equal(tally->to_ns, begin_ns + second);
	assert_int_equal(tally->figures[TALLY_OTHER].after, 1);
}

static void without_the_other_nothing_begins(void **state)
{
	CLEANUP_TALLY struct tally *tally = tally_create(60 * second);

	(void)state;
	tell(tally, TALLY_OWN, ours("pay", 0x2000, 10));
	tally_close(tally, begin_ns + 60 * second);
	assert_int_equal(tally->from_ns, 0);
	assert_int_equal(tally->figures[TALLY_OWN].before, 10);
}

static void other_kinds_are_not_compared(void **state)
{
	CLEANUP_TALLY struct tally *tally = begun();
	struct sketch sketch = theirs(0x2000, 5);

	(void)state;
	sketch.sample_type = "off_cpu";
	tell(tally, TALLY_OTHER, sketch);
	tally_close(tally, begin_ns + 60 * second);
	assert_int_equal(tally->figures[TALLY_OTHER].other_kinds, 5);
	assert_int_equal(tally->figures[TALLY_OTHER].inside, 0);
}

/* ---- agreement ---- */

/* Both compared, until all have been told. */
static void compare(struct tally *tally, struct comparison *ret)
{
	struct sketch last = theirs(0x2000, 1);

	last.frames[0] = (struct frame_sketch){ "kernel", NULL, NULL, "last", 0 };
	last.from_ns = begin_ns + 60 * second;
	tell(tally, TALLY_OTHER, last);
	tally_close(tally, begin_ns + 60 * second);
	assert_true(comparison_init(ret, tally));
}

static void addresses_get_the_names_that_ours_have(void **state)
{
	CLEANUP_TALLY struct tally *tally = begun();
	CLEANUP(comparison_deinit) struct comparison comparison;
	const struct comparison_service *shop;

	(void)state;
	tell(tally, TALLY_OWN, ours("pay", 0x2000, 30));
	tell(tally, TALLY_OWN, ours("pay", 0x2400, 30));
	tell(tally, TALLY_OWN, ours("ship", 0x9000, 40));
	tell(tally, TALLY_OTHER, theirs(0x2000, 20)); // the very place
	tell(tally, TALLY_OTHER, theirs(0x2200, 20)); // between two of one function
	tell(tally, TALLY_OTHER, theirs(0x2480, 20)); // close to one
	tell(tally, TALLY_OTHER, theirs(0x9000, 30));
	tell(tally, TALLY_OTHER, theirs(0x7000, 10)); // in no function that is known
	compare(tally, &comparison);
	shop = find(&comparison, "shop");
	assert_int_equal(shop->samples[TALLY_OWN], 100);
	assert_int_equal(shop->samples[TALLY_OTHER], 100);
	assert_int_equal(shop->hottest_count, 3);
	assert_string_equal(shop->hottest[0].name, "pay");
	assert_string_equal(shop->hottest[0].file, "shop");
	assert_int_equal(shop->hottest[0].samples[TALLY_OTHER], 60);
	assert_string_equal(shop->hottest[2].name, "");
	assert_int_equal(shop->hottest[2].samples[TALLY_OTHER], 10);
	// 0.6 + 0.3 of what both have, of 1.
	assert_float_equal(shop->agreement, 0.9, 1e-9);
	assert_float_equal(shop->by_file, 0.05, 1e-9);
	assert_true(shop->expected > 0.85 && shop->expected < 0.97);
}

static void names_may_come_later(void **state)
{
	CLEANUP_TALLY struct tally *tally = begun();
	CLEANUP(comparison_deinit) struct comparison comparison;

	(void)state;
	tell(tally, TALLY_OWN, ours(NULL, 0x2000, 5));
	tell(tally, TALLY_OWN, ours("pay", 0x2000, 5));
	tell(tally, TALLY_OTHER, theirs(0x2000, 10));
	compare(tally, &comparison);
	assert_int_equal(find(&comparison, "shop")->hottest[0].samples[TALLY_OWN], 10);
	assert_float_equal(find(&comparison, "shop")->agreement, 1, 1e-9);
}

static void files_are_told_by_their_build(void **state)
{
	CLEANUP_TALLY struct tally *tally = begun();
	CLEANUP(comparison_deinit) struct comparison comparison;
	struct sketch sketch = theirs(0x2000, 10);

	(void)state;
	sketch.frames[0].build_id = "bb"; // of the same name
	tell(tally, TALLY_OWN, ours("pay", 0x2000, 10));
	tell(tally, TALLY_OTHER, sketch);
	compare(tally, &comparison);
	assert_float_equal(find(&comparison, "shop")->agreement, 0, 1e-9);
}

static void without_build_ids_the_name_of_the_file_counts(void **state)
{
	CLEANUP_TALLY struct tally *tally = begun();
	CLEANUP(comparison_deinit) struct comparison comparison;
	struct sketch own = ours("pay", 0x2000, 10), other = theirs(0x2000, 10);

	(void)state;
	own.frames[0].build_id = other.frames[0].build_id = NULL;
	tell(tally, TALLY_OWN, own);
	tell(tally, TALLY_OTHER, other);
	compare(tally, &comparison);
	assert_float_equal(find(&comparison, "shop")->agreement, 1, 1e-9);
}

static void rates_do_not_matter_for_agreement(void **state)
{
	CLEANUP_TALLY struct tally *tally = begun();
	CLEANUP(comparison_deinit) struct comparison comparison;

	(void)state;
	tell(tally, TALLY_OWN, ours("pay", 0x2000, 100));
	tell(tally, TALLY_OWN, ours("ship", 0x9000, 300));
	tell(tally, TALLY_OTHER, theirs(0x2000, 10));
	tell(tally, TALLY_OTHER, theirs(0x9000, 30));
	compare(tally, &comparison);
	assert_float_equal(find(&comparison, "shop")->agreement, 1, 1e-9);
}

static void a_service_is_what_either_calls_it(void **state)
{
	CLEANUP_TALLY struct tally *tally = begun();
	CLEANUP(comparison_deinit) struct comparison comparison;
	struct sketch named = theirs(0x2000, 5);
	struct sketch nobody = { .pid = 12, .times = 4, .from_ns = begin_ns, .step_ns = 1 };

	(void)state;
	named.service = "checkout";
	named.executable = NULL;
	nobody.frames[0] = (struct frame_sketch){ "kernel", NULL, NULL, "kthread", 0 };
	tell(tally, TALLY_OWN, ours("pay", 0x2000, 10));
	tell(tally, TALLY_OTHER, named);
	tell(tally, TALLY_OWN, nobody);
	compare(tally, &comparison);
	assert_int_equal(comparison.services.count, 2);
	assert_int_equal(find(&comparison, "checkout")->samples[TALLY_OWN], 10);
	assert_int_equal(find(&comparison, "checkout")->samples[TALLY_OTHER], 5);
	assert_int_equal(find(&comparison, "[kernel]")->samples[TALLY_OWN], 4);
	assert_true(isnan(find(&comparison, "[kernel]")->agreement));
}

static void exec_begins_another_service(void **state)
{
	CLEANUP_TALLY struct tally *tally = begun();
	CLEANUP(comparison_deinit) struct comparison comparison;
	struct sketch shell = ours("parse", 0x1000, 2), nameless = theirs(0x2000, 7);

	(void)state;
	shell.executable = "dash";
	nameless.executable = NULL;
	tell(tally, TALLY_OWN, shell);
	tell(tally, TALLY_OWN, ours("pay", 0x2000, 10));
	tell(tally, TALLY_OTHER, nameless);
	shell.times = 3; // tells of what was before
	tell(tally, TALLY_OTHER, shell);
	compare(tally, &comparison);
	assert_int_equal(find(&comparison, "dash")->samples[TALLY_OWN], 2);
	assert_int_equal(find(&comparison, "dash")->samples[TALLY_OTHER], 3);
	assert_int_equal(find(&comparison, "shop")->samples[TALLY_OWN], 10);
	assert_int_equal(find(&comparison, "shop")->samples[TALLY_OTHER], 7);
}

static void what_has_no_name_yet_gets_it_later(void **state)
{
	CLEANUP_TALLY struct tally *tally = begun();
	CLEANUP(comparison_deinit) struct comparison comparison;
	struct sketch young = ours("pay", 0x2000, 4);

	(void)state;
	young.executable = NULL;
	tell(tally, TALLY_OWN, young);
	tell(tally, TALLY_OWN, ours("pay", 0x2000, 10));
	tell(tally, TALLY_OTHER, theirs(0x2000, 10));
	compare(tally, &comparison);
	assert_int_equal(comparison.services.count, 1);
	assert_int_equal(find(&comparison, "shop")->samples[TALLY_OWN], 14);
	assert_int_equal(find(&comparison, "shop")->samples[TALLY_OTHER], 10);
}

static void a_name_without_room_is_no_kernel_thread(void **state)
{
	CLEANUP_TALLY struct tally *tally = begun();
	CLEANUP(comparison_deinit) struct comparison comparison;
	char name[16];

	(void)state;
	for (int i = 0; !tally->places.refused; i++) {
		int length = snprintf(name, sizeof(name), "%d", i);

		places_add_text(&tally->places, name, (size_t)length);
	}
	tell(tally, TALLY_OWN, ours("pay", 0x2000, 10));
	compare(tally, &comparison);
	assert_int_equal(find(&comparison, "(not named)")->samples[TALLY_OWN], 10);
}

/* ---- stacks ---- */

static void a_stack_is_complete_where_ours_end(void **state)
{
	CLEANUP_TALLY struct tally *tally = begun();
	CLEANUP(comparison_deinit) struct comparison comparison;
	struct sketch cut = ours("pay", 0x2000, 3), short_one = theirs(0x2000, 4),
		      marked = theirs(0x2000, 5), kernel = theirs(0x2000, 6),
		      leaving = theirs(0x2000, 7), lone = ours("pay", 0x2000, 1),
		      as_lone = theirs(0x2000, 2);

	(void)state;
	cut.frames[1] = (struct frame_sketch){ "abort-marker", NULL, NULL, "no rule", 0 };
	short_one.frames[1] = (struct frame_sketch){ "native", "aa", "shop", NULL, 0x8000 };
	marked.frames[2] = (struct frame_sketch){ "abort-marker", NULL, NULL, NULL, 0 };
	kernel.frames[0] = (struct frame_sketch){ "kernel", NULL, NULL, "do_syscall_64", 0 };
	kernel.frames[1] = (struct frame_sketch){ 0 };
	leaving.frames[0] = (struct frame_sketch){ "kernel", NULL, NULL, "do_exit.isra.0", 0 };
	leaving.frames[1] = (struct frame_sketch){ 0 };
	tell(tally, TALLY_OWN, ours("pay", 0x2000, 10));
	lone.frames[1] = as_lone.frames[1] =
		(struct frame_sketch){ "native", "aa", "shop", NULL, 0xf000 };
	tell(tally, TALLY_OWN, cut);
	tell(tally, TALLY_OWN, lone);
	tell(tally, TALLY_OTHER, as_lone);
	tell(tally, TALLY_OTHER, theirs(0x2000, 10));
	tell(tally, TALLY_OTHER, short_one);
	tell(tally, TALLY_OTHER, marked);
	tell(tally, TALLY_OTHER, kernel);
	tell(tally, TALLY_OTHER, leaving);
	compare(tally, &comparison);
	assert_int_equal(comparison.all.samples[TALLY_OWN], 14);
	assert_int_equal(comparison.all.whole[TALLY_OWN], 10);
	assert_int_equal(comparison.all.samples[TALLY_OTHER], 34);
	assert_int_equal(comparison.all.whole[TALLY_OTHER], 10 + 7);
}

/* ---- the report ---- */

static char *print(struct tally *tally, const struct comparison *comparison, bool json)
{
	const struct report report = {
		.version = "1",
		.address = "127.0.0.1:4317",
		.tally = tally,
		.comparison = comparison,
		.costs = {
			{ 0.0031, 0.001, 62 << 20, 12 << 20 },
			{ (double)NAN, (double)NAN, (double)NAN, (double)NAN },
		},
	};
	char *text = NULL;
	size_t length;
	FILE *to = open_memstream(&text, &length);

	if (json)
		assert_true(report_print_json(&report, to));
	else
		report_print(&report, to);
	fclose(to);
	return text;
}

static void the_table_is_for_people(void **state)
{
	CLEANUP_TALLY struct tally *tally = begun();
	CLEANUP(comparison_deinit) struct comparison comparison;
	CLEANUP_FREE char *text = NULL;
	struct sketch odd = ours("pay", 0x2000, 1);
	size_t width = 0;

	(void)state;
	odd.pid = 8;
	odd.executable = "evil\033[2J\nname that is much longer than its column is wide";
	tell(tally, TALLY_OWN, ours("pay", 0x2000, 10));
	tell(tally, TALLY_OWN, odd);
	tell(tally, TALLY_OTHER, theirs(0x2000, 10));
	compare(tally, &comparison);
	text = print(tally, &comparison, false);
	assert_non_null(strstr(text, "60.0 s that both have sampled: 2023-11-14 22:13:20 to "
				     "22:14:20 UTC\n"));
	assert_non_null(
		strstr(text, "samples                                  11             10\n"));
	assert_non_null(
		strstr(text, "CPU, % of one                          0.31              -\n"));
	assert_non_null(strstr(text, "shop                                10        10    100.0    "
				     "100.0      100      100        0\n"));
	assert_non_null(strstr(text, "    100.0     100.0  pay (shop)\n"));
	assert_non_null(strstr(text, "--pid N says which it is"));
	assert_null(strchr(text, '\033'));
	assert_non_null(strstr(text, "evil?[2J?name that is much"));
	for (const char *line = text; *line; line += width + (line[width] == '\n')) {
		width = strcspn(line, "\n");
		assert_true(width <= 100);
	}
}

static void many_services_become_one_line(void **state)
{
	CLEANUP_TALLY struct tally *tally = begun();
	CLEANUP(comparison_deinit) struct comparison comparison;
	CLEANUP_FREE char *text = NULL;

	(void)state;
	for (int i = 0; i < 25; i++) {
		struct sketch sketch = ours("pay", 0x2000, 2);
		char name[16];

		snprintf(name, sizeof(name), "program%d", i);
		sketch.pid = 100 + i;
		sketch.executable = name;
		tell(tally, TALLY_OWN, sketch);
	}
	compare(tally, &comparison);
	text = print(tally, &comparison, false);
	assert_non_null(strstr(text, "(5 more)                            10         0"));
	assert_non_null(strstr(text, "all                                 50         0"));
}

static void json_has_the_same(void **state)
{
	CLEANUP_TALLY struct tally *tally = begun();
	CLEANUP(comparison_deinit) struct comparison comparison;
	CLEANUP_FREE char *text = NULL;

	(void)state;
	tell(tally, TALLY_OWN, ours("pay", 0x2000, 10));
	tell(tally, TALLY_OTHER, theirs(0x2000, 10));
	compare(tally, &comparison);
	text = print(tally, &comparison, true);
	assert_non_null(strstr(text, "\"name\": \"shop\""));
	assert_non_null(strstr(text, "\"agreement\": 1.0"));
	assert_non_null(strstr(text, "\"function\": \"pay\""));
	assert_non_null(strstr(text, "\"cpu\": null"));
	assert_non_null(strstr(text, "\"address\": \"127.0.0.1:4317\""));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_the_time_of_both_counts),
		cmocka_unit_test(what_comes_late_still_counts),
		cmocka_unit_test(a_time_in_the_future_covers_nothing),
		cmocka_unit_test(without_the_other_nothing_begins),
		cmocka_unit_test(other_kinds_are_not_compared),
		cmocka_unit_test(addresses_get_the_names_that_ours_have),
		cmocka_unit_test(names_may_come_later),
		cmocka_unit_test(files_are_told_by_their_build),
		cmocka_unit_test(without_build_ids_the_name_of_the_file_counts),
		cmocka_unit_test(rates_do_not_matter_for_agreement),
		cmocka_unit_test(a_service_is_what_either_calls_it),
		cmocka_unit_test(exec_begins_another_service),
		cmocka_unit_test(what_has_no_name_yet_gets_it_later),
		cmocka_unit_test(a_name_without_room_is_no_kernel_thread),
		cmocka_unit_test(a_stack_is_complete_where_ours_end),
		cmocka_unit_test(the_table_is_for_people),
		cmocka_unit_test(many_services_become_one_line),
		cmocka_unit_test(json_has_the_same),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
