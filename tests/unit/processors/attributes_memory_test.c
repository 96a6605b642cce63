// SPDX-License-Identifier: Apache-2.0
/*
 * Actions without memory. The linker leads every allocation of this program through the functions
 * below (--wrap), which let the n-th fail: n grows until all of a transformation goes through.
 * Leaks are the sanitizers' to find.
 */
#include "shop_batch.h"

#include "attributes/attributes.h"
#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *memory, size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *memory, size_t bytes);

static long allocations_left = -1; /* that still go through; -1 = all */

static bool allocation_fails(void)
{
	if (allocations_left > 0)
		allocations_left--;
	return !allocations_left;
}

void *__wrap_malloc(size_t bytes)
{
	return allocation_fails() ? NULL : __real_malloc(bytes);
}

void *__wrap_calloc(size_t count, size_t bytes)
{
	return allocation_fails() ? NULL : __real_calloc(count, bytes);
}

void *__wrap_realloc(void *memory, size_t bytes)
{
	return allocation_fails() ? NULL : __real_realloc(memory, bytes);
}

#define NOTHING     .pattern = "", .from_attribute = "", .from_context = "", .converted_type = ""
#define TEXT(text_) { .type = PROFCOL_ANY_TEXT, .text = (text_) }

static const struct attributes_action_config configs[] = {
	{ NOTHING, .key = "new", .action = "insert", .value = TEXT("value") },
	{ NOTHING, .key = "thread.name", .action = "hash" },
	{ .key = "thread.name",
	  .action = "extract",
	  .pattern = "(?P<first>.)(?P<second>.)",
	  .from_attribute = "",
	  .from_context = "",
	  .converted_type = "" },
	{ .key = "cpu",
	  .action = "convert",
	  .converted_type = "string",
	  .pattern = "",
	  .from_attribute = "",
	  .from_context = "" },
	{ NOTHING, .key = "user.email", .action = "delete" },
};

static const struct profcol_sections all = { configs, sizeof(configs) / sizeof(configs[0]) };

/* NULL after an error, which must be NO_MEMORY. */
static struct profcol_batch *transform(const struct attributes_transform *how,
				       struct profcol_batch *batch)
{
	struct profcol_batch *made = NULL;
	struct profcol_error *error = attributes_transform(how, batch, &made);

	allocations_left = -1;
	if (!error)
		return made;
	assert_int_equal(profcol_error_code(error), PROFCOL_NO_MEMORY);
	profcol_error_destroy(error);
	assert_null(made);
	return NULL;
}

static void transformations_survive_lack_of_memory(void **state)
{
	static const enum attributes_level levels[] = { ATTRIBUTES_RESOURCE, ATTRIBUTES_SAMPLE,
							ATTRIBUTES_LOCATION, ATTRIBUTES_MAPPING };
	PROFCOL_CLEANUP_BATCH struct profcol_batch *batch = shop_batch_create();
	struct attributes_actions *actions = NULL;

	(void)state;
	assert_null(attributes_actions_create(&all, "actions", &actions));
	for (size_t i = 0; i < sizeof(levels) / sizeof(levels[0]); i++) {
		const struct attributes_transform how = { .level = levels[i], .actions = actions };
		struct profcol_batch *made = NULL;
		long n = 1;

		for (; !made; n++) {
			allocations_left = n;
			made = transform(&how, batch);
		}
		// Each refused allocation was noticed: the first success needed all of them.
		assert_true(n > 10);
		profcol_batch_unref(made);
	}
	attributes_actions_destroy(actions);
}

static void compiling_survives_lack_of_memory(void **state)
{
	struct attributes_actions *actions = NULL;

	(void)state;
	for (long n = 1; !actions; n++) {
		struct profcol_error *error;

		assert_true(n < 10000);
		allocations_left = n;
		error = attributes_actions_create(&all, "actions", &actions);
		allocations_left = -1;
		assert_int_equal(!error, !!actions);
		if (error)
			assert_int_equal(profcol_error_code(error), PROFCOL_NO_MEMORY);
		profcol_error_destroy(error);
	}
	attributes_actions_destroy(actions);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(transformations_survive_lack_of_memory),
		cmocka_unit_test(compiling_survives_lack_of_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
