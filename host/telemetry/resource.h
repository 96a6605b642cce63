/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who this process is in its own telemetry: the attributes of service::telemetry::resource
 * over service.name, service.version and service.instance.id, which are there by themselves.
 * Constant once made: any thread.
 */
#pragma once

#include "config/config.h"

struct resource {
	struct profcol_map attributes; /* sorted by key */
	struct arena *memory;
};

PROFCOL_MUST_CHECK struct profcol_error *
resource_create(const struct config_service *service, const char *version, struct resource **ret);
void resource_destroy(struct resource *resource); /* accepts NULL */

/* The service.instance.id: a random UUID, the same throughout the life of the process. */
const char *resource_instance_id(void);
