// SPDX-License-Identifier: Apache-2.0
#include "record_output.h"

#include "record_program.h"

#include "base/base.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static const char otlp_name[] = "recording.otlp";

struct profcol_error *record_output_form(const char *path, enum record_form *ret)
{
	static const struct {
		const char *ending;
		enum record_form form;
	} forms[] = {
		{ ".pb.gz", RECORD_PPROF },
		{ ".folded", RECORD_FOLDED },
		{ ".otlp", RECORD_OTLP },
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
				    "(pprof), .folded (flame graphs) or .otlp",
				    path);
}

static struct profcol_error *refuse(const char *path, int errnum)
{
	return profcol_error_create(PROFCOL_SYSTEM, "cannot write to '%s': %s; %s", path,
				    strerrordesc_np(errnum),
				    errnum == ENOENT ? "create its directory first"
						     : "choose another place by --output");
}

struct profcol_error *record_output_init(struct record_output *output, const char *path)
{
	const char *slash = strrchr(path, '/');
	struct profcol_error *error;
	struct stat status;

	*output = (struct record_output){ .path = path };
	error = record_output_form(path, &output->form);
	if (error)
		return error;
	if (!stat(path, &status) && !S_ISREG(status.st_mode))
		return profcol_error_create(PROFCOL_SYSTEM,
					    "cannot write to '%s': it is there and no regular "
					    "file; choose another name",
					    path);
	if (asprintf(&output->directory, "%.*s.profcol-record-XXXXXX",
		     slash ? (int)(slash + 1 - path) : 0, path) < 0) {
		output->directory = NULL;
		return profcol_error_errno(ENOMEM, "record");
	}
	if (!mkdtemp(output->directory)) {
		free(TAKE(output->directory));
		return refuse(path, errno);
	}
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

/* Readable by who will read it. */
static int hand_over(int fd)
{
	uid_t user;
	gid_t group;

	return record_caller(&user, &group) && fchown(fd, user, group) ? -errno : 0;
}

struct profcol_error *record_output_publish(struct record_output *output, uint64_t *size_ret)
{
	CLEANUP_DIRECTORY DIR *directory = opendir(output->directory);
	CLEANUP_FREE char *name = directory ? find_file(directory) : NULL;
	CLEANUP_FD int fd = -1;
	struct stat status;

	*size_ret = 0;
	if (!directory)
		return refuse(output->path, errno);
	if (!name)
		return NULL;
	fd = openat(dirfd(directory), name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &status))
		return refuse(output->path, errno);
	if (!status.st_size)
		return NULL;
	if (fchmod(fd, 0600) || hand_over(fd) ||
	    renameat(dirfd(directory), name, AT_FDCWD, output->path))
		return refuse(output->path, errno);
	*size_ret = (uint64_t)status.st_size;
	return NULL;
}

static void remove_all(const char *path)
{
	CLEANUP_DIRECTORY DIR *directory = opendir(path);
	struct dirent *entry;

	while (directory && (entry = readdir(directory)))
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			unlinkat(dirfd(directory), entry->d_name, 0);
	rmdir(path);
}

void record_output_deinit(struct record_output *output)
{
	if (output->directory)
		remove_all(output->directory);
	free(output->directory);
	free(output->otlp_path);
}
