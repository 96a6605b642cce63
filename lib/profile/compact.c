// SPDX-License-Identifier: Apache-2.0
#include "front.h"
#include "profile.h"

struct profcol_error *profile_compact(const struct profcol_batch *batch, struct profcol_batch **ret)
{
	uint32_t samples = profcol_batch_count(batch, PROFCOL_SAMPLES);

	return profcol_error_prefix(front_extract(batch, front_of(batch, samples, 0), ret),
				    "compact batch");
}
