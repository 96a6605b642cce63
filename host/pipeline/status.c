// SPDX-License-Identifier: Apache-2.0
#include "status.h"

#include "base/base.h"

#include <string.h>

#define BIT(name) (1u << PROFCOL_STATUS_##name)

/* Where one may go from each status. */
static const unsigned int ways[] = {
	[PROFCOL_STATUS_NONE] = BIT(STARTING),
	[PROFCOL_STATUS_STARTING] = BIT(OK) | BIT(RECOVERABLE_ERROR) | BIT(PERMANENT_ERROR) |
				    BIT(FATAL_ERROR) | BIT(STOPPING),
	[PROFCOL_STATUS_OK] =
		BIT(RECOVERABLE_ERROR) | BIT(PERMANENT_ERROR) | BIT(FATAL_ERROR) | BIT(STOPPING),
	[PROFCOL_STATUS_RECOVERABLE_ERROR] =
		BIT(OK) | BIT(PERMANENT_ERROR) | BIT(FATAL_ERROR) | BIT(STOPPING),
	[PROFCOL_STATUS_PERMANENT_ERROR] = BIT(STOPPING),
	[PROFCOL_STATUS_FATAL_ERROR] = 0,
	[PROFCOL_STATUS_STOPPING] =
		BIT(RECOVERABLE_ERROR) | BIT(PERMANENT_ERROR) | BIT(FATAL_ERROR) | BIT(STOPPED),
	[PROFCOL_STATUS_STOPPED] = 0,
};
enum { STATUSES = sizeof(ways) / sizeof(ways[0]) };

void status_init(struct status *status)
{
	*status = (struct status){
		.lock = PTHREAD_MUTEX_INITIALIZER,
		.since_unix_ns = clock_realtime_ns(),
	};
}

void status_deinit(struct status *status)
{
	pthread_mutex_destroy(&status->lock);
}

/* Under the lock. */
static void set_message(struct status *status, const char *message)
{
	size_t length = strings_cut_utf8(message, strlen(message), sizeof(status->message) - 1);

	strings_sanitize_utf8(status->message, message, length);
}

bool status_change(struct status *status, enum profcol_status to, const char *message,
		   enum profcol_status *from_ret)
{
	bool changed = false;

	pthread_mutex_lock(&status->lock);
	*from_ret = status->value;
	// A plugin built for a newer host may know statuses that this one does not.
	if ((unsigned int)to < STATUSES && (ways[status->value] & 1u << to)) {
		status->value = to;
		status->since_unix_ns = clock_realtime_ns();
		set_message(status, message ? message : "");
		changed = true;
	} else if (to == status->value && message) {
		set_message(status, message);
	}
	pthread_mutex_unlock(&status->lock);
	return changed;
}

void status_settle(struct status *status)
{
	pthread_mutex_lock(&status->lock);
	if (status->value == PROFCOL_STATUS_STARTING) {
		status->value = PROFCOL_STATUS_OK;
		status->since_unix_ns = clock_realtime_ns();
	}
	pthread_mutex_unlock(&status->lock);
}

enum profcol_status status_get(struct status *status)
{
	enum profcol_status value;

	pthread_mutex_lock(&status->lock);
	value = status->value;
	pthread_mutex_unlock(&status->lock);
	return value;
}

enum profcol_status status_read(struct status *status, uint64_t *since_unix_ns_ret, char *message)
{
	enum profcol_status value;

	pthread_mutex_lock(&status->lock);
	value = status->value;
	*since_unix_ns_ret = status->since_unix_ns;
	memcpy(message, status->message, sizeof(status->message));
	pthread_mutex_unlock(&status->lock);
	return value;
}
