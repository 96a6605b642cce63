/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <inttypes.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define UNIT_FOLD_START 2166136261u

/* FNV-1a over the four bytes of `value`, lowest first. */
static inline uint32_t unit_fold(uint32_t sum, uint32_t value)
{
	for (unsigned int shift = 0; shift < 32; shift += 8)
		sum = (sum ^ (value >> shift & 0xff)) * 16777619u;
	return sum;
}

/* Says that a unit is done. One write, so that lines of several processes do not mix. */
static inline void unit_report(int fd, uint32_t sum)
{
	char line[16];
	int length = snprintf(line, sizeof(line), "%08" PRIx32 "\n", sum);

	// Without a reader this work has no purpose.
	if (write(fd, line, (size_t)length) != length)
		exit(1);
}
