/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The detectors of one processor at work, each on a thread of its own until it has found out, and
 * what they have found together. Private to the processor.
 */
#pragma once

#include "detectors.h"

#include <profcol/component.h>

#include <stdatomic.h>

struct detection;

/* What was found by one moment; shared, never changed. */
struct detected {
	atomic_uint references;
	struct found found;
};

void detected_unref(struct detected *detected); /* accepts NULL */

/* @host and @config, which is valid, are borrowed until destroy. */
PROFCOL_MUST_CHECK struct profcol_error *
detection_create(const struct profcol_host *host, const struct resource_detection_config *config,
		 struct detection **ret);
void detection_destroy(struct detection *detection); /* accepts NULL; after detection_stop */

/* How long the start waits for one detector, ns; @required: it fails without its answer. */
uint64_t detection_patience(const struct resource_detection_config *config, bool required);

/*
 * Begin, and wait until every detector has an answer, or has failed once, or its patience is over;
 * what is left goes on. An error when one that must not fail has: what its code says is CONFIG or
 * SYSTEM, or fail_on_missing_metadata is on. When the process is asked to end, it waits no longer,
 * and that is no error. On error too, detection_stop.
 */
PROFCOL_MUST_CHECK struct profcol_error *detection_start(struct detection *detection);

/* End all threads. */
void detection_stop(struct detection *detection);

/* What has been found so far, the caller's to unref; NULL before anything was. Any thread. */
struct detected *detection_get(struct detection *detection);
