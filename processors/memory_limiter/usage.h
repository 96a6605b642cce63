/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much memory this process has of the machine's: its pages in RAM, and its BPF maps, which
 * the kernel holds for it. Private to the processor; one thread.
 *
 * Pages of files do not count: the kernel takes them back when memory is short. Among them are
 * maps that the process has mapped, which would count twice.
 */
#pragma once

#include <stdint.h>

struct usage {
	int process_fd; /* owned: /proc/self */
	uint64_t map_bytes;
	uint64_t maps_read_ns; /* CLOCK_MONOTONIC; 0 = never */
};

/* @process_fd (taken) is a directory as /proc/self. */
void usage_init(struct usage *usage, int process_fd);
void usage_deinit(struct usage *usage);

/* Bytes of the maps, which hardly change: they are looked for again every ten seconds. */
uint64_t usage_maps(struct usage *usage, uint64_t now_ns);

/* Bytes of both. 0, or a negative errno when /proc does not tell. */
int usage_read(struct usage *usage, uint64_t now_ns, uint64_t *ret);
