/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What samples tell of code whose rules their walks did not have: each page of it once a second,
 * however many samples come by. One thread at a time; allocates nothing.
 */
#pragma once

#include "tables.h"

#include "sample.h"

enum { NOTES_REMEMBERED = 1024 };

struct notes {
	uint64_t slots[NOTES_REMEMBERED]; /* hashes of what was told lately */
};

/* Tell @tables what the walk of @head, a checked record (bpf/sample.h), has missed. */
void notes_take(struct notes *notes, struct tables *tables, const struct sample_head *head);
