// SPDX-License-Identifier: Apache-2.0
#include "detection_fixture.h"

#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* Of 10 ms each: what has not come by then does not come. */
enum { PATIENCE_TRIES = 12000 };

/* Nobody listens there. */
#define NOWHERE "127.0.0.1:1"

static void forget_environment(void)
{
	static const char *const names[] = {
		"OTEL_RESOURCE_ATTRIBUTES",
		"OTEL_RESOURCE",
		"AWS_EC2_METADATA_DISABLED",
		"AWS_WEB_IDENTITY_TOKEN_FILE",
		"AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE",
		"KUBERNETES_SERVICE_HOST",
		"KUBERNETES_SERVICE_PORT",
		"K8S_NODE_NAME",
		"BMS_PROJECT_ID",
		"BMS_REGION",
		"BMS_INSTANCE_ID",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		unsetenv(names[i]);
	setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", "http://" NOWHERE, 1);
	setenv("AZURE_POD_IDENTITY_AUTHORITY_HOST", "http://" NOWHERE, 1);
	setenv("GCE_METADATA_HOST", NOWHERE, 1);
}

/* All clouds are at @server. */
void use_clouds(const struct stand_in *server)
{
	char url[64];

	snprintf(url, sizeof(url), "http://%s", stand_in_address(server));
	setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", url, 1);
	setenv("AZURE_POD_IDENTITY_AUTHORITY_HOST", url, 1);
	setenv("GCE_METADATA_HOST", stand_in_address(server), 1);
}

int forget_machine(void **state)
{
	(void)state;
	forget_environment();
	return 0;
}

static bool is_found(const struct profcol_batch *batch, const struct expectation *expectations)
{
	for (; expectations->key; expectations++) {
		struct profcol_value value =
			find_value(batch, resource_list(batch, 0), expectations->key);

		if (expectations->value && value.type == PROFCOL_VALUE_EMPTY)
			return false;
	}
	return true;
}

/* A busy machine may need longer for an answer than the start waits: it comes all the same. */
static const struct profcol_batch *await_found(struct processor *processor,
					       const struct expectation *expectations)
{
	const struct profcol_batch *batch = processor_consume(processor, shop_batch_create());

	for (int i = 0; i < PATIENCE_TRIES && !is_found(batch, expectations); i++) {
		nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL);
		batch = processor_consume(processor, shop_batch_create());
	}
	return batch;
}

void expect_found(struct processor *processor, const struct expectation *expectations)
{
	const struct profcol_batch *batch = await_found(processor, expectations);

	for (; expectations->key; expectations++) {
		expect_text(batch, resource_list(batch, 0), expectations->key, expectations->value);
		expect_text(batch, resource_list(batch, 1), expectations->key, expectations->value);
	}
	expect_int(batch, resource_list(batch, 0), "process.pid", 4711);
	assert_int_equal(profcol_batch_events(batch), SHOP_EVENTS + CRON_EVENTS);
}

void wait_for_attributes(struct processor *processor, int64_t count)
{
	for (int i = 0; fake_host_metric(&processor->fake, "resource_detection_attributes") < count;
	     i++) {
		if (i == PATIENCE_TRIES)
			fail_msg("not found in time:\n%s", processor->fake.log);
		nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL);
	}
}

const struct stand_in_route detection_ec2_routes[] = {
	EC2_ROUTES,
	{ .request = "GET /latest/meta-data/tags/instance ",
	  .needs = EC2_TOKEN_NEEDED,
	  .status = 200,
	  .body = "Name\nteam\nteam-lead\nother" },
	{ .request = "GET /latest/meta-data/tags/instance/team ",
	  .status = 200,
	  .body = "pay \xff" },
	{ .request = "GET /latest/meta-data/tags/instance/team-lead ", .status = 404 },
	{ .request = "GET /latest/meta-data/tags/instance/aws:eks:cluster-name ", .status = 404 },
	{ .request = "GET /latest/meta-data/tags/instance/eks:cluster-name ",
	  .status = 200,
	  .body = "prod" },
	{ .request = NULL },
};
