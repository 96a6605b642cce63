// SPDX-License-Identifier: Apache-2.0
#include "events.h"

#include "base/base.h"

#include <sys/eventfd.h>
#include <unistd.h>

void events_init(struct events *events)
{
	*events = (struct events){
		.lock = PTHREAD_MUTEX_INITIALIZER,
		.posted = PTHREAD_COND_INITIALIZER,
		.end_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK),
	};
	// Then starts that wait are waited for.
	if (events->end_fd < 0)
		events->end_fd = 0;
}

void events_deinit(struct events *events)
{
	profcol_error_destroy(TAKE(events->error));
	if (events->end_fd)
		close(events->end_fd);
	pthread_cond_destroy(&events->posted);
	pthread_mutex_destroy(&events->lock);
}

/* Under the lock. */
static void post(struct events *events, enum event_kind kind)
{
	events->pending[kind] = true;
	if (events->end_fd && (kind == EVENT_END || kind == EVENT_FATAL))
		(void)eventfd_write(events->end_fd, 1);
	pthread_cond_signal(&events->posted);
}

void events_post_end(struct events *events, int number)
{
	pthread_mutex_lock(&events->lock);
	events->number = number;
	events->since_ns = clock_monotonic_ns();
	post(events, EVENT_END);
	pthread_mutex_unlock(&events->lock);
}

void events_post_fatal(struct events *events, struct profcol_error *error)
{
	pthread_mutex_lock(&events->lock);
	// What the first one led to is of no interest next to it.
	if (!events->error)
		events->error = TAKE(error);
	post(events, EVENT_FATAL);
	pthread_mutex_unlock(&events->lock);
	profcol_error_destroy(error);
}

void events_post_reload(struct events *events)
{
	pthread_mutex_lock(&events->lock);
	post(events, EVENT_RELOAD);
	pthread_mutex_unlock(&events->lock);
}

void events_post_files_changed(struct events *events)
{
	pthread_mutex_lock(&events->lock);
	post(events, EVENT_FILES_CHANGED);
	pthread_mutex_unlock(&events->lock);
}

/* Under the lock: the most urgent one, or EVENT_KINDS. */
static unsigned int first_pending(const struct events *events)
{
	unsigned int kind = 0;

	while (kind < EVENT_KINDS && !events->pending[kind])
		kind++;
	return kind;
}

struct event events_wait(struct events *events)
{
	struct event event = { 0 };
	unsigned int kind;

	pthread_mutex_lock(&events->lock);
	while ((kind = first_pending(events)) == EVENT_KINDS)
		pthread_cond_wait(&events->posted, &events->lock);
	events->pending[kind] = false;
	event.kind = (enum event_kind)kind;
	if (event.kind == EVENT_END) {
		event.number = events->number;
		event.since_ns = events->since_ns;
	}
	if (event.kind == EVENT_FATAL)
		event.error = TAKE(events->error);
	// One reading of the files answers both.
	if (event.kind == EVENT_RELOAD)
		events->pending[EVENT_FILES_CHANGED] = false;
	pthread_mutex_unlock(&events->lock);
	return event;
}

bool events_wait_until(struct events *events, uint64_t deadline_ns)
{
	const struct timespec deadline = clock_timespec(deadline_ns);
	bool happened;
	int status = 0;

	pthread_mutex_lock(&events->lock);
	while (!(happened = first_pending(events) < EVENT_KINDS) && !status)
		status = pthread_cond_clockwait(&events->posted, &events->lock, CLOCK_MONOTONIC,
						&deadline);
	pthread_mutex_unlock(&events->lock);
	return happened;
}
