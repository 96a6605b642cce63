/* SPDX-License-Identifier: Apache-2.0 */
/* What the target program writes to its standard output: once itself, once its child. */
#pragma once

#include <stdint.h>

struct target_says {
	uint32_t pid;
	uint32_t is_child;
	uint64_t code;      /* an address in its program */
	uint64_t plugin;    /* where it has mapped the file named to it */
	uint64_t before_ns; /* CLOCK_MONOTONIC before it did so... */
	uint64_t after_ns;  /* ...and after */
};
