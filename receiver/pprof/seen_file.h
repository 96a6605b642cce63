/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file of lines keeps for the next start which files have been read. It is exchanged as a whole.
 * One thread.
 */
#pragma once

#include "seen.h"

#include <profcol/errors.h>

struct seen_file {
	int directory_fd; /* owned; -1: nothing is kept */
	char *name;       /* owned */
};

/*
 * Keep it in @directory, whose last part is made if it is not there, and in which nobody else may
 * have a hand; each @id (of a component) has a file of its own. To be deinited after failures, too.
 */
PROFCOL_MUST_CHECK struct profcol_error *seen_file_init(struct seen_file *file,
							const char *directory, const char *id);
void seen_file_deinit(struct seen_file *file);

/* Add what is there to @seen, which is empty. BAD_DATA when it is damaged: @seen has a part of it.
 */
PROFCOL_MUST_CHECK struct profcol_error *seen_file_load(const struct seen_file *file,
							struct seen *seen);

PROFCOL_MUST_CHECK struct profcol_error *seen_file_save(const struct seen_file *file,
							const struct seen *seen);
