// SPDX-License-Identifier: Apache-2.0
/*
 * Encoding and decoding without memory. The linker leads every allocation of this
 * program through the functions below (--wrap), which let the n-th fail: n grows
 * until all of an operation goes through. Leaks are the sanitizer's to find.
 */
#include "random_batch.h"

#include "base/base.h"
#include "profile/profile.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *memory, size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *memory, size_t bytes);

static long allocations_left = -1; /* that go through before one fails; -1 = all do */

static bool allocation_fails(void)
{
	if (allocations_left < 0)
		return false;
	return allocations_left-- == 0;
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

struct bytes {
	uint8_t *bytes;
	size_t length;
};

/* An operation on @batch or on a file made of it; @result is what it gave. */
struct operation {
	const char *name;
	struct profcol_error *(*run)(const struct profcol_batch *batch, const struct bytes *file,
				     struct bytes *result);
	struct profcol_error *(*make_file)(const struct profcol_batch *batch,
					   const struct bytes *file, struct bytes *result);
};

static struct profcol_error *run_otlp_encode(const struct profcol_batch *batch,
					     const struct bytes *file, struct bytes *result)
{
	(void)file;
	return otlp_encode(batch, NULL, &result->bytes, &result->length);
}

static struct profcol_error *run_otlp_decode(const struct profcol_batch *batch,
					     const struct bytes *file, struct bytes *result)
{
	const struct otlp_decode_limits limits = { .max_memory = 64 << 20 };
	PROFCOL_CLEANUP_BATCH struct profcol_batch *decoded = NULL;

	(void)batch;
	(void)result;
	return otlp_decode(file->bytes, file->length, &limits, &decoded);
}

static struct profcol_error *run_pprof_encode(const struct profcol_batch *batch,
					      const struct bytes *file, struct bytes *result)
{
	const struct pprof_encode_options options = { .compression_level = 1 };

	(void)file;
	return pprof_encode(batch, &options, &result->bytes, &result->length);
}

static struct profcol_error *run_pprof_decode(const struct profcol_batch *batch,
					      const struct bytes *file, struct bytes *result)
{
	const struct pprof_decode_limits limits = { .max_bytes = 16 << 20, .max_memory = 64 << 20 };
	PROFCOL_CLEANUP_BATCH struct profcol_batch *decoded = NULL;

	(void)batch;
	(void)result;
	return pprof_decode(file->bytes, file->length, &limits, &decoded);
}

static void every_failed_allocation_is_an_error(void **state)
{
	static const struct operation operations[] = {
		{ "OTLP encode", run_otlp_encode, NULL },
		{ "OTLP decode", run_otlp_decode, run_otlp_encode },
		{ "pprof encode", run_pprof_encode, NULL },
		{ "pprof decode", run_pprof_decode, run_pprof_encode },
	};
	PROFCOL_CLEANUP_BATCH struct profcol_batch *batch = random_batch(3);

	(void)state;
	for (size_t i = 0; i < sizeof(operations) / sizeof(operations[0]); i++) {
		long tries = 0, survived = 0;
		bool is_done = false;
		struct bytes file = { 0 };

		if (operations[i].make_file)
			assert_null(operations[i].make_file(batch, NULL, &file));

		for (; !is_done; tries++) {
			PROFCOL_CLEANUP_ERROR struct profcol_error *error = NULL;
			struct bytes result = { 0 };

			allocations_left = tries;
			error = operations[i].run(batch, &file, &result);
			is_done = allocations_left >= 0;
			allocations_left = -1;
			survived += !error && !is_done;
			if (error) {
				assert_int_equal(profcol_error_code(error), PROFCOL_NO_MEMORY);
				assert_null(result.bytes);
			}
			free(result.bytes);
		}
		assert_true(tries > 3);
		// Only the OTLP encoder's tables of indices are a mere saving.
		assert_true(survived <= (i ? 0 : 4));
		print_message("%s: %ld allocations\n", operations[i].name, tries - 1);
		free(file.bytes);
	}
}

/* What the size is then is too much, not too little, so nobody sends more than allowed. */
static void size_without_memory_is_an_upper_bound(void **state)
{
	PROFCOL_CLEANUP_BATCH struct profcol_batch *batch = random_batch(3);
	size_t exact = otlp_encoded_size(batch, NULL), bound;

	(void)state;
	allocations_left = 0;
	bound = otlp_encoded_size(batch, NULL);
	allocations_left = -1;
	assert_true(bound >= exact);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_failed_allocation_is_an_error),
		cmocka_unit_test(size_without_memory_is_an_upper_bound),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
