/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An instance of file_storage on a directory of the test's own. Functions fail the test
 * when something does not work. A test that ends the process's use of the directory and
 * begins another (storage_restart) sees what the next process would.
 */
#pragma once

#include "fake_host.h"

#include <profcol/storage.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct storage {
	struct fake_host fake;
	const struct profcol_storage_operations *operations;
	char path[64]; /* of the directory */
	uint64_t max_size;
};

/* A new directory, and the instance started on it. @max_size 0 = 64 MiB. */
void storage_init(struct storage *storage, uint64_t max_size);
/* Without a start: options may be set. */
void storage_prepare(struct storage *storage, uint64_t max_size);
/* Removes the directory, too. */
void storage_deinit(struct storage *storage);

/* Destroy the instance and start another on the same directory. */
void storage_restart(struct storage *storage);
/* The two halves of it. */
void storage_stop(struct storage *storage);
void storage_again(struct storage *storage);

struct profcol_storage_queue *storage_open(struct storage *storage, const char *name);
void storage_close(struct storage *storage, struct profcol_storage_queue *queue);

/* A record of this text, with as many samples as it has characters. */
void storage_append(struct storage *storage, struct profcol_storage_queue *queue, const char *text);
/* The next record is this text; NULL = there is none. Returns its id. */
uint64_t storage_expect(struct storage *storage, struct profcol_storage_queue *queue,
			const char *text);
/* The same, and finish it. */
void storage_expect_finish(struct storage *storage, struct profcol_storage_queue *queue,
			   const char *text);

struct profcol_storage_figures storage_figures(struct storage *storage,
					       struct profcol_storage_queue *queue);

/* Files of the queue's subdirectory @part, and how many bytes they have. */
size_t storage_count_segments(const struct storage *storage, const char *part, uint64_t *bytes_ret);
/* The path of the only segment there; free() by the caller. */
char *storage_only_segment(const struct storage *storage, const char *part);

/* Takes @error: it is of @code, and its text contains @text. */
void expect_storage_error(struct profcol_error *error, enum profcol_code code, const char *text);

/* Remove @path with all that is in it. */
void remove_tree(const char *path);
