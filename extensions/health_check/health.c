// SPDX-License-Identifier: Apache-2.0
#include "health.h"

enum { STATUSES = PROFCOL_STATUS_STOPPED + 1 };

static const char *const names[STATUSES] = {
	[PROFCOL_STATUS_NONE] = "StatusNone",
	[PROFCOL_STATUS_STARTING] = "StatusStarting",
	[PROFCOL_STATUS_OK] = "StatusOK",
	[PROFCOL_STATUS_RECOVERABLE_ERROR] = "StatusRecoverableError",
	[PROFCOL_STATUS_PERMANENT_ERROR] = "StatusPermanentError",
	[PROFCOL_STATUS_FATAL_ERROR] = "StatusFatalError",
	[PROFCOL_STATUS_STOPPING] = "StatusStopping",
	[PROFCOL_STATUS_STOPPED] = "StatusStopped",
};

const char *health_status_name(enum profcol_status status)
{
	return (unsigned int)status < STATUSES ? names[status] : names[PROFCOL_STATUS_NONE];
}

struct health health_of_component(const struct profcol_component_view *component)
{
	return (struct health){
		.status = (unsigned int)component->status < STATUSES ? component->status
								     : PROFCOL_STATUS_NONE,
		.since_unix_ns = component->since_unix_ns,
		.message = component->message ? component->message : "",
	};
}

static bool is_error(enum profcol_status status)
{
	return status == PROFCOL_STATUS_RECOVERABLE_ERROR ||
	       status == PROFCOL_STATUS_PERMANENT_ERROR || status == PROFCOL_STATUS_FATAL_ERROR;
}

static enum profcol_status join_statuses(const bool seen[static STATUSES],
					 const struct component_health_config *config)
{
	bool recoverable_first =
		config->include_recoverable_errors && !config->include_permanent_errors;

	if (seen[PROFCOL_STATUS_FATAL_ERROR])
		return PROFCOL_STATUS_FATAL_ERROR;
	if (seen[PROFCOL_STATUS_NONE] || seen[PROFCOL_STATUS_STARTING])
		return PROFCOL_STATUS_STARTING;
	if (seen[PROFCOL_STATUS_STOPPING] || seen[PROFCOL_STATUS_STOPPED])
		return PROFCOL_STATUS_STOPPING;
	if (seen[PROFCOL_STATUS_RECOVERABLE_ERROR] &&
	    (recoverable_first || !seen[PROFCOL_STATUS_PERMANENT_ERROR]))
		return PROFCOL_STATUS_RECOVERABLE_ERROR;
	return seen[PROFCOL_STATUS_PERMANENT_ERROR] ? PROFCOL_STATUS_PERMANENT_ERROR
						    : PROFCOL_STATUS_OK;
}

struct health health_join(const struct health *parts, size_t count,
			  const struct component_health_config *config, uint64_t otherwise_unix_ns)
{
	struct health joined = { PROFCOL_STATUS_OK, otherwise_unix_ns, "" };
	const struct health *matching = NULL, *latest = NULL;
	bool seen[STATUSES] = { false };
	size_t kinds = 0;

	if (!count)
		return joined;
	for (size_t i = 0; i < count; i++) {
		kinds += !seen[parts[i].status];
		seen[parts[i].status] = true;
		if (!latest || parts[i].since_unix_ns > latest->since_unix_ns)
			latest = &parts[i];
	}
	joined.status = kinds == 1 ? parts[0].status : join_statuses(seen, config);
	// The first error is nearest to the cause; anything else is as of its last change.
	for (size_t i = 0; i < count; i++)
		if (parts[i].status == joined.status &&
		    (!matching ||
		     (is_error(joined.status) ? parts[i].since_unix_ns < matching->since_unix_ns
					      : parts[i].since_unix_ns > matching->since_unix_ns)))
			matching = &parts[i];
	if (matching)
		return *matching;
	joined.since_unix_ns = latest->since_unix_ns;
	return joined;
}

bool health_is_good(const struct health *health, const struct component_health_config *config,
		    uint64_t now_unix_ns)
{
	switch (health->status) {
	case PROFCOL_STATUS_PERMANENT_ERROR:
		return !config->include_permanent_errors;
	case PROFCOL_STATUS_RECOVERABLE_ERROR:
		// A clock that was set back makes nothing ill.
		return !config->include_recoverable_errors || now_unix_ns < health->since_unix_ns ||
		       now_unix_ns - health->since_unix_ns < config->recovery_duration_ns;
	default:
		return health->status != PROFCOL_STATUS_FATAL_ERROR;
	}
}

int health_code(const struct health *health, bool good)
{
	if (!good)
		return 500;
	switch (health->status) {
	case PROFCOL_STATUS_OK:
	case PROFCOL_STATUS_RECOVERABLE_ERROR:
	case PROFCOL_STATUS_PERMANENT_ERROR:
		return 200;
	default:
		return 503;
	}
}
