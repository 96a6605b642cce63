/* SPDX-License-Identifier: Apache-2.0 */
/* What an earlier process left of a queue. One thread at a time. */
#pragma once

#include "stored.h"

#include <profcol/errors.h>

/*
 * Find all segments in the directory at @directory_fd (@path in messages) and index them.
 * UNSUPPORTED when one of them is of a newer format. Changes nothing on disk.
 */
PROFCOL_MUST_CHECK struct profcol_error *recovery_read(int directory_fd, const char *path,
						       struct stored_segments *ret);
