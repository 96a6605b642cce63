// SPDX-License-Identifier: Apache-2.0
// The pprof reader on any bytes: an answer, no crash, bounded memory. What it accepts must
// survive writing, and from the second round on be written as the same bytes.
#include "profile/profile.h"

#include "base/base.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

static const struct pprof_decode_limits tight = { .max_bytes = 1 << 20, .max_memory = 8 << 20 };
static const struct pprof_decode_limits wide = { .max_bytes = 64 << 20, .max_memory = 512 << 20 };

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

static void round_encode(struct round *round)
{
	const struct pprof_encode_options options = { 0 };

	must(pprof_encode(round->batch, &options, &round->bytes, &round->length));
}

static struct round round_again(const struct round *before)
{
	struct round round = { 0 };

	must(pprof_decode(before->bytes, before->length, &wide, &round.batch));
	round_encode(&round);
	return round;
}

static void round_deinit(struct round *round)
{
	profcol_batch_unref(round->batch);
	free(round->bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	CLEANUP(round_deinit) struct round first = { 0 }, second = { 0 }, third = { 0 };
	struct profcol_error *error = pprof_decode(bytes, length, &tight, &first.batch);

	if (error) {
		profcol_error_destroy(error);
		return 0;
	}
	round_encode(&first);
	second = round_again(&first);
	third = round_again(&second);
	// The first round may add up samples and order them by column.
	if (third.length != second.length || memcmp(third.bytes, second.bytes, third.length) != 0) {
		fprintf(stderr, "written differently after being read\n");
		abort();
	}
	return 0;
}
