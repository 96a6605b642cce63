/* SPDX-License-Identifier: Apache-2.0 */
/* Changes of the forged memory of a process, as a part of a fuzz target's input: words that replace
 * those in memory before a read with a certain number. For one target, which includes this once. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { FORGED_CHANGES = 64 }; /* at most; what comes behind them is left out */

struct forged_change {
	uint16_t where; /* in words */
	uint16_t when;
	uint64_t word;
} __attribute__((packed));

static struct forged_change forged_changes[FORGED_CHANGES];
static size_t forged_change_count;

static inline void forged_changes_take(const uint8_t *bytes, size_t size)
{
	forged_change_count = size / sizeof(struct forged_change);
	if (forged_change_count > FORGED_CHANGES)
		forged_change_count = FORGED_CHANGES;
	memcpy(forged_changes, bytes, forged_change_count * sizeof(struct forged_change));
}

/* Writes the changes that come before read @number into @memory, of which @used bytes count, at
 * least 8. A change says its number modulo @counted. */
static inline void forged_changes_make(uint8_t *memory, size_t used, size_t number, size_t counted)
{
	for (size_t i = 0; i < forged_change_count; i++)
		if (forged_changes[i].when % counted == number)
			memcpy(memory + forged_changes[i].where * 8ul % (used - 7),
			       &forged_changes[i].word, sizeof(uint64_t));
}
