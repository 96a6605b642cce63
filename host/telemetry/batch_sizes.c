// SPDX-License-Identifier: Apache-2.0
#include "batch_sizes.h"

#include <stddef.h>

/* Every second one of those of the Collector's otelcol_exporter_queue_batch_send_size. */
const uint64_t batch_sizes_bounds[BATCH_SIZES_BOUNDS] = {
	10, 50, 100, 500, 1000, 3000, 5000, 7000, 9000, 20000, 50000, 100000,
};

void batch_sizes_note(struct batch_sizes *sizes, uint64_t samples)
{
	size_t i = 0;

	while (i < BATCH_SIZES_BOUNDS && samples > batch_sizes_bounds[i])
		i++;
	atomic_fetch_add_explicit(&sizes->counts[i], 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&sizes->samples, samples, memory_order_relaxed);
}
