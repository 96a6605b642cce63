/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many of our files the output directory may hold. Counts every file of our
 * naming pattern (naming.h), whoever wrote it; deletes the oldest first, by the
 * time in the name.
 */
#pragma once

#include <stdint.h>

/* 0 = no limit. */
struct retention_limits {
	int64_t max_files;
	uint64_t max_age_ns; /* since the start of the window */
	uint64_t max_bytes;  /* of all files together */
};

/*
 * Make room: afterwards the limits hold with one more file of @incoming_bytes (0 =
 * none is coming). A file that cannot be deleted is passed over. Returns how
 * many were deleted, or a negative errno when nothing could be decided.
 */
int retention_apply(int directory_fd, const char *prefix, const struct retention_limits *limits,
		    uint64_t now_unix_ns, uint64_t incoming_bytes);
