// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "host/metrics.h"

#include <stdio.h>
#include <string.h>

static void append_entry(const struct metrics_entry *entry, void *context)
{
	char *text = context;

	snprintf(text + strlen(text), 256, "%s{%s}=%d ", entry->name, entry->label,
		 (int)profcol_metric_get(&entry->metric));
}

static void the_same_name_and_label_is_the_same_metric(void **state)
{
	struct profcol_metric *files, *tables;
	struct metrics metrics;
	char label[] = "cause=elf", text[512] = "";

	(void)state;
	metrics_init(&metrics);
	files = metrics_register(&metrics, PROFCOL_COUNTER, "files", "", "files written");
	tables = metrics_register(&metrics, PROFCOL_COUNTER, "failures", label, "by cause");
	label[6] = 'X'; // the registry has a copy
	assert_ptr_equal(metrics_register(&metrics, PROFCOL_COUNTER, "files", NULL, NULL), files);
	assert_ptr_equal(metrics_register(&metrics, PROFCOL_COUNTER, "failures", "cause=elf", ""),
			 tables);
	assert_ptr_not_equal(metrics_register(&metrics, PROFCOL_GAUGE, "failures", "", ""), tables);
	profcol_metric_add(files, 2);
	profcol_metric_add(files, 1);
	profcol_metric_set(tables, 9);
	metrics_visit(&metrics, append_entry, text);
	assert_string_equal(text, "files{}=3 failures{cause=elf}=9 failures{}=0 ");
	metrics_deinit(&metrics);
}

static void labels_made_of_foreign_data_do_not_eat_memory(void **state)
{
	struct profcol_metric *metric = NULL;
	struct metrics metrics;
	char label[32];

	(void)state;
	metrics_init(&metrics);
	for (int i = 0; i < 3 * METRICS_MAX; i++) {
		snprintf(label, sizeof(label), "pid=%d", i);
		metric = metrics_register(&metrics, PROFCOL_COUNTER, "per_process", label, "");
		assert_non_null(metric);
		profcol_metric_add(metric, 1);
	}
	assert_int_equal(metrics.count, METRICS_MAX);
	assert_int_equal(metrics_left_out(&metrics), 2 * METRICS_MAX);
	assert_int_equal(profcol_metric_get(metric), 2 * METRICS_MAX);
	metrics_deinit(&metrics);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_same_name_and_label_is_the_same_metric),
		cmocka_unit_test(labels_made_of_foreign_data_do_not_eat_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
