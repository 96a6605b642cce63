/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which of a JVM's methods a frame is of, or which other code: the words by which the receiver
 * finds out its name (hotspot.h). Everything read may be wrong; then it finds none, or says that it
 * is gone.
 */
#pragma once

#include "hotspot.h"

#include "unwind_memory.bpf.h"

enum {
	HOTSPOT_METHOD_BELOW = 3 * 8,      /* bytes below its frame pointer an interpreted frame has
					      its method, */
	HOTSPOT_INTERPRETED_BELOW = 8 * 8, /* and other words down to these */
	HOTSPOT_METHOD_BYTES = 1 << 17, /* from a ConstMethod on, bytecode of its method may lie */
};

/* The word at @offset of the block's head (hotspot_read_head); 0 beyond it. */
static __always_inline __u64 hotspot_head_word(const struct unwind_walk *walk, __u64 offset,
					       __u32 bytes)
{
	const void *head = walk->scratch;

	// Of what is compared as 32 bits, old kernels do not know the other 32 (5.10).
	asm volatile("" : "+r"(offset));
	if (offset > HOTSPOT_HEAD_BYTES - sizeof(__u64))
		return 0;
	return bytes == sizeof(__u64) ? *(const __u64 *)(head + offset)
				      : *(const __u32 *)(head + offset);
}

/* Reads the head of the block at @block, which lies before the code, to the walk's scratch. */
static __always_inline bool hotspot_read_head(struct unwind_walk *walk, __u64 block)
{
	_Static_assert(sizeof(walk->scratch) == HOTSPOT_HEAD_BYTES, "it is all of it");
	return !bpf_probe_read_user(walk->scratch, sizeof(walk->scratch), (void *)block);
}

/*
 * Where the method goes on whose frame at the walk's stack pointer returns to @pc: a frame that is
 * to be deoptimised returns to code for that, and has the pc from which it goes on in a slot.
 */
static __always_inline __u64 hotspot_original_pc(const struct unwind_walk *walk,
						 const struct hotspot_data *data, __u64 block,
						 __u64 pc)
{
	__u64 bytes = data->deopt_base ? sizeof(__u32) : sizeof(__u64), original = 0;
	__u64 base = data->deopt_base ? block + data->deopt_base : 0;
	__u32 offset;

	if (pc != base + hotspot_head_word(walk, data->deopt[0], bytes) &&
	    pc != base + hotspot_head_word(walk, data->deopt[1], bytes))
		return pc;
	offset = (__u32)hotspot_head_word(walk, data->original, sizeof(__u32));
	bpf_probe_read_user(&original, sizeof(original), (void *)(walk->at.sp + offset));
	return original;
}

/* The frame of the walk's pc is one of the code in the block at @block, whose head was read. */
static __noinline void hotspot_give_code(struct unwind_walk *walk, __u64 block)
{
	const struct hotspot_data *data = runtimes_data(walk, sizeof(*data));
	bool calls = !walk->at.first && !walk->at.exact;
	__u64 pc = walk->at.pc;

	if (!data)
		return;
	if (calls)
		pc = hotspot_original_pc(walk, data, block, pc);
	// What is none lies before the code, where there is no method.
	if (pc - block >= 1ull << 32)
		pc = block;
	walk->given =
		unwind_runtime_frame(RUNTIME_HOTSPOT, calls ? HOTSPOT_CALLS : HOTSPOT_RUNS, block);
	walk->second = unwind_runtime_second(
		(__u32)(pc - block),
		(__u32)hotspot_head_word(walk, data->compile_id, sizeof(__u32)));
}

static __always_inline bool hotspot_read_word(__u64 address, __u64 *ret)
{
	return !bpf_probe_read_user(ret, sizeof(*ret), (void *)address);
}

/*
 * Gives the frame of the interpreted @method. The method runs the bytecode at @bcp, or at @other if
 * that lies in its code; it has not begun if both are 0. A @method that is none gives no frame.
 */
static __noinline void hotspot_give_method(struct unwind_walk *walk, __u64 method, __u64 bcp,
					   __u64 other)
{
	const struct hotspot_data *data = runtimes_data(walk, sizeof(*data));
	struct hotspot_identity identity;
	__u64 holder;
	__u32 kind = bcp || other ? HOTSPOT_INTERPRETS : HOTSPOT_ENTERS;

	if (!data || !hotspot_read_word(method + data->method_const, &identity.const_method) ||
	    !hotspot_read_word(identity.const_method + data->const_pool, &identity.pool) ||
	    !hotspot_read_word(identity.const_method + data->const_identity, &identity.numbers) ||
	    !hotspot_read_word(identity.pool + data->pool_holder, &holder) ||
	    !hotspot_read_word(identity.pool + data->pool_version, &identity.version) ||
	    !hotspot_read_word(holder + data->klass_name, &identity.class_name))
		return;
	if (other - identity.const_method < HOTSPOT_METHOD_BYTES)
		bcp = other;
	walk->given = unwind_runtime_frame(RUNTIME_HOTSPOT, kind, method);
	walk->second = unwind_runtime_second((__u32)bcp, hotspot_mix_method(&identity));
}

/* The same of the method whose frame's pointer is @frame. */
static __noinline void hotspot_give_interpreted(struct unwind_walk *walk, __u64 frame, __u64 other)
{
	const struct hotspot_data *data = runtimes_data(walk, sizeof(*data));
	__u64 method, bcp;

	// Natives have no bytecode: 0.
	if (data && unwind_read(walk, frame - HOTSPOT_METHOD_BELOW, &method) &&
	    unwind_read(walk, frame - data->bcp, &bcp))
		hotspot_give_method(walk, method, bcp ? bcp : 1, other);
}
