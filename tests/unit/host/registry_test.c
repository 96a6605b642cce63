// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "host/registry.h"

#include <string.h>

static const char *const otlp_aliases[] = { "otlp", "otlp_old", NULL };

static const struct profcol_component otlp = {
	.kind = PROFCOL_EXPORTER,
	.type = "otlp_grpc",
	.aliases = otlp_aliases,
	.stability = PROFCOL_BETA,
	.summary = "sends \"profiles\": by gRPC # 1.11",
};

static const struct profcol_component profiling = {
	.kind = PROFCOL_RECEIVER,
	.type = "profiling",
	.stability = PROFCOL_DEVELOPMENT,
	.summary = "samples this machine",
};

static const struct profcol_component *const components[] = { &otlp, &profiling };
static const struct component_registry registry = { components, 2 };

static void components_are_found_by_kind_and_type(void **state)
{
	enum profcol_kind kind;

	(void)state;
	assert_ptr_equal(registry_find(&registry, PROFCOL_EXPORTER, "otlp_grpc"), &otlp);
	assert_null(registry_find(&registry, PROFCOL_RECEIVER, "otlp_grpc"));
	assert_null(registry_find(&registry, PROFCOL_EXPORTER, "otlp"));
	assert_true(registry_kind_parse("exporter", &kind));
	assert_int_equal(kind, PROFCOL_EXPORTER);
	assert_false(registry_kind_parse("exporters", &kind));
	assert_string_equal(registry_kind_name(PROFCOL_PROCESSOR), "processor");
	assert_string_equal(registry_kind_name((enum profcol_kind)9), "component");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(components_are_found_by_kind_and_type),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
