// SPDX-License-Identifier: Apache-2.0
/* Folded stacks by anybody: a batch whose folded stacks can be read again, or an error. */
#include "profile/profile.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct profcol_batch *batch = NULL, *again = NULL;
	uint8_t *text = NULL;
	size_t length;

	if (size > 1 << 16)
		return 0;
	struct profcol_error *error = folded_decode(bytes, size, &batch);

	if (error) {
		profcol_error_destroy(error);
		return 0;
	}
	if (folded_encode(batch, &text, &length) || folded_decode(text, length, &again))
		abort();
	free(text);
	profcol_batch_unref(again);
	profcol_batch_unref(batch);
	return 0;
}
