/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One window of batches becomes one file: merge, encode, make room, write. Pure
 * but for the directory; never logs or counts.
 */
#pragma once

#include "naming.h"
#include "output.h"
#include "retention.h"

#include <profcol/errors.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pending;
struct profcol_batch;

/* Where and how; a copy of the configuration that the writer owns. */
struct window_target {
	char *directory; /* owned by the exporter */
	bool is_shared;  /* with others: the files go to a directory of ours in it */
	char *prefix;    /* owned by the exporter */
	struct retention_limits retention;
	int compression_level;
	bool folded; /* stacks as text instead of pprof */
};

struct window_file {
	int directory_fd; /* -1 = none */
	struct output_file output;
	uint64_t start_unix_ms;
	uint64_t bytes;
	int removed; /* older files that retention deleted; a negative errno when it failed */
};

/*
 * Write @batches (borrowed) to a temporary file. On error nothing is left behind
 * and *@cause_ret says why the samples cannot be exported; the error's code says
 * whether to try again.
 */
PROFCOL_MUST_CHECK struct profcol_error *window_write(const struct window_target *target,
						      const struct pending *batches,
						      struct window_file *ret,
						      const char **cause_ret);

/* Give the file its name. Errors as above. */
PROFCOL_MUST_CHECK struct profcol_error *window_publish(const struct window_target *target,
							struct window_file *file,
							char name_ret[NAMING_MAX],
							const char **cause_ret);

/* One batch with the contents of all @batches (borrowed), of which there is one at least. */
PROFCOL_MUST_CHECK struct profcol_error *window_merge(const struct pending *batches,
						      struct profcol_batch **ret);

/* Remove the file unless it has been published, and close what is open. */
void window_file_deinit(struct window_file *file);

/* Delete files past retention's max_age. Returns as retention_apply(). */
int window_expire(const struct window_target *target);

/*
 * Open @directory, in which nobody but root and the user that profcol runs as can have a hand
 * (base/trusted_path.h); with @is_shared others may, and it is one of ours in it. @create: make
 * what is missing of it, with mode 0700. An error is of @code.
 */
PROFCOL_MUST_CHECK struct profcol_error *window_directory_open(enum profcol_code code,
							       const char *directory,
							       bool is_shared, bool create,
							       int *ret);

/* An error of @code that names @directory and the remedy for @errnum (positive). */
struct profcol_error *window_directory_error(enum profcol_code code, const char *directory,
					     int errnum);
