// SPDX-License-Identifier: Apache-2.0
#include "files_parts.h"
#include "processes.h"

#include "base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

struct files *files_create(size_t max_open, size_t max_bytes, uint32_t ids)
{
	struct files *files = calloc(1, sizeof(*files));

	if (!files)
		return NULL;
	pthread_mutex_init(&files->lock, NULL);
	(void)process_root_of_host(&files->host_root);
	file_rows_init(&files->rows, max_open, max_bytes, ids);
	files->calls = timed_calls_create();
	if (!files->calls) {
		files_destroy(files);
		return NULL;
	}
	return files;
}

void files_destroy(struct files *files)
{
	if (!files)
		return;
	file_rows_deinit(&files->rows);
	timed_calls_destroy(files->calls);
	pthread_mutex_destroy(&files->lock);
	free(files);
}

struct timed_calls *files_calls(struct files *files)
{
	return files->calls;
}

/* A file that has just been found. */
struct opened {
	int fd;          /* O_PATH */
	bool by_mapping; /* as opener_find says */
	struct file_look look;
	struct file_ends ends;
};

static bool is_raw(const struct opened *opened)
{
	return opened->ends.hashed && !opened->ends.elf;
}

/* Is it memory that only looks like a file: shared, or mapped twice by a compiler that writes to it
 * at one place what it runs at the other? */
static bool is_memory(const struct opened *opened)
{
	return is_raw(opened) && !opened->look.links;
}

/* The file that @search leads to, of which there has been no look yet; NULL. By another path, or in
 * another root, the numbers may be another file's since. */
static struct file *find_unseen(const struct files *files, const struct file_search *search)
{
	struct file *file = file_rows_find_alias(&files->rows, &search->mapped);

	return file && !file->seen && file_has_path(file, &search->mapped) &&
			       file_rows_has_root(&files->rows, file, &search->root)
		       ? file
		       : NULL;
}

/* What @search has @opened; NULL without room. */
static struct file *file_of(struct files *files, const struct file_search *search,
			    const struct opened *opened)
{
	struct file *file = file_rows_find_look(&files->rows, &opened->look);

	// One that could not be opened when it was first met is seen now.
	if (!file)
		file = find_unseen(files, search);
	if (file && !file->seen && file_look_may_be_younger(&opened->look, file->begin_ns))
		file = NULL;
	if (!file)
		file = file_rows_add(&files->rows, &search->mapped);
	if (!file)
		return NULL;
	file_rows_mapped_by(&files->rows, file, &search->mapped);
	file_rows_see(&files->rows, file, &opened->look);
	file_rows_set_alias(&files->rows, &search->mapped, file);
	return file;
}

/*
 * Find what @search is for, and read what its hash is of, unless that is known: it may not be there
 * for long. The descriptor or a negative errno.
 */
static int files_find(struct files *files, const struct file_search *search, uint64_t limit_ns,
		      struct opened *ret)
{
	const struct file *file;
	int status = 0;

	ret->ends = (struct file_ends){ 0 };
	ret->fd = opener_find(files->calls, search, limit_ns, &ret->look, &ret->by_mapping);
	if (ret->fd < 0)
		return ret->fd;
	pthread_mutex_lock(&files->lock);
	file = file_rows_find_look(&files->rows, &ret->look);
	if (file)
		ret->ends = file->ends;
	pthread_mutex_unlock(&files->lock);
	if (!ret->ends.hashed)
		status = opener_read(files->calls,
				     (struct file_place){ .device = search->mapped.device,
							  .owner = search->mapped.owner },
				     ret->fd, (uint64_t)ret->look.size, limit_ns, &ret->ends);
	// It may be read later, or it is one that others may not read.
	if (status == -ETIMEDOUT || status == -EACCES)
		close(TAKE_FD(ret->fd));
	return ret->fd < 0 ? status : ret->fd;
}

/* Keep what @opened has brought of @file: the hash, and the descriptor, which is taken. Returns a
 * descriptor to close, or -1. */
static int file_keep(struct files *files, struct file *file, const struct opened *opened)
{
	if (!file->ends.hashed)
		file->ends = opened->ends;
	return file_rows_hold(&files->rows, file, opened->fd);
}

/* A duplicate of the descriptor held for @file, or -1. With the lock held. */
static int duplicate_held(struct files *files, struct file *file)
{
	if (!file || file->fd < 0)
		return -1;
	file_rows_touch(&files->rows, file);
	return fcntl(file->fd, F_DUPFD_CLOEXEC, 0);
}

/*
 * The id of @mapped if its file is held open, and unchanged. Its inode is then taken, so the
 * same number means the same file, where it means one at all.
 */
static uint32_t identify_held(struct files *files, const struct mapped_file *mapped)
{
	uint32_t id = PROCESS_NO_FILE;
	struct file_look look;
	struct file *file;

	pthread_mutex_lock(&files->lock);
	file = file_rows_find_alias(&files->rows, mapped);
	// This look never waits.
	if (file && file_owns_alias(file) && !file_look_again(file->fd, &look) &&
	    file_is(file, &look, false)) {
		id = file->id;
		file_rows_touch(&files->rows, file);
		file_rows_mapped_by(&files->rows, file, mapped);
	}
	pthread_mutex_unlock(&files->lock);
	return id;
}

/*
 * What cannot be opened still is a file: its mappings share an id, and may get at it later. One
 * that has been seen is not taken for it: it may have changed, or its numbers be another file's.
 */
static struct file *identify_unopened(struct files *files, const struct file_search *search)
{
	struct file *file = find_unseen(files, search);

	if (file) {
		file_rows_touch(&files->rows, file);
		file_rows_mapped_by(&files->rows, file, &search->mapped);
		return file;
	}
	file = file_rows_add(&files->rows, &search->mapped);
	if (file)
		file_rows_set_alias(&files->rows, &search->mapped, file);
	return file;
}

static uint32_t identify(struct files *files, const struct file_search *search)
{
	struct opened opened;
	int fd, surplus = -1;
	struct file *file;
	uint32_t id;

	id = identify_held(files, &search->mapped);
	if (id != PROCESS_NO_FILE)
		return id;
	fd = files_find(files, search, FILES_FIND_NS, &opened);
	if (fd >= 0 && is_memory(&opened)) {
		close(fd);
		fd = -EINVAL;
	}
	if (fd == -EINVAL)
		return PROCESS_NO_FILE;
	pthread_mutex_lock(&files->lock);
	if (fd < 0) {
		file = identify_unopened(files, search);
	} else {
		file = file_of(files, search, &opened);
		surplus = file ? file_keep(files, file, &opened) : fd;
	}
	id = file ? file->id : FILES_REFUSED;
	pthread_mutex_unlock(&files->lock);
	if (surplus >= 0)
		close(surplus);
	return id;
}

static uint32_t recognize(struct files *files, const struct file_search *search)
{
	uint32_t id = identify_held(files, &search->mapped);
	struct file_look look;
	struct file *file;
	bool unsettled, by_mapping;
	int fd;

	if (id != PROCESS_NO_FILE)
		return id;
	fd = opener_find(files->calls, search, FILES_FIND_NS, &look, &by_mapping);
	if (fd < 0)
		return PROCESS_NO_FILE;
	close(fd);
	pthread_mutex_lock(&files->lock);
	file = file_rows_find_look(&files->rows, &look);
	if (file) {
		file_rows_touch(&files->rows, file);
		file_rows_mapped_by(&files->rows, file, &search->mapped);
	}
	id = file ? file->id : PROCESS_NO_FILE;
	unsettled = !file && file_rows_met_unsettled(&files->rows, &look);
	pthread_mutex_unlock(&files->lock);
	// It needs a new id once, or nobody hears of the programs that have it mapped.
	return unsettled ? identify(files, search) : id;
}

/* Somebody maps file @id through the root of @search. */
static void note_root(struct files *files, uint32_t id, const struct file_search *search)
{
	struct file *file;

	pthread_mutex_lock(&files->lock);
	file = file_rows_find(&files->rows, id);
	if (file)
		file_rows_note_root(&files->rows, file, search->root_pid, search->mapped.owner,
				    &search->root);
	if (file && process_root_is_known(&search->root) &&
	    process_root_equal(&search->root, &files->host_root))
		file_note_machines(file, search->mapped.path);
	pthread_mutex_unlock(&files->lock);
}

uint32_t files_identify(struct files *files, const struct file_search *search)
{
	uint32_t id = identify(files, search);

	note_root(files, id, search);
	return id;
}

uint32_t files_recognize(struct files *files, const struct file_search *search)
{
	uint32_t id = recognize(files, search);

	note_root(files, id, search);
	return id;
}

bool files_root(struct files *files, uint32_t id, struct process_root *ret, uint32_t *pid_ret)
{
	const struct file *file;
	bool known;

	pthread_mutex_lock(&files->lock);
	file = file_rows_find(&files->rows, id);
	known = file && file->root < files->rows.roots.count;
	if (known) {
		*ret = files->rows.roots.items[file->root].root;
		*pid_ret = files->rows.roots.items[file->root].pid;
	}
	pthread_mutex_unlock(&files->lock);
	return known;
}

struct origin files_origin(struct files *files, uint32_t id, bool own)
{
	struct origin origin = { .owner = { OWNER_OF_FILE.uid, id } };
	const struct file *file;

	pthread_mutex_lock(&files->lock);
	file = file_rows_find(&files->rows, id);
	if (file)
		origin = file_origin(file, own);
	pthread_mutex_unlock(&files->lock);
	return origin;
}

int files_open_in_root(struct files *files, const struct root_files_search *search, size_t *next)
{
	return root_files_open(files->calls, search, next, FILES_OPEN_NS);
}

int files_find_packages(struct files *files, const struct root_files_search *search,
			struct packages_found *ret)
{
	return packages_find(files->calls, search, FILES_OPEN_NS, ret);
}

/* Has nothing of @file, whose descriptor is held, been written to since it was seen? *@touched_ret:
 * as far as can be told, as file_look_touched has it. */
static bool is_as_seen(const struct file *file, bool *touched_ret)
{
	struct file_look look;

	*touched_ret = false;
	if (file_look_again(file->fd, &look))
		return false;
	if (file_is(file, &look, !file->ends.elf))
		return true;
	*touched_ret = file->ends.hashed && file_look_touched(&file->look, &look);
	return *touched_ret;
}

/* A descriptor held for a file. */
struct held {
	int fd; /* owned, or -1 */
	struct file_place place;
	bool touched; /* as is_as_seen says */
	int64_t size;
	struct file_ends ends;
};

/* @as_seen: -ESTALE if it has been written to since it was. */
static int take_held(struct files *files, uint32_t id, bool as_seen, struct held *ret)
{
	const struct file *file;
	int status = -ENOENT;

	*ret = (struct held){ .fd = -1 };
	pthread_mutex_lock(&files->lock);
	file = file_rows_find(&files->rows, id);
	if (file && file->fd >= 0)
		status = !as_seen || is_as_seen(file, &ret->touched) ? 0 : -ESTALE;
	if (!status) {
		ret->fd = duplicate_held(files, file_rows_find(&files->rows, id));
		ret->place = (struct file_place){ file->device, file->owner, file_payer(file) };
		ret->size = file->look.size;
		ret->ends = file->ends;
	}
	pthread_mutex_unlock(&files->lock);
	return status ? status : ret->fd < 0 ? -EMFILE : 0;
}

/* Does what was touched still begin and end as it did? */
static bool has_same_ends(struct files *files, const struct held *held)
{
	struct file_ends ends;

	return !opener_read(files->calls, held->place, held->fd, (uint64_t)held->size,
			    FILES_OPEN_NS, &ends) &&
	       ends.hashed && !memcmp(ends.htlhash, held->ends.htlhash, HTLHASH_BYTES);
}

int files_open(struct files *files, uint32_t file)
{
	struct held held;
	int fd = take_held(files, file, true, &held);

	if (fd)
		return fd;
	fd = held.touched && !has_same_ends(files, &held)
		     ? -ESTALE
		     : opener_open(files->calls, held.place, held.fd, FILES_OPEN_NS);
	close(held.fd);
	return fd;
}

int files_open_grown(struct files *files, uint32_t file)
{
	struct held held;
	int fd = take_held(files, file, false, &held);

	if (fd)
		return fd;
	fd = opener_open(files->calls, held.place, held.fd, FILES_OPEN_NS);
	close(held.fd);
	return fd;
}

bool files_is_stale(struct files *files, uint32_t id)
{
	const struct file *file;
	bool stale, touched;

	pthread_mutex_lock(&files->lock);
	file = file_rows_find(&files->rows, id);
	stale = file && file->fd >= 0 && !is_as_seen(file, &touched);
	pthread_mutex_unlock(&files->lock);
	return stale;
}

bool files_look(struct files *files, uint32_t id, struct file_look *ret)
{
	const struct file *file;
	struct file_look now;
	bool same;

	pthread_mutex_lock(&files->lock);
	file = file_rows_find(&files->rows, id);
	same = file && file->fd >= 0 && !file_look_again(file->fd, &now) &&
	       file_is(file, &now, false);
	if (same)
		*ret = file->look;
	pthread_mutex_unlock(&files->lock);
	return same;
}

/* Has @opened what @file was when it was seen? */
static bool is_reopened(const struct file *file, const struct opened *opened)
{
	if (!opened->by_mapping && file->fd < 0 &&
	    !file_look_same_place(&file->look, &opened->look))
		return false;
	if (file_is(file, &opened->look, is_raw(opened)))
		return true;
	return file->ends.hashed && opened->ends.hashed &&
	       file_look_touched(&file->look, &opened->look) &&
	       !memcmp(file->ends.htlhash, opened->ends.htlhash, HTLHASH_BYTES);
}

/* Of what was found for @id. *@surplus_ret: a descriptor to close, or -1. With the lock held. */
static int take_reopened(struct files *files, uint32_t id, const struct opened *opened,
			 int *surplus_ret)
{
	struct file *file = file_rows_find(&files->rows, id);

	*surplus_ret = opened->fd;
	if (!file)
		return -ENOENT;
	if (file->seen ? !is_reopened(file, opened)
		       : file_look_may_be_younger(&opened->look, file->begin_ns))
		return -ESTALE;
	if (!file->seen)
		file_rows_see(&files->rows, file, &opened->look);
	*surplus_ret = file_keep(files, file, opened);
	return 0;
}

int files_reopen(struct files *files, uint32_t id, const struct file_search *search,
		 uint64_t limit_ns)
{
	struct opened opened;
	int status = files_find(files, search, limit_ns, &opened), surplus;

	if (status < 0)
		return status;
	pthread_mutex_lock(&files->lock);
	status = take_reopened(files, id, &opened, &surplus);
	pthread_mutex_unlock(&files->lock);
	if (surplus >= 0)
		close(surplus);
	return status;
}

bool files_htlhash(struct files *files, uint32_t id, char ret[HTLHASH_HEX])
{
	struct file *file;
	bool known;

	pthread_mutex_lock(&files->lock);
	file = file_rows_find(&files->rows, id);
	known = file && file->ends.hashed;
	if (known) {
		strings_hex(ret, file->ends.htlhash, HTLHASH_BYTES);
		file_rows_touch(&files->rows, file);
	}
	pthread_mutex_unlock(&files->lock);
	return known;
}

bool files_has(struct files *files, uint32_t id, struct owner *owner_ret)
{
	const struct file *file;

	pthread_mutex_lock(&files->lock);
	file = file_rows_find(&files->rows, id);
	if (file && owner_ret)
		*owner_ret = file->owner;
	pthread_mutex_unlock(&files->lock);
	return file;
}

bool files_lookup(struct files *files, uint32_t id, struct mapped_file *ret, char **path_ret)
{
	const struct file *file;

	*path_ret = NULL;
	pthread_mutex_lock(&files->lock);
	file = file_rows_find(&files->rows, id);
	if (file)
		*path_ret = strdup(file->path ? file->path : "");
	if (*path_ret)
		*ret = (struct mapped_file){
			.path = *path_ret,
			.device = file->device,
			.inode = file->inode,
			.owner = file->owner,
		};
	pthread_mutex_unlock(&files->lock);
	return *path_ret;
}

char *files_path(struct files *files, uint32_t id)
{
	char *path = NULL;
	struct file *file;

	pthread_mutex_lock(&files->lock);
	file = file_rows_find(&files->rows, id);
	if (file) {
		path = strdup(file->path ? file->path : "");
		file_rows_touch(&files->rows, file);
	}
	pthread_mutex_unlock(&files->lock);
	return path;
}

/* With the lock held. */
static bool file_has_changed(struct file *file)
{
	struct file_look look;

	// What compilers write code to changes all the time.
	if (file->changed || (file->ends.hashed && !file->ends.elf) ||
	    file_look_again(file->fd, &look))
		return false;
	file->changed = !file_is(file, &look, false) && !file_look_touched(&file->look, &look);
	return file->changed;
}

size_t files_changed(struct files *files, uint32_t *ret, size_t count)
{
	struct file_rows *rows = &files->rows;
	size_t found = 0;

	pthread_mutex_lock(&files->lock);
	for (size_t i = 0; i < rows->held.count && found < count; i++) {
		struct file *file = &rows->rows.items[rows->held.items[i]];

		if (file_has_changed(file))
			ret[found++] = file->id;
	}
	pthread_mutex_unlock(&files->lock);
	return found;
}

bool files_has_changed(struct files *files, uint32_t id)
{
	struct file *file;
	bool changed;

	pthread_mutex_lock(&files->lock);
	file = file_rows_find(&files->rows, id);
	changed = file && file->fd >= 0 && file_has_changed(file);
	pthread_mutex_unlock(&files->lock);
	return changed;
}
