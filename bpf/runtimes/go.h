/* SPDX-License-Identifier: (GPL-2.0 OR Apache-2.0) */
/*
 * The receiver tells the kernel side where a Go program has the labels of its goroutines
 * (runtime/pprof.Do). Offsets are in bytes, and multiples of 8: runtime/runtime2.go.
 */
#pragma once

#include "runtime_number.h"

enum {
	GO_LABELS_ARE_A_MAP = 1,  /* before Go 1.24: a map[string]string, as runtime/map.go has it;
				     since then a slice of pairs of strings */
	GO_GOROUTINE_BYTES = 384, /* of a g, up to its labels, at most */
};

struct go_data {
	struct runtime_data common; /* first; there are no loops */
	/* amd64: where the address of the g that runs lies, from the thread pointer on: in the word
	 * at this address, or, where that is 0, below. */
	__u64 current_at;
	__s64 current;
	__u16 goroutine_thread; /* g.m */
	__u16 goroutine_labels; /* g.labels */
	__u16 thread_goroutine; /* m.curg: the goroutine, whatever g works for it */
	__u16 flags;
};

_Static_assert(sizeof(struct go_data) % 8 == 0, "whole words");
_Static_assert(sizeof(struct go_data) <= RUNTIME_DATA_BYTES, "it fits");
