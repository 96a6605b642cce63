/* SPDX-License-Identifier: Apache-2.0 */
/* The options of the `profiling` receiver, decoded (table in ebpf.c). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct profiling_config {
	int64_t samples_per_second; /* per CPU, 1 to 10000 */
	uint64_t reporter_interval_ns;
	double reporter_jitter; /* 0 to 1: share of the interval, added or taken away */
	uint64_t symbolization_wait_ns;
	bool send_idle_frames;
	bool no_kernel_version_check;
};
