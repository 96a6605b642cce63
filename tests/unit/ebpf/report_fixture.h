/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A report over processes, files and a kernel that are made up: a test appends records to a
 * capture and looks at the batch. Functions fail the test when something does not work.
 */
#pragma once

#include "containers.h"
#include "report.h"

#include "sample_record.h"

#include <stdint.h>

/* The uid of the pod. */
#define FIXTURE_POD "0c1d2e3f-4a5b-4c6d-8e9f-0123456789ab"

/* What lies where in every process. Offsets in files are from 0x1000 on, ELF addresses 0x10000
 * higher. Code has a name below offset 0x2000. */
enum {
	PROGRAM_START = 0x400000,
	PROGRAM_LIMIT = 0x500000,
	UNMAPPED = 0x600000,
	GO_START = 0x700000,
	GO_LIMIT = 0x800000,
};
#define KERNEL_START 0xffffffff81000000ull
#define VDSO_START   0x7ffff7fc1000ull
#define JIT_START    0x7fff00000000ull

/* File ids. */
enum {
	PROGRAM_FILE = 3,
	GO_FILE = 4,
	GONE_FILE = 5, /* no worker has read it, but its hash is known */
	LOST_FILE = 6, /* nothing is known of it */
};

/* Processes: 7 and 8 are in a container of a pod, 8 has an environment, nobody knows 9, 77 is in a
 * container of no pod. */

extern struct profiling_config fixture_config;
extern struct containers fixture_containers; /* that were met */

/* cmocka set-up and tear-down: an empty capture whose window begins at 1000 ns. */
int fixture_set_up(void **state);
int fixture_tear_down(void **state);

void fixture_append(const struct sample_record *record);

/* The batch of what has been appended, until 2000 ns or @end_ns; unref by the caller. It keeps the
 * rules of OTLP profiles. */
struct profcol_batch *fixture_build(void);
struct profcol_batch *fixture_build_until(uint64_t end_ns);

/* Samples whose walk ended so, since the last call; @end as its label says. */
int64_t fixture_stacks_that_ended(const char *end);

/* Samples counted since the last call whose stacks have a gap: of a frame at position 99. */
int64_t fixture_gaps(void);

/* Samples with labels of which that became, since the last call; @result as its label says. */
int64_t fixture_labelled(const char *result);

/* As profile_print() writes it; free() by the caller. */
char *fixture_print(const struct profcol_batch *batch);
void fixture_expect_text(const char *text, const char *wanted);

/* The value of @key in an attribute list: text, or a number in digits until the next call; NULL. */
const char *fixture_attribute(const struct profcol_batch *batch, uint32_t list, const char *key);
const char *fixture_resource_attribute(const struct profcol_batch *batch, uint32_t resource,
				       const char *key);
const char *fixture_sample_attribute(const struct profcol_batch *batch, uint32_t sample,
				     const char *key);

/* Frame number @frame of the stack of sample number @sample, and how many it has. */
struct profcol_location fixture_location(const struct profcol_batch *batch, uint32_t sample,
					 uint32_t frame);
uint32_t fixture_stack_count(const struct profcol_batch *batch, uint32_t sample);
/* The name of its function; NULL for none. */
const char *fixture_function(const struct profcol_batch *batch, struct profcol_location location);
