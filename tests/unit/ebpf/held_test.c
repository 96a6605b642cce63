// SPDX-License-Identifier: Apache-2.0
/* Who waits in the receiver, for how long, and that what waits comes out as it went in. */
#include "containers.h"
#include "held.h"

#include "profile/profile.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#define SECOND 1000000000ull

/* ---- memory that ends: linked with --wrap ---- */

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *pointer, size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *pointer, size_t bytes);

static unsigned int until_failure; /* allocations that succeed before one fails; 0 = all do */

static bool fails_now(void)
{
	return until_failure && --until_failure == 0;
}

/* While the test itself needs memory. */
static unsigned int suspend_failures(void)
{
	unsigned int countdown = until_failure;

	until_failure = 0;
	return countdown;
}

void *__wrap_malloc(size_t bytes)
{
	return fails_now() ? NULL : __real_malloc(bytes);
}

void *__wrap_calloc(size_t count, size_t bytes)
{
	return fails_now() ? NULL : __real_calloc(count, bytes);
}

void *__wrap_realloc(void *pointer, size_t bytes)
{
	return fails_now() ? NULL : __real_realloc(pointer, bytes);
}

/* ---- a host, and who comes after ---- */

static struct {
	struct containers containers;
	struct held *held;
	char known[16];       /* the container that those behind know; "*": all */
	unsigned int asked;   /* times */
	char passed[1 << 18]; /* what came out, as text */
	size_t length;
	uint64_t samples; /* that came out */
	unsigned int batches;
	struct profcol_batch *last; /* borrowed: the address only */
} here;

static struct {
	char name[64];
	struct profcol_metric metric;
} metrics[16];

static struct profcol_metric *find_metric(const struct profcol_host *host,
					  enum profcol_metric_kind kind, const char *name,
					  const char *label, const char *doc)
{
	char full[64];
	size_t i = 0;

	(void)host;
	(void)kind;
	(void)doc;
	snprintf(full, sizeof(full), "%s{%s}", name, label);
	while (metrics[i].name[0] && strcmp(metrics[i].name, full) != 0)
		i++;
	assert_true(i < 16);
	strcpy(metrics[i].name, full);
	return &metrics[i].metric;
}

static void expect_metric(const char *name, int64_t value)
{
	for (size_t i = 0; i < 16; i++)
		if (!strcmp(metrics[i].name, name)) {
			assert_int_equal(profcol_metric_get(&metrics[i].metric), value);
			return;
		}
	fail_msg("no '%s'", name);
}

static bool is_known(const struct profcol_host *host, const char *key, const char *value)
{
	(void)host;
	assert_string_equal(key, "container.id");
	here.asked++;
	return !strcmp(here.known, "*") || !strcmp(here.known, value);
}

static const struct profcol_host host = { .metric = find_metric, .known = is_known };

static void take(void *context, struct profcol_batch *batch)
{
	unsigned int countdown = suspend_failures();
	FILE *stream = fmemopen(here.passed + here.length, sizeof(here.passed) - here.length, "w");

	assert_ptr_equal(context, &here);
	if (profcol_batch_events(batch) < 1000)
		assert_null(profile_print(batch, stream));
	fclose(stream);
	here.length += strlen(here.passed + here.length);
	here.samples += profcol_batch_events(batch);
	here.batches++;
	here.last = batch;
	profcol_batch_unref(batch);
	until_failure = countdown;
}

static void begin(uint64_t new_ns)
{
	memset(&here, 0, sizeof(here));
	memset(metrics, 0, sizeof(metrics));
	containers_init(&here.containers);
	here.held = held_create(&host, &here.containers, new_ns, take, &here);
	assert_non_null(here.held);
}

static void forget_passed(void)
{
	here.passed[0] = '\0';
	here.length = here.samples = here.batches = 0;
}

/* Nothing is lost: the rest comes out in the end. */
static void end(uint64_t samples)
{
	held_flush(here.held);
	assert_int_equal(here.samples, samples);
	expect_metric("held_samples{}", 0);
	expect_metric("held_bytes{}", 0);
	held_destroy(here.held);
	containers_deinit(&here.containers);
}

/* ---- batches ---- */

static void add_resource(struct profcol_builder *builder, unsigned int container, uint64_t time_ns,
			 int64_t samples)
{
	struct profcol_location location = { .address = container };
	uint32_t attributes[2], at;
	char id[16];

	snprintf(id, sizeof(id), "%u", container);
	attributes[0] = profcol_builder_attribute_int(builder, "process.pid", container);
	attributes[1] = profcol_builder_attribute_string(builder, "container.id", id, strlen(id));
	profcol_builder_add_resource(
		builder,
		&(struct profcol_resource){ .attributes = profcol_builder_attribute_list(
						    builder, attributes, container == 1 ? 1 : 2) });
	profcol_builder_add_scope(builder, &(struct profcol_scope){ 0 });
	profcol_builder_add_profile(
		builder, &(struct profcol_profile){
				 .sample_type = profcol_builder_cstring(builder, "samples"),
				 .sample_unit = profcol_builder_cstring(builder, "count"),
				 .time_unix_ns = time_ns,
				 .duration_ns = SECOND,
			 });
	at = profcol_builder_location(builder, &location);
	profcol_builder_add_sample(builder, &(struct profcol_sample){
						    .stack = profcol_builder_stack(builder, &at, 1),
						    .values = &samples,
						    .value_count = 1,
					    });
}

/* A sample of each of the processes 1 and @first (0: none), and two of @second (0: none). */
static struct profcol_batch *make_batch(unsigned int first, unsigned int second, uint64_t time_ns)
{
	struct profcol_builder *builder = profcol_builder_create();
	struct profcol_batch *batch = NULL;

	assert_non_null(builder);
	add_resource(builder, 1, time_ns, 1);
	if (first)
		add_resource(builder, first, time_ns, 1);
	if (second)
		add_resource(builder, second, time_ns, 2);
	assert_null(profcol_builder_seal(builder, &batch));
	return batch;
}

static struct profcol_batch *make_large_batch(unsigned int container, int64_t samples, size_t bytes)
{
	struct profcol_builder *builder = profcol_builder_create();
	struct profcol_batch *batch = NULL;
	char *text = calloc(1, bytes + 1);

	assert_non_null(builder);
	add_resource(builder, container, 1, samples);
	memset(text, 'x', bytes);
	profcol_builder_string(builder, text, bytes);
	free(text);
	assert_null(profcol_builder_seal(builder, &batch));
	return batch;
}

/* The reporter has met the container @id in a sample at @time_ns. */
static void meet(unsigned int id, uint64_t time_ns)
{
	char text[16];

	snprintf(text, sizeof(text), "%u", id);
	containers_meet(&here.containers, text, time_ns);
}

static char *print(const struct profcol_batch *batch)
{
	char *text = NULL;
	size_t size;
	FILE *stream = open_memstream(&text, &size);

	assert_null(profile_print(batch, stream));
	fclose(stream);
	return text;
}

/* ---- tests ---- */

static void without_anybody_who_has_to_know_a_batch_goes_on_as_it_is(void **state)
{
	struct profcol_batch *batch = make_batch(7, 8, 100);

	(void)state;
	begin(10 * SECOND);
	strcpy(here.known, "*");
	meet(7, SECOND);
	meet(8, SECOND);
	held_add(here.held, batch, 2 * SECOND);
	assert_int_equal(here.batches, 1);
	assert_ptr_equal(here.last, batch);
	assert_int_equal(here.samples, 4);
	end(4);
}

static void a_new_container_waits_until_it_is_known(void **state)
{
	struct profcol_batch *batch = make_batch(7, 8, 100);
	PROFCOL_CLEANUP_BATCH struct profcol_batch *rest = make_batch(7, 0, 100);
	CLEANUP_FREE char *whole = print(batch), *at_once = print(rest);

	(void)state;
	begin(10 * SECOND);
	meet(7, 0);
	meet(8, 15 * SECOND);
	held_add(here.held, batch, 16 * SECOND);
	assert_string_equal(here.passed, at_once);
	expect_metric("held_samples{}", 2);

	held_check(here.held, 17 * SECOND);
	assert_int_equal(here.samples, 2);
	strcpy(here.known, "8");
	held_check(here.held, 18 * SECOND);
	assert_int_equal(here.batches, 2);
	// With the same names, times and window: text is in the order of the batch.
	assert_string_equal(here.passed, whole);
	expect_metric("held_samples{}", 0);
	expect_metric("held_samples_released{reason=known}", 2);
	expect_metric("held_samples_released{reason=age}", 0);
	end(4);
}

static void a_container_waits_no_longer_than_it_is_new(void **state)
{
	(void)state;
	begin(10 * SECOND);
	meet(7, 3 * SECOND);
	held_add(here.held, make_batch(7, 0, 100), 5 * SECOND);
	held_check(here.held, 13 * SECOND - 1);
	assert_int_equal(here.samples, 1);
	held_check(here.held, 13 * SECOND);
	assert_int_equal(here.samples, 2);
	expect_metric("held_samples_released{reason=age}", 1);

	// From then on it does not wait, and nobody is asked.
	here.asked = 0;
	meet(7, 14 * SECOND);
	held_add(here.held, make_batch(7, 0, 100), 15 * SECOND);
	assert_int_equal(here.samples, 4);
	assert_int_equal(here.asked, 0);
	end(4);
}

static void of_one_batch_each_container_goes_on_for_itself(void **state)
{
	(void)state;
	begin(10 * SECOND);
	meet(7, 0);
	meet(8, 5 * SECOND);
	held_add(here.held, make_batch(7, 8, 100), 6 * SECOND);
	expect_metric("held_samples{}", 3);
	forget_passed();
	strcpy(here.known, "8");
	held_check(here.held, 7 * SECOND);
	assert_int_equal(here.samples, 2);
	assert_non_null(strstr(here.passed, "\"8\""));
	assert_null(strstr(here.passed, "\"7\""));
	expect_metric("held_samples{}", 1);
	held_check(here.held, 10 * SECOND);
	expect_metric("held_samples_released{reason=age}", 1);
	expect_metric("held_samples_released{reason=known}", 2);
	end(3);
}

static void batches_of_several_intervals_go_on_in_their_order(void **state)
{
	char *first, *second;

	(void)state;
	begin(10 * SECOND);
	meet(7, 0);
	held_add(here.held, make_batch(7, 0, 111), SECOND);
	held_add(here.held, make_batch(7, 0, 222), 2 * SECOND);
	expect_metric("held_samples{}", 2);
	forget_passed();
	strcpy(here.known, "*");
	held_check(here.held, 3 * SECOND);
	assert_int_equal(here.batches, 2);
	first = strstr(here.passed, "111");
	second = strstr(here.passed, "222");
	assert_non_null(first);
	assert_non_null(second);
	assert_true(first < second);
	end(2);
}

static void beyond_the_bounds_the_oldest_goes_on(void **state)
{
	(void)state;
	begin(10 * SECOND);
	for (unsigned int id = 7; id < 10; id++)
		meet(id, 0);
	held_add(here.held, make_large_batch(7, 60000, 1), SECOND);
	assert_int_equal(here.samples, 0);
	held_add(here.held, make_large_batch(8, 50000, 1), SECOND);
	assert_int_equal(here.samples, 60000);
	expect_metric("held_samples{}", 50000);
	expect_metric("held_samples_released{reason=bound}", 60000);

	held_add(here.held, make_large_batch(9, 5, 17 << 20), SECOND);
	assert_int_equal(here.samples, 60000 + 50000 + 5); // alone it is too large, too
	expect_metric("held_bytes{}", 0);
	end(60000 + 50000 + 5);
}

static void no_more_batches_wait_than_those_behind_can_take_at_once(void **state)
{
	(void)state;
	begin(600 * SECOND);
	meet(7, 0);
	for (unsigned int i = 0; i < 300; i++)
		held_add(here.held, make_large_batch(7, 1, 1), SECOND);
	expect_metric("held_samples{}", 256);
	expect_metric("held_samples_released{reason=bound}", 44);
	assert_int_equal(here.batches, 44);
	end(300);
}

/* Of five processes four are in one container. */
static void of_each_container_is_asked_once(void **state)
{
	struct profcol_builder *builder = profcol_builder_create();
	struct profcol_batch *batch = NULL;

	(void)state;
	begin(10 * SECOND);
	meet(7, 0);
	meet(8, 0);
	for (unsigned int i = 0; i < 4; i++)
		add_resource(builder, 7, 100, 1);
	add_resource(builder, 8, 100, 1);
	assert_null(profcol_builder_seal(builder, &batch));
	held_add(here.held, batch, SECOND);
	assert_int_equal(here.asked, 2);
	expect_metric("held_samples{}", 5);
	end(5);
}

static void who_was_never_met_does_not_wait(void **state)
{
	(void)state;
	begin(10 * SECOND);
	meet(8, 0);
	held_add(here.held, make_batch(7, 0, 100), SECOND);
	assert_int_equal(here.samples, 2);
	assert_int_equal(here.asked, 0);
	end(2);
}

static void at_the_end_all_goes_on_and_nothing_is_held(void **state)
{
	(void)state;
	begin(10 * SECOND);
	meet(7, 0);
	held_add(here.held, make_batch(7, 0, 100), SECOND);
	assert_int_equal(here.samples, 1);
	held_flush(here.held);
	assert_int_equal(here.samples, 2);
	expect_metric("held_samples_released{reason=shutdown}", 1);
	meet(8, SECOND);
	held_add(here.held, make_batch(7, 8, 100), SECOND);
	end(6);
}

static void with_the_option_at_zero_nothing_is_held(void **state)
{
	(void)state;
	begin(0);
	meet(7, SECOND);
	held_add(here.held, make_batch(7, 0, 100), SECOND);
	assert_int_equal(here.samples, 2);
	assert_int_equal(here.asked, 0);
	end(2);
}

/* One run with the allocation number @failing missing. False when it had not come so far. */
static bool run_without_memory(unsigned int failing)
{
	struct profcol_batch *first = make_batch(7, 8, 100), *second = make_batch(7, 8, 200);
	bool done;

	begin(10 * SECOND);
	until_failure = failing;
	meet(7, SECOND);
	meet(8, SECOND);
	held_add(here.held, first, 2 * SECOND);
	held_add(here.held, second, 2 * SECOND);
	strcpy(here.known, "8");
	held_check(here.held, 3 * SECOND);
	done = until_failure == 0;
	until_failure = 0;
	end(8);
	return done;
}

static void without_memory_nothing_is_lost(void **state)
{
	unsigned int failing = 1;

	(void)state;
	while (run_without_memory(failing))
		failing++;
	assert_true(failing > 10);
}

static void the_longest_unseen_containers_are_forgotten(void **state)
{
	struct containers containers;
	uint64_t first_ns;
	char id[16];

	(void)state;
	containers_init(&containers);
	for (unsigned int i = 0; i < 100000; i++) {
		snprintf(id, sizeof(id), "%u", i);
		containers_meet(&containers, id, i + 1);
		containers_meet(&containers, "always", i + 1);
	}
	assert_true(containers.rows.count <= 2048);
	assert_true(containers_find(&containers, "always", &first_ns));
	assert_int_equal(first_ns, 1);
	assert_true(containers_find(&containers, "99999", &first_ns));
	assert_int_equal(first_ns, 100000);
	assert_true(containers_find(&containers, "99500", &first_ns));
	assert_false(containers_find(&containers, "0", &first_ns));
	containers_deinit(&containers);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_anybody_who_has_to_know_a_batch_goes_on_as_it_is),
		cmocka_unit_test(a_new_container_waits_until_it_is_known),
		cmocka_unit_test(a_container_waits_no_longer_than_it_is_new),
		cmocka_unit_test(of_one_batch_each_container_goes_on_for_itself),
		cmocka_unit_test(batches_of_several_intervals_go_on_in_their_order),
		cmocka_unit_test(beyond_the_bounds_the_oldest_goes_on),
		cmocka_unit_test(no_more_batches_wait_than_those_behind_can_take_at_once),
		cmocka_unit_test(of_each_container_is_asked_once),
		cmocka_unit_test(who_was_never_met_does_not_wait),
		cmocka_unit_test(at_the_end_all_goes_on_and_nothing_is_held),
		cmocka_unit_test(with_the_option_at_zero_nothing_is_held),
		cmocka_unit_test(without_memory_nothing_is_lost),
		cmocka_unit_test(the_longest_unseen_containers_are_forgotten),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
