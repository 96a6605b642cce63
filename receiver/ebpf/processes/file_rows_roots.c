// SPDX-License-Identifier: Apache-2.0
#include "file_rows.h"

#include <stdlib.h>
#include <string.h>

enum { ROOTS_MOST = 2048 }; /* of containers, of services with mounts of their own */

/* Mark the places of roots that files are of. */
static void mark_used(const struct file_rows *rows, bool *stays)
{
	for (size_t i = 0; i < rows->rows.count; i++)
		if (rows->rows.items[i].root < rows->roots.count)
			stays[rows->rows.items[i].root] = true;
}

static void unmark(struct file_rows *rows, bool *stays, size_t place)
{
	stays[place] = false;
	shares_take(&rows->root_shares, rows->roots.items[place].owner, 1);
}

/* While there is nothing left for the small (shares.h), of @count roots the largest owner's go that
 * were met first. */
static void unmark_largest(struct file_rows *rows, bool *stays, size_t count)
{
	struct owner largest;

	for (; ROOTS_MOST - count < shares_reserve(ROOTS_MOST) &&
	       shares_largest(&rows->root_shares, ROOTS_MOST, &largest);
	     count--) {
		size_t place = 0;

		while (place < rows->roots.count &&
		       (!stays[place] || !owner_is(rows->roots.items[place].owner, largest)))
			place++;
		if (place == rows->roots.count)
			break;
		unmark(rows, stays, place);
		rows->roots_refused++;
	}
}

/* Keep the roots that are marked; files of the others may be anybody's from now on. */
static void keep_marked(struct file_rows *rows, const bool *stays, uint32_t *places)
{
	uint32_t kept = 0;

	for (size_t i = 0; i < rows->roots.count; i++) {
		places[i] = stays[i] ? kept : FILE_ROOT_SHARED;
		if (stays[i])
			rows->roots.items[kept++] = rows->roots.items[i];
	}
	for (size_t i = 0; i < rows->rows.count; i++)
		if (rows->rows.items[i].root < rows->roots.count)
			rows->rows.items[i].root = places[rows->rows.items[i].root];
	rows->roots.count = kept;
}

/* Forget the roots that no file is of, and of the largest owner as many as others lack. Without
 * memory they stay. */
static void make_room(struct file_rows *rows)
{
	size_t count = rows->roots.count;
	CLEANUP_FREE uint32_t *places = calloc(count + 1, sizeof(*places));
	CLEANUP_FREE bool *stays = calloc(count + 1, sizeof(*stays));

	if (!places || !stays)
		return;
	mark_used(rows, stays);
	for (size_t i = 0; i < rows->roots.count; i++) {
		if (stays[i])
			continue;
		unmark(rows, stays, i);
		count--;
	}
	unmark_largest(rows, stays, count);
	keep_marked(rows, stays, places);
}

static bool has_room(const struct file_rows *rows, struct owner owner)
{
	return shares_admit(&rows->root_shares, owner, 1, ROOTS_MOST,
			    ROOTS_MOST - rows->roots.count);
}

/* The same, and room is made if need be: for who has had his share not each time. */
static bool gets_room(struct file_rows *rows, struct owner owner)
{
	if (has_room(rows, owner))
		return true;
	if (rows->clock < rows->roots_again && !shares_left(&rows->root_shares, owner, ROOTS_MOST))
		return false;
	rows->roots_again = rows->clock + ROOTS_MOST / 2;
	make_room(rows);
	return has_room(rows, owner);
}

/* The place of @root; FILE_ROOT_SHARED: there is no room for it. */
static uint32_t find_root(struct file_rows *rows, uint32_t pid, struct owner owner,
			  const struct process_root *root)
{
	for (size_t i = rows->roots.count; i-- > 0;) {
		struct file_root *known = &rows->roots.items[i];
		struct owner joined;

		if (!process_root_equal(&known->root, root))
			continue;
		joined = owner_join(known->owner, owner);
		shares_move(&rows->root_shares, known->owner, joined, 1);
		known->owner = joined;
		known->pid = pid;
		return (uint32_t)i;
	}
	if (!gets_room(rows, owner) ||
	    !VECTOR_PUSH(&rows->roots, ((struct file_root){ *root, owner, pid }))) {
		rows->roots_refused++;
		return FILE_ROOT_SHARED;
	}
	shares_add(&rows->root_shares, owner, 1);
	return (uint32_t)rows->roots.count - 1;
}

bool file_rows_has_root(const struct file_rows *rows, const struct file *file,
			const struct process_root *root)
{
	if (!process_root_is_known(root))
		return file->root >= rows->roots.count;
	return file->root < rows->roots.count &&
	       process_root_equal(&rows->roots.items[file->root].root, root);
}

void file_rows_note_root(struct file_rows *rows, struct file *file, uint32_t pid,
			 struct owner owner, const struct process_root *root)
{
	uint32_t place = FILE_ROOT_SHARED;

	if (file->root == FILE_ROOT_SHARED)
		return;
	if (process_root_is_known(root))
		place = find_root(rows, pid, owner, root);
	file->root = file->root == FILE_ROOT_NONE || file->root == place ? place : FILE_ROOT_SHARED;
}
