// SPDX-License-Identifier: Apache-2.0
/* `transform` on names: of functions, source files and mapped files; what is replaced is gone. */
#include "processor_fixture.h"
#include "shop_batch.h"

#include "base/base.h"
#include "profile/profile.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

extern const struct profcol_component profcol_processor_transform;

#define PROCESSOR (&profcol_processor_transform)

/* Fails unless all of @there occur after @statements, and none of @gone. */
static void expect_texts(const char *statements, const char *const *there, const char *const *gone)
{
	struct processor processor;
	const struct profcol_batch *batch;
	char yaml[1024];

	snprintf(yaml, sizeof(yaml), "error_mode: propagate\nprofile_statements:\n%s", statements);
	processor_start(&processor, PROCESSOR, yaml);
	batch = processor_consume(&processor, shop_batch_create());
	assert_non_null(batch);
	assert_int_equal(profcol_batch_events(batch), SHOP_EVENTS + CRON_EVENTS);
	for (; *there; there++)
		if (!is_anywhere(batch, *there))
			fail_msg("%s: '%s' is not there", statements, *there);
	for (; *gone; gone++)
		if (is_anywhere(batch, *gone))
			fail_msg("%s: '%s' is still there", statements, *gone);
	processor_deinit(&processor);
}

#define TEXTS(...) ((const char *const[]){ __VA_ARGS__, NULL })
#define NONE       ((const char *const[]){ NULL })

static void functions_are_renamed(void **state)
{
	(void)state;
	expect_texts("- replace_pattern(frame.function, \"^sw(ee)p$\", \"$1\")\n",
		     TEXTS("ee", "sweep.c", "cron_main"), NONE);
	expect_texts("- set(frame.function, \"payments\") where frame.function == \"pay\"\n",
		     TEXTS("payments", "tally", "main"), NONE);
	expect_texts("- {context: frame, statements: ['set(function, \"hidden\") where function == "
		     "\"tally\"', 'set(file, \"gone.c\") where function == \"hidden\"']}\n",
		     TEXTS("hidden", "gone.c", "pay"), TEXTS("tally", "tally.c"));
}

static void by_the_mapping_and_by_the_type(void **state)
{
	(void)state;
	expect_texts("- set(frame.function, \"secret\") where mapping.filename == \"/opt/cron\"\n",
		     TEXTS("secret", "pay", "main", "sweep.c"), NONE);
	expect_texts("- set(frame.file, \"\") where frame.type == \"cpython\"\n",
		     TEXTS("sweep", "cron_main.c"), TEXTS("sweep.c"));
	expect_texts("- set(frame.file, \"\")\n- set(frame.function, \"\") where "
		     "mapping.filename == \"/opt/cron\"\n",
		     TEXTS("pay", "tally", "main"), TEXTS("sweep.c", "cron_main"));
}

static void mappings_are_renamed(void **state)
{
	(void)state;
	expect_texts("- replace_pattern(mapping.filename, \"^/usr/bin/\", \"/app/\")\n",
		     TEXTS("/app/shop", "/opt/cron", "0a0b"), TEXTS("/usr/bin"));
	expect_texts("- set(frame.file, \"x.c\") where IsMatch(frame.file, \"^sweep\")\n"
		     "- set(mapping.filename, \"\") where mapping.filename == \"/opt/cron\"\n",
		     TEXTS("x.c", "/usr/bin/shop"), TEXTS("/opt/cron", "sweep.c"));
}

/* Names that have become equal are one function, and one frame of one stack. */
static void what_has_become_equal_is_one(void **state)
{
	struct processor processor;
	const struct profcol_batch *batch;
	struct profcol_batch *before = shop_batch_create();
	uint32_t functions = profcol_batch_count(before, PROFCOL_FUNCTIONS);

	(void)state;
	processor_start(&processor, PROCESSOR,
			"profile_statements: ['set(frame.function, \"f\")', "
			"'set(frame.file, \"f.c\")']");
	batch = processor_consume(&processor, before);
	assert_true(functions > 3);
	assert_int_equal(profcol_batch_count(batch, PROFCOL_FUNCTIONS), 2);
	processor_deinit(&processor);
}

/* A template's arguments and a mangled name go together. */
static void a_mangled_name_goes_with_the_name(void **state)
{
	struct profcol_builder *builder = profcol_builder_create();
	const struct profcol_function function = {
		.name = profcol_builder_cstring(builder, "std::vector<Secret>::push_back"),
		.system_name = profcol_builder_cstring(builder, "_ZNSt6vectorI6SecretE9push_back"),
	};
	const struct profcol_line line = { .function =
						   profcol_builder_function(builder, &function) };
	const struct profcol_location location = { .lines = &line, .line_count = 1 };
	uint32_t id = profcol_builder_location(builder, &location);
	const int64_t value = 1;
	const struct profcol_sample sample = { .stack = profcol_builder_stack(builder, &id, 1),
					       .value_count = 1,
					       .values = &value };
	struct profcol_batch *batch = NULL;
	struct processor processor;
	const struct profcol_batch *after;

	(void)state;
	profcol_builder_add_resource(builder, &(struct profcol_resource){ 0 });
	profcol_builder_add_scope(builder, &(struct profcol_scope){ 0 });
	profcol_builder_add_profile(builder, &(struct profcol_profile){ 0 });
	profcol_builder_add_sample(builder, &sample);
	assert_null(profcol_builder_seal(builder, &batch));
	processor_start(
		&processor, PROCESSOR,
		"profile_statements: ['replace_pattern(frame.function, \"<.*>\", \"<>\")']");
	after = processor_consume(&processor, batch);
	assert_true(is_anywhere(after, "std::vector<>::push_back"));
	assert_false(is_anywhere(after, "Secret"));
	processor_deinit(&processor);
}

/* In attributes, too; and the payload that the profile was made from has it no longer. */
static void replaced_attributes_leave_no_text(void **state)
{
	(void)state;
	expect_texts("- set(sample.attributes[\"user.email\"], \"somebody\") where "
		     "sample.attributes[\"user.email\"] != nil\n",
		     TEXTS("somebody", "user.email"), TEXTS("alice"));
	expect_texts("- delete_key(resource.attributes, \"process.command_line\")\n",
		     TEXTS("cron_main"), TEXTS("hunter2", "process.command_line"));
	expect_texts("- set(scope.name, \"x\")\n- set(scope.version, \"\")\n", TEXTS("pay"),
		     TEXTS("other", "2.0"));
	expect_texts("- replace_all_patterns(sample.attributes, \"value\", \"alice\", \"a\")\n",
		     TEXTS("user.email"), TEXTS("alice"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(functions_are_renamed),
		cmocka_unit_test(by_the_mapping_and_by_the_type),
		cmocka_unit_test(mappings_are_renamed),
		cmocka_unit_test(what_has_become_equal_is_one),
		cmocka_unit_test(a_mangled_name_goes_with_the_name),
		cmocka_unit_test(replaced_attributes_leave_no_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
