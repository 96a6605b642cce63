/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One side-band record of the kernel (perf_event_open(2), PERF_RECORD_*), decoded.
 *
 * The event has sample_id_all and sample_type TID | TIME | CPU, so every record
 * ends with `u32 pid, tid; u64 time; u32 cpu, reserved`; one of PERF_RECORD_KSYMBOL may have
 * bytes without a meaning behind that. Pure; any thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { RECORD_SAMPLE_TYPE = 1 << 1 | 1 << 2 | 1 << 7 }; /* PERF_SAMPLE_TID, _TIME, _CPU */

enum record_kind {
	RECORD_OTHER,       /* nothing we ask for */
	RECORD_FORK,        /* also of a thread: then parent == pid */
	RECORD_EXIT,        /* of one thread */
	RECORD_COMM,        /* a thread has a new name */
	RECORD_EXEC,        /* as COMM, by exec: the address space is a new one */
	RECORD_MMAP,        /* executable memory has appeared */
	RECORD_LOST,        /* the ring was full */
	RECORD_KERNEL_CODE, /* a BPF program was loaded, or goes */
};

struct record {
	enum record_kind kind;
	uint64_t time_ns; /* CLOCK_MONOTONIC */
	uint32_t pid, tid;
	uint32_t parent;        /* FORK: pid of the process that called fork */
	uint64_t start, length; /* MMAP, KERNEL_CODE, bytes */
	bool ends;              /* KERNEL_CODE: it goes */
	uint64_t file_offset;
	uint64_t device, inode; /* makedev(); inode 0 = no file */
	uint64_t lost;          /* LOST: records */
	const char *text; /* COMM, EXEC, KERNEL_CODE: the name; MMAP: the path; NUL-terminated, in
			     the bytes */
	size_t text_length;
};

/* Size of the tail of every record, and where in it the time stands. A record of a BPF program is
 * no longer than RECORD_KERNEL_CODE_BYTES up to its tail. */
enum {
	RECORD_TAIL_BYTES = 24,
	RECORD_TAIL_TIME = 8,
	RECORD_HEADER_BYTES = 8,
	RECORD_KERNEL_CODE_BYTES = 24 + 512,
};

/*
 * Where in the record of @length bytes at @bytes, at least header and tail, its tail begins. Of
 * PERF_RECORD_KSYMBOL it follows the name: the kernel tells one listener after the other, and each
 * record is longer by the tails of those that were told before.
 */
size_t record_tail(const void *bytes, size_t length);

/* Decode the whole record at @bytes. False when it is malformed. */
bool record_decode(const void *bytes, size_t length, struct record *ret);
