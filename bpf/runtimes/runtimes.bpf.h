/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The language runtimes that walks know: the one place of the kernel side that names them.
 *
 * The same programs are loaded for each set of runtimes that a process was met with: what the
 * others need is dead code in them, which the verifier does not follow.
 */
#pragma once

#include "runtime_number.h"

#include "go.bpf.h"
#include "hotspot.bpf.h"

/*
 * From a frame in a range of a runtime's to its caller. Returns 0, or why the walk ends. Of a
 * runtime that this program does not know, frame pointers may lead on.
 */
static __always_inline int runtimes_step(struct bpf_perf_event_data *ctx, struct unwind_walk *walk)
{
	if (walk->kind == UNWIND_RANGE_RUNTIME + RUNTIME_HOTSPOT &&
	    runtimes_known & 1 << RUNTIME_HOTSPOT)
		return hotspot_step(ctx, walk);
	return unwind_by_frame_pointer(walk);
}

/* What runtimes_interpret() says besides why a walk ends. */
enum {
	RUNTIME_LEAVES = 0,               /* the caller of the native frame is next */
	RUNTIME_STAYS = UNWIND_END_COUNT, /* it runs another one of the runtime's */
	RUNTIME_NATIVE,                   /* this is code like any other */
};

/* The first @bytes of what is told of the process; NULL where there is less. */
static __always_inline const void *runtimes_data(const struct unwind_walk *walk, __u32 bytes)
{
	struct unwind_slab *slab = unwind_slab_of((__u32)walk->area[0]);
	__u64 offset = unwind_offset_of((__u32)walk->area[0]);

	if (!walk->area[0] || !slab || offset > UNWIND_SLAB_BYTES - bytes)
		return NULL;
	return &slab->bytes[offset];
}

/* Is @pc in one of the pieces of code in which the runtime interprets? */
static __always_inline bool runtimes_is_in_loop(const struct unwind_walk *walk, __u64 pc)
{
	const struct runtime_data *data = runtimes_data(walk, sizeof(*data));
	bool found = false;

	if (!data)
		return false;
#pragma unroll
	for (int i = 0; i < RUNTIME_LOOPS; i++)
		found |= pc >= data->loops[i].start && pc < data->loops[i].limit;
	return found;
}

/*
 * In code in which a runtime interprets a program: the next frame of the runtime's to *@frame and
 * walk->second, with RUNTIME_STAYS; with RUNTIME_LEAVES there is no other one.
 */
static __always_inline int runtimes_interpret(struct bpf_perf_event_data *ctx,
					      struct unwind_walk *walk, __u64 pc, __u64 *frame)
{
	(void)ctx;
	(void)frame;
	if (!runtimes_is_in_loop(walk, pc))
		return RUNTIME_NATIVE;
	return RUNTIME_NATIVE;
}

/*
 * Where the stack ends that the thread is on, by the registers in @deferred, of a process with
 * UNWIND_MAY_COPY_OF_RUNTIME; 0: unknown.
 */
static __always_inline __u64 runtimes_stack_top(const struct unwind_walk *walk,
						const struct sample_deferred *deferred)
{
	return go_stack_top(walk, deferred);
}
