// SPDX-License-Identifier: Apache-2.0
#include "seen_file.h"

#include "base/base.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define FILE_HEAD_TEXT "profcol pprof files 1\n"

/* Four numbers of 64 bits, a blank or a line break behind each. */
enum { LINE_MAX_BYTES = 4 * 21, HEAD_BYTES = sizeof(FILE_HEAD_TEXT) - 1 };

/* The name of the component's file: what is no letter or digit as %2F. NULL without memory. */
static char *name_of(const char *id)
{
	char *name = malloc(3 * strlen(id) + sizeof(".seen")), *to = name;

	for (; name && *id; id++)
		if (isalnum((unsigned char)*id) || *id == '_' || *id == '-')
			*to++ = *id;
		else
			to += sprintf(to, "%%%02X", (unsigned char)*id);
	if (name)
		memcpy(to, ".seen", sizeof(".seen"));
	return name;
}

struct profcol_error *seen_file_init(struct seen_file *file, const char *directory, const char *id)
{
	const struct trusted_output output = { .path = directory, .create = true, .mode = 0700 };
	int errnum = 0;
	struct profcol_error *error;

	*file = (struct seen_file){ .directory_fd = -1 };
	file->name = name_of(id);
	if (!file->name)
		return profcol_error_errno(ENOMEM, "create the receiver");
	error = trusted_output_open(&output, &errnum, &file->directory_fd);
	return profcol_error_prefix(error, "file.state_directory");
}

void seen_file_deinit(struct seen_file *file)
{
	cleanup_fd(&file->directory_fd);
	free(file->name);
}

static bool read_number(const char **at, char end, uint64_t *ret)
{
	char *after;

	if (!isdigit((unsigned char)**at))
		return false;
	errno = 0;
	*ret = strtoull(*at, &after, 10);
	if (errno || *after != end)
		return false;
	*at = after + 1;
	return true;
}

static bool read_line(const char **at, struct stat *status)
{
	uint64_t device, inode, bytes, modified_ns;

	if (!read_number(at, ' ', &device) || !read_number(at, ' ', &inode) ||
	    !read_number(at, ' ', &bytes) || !read_number(at, '\n', &modified_ns) ||
	    bytes > INT64_MAX)
		return false;
	*status = (struct stat){ .st_dev = device, .st_ino = inode, .st_size = (int64_t)bytes };
	status->st_mtim = clock_timespec(modified_ns);
	return true;
}

struct profcol_error *seen_file_load(const struct seen_file *file, struct seen *seen)
{
	const size_t most = HEAD_BYTES + (size_t)SEEN_MOST * LINE_MAX_BYTES;
	CLEANUP_FREE char *text = NULL;
	struct stat status;
	const char *at;
	int result = file_read(file->directory_fd, file->name, most, &text, NULL);

	if (result == -ENOENT)
		return NULL;
	if (result)
		return profcol_error_errno(-result, "read '%s'", file->name);
	seen_begin(seen);
	at = text + HEAD_BYTES;
	if (strncmp(text, FILE_HEAD_TEXT, HEAD_BYTES) != 0)
		return profcol_error_create(PROFCOL_BAD_DATA, "'%s' is not profcol's", file->name);
	while (*at)
		if (!read_line(&at, &status) || !seen_add(seen, &status))
			return profcol_error_create(PROFCOL_BAD_DATA, "'%s' is damaged",
						    file->name);
	return NULL;
}

static bool write_all(FILE *stream, const struct seen *seen)
{
	fputs(FILE_HEAD_TEXT, stream);
	for (size_t i = 0; i < SEEN_CAPACITY; i++) {
		const struct seen_entry *entry = &seen->entries[i];

		if (entry->round)
			fprintf(stream, "%" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n",
				entry->device, entry->inode, entry->bytes, entry->modified_ns);
	}
	if (fflush(stream))
		return false;
	if (ferror(stream)) {
		// An earlier call failed, whose errno is another's by now.
		errno = EIO;
		return false;
	}
	return !fdatasync(fileno(stream));
}

struct profcol_error *seen_file_save(const struct seen_file *file, const struct seen *seen)
{
	CLEANUP_FREE char *temporary = NULL;
	CLEANUP_FILE FILE *stream = NULL;
	int fd;

	if (asprintf(&temporary, ".%s", file->name) < 0) {
		temporary = NULL;
		return profcol_error_errno(ENOMEM, "write '%s'", file->name);
	}
	// One that a crash has left; nobody else may write here.
	(void)unlinkat(file->directory_fd, temporary, 0);
	fd = openat(file->directory_fd, temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	stream = fd < 0 ? NULL : fdopen(fd, "w");
	if (!stream && fd >= 0)
		close(fd);
	if (!stream || !write_all(stream, seen) ||
	    renameat(file->directory_fd, temporary, file->directory_fd, file->name))
		return profcol_error_errno(errno, "write '%s'", file->name);
	return NULL;
}
