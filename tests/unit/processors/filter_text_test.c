// SPDX-License-Identifier: Apache-2.0
/* What `filter` drops leaves no text behind: not in OTLP, not in pprof, not in the batch. */
#include "processor_fixture.h"
#include "shop_batch.h"

#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

extern const struct profcol_component profcol_processor_filter;

/* Of cron, and of nobody else: functions, files, mappings, attributes of every level. */
static const char *const cron_texts[] = {
	"sweep",   "sweep.c", "cron_main",  "/opt/cron",
	"0c0d",    "jobs",    "hunter2",    "process.command_line",
	"sweeper", "alice",   "user.email", "cpython",
	"cron",
};

/* Of shop, for the test that all can be found. */
static const char *const shop_texts[] = {
	"pay", "tally.c", "/usr/bin/shop", "0a0b", "prod", "container.privileged", "web", "native",
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static void expect_only_shop(const char *yaml)
{
	struct processor processor;
	struct profcol_batch *before = shop_batch_create();
	const struct profcol_batch *after;

	for (size_t i = 0; i < COUNT(cron_texts); i++)
		if (!is_anywhere(before, cron_texts[i]))
			fail_msg("the test's own batch lacks '%s'", cron_texts[i]);
	processor_start(&processor, &profcol_processor_filter, yaml);
	after = processor_consume(&processor, before);
	assert_non_null(after);
	for (size_t i = 0; i < COUNT(cron_texts); i++)
		if (is_anywhere(after, cron_texts[i]))
			fail_msg("%s: '%s' is still there", yaml, cron_texts[i]);
	for (size_t i = 0; i < COUNT(shop_texts); i++)
		if (!is_anywhere(after, shop_texts[i]))
			fail_msg("%s: '%s' is gone", yaml, shop_texts[i]);
	processor_deinit(&processor);
}

static void dropped_by_resource(void **state)
{
	(void)state;
	expect_only_shop("profile_conditions:"
			 " ['resource.attributes[\"service.name\"] == \"cron\"']");
	expect_only_shop("profiles: {resource: ['attributes[\"process.pid\"] == 815']}");
}

static void dropped_by_sample(void **state)
{
	(void)state;
	expect_only_shop("profile_conditions: ['sample.attributes[\"user.email\"] != nil']");
}

static void dropped_by_frame(void **state)
{
	(void)state;
	expect_only_shop("profile_conditions: ['frame.function == \"sweep\"']");
}

static void dropped_by_attributes(void **state)
{
	(void)state;
	expect_only_shop("exclude_attributes: [{key: k8s.namespace.name, values: [jobs]}]");
	expect_only_shop("include_attributes: [{key: k8s.namespace.name, values: [prod]}]");
	expect_only_shop("exclude_attributes: [{level: mapping,"
			 " key: process.executable.build_id.gnu, values: ['0c0d']}]");
}

/* The profile that it was made from has the dropped samples, too: "raw: web, batch". */
static void an_original_payload_goes_with_one_of_its_samples(void **state)
{
	struct processor processor;
	const struct profcol_batch *after;
	struct profcol_range samples;
	struct profcol_profile profile;

	(void)state;
	processor_start(&processor, &profcol_processor_filter,
			"profile_conditions: ['sample.attributes[\"thread.name\"] == \"batch\"']");
	after = processor_consume(&processor, shop_batch_create());
	assert_non_null(after);
	assert_false(is_anywhere(after, "batch"));
	profile = profcol_batch_profile(after, 0, &samples);
	assert_int_equal(samples.end - samples.begin, 1);
	assert_int_equal(profile.original_payload, 0);
	assert_int_equal(profile.original_payload_format, 0);
	// Those that lose nothing keep theirs.
	assert_true(is_anywhere(after, "raw: other"));
	assert_true(is_anywhere(after, "raw: sweeper"));
	processor_deinit(&processor);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(dropped_by_resource),
		cmocka_unit_test(dropped_by_sample),
		cmocka_unit_test(dropped_by_frame),
		cmocka_unit_test(dropped_by_attributes),
		cmocka_unit_test(an_original_payload_goes_with_one_of_its_samples),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
