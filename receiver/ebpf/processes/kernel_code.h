/* SPDX-License-Identifier: Apache-2.0 */
/*
 * BPF programs that the kernel loads and unloads while it is listened to, by PERF_RECORD_KSYMBOL
 * (perf_event_open(2)): where each lies, how long it is, and when it was there. An address that one
 * has had is another one's soon after.
 *
 * Threads: any.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { KERNEL_CODE_NAME = 128 }; /* with NUL; the kernel's records have 256, names of BPF 45 */

struct kernel_code;
struct record;

struct kernel_code *kernel_code_create(void);       /* NULL without memory */
void kernel_code_destroy(struct kernel_code *code); /* accepts NULL */

/* Take in a record of kind RECORD_KERNEL_CODE, in the order of time. */
void kernel_code_note(struct kernel_code *code, const struct record *record);

/* Records were lost at @time_ns (CLOCK_MONOTONIC): all that was known may be wrong. */
void kernel_code_lose(struct kernel_code *code, uint64_t time_ns);

/* When what is not said here was uncertain last: a list of the kernel's that was read before does
 * not hold. 0: never. */
uint64_t kernel_code_lost_ns(struct kernel_code *code);

enum kernel_code_finding {
	KERNEL_CODE_NONE,    /* nothing that has come or gone since it was listened to */
	KERNEL_CODE_FOUND,   /* one program, all the time that it is asked for */
	KERNEL_CODE_UNCLEAR, /* several */
	KERNEL_CODE_GONE,    /* one that ended before; nothing is told to have come in its place */
};

struct kernel_code_program {
	uint64_t start, limit;
	char name[KERNEL_CODE_NAME]; /* printable */
};

/* What was at @address at any time from @since_ns on; of KERNEL_CODE_GONE, when it ended. */
enum kernel_code_finding kernel_code_find(struct kernel_code *code, uint64_t address,
					  uint64_t since_ns, struct kernel_code_program *ret,
					  uint64_t *ended_ns_ret);
