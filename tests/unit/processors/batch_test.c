// SPDX-License-Identifier: Apache-2.0
/* The processor `batch`: accepted, and out of the way. */
#include "processor_fixture.h"
#include "shop_batch.h"

#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

extern const struct profcol_component profcol_processor_batch;

#define PROCESSOR (&profcol_processor_batch)

static void batches_pass_as_they_come(void **state)
{
	struct processor processor;
	struct profcol_batch *batch = shop_batch_create();

	(void)state;
	processor_start(&processor, PROCESSOR,
			"{timeout: 10s, send_batch_size: 1, send_batch_max_size: 1}");
	assert_ptr_equal(processor_consume(&processor, batch), batch);
	assert_int_equal(processor.passed_count, 1);
	assert_int_equal(fake_host_log_count(&processor.fake, "exporters batch by bytes"), 1);
	processor_deinit(&processor);
}

static void the_collectors_rules_hold(void **state)
{
	(void)state;
	assert_refused(PROCESSOR, "{send_batch_max_size: 10}",
		       "send_batch_max_size: must be greater or equal to send_batch_size (8192)");
	assert_refused(PROCESSOR, "{metadata_keys: [Tenant, tenant]}",
		       "duplicate entry in metadata_keys: \"tenant\" (case-insensitive)");
	assert_refused(PROCESSOR, "{timeout: -1s}", "timeout");
	assert_refused(PROCESSOR, "{send_batch_bytes: 1}", "invalid keys: send_batch_bytes");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(batches_pass_as_they_come),
		cmocka_unit_test(the_collectors_rules_hold),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
