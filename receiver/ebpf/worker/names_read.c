// SPDX-License-Identifier: Apache-2.0
#include "names_read.h"

#include "answer_text.h"

static bool named_check(const struct worker_named *named, size_t count, uint32_t traces,
			size_t line_count)
{
	size_t lines = 0;

	for (size_t i = 0; i < count; i++) {
		bool has_lines = named[i].line_count;

		if (named[i].outcome >= RUNTIME_OUTCOMES || named[i].line_count > RUNTIME_LINES ||
		    has_lines != (named[i].outcome == RUNTIME_NAMED) || named[i].trace & ~traces)
			return false;
		lines += named[i].line_count;
	}
	return lines == line_count;
}

static bool lines_check(const struct worker_line *lines, size_t count, const char *text,
			size_t bytes)
{
	for (size_t i = 0; i < count; i++)
		if (!lines[i].function || lines[i].is_gap > 1 ||
		    !answer_text_begins_at(text, bytes, lines[i].function) ||
		    !answer_text_begins_at(text, bytes, lines[i].file) ||
		    !answer_text_begins_at(text, bytes, lines[i].system_name))
			return false;
	return true;
}

bool names_read(void *body, size_t bytes, size_t asked_count, uint32_t traces,
		struct worker_answer *ret)
{
	struct protocol_names *head = body;
	size_t named, lines;
	char *text;

	if (bytes < sizeof(*head) || head->named_count != asked_count ||
	    head->line_count > WORKER_MAX_LINES || head->text_bytes > PROTOCOL_MAX_TEXT ||
	    head->reserved)
		return false;
	named = head->named_count * sizeof(*ret->named);
	lines = head->line_count * sizeof(*ret->lines);
	if (bytes != sizeof(*head) + named + lines + head->text_bytes)
		return false;
	text = (char *)(head + 1) + named + lines;
	*ret = (struct worker_answer){
		.outcome = WORKER_ANSWERED,
		.named = (const void *)(head + 1),
		.named_count = head->named_count,
		.lines = (const void *)((const char *)(head + 1) + named),
		.line_count = head->line_count,
		.text = text,
	};
	return answer_text_check(text, head->text_bytes) &&
	       named_check(ret->named, ret->named_count, traces, ret->line_count) &&
	       lines_check(ret->lines, ret->line_count, text, head->text_bytes);
}
