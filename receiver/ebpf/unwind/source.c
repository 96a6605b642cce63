// SPDX-License-Identifier: Apache-2.0
#include "source.h"

#include "callee_saved.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <zlib.h>

enum { MAX_INFLATED_BYTES = 64 << 20 };

/* ---- life ---- */

static void drop_inflated(struct unwind_source *source)
{
	free(source->inflated);
	source->inflated = NULL;
	source->inflated_bytes = 0;
}

/* The section as it is, or inflated. False without memory. */
static bool read_debug_frame(struct unwind_source *source, const struct elf_view *view,
			     struct elf_piece *ret)
{
	struct elf_piece packed;
	uint32_t type = 0;
	uint64_t size = 0;
	uLongf length;

	*ret = elf_view_section(view, ".debug_frame");
	if (ret->bytes)
		return true;
	packed = elf_view_compressed_section(view, ".debug_frame", &type, &size);
	if (!packed.bytes)
		return true;
	source->debug_frame_unreadable = true;
	if (type != ELFCOMPRESS_ZLIB || !size || size > MAX_INFLATED_BYTES)
		return true;
	source->inflated = malloc(size);
	if (!source->inflated)
		return false;
	length = size;
	if (uncompress(source->inflated, &length, packed.bytes, packed.length) != Z_OK) {
		drop_inflated(source);
		return true;
	}
	source->inflated_bytes = size;
	source->debug_frame_unreadable = false;
	*ret = (struct elf_piece){ .bytes = source->inflated, .length = length };
	return true;
}

int unwind_source_init(struct unwind_source *source, const struct elf_view *view)
{
	struct elf_piece debug_frame = { 0 };
	int error;

	*source = (struct unwind_source){ 0 };
	error = cfi_init_eh_frame(&source->eh_frame, view);
	pclntab_init(&source->go, view);
	stubs_init(&source->stubs, view);
	// Of Go's functions it says what the function table says, which is quicker to read.
	if (!error && (!source->go.version || source->eh_frame.count) &&
	    !read_debug_frame(source, view, &debug_frame))
		error = -ENOMEM;
	if (!error)
		error = cfi_init_debug_frame(&source->debug_frame, view->machine, &debug_frame);
	if (error)
		unwind_source_deinit(source);
	return error;
}

void unwind_source_init_functions(struct unwind_source *source, const struct elf_view *view)
{
	*source = (struct unwind_source){ 0 };
	pclntab_init(&source->go, view);
}

void unwind_source_deinit(struct unwind_source *source)
{
	cfi_deinit(&source->eh_frame);
	cfi_deinit(&source->debug_frame);
	drop_inflated(source);
}

/* ---- by address ---- */

enum table { EH_FRAME, GO, DEBUG_FRAME, STUBS, TABLES };

/* One table's turn: what it does not know the next one is asked for. */
struct turn {
	const struct unwind_source *source;
	enum table table;
	unwind_take_function take;
	void *context;
	struct callee_saved *callee_saved;
	struct effort *effort;
};

static bool has_table(const struct unwind_source *source, enum table table)
{
	switch (table) {
	case EH_FRAME:
		return source->eh_frame.count;
	case GO:
		return source->go.version != PCLNTAB_NONE;
	case DEBUG_FRAME:
		return source->debug_frame.count;
	default:
		return true;
	}
}

/* The call frame information that a turn reads; NULL. */
static const struct cfi *cfi_of(const struct turn *turn)
{
	switch (turn->table) {
	case EH_FRAME:
		return &turn->source->eh_frame;
	case DEBUG_FRAME:
		return &turn->source->debug_frame;
	default:
		return NULL;
	}
}

static void visit_table(const struct turn *turn, uint64_t start, uint64_t limit);

static void take_from_table(void *context, uint64_t start, uint64_t limit,
			    const struct unwind_rule *rule)
{
	const struct turn *turn = context;
	const struct cfi *cfi = cfi_of(turn);
	struct turn next = *turn;

	if (cfi && callee_saved_is_base(cfi->machine, rule)) {
		callee_saved_visit(turn->callee_saved, cfi, start, limit, rule, turn->take,
				   turn->context);
		return;
	}
	if (rule->cfa != UNWIND_CFA_UNKNOWN || turn->table == STUBS) {
		turn->take(turn->context, start, limit, rule);
		return;
	}
	do
		next.table++;
	while (!has_table(next.source, next.table));
	visit_table(&next, start, limit);
}

static void visit_table(const struct turn *turn, uint64_t start, uint64_t limit)
{
	const struct unwind_source *source = turn->source;
	struct turn copy = *turn;

	switch (turn->table) {
	case EH_FRAME:
		cfi_visit(&source->eh_frame, start, limit, turn->effort, take_from_table, &copy);
		break;
	case GO:
		pclntab_visit(&source->go, start, limit, turn->effort, take_from_table, &copy);
		break;
	case DEBUG_FRAME:
		cfi_visit(&source->debug_frame, start, limit, turn->effort, take_from_table, &copy);
		break;
	default:
		stubs_visit(&source->stubs, start, limit, take_from_table, &copy);
	}
}

void unwind_source_visit(const struct unwind_source *source, uint64_t start, uint64_t limit,
			 unwind_take_function take, void *context)
{
	struct effort effort = { .left = EFFORT_PAGE };
	struct callee_saved callee_saved = { .view = source->stubs.view, .effort = &effort };
	struct turn first = {
		.source = source,
		.take = take,
		.context = context,
		.callee_saved = &callee_saved,
		.effort = &effort,
	};

	visit_table(&first, start, limit);
}

static void take_any(void *context, uint64_t start, uint64_t limit, const struct unwind_rule *rule)
{
	(void)start, (void)limit;
	*(bool *)context |= rule->cfa != UNWIND_CFA_UNKNOWN;
}

bool unwind_source_is_empty(const struct unwind_source *source)
{
	const struct elf_view *view = source->stubs.view;
	bool found = source->stubs.area_count;

	for (enum table table = EH_FRAME; table < STUBS; table++)
		found |= has_table(source, table);
	for (size_t i = 0; i < view->segment_count && !found; i++) {
		const struct elf_view_segment *segment = &view->segments[i];

		if (segment->executable)
			stubs_visit(&source->stubs, segment->address,
				    segment->address + segment->file_bytes, take_any, &found);
	}
	return !found;
}
