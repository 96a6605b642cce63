/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The directory that one instance keeps its queues in, a subdirectory each:
 *
 *   DIRECTORY/.lock              held by the process that uses the directory, with its id
 *   DIRECTORY/otlp_grpc%2Fnode/  the queue of exporter "otlp_grpc/node", mode 0700
 *
 * One thread at a time.
 */
#pragma once

#include <profcol/errors.h>

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct directory_settings {
	const char *path;
	bool create;         /* what is missing of the path */
	mode_t mode;         /* of what is created, less the umask */
	uint64_t timeout_ns; /* how long to wait for another process to let go */
};

struct directory {
	int fd;                /* owned, as the next */
	int lock_fd;           /* holds the lock until it is closed */
	bool others_may_write; /* users other than the owner and root */
};

/* Open and lock. The directory must belong to us or to root. On error *@ret holds nothing. */
PROFCOL_MUST_CHECK struct profcol_error *directory_init(const struct directory_settings *settings,
							struct directory *ret);
void directory_deinit(struct directory *directory);

/* Could directory_init() do it? Looks, creates nothing, and lets go of the lock at once. */
PROFCOL_MUST_CHECK struct profcol_error *directory_probe(const struct directory_settings *settings);

/*
 * Open, or create, the subdirectory of the queue called @name, and lock it until *@fd_ret
 * is closed. *@path_ret is its path below @path, for messages; free() by the caller. It is
 * made accessible to its owner only.
 */
PROFCOL_MUST_CHECK struct profcol_error *directory_open_queue(const struct directory *directory,
							      const char *path, const char *name,
							      int *fd_ret, char **path_ret);
