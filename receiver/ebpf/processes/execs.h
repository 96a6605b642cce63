/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Execs as the kernel side tells of them (bpf/exec.bpf.c): what the side-band does not say is by
 * which start and exec id samples will call the program.
 *
 * Threads: one at a time.
 */
#pragma once

#include "sample.h"

#include <stdint.h>

struct execs;

/* Load the program and begin to listen. 0, or a negative errno: then *@ret is NULL. */
int execs_create(struct execs **ret);
void execs_destroy(struct execs *execs); /* accepts NULL */

/* Readable when there is something to take. */
int execs_fd(const struct execs *execs);

/* Memory of the kernel side's ring buffer. */
uint64_t execs_map_bytes(const struct execs *execs);

typedef void (*execs_function)(void *context, const struct exec_record *record);

/* Pass all there are to @take, by CPU and time. */
void execs_take(struct execs *execs, execs_function take, void *context);
