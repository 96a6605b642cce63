// SPDX-License-Identifier: Apache-2.0
#include "log_sinks.h"

#include "base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

static const char file_scheme[] = "file://";

/* 0640: lines name programs and files of others, and a log shipper's group has to read them. */
static int open_file(const char *path)
{
	// A pipe that nobody reads would hold up the open for ever: ENXIO instead.
	int fd =
		open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0640);
	int flags = fd < 0 ? -1 : fcntl(fd, F_GETFL);

	// Lines wait for who reads the pipe, as they would for a disk.
	if (flags >= 0)
		fcntl(fd, F_SETFL, flags & ~O_NONBLOCK);
	return fd;
}

static struct profcol_error *open_path(struct log_sink *sink, const char *path, const char *key)
{
	if (!strncmp(path, file_scheme, sizeof(file_scheme) - 1))
		path += sizeof(file_scheme) - 1;
	else if (strstr(path, "://"))
		return profcol_error_create(PROFCOL_CONFIG,
					    "%s: cannot log to '%s'; use stderr, stdout or the "
					    "path of a file",
					    key, path);
	sink->path = strdup(path);
	if (!sink->path)
		return profcol_error_create(PROFCOL_NO_MEMORY, "out of memory");
	sink->fd = open_file(path);
	if (sink->fd < 0 && errno == ENXIO)
		return profcol_error_create(PROFCOL_SYSTEM,
					    "%s: open '%s': nobody reads that pipe; start its "
					    "reader first",
					    key, path);
	if (sink->fd < 0)
		return profcol_error_errno(errno, "%s: open '%s'", key, path);
	return NULL;
}

static struct profcol_error *add_sink(struct log_sinks *sinks, const char *path, const char *key,
				      int stderr_fd)
{
	struct log_sink *sink = &sinks->items[sinks->count++];

	*sink = (struct log_sink){ .fd = -1 };
	if (!strcmp(path, "stderr"))
		sink->fd = stderr_fd;
	else if (!strcmp(path, "stdout"))
		sink->fd = STDOUT_FILENO;
	else
		return open_path(sink, path, key);
	return NULL;
}

struct profcol_error *log_sinks_init(struct log_sinks *sinks, const struct profcol_list *paths,
				     const char *key, int stderr_fd)
{
	struct profcol_error *error = NULL;

	memset(sinks, 0, sizeof(*sinks));
	if (paths->count > LOG_SINKS_MAX)
		return profcol_error_create(PROFCOL_CONFIG,
					    "%s: names %zu places; at most %d are possible", key,
					    paths->count, LOG_SINKS_MAX);
	for (size_t i = 0; i < paths->count && !error; i++)
		error = add_sink(sinks, paths->items[i], key, stderr_fd);
	if (!error && !paths->count)
		error = add_sink(sinks, "stderr", key, stderr_fd);
	if (error)
		log_sinks_deinit(sinks);
	return error;
}

void log_sinks_deinit(struct log_sinks *sinks)
{
	for (size_t i = 0; i < sinks->count; i++) {
		struct log_sink *sink = &sinks->items[i];

		if (sink->path && sink->fd >= 0)
			close(sink->fd);
		free(sink->path);
	}
	sinks->count = 0;
}

void log_sinks_open_again(const struct log_sinks *sinks, int fds[LOG_SINKS_MAX])
{
	for (size_t i = 0; i < sinks->count; i++)
		fds[i] = sinks->items[i].path ? open_file(sinks->items[i].path) : -1;
}

void log_sinks_replace(struct log_sinks *sinks, const int fds[LOG_SINKS_MAX])
{
	for (size_t i = 0; i < sinks->count; i++) {
		if (fds[i] < 0)
			continue;
		// In place: a line under way goes to the one or the other, and none is lost.
		dup3(fds[i], sinks->items[i].fd, O_CLOEXEC);
		close(fds[i]);
	}
}

static void tell(const struct log_sink *lost, int status, struct log_sinks *errors)
{
	struct log_line line = { .length = 0 };

	log_line_add_time(&line);
	log_line_add(&line, "\terror\tprofcol\tlog lines are lost: write to ");
	log_line_add_string(&line, lost->path ? lost->path : "a standard stream");
	log_line_add(&line, ": ");
	log_line_add(&line, strerrordesc_np(-status) ? strerrordesc_np(-status) : "unknown error");
	for (size_t i = 0; i < errors->count; i++)
		if (errors->items[i].fd != lost->fd)
			(void)log_line_write(&line, errors->items[i].fd);
}

bool log_sinks_write(struct log_sinks *sinks, struct log_line *line, struct log_sinks *errors)
{
	bool taken = false;

	for (size_t i = 0; i < sinks->count; i++) {
		struct log_sink *sink = &sinks->items[i];
		int status = log_line_write(line, sink->fd);

		taken |= !status;
		if (!status)
			atomic_store_explicit(&sink->failed, false, memory_order_relaxed);
		else if (!atomic_exchange(&sink->failed, true))
			tell(sink, status, errors);
	}
	return taken;
}
