// SPDX-License-Identifier: Apache-2.0
#include "names_draft.h"

#include "cut_names.h"

#include <errno.h>
#include <string.h>

void names_draft_deinit(struct names_draft *draft)
{
	VECTOR_DEINIT(&draft->named);
	VECTOR_DEINIT(&draft->lines);
	VECTOR_DEINIT(&draft->text);
}

int names_draft_begin(struct names_draft *draft, size_t count)
{
	return VECTOR_PUSH(&draft->text, '\0') && VECTOR_RESERVE(&draft->named, count) ? 0
										       : -ENOMEM;
}

void names_draft_open(struct names_draft *draft)
{
	draft->lines_before = (uint32_t)draft->lines.count;
	draft->text_before = (uint32_t)draft->text.count;
}

/* Where the text is from now on, to *@ret. False: it has no room. */
static bool draft_text(struct names_draft *draft, const char *text, size_t bytes, uint32_t *ret)
{
	size_t whole = bytes;

	*ret = 0;
	if (!bytes)
		return true;
	if (bytes >= WORKER_MAX_NAME)
		bytes = WORKER_MAX_NAME - 1;
	if (draft->text.count + bytes + 1 > PROTOCOL_MAX_TEXT)
		return false;
	if (!VECTOR_RESERVE(&draft->text, bytes + 1)) {
		draft->no_memory = true;
		return false;
	}
	*ret = (uint32_t)draft->text.count;
	// A NUL within it would end it for whoever reads.
	for (size_t i = 0; i < bytes; i++)
		draft->text.items[draft->text.count++] = text[i] ? text[i] : '?';
	if (bytes < whole)
		cut_name_mark(draft->text.items + *ret, bytes, text, whole);
	draft->text.items[draft->text.count++] = '\0';
	return true;
}

/* Neighbours often are of one file. */
bool names_draft_line(void *context, const struct runtime_line *line)
{
	struct names_draft *draft = context;
	size_t count = draft->lines.count;
	struct worker_line to = { .line = line->line,
				  .start_line = line->start_line,
				  .column = line->column,
				  .is_gap = line->is_gap };

	if (!line->function_bytes || count - draft->lines_before >= RUNTIME_LINES ||
	    count >= WORKER_MAX_LINES)
		return false;
	if (!draft_text(draft, line->function, line->function_bytes, &to.function))
		return false;
	if (count && draft->lines.items[count - 1].file &&
	    strlen(draft->text.items + draft->lines.items[count - 1].file) == line->file_bytes &&
	    !memcmp(draft->text.items + draft->lines.items[count - 1].file, line->file,
		    line->file_bytes))
		to.file = draft->lines.items[count - 1].file;
	else if (!draft_text(draft, line->file, line->file_bytes, &to.file))
		return false;
	if (!draft_text(draft, line->system_name, line->system_name_bytes, &to.system_name))
		return false;
	draft->no_memory |= !VECTOR_PUSH(&draft->lines, to);
	return !draft->no_memory;
}

void names_draft_close(struct names_draft *draft, enum runtime_outcome outcome, uint32_t trace)
{
	struct worker_named *named = &draft->named.items[draft->named.count++];

	*named = (struct worker_named){
		.outcome = outcome,
		.line_count = (uint32_t)draft->lines.count - draft->lines_before,
		.trace = trace,
	};
	if (outcome == RUNTIME_NAMED && named->line_count)
		return;
	if (outcome == RUNTIME_NAMED)
		named->outcome = RUNTIME_MALFORMED;
	named->line_count = named->trace = 0;
	draft->lines.count = draft->lines_before;
	draft->text.count = draft->text_before;
}

static void *append(void *to, const void *from, size_t bytes)
{
	if (bytes)
		memcpy(to, from, bytes);
	return (char *)to + bytes;
}

int names_draft_finish(const struct names_draft *draft, void **ret, size_t *bytes_ret)
{
	const struct protocol_names head = {
		.named_count = (uint32_t)draft->named.count,
		.line_count = (uint32_t)draft->lines.count,
		.text_bytes = (uint32_t)draft->text.count,
	};
	size_t named = draft->named.count * sizeof(*draft->named.items);
	size_t lines = draft->lines.count * sizeof(*draft->lines.items);
	void *to;

	*bytes_ret = sizeof(head) + named + lines + draft->text.count;
	*ret = to = malloc(*bytes_ret);
	if (!to)
		return -ENOMEM;
	to = append(to, &head, sizeof(head));
	to = append(to, draft->named.items, named);
	to = append(to, draft->lines.items, lines);
	append(to, draft->text.items, draft->text.count);
	return 0;
}
