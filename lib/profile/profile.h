/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What can be done with whole batches, beyond reading and building one
 * (include/profcol/batch.h): merge, split, compact, compare; and the wire
 * formats. The only header of lib/profile that other folders include.
 *
 * All functions borrow the batches they are given and are pure: any thread.
 */
#pragma once

#include <profcol/batch.h>

#include <stdio.h>

/* ---- whole batches (merge.c, split.c, compact.c) ---- */

/*
 * One batch with the contents of @batches in order. Dictionaries are re-indexed;
 * equal resources become one, and equal scopes inside them; profiles stay apart,
 * each with its own window.
 */
PROFCOL_MUST_CHECK struct profcol_error *profile_merge(struct profcol_batch *const *batches,
						       size_t count, struct profcol_batch **ret);

/*
 * Cut the front off @batch: *@head_ret is compact and at most @max_bytes in OTLP
 * encoding, *@tail_ret the rest, or NULL when all fitted. Cuts between
 * samples, and inside a sample's observations when one sample alone is too
 * large. A head always holds at least one observation, so a bound smaller than
 * that is exceeded rather than looped on. Shares tables with @batch where it can.
 */
PROFCOL_MUST_CHECK struct profcol_error *profile_split(const struct profcol_batch *batch,
						       size_t max_bytes,
						       struct profcol_batch **head_ret,
						       struct profcol_batch **tail_ret);

/* The same contents without unreferenced dictionary entries, text included. */
PROFCOL_MUST_CHECK struct profcol_error *profile_compact(const struct profcol_batch *batch,
							 struct profcol_batch **ret);

/* Bytes of memory that @batch keeps alive, shared tables counted in full. */
size_t profile_memory(const struct profcol_batch *batch);

/*
 * Canonical text of @batch for comparison and debugging: one line per
 * observation (resource, scope, profile, stack as text, attributes, link, value,
 * time), ids resolved, in the batch's order.
 */
PROFCOL_MUST_CHECK struct profcol_error *profile_print(const struct profcol_batch *batch,
						       FILE *stream);

/* ---- OTLP (otlp/): ExportProfilesServiceRequest, opentelemetry-proto 1.11 ---- */

/*
 * Encoded size in bytes, exact; without memory to number what is used, an upper bound.
 */
size_t otlp_encoded_size(const struct profcol_batch *batch);

/* *@bytes_ret is the caller's to free(). REJECTED when it would pass 2^31 - 1 bytes. */
PROFCOL_MUST_CHECK struct profcol_error *otlp_encode(const struct profcol_batch *batch,
						     uint8_t **bytes_ret, size_t *length_ret);

/* ---- pprof (pprof/): profile.proto of github.com/google/pprof ---- */

struct pprof_encode_options {
	int compression_level; /* gzip 1 to 9 (libdeflate's up to 12); 0 = not compressed */
};

/*
 * All of @batch as one pprof file: a column per kind of sample (type and unit),
 * plus the usual cpu/nanoseconds column next to samples/count when the period
 * says what a sample is worth. Samples equal in stack and labels become one.
 * Labels: sample and resource attributes, `process.pid`, `thread.id` and
 * `thread.name` under the short names pid, tid and comm; links as trace_id
 * and span_id. Timestamps have no place in pprof. Mappings, locations and functions
 * are written whole: compact first what was filtered.
 * *@bytes_ret is the caller's to free(). REJECTED past 256 kinds or 2^31 - 1 bytes.
 */
PROFCOL_MUST_CHECK struct profcol_error *pprof_encode(const struct profcol_batch *batch,
						      const struct pprof_encode_options *options,
						      uint8_t **bytes_ret, size_t *length_ret);

struct pprof_decode_limits {
	size_t max_bytes;  /* after decompression */
	size_t max_memory; /* of the decoded tree and the batch being built */
};

/*
 * A pprof file, gzip or bare, as a batch with one resource and one profile per
 * sample type. Input is hostile: BAD_DATA says what is wrong with it.
 */
PROFCOL_MUST_CHECK struct profcol_error *pprof_decode(const uint8_t *bytes, size_t length,
						      const struct pprof_decode_limits *limits,
						      struct profcol_batch **ret);
