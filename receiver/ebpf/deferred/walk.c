// SPDX-License-Identifier: Apache-2.0
#include "walk.h"

#include "address_mask.h"

#include <string.h>
#include <sys/cdefs.h>

struct unwind_walk {
	struct unwind_cursor at;
	const struct walk_tables *tables;
	const struct sample_deferred *deferred;
	const void *stack;
	__u64 stack_start, stack_bytes;
	bool is_whole;
	bool marked, doubted;
	bool is_beyond; /* something was wanted that may be there, but was not copied */
	__u64 address_mask;
};

static inline bool unwind_read(struct unwind_walk *walk, __u64 address, __u64 *ret)
{
	__u64 distance = address - walk->stack_start;

	if (distance >= walk->stack_bytes || walk->stack_bytes - distance < sizeof(*ret)) {
		// Directly above the whole of a stack there is nothing; elsewhere may be another
		// one.
		walk->is_beyond =
			!walk->is_whole || distance >= walk->stack_bytes + SAMPLE_STACK_PIECE_BYTES;
		return false;
	}
	// Need not be aligned.
	memcpy(ret, (const __u8 *)walk->stack + distance, sizeof(*ret));
	return true;
}

/* All of it is here. */
static inline void unwind_approach(struct unwind_walk *walk, __u64 lowest, __u64 beyond)
{
	(void)walk;
	(void)lowest;
	(void)beyond;
}

/* Of another process, of some time ago. */
static inline bool unwind_code_before(struct unwind_walk *walk, __u64 address, __u64 *ret)
{
	(void)walk;
	(void)address;
	*ret = 0;
	return false;
}

static inline __u64 unwind_register(void *context, const struct unwind_walk *walk, __u32 number)
{
	(void)context;
	return number < SAMPLE_REGISTERS ? walk->deferred->registers[number] : 0;
}

#define unwind_rule_of(number) walk->tables->rule(walk->tables->context, number)
#define unwind_address_mask    walk->address_mask

#include "unwind_apply.h"

static struct unwind_cursor cursor_of(const struct sample_deferred *deferred)
{
	return (struct unwind_cursor){
		.pc = deferred->pc,
		.sp = deferred->sp,
		.fp = deferred->fp,
		.link = deferred->link,
		.exact = deferred->flags & SAMPLE_DEFERRED_EXACT,
		.first = deferred->flags & SAMPLE_DEFERRED_FIRST,
		.sp_is_bound = deferred->flags & SAMPLE_DEFERRED_SP_IS_BOUND,
		.guessed = deferred->flags & SAMPLE_DEFERRED_GUESSED,
		.frame =
			deferred->flags >> SAMPLE_DEFERRED_FRAME_SHIFT & SAMPLE_DEFERRED_FRAME_MASK,
		.called = deferred->flags & SAMPLE_DEFERRED_CALLED,
	};
}

/* As unwind_frame() of the kernel side: *@frame stays 0 if there is none. */
static int step(struct unwind_walk *walk, enum tables_found *found, __u64 *frame)
{
	const struct walk_tables *tables = walk->tables;
	uint64_t pc = unwind_code_address(&walk->at);
	struct tables_code code;

	*found = tables->find(tables->context, pc, &code);
	if (*found == TABLES_NO_CODE || *found == TABLES_UNKNOWN) {
		if ((walk->at.exact || walk->at.first) && pc < UNWIND_FRAME_RUNTIME)
			*frame = pc;
		return UNWIND_END_NO_MAPPING;
	}
	*frame = code.frame;
	if (*found == TABLES_IN_PROCESS)
		return UNWIND_END_UNREADABLE;
	return *found == TABLES_FOUND ? unwind_apply(NULL, walk, code.rule, frame)
				      : UNWIND_END_NO_PAGE;
}

struct walk_result walk_finish(const struct sample_deferred *deferred, size_t stack_bytes,
			       bool is_whole, const struct walk_tables *tables, uint64_t *frames,
			       uint32_t most)
{
	struct unwind_walk walk = {
		.at = cursor_of(deferred),
		.tables = tables,
		.deferred = deferred,
		.stack = deferred + 1,
		.stack_start = deferred->stack,
		.stack_bytes = stack_bytes,
		.is_whole = is_whole,
		.doubted = deferred->flags & SAMPLE_DEFERRED_MARKED,
		.address_mask = address_mask(),
	};
	struct walk_result result = { .found = TABLES_FOUND };
	bool was_doubted = false;
	int end = 0;

	while (!end) {
		__u64 frame = 0;

		was_doubted |= walk.doubted;
		if (result.count >= most) {
			end = UNWIND_END_DEPTH;
			break;
		}
		end = step(&walk, &result.found, &frame);
		if (frame)
			frames[result.count++] = frame;
	}
	// Of a copied stack nobody has looked at the leaf's code: what comes after does not tell.
	if (deferred->flags & SAMPLE_DEFERRED_WHOLE)
		walk.doubted |= was_doubted;
	if (end == UNWIND_END_UNREADABLE && walk.is_beyond)
		end = UNWIND_END_NOT_COPIED;
	result.end = (enum unwind_end)unwind_end_of(&walk, end);
	result.guessed = walk.at.guessed;
	result.marked = walk.marked || walk.doubted;
	return result;
}
