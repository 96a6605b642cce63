/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Profiles of the last while, in bounded memory.
 *
 * A batch loses its timestamps here: its values are added up in slices of time, which are 5 s wide
 * at first, a minute wide after five minutes, and ten minutes wide after an hour. Adding slices
 * up changes no sum. All slices share one dictionary, which is made anew, with what is in use,
 * when it has grown to twice of what was. When `memory_bytes` would be exceeded, the oldest slices
 * go.
 *
 * One thread at a time.
 */
#pragma once

#include <profcol/batch.h>
#include <profcol/errors.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct history;

struct history_settings {
	uint64_t retention_ns; /* slices that ended earlier go */
	uint64_t memory_bytes; /* of slices and dictionary together */
};

struct history *history_create(const struct history_settings *settings); /* NULL without memory */
void history_destroy(struct history *history);                           /* accepts NULL */

/* Unix nanoseconds, half-open. */
struct history_range {
	uint64_t from_ns, to_ns;
};

/*
 * Add @batch, which is borrowed. Profiles without a time, and those from the future, count as of
 * @now_unix_ns. With @only, of samples with timestamps just those that lie in it are added, and of
 * other profiles those whose window has its middle in it. NO_MEMORY when it could not be added
 * whole; the history then starts anew, and what it had counts as evicted.
 */
PROFCOL_MUST_CHECK struct profcol_error *history_add(struct history *history,
						     const struct profcol_batch *batch,
						     const struct history_range *only,
						     uint64_t now_unix_ns);

/* Make slices wider that have become old, and drop those past the retention. */
void history_age(struct history *history, uint64_t now_unix_ns);

struct history_figures {
	uint64_t memory_bytes;
	uint64_t samples;         /* kept, as the account counts them */
	uint64_t evicted_samples; /* since the start: for want of memory */
	uint64_t expired_samples; /* since the start: past the retention */
	uint64_t rows, slices;
	uint64_t begin_ns, end_ns; /* what the slices cover; 0 without any */
};

struct history_figures history_figures(const struct history *history);

/*
 * What is kept of @range as a batch: a profile for each resource, scope and kind of sample, its
 * samples each with one value and no timestamps. Slices are taken whole: those with their middle
 * in the range, or where there is none, those that overlap it. *@covered_ret is what they cover,
 * {0, 0} when nothing is there; the batch is then empty.
 */
PROFCOL_MUST_CHECK struct profcol_error *history_read(const struct history *history,
						      struct history_range range,
						      struct profcol_batch **ret,
						      struct history_range *covered_ret);

/* ---- load over time ---- */

/* A kind of sample in what is kept. */
struct history_kind {
	const char *type, *unit; /* borrowed until the history changes */
	int64_t value;           /* of all that is kept */
};

size_t history_kind_count(const struct history *history);
struct history_kind history_kind(const struct history *history, size_t index);

enum { HISTORY_KEYS_MAX = 200 };

/* Keys of the attributes of what is kept, which samples may be grouped by; borrowed until the
 * history changes. Returns how many. */
size_t history_keys(const struct history *history, const char *keys[HISTORY_KEYS_MAX]);

struct history_load {
	struct history_range range; /* of the slice */
	int64_t value;              /* of one kind */
};

size_t history_slice_count(const struct history *history);
/* Slice @index, the oldest first, and what it has of the kind @kind, an index as above. */
struct history_load history_slice_load(const struct history *history, size_t index, size_t kind);
