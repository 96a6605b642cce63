// SPDX-License-Identifier: Apache-2.0
/*
 * What a worker that has been taken over may send. An answer is refused, or keeps every promise
 * that worker.h makes, tried out by readers that share no code with the check.
 *
 * The first byte says what had been asked for.
 */
#include "receiver/ebpf/worker/answer.h"
#include "tests/unit/ebpf/worker/promises.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_ASKED = 3 };

/* Both kinds: page numbers, and file offsets. */
static const struct {
	size_t count;
	uint64_t asked[MAX_ASKED];
} requests[] = {
	{ 0, { 0 } }, { 1, { 0 } }, { 1, { 1 } }, { 2, { 0, 1 } }, { 3, { 1, 3, 0x1000 } },
};

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void expect(const char *broken)
{
	if (!broken)
		return;
	fprintf(stderr, "not so: %s\n", broken);
	abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct worker_page pages[WORKER_MAX_PAGES];
	struct worker_answer answer;
	size_t request, count;
	void *body;

	if (!size)
		return 0;
	request = (bytes[0] & 0x7f) % (sizeof(requests) / sizeof(requests[0]));
	count = requests[request].count;
	// As large as the answer: one byte more is a fault.
	body = malloc(size > 1 ? size - 1 : 1);
	if (!body)
		return 0;
	memcpy(body, bytes + 1, size - 1);
	if (bytes[0] == 0x7e) {
		if (answer_read_lines(body, size - 1, MAX_ASKED, &answer))
			expect(promises_of_lines(
				&(struct promised){ &answer, body, size - 1, NULL, MAX_ASKED }));
	} else if (bytes[0] == 0x7f) {
		if (answer_read_index(body, size - 1, &answer))
			expect(promises_of_index(
				&(struct promised){ &answer, body, size - 1, NULL, 0 }));
	} else if (bytes[0] & 0x80) {
		if (answer_read(body, size - 1, requests[request].asked, count, &answer))
			expect(promises_of_functions(&(struct promised){
				&answer, body, size - 1, requests[request].asked, count }));
	} else if (answer_read_pages(body, size - 1, requests[request].asked, count, pages,
				     &answer)) {
		expect(promises_of_pages(&(struct promised){ &answer, body, size - 1,
							     requests[request].asked, count }));
	}
	free(body);
	return 0;
}
