/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Notices when files have another content than before: written in place, replaced by
 * another, or because a symbolic link on the way leads elsewhere, as Kubernetes does with a
 * ConfigMap (`..data`). Waits until the changes are over, and compares contents: what has merely
 * been touched is no change.
 *
 * Owns one thread.
 */
#pragma once

#include "events.h"

#include <stddef.h>

struct watch;

/* How long the watch waits before it looks. */
struct watch_pace {
	uint64_t quiet_ns;    /* since the last change */
	uint64_t patience_ns; /* with ever further ones */
	uint64_t blind_ns;    /* where inotify cannot tell */
};

extern const struct watch_pace watch_usual_pace;

/*
 * Posts EVENT_FILES_CHANGED to @events (borrowed until destroy) when one of @paths, absolute,
 * changes from what it is now. A path may lead to nothing yet. @pace is copied.
 */
PROFCOL_MUST_CHECK struct profcol_error *watch_create(struct events *events,
						      const struct watch_pace *pace,
						      const char *const *paths, size_t count,
						      struct watch **ret);
void watch_destroy(struct watch *watch); /* accepts NULL */

/* Look at @path, too, for changes from what it is now, unless that is done already. Without memory
 * nothing happens. */
void watch_add_file(struct watch *watch, const char *path);

/* From now on look at @paths. Without memory it goes on with those of before. */
void watch_set_files(struct watch *watch, const char *const *paths, size_t count);

/* How often the watch has compared contents after a change. Any thread. */
uint64_t watch_comparisons(const struct watch *watch);
