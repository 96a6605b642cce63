// SPDX-License-Identifier: Apache-2.0
#include "record_output.h"

#include "caller.h"
#include "profile_file.h"

#include "base/base.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>

enum { COPY_BYTES = 64 << 10 };

static const char otlp_name[] = "recording.otlp";

struct profcol_error *record_output_form(const char *path, enum record_form *ret)
{
	static const struct {
		const char *ending;
		enum record_form form;
	} forms[] = {
		{ ".pb.gz", RECORD_PPROF }, { ".folded", RECORD_FOLDED }, { ".otlp", RECORD_OTLP },
		{ ".html", RECORD_HTML },   { ".svg", RECORD_SVG },
	};
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	size_t length = strlen(name);

	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		size_t ending = strlen(forms[i].ending);

		if (length > ending && !strcmp(name + length - ending, forms[i].ending)) {
			*ret = forms[i].form;
			return NULL;
		}
	}
	*ret = RECORD_PPROF;
	if (length && !strchr(name, '.'))
		return NULL;
	return profcol_error_create(PROFCOL_CONFIG,
				    "cannot tell the format of '%s' by its ending; use .pb.gz "
				    "(pprof), .folded (for flame graphs), .otlp, .html (a page) or "
				    ".svg (a picture)",
				    path);
}

static struct profcol_error *refuse(const char *path, int errnum)
{
	return profcol_error_create(PROFCOL_SYSTEM, "cannot write to '%s': %s; %s", path,
				    strerrordesc_np(errnum),
				    errnum == ENOENT ? "create its directory first"
						     : "choose another place by --output");
}

/* A new file beside the one asked for. */
struct beside {
	int directory; /* owned */
	int fd;        /* owned */
	char name[NAME_MAX + 1];
	const char *final_name; /* borrowed */
};

static void beside_deinit(struct beside *beside)
{
	if (beside->fd >= 0 && beside->name[0])
		unlinkat(beside->directory, beside->name, 0);
	cleanup_fd(&beside->fd);
	cleanup_fd(&beside->directory);
}

static struct profcol_error *beside_create(const char *path, struct beside *ret)
{
	const char *slash = strrchr(path, '/');
	CLEANUP_FREE char *parent = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
	struct stat status;
	uint64_t number;

	*ret = (struct beside){ .directory = -1, .fd = -1, .final_name = slash ? slash + 1 : path };
	if (!parent || getrandom(&number, sizeof(number), 0) != (ssize_t)sizeof(number))
		return profcol_error_errno(ENOMEM, "record");
	ret->directory = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (ret->directory < 0)
		return refuse(path, errno);
	if (!fstatat(ret->directory, ret->final_name, &status, AT_SYMLINK_NOFOLLOW) &&
	    !S_ISREG(status.st_mode))
		return profcol_error_create(PROFCOL_SYSTEM,
					    "cannot write to '%s': it is there and no regular "
					    "file; choose another name",
					    path);
	snprintf(ret->name, sizeof(ret->name), ".profcol-record-%016" PRIx64, number);
	ret->fd = openat(ret->directory, ret->name,
			 O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	return ret->fd < 0 ? refuse(path, errno) : NULL;
}

/* Could it be written? So that this is known before anything is recorded. */
static struct profcol_error *probe(const char *path)
{
	CLEANUP(beside_deinit) struct beside beside = { .directory = -1, .fd = -1 };
	CLEANUP(caller_leave) struct caller_rights rights = { 0 };
	struct profcol_error *error = caller_enter(&rights);

	if (!error)
		error = beside_create(path, &beside);
	// With the rights that it was made with.
	beside_deinit(&beside);
	beside = (struct beside){ .directory = -1, .fd = -1 };
	return error;
}

/* Where nobody but this user, and root, can put anything. */
static struct profcol_error *make_directory(struct record_output *output)
{
	static const char *const places[] = { "/var/tmp", "/tmp" };

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		if (asprintf(&output->directory, "%s/profcol-record-XXXXXX", places[i]) < 0) {
			output->directory = NULL;
			return profcol_error_errno(ENOMEM, "record");
		}
		if (mkdtemp(output->directory))
			return NULL;
		free(TAKE(output->directory));
	}
	return profcol_error_errno(errno, "make a directory for the recording in '%s' or '%s'",
				   places[0], places[1]);
}

struct profcol_error *record_output_init(struct record_output *output, const char *path)
{
	struct profcol_error *error;

	*output = (struct record_output){ .path = path };
	error = record_output_form(path, &output->form);
	if (!error)
		error = probe(path);
	if (!error)
		error = make_directory(output);
	if (error)
		return error;
	if (asprintf(&output->otlp_path, "%s/%s", output->directory, otlp_name) < 0) {
		output->otlp_path = NULL;
		return profcol_error_errno(ENOMEM, "record");
	}
	return NULL;
}

/* The one finished file, which is not hidden; NULL when there is none. The caller frees. */
static char *find_file(DIR *directory)
{
	struct dirent *entry;

	while ((entry = readdir(directory)))
		if (entry->d_name[0] != '.')
			return strdup(entry->d_name);
	return NULL;
}

struct profcol_error *record_output_draw(struct record_output *output, struct flame *flame)
{
	bool page = output->form == RECORD_HTML;
	CLEANUP_FREE char *path = NULL;
	struct profcol_error *error;

	if ((!page && output->form != RECORD_SVG) || access(output->otlp_path, F_OK))
		return NULL;
	if (asprintf(&path, "%s/%s", output->directory, page ? "page" : "picture") < 0) {
		path = NULL;
		return profcol_error_errno(ENOMEM, "record");
	}
	error = profile_file_add(output->otlp_path, flame, FLAME_NOW);
	if (!error && flame_total(flame, FLAME_NOW))
		error = profile_picture_write(flame, false, output->path,
					      page ? PICTURE_HTML : PICTURE_SVG, path);
	// Just one file is to be there.
	unlink(output->otlp_path);
	return error;
}

struct profcol_error *record_output_read(const struct record_output *output, struct flame *flame)
{
	CLEANUP_DIRECTORY DIR *directory = opendir(output->directory);
	CLEANUP_FREE char *name = directory ? find_file(directory) : NULL;
	CLEANUP_FREE char *path = NULL;

	if (!name)
		return NULL;
	if (asprintf(&path, "%s/%s", output->directory, name) < 0) {
		path = NULL;
		return profcol_error_errno(ENOMEM, "record");
	}
	return profile_file_add(path, flame, FLAME_NOW);
}

static int copy(int from, int to)
{
	static char bytes[COPY_BYTES];

	for (;;) {
		struct iovec part = { bytes, 0 };
		ssize_t got = read(from, bytes, sizeof(bytes));
		size_t written;
		int status;

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got ? -errno : 0;
		part.iov_len = (size_t)got;
		status = file_write_all(to, &part, 1, &written);
		if (status)
			return status;
	}
}

/* @fd, with the rights of who called. */
static struct profcol_error *hand_over(const char *path, int fd)
{
	CLEANUP(caller_leave) struct caller_rights rights = { 0 };
	struct profcol_error *error = caller_enter(&rights);
	struct beside beside = { .directory = -1, .fd = -1 };
	int status;

	if (!error)
		error = beside_create(path, &beside);
	if (!error) {
		status = copy(fd, beside.fd);
		if (!status &&
		    renameat(beside.directory, beside.name, beside.directory, beside.final_name))
			status = -errno;
		if (status)
			error = refuse(path, -status);
		else
			beside.name[0] = '\0';
	}
	beside_deinit(&beside);
	return error;
}

struct profcol_error *record_output_publish(struct record_output *output, uint64_t *size_ret)
{
	CLEANUP_DIRECTORY DIR *directory = opendir(output->directory);
	CLEANUP_FREE char *name = directory ? find_file(directory) : NULL;
	CLEANUP_FD int fd = -1;
	struct profcol_error *error;
	int place = directory ? dirfd(directory) : -1;
	struct stat status;

	*size_ret = 0;
	if (place < 0)
		return refuse(output->path, errno);
	if (!name)
		return NULL;
	fd = openat(place, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &status))
		return refuse(output->path, errno);
	if (!status.st_size)
		return NULL;
	error = hand_over(output->path, fd);
	if (!error)
		*size_ret = (uint64_t)status.st_size;
	return error;
}

static void remove_all(const char *path)
{
	CLEANUP_DIRECTORY DIR *directory = opendir(path);
	int place = directory ? dirfd(directory) : -1;
	struct dirent *entry;

	while (place >= 0 && (entry = readdir(directory)))
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			unlinkat(place, entry->d_name, 0);
	rmdir(path);
}

void record_output_deinit(struct record_output *output)
{
	if (output->directory)
		remove_all(output->directory);
	free(output->directory);
	free(output->otlp_path);
}
