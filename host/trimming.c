// SPDX-License-Identifier: Apache-2.0
#include "trimming.h"

#include "base/base.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

enum { STATUS_MAX_BYTES = 64 << 10 };

bool trimming_is_due(struct trimming *trimming, uint64_t file_bytes)
{
	if (!trimming->begun) {
		trimming->begun = true;
		return true;
	}
	if (!trimming->settled_bytes) {
		trimming->settled_bytes = file_bytes;
		return false;
	}
	if (file_bytes <= trimming->settled_bytes / 3 * 4)
		return false;
	trimming->settled_bytes = 0;
	return true;
}

/* What is in memory of mapped files; 0 when that cannot be read. */
static uint64_t file_bytes(void)
{
	CLEANUP_FREE char *text = NULL;
	const char *line;

	if (file_read(AT_FDCWD, "/proc/self/status", STATUS_MAX_BYTES, &text, NULL))
		return 0;
	line = strstr(text, "\nRssFile:");
	return line ? strtoull(line + strlen("\nRssFile:"), NULL, 10) << 10 : 0;
}

void trimming_look(struct trimming *trimming)
{
	if (trimming_is_due(trimming, file_bytes()))
		residency_trim();
}
