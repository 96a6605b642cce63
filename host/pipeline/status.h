/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How one component is: one of <profcol/status.h>, since when and why. The ways from
 * one status to another are the Collector's; a step that is none of them is ignored:
 *
 *   NONE -> STARTING -> OK <-> RECOVERABLE_ERROR
 *                    STARTING, OK, RECOVERABLE_ERROR -> PERMANENT_ERROR, FATAL_ERROR
 *   any of these but FATAL_ERROR -> STOPPING -> STOPPED, or one of the errors
 */
#pragma once

#include <profcol/status.h>

#include <pthread.h>

enum { STATUS_MESSAGE_BYTES = 1024 };

struct status {
	pthread_mutex_t lock; /* guards the rest */
	enum profcol_status value;
	uint64_t since_unix_ns;
	char message[STATUS_MESSAGE_BYTES]; /* valid UTF-8; "" without */
};

void status_init(struct status *status);
void status_deinit(struct status *status);

/*
 * Go to @to, if there is a way. True when that is another status than before; the same
 * one again only takes over a @message that is not NULL. *@from_ret is what it was.
 */
bool status_change(struct status *status, enum profcol_status to, const char *message,
		   enum profcol_status *from_ret);

/* A start has succeeded: STARTING becomes OK. Who has given up, or is in trouble, has said so. */
void status_settle(struct status *status);

enum profcol_status status_get(struct status *status);

/* All of it at one moment; @message has room for STATUS_MESSAGE_BYTES. */
enum profcol_status status_read(struct status *status, uint64_t *since_unix_ns_ret, char *message);
