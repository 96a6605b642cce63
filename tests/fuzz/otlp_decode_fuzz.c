// SPDX-License-Identifier: Apache-2.0
// The OTLP reader on any bytes: an answer, no crash, bounded memory. What it accepts must
// mean the same after being written and read again, and be written as the same bytes.
#include "profile/profile.h"

#include "base/base.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

/* Tight enough that no input is slow to write. */
static const struct otlp_decode_limits tight = { .max_memory = 4 << 20 };
static const struct otlp_decode_limits wide = { .max_memory = 512 << 20 };

static void must(struct profcol_error *error)
{
	if (!error)
		return;
	fprintf(stderr, "%s\n", profcol_error_message(error));
	abort();
}

struct round {
	struct profcol_batch *batch;
	uint8_t *bytes;
	size_t length;
};

static void round_encode(struct round *round, const struct otlp_encode_options *options)
{
	must(otlp_encode(round->batch, options, &round->bytes, &round->length));
	if (round->length == otlp_encoded_size(round->batch, options))
		return;
	fprintf(stderr, "not of the size that was measured\n");
	abort();
}

static struct round round_again(const struct round *before,
				const struct otlp_encode_options *options)
{
	struct round round = { 0 };

	must(otlp_decode(before->bytes, before->length, &wide, &round.batch));
	round_encode(&round, options);
	return round;
}

static void round_deinit(struct round *round)
{
	profcol_batch_unref(round->batch);
	free(round->bytes);
}

static void print(const struct profcol_batch *batch, char **text, size_t *length)
{
	FILE *stream = open_memstream(text, length);

	if (!stream)
		abort();
	must(profile_print(batch, stream));
	fclose(stream);
}

static void must_be_alike(const struct round *left, const struct round *right)
{
	CLEANUP_FREE char *left_text = NULL, *right_text = NULL;
	size_t left_length, right_length;

	if (left->length != right->length || memcmp(left->bytes, right->bytes, left->length) != 0) {
		fprintf(stderr, "written differently after being read\n");
		abort();
	}
	print(left->batch, &left_text, &left_length);
	print(right->batch, &right_text, &right_length);
	if (left_length != right_length || memcmp(left_text, right_text, left_length) != 0) {
		fprintf(stderr, "read differently after being written\n");
		abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	CLEANUP(round_deinit) struct round first = { 0 }, second = { 0 };
	struct otlp_encode_options options = { .attribute_references = length % 2 };
	struct profcol_error *error = otlp_decode(bytes, length, &tight, &first.batch);

	if (error) {
		profcol_error_destroy(error);
		return 0;
	}
	round_encode(&first, &options);
	second = round_again(&first, &options);
	must_be_alike(&first, &second);
	return 0;
}
