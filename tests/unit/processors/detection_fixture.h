/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A machine for tests of the processor `resource_detection`: what it finds in the environment, and
 * services of clouds that stand in. One thread.
 */
#pragma once

#include "processor_fixture.h"
#include "shop_batch.h"
#include "stand_in.h"

extern const struct profcol_component profcol_processor_resource_detection;

#define PROCESSOR (&profcol_processor_resource_detection)

/* For cmocka: a machine of no cloud and no cluster, without a variable that says something. */
int forget_machine(void **state);

/* All clouds are at @server. */
void use_clouds(const struct stand_in *server);

struct expectation {
	const char *key, *value; /* NULL: is not there */
};

/* Expect that both of the shop's resources get these attributes; the last row has no key. */
void expect_found(struct processor *processor, const struct expectation *expectations);

#define EXPECT_FOUND(processor, ...)                                                               \
	expect_found(processor, (const struct expectation[]){ __VA_ARGS__, { NULL, NULL } })

/* Until so many attributes are added. */
void wait_for_attributes(struct processor *processor, int64_t count);

/* What an instance of EC2 says of itself, to those with a token. */
#define EC2_TOKEN_NEEDED "X-aws-ec2-metadata-token: s3cret\r\n"
#define EC2_IDENTITY                                                                               \
	"{\"accountId\": \"123456789012\", \"region\": \"us-west-2\", \"availabilityZone\": "      \
	"\"us-west-2b\", \"instanceId\": \"i-0123\", \"imageId\": \"ami-9\", \"instanceType\": "   \
	"\"t3.medium\", \"privateIp\": null}"

#define EC2_ROUTES                                                                                 \
	{ .request = "PUT /latest/api/token ",                                                     \
	  .needs = "X-aws-ec2-metadata-token-ttl-seconds: ",                                       \
	  .status = 200,                                                                           \
	  .body = "s3cret" },                                                                      \
		{ .request = "GET /latest/meta-data/instance-id ",                                 \
		  .needs = EC2_TOKEN_NEEDED,                                                       \
		  .status = 200,                                                                   \
		  .body = "i-0123" },                                                              \
		{ .request = "GET /latest/dynamic/instance-identity/document ",                    \
		  .needs = EC2_TOKEN_NEEDED,                                                       \
		  .status = 200,                                                                   \
		  .body = EC2_IDENTITY },                                                          \
		{ .request = "GET /latest/meta-data/hostname ",                                    \
		  .needs = EC2_TOKEN_NEEDED,                                                       \
		  .status = 200,                                                                   \
		  .body = "ip-10-0-0-1.us-west-2.compute.internal" }

/* The same, with tags. */
extern const struct stand_in_route detection_ec2_routes[];
