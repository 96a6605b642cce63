// SPDX-License-Identifier: Apache-2.0
#include "files.h"

#include "proc_text.h"
#include "processes.h"

#include "base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>

/* The thread that follows processes cannot wait for long, or it loses records; others can. */
static const uint64_t find_limit_ns = 250000000, open_limit_ns = 1000000000;

struct file {
	struct mapped_file mapped; /* path owned by the arena; no process */
	bool seen;                 /* has been opened: the identity below is known */
	bool linked;               /* had a name then */
	bool changed;              /* files_changed has told of it */
	struct file_ends ends;
	uint64_t device, inode; /* as stat shows them */
	int64_t size, modified_ns;
	int fd; /* O_PATH; -1 = not held */
	uint64_t used;
};

/* What maps calls (device, inode) is this file at present. */
struct file_alias {
	uint64_t device, inode;
	uint32_t file;
};

struct files {
	pthread_mutex_t lock; /* over all below */
	struct timed_calls *calls;
	struct arena *paths;
	size_t max_files, max_open;
	VECTOR(struct file) rows;
	VECTOR(struct file_alias) aliases;
	struct intern by_identity; /* rows that have been opened */
	struct intern by_alias;
	size_t open;
	uint64_t clock; /* of use */
	uint64_t refused, paths_refused;
};

/* The greatest power of two, since tables double, that fits into @max_bytes. */
static size_t most_files(size_t max_bytes)
{
	// Two indexes of 8 bytes a slot, between 3/8 and 3/4 full: not more than 2 slots a file.
	size_t each =
		sizeof(struct file) + sizeof(struct file_alias) + 4 * sizeof(struct intern_slot);
	size_t count = 8;

	while (2 * count * each <= max_bytes && count < 1u << 30)
		count *= 2;
	return count;
}

struct files *files_create(size_t max_open, size_t max_bytes)
{
	struct files *files = calloc(1, sizeof(*files));

	if (!files)
		return NULL;
	pthread_mutex_init(&files->lock, NULL);
	files->max_open = max_open;
	// Apart, so that a program that maps many long paths does not take the ids from others.
	files->paths = arena_create(max_bytes / 4);
	files->max_files = most_files(max_bytes / 4 * 3);
	files->calls = timed_calls_create();
	if (!files->paths || !files->calls) {
		files_destroy(files);
		return NULL;
	}
	return files;
}

void files_destroy(struct files *files)
{
	if (!files)
		return;
	for (size_t i = 0; i < files->rows.count; i++)
		if (files->rows.items[i].fd >= 0)
			close(files->rows.items[i].fd);
	VECTOR_DEINIT(&files->rows);
	VECTOR_DEINIT(&files->aliases);
	intern_deinit(&files->by_identity);
	intern_deinit(&files->by_alias);
	timed_calls_destroy(files->calls);
	arena_destroy(files->paths);
	pthread_mutex_destroy(&files->lock);
	free(files);
}

static size_t files_memory(const struct files *files)
{
	return arena_memory(files->paths) + files->rows.capacity * sizeof(*files->rows.items) +
	       files->aliases.capacity * sizeof(*files->aliases.items) +
	       intern_memory(&files->by_identity) + intern_memory(&files->by_alias);
}

struct identity {
	const struct files *files;
	uint64_t device, inode;
	int64_t size, modified_ns;
	bool linked;
	bool raw; /* it is known not to be an ELF file */
};

static struct identity identity_of(const struct files *files, const struct stat *stat)
{
	return (struct identity){
		.files = files,
		.device = stat->st_dev,
		.inode = stat->st_ino,
		.size = stat->st_size,
		.modified_ns = stat->st_mtim.tv_sec * 1000000000ll + stat->st_mtim.tv_nsec,
		.linked = stat->st_nlink > 0,
	};
}

static bool file_is(const struct file *file, const struct identity *identity)
{
	if (file->device != identity->device || file->inode != identity->inode)
		return false;
	if (file->size == identity->size && file->modified_ns == identity->modified_ns)
		return true;
	// An inode held open cannot have been given to another file.
	return !identity->linked && identity->raw && !file->ends.elf &&
	       (file->fd >= 0 || !file->linked);
}

static bool identity_equal(uint32_t id, const void *context)
{
	const struct identity *identity = context;

	return file_is(&identity->files->rows.items[id], identity);
}

static uint32_t pair_hash(uint64_t device, uint64_t inode)
{
	uint64_t pair[] = { device, inode };

	return intern_hash(pair, sizeof(pair));
}

static uint32_t identity_find(const struct files *files, const struct identity *identity)
{
	return intern_find(&files->by_identity, pair_hash(identity->device, identity->inode),
			   identity_equal, identity);
}

struct alias_key {
	const struct files *files;
	uint64_t device, inode;
};

static bool alias_equal(uint32_t id, const void *context)
{
	const struct alias_key *key = context;
	const struct file_alias *alias = &key->files->aliases.items[id];

	return alias->device == key->device && alias->inode == key->inode;
}

static struct file_alias *alias_find(struct files *files, const struct mapped_file *mapped)
{
	struct alias_key key = { files, mapped->device, mapped->inode };
	uint32_t id =
		intern_find(&files->by_alias, pair_hash(key.device, key.inode), alias_equal, &key);

	return id == INTERN_MISSING ? NULL : &files->aliases.items[id];
}

static void alias_set(struct files *files, const struct mapped_file *mapped, uint32_t file)
{
	struct file_alias *alias = alias_find(files, mapped);

	if (alias) {
		alias->file = file;
		return;
	}
	// Without room the file is looked for anew next time: slower, not wrong.
	if (files->aliases.count >= files->max_files)
		return;
	if (!VECTOR_PUSH(&files->aliases,
			 ((struct file_alias){ mapped->device, mapped->inode, file })))
		return;
	if (!intern_insert(&files->by_alias, pair_hash(mapped->device, mapped->inode),
			   (uint32_t)files->aliases.count - 1))
		files->aliases.count--;
}

static uint32_t file_add(struct files *files, const struct mapped_file *mapped)
{
	struct file file = { .mapped = *mapped, .fd = -1 };

	if (files->rows.count >= files->max_files) {
		files->refused++;
		return PROCESS_NO_FILE;
	}
	file.mapped.pid = 0;
	file.mapped.path = arena_strndup(files->paths, mapped->path,
					 proc_path_length(mapped->path, strlen(mapped->path)));
	if (!file.mapped.path) {
		files->paths_refused++;
		file.mapped.path = "";
	}
	if (!VECTOR_PUSH(&files->rows, file)) {
		files->refused++;
		return PROCESS_NO_FILE;
	}
	return (uint32_t)files->rows.count - 1;
}

/* So it is now, and may be found by that at once. */
static void file_date(struct file *file, const struct identity *identity)
{
	file->size = identity->size;
	file->modified_ns = identity->modified_ns;
}

/* From now on @id is known by what stat says of it. */
static void file_see(struct files *files, uint32_t id, const struct identity *identity)
{
	struct file *file = &files->rows.items[id];

	file->seen = true;
	file->linked = identity->linked;
	file->device = identity->device;
	file->inode = identity->inode;
	file_date(file, identity);
	intern_insert(&files->by_identity, pair_hash(file->device, file->inode), id);
}

/* The id of the opened file of @identity, which @mapped leads to. */
static uint32_t file_of(struct files *files, const struct mapped_file *mapped,
			const struct identity *identity)
{
	uint32_t id = identity_find(files, identity);
	struct file_alias *alias = alias_find(files, mapped);

	// One that could not be opened when it was first met gets its identity now.
	if (id == INTERN_MISSING && alias && !files->rows.items[alias->file].seen)
		id = alias->file;
	if (id == INTERN_MISSING)
		id = file_add(files, mapped);
	if (id == PROCESS_NO_FILE)
		return id;
	if (files->rows.items[id].seen)
		file_date(&files->rows.items[id], identity);
	else
		file_see(files, id, identity);
	alias_set(files, mapped, id);
	return id;
}

static int least_used(struct files *files)
{
	struct file *oldest = NULL;

	for (size_t i = 0; i < files->rows.count; i++) {
		struct file *file = &files->rows.items[i];

		if (file->fd >= 0 && (!oldest || file->used < oldest->used))
			oldest = file;
	}
	files->open--;
	return TAKE_FD(oldest->fd);
}

/* Keep @fd, which is taken, for @id. Returns a descriptor to close, or -1. */
static int file_hold(struct files *files, uint32_t id, int fd)
{
	struct file *file = &files->rows.items[id];
	int surplus = -1;

	file->used = ++files->clock;
	if (file->fd >= 0 || !files->max_open)
		return fd;
	if (files->open >= files->max_open)
		surplus = least_used(files);
	file->fd = fd;
	files->open++;
	return surplus;
}

/* A file that has just been found. */
struct opened {
	int fd; /* O_PATH */
	struct stat stat;
	struct file_ends ends;
};

static struct identity identity_of_opened(const struct files *files, const struct opened *opened)
{
	struct identity identity = identity_of(files, &opened->stat);

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
	struct identity identity;
	uint32_t id;
	int status = 0;

	ret->ends = (struct file_ends){ 0 };
	ret->fd = opener_find(files->calls, search, limit_ns, &ret->stat);
	if (ret->fd < 0)
		return ret->fd;
	pthread_mutex_lock(&files->lock);
	identity = identity_of(files, &ret->stat);
	id = identity_find(files, &identity);
	if (id != INTERN_MISSING)
		ret->ends = files->rows.items[id].ends;
	pthread_mutex_unlock(&files->lock);
	if (!ret->ends.hashed)
		status = opener_read(files->calls, search->mapped.device, ret->fd,
				     (uint64_t)ret->stat.st_size, limit_ns, &ret->ends);
	// It may be read later, or it is one that others may not read.
	if (status == -ETIMEDOUT || status == -EACCES)
		close(TAKE_FD(ret->fd));
	return ret->fd < 0 ? status : ret->fd;
}

/* Keep what @opened has brought of @id: the hash, and the descriptor, which is taken. Returns a
 * descriptor to close, or -1. */
static int file_keep(struct files *files, uint32_t id, const struct opened *opened)
{
	struct file *file = &files->rows.items[id];

	if (!file->ends.hashed)
		file->ends = opened->ends;
	return file_hold(files, id, opened->fd);
}

/* A duplicate of the descriptor held for @file, or -1. With the lock held. */
static int duplicate_held(struct files *files, uint32_t id)
{
	struct file *file = id < files->rows.count ? &files->rows.items[id] : NULL;

	if (!file || file->fd < 0)
		return -1;
	file->used = ++files->clock;
	return fcntl(file->fd, F_DUPFD_CLOEXEC, 0);
}

/*
 * The id of @mapped if its file is held open, and unchanged. Its inode is then taken, so the
 * same number means the same file.
 */
static uint32_t identify_held(struct files *files, const struct mapped_file *mapped)
{
	uint32_t id = PROCESS_NO_FILE;
	struct file_alias *alias;
	struct identity identity;
	CLEANUP_FD int fd = -1;
	struct stat stat;

	pthread_mutex_lock(&files->lock);
	alias = alias_find(files, mapped);
	if (alias) {
		id = alias->file;
		fd = duplicate_held(files, id);
	}
	pthread_mutex_unlock(&files->lock);
	if (fd < 0 || opener_recall(fd, &stat))
		return PROCESS_NO_FILE;
	pthread_mutex_lock(&files->lock);
	identity = identity_of(files, &stat);
	if (!file_is(&files->rows.items[id], &identity))
		id = PROCESS_NO_FILE;
	pthread_mutex_unlock(&files->lock);
	return id;
}

/* What cannot be opened still is a file: its mappings share an id, and may get at it later. */
static uint32_t identify_unopened(struct files *files, const struct mapped_file *mapped)
{
	struct file_alias *alias = alias_find(files, mapped);
	uint32_t id = alias ? alias->file : file_add(files, mapped);

	if (!alias && id != PROCESS_NO_FILE)
		alias_set(files, mapped, id);
	return id;
}

uint32_t files_identify(struct files *files, const struct file_search *search)
{
	struct identity identity;
	struct opened opened;
	int fd, surplus = -1;
	uint32_t id;

	id = identify_held(files, &search->mapped);
	if (id != PROCESS_NO_FILE)
		return id;
	fd = files_find(files, search, find_limit_ns, &opened);
	if (fd == -EINVAL)
		return PROCESS_NO_FILE;
	pthread_mutex_lock(&files->lock);
	if (fd < 0) {
		id = identify_unopened(files, &search->mapped);
	} else {
		identity = identity_of_opened(files, &opened);
		id = file_of(files, &search->mapped, &identity);
		surplus = id == PROCESS_NO_FILE ? fd : file_keep(files, id, &opened);
	}
	pthread_mutex_unlock(&files->lock);
	if (surplus >= 0)
		close(surplus);
	return id;
}

uint32_t files_recognize(struct files *files, const struct file_search *search)
{
	uint32_t id = identify_held(files, &search->mapped);
	struct identity identity;
	struct stat stat;
	int fd;

	if (id != PROCESS_NO_FILE)
		return id;
	fd = opener_find(files->calls, search, find_limit_ns, &stat);
	if (fd < 0)
		return PROCESS_NO_FILE;
	close(fd);
	pthread_mutex_lock(&files->lock);
	identity = identity_of(files, &stat);
	id = identity_find(files, &identity);
	pthread_mutex_unlock(&files->lock);
	return id == INTERN_MISSING ? PROCESS_NO_FILE : id;
}

/* Is @fd of the content that @id stands for? */
static bool is_content_of(struct files *files, uint32_t id, int fd)
{
	struct identity identity;
	struct stat stat;
	bool same;

	if (opener_recall(fd, &stat))
		return false;
	pthread_mutex_lock(&files->lock);
	identity = identity_of(files, &stat);
	identity.raw = !files->rows.items[id].ends.elf;
	same = file_is(&files->rows.items[id], &identity);
	pthread_mutex_unlock(&files->lock);
	return same;
}

/* A duplicate of the descriptor held for @file, and the key to open it by; negative errno. */
static int take_held(struct files *files, uint32_t file, uint64_t *device_ret)
{
	CLEANUP_FD int held = -1;

	pthread_mutex_lock(&files->lock);
	held = duplicate_held(files, file);
	if (held >= 0)
		*device_ret = files->rows.items[file].mapped.device;
	pthread_mutex_unlock(&files->lock);
	if (held < 0)
		return -ENOENT;
	return is_content_of(files, file, held) ? TAKE_FD(held) : -ESTALE;
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

int files_reopen(struct files *files, uint32_t id, const struct file_search *search)
{
	struct identity identity;
	struct opened opened;
	int fd = files_find(files, search, open_limit_ns, &opened), surplus = -1, status = 0;
	struct file *file;

	if (fd < 0)
		return fd;
	pthread_mutex_lock(&files->lock);
	identity = identity_of_opened(files, &opened);
	file = &files->rows.items[id];
	if (file->seen && !file_is(file, &identity)) {
		status = -ESTALE;
		surplus = fd;
	} else {
		if (!file->seen)
			file_see(files, id, &identity);
		surplus = file_keep(files, id, &opened);
	}
	pthread_mutex_unlock(&files->lock);
	if (surplus >= 0)
		close(surplus);
	return status;
}

bool files_htlhash(struct files *files, uint32_t id, char ret[HTLHASH_HEX])
{
	bool known;

	pthread_mutex_lock(&files->lock);
	known = id < files->rows.count && files->rows.items[id].ends.hashed;
	if (known)
		strings_hex(ret, files->rows.items[id].ends.htlhash, HTLHASH_BYTES);
	pthread_mutex_unlock(&files->lock);
	return known;
}

bool files_lookup(struct files *files, uint32_t file, struct mapped_file *ret)
{
	bool found;

	pthread_mutex_lock(&files->lock);
	found = file < files->rows.count;
	if (found)
		*ret = files->rows.items[file].mapped;
	pthread_mutex_unlock(&files->lock);
	return found;
}

/* With the lock held. */
static bool file_has_changed(struct files *files, struct file *file)
{
	struct identity identity;
	struct stat stat;

	// What compilers write code to changes all the time.
	if (file->changed || file->fd < 0 || !file->ends.elf || opener_recall(file->fd, &stat))
		return false;
	identity = identity_of(files, &stat);
	file->changed = !file_is(file, &identity);
	return file->changed;
}

size_t files_changed(struct files *files, uint32_t *ret, size_t count)
{
	size_t found = 0;

	pthread_mutex_lock(&files->lock);
	for (size_t i = 0; i < files->rows.count && found < count; i++)
		if (file_has_changed(files, &files->rows.items[i]))
			ret[found++] = (uint32_t)i;
	pthread_mutex_unlock(&files->lock);
	return found;
}

struct files_state files_state(struct files *files)
{
	struct timed_calls_counts calls = timed_calls_counts(files->calls);
	struct files_state state;

	pthread_mutex_lock(&files->lock);
	state = (struct files_state){
		.files = files->rows.count,
		.open = files->open,
		.memory = files_memory(files),
		.refused = files->refused,
		.paths_refused = files->paths_refused,
		.unanswered = calls.left_behind,
		.unasked = calls.refused,
	};
	pthread_mutex_unlock(&files->lock);
	return state;
}
