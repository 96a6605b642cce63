/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The places that log lines go to: "stderr", "stdout", and files, which are appended to.
 * One thread at a time, but for writing, which any may.
 */
#pragma once

#include "log_line.h"

#include <profcol/errors.h>
#include <profcol/options.h>

#include <stdatomic.h>

enum { LOG_SINKS_MAX = 16 };

struct log_sink {
	char *path; /* owned; NULL for the standard streams, whose descriptor is borrowed */
	int fd;
	atomic_bool failed; /* the last line was lost: said once */
};

struct log_sinks {
	struct log_sink items[LOG_SINKS_MAX];
	size_t count;
};

/*
 * @paths as in the configuration under @key; none is stderr. Files are made with mode 0640.
 * On error nothing is open, and deinit is not needed.
 */
PROFCOL_MUST_CHECK struct profcol_error *log_sinks_init(struct log_sinks *sinks,
							const struct profcol_list *paths,
							const char *key, int stderr_fd);
void log_sinks_deinit(struct log_sinks *sinks);

/* Open the files anew by their names, which may take time: into @fds, for replace; -1 is none. */
void log_sinks_open_again(const struct log_sinks *sinks, int fds[LOG_SINKS_MAX]);

/* Write to @fds from now on, which it takes; the old one stays where there is none. */
void log_sinks_replace(struct log_sinks *sinks, const int fds[LOG_SINKS_MAX]);

/*
 * To all of them. What one does not take is lost, and @errors is told when that begins. False
 * when none has taken it.
 */
bool log_sinks_write(struct log_sinks *sinks, struct log_line *line, struct log_sinks *errors);
