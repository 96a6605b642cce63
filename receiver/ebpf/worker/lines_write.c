// SPDX-License-Identifier: Apache-2.0
#include "answer.h"

#include "names_draft.h"

#include <errno.h>

/* By the first runtime that knows the place. */
static void draft_address(struct names_draft *draft, const struct image *image, uint64_t address)
{
	const struct runtime_file file = { .view = &image->view, .source = &image->source };
	const struct runtime_lines to = { names_draft_line, draft };
	enum runtime_outcome outcome = RUNTIME_GONE;
	uint32_t trace = 0;

	names_draft_open(draft);
	if (image->lines_by && image->lines_by->lines(&file, address, &to, &trace))
		outcome = RUNTIME_NAMED;
	names_draft_close(draft, outcome, trace);
}

int answer_write_lines(const struct image *image, const uint64_t *addresses, size_t count,
		       void **body_ret, size_t *bytes_ret)
{
	CLEANUP(names_draft_deinit) struct names_draft draft = { 0 };

	if (names_draft_begin(&draft, count))
		return -ENOMEM;
	for (size_t i = 0; i < count && !draft.no_memory; i++)
		draft_address(&draft, image, addresses[i]);
	return draft.no_memory ? -ENOMEM : names_draft_finish(&draft, body_ret, bytes_ret);
}
