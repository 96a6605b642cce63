/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What happens to the service, for its main thread: any thread posts, one waits. An
 * event that is posted again before it was taken is one event; an end comes first.
 */
#pragma once

#include <profcol/errors.h>

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

enum event_kind {
	EVENT_END,           /* a signal asks for it */
	EVENT_FATAL,         /* a component cannot let the process go on */
	EVENT_RELOAD,        /* SIGHUP: read the configuration again */
	EVENT_FILES_CHANGED, /* a file that the configuration was read from has another content */
};
enum { EVENT_KINDS = EVENT_FILES_CHANGED + 1 };

struct event {
	enum event_kind kind;
	int number;                  /* of END: the signal */
	uint64_t since_ns;           /* of END: CLOCK_MONOTONIC when it was posted */
	struct profcol_error *error; /* of FATAL: owned by whoever took the event */
};

struct events {
	pthread_mutex_t lock; /* guards the rest; never held across a call that can hang */
	pthread_cond_t posted;
	bool pending[EVENT_KINDS];
	int number;
	uint64_t since_ns;           /* of END */
	struct profcol_error *error; /* owned; of the first FATAL */
	int end_fd; /* readable for ever after the first END or FATAL; 0 without one */
};

void events_init(struct events *events);
void events_deinit(struct events *events);

/* None fails, none waits. */
void events_post_end(struct events *events, int number);
void events_post_fatal(struct events *events, struct profcol_error *error); /* takes @error */
void events_post_reload(struct events *events);
void events_post_files_changed(struct events *events);

/* Wait for the next event. One thread. */
struct event events_wait(struct events *events);

/* Wait for it no longer than until @deadline_ns (CLOCK_MONOTONIC), and leave it where it is: has
 * there been one? The same thread. */
bool events_wait_until(struct events *events, uint64_t deadline_ns);
