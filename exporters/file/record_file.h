/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file that records are appended to, each whole or not at all: what a full disk leaves of a
 * record is cut off again, and so is what a crash has left at the end of a file that is gone on
 * with. While it is open the file is locked (flock), so that two writers cannot mix.
 *
 * Pipes, terminals and devices can be written to as well; nothing is cut off there.
 *
 * One thread at a time.
 */
#pragma once

#include "backups.h"

#include <profcol/component.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum record_file_framing {
	RECORD_FILE_LINES,    /* a record and a line break */
	RECORD_FILE_PREFIXED, /* the length in 4 bytes, most significant first, and the record */
};

struct record_file_settings {
	const char *path;         /* borrowed: where it is */
	const char *asked_path;   /* borrowed: as it was asked for */
	const char *private_part; /* borrowed: of @path beyond it, as in trusted_output; or NULL */
	enum record_file_framing framing;
	bool append;                   /* go on with what is there instead of emptying it */
	bool create_directory;         /* with all above it */
	mode_t directory_mode;         /* of what is created, minus the umask */
	uint64_t max_bytes;            /* begin a new file before this one is larger; 0 = never */
	struct backup_settings backup; /* what becomes of the old one */
};

struct record_file {
	const struct record_file_settings *settings; /* borrowed */
	const struct profcol_logger *logger;         /* borrowed */
	int fd;                                      /* -1 = closed */
	bool is_regular;
	bool torn; /* a piece of a record stands at the end */
	uint64_t size;
	dev_t device; /* of what is open, as the next */
	ino_t inode;
	uint64_t rotations;
};

void record_file_init(struct record_file *file, const struct record_file_settings *settings,
		      const struct profcol_logger *logger);

/* Create or open the file, lock it and make its end fit for the next record. */
PROFCOL_MUST_CHECK struct profcol_error *record_file_open(struct record_file *file);

/*
 * Append one record. An error leaves the file as it was and is UNAVAILABLE: it may work later.
 * *@cause_ret is then what a loss of it is booked under. A file that somebody has moved away or
 * removed is made anew.
 */
PROFCOL_MUST_CHECK struct profcol_error *record_file_write(struct record_file *file,
							   const void *record, size_t length,
							   const char **cause_ret);

/* Force to disk what is written, and close. Nothing happens when it is closed. */
PROFCOL_MUST_CHECK struct profcol_error *record_file_close(struct record_file *file);

/* An error of @code: @path cannot be written to, with the way out. @errnum is positive. */
struct profcol_error *record_file_error(enum profcol_code code, const char *path, int errnum);
