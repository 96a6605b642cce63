/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The labels at the end of a record (struct sample_labels in bpf/sample.h): whether they add up,
 * and one after the other. Their text is the profiled program's. Any thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct wait_partner;

/* One of them; its text is borrowed from the record. */
struct label_text {
	const char *key, *value; /* any bytes */
	size_t key_bytes, value_bytes;
	bool is_cut; /* the value */
};

/* Where a reader stands. */
struct label_reader {
	const char *at; /* the next label */
	size_t left;    /* labels */
};

/* Do @bytes at @labels, which is aligned to 8, add up? */
bool sample_labels_check(const void *labels, size_t bytes);

/* All of @labels, which add up and are borrowed. */
struct label_reader sample_labels_begin(const void *labels);

/* The other thread of a wait; NULL: it is not known. *@was_woken_ret: the sample is of who has
 * ended the wait, and that thread was woken; else it is that one that has ended it. Borrowed, as
 * above. */
const struct wait_partner *sample_labels_partner(const void *labels, bool *was_woken_ret);

/* False: there is no further one. */
bool sample_labels_next(struct label_reader *reader, struct label_text *ret);
