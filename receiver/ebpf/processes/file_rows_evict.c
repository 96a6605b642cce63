// SPDX-License-Identifier: Apache-2.0
/* Which files are forgotten when there is no room for all. */
#include "file_rows.h"

#include <stdlib.h>

enum {
	MARGIN_SHARE = 16,
	KEPT_SHARE = 2, /* so much is free once there was too little */
};

size_t file_rows_margin(const struct file_rows *rows)
{
	return rows->most / MARGIN_SHARE;
}

/* Before what is kept for those that have less than their share there is still the margin. */
bool file_rows_nearly_full(const struct file_rows *rows)
{
	size_t kept = shares_reserve(rows->most),
	       kept_bytes = shares_reserve(rows->most_path_bytes);

	return rows->wants_room || rows->rows.count >= rows->most - kept - file_rows_margin(rows) ||
	       rows->path_bytes >=
		       rows->most_path_bytes - kept_bytes - rows->most_path_bytes / MARGIN_SHARE;
}

static bool is_needed(const struct file *file, const uint32_t *needed, size_t count)
{
	return count && bsearch(&file->id, needed, count, sizeof(*needed), file_numbers_compare);
}

/* A row with a lesser order goes earlier: those of owners with more than their share first, then
 * others; of both those not used for longest. */
static uint64_t order_of(const struct file_rows *rows, const struct file *file)
{
	uint64_t held = shares_of(&rows->shares, file->owner);

	return file->used | (uint64_t)(held <= rows->most / (rows->shares.users + 1)) << 63;
}

static int compare_orders(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return a < b ? -1 : a > b;
}

/* The order up to which rows go that may go. 0: none goes. */
static uint64_t last_to_go(const struct file_rows *rows, const uint32_t *needed, size_t count)
{
	CLEANUP_FREE uint64_t *orders = calloc(rows->rows.count + 1, sizeof(*orders));
	size_t found = 0, wanted = rows->most / KEPT_SHARE;

	for (size_t i = 0; orders && i < rows->rows.count; i++)
		if (!is_needed(&rows->rows.items[i], needed, count))
			orders[found++] = order_of(rows, &rows->rows.items[i]);
	if (!found)
		return 0;
	qsort(orders, found, sizeof(*orders), compare_orders);
	// Where paths are what there is no room for, there may be fewer files than that.
	wanted = rows->rows.count > wanted ? rows->rows.count - wanted : rows->rows.count / 2;
	if (!wanted)
		return 0;
	return orders[(wanted < found ? wanted : found) - 1];
}

/* @file, whose row is another's by the next file_rows_rebuild, has gone. */
static void forget(struct file_rows *rows, struct file *file, int *fds, size_t *fd_count)
{
	if (file->fd >= 0) {
		fds[(*fd_count)++] = file->fd;
		shares_take(&rows->held_shares, file->owner, 1);
	}
	file_rows_drop_path(rows, file);
	shares_take(&rows->shares, file->owner, 1);
	rows->evicted++;
}

size_t file_rows_evict(struct file_rows *rows, const uint32_t *needed, size_t count, int *fds,
		       size_t *fd_count_ret)
{
	CLEANUP_FREE bool *goes = calloc(rows->rows.count + 1, sizeof(*goes));
	uint64_t until = goes ? last_to_go(rows, needed, count) : 0;
	size_t kept = 0, gone;

	*fd_count_ret = 0;
	// Whose share is how large is what it was for all of them.
	for (size_t i = 0; goes && i < rows->rows.count; i++) {
		struct file *file = &rows->rows.items[i];
		bool is_used = is_needed(file, needed, count);

		goes[i] = until && !is_used && order_of(rows, file) <= until;
		// What is mapped for long is not what was used longest ago when that ends.
		if (is_used)
			file_rows_touch(rows, file);
	}
	for (size_t i = 0; i < rows->rows.count; i++)
		if (goes && goes[i])
			forget(rows, &rows->rows.items[i], fds, fd_count_ret);
		else
			rows->rows.items[kept++] = rows->rows.items[i];
	gone = rows->rows.count - kept;
	rows->rows.count = kept;
	if (gone) {
		rows->wants_room = false;
		file_rows_rebuild(rows);
	}
	return gone;
}

/* Is there too little room for paths of others than of the one that has most? */
static bool must_yield_path(const struct file_rows *rows, struct owner *ret)
{
	return rows->most_path_bytes - rows->path_bytes < shares_reserve(rows->most_path_bytes) &&
	       shares_largest(&rows->path_shares, rows->most_path_bytes, ret);
}

/* Drop paths of the largest owner's files until others have room. The largest owner can change only
 * when a path has gone, so it is looked for then. */
static void yield_paths(struct file_rows *rows)
{
	struct owner largest;
	bool must = must_yield_path(rows, &largest);

	for (size_t i = 0; must && i < rows->rows.count; i++) {
		struct file *file = &rows->rows.items[i];

		if (!file->path || !owner_is(file->owner, largest))
			continue;
		file_rows_drop_path(rows, file);
		rows->paths_refused++;
		must = must_yield_path(rows, &largest);
	}
}

/* The same of rows, of which @gone are to go. */
static bool must_yield_row(const struct file_rows *rows, size_t gone, struct owner *ret)
{
	return rows->most - rows->rows.count + gone < shares_reserve(rows->most) &&
	       shares_largest(&rows->shares, rows->most, ret);
}

size_t file_rows_yield(struct file_rows *rows, uint32_t *ids, size_t most, int *fds,
		       size_t *fd_count_ret)
{
	size_t kept = 0, gone = 0;
	struct owner largest;
	bool must;

	*fd_count_ret = 0;
	yield_paths(rows);
	must = most && must_yield_row(rows, 0, &largest);
	for (size_t i = 0; i < rows->rows.count; i++) {
		struct file *file = &rows->rows.items[i];

		if (!must || !owner_is(file->owner, largest)) {
			rows->rows.items[kept++] = *file;
			continue;
		}
		ids[gone++] = file->id;
		forget(rows, file, fds, fd_count_ret);
		must = gone < most && must_yield_row(rows, gone, &largest);
	}
	rows->rows.count = kept;
	if (gone) {
		qsort(ids, gone, sizeof(*ids), file_numbers_compare);
		rows->wants_room = false;
		file_rows_rebuild(rows);
	}
	return gone;
}
