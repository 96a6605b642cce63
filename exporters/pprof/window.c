// SPDX-License-Identifier: Apache-2.0
#include "window.h"

#include "pending.h"

#include "profile/profile.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

static const char *window_errno_cause(int errnum)
{
	return errnum == ENOSPC || errnum == EDQUOT ? "disk_full" : "write_failed";
}

static const char *window_errno_remedy(int errnum)
{
	switch (errnum) {
	case ENOENT:
		return "create its parent directory or set another one as 'directory'";
	case ENOSPC:
	case EDQUOT:
		return "make room, or set 'retention' limits";
	case EROFS:
		return "set a directory on a writable file system as 'directory'";
	case EACCES:
	case EPERM:
		return "let the user that profcol runs as write to it, or set another one as "
		       "'directory'";
	case ENOTDIR:
		return "set a directory as 'directory'";
	default:
		return "check the directory and its file system";
	}
}

struct profcol_error *window_directory_error(enum profcol_code code, const char *directory,
					     int errnum)
{
	return profcol_error_create(code, "cannot write to directory '%s': %s; %s", directory,
				    strerrordesc_np(errnum), window_errno_remedy(errnum));
}

struct profcol_error *window_directory_open(enum profcol_code code, const char *directory,
					    bool is_shared, bool create, int *ret)
{
	struct trusted_output output = {
		.path = directory,
		.create = create,
		.mode = 0700,
		.private_part = is_shared ? TRUSTED_PRIVATE_PART : NULL,
	};
	int errnum = 0;
	struct profcol_error *error = trusted_output_open(&output, &errnum, ret), *named;

	if (!error)
		return NULL;
	named = errnum ? window_directory_error(code, directory, errnum)
		       : profcol_error_create(
				 code,
				 "cannot write to directory '%s': %s, or set another one as "
				 "'directory'; for a volume that others may write to there is "
				 "'private_subdirectory: true'",
				 directory, profcol_error_message(error));
	profcol_error_destroy(error);
	return named;
}

struct profcol_error *window_merge(const struct pending *pending, struct profcol_batch **ret)
{
	CLEANUP_FREE struct profcol_batch **batches = NULL;
	size_t count = pending->batches.count;

	if (count == 1) {
		*ret = profcol_batch_ref(pending->batches.items[0].batch);
		return NULL;
	}
	batches = calloc(count, sizeof(*batches));
	if (!batches)
		return profcol_error_errno(ENOMEM, "merge %zu batches", count);
	for (size_t i = 0; i < count; i++)
		batches[i] = pending->batches.items[i].batch;
	return profile_merge(batches, count, ret);
}

/* The earliest start of a profile; now, when none says. Nanoseconds in 64 bits end in 2554. */
static uint64_t window_start_ms(const struct profcol_batch *batch)
{
	uint32_t count = profcol_batch_count(batch, PROFCOL_PROFILES);
	uint64_t earliest_ns = UINT64_MAX;

	for (uint32_t i = 0; i < count; i++) {
		struct profcol_range samples;
		uint64_t start_ns = profcol_batch_profile(batch, i, &samples).time_unix_ns;

		if (start_ns && start_ns < earliest_ns)
			earliest_ns = start_ns;
	}
	if (earliest_ns == UINT64_MAX)
		earliest_ns = clock_realtime_ns();
	return earliest_ns / 1000000;
}

static struct profcol_error *window_encode(const struct window_target *target,
					   const struct pending *pending, uint8_t **bytes_ret,
					   size_t *length_ret, uint64_t *start_ms_ret)
{
	struct pprof_encode_options options = { .compression_level = target->compression_level };
	PROFCOL_CLEANUP_BATCH struct profcol_batch *merged = NULL;
	struct profcol_error *error = window_merge(pending, &merged);

	if (!error)
		error = target->folded ? folded_encode(merged, bytes_ret, length_ret)
				       : pprof_encode(merged, &options, bytes_ret, length_ret);
	if (!error)
		*start_ms_ret = window_start_ms(merged);
	return error;
}

struct profcol_error *window_write(const struct window_target *target,
				   const struct pending *batches, struct window_file *ret,
				   const char **cause_ret)
{
	CLEANUP(window_file_deinit)
	struct window_file file = { .directory_fd = -1, .output.fd = -1 };
	CLEANUP_FREE uint8_t *bytes = NULL;
	struct profcol_error *error;
	size_t length = 0;
	int status;

	*cause_ret = "encode_failed";
	error = window_encode(target, batches, &bytes, &length, &file.start_unix_ms);
	if (error)
		return profcol_error_prefix(error, "encode %zu batches", batches->batches.count);
	file.bytes = length;
	*cause_ret = "write_failed";
	error = window_directory_open(PROFCOL_UNAVAILABLE, target->directory, target->is_shared,
				      true, &file.directory_fd);
	if (error)
		return error;
	file.removed = retention_apply(file.directory_fd, target->prefix, &target->retention,
				       clock_realtime_ns(), length);
	status = output_file_create(file.directory_fd, target->prefix, &file.output);
	if (!status)
		status = output_file_write(&file.output, bytes, length);
	if (status) {
		*cause_ret = window_errno_cause(-status);
		return window_directory_error(PROFCOL_UNAVAILABLE, target->directory, -status);
	}
	*ret = file;
	file = (struct window_file){ .directory_fd = -1, .output.fd = -1 };
	return NULL;
}

struct profcol_error *window_publish(const struct window_target *target, struct window_file *file,
				     char name_ret[NAMING_MAX], const char **cause_ret)
{
	enum naming_form form = target->folded              ? NAMING_FOLDED
				: target->compression_level ? NAMING_PPROF_GZIP
							    : NAMING_PPROF;
	int status = output_file_publish(file->directory_fd, &file->output, target->prefix,
					 file->start_unix_ms, form, name_ret);

	if (!status)
		return NULL;
	*cause_ret = window_errno_cause(-status);
	return window_directory_error(PROFCOL_UNAVAILABLE, target->directory, -status);
}

void window_file_deinit(struct window_file *file)
{
	if (file->output.fd >= 0)
		output_file_discard(file->directory_fd, &file->output);
	cleanup_fd(&file->directory_fd);
	file->directory_fd = -1;
}

int window_expire(const struct window_target *target)
{
	struct retention_limits limits = { .max_age_ns = target->retention.max_age_ns };
	struct profcol_error *error;
	CLEANUP_FD int fd = -1;

	if (!limits.max_age_ns)
		return 0;
	error = window_directory_open(PROFCOL_UNAVAILABLE, target->directory, target->is_shared,
				      false, &fd);
	profcol_error_destroy(error);
	if (error)
		return -EACCES; // nobody waits for it: the next file says why
	return retention_apply(fd, target->prefix, &limits, clock_realtime_ns(), 0);
}
