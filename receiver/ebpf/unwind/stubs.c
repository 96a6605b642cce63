// SPDX-License-Identifier: Apache-2.0
#include "stubs.h"

#include "leaf.h"
#include "linkage.h"
#include "signal_frame.h"
#include "thread_start.h"
#include "window.h"

#include <elf.h>

enum {
	LINKAGE_AREAS = STUBS_AREAS - 1,
	FORM_BYTES = 32, /* no form is longer */
};

/* ---- what is known by its place ---- */

static void add_area(struct stubs *stubs, const struct stubs_area *area)
{
	size_t at = stubs->area_count;

	for (size_t i = 0; i < stubs->area_count; i++)
		if (area->start < stubs->areas[i].limit && stubs->areas[i].start < area->limit)
			return;
	for (; at && stubs->areas[at - 1].start > area->start; at--)
		stubs->areas[at] = stubs->areas[at - 1];
	stubs->areas[at] = *area;
	stubs->area_count++;
}

void stubs_init(struct stubs *stubs, const struct elf_view *view)
{
	struct linkage_area linkage[LINKAGE_AREAS];
	struct leaf_area leaves[STUBS_AREAS];
	struct stubs_area entry = { .entry = true };
	size_t count;

	*stubs = (struct stubs){ .view = view, .machine = unwind_machine_find(view->machine) };
	if (!stubs->machine)
		return;
	stubs->outermost = outermost_find(view, stubs->machine);
	entry.start = stubs->outermost.entry;
	entry.limit = stubs->outermost.entry_limit;
	if (entry.start < entry.limit)
		add_area(stubs, &entry);
	count = linkage_find(view, stubs->machine, linkage, LINKAGE_AREAS);
	for (size_t i = 0; i < count; i++)
		add_area(stubs, &(struct stubs_area){ .start = linkage[i].start,
						      .limit = linkage[i].limit });
	count = leaf_find(view, stubs->machine, leaves, STUBS_AREAS - stubs->area_count);
	for (size_t i = 0; i < count; i++)
		add_area(stubs, &(struct stubs_area){ .start = leaves[i].start,
						      .limit = leaves[i].limit,
						      .leaf = true });
}

/* ---- what is known by its form ---- */

static const struct unwind_rule end_rule = { .cfa = UNWIND_CFA_END };

/*
 * What begins at @code: how many bytes it has, and its rule; 0: nothing known. @uncalled_ret: a
 * return address is its first byte, and is looked up one before.
 */
static size_t match(const struct stubs *stubs, const struct elf_piece *code,
		    struct unwind_rule *ret, bool *uncalled_ret)
{
	size_t bytes = signal_frame_match(stubs->machine, code->bytes, code->length);

	*uncalled_ret = true;
	*ret = signal_frame_rule(stubs->machine);
	if (bytes)
		return bytes;
	*ret = end_rule;
	bytes = outermost_context_bytes(&stubs->outermost, code);
	if (bytes)
		return bytes;
	*uncalled_ret = false;
	bytes = outermost_call_bytes(&stubs->outermost, code);
	if (bytes)
		return bytes;
	*ret = thread_start_rule(stubs->machine);
	return thread_start_match(stubs->machine, code->bytes, code->length);
}

/* Most padding between functions is told from all forms by its bytes. */
static bool may_begin_form(const struct stubs *stubs, uint8_t byte)
{
	if (stubs->machine->elf_machine != EM_X86_64)
		return true;
	return byte == 0x0f || byte == 0x41 || byte == 0x48 || byte == 0xb8 || byte == 0xff;
}

/* [start, limit), all of it in @segment. */
static void visit_segment(const struct stubs *stubs, const struct elf_view_segment *segment,
			  uint64_t start, uint64_t limit, struct unwind_window *window)
{
	size_t step = stubs->machine->elf_machine == EM_AARCH64 ? 4 : 1;
	const uint8_t *bytes = stubs->view->file + segment->file_offset;
	uint64_t from = start - segment->address, to = limit - segment->address;

	// What begins before may reach in here; what begins behind may have its rule begin before.
	from = from > FORM_BYTES ? from - FORM_BYTES : 0;
	from += -(segment->address + from) & (step - 1);
	for (uint64_t at = from; at <= to && at < segment->file_bytes; at += step) {
		struct elf_piece code = { bytes + at, segment->file_bytes - at,
					  segment->address + at };
		struct unwind_rule rule;
		uint64_t begin, end;
		size_t length;
		bool uncalled;

		if (!may_begin_form(stubs, bytes[at]))
			continue;
		length = match(stubs, &code, &rule, &uncalled);
		if (!length)
			continue;
		begin = code.address - (uncalled && at);
		end = code.address + length;
		unwind_window_skip(window, begin < limit ? begin : limit);
		unwind_window_give(window, end < limit ? end : limit, &rule);
	}
}

static void visit_forms(const struct stubs *stubs, uint64_t limit, struct unwind_window *window)
{
	for (size_t i = 0; i < stubs->view->segment_count; i++) {
		const struct elf_view_segment *segment = &stubs->view->segments[i];
		uint64_t start = segment->address, end = start + segment->file_bytes;

		if (start < window->at)
			start = window->at;
		if (end > limit)
			end = limit;
		if (segment->executable && start < end)
			visit_segment(stubs, segment, start, end, window);
	}
	unwind_window_skip(window, limit);
}

/* ---- both ---- */

static void visit_area(const struct stubs *stubs, const struct stubs_area *area,
		       struct unwind_window *window)
{
	struct linkage_area linkage = { area->start, area->limit };
	struct unwind_rule leaf = leaf_rule(stubs->machine);

	if (area->entry)
		unwind_window_give(window, area->limit, &end_rule);
	else if (area->leaf)
		unwind_window_give(window, area->limit, &leaf);
	else
		linkage_visit(stubs->view, stubs->machine, &linkage, window);
	unwind_window_skip(window, area->limit);
}

void stubs_visit(const struct stubs *stubs, uint64_t start, uint64_t limit,
		 unwind_take_function take, void *context)
{
	struct unwind_window window = { start, limit, take, context };

	for (size_t i = 0; i < stubs->area_count; i++) {
		const struct stubs_area *area = &stubs->areas[i];

		if (area->limit <= window.at)
			continue;
		if (area->start >= limit)
			break;
		if (area->start > window.at)
			visit_forms(stubs, area->start, &window);
		visit_area(stubs, area, &window);
	}
	if (stubs->machine && window.at < limit)
		visit_forms(stubs, limit, &window);
	unwind_window_skip(&window, limit);
}
