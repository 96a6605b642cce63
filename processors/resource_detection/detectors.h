/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who looks for what this process runs on. Private to the processor. A detector runs on a thread of
 * its own, and may take until its deadline.
 */
#pragma once

#include "attributes.h"
#include "config.h"

#include <profcol/errors.h>
#include <profcol/logging.h>

/* One attempt. */
struct detecting {
	const struct resource_detection_config *config;
	const char *name; /* as the configuration calls the detector */
	const struct profcol_logger *logger;
	uint64_t deadline_ns; /* CLOCK_MONOTONIC */
	int cancel_fd;        /* readable: give up */
};

/*
 * Looks, and adds what it finds to @found: nothing where this is another platform. An error of code
 * CONFIG or SYSTEM is there to stay; with any other code the same may succeed later.
 */
typedef struct profcol_error *(*detector_function)(const struct detecting *detecting,
						   struct found *found);

struct detector {
	const char *name;
	detector_function detect;
	size_t switches; /* offset of its struct attribute_switches in the configuration; 0 = none
			  */
};

/* NULL when there is none of that name. */
const struct detector *detectors_find(const char *name);

struct profcol_error *detect_env(const struct detecting *detecting, struct found *found);
struct profcol_error *detect_system(const struct detecting *detecting, struct found *found);
struct profcol_error *detect_k8s_api(const struct detecting *detecting, struct found *found);
struct profcol_error *detect_ec2(const struct detecting *detecting, struct found *found);
struct profcol_error *detect_eks(const struct detecting *detecting, struct found *found);
struct profcol_error *detect_gcp(const struct detecting *detecting, struct found *found);
struct profcol_error *detect_azure(const struct detecting *detecting, struct found *found);
struct profcol_error *detect_aks(const struct detecting *detecting, struct found *found);

/* Does one of @patterns, regular expressions that are valid, match in @text? */
bool detectors_match(const struct profcol_list *patterns, const char *text);
