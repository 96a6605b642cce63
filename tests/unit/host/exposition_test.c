// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "host/telemetry/exposition.h"

#include <stdio.h>
#include <string.h>

static const struct exposition_family sent = { "sent_samples", "", "Samples\nsent\\",
					       EXPOSITION_COUNTER };
static const struct exposition_family memory = { "memory_rss", "bytes", "Memory",
						 EXPOSITION_GAUGE };
static const struct exposition_family cpu = { "cpu_seconds", "seconds", "CPU", EXPOSITION_COUNTER };
static const struct exposition_family sizes = { "batch_size", "", "Sizes", EXPOSITION_HISTOGRAM };
static const struct exposition_style plain = { .labels = "" };
static const struct exposition_labels none;

static struct exposition exposition;

static int tear_down(void **state)
{
	(void)state;
	exposition_deinit(&exposition);
	memset(&exposition, 0, sizeof(exposition));
	return 0;
}

static struct exposition_labels of(const char *exporter)
{
	struct exposition_labels labels = { .length = 0 };

	exposition_label(&labels, "exporter", exporter);
	return labels;
}

static void expect(const struct exposition_style *style, const char *wanted)
{
	size_t length = 0;
	CLEANUP_FREE char *text = exposition_write(&exposition, style, &length);

	assert_non_null(text);
	text = realloc(text, length + 1);
	text[length] = '\0';
	assert_string_equal(text, wanted);
}

static void families_and_rows_are_in_order_with_one_head_each(void **state)
{
	struct exposition_labels b = of("b"), a = of("a");

	(void)state;
	exposition_add(&exposition, &sent, &b, 2);
	exposition_add(&exposition, &memory, &none, 4096);
	exposition_add(&exposition, &sent, &a, 1);
	exposition_add_real(&exposition, &cpu, &none, 1.25);
	expect(&plain, "# HELP cpu_seconds CPU\n# TYPE cpu_seconds counter\ncpu_seconds 1.25\n"
		       "# HELP memory_rss Memory\n# TYPE memory_rss gauge\nmemory_rss 4096\n"
		       "# HELP sent_samples Samples\\nsent\\\\\n# TYPE sent_samples counter\n"
		       "sent_samples{exporter=\"a\"} 1\nsent_samples{exporter=\"b\"} 2\n");
}

static void a_series_that_comes_twice_is_added_up(void **state)
{
	struct exposition_labels a = of("a");

	(void)state;
	exposition_add(&exposition, &sent, &a, 1);
	exposition_add(&exposition, &sent, &a, 10);
	expect(&plain, "# HELP sent_samples Samples\\nsent\\\\\n# TYPE sent_samples counter\n"
		       "sent_samples{exporter=\"a\"} 11\n");
}

static void the_next_scrape_knows_nothing_of_the_last(void **state)
{
	struct exposition_labels a = of("a");

	(void)state;
	exposition_add(&exposition, &sent, &a, 1);
	exposition_clear(&exposition);
	exposition_add(&exposition, &memory, &none, 1);
	expect(&plain, "# HELP memory_rss Memory\n# TYPE memory_rss gauge\nmemory_rss 1\n");
}

static void suffixes_come_once(void **state)
{
	static const struct exposition_style style = { true, true, "" };

	(void)state;
	exposition_add(&exposition, &sent, &none, 1);
	exposition_add(&exposition, &memory, &none, 2);
	exposition_add_real(&exposition, &cpu, &none, 3);
	expect(&style, "# HELP cpu_seconds_total CPU\n# TYPE cpu_seconds_total counter\n"
		       "cpu_seconds_total 3\n"
		       "# HELP memory_rss_bytes Memory\n# TYPE memory_rss_bytes gauge\n"
		       "memory_rss_bytes 2\n"
		       "# HELP sent_samples_total Samples\\nsent\\\\\n"
		       "# TYPE sent_samples_total counter\nsent_samples_total 1\n");
}

static void labels_are_made_valid(void **state)
{
	struct exposition_labels labels = { .length = 0 };

	(void)state;
	exposition_label(&labels, "service.instance..id", "a\"b\\c\nd");
	exposition_label(&labels, "1st", "\xff");
	exposition_label(&labels, "", "nothing");
	assert_string_equal(labels.text, "service_instance_id=\"a\\\"b\\\\c\\nd\",_1st=\"?\"");
}

static void too_long_a_value_is_cut_between_characters(void **state)
{
	struct exposition_labels labels = { .length = 0 };
	char value[600];

	(void)state;
	memset(value, 'x', sizeof(value) - 1);
	value[sizeof(value) - 1] = '\0';
	memcpy(value + 255, "\xc3\xa9", 2);
	exposition_label(&labels, "k", value);
	assert_int_equal(labels.length, strlen("k=\"\"") + 255);
	for (int i = 0; i < 100; i++) {
		char key[8];

		snprintf(key, sizeof(key), "more%d", i);
		exposition_label(&labels, key, value);
	}
	assert_true(labels.length < sizeof(labels.text));
	assert_int_equal(strlen(labels.text), labels.length);
}

static void a_key_is_there_once(void **state)
{
	static const struct exposition_style style = {
		.labels = "a_b=\"x,le=\\\"y\",exporter=\"z\",le=\"1\"",
	};
	static const struct exposition_family info = { "info", "", "Info", EXPOSITION_GAUGE,
						       .bare = true };
	static const uint64_t bounds[] = { 10 }, counts[] = { 1, 0 };
	const struct exposition_histogram histogram = { bounds, 1, counts, 5 };
	struct exposition_labels labels = of("a"), twice = { .length = 0 };

	(void)state;
	assert_true(exposition_label(&twice, "a.b", "1,a_c=\"2\""));
	assert_true(exposition_label(&twice, "a_b", "2"));
	assert_true(exposition_label(&twice, "a_c", "3"));
	assert_string_equal(twice.text, "a_b=\"1,a_c=\\\"2\\\"\",a_c=\"3\"");
	exposition_add_histogram(&exposition, &sizes, &labels, &histogram);
	exposition_add(&exposition, &info, &labels, 1);
	exposition_add(&exposition, &memory, &none, 1);
	expect(&style, "# HELP batch_size Sizes\n# TYPE batch_size histogram\n"
		       "batch_size_bucket{exporter=\"a\",a_b=\"x,le=\\\"y\",le=\"10\"} 1\n"
		       "batch_size_bucket{exporter=\"a\",a_b=\"x,le=\\\"y\",le=\"+Inf\"} 1\n"
		       "batch_size_sum{exporter=\"a\",a_b=\"x,le=\\\"y\"} 5\n"
		       "batch_size_count{exporter=\"a\",a_b=\"x,le=\\\"y\"} 1\n"
		       "# HELP info Info\n# TYPE info gauge\ninfo{exporter=\"a\"} 1\n"
		       "# HELP memory_rss Memory\n# TYPE memory_rss gauge\n"
		       "memory_rss{a_b=\"x,le=\\\"y\",exporter=\"z\",le=\"1\"} 1\n");
}

static void labels_fill_the_room_there_is(void **state)
{
	struct exposition_labels labels = { .length = 0 };
	char key[8];
	int count = 0;

	(void)state;
	do
		snprintf(key, sizeof(key), "k%03d", count);
	while (exposition_label(&labels, key, "0123456789") && ++count < 1000);
	assert_int_equal(count, sizeof(labels.text) / strlen(",k000=\"0123456789\""));
	assert_int_equal(strlen(labels.text), labels.length);
}

static void a_histogram_adds_up_its_buckets(void **state)
{
	static const struct exposition_style style = { .labels = "job=\"x\"" };
	static const uint64_t bounds[] = { 10, 100 }, counts[] = { 1, 0, 2 };
	struct exposition_labels a = of("a");
	const struct exposition_histogram histogram = { bounds, 2, counts, 5000 };

	(void)state;
	exposition_add_histogram(&exposition, &sizes, &a, &histogram);
	exposition_add_histogram(&exposition, &sizes, &a, &histogram);
	expect(&style, "# HELP batch_size Sizes\n# TYPE batch_size histogram\n"
		       "batch_size_bucket{exporter=\"a\",job=\"x\",le=\"10\"} 2\n"
		       "batch_size_bucket{exporter=\"a\",job=\"x\",le=\"100\"} 2\n"
		       "batch_size_bucket{exporter=\"a\",job=\"x\",le=\"+Inf\"} 6\n"
		       "batch_size_sum{exporter=\"a\",job=\"x\"} 10000\n"
		       "batch_size_count{exporter=\"a\",job=\"x\"} 6\n");
}

static void a_family_has_one_type(void **state)
{
	static const struct exposition_family other = { "sent_samples", "", "", EXPOSITION_GAUGE };
	struct exposition_labels a = of("a"), b = of("b");

	(void)state;
	exposition_add(&exposition, &sent, &a, 1);
	exposition_add(&exposition, &other, &b, 1);
	expect(&plain, "# HELP sent_samples Samples\\nsent\\\\\n# TYPE sent_samples counter\n"
		       "sent_samples{exporter=\"a\"} 1\n");
}

static void nothing_is_an_empty_text(void **state)
{
	size_t length = 1;
	CLEANUP_FREE char *text = exposition_write(&exposition, &plain, &length);

	(void)state;
	assert_int_equal(length, 0);
}

#define CLEAN(test) cmocka_unit_test_teardown(test, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CLEAN(families_and_rows_are_in_order_with_one_head_each),
		CLEAN(a_series_that_comes_twice_is_added_up),
		CLEAN(the_next_scrape_knows_nothing_of_the_last),
		CLEAN(suffixes_come_once),
		CLEAN(labels_are_made_valid),
		CLEAN(too_long_a_value_is_cut_between_characters),
		CLEAN(a_key_is_there_once),
		CLEAN(labels_fill_the_room_there_is),
		CLEAN(a_histogram_adds_up_its_buckets),
		CLEAN(a_family_has_one_type),
		CLEAN(nothing_is_an_empty_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
