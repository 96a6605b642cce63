/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The health of several parts as one status, by the Collector's rules. Private to
 * extensions/health_check. Pure.
 */
#pragma once

#include "config.h"

#include <profcol/status.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What is known of one part, or of several together. */
struct health {
	enum profcol_status status;
	uint64_t since_unix_ns;
	const char *message; /* borrowed; "" without */
};

struct health health_of_component(const struct profcol_component_view *component);

/*
 * The one that matters most: fatal errors, then beginning and end, then errors, the longest-
 * lasting first. Of errors those that @config counts come before others. Of parts that are well
 * it is the latest. @count may be 0: then all is well, since @otherwise_unix_ns.
 */
struct health health_join(const struct health *parts, size_t count,
			  const struct component_health_config *config, uint64_t otherwise_unix_ns);

bool health_is_good(const struct health *health, const struct component_health_config *config,
		    uint64_t now_unix_ns);

/* The HTTP status that stands for it. */
int health_code(const struct health *health, bool good);

/* "StatusOK" and so on. */
const char *health_status_name(enum profcol_status status);
