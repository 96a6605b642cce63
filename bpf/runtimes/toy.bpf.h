/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Frames of the toy interpreter (tests/targets/toy). A thread has calls of the interpreter, and
 * each of them frames: those of the innermost call stand for the first frame of the loop that a
 * walk meets, and so on.
 */
#pragma once

#include "toy.h"
#include "unwind_state.bpf.h"

enum {
	TOY_THREADS = 64, /* of a process that are looked at */
	TOY_CALLS = 4, /* that have not come to the loop, or have left it; there is one at most */
};

/* Words of walk->chains: the call that comes next, and the frame; or these. */
enum { TOY_CALL, TOY_FRAME };
enum { TOY_NO_CALL = 1, TOY_NO_FRAME = 1 };

/* The innermost call of the current thread to *@call, which stays as it is where the thread has
 * none. */
static __noinline int toy_find_call(const struct unwind_walk *walk, __u64 *call)
{
	const struct toy_data *data = runtimes_data(walk, sizeof(*data));
	__u64 self = kernel_thread_pointer(), address = 0;
	struct toy_thread thread = {};

	if (!data || !self || bpf_probe_read_user(&address, sizeof(address), (void *)data->threads))
		return 0;
#pragma clang loop unroll(disable)
	for (int i = 0; i < TOY_THREADS && address; i++) {
		if (bpf_probe_read_user(&thread, sizeof(thread), (void *)address))
			return 0;
		if (thread.self == self) {
			*call = thread.call;
			return 0;
		}
		address = thread.next;
	}
	return 0;
}

/* Goes to the call whose loop the walk has come to; false: there is none. */
static __noinline bool toy_begin_call(struct unwind_walk *walk)
{
	__u64 address = walk->chains[TOY_CALL];
	struct toy_call call = {};

	if (!address)
		toy_find_call(walk, &address);
	// Calls of this loop lie beyond its frame; one below has not entered the loop, or left it.
#pragma clang loop unroll(disable)
	for (int i = 0; i < TOY_CALLS && address > TOY_NO_CALL; i++) {
		if (bpf_probe_read_user(&call, sizeof(call), (void *)address))
			return false;
		if (address >= walk->beyond) {
			walk->chains[TOY_CALL] = call.outer ? call.outer : TOY_NO_CALL;
			walk->chains[TOY_FRAME] = call.frame ? call.frame : TOY_NO_FRAME;
			return true;
		}
		address = call.outer;
	}
	walk->chains[TOY_CALL] = TOY_NO_CALL;
	return false;
}

/* As runtimes_interpret(). A function of its own, for its stack. */
static __noinline int toy_interpret(struct unwind_walk *walk, __u64 *frame)
{
	struct toy_frame at = {};
	__u32 serial = 0;

	if (!walk->chains[TOY_FRAME] && !toy_begin_call(walk))
		return RUNTIME_NATIVE;
	if (walk->chains[TOY_FRAME] == TOY_NO_FRAME) {
		walk->chains[TOY_FRAME] = 0;
		return RUNTIME_LEAVES;
	}
	if (bpf_probe_read_user(&at, sizeof(at), (void *)walk->chains[TOY_FRAME]) ||
	    bpf_probe_read_user(&serial, sizeof(serial), (void *)at.code))
		return UNWIND_END_UNREADABLE;
	*frame = unwind_runtime_frame(RUNTIME_TOY, 0, at.code);
	walk->second = unwind_runtime_second(at.position, serial);
	walk->chains[TOY_FRAME] = at.caller ? at.caller : TOY_NO_FRAME;
	return RUNTIME_STAYS;
}
