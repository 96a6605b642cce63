// SPDX-License-Identifier: Apache-2.0
#include "watch_points.h"

#include <limits.h>
#include <string.h>
#include <sys/stat.h>

enum { LINKS_MAX = 40, POINTS_MAX = 1024 };

static const uint32_t entry_events = IN_CREATE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE |
				     IN_CLOSE_WRITE | IN_MODIFY | IN_ATTRIB;
static const uint32_t own_events =
	IN_DELETE_SELF | IN_MOVE_SELF | IN_UNMOUNT | IN_IGNORED | IN_Q_OVERFLOW;

static void forget(struct watch_points *points)
{
	for (size_t i = 0; i < points->items.count; i++)
		free(points->items.items[i].name);
	points->items.count = 0;
	if (points->inotify_fd >= 0)
		close(TAKE_FD(points->inotify_fd));
}

void watch_points_init(struct watch_points *points)
{
	*points = (struct watch_points){ .inotify_fd = -1 };
}

void watch_points_deinit(struct watch_points *points)
{
	forget(points);
	VECTOR_DEINIT(&points->items);
}

bool watch_points_renew(struct watch_points *points)
{
	forget(points);
	points->inotify_fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	points->blind = points->inotify_fd < 0;
	return !points->blind;
}

/* ---- the way to a file ---- */

static void add_point(struct watch_points *points, const char *directory, const char *name)
{
	struct watch_point point = { .name = NULL };

	if (points->items.count >= POINTS_MAX || !VECTOR_RESERVE(&points->items, 1)) {
		points->blind = true;
		return;
	}
	point.directory =
		inotify_add_watch(points->inotify_fd, directory,
				  entry_events | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR);
	point.name = point.directory >= 0 ? strdup(name) : NULL;
	if (point.name)
		points->items.items[points->items.count++] = point;
	else
		points->blind = true;
}

/* A path on the way: where it is, and what is still to be looked up from there. */
struct way {
	char directory[PATH_MAX]; /* without links; "" is the root */
	char rest[PATH_MAX];
	unsigned int links; /* followed so far */
};

/* Take the first name of the rest to @name; false when there is none. */
static bool next_name(struct way *way, char name[NAME_MAX + 1])
{
	const char *start = way->rest + strspn(way->rest, "/");
	size_t length = strcspn(start, "/");

	if (length == 0 || length > NAME_MAX)
		return false;
	memcpy(name, start, length);
	name[length] = '\0';
	start += length;
	memmove(way->rest, start, strlen(start) + 1);
	return true;
}

static bool go_down(struct way *way, const char *name)
{
	size_t length = strlen(way->directory), added = strlen(name);

	if (length + 1 + added >= sizeof(way->directory))
		return false;
	way->directory[length] = '/';
	memcpy(way->directory + length + 1, name, added + 1);
	return true;
}

static void go_up(struct way *way)
{
	char *slash = strrchr(way->directory, '/');

	if (slash)
		*slash = '\0';
}

/* Put where the link @name leads in front of the rest. */
static bool follow(struct way *way, const char *name)
{
	size_t rest = strlen(way->rest);
	char target[PATH_MAX];
	ssize_t length;

	if (++way->links > LINKS_MAX || !go_down(way, name))
		return false;
	length = readlink(way->directory, target, sizeof(target));
	go_up(way);
	if (length <= 0 || (size_t)length + 1 + rest >= sizeof(way->rest))
		return false;
	memmove(way->rest + length + 1, way->rest, rest + 1);
	way->rest[length] = '/';
	memcpy(way->rest, target, (size_t)length);
	if (target[0] == '/')
		way->directory[0] = '\0';
	return true;
}

/* Look @name up. False when the way ends there. */
static bool take_step(struct watch_points *points, struct way *way, const char *name)
{
	bool last = way->rest[strspn(way->rest, "/")] == '\0';
	struct stat status;
	bool there, link;

	if (strcmp(name, ".") == 0)
		return true;
	if (strcmp(name, "..") == 0) {
		go_up(way);
		return true;
	}
	if (!go_down(way, name))
		return false;
	there = lstat(way->directory, &status) == 0;
	link = there && S_ISLNK(status.st_mode);
	if (there && !link && !last)
		return true;
	go_up(way);
	add_point(points, way->directory[0] ? way->directory : "/", name);
	return link && follow(way, name);
}

void watch_points_add(struct watch_points *points, const char *path)
{
	struct way way = { .links = 0 };
	size_t length = strlen(path);
	char name[NAME_MAX + 1];

	if (length >= sizeof(way.rest))
		return;
	memcpy(way.rest, path, length + 1);
	while (next_name(&way, name) && take_step(points, &way, name))
		;
}

/* ---- events ---- */

static bool is_of_point(const struct watch_points *points, const struct inotify_event *event)
{
	if (event->mask & own_events)
		return true;
	for (size_t i = 0; i < points->items.count; i++)
		if (points->items.items[i].directory == event->wd && event->len &&
		    strcmp(points->items.items[i].name, event->name) == 0)
			return true;
	return false;
}

bool watch_points_take(struct watch_points *points)
{
	_Alignas(struct inotify_event) char bytes[4096];
	bool found = false;
	ssize_t length;

	while ((length = read(points->inotify_fd, bytes, sizeof(bytes))) > 0) {
		for (char *at = bytes; at < bytes + length;) {
			const struct inotify_event *event =
				(const struct inotify_event *)(void *)at;

			found |= is_of_point(points, event);
			at += sizeof(*event) + event->len;
		}
	}
	return found;
}
