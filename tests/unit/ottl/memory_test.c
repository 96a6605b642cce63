// SPDX-License-Identifier: Apache-2.0
/*
 * Running out of memory: the linker leads every allocation of this program, those of PCRE2 too,
 * through the functions below (--wrap), which let the n-th fail.
 */
#include "ottl/ottl.h"
#include "tests/unit/ottl/ottl_batch.h"

#include "base/base.h"

// cmocka wants these before itself.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *memory, size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *memory, size_t bytes);

/* Allocations that still go through; -1 = all. */
static long allocations_left = -1;

static bool allocation_fails(void)
{
	if (allocations_left < 0)
		return false;
	return !allocations_left--;
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

/* Compiles and evaluates with the @nth allocation failing. False when there were not as many. */
static bool survive(const struct profcol_batch *batch, const char *text, long nth)
{
	struct ottl_position position = { 0 };
	struct ottl_condition *condition = NULL;
	struct ottl_run *run = NULL;
	enum ottl_result result = OTTL_ERROR;
	struct profcol_error *error;
	bool failed;

	allocations_left = nth;
	error = ottl_compile(OTTL_SAMPLE, text, &condition);
	if (!error)
		run = ottl_run_create(batch);
	if (run)
		result = ottl_evaluate(condition, run, &position);
	failed = allocations_left < 0;
	allocations_left = -1;
	if (error)
		assert_int_equal(profcol_error_code(error), PROFCOL_NO_MEMORY);
	// What cannot be remembered is found out again; all else says so.
	if (run && result == OTTL_ERROR)
		assert_string_not_equal(ottl_run_message(run), "");
	if (run && result != OTTL_ERROR)
		assert_int_equal(result, OTTL_TRUE);
	// A lack of memory is not remembered.
	if (run)
		assert_int_equal(ottl_evaluate(condition, run, &position), OTTL_TRUE);
	profcol_error_destroy(error);
	ottl_run_destroy(run);
	ottl_condition_destroy(condition);
	return failed;
}

static void every_allocation_may_fail(void **state)
{
	static const char *const texts[] = {
		"attributes[\"thread.name\"] == \"worker-1\" and not (frame.function == \"x\")",
		"IsMatch(frame.function, \"^(?P<a>m)al\") or IsMatch(\"x\", resource.schema_url)",
		"IsMatch(attributes[\"thread.name\"], attributes[\"thread.name\"])",
		"Len(resource.attributes[\"map\"]) + Len([1, stack.depth]) * 2 == 7",
		"String(Split(ToLowerCase(Concat([\"A\", \"\\u00dc\"], \",\")), \",\")) != \"\"",
		"resource.attributes[\"list\"] == [\"a\", scope.attributes[\"x\"]] or true",
		"resource.attributes[\"list\"] == [\"a\", \"b\", 3]",
	};
	struct profcol_batch *batch = ottl_batch_create();

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		long allocations = 0;

		while (survive(batch, texts[i], allocations))
			allocations++;
		assert_true(allocations > 4);
	}
	profcol_batch_unref(batch);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(every_allocation_may_fail) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
