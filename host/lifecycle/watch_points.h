/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What decides where a path leads: the entries of directories that are looked up on the way, as far
 * as they may change it. Each directory is watched by inotify. One thread at a time.
 */
#pragma once

#include "base/base.h"

#include <sys/inotify.h>

struct watch_point {
	int directory; /* watch descriptor */
	char *name;    /* owned: entry of it */
};

struct watch_points {
	int inotify_fd; /* owned; -1 = none */
	bool blind;     /* a directory cannot be watched: changes there go unnoticed */
	VECTOR(struct watch_point) items;
};

void watch_points_init(struct watch_points *points);
void watch_points_deinit(struct watch_points *points);

/* Forget all points and have a fresh descriptor, without events. False when there is none. */
bool watch_points_renew(struct watch_points *points);

/* Add the points of @path, which is absolute. It need not lead to anything. */
void watch_points_add(struct watch_points *points, const char *path);

/* Take all events there are; true when one of them is of a point. */
bool watch_points_take(struct watch_points *points);
