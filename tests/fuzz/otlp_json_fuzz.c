// SPDX-License-Identifier: Apache-2.0
/* Any text as OTLP/JSON: what comes of it can be decoded, or is refused, and written as JSON again.
 */
#include "base/base.h"
#include "profile/profile.h"

#include <stdlib.h>

enum { MEMORY_MAX = 64 << 20 };

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct memory_budget budget = { .most = MEMORY_MAX };
	struct memory_share share = { .budget = &budget };
	const struct otlp_decode_limits limits = { MEMORY_MAX, &share };
	CLEANUP_FREE char *text = NULL;
	CLEANUP_FREE uint8_t *request = NULL;
	struct profcol_batch *batch = NULL;
	CLEANUP_FREE uint8_t *response = NULL, *status = NULL;
	struct profcol_error *error;
	size_t length, text_length;

	profcol_error_destroy(
		otlp_response_from_json((const char *)bytes, size, &response, &length));
	profcol_error_destroy(otlp_status_from_json((const char *)bytes, size, &status, &length));

	error = otlp_from_json((const char *)bytes, size, &share, &request, &length);
	if (!error) {
		// Whatever was read is sound on the wire.
		profcol_error_destroy(otlp_to_json(request, length, &text, &text_length));
		error = otlp_decode(request, length, &limits, &batch);
	}
	if (error)
		profcol_error_destroy(error);
	else
		profcol_batch_unref(batch);
	memory_share_give(&share);
	if (budget.used)
		abort();
	return 0;
}
