// SPDX-License-Identifier: Apache-2.0
#include "inbox.h"

#include "glob.h"
#include "schedule.h"
#include "seen_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

/* Who writes a file in place has mostly done so by then. */
#define SETTLED_NS UINT64_C(1000000000)

struct inbox {
	const struct pprof_file_config *config; /* borrowed, as the next */
	struct intake *intake;
	struct schedule schedule;
	pthread_t thread;
	struct seen seen;
	struct seen_file file; /* with state_directory */
	uint64_t saved;        /* changes of `seen` that are in it */
	bool save_failed;
	bool complained; /* of a look that was not whole */
};

/* ---- a file ---- */

static bool is_settled(const struct stat *status)
{
	uint64_t now_ns = clock_realtime_ns();
	uint64_t modified_ns =
		(uint64_t)status->st_mtim.tv_sec * 1000000000 + (uint64_t)status->st_mtim.tv_nsec;

	return modified_ns > now_ns || now_ns - modified_ns >= SETTLED_NS;
}

static bool is_same(const struct stat *first, const struct stat *second)
{
	return first->st_size == second->st_size &&
	       first->st_mtim.tv_sec == second->st_mtim.tv_sec &&
	       first->st_mtim.tv_nsec == second->st_mtim.tv_nsec;
}

static struct profcol_error *changed(void)
{
	return profcol_error_create(PROFCOL_UNAVAILABLE, "it changes while it is read");
}

/* The file as it is: all of @status->st_size, or UNAVAILABLE when that changes. free(). */
static struct profcol_error *read_all(int fd, const struct stat *status, uint8_t **ret)
{
	size_t length = (size_t)status->st_size, at = 0;
	CLEANUP_FREE uint8_t *bytes = malloc(length + 1);
	struct stat after;

	if (!bytes)
		return profcol_error_errno(ENOMEM, "read it");
	while (at < length) {
		ssize_t part = read(fd, bytes + at, length - at);

		if (part < 0 && errno == EINTR)
			continue;
		if (part < 0)
			return profcol_error_errno(errno, "read it");
		if (!part)
			return changed();
		at += (size_t)part;
	}
	if (fstat(fd, &after) || !is_same(status, &after))
		return changed();
	*ret = TAKE(bytes);
	return NULL;
}

static struct profcol_error *take(struct inbox *inbox, int fd, const struct stat *status,
				  struct memory_share *share)
{
	CLEANUP_FREE uint8_t *bytes = NULL;
	size_t length = (size_t)status->st_size;
	struct profcol_batch *batch;
	struct profcol_error *error;

	if (length > INTAKE_MAX_BYTES)
		return profcol_error_create(PROFCOL_BAD_DATA,
					    "it has %zu bytes, more than the %zu that are read",
					    length, INTAKE_MAX_BYTES);
	if (!memory_share_take(share, length))
		return profcol_error_create(PROFCOL_NO_MEMORY, "no memory to read it: %s",
					    memory_share_reason(share));
	error = read_all(fd, status, &bytes);
	if (!error)
		error = intake_decode(inbox->intake, bytes, length, INTAKE_MAX_BYTES, NULL, share,
				      &batch);
	return error ? error : intake_pass_on(inbox->intake, INTAKE_FILE, batch);
}

/* Whether it is to be looked at again as it is. */
static bool read_one(struct inbox *inbox, const char *path, int fd, const struct stat *status)
{
	struct memory_share share = { .budget = &inbox->intake->budget };
	PROFCOL_CLEANUP_ERROR struct profcol_error *error = take(inbox, fd, status, &share);
	bool passes = error && (profcol_error_is_retryable(error) ||
				profcol_error_code(error) == PROFCOL_SHUTDOWN);

	memory_share_give(&share);
	if (error)
		intake_refuse(inbox->intake, INTAKE_FILE, path, error);
	return passes;
}

/* glob_visit(): a path that matches. */
static bool visit(void *context, const char *path)
{
	struct inbox *inbox = context;
	CLEANUP_FD int fd = -1;
	struct stat status;

	// Before it is opened: opening what is no file may do things.
	if (stat(path, &status) || !S_ISREG(status.st_mode) || seen_find(&inbox->seen, &status) ||
	    !is_settled(&status))
		return !schedule_has_ended(&inbox->schedule);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0 || fstat(fd, &status) || !S_ISREG(status.st_mode) ||
	    seen_find(&inbox->seen, &status))
		return !schedule_has_ended(&inbox->schedule);
	// One that there is no room to remember would be read for ever.
	if (inbox->seen.count >= SEEN_MOST)
		return false;
	if (!read_one(inbox, path, fd, &status))
		(void)seen_add(&inbox->seen, &status);
	return !schedule_has_ended(&inbox->schedule);
}

/* ---- a look at all of them ---- */

static void complain(struct inbox *inbox, enum glob_end end)
{
	static const char *const texts[] = {
		[GLOB_DONE] = NULL,
		[GLOB_STOPPED] = "there are more than 65536 of them",
		[GLOB_TOO_MANY] = "more than a million names would have to be looked at",
		[GLOB_INCOMPLETE] = "a folder cannot be read",
	};

	if (end != GLOB_DONE && !inbox->complained)
		profcol_log_warn(inbox->intake->host->logger,
				 "not all files of '%s' are read: %s; name fewer in file.include, "
				 "or move those away that have been read",
				 inbox->config->include, texts[end]);
	inbox->complained = end != GLOB_DONE;
}

/* A failure is told once: the next look tries again. */
static void save(struct inbox *inbox)
{
	PROFCOL_CLEANUP_ERROR struct profcol_error *error = NULL;

	if (inbox->file.directory_fd < 0 || inbox->saved == inbox->seen.changes)
		return;
	error = seen_file_save(&inbox->file, &inbox->seen);
	if (!error)
		inbox->saved = inbox->seen.changes;
	if (error && !inbox->save_failed)
		profcol_log_warn(inbox->intake->host->logger,
				 "cannot keep in '%s' which files have been read: %s; after a "
				 "restart they are read again",
				 inbox->config->state_directory, profcol_error_message(error));
	inbox->save_failed = error;
}

static void *run(void *argument)
{
	struct inbox *inbox = argument;

	pthread_setname_np(pthread_self(), "pprof-files");
	schedule_begin(&inbox->schedule, &inbox->config->interval);
	while (schedule_wait(&inbox->schedule)) {
		enum glob_end end;

		seen_begin(&inbox->seen);
		end = glob_visit(inbox->config->include, visit, inbox);
		// Else what was not met may be there all the same.
		if (end == GLOB_DONE)
			seen_end(&inbox->seen);
		save(inbox);
		if (!schedule_has_ended(&inbox->schedule))
			complain(inbox, end);
	}
	return NULL;
}

/* ---- life ---- */

/* What an earlier run has read. */
static struct profcol_error *load(struct inbox *inbox)
{
	const struct profcol_host *host = inbox->intake->host;
	struct profcol_error *error;

	if (!inbox->config->state_directory[0])
		return NULL;
	error = seen_file_init(&inbox->file, inbox->config->state_directory, host->id);
	if (error)
		return error;
	error = seen_file_load(&inbox->file, &inbox->seen);
	if (error)
		profcol_log_warn(host->logger, "%s: %s; files may be read again",
				 inbox->config->state_directory, profcol_error_message(error));
	profcol_error_destroy(error);
	inbox->saved = inbox->seen.changes;
	return NULL;
}

static void inbox_free(struct inbox *inbox)
{
	schedule_deinit(&inbox->schedule);
	seen_deinit(&inbox->seen);
	seen_file_deinit(&inbox->file);
	free(inbox);
}

struct profcol_error *inbox_create(const struct pprof_file_config *config, struct intake *intake,
				   struct inbox **ret)
{
	struct inbox *inbox = calloc(1, sizeof(*inbox));
	struct profcol_error *error = NULL;
	int status;

	if (!inbox)
		return profcol_error_errno(ENOMEM, "create the receiver");
	inbox->config = config;
	inbox->intake = intake;
	inbox->file.directory_fd = -1;
	status = -schedule_init(&inbox->schedule);
	if (!status && !seen_init(&inbox->seen))
		status = ENOMEM;
	if (!status)
		error = load(inbox);
	if (!status && !error)
		status = thread_start(&inbox->thread, run, inbox);
	if (!status && !error) {
		*ret = inbox;
		return NULL;
	}
	inbox_free(inbox);
	return error ? error : profcol_error_errno(status, "start to look for files");
}

void inbox_destroy(struct inbox *inbox)
{
	if (!inbox)
		return;
	schedule_end(&inbox->schedule);
	pthread_join(inbox->thread, NULL);
	inbox_free(inbox);
}
