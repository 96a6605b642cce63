// SPDX-License-Identifier: Apache-2.0
#include "directory.h"

#include "base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

enum {
	POLL_NS = 10000000, /* between two attempts to lock */
	PART_MAX_BYTES = NAME_MAX + 1,
};

static const char lock_name[] = ".lock"; // no queue is called so: see escape()

/* ---- opening ---- */

static struct profcol_error *cannot_use(const char *path, int errnum)
{
	const char *remedy = "set another one as 'directory'";

	if (errnum == ENOENT)
		remedy = "create it, or set 'create_directory: true'";
	else if (errnum == EACCES || errnum == EPERM)
		remedy = "let the user that profcol runs as write there, or set another one as "
			 "'directory'";
	return profcol_error_create(errnum == ENOMEM ? PROFCOL_NO_MEMORY : PROFCOL_SYSTEM,
				    "cannot use directory '%s': %s; %s", path,
				    strerrordesc_np(errnum), remedy);
}

/* @error with the name of the directory and the way out; takes @error. NULL when @error is. */
static struct profcol_error *name_fault(const char *path, struct profcol_error *error, int errnum)
{
	struct profcol_error *named;

	if (!error)
		return NULL;
	named = errnum ? cannot_use(path, errnum)
		       : profcol_error_create(PROFCOL_SYSTEM,
					      "cannot use directory '%s': %s, or set another one "
					      "as 'directory'",
					      path, profcol_error_message(error));
	profcol_error_destroy(error);
	return named;
}

/* Others may write to it if they must: each queue in it is ours alone, by claim(). */
static struct profcol_error *open_once(const char *path, int *errnum_ret, int *ret)
{
	struct trusted_output output = { .path = path, .others_may_write = true };
	struct profcol_error *error;

	*errnum_ret = 0;
	error = trusted_output_open(&output, errnum_ret, ret);
	return name_fault(path, error, *errnum_ret);
}

static struct profcol_error *open_path(const struct directory_settings *settings, int *ret)
{
	const char *path = settings->path;
	int errnum;
	struct profcol_error *error = open_once(path, &errnum, ret);

	if (errnum != ENOENT || !settings->create)
		return error;
	profcol_error_destroy(error);
	error = trusted_directory_make(path, settings->mode, &errnum);
	return error ? name_fault(path, error, errnum) : open_once(path, &errnum, ret);
}

/* ---- one process per directory ---- */

static struct profcol_error *report_holder(int lock_fd, const char *path)
{
	char text[24];
	ssize_t length = pread(lock_fd, text, sizeof(text) - 1, 0);
	long pid;

	text[length > 0 ? length : 0] = '\0';
	pid = strtol(text, NULL, 10);
	if (pid == getpid())
		return profcol_error_create(
			PROFCOL_CONFIG,
			"directory '%s' is already used by another "
			"file_storage of this process; set a 'directory' of its "
			"own for each",
			path);
	if (pid <= 0)
		return profcol_error_create(PROFCOL_SYSTEM,
					    "directory '%s' is locked by another process; end it, "
					    "or set another one as 'directory'",
					    path);
	return profcol_error_create(PROFCOL_SYSTEM,
				    "directory '%s' is locked by process %ld; end it, or set "
				    "another one as 'directory'",
				    path, pid);
}

static struct profcol_error *wait_for_lock(int lock_fd, const struct directory_settings *settings)
{
	uint64_t begin_ns = clock_monotonic_ns();

	while (flock(lock_fd, LOCK_EX | LOCK_NB)) {
		struct timespec pause = clock_timespec(POLL_NS);

		if (errno == EINTR)
			continue;
		if (errno != EWOULDBLOCK)
			return profcol_error_errno(errno, "cannot lock '%s/%s'", settings->path,
						   lock_name);
		if (clock_monotonic_ns() - begin_ns >= settings->timeout_ns)
			return report_holder(lock_fd, settings->path);
		nanosleep(&pause, NULL);
	}
	return NULL;
}

/* For whoever finds it locked. That the disk may be too full for it does not matter. */
static void note_holder(int lock_fd)
{
	char text[24];
	int length = snprintf(text, sizeof(text), "%ld\n", (long)getpid());

	if (!ftruncate(lock_fd, 0) && pwrite(lock_fd, text, (size_t)length, 0) != length)
		(void)!ftruncate(lock_fd, 0);
}

static struct profcol_error *lock(int fd, const struct directory_settings *settings, int *ret)
{
	CLEANUP_FD int lock_fd =
		openat(fd, lock_name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
	struct profcol_error *error;

	if (lock_fd < 0)
		return cannot_use(settings->path, errno);
	error = wait_for_lock(lock_fd, settings);
	if (error)
		return error;
	note_holder(lock_fd);
	*ret = TAKE_FD(lock_fd);
	return NULL;
}

struct profcol_error *directory_init(const struct directory_settings *settings,
				     struct directory *ret)
{
	CLEANUP_FD int fd = -1;
	int lock_fd = -1;
	struct profcol_error *error = open_path(settings, &fd);
	struct stat status;

	if (!error && fstat(fd, &status))
		error = cannot_use(settings->path, errno);
	if (!error)
		error = lock(fd, settings, &lock_fd);
	if (error)
		return error;
	*ret = (struct directory){
		.fd = TAKE_FD(fd),
		.lock_fd = lock_fd,
		// In a sticky directory others cannot remove what is ours.
		.others_may_write =
			(status.st_mode & (S_IWGRP | S_IWOTH)) && !(status.st_mode & S_ISVTX),
	};
	return NULL;
}

/* Of a path that is to be created: can it be, below what is there of it? */
static struct profcol_error *probe_parents(const char *path)
{
	CLEANUP_FREE char *part = strdup(path);
	char *parent = part;

	if (!part)
		return cannot_use(path, ENOMEM);
	do {
		parent = dirname(parent);
	} while (access(parent, F_OK) && errno == ENOENT && strcmp(parent, "/") &&
		 strcmp(parent, "."));
	return access(parent, W_OK | X_OK) ? cannot_use(path, errno) : NULL;
}

struct profcol_error *directory_probe(const struct directory_settings *settings)
{
	const struct directory_settings look = { .path = settings->path, .create = false };
	CLEANUP_FD int fd = -1, lock_fd = -1;
	struct profcol_error *error;
	struct stat status;

	if (settings->create && access(settings->path, F_OK) && errno == ENOENT)
		return probe_parents(settings->path);
	error = open_path(&look, &fd);
	if (!error && fstat(fd, &status))
		error = cannot_use(settings->path, errno);
	if (!error && faccessat(fd, ".", W_OK | X_OK, AT_EACCESS))
		error = cannot_use(settings->path, errno);
	if (error)
		return error;
	lock_fd = openat(fd, lock_name, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	return lock_fd < 0 ? NULL : wait_for_lock(lock_fd, &look);
}

void directory_deinit(struct directory *directory)
{
	cleanup_fd(&directory->fd);
	cleanup_fd(&directory->lock_fd);
	directory->fd = directory->lock_fd = -1;
}

/* ---- queues ---- */

/*
 * @name as a file name: bytes that are unsafe in one, and a dot in front, become %XX.
 * False when that is longer than a file name may be.
 */
static bool escape(const char *name, char to[PART_MAX_BYTES])
{
	static const char safe[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				   "0123456789_-.";
	size_t length = 0;

	for (size_t i = 0; name[i]; i++) {
		bool plain = strchr(safe, name[i]) && !(i == 0 && name[i] == '.');

		if (length + 3 >= PART_MAX_BYTES)
			return false;
		if (plain)
			to[length++] = name[i];
		else
			length +=
				(size_t)snprintf(to + length, 4, "%%%02X", (unsigned char)name[i]);
	}
	to[length] = '\0';
	return length > 0;
}

static struct profcol_error *claim(int fd, const char *path, const char *name)
{
	struct stat status;

	if (fstat(fd, &status))
		return cannot_use(path, errno);
	if (status.st_uid != geteuid())
		return profcol_error_create(PROFCOL_SYSTEM,
					    "directory '%s' belongs to user %u; chown it to user "
					    "%u, or move it away",
					    path, status.st_uid, geteuid());
	// A volume's permissions may have been widened from outside since we created it.
	if ((status.st_mode & (S_IRWXG | S_IRWXO)) && fchmod(fd, 0700))
		return cannot_use(path, errno);
	if (!flock(fd, LOCK_EX | LOCK_NB))
		return NULL;
	if (errno != EWOULDBLOCK)
		return profcol_error_errno(errno, "cannot lock '%s'", path);
	return profcol_error_create(PROFCOL_CONFIG,
				    "queue '%s' is open already, in '%s'; one exporter may use it",
				    name, path);
}

struct profcol_error *directory_open_queue(const struct directory *directory, const char *path,
					   const char *name, int *fd_ret, char **path_ret)
{
	CLEANUP_FREE char *whole = NULL;
	CLEANUP_FD int fd = -1;
	char part[PART_MAX_BYTES];
	struct profcol_error *error;

	if (!escape(name, part))
		return profcol_error_create(PROFCOL_CONFIG,
					    "the name '%.64s...' is too long for a file; give the "
					    "exporter a shorter one",
					    name);
	if (asprintf(&whole, "%s/%s", path, part) < 0) {
		whole = NULL;
		return profcol_error_errno(ENOMEM, "open queue '%s'", name);
	}
	if (mkdirat(directory->fd, part, 0700) && errno != EEXIST)
		return cannot_use(whole, errno);
	fsync(directory->fd); // once a start; what it cannot do, a crash at worst undoes
	fd = openat(directory->fd, part, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return cannot_use(whole, errno);
	error = claim(fd, whole, name);
	if (error)
		return error;
	*fd_ret = TAKE_FD(fd);
	*path_ret = TAKE(whole);
	return NULL;
}
