/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where goroutines have their labels (runtime/pprof.Do), for Go 1.13 to 1.27: at offsets that each
 * version has of its own, so that another one is refused. What the kernel side needs to know is all
 * in the file. Any thread.
 */
#pragma once

#include "runtimes/runtime.h"

struct go_layout {
	char version[RUNTIME_VERSION_BYTES]; /* of Go, with its NUL; "": unknown */
	/* amd64: where the address of the g that runs lies, from the thread pointer on: in the word
	 * at this ELF address, or, where that is 0, below. */
	uint64_t current_at;
	int64_t current;     /* bytes */
	uint64_t is_current; /* 1: that is known; or 0 */
};

/* What @file says of that. */
void go_labels_recognise(const struct runtime_file *file, struct go_layout *ret);

/* Of no byte of @layout is anything known. */
bool go_labels_check(const struct go_layout *layout);

/* As runtime.foresee. */
void go_labels_foresee(const void *layout, uint64_t base, struct runtime_found *ret);
