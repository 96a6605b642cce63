/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whose samples share a resource, and which attributes say whose they are: those that
 * hold for all of the resource are the resource's, the rest goes on each sample.
 *
 * Threads: the reporter's.
 */
#pragma once

#include "capture.h"
#include "config.h"
#include "containers.h"

#include <profcol/batch.h>

#include "base/base.h"

/* What is known of one process of the capture, in terms of the batch. */
struct resource_member {
	uint32_t group;      /* processes with equal ones share a resource */
	uint32_t resource;   /* attribute list of the resource */
	uint32_t begin, end; /* of `attributes`: those of each of its samples */
};

struct resources {
	enum resource_by by;
	struct processes *processes; /* borrowed, as the next */
	struct process_memory *memory;
	struct containers *containers; /* that are met; may be NULL */
	/* Of the start: a process keeps its time of creation when the wall clock is set. */
	struct clock_calibration first_clock;
	VECTOR(struct resource_member) members; /* one for each process of the capture */
	VECTOR(uint32_t) attributes;            /* ids */
};

void resources_init(struct resources *resources, enum resource_by by, struct processes *processes,
		    struct process_memory *memory, struct containers *containers);
void resources_deinit(struct resources *resources);

/* Describe every process of @capture in terms of @builder, and meet the containers of pods. False
 * without memory. */
bool resources_build(struct resources *resources, const struct capture *capture,
		     struct profcol_builder *builder);
