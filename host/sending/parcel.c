// SPDX-License-Identifier: Apache-2.0
#include "parcel.h"

#include "base/base.h"
#include "profile/profile.h"

enum {
	/* What decoding may take: much more than any request needs, to bound a broken one. */
	DECODED_BYTES_PER_BYTE = 64,
	DECODED_BYTES_LEAST = 16 << 20,

	/* What one batch may become: one string of it, referred to often, is written often. */
	ENCODED_BYTES_PER_BYTE = 4,
	ENCODED_BYTES_LEAST = 64 << 20,
};

void parcel_deinit(struct parcel *parcel)
{
	free(parcel->bytes);
	*parcel = (struct parcel){ 0 };
}

struct parcel parcel_take(struct parcel *from)
{
	struct parcel taken = *from;

	*from = (struct parcel){ 0 };
	return taken;
}

/* Drop all but the first @count. */
static void parcels_truncate(struct parcels *parcels, size_t count)
{
	while (parcels->count > count)
		parcel_deinit(&parcels->items[--parcels->count]);
}

void parcels_deinit(struct parcels *parcels)
{
	parcels_truncate(parcels, 0);
	VECTOR_DEINIT(parcels);
}

uint64_t parcels_samples(const struct parcels *parcels)
{
	uint64_t samples = 0;

	for (size_t i = 0; i < parcels->count; i++)
		samples += parcels->items[i].samples;
	return samples;
}

/* ---- encoding ---- */

static struct otlp_encode_options encode_options(const struct parcel_limits *limits)
{
	return (struct otlp_encode_options){
		.attribute_references = limits->attribute_references,
	};
}

static struct profcol_error *encode_one(const struct profcol_batch *batch,
					const struct parcel_limits *limits, struct parcels *ret)
{
	struct otlp_encode_options options = encode_options(limits);
	struct parcel parcel = { .samples = profcol_batch_events(batch) };
	struct profcol_error *error;

	if (!VECTOR_RESERVE(ret, 1))
		return profcol_error_create(PROFCOL_NO_MEMORY, "out of memory");
	error = otlp_encode(batch, &options, &parcel.bytes, &parcel.length);
	if (!error)
		ret->items[ret->count++] = parcel;
	return error;
}

static bool is_small_enough(const struct profcol_batch *batch, const struct parcel_limits *limits)
{
	struct otlp_encode_options options = encode_options(limits);

	return (!limits->max_samples || profcol_batch_events(batch) <= limits->max_samples) &&
	       otlp_encoded_size(batch, &options) <= limits->max_bytes;
}

/*
 * Bytes that a front of max_samples may have at the most, if samples are alike; less
 * with each @attempt, since they are not.
 */
static size_t bytes_for_samples(const struct profcol_batch *batch,
				const struct parcel_limits *limits, unsigned int attempt)
{
	struct otlp_encode_options options = encode_options(limits);
	uint64_t samples = profcol_batch_events(batch);
	size_t wanted;

	if (!limits->max_samples || samples <= limits->max_samples)
		return limits->max_bytes;
	wanted = (size_t)((double)otlp_encoded_size(batch, &options) * (double)limits->max_samples /
			  (double)samples);
	wanted = wanted < limits->max_bytes ? wanted : limits->max_bytes;
	return (wanted >> attempt) + 1;
}

/* As profile_split, by both limits. */
static struct profcol_error *split_off(struct profcol_batch *batch,
				       const struct parcel_limits *limits,
				       struct profcol_batch **head_ret,
				       struct profcol_batch **tail_ret)
{
	struct otlp_encode_options options = encode_options(limits);

	for (unsigned int attempt = 0;; attempt++) {
		PROFCOL_CLEANUP_BATCH struct profcol_batch *head = NULL, *tail = NULL;
		size_t bytes = bytes_for_samples(batch, limits, attempt);
		struct profcol_error *error = profile_split(batch, &options, bytes, &head, &tail);

		if (error)
			return error;
		// The last bound cuts off a single observation.
		if (limits->max_samples && bytes > 1 &&
		    profcol_batch_events(head) > limits->max_samples)
			continue;
		*head_ret = TAKE(head);
		*tail_ret = TAKE(tail);
		return NULL;
	}
}

static size_t total_limit(const struct profcol_batch *batch, const struct parcel_limits *limits)
{
	if (limits->max_total_bytes)
		return limits->max_total_bytes;
	return ENCODED_BYTES_LEAST + profile_memory(batch) * ENCODED_BYTES_PER_BYTE;
}

static struct profcol_error *check_stopped(const struct parcel_limits *limits)
{
	if (limits->is_stopped && atomic_load(limits->is_stopped))
		return profcol_error_create(PROFCOL_SHUTDOWN, "the shutdown came first");
	return NULL;
}

/* Take the size of a new parcel from what is left of the total. */
static struct profcol_error *charge(const struct parcel *parcel, const struct parcel_limits *limits,
				    size_t *left)
{
	if (parcel->length > *left)
		return profcol_error_create(PROFCOL_REJECTED,
					    "requests of %zu bytes would repeat too much of the "
					    "batch's text; raise max_request_bytes, or set "
					    "attribute_references if the peer resolves them",
					    limits->max_bytes);
	*left -= parcel->length;
	return NULL;
}

/*
 * The last piece comes from splitting like the others: it is compact, and nobody has to
 * measure again and again what is left.
 */
static struct profcol_error *encode_pieces(struct profcol_batch *batch,
					   const struct parcel_limits *limits, struct parcels *ret)
{
	PROFCOL_CLEANUP_BATCH struct profcol_batch *rest = profcol_batch_ref(batch);
	size_t left = total_limit(batch, limits);
	struct profcol_error *error = NULL;

	while (rest && !error) {
		PROFCOL_CLEANUP_BATCH struct profcol_batch *head = NULL, *tail = NULL;

		error = check_stopped(limits);
		if (!error)
			error = split_off(rest, limits, &head, &tail);
		if (!error)
			error = encode_one(head, limits, ret);
		if (!error)
			error = charge(&ret->items[ret->count - 1], limits, &left);
		if (error)
			break;
		profcol_batch_unref(rest);
		rest = TAKE(tail);
	}
	return error;
}

static struct profcol_error *encode_all(struct profcol_batch *batch,
					const struct parcel_limits *limits, struct parcels *ret)
{
	return is_small_enough(batch, limits) ? encode_one(batch, limits, ret)
					      : encode_pieces(batch, limits, ret);
}

struct profcol_error *parcel_encode(struct profcol_batch *batch, const struct parcel_limits *limits,
				    struct parcels *ret)
{
	size_t before = ret->count;
	struct profcol_error *error = encode_all(batch, limits, ret);

	if (error)
		parcels_truncate(ret, before);
	return error;
}

/* ---- again ---- */

static struct profcol_error *decode(const struct parcel *parcel, struct profcol_batch **ret)
{
	const struct otlp_decode_limits limits = {
		.max_memory = DECODED_BYTES_LEAST + parcel->length * DECODED_BYTES_PER_BYTE,
	};

	return profcol_error_prefix(otlp_decode(parcel->bytes, parcel->length, &limits, ret),
				    "decode a queued request");
}

struct profcol_error *parcel_join(const struct parcel *parcels, size_t count,
				  const struct parcel_limits *limits, struct parcels *ret)
{
	CLEANUP_FREE struct profcol_batch **batches = calloc(count, sizeof(struct profcol_batch *));
	PROFCOL_CLEANUP_BATCH struct profcol_batch *merged = NULL;
	struct profcol_error *error = NULL;
	size_t decoded = 0;

	if (!batches)
		return profcol_error_create(PROFCOL_NO_MEMORY, "out of memory");
	while (decoded < count && !error) {
		error = decode(&parcels[decoded], &batches[decoded]);
		decoded += !error;
	}
	if (!error)
		error = profile_merge(batches, count, &merged);
	while (decoded > 0)
		profcol_batch_unref(batches[--decoded]);
	return error ? error : parcel_encode(merged, limits, ret);
}

struct profcol_error *parcel_cut(const struct parcel *parcel, const struct parcel_limits *limits,
				 struct parcels *ret)
{
	PROFCOL_CLEANUP_BATCH struct profcol_batch *batch = NULL;
	size_t before = ret->count;
	struct profcol_error *error = decode(parcel, &batch);

	if (!error)
		error = parcel_encode(batch, limits, ret);
	// One piece is progress only when less is in it than was: unused parts of a dictionary.
	if (!error && ret->count == before + 1 && ret->items[before].length >= parcel->length)
		parcels_truncate(ret, before);
	return error;
}
