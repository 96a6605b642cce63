// SPDX-License-Identifier: Apache-2.0
#include "opener.h"

#include "proc_read.h"

#include "base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/sysmacros.h>

enum { ROOTS_MOST = 8 };

/* In the keys of calls that look up paths, besides the device that the file should lie on. */
static const uint64_t PATH_KEY = 1ull << 63;

struct opening {
	struct timed_call call; /* first */
	int path_fd;            /* owned: of what is to be opened; or -1 */
	struct mapped_file mapped;
	char *path; /* owned: mapped.path */
	uint32_t roots[ROOTS_MOST];
	size_t root_count;
	bool is_denied; /* its mapping may not be opened */
	uint64_t size;
	/* What became of it: */
	int fd;     /* owned; or -1 */
	int status; /* 0 or a negative errno */
	struct file_look look;
	struct file_ends ends;
};

static void opening_destroy(struct timed_call *call)
{
	struct opening *opening = (struct opening *)call;

	if (opening->path_fd >= 0)
		close(opening->path_fd);
	if (opening->fd >= 0)
		close(opening->fd);
	free(opening->path);
	free(opening);
}

/* For @run with @key; of what @path_fd, which is copied, is of, unless that is negative. NULL
 * without memory or descriptors. */
static struct opening *opening_create(void (*run)(struct timed_call *call),
				      struct timed_call_key key, int path_fd)
{
	struct opening *opening = calloc(1, sizeof(*opening));

	if (!opening)
		return NULL;
	opening->call = (struct timed_call){ .run = run, .destroy = opening_destroy, .key = key };
	opening->fd = -1;
	opening->path_fd = path_fd < 0 ? -1 : fcntl(path_fd, F_DUPFD_CLOEXEC, 0);
	if (path_fd >= 0 && opening->path_fd < 0) {
		opening_destroy(&opening->call);
		return NULL;
	}
	return opening;
}

static struct timed_call_key file_system_key(struct file_place place)
{
	return (struct timed_call_key){ TIMED_CALL_FILE_SYSTEM, place.device, place.owner };
}

/* @fd is a descriptor or a negative errno. */
static void set_result(struct opening *opening, int fd)
{
	opening->fd = fd < 0 ? -1 : fd;
	opening->status = fd < 0 ? fd : 0;
}

/* The descriptor that @opening has brought, which ends, or a negative errno. */
static int opening_take(struct opening *opening)
{
	int result = opening->status ? opening->status : TAKE_FD(opening->fd);

	opening_destroy(&opening->call);
	return result;
}

static void run_find(struct timed_call *call)
{
	struct opening *opening = (struct opening *)call;

	const struct mapped_file *mapped = &opening->mapped;
	struct timed_call_key key = file_system_key(
		(struct file_place){ .device = mapped->device, .owner = mapped->owner });
	CLEANUP_FD int fd = mapped_file_open(mapped);
	int status = fd < 0 ? fd : -ETIMEDOUT;

	if (fd >= 0 && timed_call_goes_on(call, key))
		status = mapped_file_check(mapped, fd, &opening->look);
	set_result(opening, status ? status : TAKE_FD(fd));
}

/* In the process's own root, then in those of others, then in ours. */
static int look_up(struct opening *opening, const struct mapped_file *mapped)
{
	struct file_look *look = &opening->look;
	int fd = -ENOENT;

	if (mapped->pid)
		fd = mapped_file_open_path(mapped, mapped->pid, look);
	for (size_t i = 0; fd < 0 && fd != -EINVAL && i < opening->root_count; i++)
		fd = mapped_file_open_path(mapped, opening->roots[i], look);
	if (fd < 0 && fd != -EINVAL)
		fd = mapped_file_open_path(mapped, 0, look);
	return fd;
}

/* Mappings that may not be opened still pin their files, as long as their process lives. */
static void run_look_up(struct timed_call *call)
{
	struct opening *opening = (struct opening *)call;
	struct mapped_file mapped = opening->mapped;
	int fd;

	if (!opening->is_denied) {
		set_result(opening, look_up(opening, &mapped));
		return;
	}
	mapped.begin_ns = 0;
	fd = look_up(opening, &mapped);
	if (fd >= 0 && !proc_is_alive(mapped.pid) &&
	    file_look_may_be_younger(&opening->look, opening->mapped.begin_ns)) {
		close(fd);
		fd = -ESTALE;
	}
	set_result(opening, fd);
}

static int find_by(struct timed_calls *calls, void (*run)(struct timed_call *call),
		   struct timed_call_key key, const struct file_search *search, bool is_denied,
		   uint64_t limit_ns, struct file_look *look_ret)
{
	struct opening *opening = opening_create(run, key, -1);

	if (!opening)
		return -ENOMEM;
	opening->mapped = search->mapped;
	opening->is_denied = is_denied;
	opening->path = strdup(search->mapped.path);
	opening->mapped.path = opening->path;
	opening->root_count = search->root_count < ROOTS_MOST ? search->root_count : ROOTS_MOST;
	for (size_t i = 0; i < opening->root_count; i++)
		opening->roots[i] = search->roots[i];
	if (!opening->path) {
		opening_destroy(&opening->call);
		return -ENOMEM;
	}
	if (!timed_calls_make(calls, &opening->call, limit_ns))
		return -ETIMEDOUT;
	*look_ret = opening->look;
	return opening_take(opening);
}

int opener_find(struct timed_calls *calls, const struct file_search *search, uint64_t limit_ns,
		struct file_look *look_ret, bool *by_mapping_ret)
{
	const struct mapped_file *mapped = &search->mapped;
	struct timed_call_key by_mapping = { TIMED_CALL_PROCESS, mapped->pid, mapped->owner };
	struct timed_call_key by_path = file_system_key(
		(struct file_place){ .device = mapped->device | PATH_KEY, .owner = mapped->owner });
	int fd = -ESRCH;
	bool is_denied;

	if (mapped->pid)
		fd = find_by(calls, run_find, by_mapping, search, false, limit_ns, look_ret);
	is_denied = fd == -EPERM || fd == -EACCES;
	*by_mapping_ret = fd >= 0;
	if (fd < 0 && fd != -EINVAL && fd != -ETIMEDOUT)
		fd = find_by(calls, run_look_up, by_path, search, is_denied, limit_ns, look_ret);
	return fd;
}

static void run_read(struct timed_call *call)
{
	struct opening *opening = (struct opening *)call;
	int fd = file_reopen(opening->path_fd);
	char magic[4];

	if (fd >= 0) {
		opening->ends.elf = pread(fd, magic, sizeof(magic), 0) == sizeof(magic) &&
				    !memcmp(magic, "\177ELF", sizeof(magic));
		opening->ends.hashed = !htlhash_of_file(fd, opening->size, opening->ends.htlhash);
		close(fd);
	}
	opening->status = fd < 0 ? fd : 0;
}

int opener_read(struct timed_calls *calls, struct file_place place, int path_fd, uint64_t size,
		uint64_t limit_ns, struct file_ends *ret)
{
	struct opening *opening = opening_create(run_read, file_system_key(place), path_fd);
	int status;

	*ret = (struct file_ends){ 0 };
	if (!opening)
		return -ENOMEM;
	opening->size = size;
	if (!timed_calls_make(calls, &opening->call, limit_ns))
		return -ETIMEDOUT;
	status = opening->status;
	*ret = opening->ends;
	opening_destroy(&opening->call);
	return status;
}

static void run_open(struct timed_call *call)
{
	struct opening *opening = (struct opening *)call;

	set_result(opening, file_reopen(opening->path_fd));
}

int opener_open(struct timed_calls *calls, struct file_place place, int path_fd, uint64_t limit_ns)
{
	struct opening *opening;

	// What is opened here is closed by others, later.
	if (close_later_hangs(place.payer))
		return -EAGAIN;
	opening = opening_create(run_open, file_system_key(place), path_fd);
	if (!opening)
		return -ENOMEM;
	if (!timed_calls_make(calls, &opening->call, limit_ns))
		return -ETIMEDOUT;
	return opening_take(opening);
}

int opener_recall(int fd, struct stat *stat_ret)
{
	struct statx got;

	if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_BASIC_STATS, &got))
		return -errno;
	*stat_ret = (struct stat){
		.st_dev = makedev(got.stx_dev_major, got.stx_dev_minor),
		.st_ino = got.stx_ino,
		.st_mode = got.stx_mode,
		.st_nlink = got.stx_nlink,
		.st_uid = got.stx_uid,
		.st_size = (off_t)got.stx_size,
		.st_mtim = { got.stx_mtime.tv_sec, got.stx_mtime.tv_nsec },
		.st_ctim = { got.stx_ctime.tv_sec, got.stx_ctime.tv_nsec },
	};
	return 0;
}
