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
#include "unwind_lookup.bpf.h"

/* What runtimes_interpret() says besides why a walk ends. */
enum {
	RUNTIME_LEAVES = 0,               /* the loop has run nothing more */
	RUNTIME_STAYS = UNWIND_END_COUNT, /* it has, or may have, and is to be asked again */
	RUNTIME_NATIVE,                   /* nothing is known: it shows as any other code */
};

/* The first @bytes at the handle @told, a struct runtime_data; NULL where there are fewer. */
static __always_inline const void *runtimes_told(__u32 told, __u32 bytes)
{
	struct unwind_slab *slab = unwind_slab_of(told);
	__u64 offset = unwind_offset_of(told);

	// Of what is compared as 32 bits, old kernels do not know the other 32 (5.10).
	asm volatile("" : "+r"(offset));
	if (!told || !slab || offset > UNWIND_SLAB_BYTES - bytes)
		return NULL;
	// Not added to before it is known to be there: the verifier refuses that.
	asm volatile("" : "+r"(slab));
	return &slab->bytes[offset];
}

/* The same, of the data of the runtime whose range the walk was in. */
static __always_inline const void *runtimes_data(const struct unwind_walk *walk, __u32 bytes)
{
	return runtimes_told(walk->told, bytes);
}

/* In which of the pieces of code that a runtime interprets in is @pc? RUNTIME_LOOPS: in none. */
static __always_inline __u32 runtimes_loop(const struct unwind_walk *walk, __u64 pc)
{
	const struct runtime_data *data = runtimes_data(walk, sizeof(*data));
	__u64 place = walk->code_text + pc;
	__u32 found = RUNTIME_LOOPS;

	if (!data)
		return found;
#pragma unroll
	for (__u32 i = 0; i < RUNTIME_LOOPS; i++)
		if (place >= data->loops[i].start && place < data->loops[i].limit)
			found = i;
	return found;
}

/* Is it that runtime that is asked, and does this program know it? */
static __always_inline bool runtimes_asks(const struct unwind_walk *walk, __u32 number)
{
	return walk->interprets == number && runtimes_known & 1u << number;
}

#include "cpython.bpf.h"
#include "hotspot.bpf.h"
#include "v8.bpf.h"
#ifdef PROFCOL_TOY_RUNTIME
#include "toy.bpf.h"
#endif

/*
 * From a frame in a range of a runtime's to its caller. Returns 0, or why the walk ends. The frame
 * is walk->given and walk->second, or, where that is 0, the address. Of a runtime that this program
 * does not know, frame pointers may lead on.
 */
static __always_inline int runtimes_step(struct bpf_perf_event_data *ctx, struct unwind_walk *walk)
{
	if (walk->kind == UNWIND_RANGE_RUNTIME + RUNTIME_HOTSPOT &&
	    runtimes_known & 1 << RUNTIME_HOTSPOT)
		return hotspot_step(ctx, walk);
	if (walk->kind == UNWIND_RANGE_RUNTIME + RUNTIME_V8 && runtimes_known & 1 << RUNTIME_V8)
		return v8_step(walk);
	return unwind_by_frame_pointer(walk);
}

/*
 * A loop was left: the next frame of what it has run to *@frame and walk->second, with
 * RUNTIME_STAYS; with RUNTIME_LEAVES there is no (other) one.
 */
static __always_inline int runtimes_interpret(struct unwind_walk *walk, __u64 *frame)
{
	if (runtimes_asks(walk, RUNTIME_CPYTHON))
		return cpython_interpret(walk, frame);
	if (runtimes_asks(walk, RUNTIME_V8))
		return v8_interpret(walk, frame);
#ifdef PROFCOL_TOY_RUNTIME
	if (runtimes_asks(walk, RUNTIME_TOY))
		return toy_interpret(walk, frame);
#endif
	return RUNTIME_LEAVES;
}

/*
 * Finds the labels of what the current thread runs, by what walk->labels tells of its process:
 * those of the one runtime that has labels.
 */
static __always_inline void runtimes_find_labels(struct unwind_walk *walk)
{
	const struct go_data *data;

	if (!(runtimes_known & 1u << RUNTIME_GO))
		return;
	data = runtimes_told(walk->labels, sizeof(*data));
	if (data)
		go_find_labels(walk, data);
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
