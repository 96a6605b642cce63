// SPDX-License-Identifier: Apache-2.0
#include "watch.h"

#include "watch_points.h"

#include "base/base.h"

#include <profcol/options.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/eventfd.h>

enum { FILE_MAX = 16 << 20 };

const struct watch_pace watch_usual_pace = {
	.quiet_ns = 500 * PROFCOL_MILLISECOND,
	.patience_ns = 5 * PROFCOL_SECOND,
	.blind_ns = 10 * PROFCOL_SECOND,
};

struct watched_file {
	char *path;           /* owned */
	uint64_t fingerprint; /* of the content */
};

struct watched_files {
	struct watched_file *items;
	size_t count, capacity;
};

struct watch {
	struct events *events; /* borrowed */
	struct watch_pace pace;
	_Atomic uint64_t comparisons;
	pthread_t thread;
	int wake_fd; /* owned */
	atomic_bool ending;
	pthread_mutex_t lock; /* guards what follows */
	struct watched_files files;
	bool replaced; /* the points are those of other files */
};

/* ---- files ---- */

/* FNV-1a: nobody gains by two contents of one fingerprint. A file that cannot be read has one, too.
 */
static uint64_t take_fingerprint(const char *path)
{
	CLEANUP_FREE char *text = NULL;
	uint64_t hash = 0xcbf29ce484222325;
	size_t length = 0;
	int status = file_read(AT_FDCWD, path, FILE_MAX, &text, &length);

	if (status < 0)
		return (uint64_t)-status;
	for (size_t i = 0; i < length; i++)
		hash = (hash ^ (unsigned char)text[i]) * 0x100000001b3;
	return hash;
}

static void files_deinit(struct watched_files *files)
{
	for (size_t i = 0; i < files->count; i++)
		free(files->items[i].path);
	VECTOR_DEINIT(files);
}

static const struct watched_file *files_find(const struct watched_files *files, const char *path)
{
	for (size_t i = 0; i < files->count; i++)
		if (strcmp(files->items[i].path, path) == 0)
			return &files->items[i];
	return NULL;
}

static bool files_add(struct watched_files *files, const char *path, uint64_t fingerprint)
{
	struct watched_file file = { .path = strdup(path), .fingerprint = fingerprint };

	if (file.path && VECTOR_PUSH(files, file))
		return true;
	free(file.path);
	return false;
}

/* What is in @known keeps the fingerprint it has there: it may have changed since. */
static bool files_init(struct watched_files *files, const struct watched_files *known,
		       const char *const *paths, size_t count)
{
	*files = (struct watched_files){ 0 };
	for (size_t i = 0; i < count; i++) {
		const struct watched_file *before = files_find(known, paths[i]);

		if (!files_add(files, paths[i],
			       before ? before->fingerprint : take_fingerprint(paths[i]))) {
			files_deinit(files);
			return false;
		}
	}
	return true;
}

/* Under the lock: has one of them another content than before? With @note that is the one to
 * compare with from now on. */
static bool files_have_changed(struct watched_files *files, bool note)
{
	bool changed = false;

	for (size_t i = 0; i < files->count; i++) {
		uint64_t now = take_fingerprint(files->items[i].path);

		changed |= now != files->items[i].fingerprint;
		if (note)
			files->items[i].fingerprint = now;
	}
	return changed;
}

/* ---- the thread ---- */

/*
 * Points before contents: what changes in between is an event. Unless things are @settled, a
 * change may be one in the making: true says that it has to be looked at again.
 */
static bool look(struct watch *watch, struct watch_points *points, bool settled)
{
	bool changed;

	pthread_mutex_lock(&watch->lock);
	watch->replaced = false;
	if (watch_points_renew(points))
		for (size_t i = 0; i < watch->files.count; i++)
			watch_points_add(points, watch->files.items[i].path);
	changed = files_have_changed(&watch->files, settled);
	pthread_mutex_unlock(&watch->lock);
	if (changed && settled)
		events_post_files_changed(watch->events);
	if (settled)
		atomic_fetch_add(&watch->comparisons, 1);
	return changed && !settled;
}

static bool is_replaced(struct watch *watch)
{
	bool replaced;

	pthread_mutex_lock(&watch->lock);
	replaced = watch->replaced;
	pthread_mutex_unlock(&watch->lock);
	return replaced;
}

static int milliseconds_until(uint64_t end_ns)
{
	uint64_t now_ns = clock_monotonic_ns();

	if (end_ns == UINT64_MAX)
		return -1;
	return end_ns > now_ns ? (int)((end_ns - now_ns) / PROFCOL_MILLISECOND + 1) : 0;
}

/* When a change of now is to be looked at. *@first_ns is of the first of them, 0 = this. */
static uint64_t due_after(const struct watch_pace *pace, uint64_t *first_ns)
{
	uint64_t now_ns = clock_monotonic_ns();

	if (!*first_ns)
		*first_ns = now_ns;
	return now_ns + pace->quiet_ns < *first_ns + pace->patience_ns
		       ? now_ns + pace->quiet_ns
		       : *first_ns + pace->patience_ns;
}

/*
 * Wait until it is time to look: things are settled then, or there are other files. @changing:
 * there is a change already. False when the watch is over.
 */
static bool await_change(struct watch *watch, struct watch_points *points, bool changing,
			 bool *settled_ret)
{
	uint64_t first_ns = 0;
	uint64_t due_ns = UINT64_MAX;
	eventfd_t count;

	if (changing)
		due_ns = due_after(&watch->pace, &first_ns);
	else if (points->blind)
		due_ns = clock_monotonic_ns() + watch->pace.blind_ns;
	for (;;) {
		struct pollfd polled[] = {
			{ .fd = watch->wake_fd, .events = POLLIN },
			{ .fd = points->inotify_fd, .events = POLLIN },
		};
		int ready = poll(polled, 2, milliseconds_until(due_ns));

		if (atomic_load(&watch->ending))
			return false;
		if (polled[0].revents)
			eventfd_read(watch->wake_fd, &count);
		*settled_ret = ready == 0 && clock_monotonic_ns() >= due_ns;
		if (*settled_ret || is_replaced(watch))
			return true;
		if (ready > 0 && polled[1].revents && watch_points_take(points))
			due_ns = due_after(&watch->pace, &first_ns);
	}
}

static void *watch_thread(void *argument)
{
	struct watch *watch = argument;
	struct watch_points points;
	bool changing, settled = false;

	watch_points_init(&points);
	do {
		changing = look(watch, &points, settled);
	} while (await_change(watch, &points, changing, &settled));
	watch_points_deinit(&points);
	return NULL;
}

/* ---- life ---- */

static void watch_free(struct watch *watch)
{
	if (watch->wake_fd >= 0)
		close(watch->wake_fd);
	files_deinit(&watch->files);
	pthread_mutex_destroy(&watch->lock);
	free(watch);
}

struct profcol_error *watch_create(struct events *events, const struct watch_pace *pace,
				   const char *const *paths, size_t count, struct watch **ret)
{
	static const struct watched_files none;
	struct watch *watch = calloc(1, sizeof(*watch));
	int status;

	if (!watch)
		return profcol_error_create(PROFCOL_NO_MEMORY, "out of memory");
	watch->events = events;
	watch->pace = *pace;
	pthread_mutex_init(&watch->lock, NULL);
	watch->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (watch->wake_fd < 0) {
		status = errno;
		watch_free(watch);
		return profcol_error_errno(status, "cannot watch the configuration");
	}
	if (!files_init(&watch->files, &none, paths, count)) {
		watch_free(watch);
		return profcol_error_create(PROFCOL_NO_MEMORY, "out of memory");
	}
	status = pthread_create(&watch->thread, NULL, watch_thread, watch);
	if (status != 0) {
		watch_free(watch);
		return profcol_error_errno(status, "cannot start the thread that watches the "
						   "configuration");
	}
	*ret = watch;
	return NULL;
}

void watch_destroy(struct watch *watch)
{
	if (!watch)
		return;
	atomic_store(&watch->ending, true);
	eventfd_write(watch->wake_fd, 1);
	pthread_join(watch->thread, NULL);
	watch_free(watch);
}

void watch_set_files(struct watch *watch, const char *const *paths, size_t count)
{
	struct watched_files files, old;

	pthread_mutex_lock(&watch->lock);
	if (files_init(&files, &watch->files, paths, count)) {
		old = watch->files;
		watch->files = files;
		watch->replaced = true;
		files_deinit(&old);
	}
	pthread_mutex_unlock(&watch->lock);
	eventfd_write(watch->wake_fd, 1);
}

void watch_add_file(struct watch *watch, const char *path)
{
	pthread_mutex_lock(&watch->lock);
	if (!files_find(&watch->files, path) &&
	    files_add(&watch->files, path, take_fingerprint(path)))
		watch->replaced = true;
	pthread_mutex_unlock(&watch->lock);
	eventfd_write(watch->wake_fd, 1);
}

uint64_t watch_comparisons(const struct watch *watch)
{
	return atomic_load(&watch->comparisons);
}
