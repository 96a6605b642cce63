/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The labels of a sample: the runtime of the program finds where their text lies, and here it is
 * read into the record. The process alone decides what is read: a label may lie anywhere, and be of
 * any length.
 */
#pragma once

#include "sample.h"
#include "unwind_state.bpf.h"

_Static_assert(sizeof(((struct unwind_walk *)0)->scratch) >=
		       SAMPLE_LABELS * sizeof(struct label_place),
	       "places of labels fit");

/* Writes label @number of those that were found to @to, where there are SAMPLE_LABEL_BYTES. Returns
 * how many it has; 0: it is left out. */
static __always_inline __u64 labels_write(struct unwind_walk *walk, __u32 number, void *to)
{
	const struct label_place *place = (const struct label_place *)walk->scratch + number;
	__u64 key = place->key_bytes, value = place->value_bytes, last;
	struct sample_label *label = to;

	label->is_cut = value > SAMPLE_LABEL_VALUE_BYTES;
	if (label->is_cut)
		value = SAMPLE_LABEL_VALUE_BYTES;
	// The compiler knows the bounds; this tells them to the verifier.
	asm volatile("" : "+r"(key), "+r"(value));
	if (!key || key > SAMPLE_LABEL_KEY_BYTES || value > SAMPLE_LABEL_VALUE_BYTES) {
		walk->label_flags |= SAMPLE_LABELS_LEFT_OUT;
		return 0;
	}
	label->key_bytes = (__u16)key;
	label->value_bytes = (__u16)value;
	last = (key + value - 1) & ~7ull;
	asm volatile("" : "+r"(last));
	if (last > SAMPLE_LABEL_BYTES - sizeof(*label) - 8)
		return 0;
	*(__u64 *)(to + sizeof(*label) + last) = 0;
	if (bpf_probe_read_user(to + sizeof(*label), key, (void *)place->key) ||
	    bpf_probe_read_user(to + sizeof(*label) + key, value, (void *)place->value)) {
		walk->label_flags |= SAMPLE_LABELS_UNREADABLE;
		return 0;
	}
	if (label->is_cut)
		walk->label_flags |= SAMPLE_LABELS_CUT;
	return sizeof(*label) + last + 8;
}
