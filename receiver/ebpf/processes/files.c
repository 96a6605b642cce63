// SPDX-License-Identifier: Apache-2.0
#include "files.h"

#include "file_rows.h"
#include "processes.h"

#include "base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>

/* The thread that follows processes cannot wait for long, or it loses records; others can. */
static const uint64_t find_limit_ns = 250000000, open_limit_ns = 1000000000;

/* Where nearly all files are needed, it is not looked for others all the time. */
static const uint64_t evict_pause_ns = 1000000000;

struct files {
	pthread_mutex_t lock; /* over `rows` */
	struct timed_calls *calls;
	struct file_rows rows;
	uint64_t evict_again_ns; /* not before: perhaps there is nothing to be had */
};

struct files *files_create(size_t max_open, size_t max_bytes, uint32_t ids)
{
	struct files *files = calloc(1, sizeof(*files));

	if (!files)
		return NULL;
	pthread_mutex_init(&files->lock, NULL);
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

static struct file_identity identity_of(const struct stat *stat)
{
	return (struct file_identity){
		.device = stat->st_dev,
		.inode = stat->st_ino,
		.size = stat->st_size,
		.modified_ns = stat->st_mtim.tv_sec * 1000000000ll + stat->st_mtim.tv_nsec,
		.linked = stat->st_nlink > 0,
	};
}

/* The opened file of @identity, which @mapped leads to; NULL without room. */
static struct file *file_of(struct files *files, const struct mapped_file *mapped,
			    const struct file_identity *identity)
{
	struct file *file = file_rows_find_identity(&files->rows, identity);
	struct file *alias = file_rows_find_alias(&files->rows, mapped);

	// One that could not be opened when it was first met gets its identity now. By another path
	// the number of its inode may be another file's since.
	if (!file && alias && !alias->seen && file_has_path(alias, mapped))
		file = alias;
	if (!file)
		file = file_rows_add(&files->rows, mapped);
	if (!file)
		return NULL;
	file_rows_see(&files->rows, file, identity);
	file_rows_set_alias(&files->rows, mapped, file);
	return file;
}

/* A file that has just been found. */
struct opened {
	int fd; /* O_PATH */
	struct stat stat;
	struct file_ends ends;
};

static struct file_identity identity_of_opened(const struct opened *opened)
{
	struct file_identity identity = identity_of(&opened->stat);

	identity.raw = opened->ends.hashed && !opened->ends.elf;
	return identity;
}

/*
 * Find what @search is for, and read what its hash is of, unless that is known: it may not be there
 * for long. The descriptor or a negative errno.
 */
static int files_find(struct files *files, const struct file_search *search, uint64_t limit_ns,
		      struct opened *ret)
{
	struct file_identity identity;
	const struct file *file;
	int status = 0;

	ret->ends = (struct file_ends){ 0 };
	ret->fd = opener_find(files->calls, search, limit_ns, &ret->stat);
	if (ret->fd < 0)
		return ret->fd;
	pthread_mutex_lock(&files->lock);
	identity = identity_of(&ret->stat);
	file = file_rows_find_identity(&files->rows, &identity);
	if (file)
		ret->ends = file->ends;
	pthread_mutex_unlock(&files->lock);
	if (!ret->ends.hashed)
		status = opener_read(files->calls, search->mapped.device, ret->fd,
				     (uint64_t)ret->stat.st_size, limit_ns, &ret->ends);
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

/* Is @fd of the content that @id stands for? Not so strictly, with @may_grow, where that is what a
 * compiler writes code to. */
static bool is_content_of(struct files *files, uint32_t id, int fd, bool may_grow)
{
	struct file_identity identity;
	const struct file *file;
	struct stat stat;
	bool same;

	if (opener_recall(fd, &stat))
		return false;
	pthread_mutex_lock(&files->lock);
	file = file_rows_find(&files->rows, id);
	identity = identity_of(&stat);
	identity.raw = may_grow && file && !file->ends.elf;
	same = file && file_is(file, &identity);
	pthread_mutex_unlock(&files->lock);
	return same;
}

/*
 * The id of @mapped if its file is held open, and unchanged. Its inode is then taken, so the
 * same number means the same file.
 */
static uint32_t identify_held(struct files *files, const struct mapped_file *mapped)
{
	uint32_t id = PROCESS_NO_FILE;
	struct file *file;
	CLEANUP_FD int fd = -1;

	pthread_mutex_lock(&files->lock);
	file = file_rows_find_alias(&files->rows, mapped);
	if (file) {
		id = file->id;
		fd = duplicate_held(files, file);
	}
	pthread_mutex_unlock(&files->lock);
	return fd >= 0 && is_content_of(files, id, fd, false) ? id : PROCESS_NO_FILE;
}

/* What cannot be opened still is a file: its mappings share an id, and may get at it later. */
static struct file *identify_unopened(struct files *files, const struct mapped_file *mapped)
{
	struct file *file = file_rows_find_alias(&files->rows, mapped);

	if (file && (file->fd >= 0 || file_has_path(file, mapped))) {
		file_rows_touch(&files->rows, file);
		return file;
	}
	file = file_rows_add(&files->rows, mapped);
	if (file)
		file_rows_set_alias(&files->rows, mapped, file);
	return file;
}

uint32_t files_identify(struct files *files, const struct file_search *search)
{
	struct file_identity identity;
	struct opened opened;
	int fd, surplus = -1;
	struct file *file;
	uint32_t id;

	id = identify_held(files, &search->mapped);
	if (id != PROCESS_NO_FILE)
		return id;
	fd = files_find(files, search, find_limit_ns, &opened);
	if (fd == -EINVAL)
		return PROCESS_NO_FILE;
	pthread_mutex_lock(&files->lock);
	if (fd < 0) {
		file = identify_unopened(files, &search->mapped);
	} else {
		identity = identity_of_opened(&opened);
		file = file_of(files, &search->mapped, &identity);
		surplus = file ? file_keep(files, file, &opened) : fd;
	}
	id = file ? file->id : FILES_REFUSED;
	pthread_mutex_unlock(&files->lock);
	if (surplus >= 0)
		close(surplus);
	return id;
}

uint32_t files_recognize(struct files *files, const struct file_search *search)
{
	uint32_t id = identify_held(files, &search->mapped);
	struct file_identity identity;
	struct file *file;
	struct stat stat;
	int fd;

	if (id != PROCESS_NO_FILE)
		return id;
	fd = opener_find(files->calls, search, find_limit_ns, &stat);
	if (fd < 0)
		return PROCESS_NO_FILE;
	close(fd);
	pthread_mutex_lock(&files->lock);
	identity = identity_of(&stat);
	file = file_rows_find_identity(&files->rows, &identity);
	if (file)
		file_rows_touch(&files->rows, file);
	id = file ? file->id : PROCESS_NO_FILE;
	pthread_mutex_unlock(&files->lock);
	return id;
}

/* A duplicate of the descriptor held for @file, and the key to open it by; negative errno. */
static int take_held(struct files *files, uint32_t id, uint64_t *device_ret)
{
	CLEANUP_FD int held = -1;
	struct file *file;

	pthread_mutex_lock(&files->lock);
	file = file_rows_find(&files->rows, id);
	held = duplicate_held(files, file);
	if (held >= 0)
		*device_ret = file->device;
	pthread_mutex_unlock(&files->lock);
	if (held < 0)
		return -ENOENT;
	return is_content_of(files, id, held, true) ? TAKE_FD(held) : -ESTALE;
}

int files_open(struct files *files, uint32_t file)
{
	uint64_t device = 0;
	CLEANUP_FD int held = take_held(files, file, &device);

	return held < 0 ? held : opener_open(files->calls, device, held, open_limit_ns);
}

ssize_t files_read_head(struct files *files, uint32_t file, void *to, size_t bytes)
{
	uint64_t device = 0;
	CLEANUP_FD int held = take_held(files, file, &device);

	return held < 0 ? held
			: opener_read_head(files->calls, device, held, open_limit_ns, to, bytes);
}

/* Of what was found for @id. *@surplus_ret: a descriptor to close, or -1. With the lock held. */
static int take_reopened(struct files *files, uint32_t id, const struct opened *opened,
			 int *surplus_ret)
{
	struct file_identity identity = identity_of_opened(opened);
	struct file *file = file_rows_find(&files->rows, id);

	*surplus_ret = opened->fd;
	if (!file)
		return -ENOENT;
	if (file->seen && !file_is(file, &identity))
		return -ESTALE;
	if (!file->seen)
		file_rows_see(&files->rows, file, &identity);
	*surplus_ret = file_keep(files, file, opened);
	return 0;
}

int files_reopen(struct files *files, uint32_t id, const struct file_search *search)
{
	struct opened opened;
	int status = files_find(files, search, open_limit_ns, &opened), surplus;

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
	const struct file *file;
	bool known;

	pthread_mutex_lock(&files->lock);
	file = file_rows_find(&files->rows, id);
	known = file && file->ends.hashed;
	if (known)
		strings_hex(ret, file->ends.htlhash, HTLHASH_BYTES);
	pthread_mutex_unlock(&files->lock);
	return known;
}

bool files_has(struct files *files, uint32_t id)
{
	bool found;

	pthread_mutex_lock(&files->lock);
	found = file_rows_find(&files->rows, id);
	pthread_mutex_unlock(&files->lock);
	return found;
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
		};
	pthread_mutex_unlock(&files->lock);
	return *path_ret;
}

/* With the lock held. */
static bool file_has_changed(struct file *file)
{
	struct file_identity identity;
	struct stat stat;

	// What compilers write code to changes all the time.
	if (file->changed || !file->ends.elf || opener_recall(file->fd, &stat))
		return false;
	identity = identity_of(&stat);
	file->changed = !file_is(file, &identity);
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

bool files_want_room(struct files *files)
{
	uint64_t now = clock_monotonic_ns();
	bool want;

	pthread_mutex_lock(&files->lock);
	want = now >= files->evict_again_ns && file_rows_nearly_full(&files->rows);
	// Whatever may hinder who is told so.
	if (want)
		files->evict_again_ns = now + evict_pause_ns;
	pthread_mutex_unlock(&files->lock);
	return want;
}

size_t files_margin(const struct files *files)
{
	return file_rows_margin(&files->rows);
}

size_t files_evict(struct files *files, const uint32_t *needed, size_t count)
{
	CLEANUP_FREE int *fds = calloc(files->rows.most_open + 1, sizeof(*fds));
	size_t fd_count, evicted;

	if (!fds)
		return 0;
	pthread_mutex_lock(&files->lock);
	evicted = file_rows_evict(&files->rows, needed, count, fds, &fd_count);
	if (!file_rows_nearly_full(&files->rows))
		files->evict_again_ns = 0;
	pthread_mutex_unlock(&files->lock);
	for (size_t i = 0; i < fd_count; i++)
		close(fds[i]);
	return evicted;
}

struct files_state files_state(struct files *files)
{
	struct timed_calls_counts calls = timed_calls_counts(files->calls);
	const struct file_rows *rows = &files->rows;
	struct files_state state;

	pthread_mutex_lock(&files->lock);
	state = (struct files_state){
		.files = rows->rows.count,
		.open = rows->held.count,
		.memory = file_rows_memory(rows),
		.refused = rows->refused,
		.paths_refused = rows->paths_refused,
		.evicted = rows->evicted,
		.turns = rows->numbers.turns,
		.unanswered = calls.left_behind,
		.unasked = calls.refused,
	};
	pthread_mutex_unlock(&files->lock);
	return state;
}
