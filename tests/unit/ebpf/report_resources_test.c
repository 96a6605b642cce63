// SPDX-License-Identifier: Apache-2.0
/* Which samples share a resource, and where attributes of a process go. */
#include "report_fixture.h"

#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

static uint32_t resource_attributes(const struct profcol_batch *batch, uint32_t resource)
{
	struct profcol_range scopes;

	return profcol_batch_resource(batch, resource, &scopes).attributes;
}

/* Two processes in one container, one in none, and an idle CPU. */
static struct profcol_batch *build_four(int resource_by)
{
	static const __u64 frames[] = { 0x400800 };
	struct sample_record records[] = {
		sample_record_make(5, 5, 1500, frames, 0, 1),
		sample_record_make(7, 7, 1500, frames, 0, 1),
		sample_record_make(0, 0, 1500, frames, 0, 0),
		sample_record_make(8, 8, 1500, frames, 0, 1),
		sample_record_make(7, 7, 1600, frames, 0, 1),
	};

	fixture_config.resource_by = resource_by;
	for (size_t i = 0; i < sizeof(records) / sizeof(records[0]); i++)
		fixture_append(&records[i]);
	return fixture_build();
}

static void every_process_is_a_resource_of_its_own(void **state)
{
	static const __u64 frames[] = { 0x400800 };
	struct sample_record first = sample_record_make(7, 7, 1500, frames, 0, 1);
	struct sample_record second = sample_record_make(9, 9, 1600, frames, 0, 1);
	struct sample_record idle = sample_record_make(0, 0, 1700, frames, 0, 0);
	PROFCOL_CLEANUP_BATCH struct profcol_batch *batch = NULL;

	(void)state;
	fixture_append(&second);
	fixture_append(&first);
	fixture_append(&idle);
	fixture_append(&second);
	batch = fixture_build();
	assert_int_equal(profcol_batch_count(batch, PROFCOL_RESOURCES), 3);
	assert_int_equal(profcol_batch_count(batch, PROFCOL_PROFILES), 3);
	assert_int_equal(profcol_batch_events(batch), 4);
}

static void by_process_a_resource_says_all_of_its_process(void **state)
{
	PROFCOL_CLEANUP_BATCH struct profcol_batch *batch = build_four(RESOURCE_BY_PROCESS);
	struct profcol_range range;
	uint32_t schema;

	(void)state;
	assert_int_equal(profcol_batch_count(batch, PROFCOL_RESOURCES), 4);
	assert_string_equal(fixture_resource_attribute(batch, 0, "process.pid"), "5");
	assert_null(fixture_resource_attribute(batch, 0, "container.id"));
	assert_null(fixture_resource_attribute(batch, 0, "k8s.pod.uid"));
	assert_string_equal(fixture_resource_attribute(batch, 1, "container.id"), "c0ffee");
	assert_string_equal(fixture_resource_attribute(batch, 1, "k8s.pod.uid"), FIXTURE_POD);
	assert_string_equal(fixture_resource_attribute(batch, 2, "process.pid"), "0");
	assert_null(fixture_resource_attribute(batch, 2, "process.creation.time"));
	assert_string_equal(fixture_resource_attribute(batch, 3, "service.name"), "checkout");
	assert_string_equal(fixture_resource_attribute(batch, 3, "host.name"), "mine");
	assert_string_equal(fixture_resource_attribute(batch, 3, "process.executable.name"),
			    "server");
	assert_non_null(fixture_resource_attribute(batch, 3, "process.creation.time"));
	assert_null(fixture_sample_attribute(batch, 0, "process.pid"));
	assert_string_equal(fixture_sample_attribute(batch, 0, "thread.name"), "worker");
	schema = profcol_batch_resource(batch, 0, &range).schema_url;
	assert_string_equal(profcol_batch_string(batch, schema).bytes,
			    "https://opentelemetry.io/schemas/1.37.0");
	assert_int_equal(profcol_batch_scope(batch, 0, &range).schema_url, schema);
}

static void by_container_samples_say_which_process(void **state)
{
	PROFCOL_CLEANUP_BATCH struct profcol_batch *batch = build_four(RESOURCE_BY_CONTAINER);
	bool checkout = false;

	(void)state;
	assert_int_equal(profcol_batch_count(batch, PROFCOL_RESOURCES), 2);
	assert_int_equal(profcol_batch_count(batch, PROFCOL_PROFILES), 2);
	assert_int_equal(profcol_batch_count(batch, PROFCOL_SAMPLES), 4);
	assert_int_equal(profcol_batch_events(batch), 5);
	// Those in no container come first.
	assert_int_equal(resource_attributes(batch, 0), 0);
	assert_string_equal(fixture_resource_attribute(batch, 1, "container.id"), "c0ffee");
	assert_string_equal(fixture_resource_attribute(batch, 1, "k8s.pod.uid"), FIXTURE_POD);
	assert_null(fixture_resource_attribute(batch, 1, "process.pid"));
	for (uint32_t i = 0; i < 4; i++) {
		const char *name = fixture_sample_attribute(batch, i, "service.name");

		assert_non_null(fixture_sample_attribute(batch, i, "process.pid"));
		assert_null(fixture_sample_attribute(batch, i, "container.id"));
		assert_null(fixture_sample_attribute(batch, i, "k8s.pod.uid"));
		if (name && !strcmp(fixture_sample_attribute(batch, i, "process.pid"), "8"))
			checkout = true;
		else
			assert_null(name);
	}
	assert_true(checkout);
}

static void by_host_there_is_one_resource_without_attributes(void **state)
{
	PROFCOL_CLEANUP_BATCH struct profcol_batch *batch = build_four(RESOURCE_BY_HOST);
	unsigned int in_container = 0;

	(void)state;
	assert_int_equal(profcol_batch_count(batch, PROFCOL_RESOURCES), 1);
	assert_int_equal(resource_attributes(batch, 0), 0);
	assert_int_equal(profcol_batch_count(batch, PROFCOL_SAMPLES), 4);
	for (uint32_t i = 0; i < 4; i++) {
		assert_non_null(fixture_sample_attribute(batch, i, "process.pid"));
		in_container += fixture_sample_attribute(batch, i, "container.id") != NULL;
	}
	assert_int_equal(in_container, 2);
}

static void containers_of_pods_are_met_as_of_their_first_sample(void **state)
{
	static const __u64 frames[] = { 0x400800 };
	struct sample_record later = sample_record_make(7, 7, 1500, frames, 0, 1);
	struct sample_record first = sample_record_make(8, 8, 1400, frames, 0, 1);
	struct sample_record apart = sample_record_make(77, 77, 1300, frames, 0, 1);
	struct sample_record outside = sample_record_make(5, 5, 1200, frames, 0, 1);
	uint64_t first_ns = 0;

	(void)state;
	fixture_append(&later);
	fixture_append(&first);
	fixture_append(&apart);
	fixture_append(&outside);
	profcol_batch_unref(fixture_build());
	assert_true(containers_find(&fixture_containers, "c0ffee", &first_ns));
	assert_int_equal(first_ns, 1400);
	assert_int_equal(fixture_containers.rows.count, 1);
}

#define WITH_CAPTURE(test) cmocka_unit_test_setup_teardown(test, fixture_set_up, fixture_tear_down)

static void a_program_is_what_its_runtime_says(void **state)
{
	static const __u64 frames[] = { 0x400800 };
	const struct sample_record record = sample_record_make(78, 78, 1500, frames, 0, 1);
	PROFCOL_CLEANUP_BATCH struct profcol_batch *batch = NULL;
	CLEANUP_FREE char *text = NULL;

	(void)state;
	fixture_append(&record);
	batch = fixture_build();
	text = fixture_print(batch);
	fixture_expect_text(text, "process.runtime.version");
	fixture_expect_text(text, "17.0.15+6");
	fixture_expect_text(text, "profcol.process.main");
	fixture_expect_text(text, "shop.jar");
	// What is not known is not said.
	assert_null(strstr(text, "process.runtime.name"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_CAPTURE(every_process_is_a_resource_of_its_own),
		WITH_CAPTURE(by_process_a_resource_says_all_of_its_process),
		WITH_CAPTURE(by_container_samples_say_which_process),
		WITH_CAPTURE(by_host_there_is_one_resource_without_attributes),
		WITH_CAPTURE(a_program_is_what_its_runtime_says),
		WITH_CAPTURE(containers_of_pods_are_met_as_of_their_first_sample),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
