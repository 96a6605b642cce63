// SPDX-License-Identifier: Apache-2.0
#include "record_file.h"

#include "base/base.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

enum {
	FILE_MODE = 0600, /* profiles name programs and files of others */
	PREFIX_BYTES = 4,
};

static const char *remedy(int errnum)
{
	switch (errnum) {
	case ENOENT:
		return "create its directory, or set 'create_directory: true'";
	case ENOSPC:
	case EDQUOT:
	case EFBIG:
		return "make room, or set 'rotation' limits";
	case EROFS:
		return "set a path on a writable file system as 'path'";
	case EACCES:
	case EPERM:
		return "let the user that profcol runs as write to it, or set another one as "
		       "'path'";
	case EISDIR:
		return "set the path of a file as 'path'";
	case ENXIO:
		return "start whoever reads the pipe first";
	case EWOULDBLOCK:
		return "another exporter, or another profcol, writes to it: give each a path of "
		       "its own";
	default:
		return "check the path and its file system";
	}
}

struct profcol_error *record_file_error(enum profcol_code code, const char *path, int errnum)
{
	return profcol_error_create(
		code, "cannot write to '%s': %s; %s", path,
		errnum == EWOULDBLOCK ? "it is in use" : strerrordesc_np(errnum), remedy(errnum));
}

void record_file_init(struct record_file *file, const struct record_file_settings *settings,
		      const struct profcol_logger *logger)
{
	*file = (struct record_file){ .settings = settings, .logger = logger, .fd = -1 };
}

/* Takes @error. */
static struct profcol_error *refuse(const char *path, struct profcol_error *error, int errnum)
{
	struct profcol_error *named =
		errnum ? record_file_error(PROFCOL_SYSTEM, path, errnum)
		       : profcol_error_create(
				 PROFCOL_SYSTEM,
				 "cannot write to '%s': %s, or set another 'path'; for a volume "
				 "that others may write to there is 'private_subdirectory: true'",
				 path, profcol_error_message(error));

	profcol_error_destroy(error);
	return named;
}

/* ---- opening ---- */

/* All directories above @path that are missing. */
static struct profcol_error *make_directories(const char *path, mode_t mode, int *errnum_ret)
{
	const char *slash = strrchr(path, '/');
	CLEANUP_FREE char *directory = slash ? strndup(path, (size_t)(slash - path) + 1) : NULL;

	*errnum_ret = slash && !directory ? ENOMEM : 0;
	if (!directory)
		return NULL;
	return trusted_directory_make(directory, mode, errnum_ret);
}

/* Where the last whole record ends; its size when all are whole. Negative errno. */
static int64_t end_of_records(int fd, uint64_t size)
{
	uint64_t at = 0;

	while (size - at >= PREFIX_BYTES) {
		uint32_t prefix;

		if (pread(fd, &prefix, sizeof(prefix), (off_t)at) != sizeof(prefix))
			return -EIO;
		if (be32toh(prefix) > size - at - PREFIX_BYTES)
			break;
		at += PREFIX_BYTES + be32toh(prefix);
	}
	return (int64_t)at;
}

static struct profcol_error *mend_prefixed(struct record_file *file)
{
	const char *path = file->settings->path;
	int64_t end = end_of_records(file->fd, file->size);

	if (end < 0)
		return record_file_error(PROFCOL_SYSTEM, path, (int)-end);
	if ((uint64_t)end == file->size)
		return NULL;
	if (!end)
		return profcol_error_create(
			PROFCOL_SYSTEM,
			"cannot append to '%s': it does not begin with a whole record, so it is "
			"probably of another format; move it away, or set another 'path'",
			path);
	profcol_log_warn(file->logger,
			 "'%s' ended in the middle of a record: %" PRIu64 " bytes are cut off",
			 path, file->size - (uint64_t)end);
	if (ftruncate(file->fd, end))
		return record_file_error(PROFCOL_SYSTEM, path, errno);
	file->size = (uint64_t)end;
	return NULL;
}

/* The piece of a line stays, as a line of its own: readers pass over what is no JSON. */
static struct profcol_error *mend_lines(struct record_file *file)
{
	const char *path = file->settings->path;
	char last;

	if (pread(file->fd, &last, 1, (off_t)file->size - 1) != 1)
		return record_file_error(PROFCOL_SYSTEM, path, EIO);
	if (last == '\n')
		return NULL;
	profcol_log_warn(file->logger, "'%s' ended in the middle of a line, which is ended now",
			 path);
	if (write(file->fd, "\n", 1) != 1)
		return record_file_error(PROFCOL_SYSTEM, path, errno);
	file->size++;
	return NULL;
}

/* @append: whatever the settings say. */
static struct profcol_error *take_over(struct record_file *file, bool append)
{
	const char *path = file->settings->path;
	struct stat status;

	if (fstat(file->fd, &status))
		return record_file_error(PROFCOL_SYSTEM, path, errno);
	file->is_regular = S_ISREG(status.st_mode);
	file->device = status.st_dev;
	file->inode = status.st_ino;
	file->size = file->is_regular ? (uint64_t)status.st_size : 0;
	file->torn = false;
	if (!file->is_regular)
		return NULL;
	// Not every file system has locks.
	if (flock(file->fd, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK)
		return record_file_error(PROFCOL_SYSTEM, path, EWOULDBLOCK);
	if (!append) {
		if (ftruncate(file->fd, 0))
			return record_file_error(PROFCOL_SYSTEM, path, errno);
		file->size = 0;
	}
	if (!file->size)
		return NULL;
	return file->settings->framing == RECORD_FILE_LINES ? mend_lines(file)
							    : mend_prefixed(file);
}

static bool is_pipe(const char *path)
{
	struct stat status;

	return !stat(path, &status) && S_ISFIFO(status.st_mode);
}

static struct profcol_error *open_file(struct record_file *file, bool append)
{
	const struct record_file_settings *settings = file->settings;
	int access = is_pipe(settings->path) ? O_WRONLY : O_RDWR, errnum = 0;
	struct profcol_error *error = NULL;

	if (settings->create_directory)
		error = make_directories(settings->asked_path, settings->directory_mode, &errnum);
	if (error || errnum)
		return refuse(settings->path, error, errnum);
	error = trusted_file_open(settings->asked_path, access | O_CREAT | O_APPEND | O_NOCTTY,
				  FILE_MODE, settings->private_part, &errnum, &file->fd);
	if (error)
		return refuse(settings->path, error, errnum);
	error = take_over(file, append);
	if (error)
		close(TAKE_FD(file->fd));
	return error;
}

struct profcol_error *record_file_open(struct record_file *file)
{
	const struct record_file_settings *settings = file->settings;

	return open_file(file, settings->append || settings->max_bytes);
}

/* ---- writing ---- */

static bool is_moved(const struct record_file *file)
{
	struct stat status;

	if (stat(file->settings->path, &status))
		return errno == ENOENT;
	return status.st_dev != file->device || status.st_ino != file->inode;
}

/* The next file, once this one is full. */
static struct profcol_error *rotate(struct record_file *file)
{
	const struct record_file_settings *settings = file->settings;
	int status = backups_add(settings->path, &settings->backup), removed;
	struct profcol_error *error;

	if (status)
		return profcol_error_create(
			PROFCOL_UNAVAILABLE, "cannot move '%s' away to begin a new file: %s; %s",
			settings->path, strerrordesc_np(-status), remedy(-status));
	file->rotations++;
	error = record_file_close(file);
	if (!error)
		error = open_file(file, true);
	removed = backups_expire(settings->path, &settings->backup);
	if (removed < 0)
		profcol_log_warn(file->logger, "cannot list the backups of '%s': %s; old ones stay",
				 settings->path, strerrordesc_np(-removed));
	return error;
}

/*
 * Somebody else may have emptied the file since, as logrotate's copytruncate does: a size from
 * before would be that of a hole.
 */
static int note_truncation(struct record_file *file)
{
	struct stat status;

	if (!file->is_regular)
		return 0;
	if (fstat(file->fd, &status))
		return -errno;
	if ((uint64_t)status.st_size >= file->size)
		return 0;
	// What is left of a record that was being written then is a piece from its middle.
	file->size = file->torn ? 0 : (uint64_t)status.st_size;
	profcol_log_info(file->logger, "'%s' was truncated by somebody else; going on at its end",
			 file->settings->path);
	return 0;
}

/* Take away what stands behind the last whole record. */
static int cut_off(struct record_file *file)
{
	int status = note_truncation(file);

	if (status || !file->torn)
		return status;
	if (file->is_regular && ftruncate(file->fd, (off_t)file->size))
		return -errno;
	// Where nothing can be taken away, a line can at least be ended.
	if (!file->is_regular && file->settings->framing == RECORD_FILE_LINES &&
	    write(file->fd, "\n", 1) != 1)
		return -errno;
	file->torn = false;
	return 0;
}

static int append(struct record_file *file, const void *record, size_t length)
{
	uint32_t prefix = htobe32((uint32_t)length);
	bool lines = file->settings->framing == RECORD_FILE_LINES;
	char end[] = "\n";
	struct iovec parts[] = {
		{ &prefix, lines ? 0 : sizeof(prefix) },
		{ (void *)(uintptr_t)record, length },
		{ end, lines },
	};
	int status = cut_off(file);
	size_t written;

	if (status)
		return status;
	status = file_write_all(file->fd, parts, sizeof(parts) / sizeof(parts[0]), &written);
	if (status) {
		file->torn = written > 0;
		(void)cut_off(file);
		return status;
	}
	file->size += written;
	return 0;
}

static struct profcol_error *prepare(struct record_file *file, size_t length)
{
	const struct record_file_settings *settings = file->settings;
	struct profcol_error *error = NULL;
	int status = 0;

	if (file->fd >= 0 && file->is_regular && is_moved(file))
		error = record_file_close(file);
	if (!error && file->fd < 0)
		error = open_file(file, true);
	if (!error)
		status = note_truncation(file);
	if (status)
		error = record_file_error(PROFCOL_SYSTEM, settings->path, -status);
	if (!error && settings->max_bytes && file->is_regular && file->size &&
	    file->size + length > settings->max_bytes)
		error = rotate(file);
	return error;
}

/* The same text as an error that may be over later. */
static struct profcol_error *make_unavailable(struct profcol_error *error)
{
	struct profcol_error *made =
		profcol_error_create(PROFCOL_UNAVAILABLE, "%s", profcol_error_message(error));

	profcol_error_destroy(error);
	return made;
}

struct profcol_error *record_file_write(struct record_file *file, const void *record, size_t length,
					const char **cause_ret)
{
	struct profcol_error *error = prepare(file, length + PREFIX_BYTES);
	int status;

	*cause_ret = "write_failed";
	if (error)
		return make_unavailable(error);
	status = append(file, record, length);
	if (!status)
		return NULL;
	if (status == -ENOSPC || status == -EDQUOT || status == -EFBIG)
		*cause_ret = "disk_full";
	return record_file_error(PROFCOL_UNAVAILABLE, file->settings->path, -status);
}

struct profcol_error *record_file_close(struct record_file *file)
{
	CLEANUP_FD int fd = TAKE_FD(file->fd);

	if (fd >= 0 && file->is_regular && fdatasync(fd))
		return record_file_error(PROFCOL_SYSTEM, file->settings->path, errno);
	return NULL;
}
