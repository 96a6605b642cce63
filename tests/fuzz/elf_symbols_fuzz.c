// SPDX-License-Identifier: Apache-2.0
/*
 * A file of a profiled program, from its bytes to the checked answer: reading must
 * survive anything, and what the worker writes the profiler must accept.
 */
#include "receiver/ebpf/worker/answer.h"
#include "receiver/ebpf/worker/image.h"

#include <stdlib.h>
#include <string.h>

enum { PROBES = 64 };

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	uint64_t offsets[PROBES];
	struct worker_answer answer;
	struct image image;
	size_t body_bytes;
	void *body;

	for (size_t i = 0; i < PROBES; i++)
		offsets[i] = i * (size / PROBES + 1);
	image_init(&image, bytes, size);
	if (!image_read_symbols(&image) &&
	    !answer_write(&image, offsets, PROBES, &body, &body_bytes)) {
		if (!answer_read(body, body_bytes, offsets, PROBES, &answer))
			abort();
		free(body);
	}
	image_deinit(&image);
	return 0;
}
