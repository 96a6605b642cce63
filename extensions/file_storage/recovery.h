/* SPDX-License-Identifier: Apache-2.0 */
/* What an earlier process left of a queue. One thread at a time. */
#pragma once

#include "stored.h"

#include <profcol/errors.h>

/*
 * Find all segments in the directory at @directory_fd (@path in messages) and index them.
 * UNSUPPORTED when one of them is of a newer format; an error also when one cannot be read, for
 * what is in it may be sound. Changes nothing on disk.
 */
PROFCOL_MUST_CHECK struct profcol_error *recovery_read(int directory_fd, const char *path,
						       struct stored_segments *ret);

/* Cut off the record of @segment that is not whole, once it is counted: the next open shall not
 * find it again. */
void recovery_cut_torn(int directory_fd, struct stored_segment *segment);
