/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The metadata service of an EC2 instance, version 2 with its session token, or version 1 where
 * there is no other. Private to the processor.
 */
#pragma once

#include "service.h"

struct imds {
	const struct detecting *detecting; /* borrowed */
	char endpoint[256];
	char *token; /* owned; NULL = version 1 */
};

/*
 * Get a session. True in *@found_ret when this is an instance, and @imds is the caller's to deinit;
 * false when something else answers, or AWS_EC2_METADATA_DISABLED is true.
 */
PROFCOL_MUST_CHECK struct profcol_error *
imds_init(struct imds *imds, const struct detecting *detecting, bool *found_ret);
void imds_deinit(struct imds *imds);

/* Text of @path, e.g. "/latest/meta-data/hostname", free(); NULL in *@ret when there is none. */
PROFCOL_MUST_CHECK struct profcol_error *imds_get(const struct imds *imds, const char *path,
						  char **ret);

/* Put region, account, zone, instance, image, type and name in @found. */
PROFCOL_MUST_CHECK struct profcol_error *imds_find_identity(const struct imds *imds,
							    struct found *found);
