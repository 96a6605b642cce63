/* SPDX-License-Identifier: GPL-2.0 */
/* The stack in user memory, read through a window: each reading has its price. */
#pragma once

#include "unwind_state.bpf.h"

/* The window begins at @address if that can be read. */
static __always_inline void unwind_move_window(struct unwind_walk *walk, __u64 address)
{
	walk->window_start = address;
	if (walk->count >= UNWIND_DEEP) {
		walk->window_bytes = sizeof(walk->window);
		if (!bpf_probe_read_user(walk->window, sizeof(walk->window), (void *)address))
			return;
	}
	walk->window_bytes = 8 * UNWIND_WINDOW_FIRST;
	if (bpf_probe_read_user(walk->window, 8 * UNWIND_WINDOW_FIRST, (void *)address))
		walk->window_bytes = 0;
}

/* The word at @address, if the window has it. */
static __always_inline bool unwind_window_word(const struct unwind_walk *walk, __u64 address,
					       __u64 *ret)
{
	__u64 distance = address - walk->window_start;

	if (distance >= walk->window_bytes || distance & 7)
		return false;
	distance >>= 3;
	// The compiler knows the bound; this tells it to the verifier.
	asm volatile("%0 &= 255" : "+r"(distance));
	*ret = walk->window[distance];
	return true;
}

static __always_inline bool unwind_read(struct unwind_walk *walk, __u64 address, __u64 *ret)
{
	return unwind_window_word(walk, address, ret) ||
	       !bpf_probe_read_user(ret, sizeof(*ret), (void *)address);
}

static __always_inline bool unwind_code_before(struct unwind_walk *walk, __u64 address, __u64 *ret)
{
	(void)walk;
	return !bpf_probe_read_user(ret, sizeof(*ret), (void *)(address - sizeof(*ret)));
}

/* Beyond the window: the next frames are there, too. */
static __always_inline void unwind_approach(struct unwind_walk *walk, __u64 lowest, __u64 beyond)
{
	if (beyond - walk->window_start > walk->window_bytes)
		unwind_move_window(walk, lowest & ~7ull);
}
