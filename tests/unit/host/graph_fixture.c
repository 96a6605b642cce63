// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "graph_fixture.h"

#include <unistd.h>

const struct instance_settings quiet = {
	.version = "0.0.0-test",
	.level = PROFCOL_ERROR,
	.log_fd = STDERR_FILENO,
};

const struct lifecycle_patience patience = {
	.drain_ns = 5 * PROFCOL_SECOND,
	.grace_ns = 5 * PROFCOL_SECOND,
};

struct fake_journal journal;

int fresh_journal(void **state)
{
	(void)state;
	fake_journal_init(&journal);
	return 0;
}

struct graph *build(const struct config *config)
{
	struct profcol_error *error;
	struct graph *graph = NULL;

	error = graph_create(config, &quiet, &graph);
	if (error)
		fail_msg("%s", profcol_error_message(error));
	return graph;
}

void expect_success(struct profcol_error *error)
{
	if (error)
		fail_msg("%s", profcol_error_message(error));
}

void expect_error(struct profcol_error *error, enum profcol_code code, const char *message)
{
	assert_non_null(error);
	assert_string_equal(profcol_error_message(error), message);
	assert_int_equal(profcol_error_code(error), code);
	profcol_error_destroy(error);
}

void end(struct graph *graph)
{
	expect_success(lifecycle_shutdown(graph, &patience));
	graph_destroy(graph);
}
