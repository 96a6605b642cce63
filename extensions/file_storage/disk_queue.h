/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A queue of records in the segments of one directory. An append goes to the last
 * segment; a segment is removed once all its records are finished. Bodies are on disk only:
 * memory holds 16 bytes for each record.
 *
 * The functions are those of storage.h, and keep its contract. Threads: any, but for
 * disk_queue_open and disk_queue_close. One lock guards the index and the writing; reading a body
 * goes without it.
 */
#pragma once

#include <profcol/component.h>
#include <profcol/storage.h>

#include <stdbool.h>
#include <stdint.h>

/* Make the directory of queue @name anew, since somebody has removed it: a descriptor, locked, the
 * caller's. Any thread. */
typedef struct profcol_error *disk_queue_reopen(void *context, const char *name, int *fd_ret);

struct disk_queue_settings {
	const char *name;                /* of the queue; used during open only */
	uint64_t max_bytes;              /* of all segments together */
	bool fsync;                      /* force each record to the disk before append returns */
	const struct profcol_host *host; /* borrowed until close */
	disk_queue_reopen *reopen;       /* NULL = what is removed stays away */
	void *reopen_context;            /* borrowed until close */
};

/*
 * Open the queue in the directory at @directory_fd, whose path is @path: takes the descriptor,
 * and the memory of the path, on success.
 */
PROFCOL_MUST_CHECK struct profcol_error *disk_queue_open(const struct disk_queue_settings *settings,
							 int directory_fd, char *path,
							 struct profcol_storage_queue **ret);
void disk_queue_close(struct profcol_storage_queue *queue);

PROFCOL_MUST_CHECK struct profcol_error *disk_queue_append(struct profcol_storage_queue *queue,
							   const uint8_t *bytes, size_t length,
							   uint64_t samples);
enum profcol_take disk_queue_take(struct profcol_storage_queue *queue, struct profcol_record *ret);
void disk_queue_put_back(struct profcol_storage_queue *queue, uint64_t id);
void disk_queue_finish(struct profcol_storage_queue *queue, uint64_t id);
void disk_queue_figures(struct profcol_storage_queue *queue, struct profcol_storage_figures *ret);
