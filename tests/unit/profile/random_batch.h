/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Batches for property tests, and their comparison. Library
 * `profile_random_batch`. Everything here aborts without memory.
 */
#pragma once

#include <profcol/batch.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A batch drawn from @seed: the same seed gives the same batch. Up to 3 resources
 * with up to 3 scopes with up to 3 profiles with up to 15 samples; holds empty
 * attributes, bytes, arrays and lists of pairs in wire form, text with spaces,
 * newlines and letters of other alphabets, empty stacks, inlined frames, links,
 * entity references, payloads, samples of all three shapes, and equal rows under
 * different parents. All text is UTF-8 without NUL, keys of one attribute list
 * differ, times lie in their profile's window. Every eighth seed gives a batch
 * without samples, every sixteenth one without anything. Never NULL.
 */
struct profcol_batch *random_batch(uint64_t seed);

/* As above with @samples samples in one profile, of one observation each. */
struct profcol_batch *random_batch_sized(uint64_t seed, uint32_t samples);

/* profile_print() into memory; the caller's to free(). */
char *batch_text(const struct profcol_batch *batch);

/* The observations of batches as a multiset: the lines of profile_print(), in any order. */
struct observations {
	char **items; /* owned, each without its newline */
	size_t count, capacity;
};

/* Add those of @batch to @observations (zero-initialized before the first). */
void observations_add(struct observations *observations, const struct profcol_batch *batch);
void observations_deinit(struct observations *observations);

/* Sorts both. Prints the first line that only one side has to stderr when they differ. */
bool observations_equal(struct observations *left, struct observations *right);

/* Both batches hold the same multiset of observations. */
bool batch_same_observations(const struct profcol_batch *left, const struct profcol_batch *right);
