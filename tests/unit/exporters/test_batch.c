// SPDX-License-Identifier: Apache-2.0
#include "test_batch.h"

#include "fake_host.h"

#include "base/base.h"
#include "profile/profile.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

static void add_event(struct profcol_builder *builder, uint32_t seed, uint32_t number,
		      uint64_t time_ns)
{
	char name[64];
	struct profcol_function function = { 0 };
	struct profcol_line line = { 0 };
	uint32_t location;

	snprintf(name, sizeof(name), "function_%u_%u", seed, number);
	function.name = profcol_builder_cstring(builder, name);
	line.function = profcol_builder_function(builder, &function);
	location = profcol_builder_location(
		builder,
		&(struct profcol_location){ .address = number, .lines = &line, .line_count = 1 });
	profcol_builder_add_sample(builder,
				   &(struct profcol_sample){
					   .stack = profcol_builder_stack(builder, &location, 1),
					   .timestamps_unix_ns = &time_ns,
					   .timestamp_count = 1,
				   });
}

struct profcol_batch *test_batch(uint32_t seed, uint32_t count, uint64_t start_ns)
{
	struct profcol_builder *builder = profcol_builder_create();
	struct profcol_batch *batch = NULL;
	struct profcol_profile profile = {
		.sample_type = profcol_builder_cstring(builder, "samples"),
		.sample_unit = profcol_builder_cstring(builder, "count"),
		.period_type = profcol_builder_cstring(builder, "cpu"),
		.period_unit = profcol_builder_cstring(builder, "nanoseconds"),
		.period = 50000000,
		.time_unix_ns = start_ns,
		.duration_ns = UINT64_C(5000000000),
	};
	uint32_t service = profcol_builder_attribute_string(builder, "service.name", "shop", 4);

	profcol_builder_add_resource(
		builder, &(struct profcol_resource){ .attributes = profcol_builder_attribute_list(
							     builder, &service, 1) });
	profcol_builder_add_scope(builder, &(struct profcol_scope){ 0 });
	profcol_builder_add_profile(builder, &profile);
	for (uint32_t i = 0; i < count; i++)
		add_event(builder, seed, i, start_ns + i);
	assert_no_error(profcol_builder_seal(builder, &batch));
	return batch;
}
