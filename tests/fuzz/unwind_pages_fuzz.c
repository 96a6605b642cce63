// SPDX-License-Identifier: Apache-2.0
/*
 * A file of a profiled program, from its bytes to checked pages of unwind rules: reading must
 * survive anything, and what the worker writes the profiler must accept.
 */
#include "receiver/ebpf/worker/answer.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void ask(const struct image *image, const uint64_t *asked, size_t count)
{
	struct worker_page pages[WORKER_MAX_PAGES];
	struct worker_answer answer;
	size_t body_bytes;
	void *body;

	if (answer_write_pages(image, asked, count, &body, &body_bytes))
		return;
	if (body_bytes > PROTOCOL_MAX_BODY ||
	    !answer_read_pages(body, body_bytes, asked, count, pages, &answer))
		abort();
	free(body);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct image image;

	image_init(&image, bytes, size);
	if (!image_read_source(&image)) {
		uint64_t last = image.text.limit ? image.text.limit - 1 : 0;
		const uint64_t asked[] = { image.text.first, last, last + 1, UINT64_MAX };

		ask(&image, NULL, 0);
		ask(&image, asked, 1);
		ask(&image, asked + (last == asked[0]), 4 - (last == asked[0]));
	}
	image_deinit(&image);
	return 0;
}
